"""One kernel of a scenario as a schedule: which CTAs it launches, what each of them does, and at which addresses."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

from gpusim.schedule.lanes import Lanes, StepT
from gpusim.tile.lanes import STANDARD, Banks


class Fill(NamedTuple):
    """
    One whole fetch of an operand.

    Attributes:
        target: Row and number of the fetch, as of ``Lanes.target``.
        slot: Slot of shared memory that it fills.
    """

    target: tuple[int, int]
    slot: int


class FragmentTile(NamedTuple):
    """
    One k tile of an operand whose fragments are loaded.

    Attributes:
        slot: Slot that it lies in.
        k_groups: Those of which fragments are loaded, ascending.
    """

    slot: int
    k_groups: Sequence[int]


ItemT = TypeVar("ItemT")


class Each(Sequence[ItemT]):
    """A sequence as long as a sum may be, of which only what is asked for is made."""

    def __init__(self, length: int, make: Callable[[int], ItemT]) -> None:
        self._length, self._make = length, make

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, index: Any) -> Any:
        return self._make(range(self._length)[index])


class KernelSchedule(ABC, Generic[StepT]):
    """
    What is asked of every kernel, whichever family it is of.

    A step is an op, or an op with its place in a program of several GEMMs.

    Attributes:
        op_kinds: Types of the ops that its programs are made of, in the order that numbers them in a trace.
        operand_names: Operands that lie in shared memory, as printed streams name them.
        copied: Those of them that come from global memory.
    """

    op_kinds: ClassVar[tuple[type, ...]]
    operand_names: ClassVar[tuple[str, ...]] = ()
    copied: ClassVar[tuple[str, ...]] = ()

    @property
    @abstractmethod
    def grid(self) -> tuple[int, int, int]:
        """gridDim x, y, z."""

    @abstractmethod
    def lanes(self, banks: Banks = STANDARD) -> Lanes[StepT]:
        """The addresses of all CTAs."""

    @abstractmethod
    def steps(self, block: int) -> Sequence[StepT]:
        """What a CTA with work executes, in order, from its first op to its last store; by its linear block index."""

    @property
    @abstractmethod
    def traced_blocks(self) -> tuple[int, ...]:
        """Linear block indices of the CTAs worth tracing, ascending; few, and each has work."""

    def block_at(self, ctaid: tuple[int, int, int]) -> int:
        """Linear index of the block whose tile has these indices."""
        x, y, z = ctaid
        return x + self.grid[0] * (y + self.grid[1] * z)

    def missing_work(self, block: int) -> str:  # noqa: ARG002 - most grids have no idle CTA
        """What a CTA lacks that exits at once; empty for one with work."""
        return ""

    def steps_before_epilogue(self, block: int) -> Sequence[StepT]:
        """The steps of a CTA up to its first accumulator in the epilogue's staging."""
        return self.steps(block)

    def epilogue_steps(self, block: int) -> Sequence[StepT]:  # noqa: ARG002 - a kernel may have none
        """The steps of a CTA that bring its output from the accumulators to global memory."""
        return ()

    @abstractmethod
    def fills(self, block: int, operand: str) -> Sequence[Fill]:
        """Every whole fetch of an operand by a CTA, in the order of its program."""

    @abstractmethod
    def fragments(self, block: int, operand: str) -> Sequence[FragmentTile]:
        """Every k tile of which a CTA loads fragments of an operand, in the order of its program."""

    def traced_steps(self, block: int) -> Sequence[StepT]:
        """The steps that a trace records."""
        return self.steps(block)
