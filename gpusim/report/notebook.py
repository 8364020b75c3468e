"""Writes a result as HTML for a notebook: scenario, what bounds it, and a small table."""

from html import escape

from gpusim.report.captions import Words, bound_line, machine_name, scenario_digest, stream_build
from gpusim.report.stall_shares import percent, ranked_stalls
from gpusim.results.result import Result

_MOST_STALLS = 3


def html_summary(result: Result, words: Words, name: str = "") -> str:
    """
    Return a result as HTML.

    Args:
        result: The run.
        words: Description of its scenario.
        name: Name of the scenario; empty if it has none.
    """
    title = f"{name}: {words.problem}" if name else words.problem
    conflicts = sum(row.conflicts for row in result.bank_conflicts)
    stalls = ", ".join(f"{reason} {percent(share).strip()}" for reason, share in ranked_stalls(result)[:_MOST_STALLS])
    rows = (
        ("machine", machine_name(result)),
        ("kernel", words.kernel),
        ("scenario", f"{scenario_digest(result)}, {result.stream} stream{stream_build(result)}"),
        ("grid", f"{result.ctas:,} CTAs, {result.ctas_per_sm} per SM, {result.waves:,.2f} waves"),
        ("cycles", f"{result.cycles.elapsed:,} elapsed, {result.cycles.active:,} active"),
        ("bank conflicts", f"{conflicts:,} wavefronts beyond the ideal"),
        ("stalls", stalls),
    )
    cells = "".join(
        f'<tr><th style="text-align:left">{escape(name)}</th><td style="text-align:left">{escape(value)}</td></tr>'
        for name, value in rows
    )
    return f"<div><b>{escape(title)}</b><br>{escape(bound_line(result))}<table>{cells}</table></div>"
