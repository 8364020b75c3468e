"""Executes launches of own kernels from the machine code that was measured, and compares their counts with ncu's."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from gpusim.arrays import IntArray
from gpusim.execute.core import constants as core
from gpusim.execute.counts import InstructionCounts, count, empty_counts
from gpusim.execute.image import image_of
from gpusim.execute.lane_masks import active_lanes
from gpusim.execute.launch import KernelLaunch
from gpusim.execute.run import ExecutedSteps, KernelExecution
from gpusim.lab.calibrate.runner import read_rows
from gpusim.lab.own.contents import make_arguments
from gpusim.lab.own.counts.metrics import COMPARABLE, COPY_WAVEFRONTS
from gpusim.lab.own.kernel import OwnKernel, Size
from gpusim.lab.own.machine_code import read_code
from gpusim.layout.banks import access_wavefronts
from gpusim.layout.global_lines import returning_wavefronts
from gpusim.lower.sass.cubin import read_cubin
from gpusim.lower.sass.decode import Sass
from gpusim.records.halves import Half

WITHOUT_CONFLICTS: Final = "wavefronts without conflicts"
"""Name of the row that compares ideal wavefronts; ncu has them by opcode alone."""


@dataclass(frozen=True, slots=True)
class ExecutedKernel:
    """
    What gpusim executed of a launch.

    Attributes:
        code: The instructions.
        rows: Counts of each.
        copies: Wavefronts of LDGSTS, by the pattern in shared memory or by the lines that return, whichever are more.
    """

    code: Sequence[Sass | None]
    rows: Sequence[InstructionCounts]
    copies: int

    def executed(self) -> Iterator[tuple[Sass, InstructionCounts]]:
        """Yield each instruction that was executed, with its counts."""
        yield from ((sass, row) for sass, row in zip(self.code, self.rows, strict=True) if sass and row.issues)


@dataclass(frozen=True, slots=True)
class ComparedCount:
    """
    One count of one kernel.

    Attributes:
        kernel: Name of the kernel.
        what: ncu's metric, an opcode, or ``WITHOUT_CONFLICTS``.
        ours, measured: gpusim's count, and ncu's.
    """

    kernel: str
    what: str
    ours: int
    measured: int

    @property
    def equal(self) -> bool:
        """Whether the two are equal."""
        return self.ours == self.measured


@dataclass(frozen=True, slots=True)
class MeasuredCounts:
    """
    What ncu measured of one launch.

    Attributes:
        metrics: Values by ncu's name of the metric.
        opcodes: Executed instructions by opcode.
        ideal: Ideal wavefronts of all opcodes together.
    """

    metrics: Mapping[str, int]
    opcodes: Mapping[str, int]
    ideal: int


def read_measured(folder: Path, half: Half, size: Size = "large") -> dict[str, MeasuredCounts]:
    """
    Return what ncu measured of the kernels of a half, by name.

    Raises:
        CannotRun: A file is missing.
    """
    name = half.replace("-", "_")
    opcodes, ideal = defaultdict[str, dict[str, int]](dict), Counter[str]()
    for row in _read(folder / f"{name}_opcodes.csv", size):
        opcodes[row["name"]][row["opcode"]] = int(row["executed"])
        ideal[row["name"]] += int(row["ideal"] or 0)
    return {
        row["name"]: MeasuredCounts(
            {metric.name: int(row[metric.name]) for metric in COMPARABLE if row.get(metric.name)},
            opcodes[row["name"]],
            ideal[row["name"]],
        )
        for row in read_counters(folder, half, size)
    }


def read_counters(folder: Path, half: Half, size: Size = "large") -> list[dict[str, str]]:
    """
    Return the rows of ncu's counters of a half.

    Raises:
        CannotRun: The file is missing.
    """
    return _read(folder / f"{half.replace('-', '_')}_counters.csv", size)


def _read(path: Path, size: Size) -> list[dict[str, str]]:
    return [row for row in read_rows(path, "counts of own kernels") if row["size"] == size]


def execute_measured(kernel: OwnKernel, folder: Path, size: Size = "large") -> ExecutedKernel:
    """
    Execute a launch from the machine code that was measured, and count it.

    Raises:
        CannotRun: The machine code was not kept.
        Unsupported: An instruction that is reached is not executed.
    """
    execution = prepared(kernel, size, folder)
    counts, copies = empty_counts(execution.code), _Copies(execution)
    count(counts, execution.rows, copies.seen())
    return ExecutedKernel(execution.code, counts.rows, copies.wavefronts)


def prepared(kernel: OwnKernel, size: Size, folder: Path, *, sliced: bool = False) -> KernelExecution:
    """
    Return the execution of a launch from the machine code that was measured; it has not begun.

    Args:
        kernel: The kernel.
        size: Which launch.
        folder: Folder of the measurements.
        sliced: Only what reaches an address, a predicate or a branch is executed.

    Raises:
        CannotRun: The machine code was not kept.
    """
    given = make_arguments(kernel.launch(size))
    return execution_of(kernel, size, read_code(folder, kernel.code), given, keeps=True, sliced=sliced)


def execution_of(
    kernel: OwnKernel, size: Size, code: bytes, given: Mapping[str, Any], **options: Any
) -> KernelExecution:
    """
    Return the execution of a launch; it has not begun.

    Args:
        kernel: The kernel.
        size: Which launch.
        code: Bytes of a cubin that has the kernel.
        given: Its arguments (``make_arguments``); the execution has copies of the arrays, in their order.
        options: Of ``KernelExecution``.
    """
    launch = kernel.launch(size)
    image = image_of([(name, value) for name, value in given.items() if isinstance(value, np.ndarray)])
    addresses = {one.name: one.address.to_bytes(8, "little") for one in image.allocations}
    values = [addresses.get(name) or np.asarray(value).tobytes() for name, value in given.items()]
    shape = KernelLaunch(launch.grid, launch.block, launch.shared_bytes)
    return KernelExecution(read_cubin(code, kernel.entry, kernel.code), shape, values, image, **options)


class _Copies:
    """Counts the wavefronts of LDGSTS that bypass the L1 while the pieces of a trace pass by."""

    def __init__(self, execution: KernelExecution) -> None:
        self.execution, self.wavefronts = execution, 0
        table = execution.rows.reshape(-1, core.ROW)
        self.sizes: IntArray = np.where(table[:, core.KIND] == core.COPY, table[:, core.SIZE], 0)

    def seen(self) -> Iterator[ExecutedSteps]:
        """Yield the pieces of the launch."""
        for piece in self.execution.run():
            sizes = self.sizes[piece.steps[piece.accesses]]
            for size in np.unique(sizes[sizes > 0]):
                self._add(piece, np.flatnonzero(sizes == size), int(size))
            yield piece

    def _add(self, piece: ExecutedSteps, rows: IntArray, size: int) -> None:
        read, written = piece.addresses[rows[::2]], piece.addresses[rows[1::2]]
        active = active_lanes(piece.lanes[piece.accesses[rows[::2]]])
        pattern = access_wavefronts(np.where(active, written, 0), size, active)
        self.wavefronts += int(np.maximum(pattern, returning_wavefronts(read, written, active, 8)).sum())


def compare_counts(kernel: OwnKernel, executed: ExecutedKernel, measured: MeasuredCounts) -> list[ComparedCount]:
    """Compare the counts of one launch; those that are zero on both sides are left out."""
    ours: Counter[str] = Counter()
    for sass, row in executed.executed():
        ours[sass.name] += row.issues
        ours[WITHOUT_CONFLICTS] += row.ideal_wavefronts
        for metric in COMPARABLE:
            ours[metric.name] += metric.counted(sass, row)
    ours[COPY_WAVEFRONTS] = executed.copies
    opcodes = sorted({*measured.opcodes, *(sass.name for sass, _ in executed.executed())})
    theirs = {
        **measured.metrics,
        WITHOUT_CONFLICTS: measured.ideal,
        **{name: measured.opcodes.get(name, 0) for name in opcodes},
    }
    compared = [ComparedCount(kernel.name, what, ours[what], value) for what, value in theirs.items()]
    return [one for one in compared if one.ours or one.measured]
