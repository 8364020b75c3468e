"""What a simulation in time asks of a kernel of any family: its CTAs, their code, their data, their work."""

from abc import abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, TypeAlias

from gpusim.arrays import IntArray
from gpusim.element_types import Mma
from gpusim.lower.stream import Stream
from gpusim.machine.spec import Machine
from gpusim.results.result import StreamOrigin
from gpusim.schedule.counts import CountedKernel, SassOpcode
from gpusim.schedule.lanes import Lanes, StepT
from gpusim.sim.code import Access, Noted
from gpusim.sim.footprint import L2Status


class Touch(NamedTuple):
    """
    What one fetch touches of one granule.

    Attributes:
        granule: Equal for the same place in memory.
        parts: Bit mask of its parts; 1 where the granule is whole.
        size: Bytes of one part.
    """

    granule: Hashable
    parts: int
    size: int


@dataclass(frozen=True, slots=True)
class Watch:
    """
    What is noted of a watched CTA.

    Attributes:
        activities: What an instruction can belong to, as a timeline names it.
        copy: The activity that brings what a k tile (or key block) multiplies.
        first, last: Those in which its multiplications begin and end.
        uncut: Activities that go on while the warp waits; after a wait, any other is a stretch of its own.
        numbers_waits: Waits are of k tiles by their number, the first of k tile 0, and last to the barrier's release
            whatever is issued meanwhile. Else a wait is of the activity that waits, and ends with the next instruction.
    """

    activities: tuple[str, ...]
    copy: str
    first: str
    last: str
    uncut: frozenset[str]
    numbers_waits: bool


UNWATCHED = Watch((), "", "", "", frozenset(), numbers_waits=True)
"""Of a kernel whose CTAs are not watched."""


class TimedKernel(CountedKernel[StepT]):
    """
    A kernel that can be simulated.

    CTAs are numbered in launch order, those left out that do not even begin.

    Attributes:
        watch: What is noted of a watched CTA.
        trips_go_round: Each trip of its mainloop finds its operands one slot of the ring further.
        most_kinds: Kinds of SM that are simulated at most.
        waves_differ: A wave of its CTAs does not tell what a later one finds in the L2.
        shares_evenly: Every SM counts for as many at the chip's L2 and DRAM, however many CTAs it has.
        counters: Further counters of a result, and the instructions that they count.
        pipes: Pipes besides the tensor cores that can bound it.
        machine: Where it runs.
    """

    machine: Machine

    watch: ClassVar[Watch] = UNWATCHED
    trips_go_round: ClassVar[bool] = False
    most_kinds: ClassVar[int] = 16
    waves_differ: ClassVar[bool] = False
    shares_evenly: ClassVar[bool] = False
    counters: ClassVar[Mapping[str, SassOpcode]] = {}
    pipes: ClassVar[tuple[str, ...]] = ()

    # --- its CTAs ---

    @property
    @abstractmethod
    def launched(self) -> IntArray:
        """Linear block index of every CTA."""

    @abstractmethod
    def behaviour(self, cta: int) -> Hashable:
        """What tells a CTA's code: CTAs of one behaviour execute the same stream."""

    def kind(self, cta: int, runs: Hashable) -> Hashable:  # noqa: ARG002 - alike where not said otherwise
        """
        What tells how long a CTA takes: SMs whose CTAs are of the same kinds in the same order behave alike.

        Args:
            cta: Number of the CTA.
            runs: The first behaviour that has the same stream as the CTA's.
        """
        return self.behaviour(cta)

    def work(self, cta: int) -> int:  # noqa: ARG002 - alike where not said otherwise
        """How long a CTA takes beside others, in parts."""
        return 1

    # --- its code ---

    @property
    def mma(self) -> Mma | None:
        """Its mma.sync; None where it has none."""
        return None

    def require(self) -> None:
        """
        Refuse a machine that cannot run it.

        Raises:
            BadInput: What the machine lacks.
        """

    def can_be_compiled(self) -> bool:
        """Whether its machine code can be had here: its streams come with gpusim, or a compiler is here."""
        return False

    @property
    @abstractmethod
    def shared_bytes(self) -> int:
        """Shared memory of a CTA."""

    @property
    @abstractmethod
    def stages(self) -> int:
        """Slots of the ring that its k tiles go round."""

    @abstractmethod
    def stream(self, behaviour: Hashable, origin: StreamOrigin) -> Stream:
        """
        The instructions of the CTAs of one behaviour.

        Raises:
            BadInput: The kernel has no such stream.
            CannotRun: Neither a shipped stream nor a compiler is at hand.
        """

    def turn(self, step: StepT, behaviour: Hashable) -> int:  # noqa: ARG002 - alike where not said otherwise
        """Which of a row's fetches a step copies or loads, by their turns in the program."""
        return self.lanes().target(step)[1]

    def access(self, step: StepT, lanes: Lanes[StepT]) -> Access:  # noqa: ARG002 - there may be none
        """What a step that is no op of a tile GEMM adds to its instruction."""
        return Access()

    def noted(self, step: StepT, behaviour: Hashable) -> Noted:  # noqa: ARG002 - nothing where there is no watch
        """What a step belongs to where it is watched."""
        return Noted()

    # --- its data ---

    def cached_in_l1(self, row: int) -> bool:  # noqa: ARG002 - there may be no copies
        """Whether the copies of a row (``Lanes.target``) go through the L1."""
        return False

    def tensor_of(self, row: int) -> int:
        """Number of the tensor that a row of copies fetches."""
        return row

    @abstractmethod
    def found(self, cta: int, *, first_wave: bool) -> tuple[L2Status, ...]:
        """How the loads of each row of ``CtaLanes.outputs`` find the L2."""

    def walked(self, cta: int) -> tuple[Hashable, ...]:  # noqa: ARG002 - there may be no copies
        """For each tensor that is copied, what tells the data a CTA fetches: equal for those that fetch the same."""
        return ()

    def touches(self, tensor: int, walked: Hashable) -> Sequence[Sequence[Touch]]:
        """By turn, what the fetches of one ``walked`` touch of the L2's granules."""
        raise TypeError(f"{type(self).__name__} copies no tensor {tensor}: {walked}")

    @property
    def other_dram_bytes(self) -> int:
        """What the grid reads from DRAM besides its copies."""
        return 0

    # --- its work ---

    @property
    @abstractmethod
    def flops(self) -> int:
        """Multiplications and additions of its MMAs."""

    @abstractmethod
    def k_tiles(self, cta: int) -> int:
        """k tiles that a CTA multiplies, of all its GEMMs."""

    def pipeline_rows(self, cta: int) -> int:
        """k tiles, or key blocks, that the pipeline of a watched CTA has."""
        return self.k_tiles(cta)


AnyKernel: TypeAlias = TimedKernel[Any]
