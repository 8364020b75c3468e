"""Prints the summary of a run: scenario, verdict, occupancy, cycles, bank conflicts and stalls."""

import io
import sys
from collections.abc import Sequence
from typing import TextIO

from rich import box
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from gpusim.errors import printable
from gpusim.machine.spec import Machine
from gpusim.report import captions
from gpusim.report.stall_shares import percent, ranked_stalls
from gpusim.results.result import NOT_IN_CUTLASS, Result, RoleWait
from gpusim.results.trust import trust_line
from gpusim.results.use import Use, use_of
from gpusim.results.verdict import verdict

PLAIN_WIDTH = 100
"""Width in columns of output that does not go to a terminal."""

_EIGHTHS = " ▏▎▍▌▋▊▉█"
_BAR = 30
_PEAKS = 4
_FIRST_COLUMN = 32
_ASCII_HEAD = box.Box(str(box.SIMPLE_HEAD).replace("─", "-"), ascii=True)


def print_summary(
    result: Result, words: captions.Words, machine: Machine, name: str = "", file: TextIO | None = None
) -> None:
    """
    Print ``summary`` to ``file``, or to stdout if it is None.

    Output is coloured on a terminal only; elsewhere it has no trailing blanks. If the encoding of ``file`` lacks block
    characters, bars are drawn with # and rules with -.
    """
    file = file or sys.stdout
    print_plain(summary(result, words, machine, name, ascii_only=not has_blocks(file)), file)


def print_tables(*parts: tuple[str, Sequence[str], Sequence[Sequence[str]]]) -> None:
    """
    Print tables to stdout, with an empty line between them; plain if stdout is not a terminal.

    Args:
        *parts: Name of the first column, names of the others, and the rows. A table without rows is left out.
    """
    shown: list[RenderableType] = []
    for first, figures, rows in parts:
        if rows:
            table = _table(first, [printable(name) for name in figures])
            for row in rows:
                table.add_row(*map(printable, row))
            shown += [table, ""]
    print_plain(Group(*shown), sys.stdout)


def _table(first: str, figures: Sequence[str]) -> Table:
    """Return an empty table: the first column is text, the others are figures, aligned right."""
    table = Table(
        box=box.SIMPLE_HEAD if has_blocks(sys.stdout) else _ASCII_HEAD,
        pad_edge=False,
        show_edge=False,
        header_style="dim",
    )
    table.add_column(first, min_width=_FIRST_COLUMN, overflow="fold")
    for name in figures:
        table.add_column(name, justify="right", overflow="fold")
    return table


def print_plain(shown: RenderableType, file: TextIO) -> None:
    """Print to ``file``: coloured on a terminal; elsewhere plain, without trailing blanks."""
    if file.isatty():
        Console(file=file, highlight=False, markup=False, emoji=False).print(shown)
        return
    console = Console(file=io.StringIO(), highlight=False, markup=False, emoji=False, width=PLAIN_WIDTH, no_color=True)
    with console.capture() as plain:
        console.print(shown)
    file.write("".join(line.rstrip() + "\n" for line in plain.get().splitlines()))


def has_blocks(file: TextIO) -> bool:
    """Return whether the encoding of ``file`` has block characters."""
    try:
        f"{_EIGHTHS}{box.SIMPLE_HEAD}".encode(file.encoding or "utf-8")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def summary(
    result: Result, words: captions.Words, machine: Machine, name: str = "", *, ascii_only: bool = False
) -> RenderableType:
    """
    Return the summary that ``gpusim run`` prints: headline, verdict, facts, bank conflicts, stalls, hazards.

    Args:
        result: The run.
        words: Description of its scenario.
        machine: The machine that was simulated.
        name: Name of the scenario; empty if it has none.
        ascii_only: Draw rules and bars in ASCII.
    """
    use = use_of(result, machine)
    said = verdict(result, use)
    parts: list[RenderableType] = [
        Text(f"{name}: {said}" if name else said, style="bold"),
        Text(words.problem),
        Text(words.kernel),
        Text(""),
        facts(_fact_rows(result, use)),
    ]
    if result.bank_conflicts:
        parts += [Text(""), Text("Shared memory, whole grid", style="bold"), _conflicts(result, ascii_only=ascii_only)]
    if result.stalls:
        parts += [
            Text(""),
            Text("Stalls, share of warp cycles (`gpusim stalls` says what each means)", style="bold"),
            stalls(ranked_stalls(result), ascii_only=ascii_only),
        ]
    if result.roles:
        parts += [
            Text(""),
            Text("Roles, share of their warp cycles", style="bold"),
            _roles(result.roles, ascii_only=ascii_only),
        ]
    if result.hazards:
        parts += [Text(""), Text(f"{counted(len(result.hazards), 'hazard')} in the schedule", style="bold red")]
    return Group(*parts)


def facts(rows: Sequence[tuple[str, str]]) -> Table:
    """Return a table of facts, each with its name."""
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True, style="dim")
    table.add_column()
    for name, value in rows:
        table.add_row(name, Text(value))
    return table


def _sampled(error_percent: float) -> str:
    error = f", some {error_percent:g} % of the elapsed cycles either way" if error_percent else ""
    return f"CTAs stand for others{error}"


def _sm_use(use: Use) -> str:
    """Return the SMs in use and, for several waves, the filled part of the last one, in words."""
    text = f"{use.working:,} of {use.sms:,} have a CTA"
    return (
        text if use.waves == 1 else f"{text}; the last of {use.waves:,} waves is filled to {_per_cent(use.last_wave)}"
    )


def _tile(use: Use, *, masked: bool) -> str:
    if use.tile_efficiency is None:
        return ""
    share = _per_cent(use.tile_efficiency)
    others = "no multiplication is" if share == "100 %" else "the other multiplications are"
    return f"{share} efficient: {others} padding{' or masked' if masked else ''}"


def _peaks(use: Use) -> str:
    """Return the use of the busiest resources, over all SMs and the whole run."""
    return ", ".join(f"{resource} {_per_cent(share)}" for resource, share in use.of_peak[:_PEAKS])


def _per_cent(share: float) -> str:
    return f"{100 * share:.0f} %"


def _fact_rows(result: Result, use: Use) -> Sequence[tuple[str, str]]:
    figures = ", ".join(f"{count} {kind}" for kind, count in result.machine.get("figures", {}).items())
    simulated = result.simulated
    scope = _sampled(simulated.sampling_error_percent) if simulated.sampled else "every CTA simulated"
    pace = f", {simulated.instructions / simulated.seconds:,.0f} a second" if simulated.seconds else ""
    whole = f"; whole {simulated.total_seconds:.2f} s" if simulated.total_seconds else ""
    core = f", {simulated.engine} core" if simulated.engine else ""
    extents = " x ".join(str(extent) for extent in result.grid)
    occupancy = (
        f"{counted(result.ctas_per_sm, 'CTA')} per SM: {result.registers_per_thread} registers per thread, "
        f"{result.shared_bytes:,} bytes of shared memory per CTA"
    )
    simulation = (
        f"{counted(simulated.ctas, 'CTA')} of {result.ctas:,}, {counted(simulated.k_tiles, 'k tile')}, "
        f"{counted(simulated.instructions, 'warp instruction')} in {simulated.seconds:.2f} s"
        f"{pace}{whole} ({scope}{core})"
    )
    unit = captions.rate_unit(result)
    rate = f"{result.tflops:,.2f} {unit}"
    if use.tensor_peak:
        rate += f", {100 * result.tflops / use.tensor_peak:.1f} % of the tensor cores' {use.tensor_peak:,.0f}"
    lacking = result.provenance.get(NOT_IN_CUTLASS)
    convention = captions.counted_work(result)
    tile = _tile(use, masked=bool(convention))
    rate += f" ({convention})" if convention else ""
    second = result.reduction
    reduction = (
        f"{counted(second.ctas, 'CTA')} of a second launch, {second.ctas_per_sm} per SM, "
        f"{second.cycles.elapsed:,} of the cycles elapsed, {second.cycles.active:,} of those active"
        if second
        else ""
    )
    return (
        ("machine", captions.machine_name(result) + (f" (figures: {figures})" if figures else "")),
        ("scenario", f"{captions.scenario_digest(result)}, {result.stream} stream{captions.stream_build(result)}"),
        *((("CUTLASS", f"has no such kernel: {lacking}"),) if lacking else ()),
        *((("not compiled", captions.not_compiled(result)),) if captions.not_compiled(result) else ()),
        ("grid", f"{extents} = {counted(result.ctas, 'CTA')}, {result.waves:,.2f} waves"),
        ("SMs", _sm_use(use)),
        *((("tile", tile),) if tile else ()),
        ("occupancy", occupancy),
        ("cycles", f"{result.cycles.elapsed:,} elapsed, {result.cycles.active:,} active"),
        ("trust", trust_line(result.trust, captions.machine_name(result))),
        *((("reduction", reduction),) if second else ()),
        ("time", f"{result.time_us:,.2f} us at {result.clock_mhz:,} MHz, {rate}"),
        *((("of peak", f"{_peaks(use)} (all SMs, all cycles)"),) if use.of_peak else ()),
        ("first bound", captions.bound_line(result)),
        ("simulated", simulation),
    )


def ruled(*, ascii_only: bool) -> Table:
    """Return an empty table with a ruled header."""
    lines = _ASCII_HEAD if ascii_only else box.SIMPLE_HEAD
    return Table(box=lines, pad_edge=False, show_edge=False, header_style="dim")


def _conflicts(result: Result, *, ascii_only: bool) -> Table:
    table = ruled(ascii_only=ascii_only)
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


def _roles(roles: Sequence[RoleWait], *, ascii_only: bool) -> Table:
    """Return the table of what each role waits for."""
    table = Table(box=_ASCII_HEAD if ascii_only else box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for column in ("role", "waits for"):
        table.add_column(column)
    table.add_column("share", justify="right")
    before = ""
    for row in roles:
        table.add_row(row.role if row.role != before else "", row.waits_for, percent(row.share))
        before = row.role
    return table


def stalls(ranked: Sequence[tuple[str, float]], *, ascii_only: bool) -> Table:
    """Return the table of stall reasons and their shares, the largest first."""
    table = ruled(ascii_only=ascii_only)
    table.add_column("reason", no_wrap=True)
    table.add_column("share", justify="right", no_wrap=True)
    table.add_column("of the largest", no_wrap=True, style="cyan")
    for reason, share in ranked:
        table.add_row(reason, percent(share), bar(share / ranked[0][1], ascii_only=ascii_only))
    return table


def bar(share: float, *, ascii_only: bool) -> str:
    """Return a bar of ``share`` of the full width, exact to an eighth of a column, or to a column in ASCII."""
    if ascii_only:
        return "#" * max(1, round(share * _BAR))
    whole, eighth = divmod(round(share * _BAR * 8), 8)
    return ("█" * whole + (_EIGHTHS[eighth] if eighth else "")) or _EIGHTHS[1]


def counted(number: int, what: str) -> str:
    """Return a number of things in words."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"
