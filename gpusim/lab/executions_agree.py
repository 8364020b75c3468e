"""``python -m gpusim.lab.executions_agree``: holds the compiled core to the interpreted one, row by row."""

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import repeat
from multiprocessing import get_context
from pathlib import Path
from types import ModuleType
from typing import Any

from gpusim.errors import BadInput, CannotRun, CheckFailed, GpusimError
from gpusim.families.registry import family_of, load_scenario
from gpusim.lab.host import Host, host_of_today
from gpusim.lab.tables.markdown_page import put_page
from gpusim.machine.load import load_machine
from gpusim.machine.occupancy import ctas_per_sm
from gpusim.results.result import StreamOrigin
from gpusim.scenario.catalogue import find_scenario, recordable_scenarios, validation_scenarios
from gpusim.scenario.models import Scenario
from gpusim.sim.columns import Code, Data, rows_of
from gpusim.sim.core.chip import Chip
from gpusim.sim.core.constants import NOTE_WIDTH, SPAN_WIDTH
from gpusim.sim.core.engine import engine
from gpusim.sim.figures import Figures
from gpusim.sim.launch import Launch
from gpusim.sim.run import Resident, columns_of, run_chip
from gpusim.sim.tables import code_of
from gpusim.units import WARP_SIZE

MOST_INSTRUCTIONS = 3_000_000
"""Warp instructions of a scenario that an interpreted core executes in some ten seconds."""


class Twins(Chip):
    """
    An interpreted chip and another one, which gets the same CTAs and must give the same answers.

    Every CTA is watched. When one ends, the rows that both have logged since the last end are compared and dropped.

    Args:
        other: The module of the other core.
        figures, code, data, sms, slots, share: As of ``Chip``.

    Attributes:
        compared: Number of compared rows of the logs.
    """

    def __init__(  # noqa: PLR0917 - as of the chip
        self, other: ModuleType, figures: Figures, code: Code, data: Data, sms: int, slots: int, share: int
    ) -> None:
        super().__init__(figures, code, data, sms, slots, share)
        self._other: Any = other.Chip(figures, code, data, sms, slots, share)
        self.compared = 0

    def hand(self, sm: int, cta: int, at: int, observed: int) -> None:  # noqa: ARG002 - all are watched
        """Send a CTA to an SM of both chips."""
        super().hand(sm, cta, at, 1)
        self._other.hand(sm, cta, at, 1)

    def run(self) -> int:
        """
        Run both chips until a CTA ends; return its number.

        Raises:
            CheckFailed: The chips differ. The message has the first row that differs.
        """
        cta, other = super().run(), self._other
        found = (other.run(), other.now, other.ended_sm, other.ended_launched, other.ended_at)
        for name, width in (("notes", NOTE_WIDTH), ("spans", SPAN_WIDTH)):
            own, found_there = getattr(self, name).column, getattr(other, name).column
            self._compare_rows(name, *(rows_of(log, width).tolist() for log in (own, found_there)))
            del own[:], found_there[:]
        _must_equal("end of a CTA", (cta, self.now, self.ended_sm, self.ended_launched, self.ended_at), found)
        return cta

    def _compare_rows(self, log: str, interpreted: list[list[int]], compiled: list[list[int]]) -> None:
        """Compare the rows that both chips have logged since the last end of a CTA."""
        for number, (own, row) in enumerate(zip(interpreted, compiled, strict=False)):
            if own != row:
                raise CheckFailed(f"row {number} of the {log} since the last end is {own} interpreted, {row} compiled")
        _must_equal(f"{log} since the last end", len(interpreted), len(compiled))
        self.compared += len(interpreted)

    def compare_totals(self) -> None:
        """
        Compare the counters of both chips.

        Raises:
            CheckFailed: The counters differ.
        """
        other = self._other
        _must_equal("instructions", self.smsp.instructions, other.smsp.instructions)
        _must_equal("wavefronts", self.data_stage.wavefronts, other.data_stage.wavefronts)
        _must_equal("sectors read from the L2", self.l2.sectors, other.l2.sectors)
        _must_equal("bytes read from DRAM", self.dram.read_bytes, other.dram.read_bytes)
        _must_equal("stalls by place", list(self.stalls), list(other.stalls))
        _must_equal("sectors by place", list(self.l1.sectors), list(other.l1.sectors))


def _must_equal(what: str, interpreted: object, compiled: object) -> None:
    if interpreted != compiled:
        raise CheckFailed(f"{what}: {interpreted} interpreted, {compiled} compiled")


@dataclass(frozen=True, slots=True)
class RanAlike:
    """
    A scenario whose launches have equal logs in both executions.

    Attributes:
        name: Name of the scenario.
        launches, ctas, instructions: Launches, CTAs and warp instructions, all of them executed.
        rows: Rows of the logs, equal in both.
    """

    name: str
    launches: int
    ctas: int
    instructions: int
    rows: int


def launches_of(scenario: Scenario) -> tuple[Launch, ...]:
    """
    Return the launches of a scenario, with compiled streams if they ship.

    Raises:
        BadInput: Its machine cannot run them, or has no figures for them.
        CannotRun: A stream is neither shipped nor can be compiled.
    """
    machine = load_machine(scenario.machine)
    launches = []
    for kernel in family_of(scenario).timing.timed_kernels(scenario, machine):
        kernel.require()
        behaviours = dict.fromkeys(kernel.behaviour(cta) for cta in range(len(kernel.launched)))
        origin: StreamOrigin = "compiled" if kernel.can_be_compiled() else "estimated"
        streams = {one: kernel.stream(one, origin) for one in behaviours}
        registers = max(one.registers_per_thread for one in streams.values())
        room = ctas_per_sm(machine, WARP_SIZE * kernel.lanes().warps, registers, kernel.shared_bytes)
        launches.append(Launch(kernel, streams, room.ctas))
    return tuple(launches)


def agreement(name: str, launches: Sequence[Launch], compiled: ModuleType) -> RanAlike:
    """
    Run all CTAs of some launches on both cores, on every SM that has work.

    Args:
        name: Name of the scenario.
        launches: Its launches.
        compiled: The module that is compared with the interpreted one.

    Raises:
        CheckFailed: The executions differ.
    """
    instructions = rows = 0
    for launch in launches:
        code = code_of(launch.assemblies, launch.machine.instruction_cache.stream_lines)
        resident = Resident(launch.kernel, launch.assemblies, code, launch.ctas_per_sm)
        queue = range(launch.ctas)
        figures, data = columns_of(resident, queue, None)
        chip = Twins(compiled, figures, code, data, launch.working, launch.ctas_per_sm, 1)
        try:
            run_chip(chip, launch.machine.launch, queue, None)
            chip.compare_totals()
        except CheckFailed as error:
            raise CheckFailed(f"{name}: {error}") from error
        instructions += chip.smsp.instructions
        rows += chip.compared
    return RanAlike(name, len(launches), sum(launch.ctas for launch in launches), instructions, rows)


def agreements(files: Sequence[Path], most: int, compiled: ModuleType) -> Iterator[RanAlike | str]:
    """
    Yield each scenario's agreement, or in a line why it was left out.

    Args:
        files: The scenarios.
        most: Most warp instructions of a scenario that is run.
        compiled: The module that is compared with the interpreted one.

    Raises:
        CheckFailed: The executions differ.
    """
    for path in files:
        try:
            launches = launches_of(load_scenario(path))
        except (BadInput, CannotRun) as error:
            yield f"{path.stem}: {error}"
            continue
        instructions = sum(launch.instructions for launch in launches)
        if instructions > most:
            yield f"{path.stem}: {instructions:,} warp instructions"
        else:
            yield agreement(path.stem, launches, compiled)


def agreement_table(rows: Sequence[RanAlike], left_out: Sequence[str], host: Host) -> str:
    """Return the report as markdown."""
    total = RanAlike(
        f"all {len(rows)}",
        sum(row.launches for row in rows),
        sum(row.ctas for row in rows),
        sum(row.instructions for row in rows),
        sum(row.rows for row in rows),
    )
    lines = [
        "# Interpreted and compiled, row by row",
        "",
        "Each scenario's launches were run exactly, on all SMs, by the core as Python interprets it and as it was",
        "compiled, side by side. All CTAs were watched. Both did the same: every row of their logs (issues, arrivals",
        "of data, releases, stall spans, exits), the end of every CTA, stalls, the sectors of every SM, wavefronts,",
        "and bytes from DRAM.",
        "",
        *host.lines(),
        "",
        "| scenario | launches | CTAs | warp instructions | equal rows of the log |",
        "|---|---:|---:|---:|---:|",
    ]
    lines += [
        f"| {row.name} | {row.launches} | {row.ctas:,} | {row.instructions:,} | {row.rows:,} |"
        for row in (*rows, total)
    ]
    if left_out:
        lines += ["", "Not run:", "", *(f"- {line}" for line in left_out)]
    return "\n".join(lines) + "\n"


def _compared_scenarios() -> list[Path]:
    """Return the scenarios that are measured on hardware, without those for validation only."""
    apart = set(validation_scenarios())
    return [path for path in recordable_scenarios() if path not in apart]


def _agreement_of(file: Path, most: int) -> RanAlike | str:
    return next(agreements([file], most, engine().module))


def main(argv: Sequence[str] | None = None) -> int:
    """Run both cores side by side and write the table. Return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m gpusim.lab.executions_agree", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="default: all recorded scenarios")
    parser.add_argument(
        "--most",
        type=int,
        default=MOST_INSTRUCTIONS,
        metavar="N",
        help="leave out scenarios of more warp instructions than this [default: %(default)s]",
    )
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="processes [default: 1]")
    parser.add_argument("--out", type=Path, help="default: standard output")
    arguments = parser.parse_args(argv)
    found = engine()
    rows: list[RanAlike] = []
    left_out: list[str] = []
    try:
        if found.why:
            raise CannotRun(f"there is no compiled core to compare: {found.why}")
        files = [find_scenario(name) for name in arguments.names] or _compared_scenarios()
        started = time.perf_counter()
        with ProcessPoolExecutor(arguments.jobs, mp_context=get_context("spawn")) as pool:
            for one in pool.map(_agreement_of, files, repeat(arguments.most)):
                if isinstance(one, str):
                    left_out.append(one)
                else:
                    rows.append(one)
                said = f"left out, {one}" if isinstance(one, str) else f"{one.name}: {one.rows:,} equal rows"
                sys.stderr.write(f"[{time.perf_counter() - started:6.1f} s] {said}\n")
    except GpusimError as error:
        sys.stderr.write(f"error: {error}\n")
        return error.exit_code
    text = agreement_table(rows, left_out, host_of_today())
    put_page(text, arguments.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
