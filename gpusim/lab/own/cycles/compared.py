"""Simulates launches of own kernels in time, from the machine code that was measured."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gpusim.lab.own.counts.compared import prepared
from gpusim.lab.own.kernel import Limit, OwnKernel, Size
from gpusim.machine.load import load_machine
from gpusim.own.timed import TracedExecution

MEASURED_MACHINE = "h200"


@dataclass(frozen=True, slots=True)
class ComparedCycles:
    """
    The elapsed cycles of one launch.

    Attributes:
        kernel: Name of the kernel.
        bound: What limits it, as its author expects.
        ours, measured: gpusim's cycles, and those of ``sm__cycles_elapsed.max``.
        instructions: Warp instructions.
    """

    kernel: str
    bound: Limit
    ours: int
    measured: int
    instructions: int

    @property
    def percent(self) -> float:
        """Error of the cycles."""
        return 100 * (self.ours / self.measured - 1)


def time_measured(kernel: OwnKernel, folder: Path, measured: int, size: Size = "large") -> ComparedCycles:
    """
    Simulate a launch in time, and compare its cycles.

    Args:
        kernel: The kernel.
        folder: Folder of the measurements.
        measured: Cycles that were measured.
        size: Which launch.

    Raises:
        CannotRun: The machine code was not kept.
        Unsupported: An instruction that is reached is not executed, or its time is not simulated.
    """
    traced = TracedExecution(prepared(kernel, size, folder, sliced=True), load_machine(MEASURED_MACHINE))
    for _ in traced.run():
        pass
    time = traced.time()
    return ComparedCycles(kernel.name, kernel.bound, time.cycles, measured, time.instructions)


def errors(compared: Sequence[ComparedCycles]) -> tuple[float, float, float]:
    """Return the mean absolute error, its 90th percentile, and the mean error with its sign, all in per cent."""
    percents = np.array([one.percent for one in compared])
    return float(np.abs(percents).mean()), float(np.percentile(np.abs(percents), 90)), float(percents.mean())
