"""
The operations of a role: mbarriers, TMA, wgmma, the epilogue's staging, and what orders them.

``words`` prints an operation as the events of one thread, in the words of golden kernel traces.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

Event: TypeAlias = list[Any]

EVICT_NORMAL: Final = 0x1000000000000000
"""The cache hint of loads: CUTLASS's ``TMA::CacheHintSm90::EVICT_NORMAL``."""

_WORD: Final = 0xFFFFFFFF


@dataclass(frozen=True, slots=True)
class Mbarrier:
    """An mbarrier of a CTA's shared memory: a pipeline's barriers, such as "mainloop.full", and one of them."""

    pipeline: str
    index: int

    def __str__(self) -> str:
        return f"{self.pipeline}[{self.index}]"


@dataclass(frozen=True, slots=True)
class RoleOp:
    """One operation of a role."""

    def words(self, thread: int) -> Iterator[Event]:  # noqa: ARG002 - most are alike in all threads
        """Yield the events that a thread executes; threads of a role are counted from 0."""
        yield from ()


@dataclass(frozen=True, slots=True)
class Plain(RoleOp):
    """An operation without arguments: a fence, a barrier of the CTA or the cluster, a commit."""

    word: str

    def words(self, thread: int) -> Iterator[Event]:  # noqa: ARG002
        """Yield its word."""
        yield [self.word]


@dataclass(frozen=True, slots=True)
class BeginTile(RoleOp):
    """The operations behind it belong to a tile of the CTA: its number in the CTA's order. No thread executes it."""

    number: int


FENCE_BARRIER_INIT: Final = Plain("fence_barrier_init")
SYNC_THREADS: Final = Plain("__syncthreads")
CLUSTER_ARRIVE: Final = Plain("cluster_arrive_relaxed")
CLUSTER_ARRIVE_ORDERED: Final = Plain("cluster_arrive")
CLUSTER_WAIT: Final = Plain("cluster_wait")
WGMMA_FENCE: Final = Plain("wgmma_fence")
WGMMA_COMMIT: Final = Plain("wgmma_commit_group")
PROXY_FENCE: Final = Plain("fence_view_async_shared")
STORE_COMMIT: Final = Plain("tma_store_commit_group")


@dataclass(frozen=True, slots=True)
class Prefetch(RoleOp):
    """Prefetch a tensor's TMA descriptor."""

    tensor: str

    def words(self, thread: int) -> Iterator[Event]:
        """Yield the prefetch of thread 0."""
        if thread == 0:
            yield ["prefetch_tma_descriptor", self.tensor]


@dataclass(frozen=True, slots=True)
class Init(RoleOp):
    """Initialise an mbarrier with the arrivals that complete a phase."""

    barrier: Mbarrier
    count: int

    def words(self, thread: int) -> Iterator[Event]:
        """Yield the initialisation of thread 0."""
        if thread == 0:
            yield ["mbar_init", str(self.barrier), self.count]


@dataclass(frozen=True, slots=True)
class SetRegisters(RoleOp):
    """Set the registers of a warpgroup's threads (setmaxnreg)."""

    count: int
    more: bool

    def words(self, thread: int) -> Iterator[Event]:  # noqa: ARG002
        """Yield setmaxnreg, up or down."""
        yield ["setmaxnreg_inc" if self.more else "setmaxnreg_dec", self.count]


@dataclass(frozen=True, slots=True)
class Wait(RoleOp):
    """
    Wait for the phase of an mbarrier whose parity is given.

    Attributes:
        barrier: The barrier, of the own CTA.
        phase: The parity. A barrier that was just initialised satisfies a wait for 1.
        tried: Whether try_wait comes first, and the blocking wait only if that fails.
    """

    barrier: Mbarrier
    phase: int
    tried: bool = False

    def words(self, thread: int) -> Iterator[Event]:  # noqa: ARG002
        """Yield the wait."""
        yield ["mbar_try_wait" if self.tried else "mbar_wait", str(self.barrier), self.phase]


@dataclass(frozen=True, slots=True)
class Expect(RoleOp):
    """Add bytes that TMA will bring to an mbarrier's phase; ``arrives``: and arrive. The elected thread executes it."""

    barrier: Mbarrier
    bytes: int
    arrives: bool

    def words(self, thread: int) -> Iterator[Event]:
        """Yield the elected thread's event."""
        if thread == 0:
            word = "mbar_arrive_and_expect_tx" if self.arrives else "mbar_expect_transaction"
            yield [word, str(self.barrier), self.bytes]


@dataclass(frozen=True, slots=True)
class MbarrierArrive(RoleOp):
    """
    Arrive at an mbarrier, of the own CTA or of others of the cluster.

    Attributes:
        barrier: The barrier.
        targets: For each CTA by its rank in the cluster, the thread of the role that arrives; None if all do.
        threads: Threads of the role.
        remote: Whether the instruction names a CTA of the cluster.
    """

    barrier: Mbarrier
    targets: tuple[tuple[int, int | None], ...]
    threads: int
    remote: bool = True

    def arrivals(self) -> Iterator[tuple[int, int]]:
        """Yield each target's rank and how many threads arrive there."""
        for rank, only in self.targets:
            yield rank, self.threads if only is None else 1

    def words(self, thread: int) -> Iterator[Event]:
        """Yield the arrivals of a thread."""
        for rank, only in self.targets:
            if only is None or only == thread:
                yield (
                    ["mbar_arrive_remote", str(self.barrier), rank]
                    if self.remote
                    else [
                        "mbar_arrive",
                        str(self.barrier),
                    ]
                )


@dataclass(frozen=True, slots=True)
class TmaLoad(RoleOp):
    """
    Load a box with TMA. The elected thread executes it.

    Attributes:
        tensor: "A", "B" or "C".
        barrier: The mbarrier that counts its bytes, in each CTA that receives them.
        mask: CTAs that receive the box, a bit for each rank; 0 for the own CTA without multicast.
        address: Byte address in shared memory, the same in all CTAs.
        coordinates: First element along each dimension of the tensor, the contiguous one first.
        box: Extents of the box.
        bytes: Bytes of the box, those outside the tensor included.
        stage: Ring slot that it fills.
        k_tile: k tile of the output tile; -1 for C.
    """

    tensor: str
    barrier: Mbarrier
    mask: int
    address: int
    coordinates: tuple[int, int, int]
    box: tuple[int, int, int]
    bytes: int
    stage: int
    k_tile: int

    def words(self, thread: int) -> Iterator[Event]:
        """Yield the elected thread's event."""
        if thread == 0:
            word = "SM90_TMA_LOAD_MULTICAST_3D" if self.mask else "SM90_TMA_LOAD_3D"
            mask = [self.mask] if self.mask else []
            yield [word, self.tensor, str(self.barrier), *mask, EVICT_NORMAL, self.address, *self.coordinates]


@dataclass(frozen=True, slots=True)
class TmaStore(RoleOp):
    """Store a box with TMA; attributes as in ``TmaLoad``. The elected thread of the role executes it."""

    tensor: str
    address: int
    coordinates: tuple[int, int, int]
    box: tuple[int, int, int]
    stage: int

    def words(self, thread: int) -> Iterator[Event]:
        """Yield the elected thread's event."""
        if thread == 0:
            yield ["SM90_TMA_STORE_3D", self.tensor, self.address, *self.coordinates]


@dataclass(frozen=True, slots=True)
class CommitStores(RoleOp):
    """Close a group of TMA stores. The elected thread of the role executes it."""

    def words(self, thread: int) -> Iterator[Event]:
        """Yield the elected thread's event."""
        if thread == 0:
            yield ["tma_store_commit_group"]


@dataclass(frozen=True, slots=True)
class WaitStores(RoleOp):
    """
    Wait until at most ``pending`` groups of TMA stores still read shared memory.

    Attributes:
        pending: Groups that may be left.
        elected: Whether the elected thread alone executes it.
    """

    pending: int
    elected: bool

    def words(self, thread: int) -> Iterator[Event]:
        """Yield the wait, of the elected thread or of all."""
        if thread == 0 or not self.elected:
            yield ["tma_store_wait_group_read", self.pending]


@dataclass(frozen=True, slots=True)
class Wgmma(RoleOp):
    """
    Multiply two blocks of shared memory.

    Attributes:
        name: CuTe's name of the instruction.
        a, b: Matrix descriptors, 64 bits.
        accumulate: Whether it adds to the accumulators; otherwise it overwrites them.
        stage, k_tile, k_block, m_block: Which operands it reads: ring slot, k tile of the output tile, instruction's
            K within it, and the block of 64 rows of the CTA's tile.
    """

    name: str
    a: int
    b: int
    accumulate: bool
    stage: int
    k_tile: int
    k_block: int
    m_block: int

    def words(self, thread: int) -> Iterator[Event]:  # noqa: ARG002
        """Yield the instruction with its descriptors as pairs of words, the low one first."""
        a, b = ([one & _WORD, one >> 32] for one in (self.a, self.b))
        yield [f"wgmma {self.name}", a, b, int(self.accumulate)]


@dataclass(frozen=True, slots=True)
class WgmmaWait(RoleOp):
    """Wait until at most ``pending`` wgmma groups are in flight."""

    pending: int

    def words(self, thread: int) -> Iterator[Event]:  # noqa: ARG002
        """Yield the wait."""
        yield ["wgmma_wait_group", self.pending]


@dataclass(frozen=True, slots=True)
class Promote(RoleOp):
    """Add the accumulators of 8-bit floats to those that are kept in float32 registers, and begin anew."""


@dataclass(frozen=True, slots=True)
class Staged(RoleOp):
    """
    Move one subtile of the epilogue between registers and shared memory: C is loaded, D is stored.

    Attributes:
        word: The instruction's name in CuTe; empty if it is none of a matrix (LDSM, STSM), which golden traces lack.
        addresses: Byte addresses of each instruction, indexed [thread of the role][instruction].
        stage: Stage of the epilogue's shared memory.
        base: Byte address of the stage.
        m, n: The subtile's number along both extents of the CTA's tile.
    """

    word: str
    addresses: tuple[tuple[int, ...], ...]
    stage: int
    base: int
    m: int
    n: int

    @property
    def loads(self) -> bool:
        """Whether it loads C."""
        return type(self) is LoadC

    def words(self, thread: int) -> Iterator[Event]:
        """Yield an event for each matrix instruction of the thread."""
        if self.word:
            for address in self.addresses[thread]:
                yield [self.word, address]


class LoadC(Staged):
    """Load a subtile of C from shared memory."""


class StoreD(Staged):
    """Store a subtile of D to shared memory."""


@dataclass(frozen=True, slots=True)
class SyncNamed(RoleOp):
    """Meet the other threads of a named barrier (bar.sync)."""

    threads: int
    number: int

    def words(self, thread: int) -> Iterator[Event]:  # noqa: ARG002
        """Yield the barrier."""
        yield ["bar_sync", self.threads, self.number]
