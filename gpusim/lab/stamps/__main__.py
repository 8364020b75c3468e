"""``python -m gpusim.lab.stamps``: phases of stamped kernels, measured and simulated with their stamps."""

import argparse
import os
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, median
from typing import Final

from gpusim.errors import CannotRun, GpusimError, exit_code_of
from gpusim.families.registry import load_gemm_scenario
from gpusim.lab.calibrate.runner import read_rows
from gpusim.lab.stamps.kernel import StampedTileKernel
from gpusim.lab.stamps.phases import PHASES, STAMPS_FILE, TIMES, phases_of, times_of
from gpusim.lab.stamps.simulated import simulated_stamps
from gpusim.lab.tables.markdown_page import put_page, table_row
from gpusim.lab.validation.statistics import summarise
from gpusim.machine.load import load_machine
from gpusim.records.check_table import percent
from gpusim.records.record import measured_folder
from gpusim.scenario.catalogue import find_scenario
from gpusim.verbs.simulate import launch_of, simulated

BETWEEN: Final = tuple(zip(("", *TIMES[:-1]), TIMES, strict=True))
"""Neighbouring stamps."""


@dataclass(frozen=True, slots=True)
class StampedKernel:
    """
    A stamped kernel, measured and simulated.

    Attributes:
        name: Name of its scenario.
        launches: Measured ``TIMES`` of each launch.
        simulated: Simulated ones.
        refusal: Why it cannot be simulated; empty if it can.
    """

    name: str
    launches: Sequence[Mapping[str, int]]
    simulated: Mapping[str, int]
    refusal: str = ""

    @property
    def measured(self) -> dict[str, float]:
        """Medians of measured ``TIMES``."""
        return {time: median(one[time] for one in self.launches) for time in TIMES}

    def swing(self, phase: str) -> float:
        """Mean absolute deviation of a phase's launches from their median, relative to it."""
        return mean(abs(phases_of(one)[phase] / self.took(phase) - 1) for one in self.launches)

    def took(self, phase: str) -> float:
        """Median of a phase's measured cycles, or of the "whole"."""
        return median(phases_of(one)[phase] for one in self.launches)

    def error(self, phase: str) -> float:
        """(simulated - measured) / measured of a phase, or of the "whole"."""
        return phases_of(self.simulated)[phase] / self.took(phase) - 1


def measured_launches(folder: Path) -> dict[str, list[dict[str, int]]]:
    """
    Return the measured times of every kernel's launches.

    Raises:
        CannotRun: The file cannot be read, or a row lacks a time.
    """
    path = folder / STAMPS_FILE
    launches: defaultdict[str, list[dict[str, int]]] = defaultdict(list)
    for number, row in enumerate(read_rows(path, "stamps")):
        try:
            launches[row["name"]].append({time: int(row[time]) for time in TIMES})
        except (KeyError, TypeError, ValueError) as error:
            wanted = ", ".join(("name", *TIMES))
            raise CannotRun(f"{path}: row {number} must have {wanted}, times in whole cycles ({error})") from error
    if not launches:
        raise CannotRun(f"{path}: there must be rows, got none")
    return dict(launches)


def simulated_times(name: str) -> dict[str, int] | str:
    """Return the times of a scenario's stamped kernel, simulated in the default mode, or the reason for a failure."""
    try:
        scenario = load_gemm_scenario(find_scenario(name))
        kernel = StampedTileKernel(scenario, load_machine(scenario.machine))
        kernel.require()
        warps = simulated_stamps(kernel, simulated(launch_of(kernel, "compiled")))
    except GpusimError as error:
        return f"{error}"
    return times_of(warps[0], kernel.stamped)


def stamped_kernels(measured: Mapping[str, Sequence[Mapping[str, int]]]) -> Iterator[StampedKernel]:
    """Yield every measured kernel beside the simulated one, in the order of their names."""
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        for name, found in zip(sorted(measured), pool.map(simulated_times, sorted(measured)), strict=True):
            refusal = found if isinstance(found, str) else ""
            yield StampedKernel(name, measured[name], {} if isinstance(found, str) else found, refusal)


def page(kernels: Sequence[StampedKernel]) -> str:
    """Return the page as markdown."""
    known = [one for one in kernels if not one.refusal]
    lines = [
        "# Stamped kernels",
        "",
        (
            "Timeline builds of GEMMs and convolutions of the development half, one of each configuration without a"
            " split-K and with seven k tiles or more; each is measured in launches with cold caches, and simulated from"
            " its own machine code, stamps included (`python -m gpusim.lab.stamps`). Times are those of warp 0"
            " of the first CTA, from its first stamp; errors are of the medians of launches, whose prologues differ"
            f" from them by {100 * mean(one.swing('prologue') for one in known):.1f} % in the mean, whose drains by"
            f" {100 * mean(one.swing('drain') for one in known):.1f} %."
        ),
        "",
        (
            "The prologue ends behind the first wait and its barrier; the drain are the last `stages - 1` k tiles, for"
            " which nothing is copied, to the issue of the last mma.sync. What a warp waits for parameters is simulated"
            " at its begin; a GPU's waits behind the first stamp, and so these cycles count there."
        ),
        "",
        table_row("phase", "kernels", "mean", "median", "90th percentile", "worst", "signed mean"),
        "|" + "---|" * 7,
        *(_summary_row(known, phase) for phase in (*PHASES, "whole")),
        "",
        "Between two stamps, means over all kernels:",
        "",
        table_row("from", "to", "measured, cycles", "simulated less measured", "magnitude of that"),
        "|---|---|---:|---:|---:|",
        *(_between_row(known, begin, end) for begin, end in BETWEEN),
        "",
        table_row("kernel", *(f"{phase}, {unit}" for phase in PHASES for unit in ("cycles", "error"))),
        "|---|" + "---:|" * (2 * len(PHASES)),
        *(_row(one) for one in kernels),
    ]
    return "\n".join(lines) + "\n"


def _summary_row(known: Sequence[StampedKernel], phase: str) -> str:
    summary = summarise({one.name: one.error(phase) for one in known})
    shares = (f"{100 * value:.1f} %" for value in (summary.mean, summary.median, summary.p90))
    worst = f"{percent(summary.worst)} {summary.worst_name}"
    return table_row(phase, str(summary.kernels), *shares, worst, percent(summary.signed))


def _between_row(known: Sequence[StampedKernel], begin: str, end: str) -> str:
    spans = [[times[end] - times.get(begin, 0) for times in (one.measured, one.simulated)] for one in known]
    less = [after - before for before, after in spans]
    took, by, size = mean(before for before, _ in spans), mean(less), mean(map(abs, less))
    return table_row(begin or "first stamp", end, f"{took:,.0f}", f"{by:+,.0f}", f"{size:,.0f}")


def _row(one: StampedKernel) -> str:
    if one.refusal:
        return table_row(one.name, *[""] * (2 * len(PHASES) - 1), one.refusal)
    return table_row(
        one.name, *(text for phase in PHASES for text in (f"{one.took(phase):,.0f}", percent(one.error(phase))))
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Simulate every measured kernel, write or print the page; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m gpusim.lab.stamps", description=__doc__)
    parser.add_argument("--gpu", default="h200", help="folder of measurements")
    parser.add_argument("--out", type=Path, help="file to write the page to; by default it is printed")
    arguments = parser.parse_args(argv)

    def work() -> None:
        kernels = tuple(stamped_kernels(measured_launches(measured_folder() / arguments.gpu)))
        if all(one.refusal for one in kernels):
            raise CannotRun(f"{arguments.gpu}: no stamped kernel can be simulated: {kernels[0].refusal}")
        put_page(page(kernels), arguments.out)

    return exit_code_of(work)


if __name__ == "__main__":
    sys.exit(main())
