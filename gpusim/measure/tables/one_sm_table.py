"""
``python -m gpusim.measure.tables.one_sm_table``: main loops of CTAs on one SM, measured and simulated.

Each whole, and with some of its instructions left out on both sides: what is left out says which mechanism is wrong.
"""

import argparse
import sys
from array import array
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np

from gpusim.errors import exit_code_of
from gpusim.families.registry import family_of
from gpusim.gpu.calibrate.table import MeasuredTable
from gpusim.lower.compiled import CompilableKernel
from gpusim.lower.stream import Instruction
from gpusim.machine.load import load_machine
from gpusim.measure.one_sm import LENGTHS, scenario_of
from gpusim.measure.parts import EMPTY, LANES, parts_in
from gpusim.measure.tables.page import put_page
from gpusim.records.record import measured_folder
from gpusim.results.result import StreamOrigin
from gpusim.sim.code import PIPE, Assembly, Decoded, DecodedSegment, pipe_names
from gpusim.sim.core.columns import Column, Data
from gpusim.sim.core.engine import engine
from gpusim.sim.footprint import IN_L2
from gpusim.sim.launch import Launch
from gpusim.sim.run import Resident, columns_of, run_chip
from gpusim.sim.tables import code_of
from gpusim.verbs.simulate import launch_of

MEASURED: Final = Path("h100") / "parts"
"""Folder of ``one_sm.csv`` below ``measured_folder()``: of a GPU whose SM is an H200's, at the same clock."""

_PARTS_OF_UNITS: Final = {"ldgsts": "LDGSTS", "tensor": "MMA", "barrier": "BAR"}


class PartialLoop(NamedTuple):
    """
    A main loop with something left out.

    Attributes:
        name: Name of the scenario whose kernel it is of.
        ctas: CTAs on the SM.
        left_out: What is left out of it (``parts.parts_in``).
    """

    name: str
    ctas: int
    left_out: str


class Both(NamedTuple):
    """
    Cycles measured and simulated, of a k tile of all CTAs.

    Attributes:
        loop: The loop.
        last: From the difference of two lengths, when the last CTA ends.
        first: Of the longer one alone, when the first CTA ends.
    """

    loop: PartialLoop
    last: tuple[float, float]
    first: tuple[float, float]


def part_of(instruction: Instruction) -> str:
    """Return the name of the part that an instruction belongs to, "" where it is none that can be left out."""
    name = instruction.opcode.partition(".")[0]
    if name == "LDSM":
        return name
    if instruction.opcode == "LDS" and instruction.op is None:
        return EMPTY
    return _PARTS_OF_UNITS.get(instruction.unit, "")


def nothing(decoded: Decoded, always_free: int) -> Decoded:
    """Return a decoded instruction as the NOP in its place: it waits before and after it as long, and does nothing."""
    return Decoded(PIPE, always_free, stall=decoded.stall, gated=decoded.gated, waits=decoded.waits, line=decoded.line)


def resident_of(launch: Launch, ctas: int, parts: Collection[str]) -> Resident:
    """Return what an SM holds: CTAs whose code lacks some parts, and ends behind its main loop."""
    machine = launch.machine
    always_free = len(pipe_names(machine)) + 1
    assemblies = {}
    for behaviour, assembly in launch.assemblies.items():
        segments = []
        for segment, own in zip(assembly.segments, launch.streams[behaviour].segments, strict=True):
            code = [
                nothing(decoded, always_free) if part_of(instruction) in parts else decoded
                for decoded, instruction in zip(segment.code, own.instructions, strict=True)
                if segment.name != "epilogue" or instruction.unit == "exit"
            ]
            segments.append(DecodedSegment(segment.name, tuple(code), segment.trips, segment.tiles_per_trip))
        assemblies[behaviour] = Assembly(tuple(segments), assembly.warps, assembly.instructions_per_warp)
    code_columns = code_of(assemblies, machine.instruction_cache.stream_lines)
    return Resident(launch.kernel, assemblies, code_columns, ctas)


def in_l2(data: Data, *, lanes: bool) -> Data:
    """
    Return what CTAs touch as it is where the L2 has all of it; without lanes their copies ask for nothing.

    Not modelled: copies without lanes of a prologue, which fill with zeros where lanes are off, still do.
    """
    fetches = len(data.pattern)
    found = replace(
        data,
        simulates_l2=False,
        row_status=_column(0, len(data.row_status)),
        slow=_column(IN_L2.slow, fetches),
        missed=_column(IN_L2.missed, fetches),
        shared=_column(IN_L2.shared, fetches),
        looked=_column(IN_L2.looked, fetches),
    )
    return found if lanes else replace(found, asked=_column(0, len(data.asked)), touched=_column(0, len(data.touched)))


def _column(value: int, count: int) -> Column:
    return array("q", [value]) * count


def ends_of(launch: Launch, ctas: int, left_out: str) -> list[int]:
    """Return the cycles from the first launch to the end of each CTA's main loop, in the order of their ends."""
    parts = parts_in(left_out)
    resident = resident_of(launch, ctas, parts)
    figures, data = columns_of(resident, range(ctas), None)
    chip = engine().module.Chip(figures, resident.code, in_l2(data, lanes=LANES not in parts), 1, ctas, 1, ())
    lives = run_chip(chip, launch.machine.launch, range(ctas), None)
    return sorted(life.finished - min(one.launched for one in lives) for life in lives)


def launch_for(name: str, ctas: int, k: int, origin: StreamOrigin) -> Launch:
    """
    Return the launch of a named scenario's kernel with so many CTAs.

    Raises:
        CannotRun: Streams are to be compiled, and no compiler is installed.
    """
    scenario = scenario_of(name, ctas, k)
    (kernel,) = family_of(scenario).timing.timed_kernels(scenario, load_machine(scenario.machine))
    if isinstance(kernel, CompilableKernel):
        kernel.own_build = True
    return launch_of(kernel, origin)


def compared(table: MeasuredTable) -> Iterator[Both]:
    """Yield every loop that was measured, beside its simulation."""
    for name in table.values("name"):
        for ctas in map(int, table.values("ctas")):
            lengths = [row for row in table.rows(name=name) if row["ctas"] == str(ctas)]
            if not lengths:
                continue
            launches = [launch_for(name, ctas, k, "compiled") for k in LENGTHS]
            depth = int(scenario_of(name, ctas, LENGTHS[0]).resolved()["kernel"]["threadblock"][2])
            short, long = (k // depth for k in LENGTHS)
            for left_out in dict.fromkeys(row["left_out"] for row in lengths):
                loop = PartialLoop(name, ctas, left_out)
                measured = [_measured_ends(table, loop, k) for k in LENGTHS]
                simulated = [ends_of(launch, ctas, left_out) for launch in launches]
                last = tuple((one[1][-1] - one[0][-1]) / (long - short) for one in (measured, simulated))
                first = tuple(one[1][0] / long for one in (measured, simulated))
                yield Both(loop, (last[0], last[1]), (first[0], first[1]))


def _measured_ends(table: MeasuredTable, loop: PartialLoop, k: int) -> list[int]:
    (row,) = table.rows(**loop._asdict(), k=k)
    return [int(end) for end in row["ends"].split()]


def page(rows: Sequence[Both]) -> Iterator[str]:
    """Yield the lines of the page: errors by what is left out, and the whole loops."""
    yield "# Main loops of one SM, measured and simulated"
    yield ""
    yield (
        "CTAs of one kernel on one SM, while all others rest; their operands are in the L2. Some instructions are left"
        " out of both: NOP that wait as long stand for them, and copies without lanes bring nothing. The k tile of all"
        f" CTAs is the difference of sums of {LENGTHS[0]} and {LENGTHS[1]} when the last CTA ends. The first CTA's is"
        f" that of {LENGTHS[1]}, with its prologue. Measured on an H100, whose SM is an H200's:"
        " `reports/measured/h100/parts/one_sm.csv`. The mean is of absolute errors."
        " `python -m gpusim.measure.tables.one_sm_table` makes this page anew; it compiles the kernels."
    )
    yield ""
    yield "| left out | loops | k tile: mean | signed | worst | first CTA: mean | signed |"
    yield "|---|---:|---:|---:|---:|---:|---:|"
    for left_out in dict.fromkeys(row.loop.left_out for row in rows):
        own = [row for row in rows if row.loop.left_out == left_out]
        last, first = (np.array([100 * (both[1] / both[0] - 1) for both in pairs]) for pairs in _pairs(own))
        yield (
            f"| {left_out or 'nothing'} | {len(own)} | {np.abs(last).mean():.1f} % | {last.mean():+.1f} % |"
            f" {last[np.abs(last).argmax()]:+.1f} % | {np.abs(first).mean():.1f} % | {first.mean():+.1f} % |"
        )
    yield ""
    yield "## Nothing left out: cycles of a k tile of all CTAs"
    yield ""
    yield "| kernel | CTAs | measured | simulated | |"
    yield "|---|---:|---:|---:|---:|"
    for (name, ctas, left_out), (measured, simulated), _ in rows:
        if not left_out:
            yield f"| {name} | {ctas} | {measured:.0f} | {simulated:.0f} | {100 * (simulated / measured - 1):+.1f} % |"


def _pairs(rows: Sequence[Both]) -> tuple[list[tuple[float, float]], list[tuple[float, float]]]:
    return [row.last for row in rows], [row.first for row in rows]


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the page, or print it; return 0, or the exit code of the error."""
    parser = argparse.ArgumentParser(prog="python -m gpusim.measure.tables.one_sm_table", description=__doc__)
    parser.add_argument("--out", type=Path, help="file to write the page to; by default it is printed")
    parsed = parser.parse_args(arguments)
    table = MeasuredTable(measured_folder() / MEASURED, "one_sm")
    return exit_code_of(lambda: put_page("\n".join(page(tuple(compared(table)))) + "\n", parsed.out))


if __name__ == "__main__":
    sys.exit(main())
