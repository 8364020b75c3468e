"""Pipeline states, ordered barriers, and which consumer threads tell which CTA of a cluster that a stage is empty."""

from dataclasses import dataclass
from typing import Final

from gpusim.families.hopper.program.ops import Mbarrier

_LANES_APART: Final = 8
"""Of eight threads one may arrive in another CTA, so that arrivals spread over a warpgroup's warps."""

_WARPS: Final = 4


@dataclass(frozen=True, slots=True)
class PipelineState:
    """
    Where a producer or a consumer stands in a ring.

    Attributes:
        stages: Slots of the ring.
        index: The slot.
        phase: Parity of the phase that it waits for. A producer begins with 1: its slots are empty.
    """

    stages: int
    index: int = 0
    phase: int = 0

    def advance(self, count: int = 1) -> "PipelineState":
        """Return the state ``count`` slots on; the parity turns with each round."""
        turns, index = divmod(self.index + count, self.stages)
        return PipelineState(self.stages, index, self.phase ^ (turns & 1))


def producer_start(stages: int) -> PipelineState:
    """Return a producer's first state."""
    return PipelineState(stages, 0, 1)


@dataclass(slots=True)
class OrderedBarrier:
    """
    One group's place in an order of groups that take turns (CUTLASS's OrderedSequenceBarrier).

    Attributes:
        pipeline: Name of its mbarriers; that of a turn and a group is at ``turn * groups + group``.
        turns: Turns of a round.
        groups: Groups.
        group: This group.
    """

    pipeline: str
    turns: int
    groups: int
    group: int
    turn: int = 0
    phase: int = -1

    def __post_init__(self) -> None:
        """Let the first group pass at once."""
        self.phase = 1 if self.group == 0 else 0

    def awaited(self) -> tuple[Mbarrier, int]:
        """Return the mbarrier of this group's turn, and the parity to wait for."""
        return Mbarrier(self.pipeline, self.turn * self.groups + self.group), self.phase

    def passed_on(self) -> Mbarrier:
        """Return the mbarrier at which the group arrives to let the next one pass, and go to the next turn."""
        following = Mbarrier(self.pipeline, self.turn * self.groups + (self.group + 1) % self.groups)
        self.turn += 1
        if self.turn == self.turns:
            self.turn, self.phase = 0, self.phase ^ 1
        return following


def released_by(thread: int, cta: tuple[int, int], cluster: tuple[int, int]) -> int | None:
    """
    Return the rank of the CTA whose empty barrier a thread of a consumer warpgroup arrives at; None if at none.

    A CTA's operands come from the CTAs of its row and of its column, so these must know that its slot is empty.

    Args:
        thread: Thread of the warpgroup, 0 to 127.
        cta: The CTA's place in the cluster, along M and N.
        cluster: CTAs of the cluster along M and N; more than one.

    Source: golden pipeline_states.
    """
    if thread % _LANES_APART:
        return None
    row, column = thread // 32 % _WARPS, thread // _LANES_APART % _WARPS
    rank = 4 * row + column ^ column << 2
    place = rank % cluster[0], rank // cluster[0]
    if rank >= cluster[0] * cluster[1] or (place[0] != cta[0] and place[1] != cta[1]):
        return None
    return rank


def release_targets(cta: tuple[int, int], cluster: tuple[int, int], own: int) -> tuple[tuple[int, int | None], ...]:
    """
    Return at which CTAs a consumer warpgroup arrives when it releases a stage, and by which thread.

    Args:
        cta, cluster: As in ``released_by``.
        own: The CTA's own rank. Without a cluster all threads arrive there.
    """
    if cluster == (1, 1):
        return ((own, None),)
    found = ((released_by(thread, cta, cluster), thread) for thread in range(0, 128, _LANES_APART))
    return tuple((rank, thread) for rank, thread in found if rank is not None)
