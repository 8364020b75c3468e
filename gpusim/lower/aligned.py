"""The input of alignment (a kernel with a schedule) and its result (the op of each executed instruction)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from gpusim.lower.sass.decode import Sass
from gpusim.lower.sass.repeat import ExecutedInstruction
from gpusim.lower.stream import shifted
from gpusim.schedule.counts import CountedKernel
from gpusim.schedule.lanes import StepT

MMA_OPCODES = frozenset({"HMMA", "IMMA"})
"""SASS opcodes of mma.sync: HMMA for floating-point operands, IMMA for integers."""


TENSOR_BITS = 40
"""Address bits within one tensor. The assumed pointers of different tensors differ in higher bits."""


@dataclass(frozen=True, slots=True)
class ExecutedWarp:
    """
    The instructions that one warp executed, and the steps of its schedule.

    Attributes:
        steps: The executed instructions.
        scheduled: The steps of the schedule, in order, without the skipped k tiles.
        skipped: Number of k tiles skipped, by the number of instructions executed before.
    """

    steps: Sequence[ExecutedInstruction]
    scheduled: Sequence[Any]
    skipped: Mapping[int, int]


@dataclass(frozen=True, slots=True)
class OpPart:
    """The op that an instruction executes. For a ``WarpMma``, ``part`` is the number of its mma.sync."""

    op: Any
    part: int = 0


class AlignedKernel(CountedKernel[StepT]):
    """
    A kernel whose machine code can be aligned with its schedule.

    Attributes:
        arguments: Tensors of launch arguments or of recorded times, by ``Placement.pointers``. Their loads and stores
            are outside the schedule.
    """

    arguments: ClassVar[tuple[str, ...]] = ()

    @property
    def addressed(self) -> frozenset[str]:
        """Opcodes that are matched by region (between barriers) and by the lanes' addresses."""
        addressed = (kind.opcode for kind in self.op_kinds if kind.found_by_address)
        return frozenset(filter(None, addressed)) - MMA_OPCODES

    def advanced(self, step: StepT, k_tiles: int) -> StepT:
        """Return a mainloop step advanced by ``k_tiles`` k tiles."""
        later: StepT = shifted(step, k_tiles, self.lanes().operands["a"].tiling.stages)  # type: ignore[type-var]
        return later

    def name_unaddressed(self, code: Sequence[Sass], executed: ExecutedWarp, named: list[OpPart | None]) -> None:
        """
        Name the executed instructions of ops that are not found by address, and others that carry out a step.

        Args:
            code: The kernel's machine code.
            executed: Instructions that one warp executed.
            named: The op of each executed instruction, to be completed.

        Raises:
            CheckFailed: The warp does not execute the schedule.
        """
