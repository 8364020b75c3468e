"""
``python -m gpusim.lab.tables.one_sm_table``: main loops of CTAs on one SM, measured and simulated.

Each whole, and with some of its instructions left out on both sides: what is left out says which mechanism is wrong.
"""

import argparse
import sys
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import Final, NamedTuple

from gpusim.errors import CannotRun, exit_code_of
from gpusim.families.registry import family_of
from gpusim.lab.calibrate.table import MeasuredTable, NotMeasured
from gpusim.lab.main_loops.one_sm import LENGTHS, scenario_of
from gpusim.lab.main_loops.parts import EMPTY, LANES, parts_in
from gpusim.lab.tables.markdown_page import put_page, table_row
from gpusim.lab.validation.observe import FigurePair, k_tiles
from gpusim.lab.validation.statistics import summarise
from gpusim.lower.compiled import CompilableKernel
from gpusim.lower.stream import Instruction
from gpusim.machine.load import load_machine
from gpusim.records.check_table import percent
from gpusim.records.record import measured_folder
from gpusim.results.result import StreamOrigin
from gpusim.sim.code import Decoded, pipe_names
from gpusim.sim.columns import Data, zeros
from gpusim.sim.core.constants import PIPE
from gpusim.sim.core.engine import engine
from gpusim.sim.footprint import IN_L2
from gpusim.sim.launch import Launch
from gpusim.sim.run import Resident, columns_of, run_chip
from gpusim.sim.tables import code_of
from gpusim.verbs.simulate import launch_of

MEASURED: Final = {"one_sm": Path("h100") / "parts", "pipelined": Path("h200") / "parts"}
"""Folders of tables below ``measured_folder()``. The SM of an H100 is that of an H200, at the same clock."""

_OPCODES_LEFT_OUT: Final = ("LDSM", "LDG", "STS")

_PARTS_OF_UNITS: Final = {"ldgsts": "LDGSTS", "tensor": "MMA", "barrier": "BAR"}


class PartialLoop(NamedTuple):
    """
    A main loop with parts left out.

    Attributes:
        name: Name of the scenario of its kernel.
        ctas: CTAs on the SM.
        left_out: The parts that are left out (``parts.parts_in``).
    """

    name: str
    ctas: int
    left_out: str


class Both(NamedTuple):
    """
    Cycles of a k tile of all CTAs, measured and simulated.

    Attributes:
        loop: The loop.
        last: Until the last CTA ends, from the difference of two lengths of the sum.
        first: Until the first CTA ends, from the longer sum alone.
    """

    loop: PartialLoop
    last: FigurePair
    first: FigurePair


def part_of(instruction: Instruction) -> str:
    """Return the name of an instruction's part; "" if it cannot be left out."""
    name = instruction.opcode.partition(".")[0]
    if name in _OPCODES_LEFT_OUT:
        return name
    if instruction.opcode == "LDS" and instruction.op is None:
        return EMPTY
    return _PARTS_OF_UNITS.get(instruction.unit, "")


def nothing(decoded: Decoded, always_free: int) -> Decoded:
    """
    Return the NOP in the place of an instruction: a warp waits as long before and after it, and it does nothing.

    It waits for a barrier, too: on silicon, a loop without mma.sync is slower than the whole loop if the mma.sync is
    right behind a barrier.
    """
    waits, line = decoded.waits, decoded.line
    return Decoded(PIPE, always_free, joins=True, stall=decoded.stall, gated=decoded.gated, waits=waits, line=line)


def resident_of(launch: Launch, ctas: int, parts: Collection[str]) -> Resident:
    """Return the resident CTAs of an SM. Their code lacks some parts, and ends after the main loop."""
    machine = launch.machine
    always_free = len(pipe_names(machine)) + 1
    assemblies = {}
    for behaviour, assembly in launch.assemblies.items():
        segments = []
        for segment in assembly.segments:
            kept = [
                (instruction, nothing(decoded, always_free) if part_of(instruction) in parts else decoded)
                for instruction, decoded in zip(segment.instructions, segment.code, strict=True)
                if segment.name != "epilogue" or instruction.unit == "exit"
            ]
            instructions, code = zip(*kept, strict=True) if kept else ((), ())
            segments.append(segment._replace(instructions=instructions, code=code))
        assemblies[behaviour] = replace(assembly.with_segments(segments), parameter_lines=1)
    code_columns = code_of(assemblies, machine.instruction_cache.stream_lines)
    return Resident(launch.kernel, assemblies, code_columns, ctas)


def in_l2(data: Data, *, lanes: bool) -> Data:
    """
    Return the data of CTAs with all lines in the L2. Without lanes, their copies request nothing.

    Not modelled: copies of a prologue zero-fill for lanes that are off, and on silicon still do so without lanes.
    """
    fetches = len(data.pattern)
    found = replace(
        data,
        simulates_l2=False,
        row_status=zeros(len(data.row_status)),
        slow=zeros(fetches, IN_L2.slow),
        brought=zeros(fetches, IN_L2.missed),
        shared=zeros(fetches, IN_L2.shared),
        looked=zeros(fetches, IN_L2.looked),
    )
    if lanes:
        return found
    instructions = len(data.asked)
    return replace(
        found, asked=zeros(instructions), touched=zeros(len(data.touched)), l1_wavefronts=zeros(instructions)
    )


def simulated_ends(launch: Launch, ctas: int, left_out: str) -> list[int]:
    """Return the cycles from the first launch to the end of each CTA's main loop, in the order of their ends."""
    parts = parts_in(left_out)
    resident = resident_of(launch, ctas, parts)
    figures, data = columns_of(resident, range(ctas), None)
    chip = engine().module.Chip(figures, resident.code, in_l2(data, lanes=LANES not in parts), 1, ctas, 1, ())
    lives = run_chip(chip, launch.machine.launch, range(ctas), None)
    return sorted(life.finished - min(one.launched for one in lives) for life in lives)


def launch_for(name: str, ctas: int, k: int, origin: StreamOrigin) -> Launch:
    """
    Return the launch of a named scenario's kernel with ``ctas`` CTAs.

    Raises:
        CannotRun: Streams must be compiled, and no compiler is installed.
    """
    scenario = scenario_of(name, ctas, k)
    (kernel,) = family_of(scenario).timing.timed_kernels(scenario, load_machine(scenario.machine))
    if isinstance(kernel, CompilableKernel):
        kernel.own_build = True
    return launch_of(kernel, origin)


def compared(table: MeasuredTable) -> Iterator[Both]:
    """
    Yield every measured loop with its simulation.

    Raises:
        CannotRun: There are no measurements, or no compiler is installed.
    """
    try:
        measured = table.rows(k=LENGTHS[0])
    except NotMeasured as error:
        folder = measured_folder() / MEASURED[Path(table.name).stem]
        raise CannotRun(f"{folder / table.name}: no measured rows") from error
    loops = [PartialLoop(row["name"], int(row["ctas"]), row["left_out"]) for row in measured]
    for (name, ctas), own in groupby(loops, key=lambda loop: loop[:2]):
        launches = [launch_for(name, ctas, k, "compiled") for k in LENGTHS]
        tiles = [k_tiles(scenario_of(name, ctas, k).resolved()) for k in LENGTHS]
        for loop in own:
            silicon = _of_k_tile([_measured_ends(table, loop, k) for k in LENGTHS], tiles)
            model = _of_k_tile([simulated_ends(launch, ctas, loop.left_out) for launch in launches], tiles)
            yield Both(loop, FigurePair(silicon[0], model[0]), FigurePair(silicon[1], model[1]))


def _measured_ends(table: MeasuredTable, loop: PartialLoop, k: int) -> list[int]:
    (row,) = table.rows(**loop._asdict(), k=k)
    return [int(end) for end in row["ends"].split()]


def _of_k_tile(ends: Sequence[Sequence[int]], tiles: Sequence[int]) -> tuple[float, float]:
    """Return the cycles of a k tile until the last CTA ends and until the first ends, from the ends of two lengths."""
    return (ends[1][-1] - ends[0][-1]) / (tiles[1] - tiles[0]), ends[1][0] / tiles[1]


def page(rows: Sequence[Both], pipelined: Sequence[Both]) -> Iterator[str]:
    """Yield the lines of the page: errors by the parts left out, and the whole loops, for both kinds of kernels."""
    yield "# Main loops of one SM, measured and simulated"
    yield ""
    yield (
        "CTAs of one kernel on one SM, while all others rest; their operands are in the L2. Some instructions are left"
        " out of both: NOP that wait as long stand for them, and copies without lanes bring nothing. The k tile of all"
        f" CTAs is the difference of sums of {LENGTHS[0]} and {LENGTHS[1]} when the last CTA ends. The first CTA's is"
        f" that of {LENGTHS[1]}, with its prologue. Measured on an H100, whose SM is an H200's:"
        " `reports/measured/h100/parts/one_sm.csv`. The mean is of absolute errors. Below are kernels that load into"
        " registers and store to shared memory, measured on an H200: `reports/measured/h200/parts/pipelined.csv`."
        " `python -m gpusim.lab.tables.one_sm_table` makes this page anew; it compiles the kernels."
    )
    yield ""
    yield from by_part(rows)
    yield ""
    yield "## Nothing left out: cycles of a k tile of all CTAs"
    yield ""
    yield from whole_loops(rows)
    yield ""
    yield "## Loads and stores instead of copies"
    yield ""
    yield from by_part(pipelined)
    yield ""
    yield from whole_loops(pipelined)


def by_part(rows: Sequence[Both]) -> Iterator[str]:
    """Yield a table of errors by the parts left out."""
    yield table_row("left out", "loops", "k tile: mean", "signed", "worst", "first CTA: mean", "signed")
    yield "|---|---:|---:|---:|---:|---:|---:|"
    for left_out in dict.fromkeys(row.loop.left_out for row in rows):
        own = [row for row in rows if row.loop.left_out == left_out]
        last = summarise({str(row.loop): row.last.error for row in own})
        first = summarise({str(row.loop): row.first.error for row in own})
        cells = [left_out or "nothing", str(len(own)), f"{100 * last.mean:.1f} %", percent(last.signed)]
        yield table_row(*cells, percent(last.worst), f"{100 * first.mean:.1f} %", percent(first.signed))


def whole_loops(rows: Sequence[Both]) -> Iterator[str]:
    """Yield a table of the whole loops."""
    yield table_row("kernel", "CTAs", "measured", "simulated", "error")
    yield "|---|---:|---:|---:|---:|"
    for (name, ctas, left_out), both, _ in rows:
        if not left_out:
            yield table_row(name, str(ctas), f"{both.measured:.0f}", f"{both.simulated:.0f}", percent(both.error))


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the page, or print it; return 0, or the exit code of the error."""
    parser = argparse.ArgumentParser(prog="python -m gpusim.lab.tables.one_sm_table", description=__doc__)
    parser.add_argument("--out", type=Path, help="file to write the page to; by default it is printed")
    parsed = parser.parse_args(arguments)
    one_sm, pipelined = (MeasuredTable(measured_folder() / folder, name) for name, folder in MEASURED.items())
    return exit_code_of(
        lambda: put_page("\n".join(page(tuple(compared(one_sm)), tuple(compared(pipelined)))) + "\n", parsed.out)
    )


if __name__ == "__main__":
    sys.exit(main())
