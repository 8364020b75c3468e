"""One kernel of a scenario as a schedule: its CTAs, the ops of each CTA, and their addresses."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

from gpusim.layout.banks import Banks
from gpusim.machine.spec import Machine
from gpusim.schedule.lanes import Lanes, StepT
from gpusim.schedule.ops import WarpOp
from gpusim.tile.shared_tables import banks_of
from gpusim.units import WARP_SIZE


class Fill(NamedTuple):
    """
    One whole fetch of an operand.

    Attributes:
        target: (row, number) of the fetch, as in ``Lanes.target``.
        slot: Stage of shared memory that it fills.
    """

    target: tuple[int, int]
    slot: int


class FragmentTile(NamedTuple):
    """
    One k tile of an operand whose fragments are loaded.

    Attributes:
        slot: Stage of shared memory that holds it.
        k_groups: k groups whose fragments are loaded, ascending.
    """

    slot: int
    k_groups: Sequence[int]


class Stamped(NamedTuple):
    """
    The stamps of a timeline build.

    Attributes:
        block: Linear block index of the CTA.
        warps: Warps of a CTA.
        k_groups: Groups of stamps of each row: the k groups of a k tile, or the GEMMs of a key block.
        stages: Stages of the shared-memory ring.
        beyond: Rows to reserve beyond those of the k tiles.
        descending: Whether row 0 is executed last.
    """

    block: int
    warps: int
    k_groups: int
    stages: int
    beyond: int
    descending: bool = False


ItemT = TypeVar("ItemT")


class Each(Sequence[ItemT]):
    """A sequence over k tiles whose items are made on access."""

    def __init__(self, length: int, make: Callable[[int], ItemT]) -> None:
        self._length, self._make = length, make

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, index: Any) -> Any:
        return self._make(range(self._length)[index])


class KernelSchedule(ABC, Generic[StepT]):
    """
    The questions that every kernel of every family answers.

    A step is an op, or an op together with its place in a program of several GEMMs.

    Attributes:
        op_kinds: Types of the ops in its programs.
        operand_names: Operands that lie in shared memory, as printed streams name them.
        copied: Those of ``operand_names`` that come from global memory.
        machine: The machine that it runs on.
    """

    machine: Machine

    op_kinds: ClassVar[tuple[type[WarpOp], ...]]
    operand_names: ClassVar[tuple[str, ...]] = ()
    copied: ClassVar[tuple[str, ...]] = ()

    @property
    @abstractmethod
    def grid(self) -> tuple[int, int, int]:
        """gridDim (x, y, z)."""

    @property
    def banks(self) -> Banks:
        """Banks of the machine's shared memory."""
        return banks_of(self.machine)

    @abstractmethod
    def lanes(self) -> Lanes[StepT]:
        """Return the addresses of all CTAs, with their wavefronts in the machine's banks."""

    @abstractmethod
    def steps(self, block: int) -> Sequence[StepT]:
        """
        Return the steps of a CTA with work, in order, from its first op to its last store.

        Args:
            block: Linear block index.
        """

    @property
    @abstractmethod
    def traced_blocks(self) -> tuple[int, ...]:
        """Linear block indices of the few CTAs that are traced, ascending. Each of them has work."""

    @property
    def stamped(self) -> "Stamped":
        """The stamps of a timeline build: the k tiles of the first traced CTA."""
        tiling, block = self.lanes().operands["a"].tiling, self.traced_blocks[0]
        return Stamped(block, tiling.threads // WARP_SIZE, tiling.k_groups, tiling.stages, beyond=tiling.stages)

    def block_at(self, ctaid: tuple[int, int, int]) -> int:
        """Return the linear block index of the CTA with blockIdx (x, y, z)."""
        x, y, z = ctaid
        return x + self.grid[0] * (y + self.grid[1] * z)

    def missing_work(self, block: int) -> str:  # noqa: ARG002 - most grids have no idle CTA
        """Return what an idle CTA lacks, such as "no tile"; empty for a CTA with work."""
        return ""

    def steps_before_epilogue(self, block: int) -> Sequence[StepT]:
        """Return the steps of a CTA up to its first store of accumulators to the epilogue's staging."""
        return self.steps(block)

    def epilogue_steps(self, block: int) -> Sequence[StepT]:  # noqa: ARG002 - a kernel may have none
        """Return the steps of a CTA that bring its output from the accumulators to global memory."""
        return ()

    @abstractmethod
    def fills(self, block: int, operand: str) -> Sequence[Fill]:
        """Return every whole fetch of an operand by a CTA, in program order."""

    @abstractmethod
    def fragments(self, block: int, operand: str) -> Sequence[FragmentTile]:
        """Return every k tile of an operand whose fragments a CTA loads, in program order."""

    def traced_steps(self, block: int) -> Sequence[StepT]:
        """Return the steps that a trace records: all whose ops have a number there."""
        lanes = self.lanes()
        return [step for step in self.steps(block) if lanes.op(step).traced_as is not None]
