"""
The interface of a kernel to the timing simulation: its CTAs, their code, their data and their work.

Each of the four is a protocol, and each part of the simulation uses the protocol that it needs. A kernel of a family is
a ``TimedKernel``, which implements all four.
"""

from abc import abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any, ClassVar, NamedTuple, Protocol, TypeAlias

import numpy as np

from gpusim.arrays import IntArray
from gpusim.element_types import Mma
from gpusim.lower.stream import Stream
from gpusim.machine.spec import Machine
from gpusim.results.result import StreamOrigin
from gpusim.schedule.counts import CountedKernel
from gpusim.schedule.lanes import Lanes, StepT
from gpusim.schedule.ops import SassOpcode
from gpusim.sim.code import Access, Noted
from gpusim.sim.footprint import L2Status


class Touched(NamedTuple):
    """
    The parts of L2 granules that fetches of one tensor access, turn by turn, and key by key within a turn.

    Attributes:
        keys: Number of keys (``KernelData.walked``) of the fetches.
        turn, key: Turn of the fetch, and the index of its key in the argument.
        granule: Number of the granule in the tensor; equal numbers are the same memory.
        parts: Bit mask of the accessed parts, at most sixteen; 1 for a granule that is not divided.
        size: Bytes of one part.
    """

    keys: int
    turn: IntArray
    key: IntArray
    granule: IntArray
    parts: IntArray
    size: IntArray


@dataclass(frozen=True, slots=True)
class Watch:
    """
    The activities that an observer distinguishes in a watched CTA.

    Attributes:
        activities: Names of the activities in a timeline.
        copy: The activity that copies the operands of a k tile (or key block).
        first, last: The activities in which the multiplications of a k tile (or key block) begin and end.
        uncut: Activities that continue while the warp waits. After a wait, any other activity begins a new stretch.
        numbers_waits: If True, the n-th wait belongs to k tile n and lasts until the barrier's release, whatever is
            issued meanwhile. If False, a wait belongs to the activity that waits and ends at the next instruction.
    """

    activities: tuple[str, ...]
    copy: str
    first: str
    last: str
    uncut: frozenset[str]
    numbers_waits: bool


UNWATCHED = Watch((), "", "", "", frozenset(), numbers_waits=True)
"""Watch of a kernel whose CTAs are not watched."""


class Launched(Protocol):
    """
    The CTAs of a launch by number: 0, 1, ... in launch order. Blocks without a tile are not numbered.

    Attributes:
        machine: The machine that they run on.
    """

    machine: Machine

    @property
    @abstractmethod
    def launched(self) -> IntArray:
        """Linear block index of every CTA, in launch order."""


class KernelCtas(Launched, Protocol):
    """The differences between the CTAs of a launch, for handing out and sampling CTAs and for their data columns."""

    @abstractmethod
    def behaviour(self, cta: int) -> Hashable:
        """Return the behaviour of a CTA. CTAs of equal behaviour execute the same stream."""

    def kind(self, cta: int, runs: Hashable) -> Hashable:  # noqa: ARG002 - all CTAs are alike by default
        """
        Return the kind of a CTA. CTAs of equal kind take equal time under equal conditions.

        Args:
            cta: Number of the CTA.
            runs: The first behaviour whose stream equals the CTA's.
        """
        return self.behaviour(cta)

    def work(self, cta: int) -> int:  # noqa: ARG002 - all CTAs are alike by default
        """Return the work of a CTA relative to other CTAs, in any unit proportional to duration."""
        return 1

    def follows(self, cta: int) -> int:  # noqa: ARG002 - none by default
        """Return the CTA whose stores a CTA's epilogue waits for, or -1."""
        return -1


class KernelCode(Protocol[StepT]):
    """
    The code of a CTA's warps, for the decoder and for the description and observation of instructions.

    Attributes:
        machine: The machine that it is decoded for.
        watch: The activities that are observed in a watched CTA.
        trips_go_round: Whether each trip of its mainloop uses a later slot of the shared-memory ring.
    """

    machine: Machine
    watch: ClassVar[Watch] = UNWATCHED
    trips_go_round: ClassVar[bool] = False

    @abstractmethod
    def lanes(self) -> Lanes[StepT]:
        """Return the addresses of all CTAs, with their wavefronts in the machine's banks."""

    @property
    @abstractmethod
    def shared_bytes(self) -> int:
        """Shared memory of a CTA, bytes."""

    @property
    @abstractmethod
    def stages(self) -> int:
        """Number of slots in the shared-memory ring of k tiles."""

    @abstractmethod
    def stream(self, behaviour: Hashable, origin: StreamOrigin) -> Stream:
        """
        Return the instruction stream of the CTAs of one behaviour.

        Raises:
            BadInput: The kernel has no stream of this origin.
            CannotRun: There is no shipped stream, and no compiler is installed.
        """

    @property
    def orders_slices(self) -> bool:
        """Whether a semaphore orders the stores of the split-K slices."""
        return False

    def turn(self, step: StepT, behaviour: Hashable) -> int:  # noqa: ARG002 - all CTAs are alike by default
        """Return the turn of a step's fetch: its number among the row's fetches in the program."""
        return self.lanes().target(step)[1]

    def access(self, step: StepT, lanes: Lanes[StepT]) -> Access:  # noqa: ARG002 - there may be none
        """Return the properties that an instruction takes from a step whose op is a family's own."""
        return Access()

    def noted(self, step: StepT, behaviour: Hashable) -> Noted:  # noqa: ARG002 - nothing without a watch
        """Return the activity that a step belongs to if its CTA is watched."""
        return Noted()


class KernelData(Launched, Protocol):
    """
    The global-memory accesses of a launch's CTAs, for the walks through the L2 and the columns of data.

    A tensor's data consists of L2 granules. Fetches of CTAs with equal keys touch the same granules.
    """

    def cached_in_l1(self, row: int) -> bool:  # noqa: ARG002 - there may be no copies
        """Return whether the copies of a row (``Lanes.target``) go through the L1."""
        return False

    def tensor_of(self, row: int) -> int:
        """Return the number of the tensor that a row of copies fetches."""
        return row

    @abstractmethod
    def found(self, cta: int, *, first_wave: bool) -> tuple[L2Status, ...]:
        """Return the L2 status of the loads in each row of ``CtaLanes.outputs``."""

    def walked(self, cta: int) -> tuple[Hashable, ...]:  # noqa: ARG002 - there may be no copies
        """Return a key for each copied tensor, equal for CTAs that fetch the same data of the tensor."""
        return ()

    def granules(self, tensor: int) -> int:
        """Return the number of granules of the L2 that hold a tensor."""
        raise TypeError(f"{type(self).__name__} copies no tensor {tensor}")

    def most_granules(self, tensor: int) -> int:  # noqa: ARG002 - one by default
        """Return the most granules that one fetch of a tensor touches."""
        return 1

    def turns(self, tensor: int, walked: Any) -> int:
        """Return the number of fetches of one ``walked`` key."""
        raise TypeError(f"{type(self).__name__} copies no tensor {tensor}: {walked}")

    def touched(self, tensor: int, keys: Sequence[Any], begin: int, end: int) -> Touched:
        """
        Return the granules of the L2 that fetches touch.

        Args:
            tensor: The tensor.
            keys: The ``walked`` keys whose fetches they are.
            begin, end: First turn, and the one after the last.
        """
        raise TypeError(f"{type(self).__name__} copies no tensor {tensor}: {keys}, {begin} to {end}")

    def own_bytes(self, tensor: int, walked: Hashable) -> IntArray | None:  # noqa: ARG002 - granules may be shared
        """
        Return the bytes of each fetch of one ``walked`` key, if no other fetch touches its granule of the L2.

        Return None if fetches share granules, or parts of them.
        """
        return None

    @property
    def other_dram_bytes(self) -> int:
        """Bytes that the grid reads from DRAM besides its copies."""
        return 0

    @property
    def stored_bytes(self) -> int:
        """Bytes that the grid stores, and that occupy the L2."""
        return 0


class KernelWork(Protocol):
    """
    The work of the grid, for the rates, counts and pipeline rows of a result.

    Attributes:
        counters: Additional counters of a result, with the instruction that each counts.
        alternates: Whether its warps alternate between tensor cores and other pipes.
    """

    counters: ClassVar[Mapping[str, SassOpcode]] = {}
    alternates: ClassVar[bool] = False

    @property
    def mma(self) -> Mma | None:
        """The mma.sync that the kernel uses; None for a kernel without MMAs."""
        return None

    @property
    @abstractmethod
    def flops(self) -> int:
        """Multiplications and additions of the problem, without padding; rates count them."""

    @abstractmethod
    def k_tiles(self, cta: int) -> int:
        """Return the number of k tiles that a CTA multiplies, over all its GEMMs."""

    def pipeline_rows(self, cta: int) -> int:
        """Return the number of k tiles, or key blocks, in the pipeline of a watched CTA."""
        return self.k_tiles(cta)


class TimedKernel(CountedKernel[StepT], KernelCtas, KernelCode[StepT], KernelData, KernelWork):
    """A kernel that can be simulated in time."""

    @cached_property
    def launched(self) -> IntArray:
        """Linear block index of every CTA, in launch order. By default every block of the grid is one."""
        return np.arange(prod(self.grid), dtype=np.int64)

    def require(self) -> None:
        """
        Check that the machine can run the kernel.

        Raises:
            BadInput: It cannot. The message says what the machine lacks.
        """

    def can_be_compiled(self) -> bool:
        """Return whether compiled streams are available: shipped, or from an installed compiler."""
        return False

    @property
    def lender(self) -> "TimedKernel[StepT]":
        """``CountedKernel.lender``. Its estimated code equals this kernel's, apart from the trips of the mainloop."""
        return self


AnyKernel: TypeAlias = TimedKernel[Any]
