"""Writes a result as HTML for a notebook: its verdict and a small table."""

from html import escape

from gpusim.machine.spec import Machine
from gpusim.report.captions import Words, machine_name, not_compiled, rate_unit, scenario_digest, stream_build
from gpusim.report.stall_shares import percent, ranked_stalls
from gpusim.results.result import Result
from gpusim.results.use import use_of
from gpusim.results.verdict import verdict

_MOST_STALLS = 3


def html_summary(result: Result, words: Words, machine: Machine, name: str = "") -> str:
    """
    Return a result as HTML.

    Args:
        result: The run.
        words: Description of its scenario.
        machine: The machine that was simulated.
        name: Name of the scenario; empty if it has none.
    """
    use = use_of(result, machine)
    said = verdict(result, use)
    conflicts = sum(row.conflicts for row in result.bank_conflicts)
    stalls = ", ".join(f"{reason} {percent(share).strip()}" for reason, share in ranked_stalls(result)[:_MOST_STALLS])
    rows = (
        ("problem", words.problem),
        ("kernel", words.kernel),
        ("machine", f"{machine_name(result)}, {use.working:,} of {use.sms:,} SMs have a CTA"),
        ("scenario", f"{scenario_digest(result)}, {result.stream} stream{stream_build(result)}"),
        *((("not compiled", not_compiled(result)),) if not_compiled(result) else ()),
        ("grid", f"{result.ctas:,} CTAs, {result.ctas_per_sm} per SM, {result.waves:,.2f} waves"),
        ("cycles", f"{result.cycles.elapsed:,} elapsed, {result.cycles.active:,} active"),
        ("time", f"{result.time_us:,.2f} us, {result.tflops:,.2f} {rate_unit(result)}"),
        ("bank conflicts", f"{conflicts:,} wavefronts beyond the ideal"),
        ("stalls", stalls),
    )
    cells = "".join(
        f'<tr><th style="text-align:left">{escape(name)}</th><td style="text-align:left">{escape(value)}</td></tr>'
        for name, value in rows
    )
    return f"<div><b>{escape(f'{name}: {said}' if name else said)}</b><table>{cells}</table></div>"
