"""Prints the answer about a kernel of the user's own: facts, stalls, and its instructions by stall cycles."""

import sys
from collections.abc import Callable, Sequence
from operator import attrgetter
from pathlib import Path
from typing import Final, TextIO

from rich.console import Group, RenderableType
from rich.text import Text

from gpusim.report.stall_shares import percent
from gpusim.report.tables import counted, facts, has_blocks, print_plain, ruled, stalls
from gpusim.results.kernel_result import SELECTED_REASON, KernelResult, KernelRow, trust_in_words
from gpusim.results.stall_words import STALL_WORDS

MOST_ROWS: Final = 10
"""Instructions of a printed table."""

LEAST_STALLED: Final = 0.01
"""Least share of all warp cycles with which an instruction is among those before which warps are stalled."""

MOST_REASONS: Final = 2
"""Stall reasons of an instruction that are printed."""

LEAST_REASON: Final = 0.05
"""Least share of an instruction's stall cycles with which a reason is printed."""


def print_kernel(result: KernelResult, name: str = "", file: TextIO | None = None) -> None:
    """Print ``kernel_summary`` to ``file``, or to stdout if it is None."""
    file = file or sys.stdout
    print_plain(kernel_summary(result, name, ascii_only=not has_blocks(file)), file)


def kernel_summary(result: KernelResult, name: str = "", *, ascii_only: bool = False) -> RenderableType:
    """
    Return the text that ``gpusim run`` prints about a kernel of the user's own.

    Args:
        result: The answer.
        name: Name of the scenario; empty if it is the kernel's.
        ascii_only: Draw rules and bars in ASCII.
    """
    parts: list[RenderableType] = [
        Text(f"{name or result.kernel}: {kernel_verdict(result)}", style="bold"),
        Text(""),
        facts(kernel_facts(result)),
        Text(""),
        Text("Stalls, share of warp cycles (`gpusim stalls` says what each means)", style="bold"),
        stalls(stall_shares(result), ascii_only=ascii_only),
    ]
    stalled = [
        row for row in largest(result, attrgetter("stalled")) if row.stalled >= LEAST_STALLED * result.warp_cycles
    ]
    if stalled:
        parts += [
            Text(""),
            Text("Instructions by the cycles that warps are stalled before them", style="bold"),
            _table(("cycles", "share", "issues"), [_stalled(row, result) for row in stalled], "SASS", ascii_only),
        ]
    for title, count, ideal in (
        ("Shared memory, wavefronts by instruction", "wavefronts", "ideal_wavefronts"),
        ("Global memory, sectors by instruction", "sectors", "ideal_sectors"),
    ):
        rows = largest(result, attrgetter(count))
        if rows:
            shown = [_accessed(row, getattr(row, count), getattr(row, ideal)) for row in rows]
            parts += [
                Text(""),
                Text(title, style="bold"),
                _table((count, "ideal", "x ideal", "issues"), shown, "SASS", ascii_only),
            ]
    if result.findings:
        parts += [Text(""), *(Text(line, style="bold red") for line in result.findings)]
    return Group(*parts)


def kernel_verdict(result: KernelResult) -> str:
    """Return cycles and time of a launch, and what its warps wait for most, in a sentence."""
    took = (
        f"{result.cycles.elapsed:,} cycles, {result.time_us:,.2f} us on {result.machine['name']} ({result.validation})"
    )
    waits = [(reason, share) for reason, share in stall_shares(result) if STALL_WORDS[reason].waits_for]
    if not waits:
        return took
    reason, share = waits[0]
    return f"{took}; warps wait most for {STALL_WORDS[reason].waits_for}, {percent(share)} of their cycles"


def stall_shares(result: KernelResult) -> list[tuple[str, float]]:
    """Return the stall reasons and their shares of all warp cycles, the largest first."""
    return [(reason, cycles / result.warp_cycles) for reason, cycles in result.stalls.items()]


def largest(result: KernelResult, value: Callable[[KernelRow], int]) -> list[KernelRow]:
    """Return the instructions for which a value is largest and not 0, the largest first."""
    return sorted((row for row in result.rows if value(row)), key=lambda row: (-value(row), row.address))[:MOST_ROWS]


def reasons_of(row: KernelRow) -> str:
    """Return why warps are stalled before an instruction, in a few words."""
    waits = [(reason, cycles / row.stalled) for reason, cycles in row.stalls.items() if reason != SELECTED_REASON]
    shown = [(reason, share) for reason, share in waits if share >= LEAST_REASON][:MOST_REASONS]
    return ", ".join(f"{reason} {100 * share:.0f} %" for reason, share in shown)


def _stalled(row: KernelRow, result: KernelResult) -> tuple[str, ...]:
    cycles = f"{row.stalled:,}", percent(row.stalled / result.warp_cycles), f"{row.issues:,}"
    return (*cycles, f"{_place(row)}\n  {reasons_of(row)}")


def _accessed(row: KernelRow, count: int, ideal: int) -> tuple[str, ...]:
    way = f"{count / ideal:.2f}" if ideal else "-"
    return f"{count:,}", f"{ideal:,}", way, f"{row.issues:,}", _place(row)


def _place(row: KernelRow) -> str:
    return f"{row.address:#06x} {row.text}{f'  ({row.source})' if row.source else ''}"


def _table(
    figures: Sequence[str],
    rows: Sequence[Sequence[str]],
    last: str,
    ascii_only: bool,
) -> RenderableType:
    table = ruled(ascii_only=ascii_only)
    for name in figures:
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column(last, overflow="fold")
    for row in rows:
        table.add_row(*row)
    return table


def kernel_facts(result: KernelResult) -> list[tuple[str, str]]:
    """Return the facts of an answer, each with its name."""
    machine, sms = result.machine, result.sms
    figures = ", ".join(f"{count} {kind}" for kind, count in machine.get("figures", {}).items())
    grid, block = (" x ".join(map(str, extents)) for extents in (result.grid, result.block))
    occupancy = (
        f"{counted(result.ctas_per_sm, 'CTA')} per SM, limited by {result.limiter.replace('_', ' ')}: "
        f"{result.registers_per_thread} registers per thread, {result.shared_bytes:,} bytes of shared memory per CTA"
    )
    return [
        ("machine", str(machine["name"]) + (f" (figures: {figures})" if figures else "")),
        ("kernel", f"{result.kernel} of {Path(str(result.scenario['file'])).name}"),
        (
            "launch",
            f"{grid} = {counted(result.ctas, 'CTA')} of {block} threads, {result.waves:,.2f} waves on {sms} SMs",
        ),
        ("occupancy", occupancy),
        ("cycles", f"{result.cycles.elapsed:,} elapsed, {result.cycles.active:,} active"),
        ("trust", trust_in_words(result.validation)),
        ("time", f"{result.time_us:,.2f} us at {result.clock_mhz:,} MHz"),
        ("of peak", ", ".join(f"{name} {100 * share:.0f} %" for name, share in result.of_peak.items())),
        ("DRAM", _dram(result)),
        ("shared", _share("wavefront", result.total("wavefronts"), result.total("ideal_wavefronts"), "bank conflicts")),
        ("global", _share("sector", result.total("sectors"), result.total("ideal_sectors"), "unused bytes")),
        ("data", _data(result)),
        ("executed", _executed(result)),
    ]


def _dram(result: KernelResult) -> str:
    rate = (result.dram_read_bytes + result.dram_written_bytes) / result.time_us / 1000
    return f"{result.dram_read_bytes:,} bytes read, {result.dram_written_bytes:,} written, {rate:,.0f} GB/s"


def _share(what: str, count: int, ideal: int, cause: str) -> str:
    return f"{counted(count, what)}, {ideal:,} without {cause}" if count else f"no {what}s"


def _data(result: KernelResult) -> str:
    if result.data.order_steers:
        return "and the order of CTAs steer addresses or branches: the answer holds for these data, CTA after CTA"
    if result.data.data_steers:
        return "steer addresses or branches: the answer holds for these data"
    return "steer no address and no branch: the answer holds for any data"


def _executed(result: KernelResult) -> str:
    data = result.data
    part = "the slice that decides path and accesses" if data.executed == "slice" else "every instruction"
    paths, lists = counted(data.programs, "distinct path"), counted(data.streams, "distinct list")
    return (
        f"{part}, {counted(result.warp_instructions, 'warp instruction')} of {counted(result.ctas, 'CTA')} with {paths}"
        f" and {lists} of accesses; {data.seconds:.2f} s"
    )
