"""Prints the summary of a run: scenario, occupancy, cycles, bank conflicts and stalls."""

import io
import sys
from collections.abc import Sequence
from typing import TextIO

from rich import box
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from gpusim.report.captions import Words, bound_line, machine_name, scenario_digest, stream_build
from gpusim.report.stall_shares import percent, ranked_stalls
from gpusim.results.result import Result
from gpusim.results.trust import trust_line

PLAIN_WIDTH = 100
"""Width in columns of output that does not go to a terminal."""

_EIGHTHS = " ▏▎▍▌▋▊▉█"
_BAR = 30
_ASCII_HEAD = box.Box(str(box.SIMPLE_HEAD).replace("─", "-"), ascii=True)


def print_summary(result: Result, words: Words, file: TextIO | None = None) -> None:
    """
    Print ``summary`` to ``file``, or to stdout if it is None.

    Output is coloured on a terminal only; elsewhere, trailing blanks are removed. If the encoding of ``file`` lacks
    block characters, bars are drawn with # and rules with -.
    """
    file = file or sys.stdout
    shown = summary(result, words, ascii_only=not _has_blocks(file))
    if file.isatty():
        Console(file=file, highlight=False).print(shown)
        return
    console = Console(file=io.StringIO(), highlight=False, width=PLAIN_WIDTH, no_color=True)
    with console.capture() as plain:
        console.print(shown)
    file.write("".join(line.rstrip() + "\n" for line in plain.get().splitlines()))


def _has_blocks(file: TextIO) -> bool:
    try:
        f"{_EIGHTHS}{box.SIMPLE_HEAD}".encode(file.encoding or "utf-8")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def summary(result: Result, words: Words, *, ascii_only: bool = False) -> RenderableType:
    """Return the summary that ``gpusim run`` prints: headline, facts, bank conflicts, stalls, hazards."""
    parts: list[RenderableType] = [
        Text(words.problem, style="bold"),
        Text(words.kernel),
        Text(""),
        _facts(result),
    ]
    if result.bank_conflicts:
        parts += [Text(""), Text("Shared memory, whole grid", style="bold"), _conflicts(result, ascii_only=ascii_only)]
    if result.stalls:
        parts += [Text(""), Text("Stalls, share of warp cycles", style="bold"), _stalls(result, ascii_only=ascii_only)]
    if result.hazards:
        parts += [Text(""), Text(f"{_count(len(result.hazards), 'hazard')} in the schedule", style="bold red")]
    return Group(*parts)


def _facts(result: Result) -> Table:
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True, style="dim")
    table.add_column()
    for name, value in _fact_rows(result):
        table.add_row(name, Text(value))
    return table


def _sampled(error_percent: float) -> str:
    error = f", some {error_percent:g} % of the elapsed cycles either way" if error_percent else ""
    return f"CTAs stand for others{error}"


def _fact_rows(result: Result) -> Sequence[tuple[str, str]]:
    figures = ", ".join(f"{count} {kind}" for kind, count in result.machine.get("figures", {}).items())
    simulated = result.simulated
    scope = _sampled(simulated.sampling_error_percent) if simulated.sampled else "every CTA simulated"
    rate = f", {simulated.instructions / simulated.seconds:,.0f} a second" if simulated.seconds else ""
    core = f", {simulated.engine} core" if simulated.engine else ""
    extents = " x ".join(str(extent) for extent in result.grid)
    occupancy = (
        f"{_count(result.ctas_per_sm, 'CTA')} per SM: {result.registers_per_thread} registers per thread, "
        f"{result.shared_bytes:,} bytes of shared memory per CTA"
    )
    simulation = (
        f"{_count(simulated.ctas, 'CTA')} of {result.ctas:,}, {_count(simulated.k_tiles, 'k tile')}, "
        f"{_count(simulated.instructions, 'warp instruction')} in {simulated.seconds:.2f} s{rate} ({scope}{core})"
    )
    second = result.reduction
    reduction = (
        f"{_count(second.ctas, 'CTA')} of a second launch, {second.ctas_per_sm} per SM, "
        f"{second.cycles.elapsed:,} of the cycles elapsed, {second.cycles.active:,} of those active"
        if second
        else ""
    )
    return (
        ("machine", machine_name(result) + (f" (figures: {figures})" if figures else "")),
        ("scenario", f"{scenario_digest(result)}, {result.stream} stream{stream_build(result)}"),
        ("grid", f"{extents} = {_count(result.ctas, 'CTA')}, {result.waves:,.2f} waves"),
        ("occupancy", occupancy),
        ("cycles", f"{result.cycles.elapsed:,} elapsed, {result.cycles.active:,} active"),
        ("trust", trust_line(result.trust, machine_name(result))),
        *((("reduction", reduction),) if second else ()),
        ("time", f"{result.time_us:,.2f} us at {result.clock_mhz:,} MHz, {result.tflops:,.2f} TFLOP/s"),
        ("first bound", bound_line(result)),
        ("simulated", simulation),
    )


def _conflicts(result: Result, *, ascii_only: bool) -> Table:
    table = Table(
        box=_ASCII_HEAD if ascii_only else box.SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="dim"
    )
    table.add_column("op")
    table.add_column("operand")
    for name in ("requests", "wavefronts", "ideal", "conflicts", "n-way"):
        table.add_column(name, justify="right", no_wrap=True)
    for row in result.bank_conflicts:
        way = f"{row.wavefronts / row.ideal_wavefronts:.2f}" if row.ideal_wavefronts else "-"
        counts = (row.requests, row.wavefronts, row.ideal_wavefronts, row.conflicts)
        style = "red" if row.conflicts else None
        table.add_row(row.op, row.operand, *(f"{count:,}" for count in counts), way, style=style)
    return table


def _stalls(result: Result, *, ascii_only: bool) -> Table:
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    table.add_column(no_wrap=True, style="cyan")
    ranked = ranked_stalls(result)
    for reason, share in ranked:
        table.add_row(reason, percent(share), _bar(share / ranked[0][1], ascii_only=ascii_only))
    return table


def _bar(share: float, *, ascii_only: bool) -> str:
    """Return a bar of ``share`` of the full width, exact to an eighth of a column, or to a column in ASCII."""
    if ascii_only:
        return "#" * max(1, round(share * _BAR))
    whole, eighth = divmod(round(share * _BAR * 8), 8)
    return ("█" * whole + (_EIGHTHS[eighth] if eighth else "")) or _EIGHTHS[1]


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"
