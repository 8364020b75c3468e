"""The events of a warp that order memory accesses: accesses, commit groups and barriers. They know no op or address."""

from dataclasses import dataclass
from enum import IntEnum
from typing import Final, TypeAlias

ALL_OF_THE_CTA: Final = 0
"""Expected arrivals of a barrier at which every warp of the CTA arrives."""


class Effect(IntEnum):
    """The use of an access's bytes, and its time."""

    READ = 0
    WRITE = 1
    ASYNC_WRITE = 2
    """cp.async: it lands at any time from its issue to the wait that covers its commit group."""
    ATOMIC = 3
    """An atomic operation: it reads and writes, but does not race with other atomic operations."""


@dataclass(frozen=True, slots=True)
class MemoryAccess:
    """
    One access of memory by the lanes of a warp.

    Attributes:
        kind: Use of the bytes.
        footprint: Number of the set of bytes that the lanes access together.
    """

    kind: Effect
    footprint: int


@dataclass(frozen=True, slots=True)
class CommitCopies:
    """cp.async.commit_group: closes the group of the warp's asynchronous writes since its last commit."""


@dataclass(frozen=True, slots=True)
class AwaitCopies:
    """cp.async.wait_group: waits until at most ``pending`` commit groups of this warp are in flight."""

    pending: int


@dataclass(frozen=True, slots=True)
class Arrive:
    """
    PTX barrier.arrive, SASS BAR.ARV: arrives at a barrier and goes on.

    Attributes:
        barrier: Number of the barrier.
        expected: Warps whose arrivals complete a phase, or ``ALL_OF_THE_CTA``.
    """

    barrier: int
    expected: int = ALL_OF_THE_CTA


@dataclass(frozen=True, slots=True)
class AwaitPhase:
    """
    A wait for a phase of a barrier, without an arrival of its own.

    If the warp has arrived since its last wait, it waits for the phase of that arrival, otherwise for the phase after
    the one that it last waited for.
    """

    barrier: int


@dataclass(frozen=True, slots=True)
class Sync:
    """PTX barrier.sync, SASS BAR.SYNC: arrives, and waits for the same phase. The attributes are those of Arrive."""

    barrier: int
    expected: int = ALL_OF_THE_CTA


WarpEvent: TypeAlias = MemoryAccess | CommitCopies | AwaitCopies | Arrive | AwaitPhase | Sync
"""An event of one warp. The events of a warp are in program order."""
