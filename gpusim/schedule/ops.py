"""The instruction set of schedules, in PTX's names: the ops of each warp of a CTA, without times and addresses."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Final, Literal, TypeAlias

from gpusim.tile.operand import Side

CacheOperator: TypeAlias = Literal["ca", "cg"]

SassOpcode: TypeAlias = Literal[
    "HMMA", "IMMA", "LDSM", "LDGSTS", "LDGDEPBAR", "DEPBAR", "BAR", "STS", "LDS", "LDG", "STG", "SHFL", "ATOMS", "MUFU"
]

ALL_WARPS: Final = "all"
"""Name of the one role of a CTA whose warps all execute the same ops."""


@dataclass(frozen=True, slots=True)
class Role:
    """
    Warps of a CTA that execute the same ops.

    Attributes:
        name: Name of the role.
        warps: Numbers of its warps in the CTA.
    """

    name: str
    warps: range


class WarpOp:
    """
    The properties of every op. A class of ops states the attributes that differ from these defaults.

    Attributes:
        executed_by: The warps of a CTA that execute it, as a slice of their numbers. By default all of them do.
        opcode: Its SASS instruction, which counts and alignment look for; None for an op that is neither counted nor
            aligned. A ``WarpMma`` is one instruction per instruction tile of the warp.
        found_by_address: Whether alignment finds it by its place between barriers and its lanes' addresses. Every
            instruction of its opcode is then taken for such an op. If False, only the kernel names its instructions
            (``AlignedKernel.name_unaddressed``).
        event: Word of its event (``schedule.events``), if the event has no other entries; "" for all other ops.
        traced_as: Number of the op in the records of a trace (``cuda.trace_format``). Committed digests contain it, so
            it never changes, and a kernel's kinds of ops have different numbers. None for an op that a trace leaves
            out.
    """

    __slots__ = ()

    executed_by: ClassVar[slice] = slice(None)
    opcode: ClassVar[SassOpcode | None] = None
    found_by_address: ClassVar[bool] = True
    event: ClassVar[str] = ""
    traced_as: ClassVar[int | None] = None


@dataclass(frozen=True, slots=True)
class CopyAsync(WarpOp):
    """
    cp.async of one access of the thread map, by every thread of the CTA.

    Attributes:
        operand: Operand whose iterators give the addresses.
        fetch: Number of the global fetch, from 0 (for GEMM, fetch 0 is the residue tile). Fetches at or
            past the k tiles of the problem are the pipeline's overrun.
        access: Access of the thread map, in ``++`` order.
        vec: Copy within the access, if the alignment is narrower than the access.
        stage: Stage of the shared-memory ring that is written.
        zfill: True: an invalid access writes zeros (src-size 0). False: it leaves the stage unchanged.
        cache: ``ca`` goes through L1, ``cg`` bypasses it.
    """

    opcode = "LDGSTS"
    traced_as = 0

    operand: Side
    fetch: int
    access: int
    vec: int
    stage: int
    zfill: bool
    cache: CacheOperator


@dataclass(frozen=True, slots=True)
class CommitGroup(WarpOp):
    """cp.async.commit_group: closes the group of all copies since the last commit."""

    opcode = "LDGDEPBAR"
    event = "commit"
    traced_as = 1


@dataclass(frozen=True, slots=True)
class WaitGroup(WarpOp):
    """cp.async.wait_group: waits until at most ``pending`` groups of this thread are in flight."""

    opcode = "DEPBAR"
    traced_as = 2

    pending: int


@dataclass(frozen=True, slots=True)
class Barrier(WarpOp):
    """bar.sync over the CTA."""

    opcode = "BAR"
    event = "sync"
    traced_as = 3


@dataclass(frozen=True, slots=True)
class Ldmatrix(WarpOp):
    """
    One ldmatrix of the warp's fragment for (k tile, k group).

    Attributes:
        k_tile: k tile of the fragment; may be one past the last (loaded, never consumed).
        k_group: k group of the fragment.
        instruction: Index within the fragment load.
        stage: Stage of the shared-memory ring that is read.
    """

    opcode = "LDSM"
    traced_as = 4

    operand: Side
    k_tile: int
    k_group: int
    instruction: int
    stage: int


@dataclass(frozen=True, slots=True)
class LoadFragment(WarpOp):
    """
    One ld.shared of one 32-bit register of the warp's fragment for (k tile, k group), if ldmatrix cannot load it.

    The attributes are those of ``Ldmatrix``; ``instruction`` is the register's index in the fragment.
    """

    opcode = "LDS"
    traced_as = 12

    operand: Side
    k_tile: int
    k_group: int
    instruction: int
    stage: int


FragmentLoad: TypeAlias = Ldmatrix | LoadFragment
"""A load of a fragment, or of a part of it, from shared memory to a warp's registers."""


@dataclass(frozen=True, slots=True)
class WarpMma(WarpOp):
    """All mma.sync of one warp-level MMA, in serpentine order, on the fragments of (k tile, k group)."""

    opcode = "HMMA"
    traced_as = 5

    k_tile: int
    k_group: int


@dataclass(frozen=True, slots=True)
class StoreShared(WarpOp):
    """Epilogue: one st.shared of accumulators in step ``step``; ``access`` counts in fragment order."""

    opcode = "STS"
    traced_as = 6

    step: int
    access: int


@dataclass(frozen=True, slots=True)
class LoadShared(WarpOp):
    """Epilogue: one ld.shared of the aligned fragment in step ``step``."""

    opcode = "LDS"
    traced_as = 7

    step: int
    access: int


@dataclass(frozen=True, slots=True)
class LoadSource(WarpOp):
    """Epilogue: one predicated ld.global of the source tensor C (only where beta is not 0) or of a split-K partial."""

    opcode = "LDG"
    traced_as = 8

    step: int
    access: int


@dataclass(frozen=True, slots=True)
class LoadBias(WarpOp):
    """Epilogue: one predicated ld.global of the bias for all rows; ``access`` counts along the thread map's columns."""

    opcode = "LDG"
    traced_as = 13

    access: int


@dataclass(frozen=True, slots=True)
class LoadPartial(WarpOp):
    """
    Reduction: one predicated ld.global of a slice's partial sums.

    Attributes:
        slice_: Split-K slice.
        access: Access within the slice, if one vector of the output takes several.
    """

    opcode = "LDG"
    traced_as = 14

    slice_: int
    access: int


@dataclass(frozen=True, slots=True)
class StoreGlobal(WarpOp):
    """Epilogue: the linear combination and one predicated st.global of the output."""

    opcode = "STG"
    traced_as = 9

    step: int
    access: int


@dataclass(frozen=True, slots=True)
class LoadGlobal(WarpOp):
    """
    ld.global of one access of the thread map into the threadblock fragment, by every thread of the CTA.

    The threadblock fragment is the registers that hold one k tile of an operand until its ``StoreTile``.

    Attributes:
        operand: Operand whose iterators give the addresses.
        fetch: Number of the global fetch, as in ``CopyAsync``.
        access: Access of the thread map, in ``++`` order.
        vec: Load within the access, if the alignment is narrower than the access.
        zfill: True: the registers are cleared first, so that an invalid access leaves zeros. False: it leaves the old
            values.
    """

    opcode = "LDG"
    traced_as = 10

    operand: Side
    fetch: int
    access: int
    vec: int
    zfill: bool


@dataclass(frozen=True, slots=True)
class StoreTile(WarpOp):
    """
    st.shared of one access of the threadblock fragment, all of its vectors at once, by every thread of the CTA.

    Attributes:
        fetch: Fetch that the registers hold.
        access: Access of the thread map.
        stage: Stage of the shared-memory ring that is written.
    """

    opcode = "STS"
    traced_as = 11

    operand: Side
    fetch: int
    access: int
    stage: int


Op: TypeAlias = (
    CopyAsync
    | CommitGroup
    | WaitGroup
    | Barrier
    | Ldmatrix
    | WarpMma
    | StoreShared
    | LoadShared
    | LoadSource
    | StoreGlobal
    | LoadGlobal
    | StoreTile
    | LoadFragment
    | LoadBias
    | LoadPartial
)


@dataclass(frozen=True, slots=True)
class Program:
    """
    The ordered ops of one role of a CTA. Every warp of it executes all; lanes differ only in addresses and predicates.

    Attributes:
        prologue: Ops before the first iteration of the mainloop.
        iterations: One tuple of ops for each k tile consumed.
        tail: Ops after the loop, up to the last wait and barrier.
        epilogue: Ops that bring the accumulators to the output.
    """

    prologue: tuple[Op, ...]
    iterations: Sequence[tuple[Op, ...]]
    tail: tuple[Op, ...]
    epilogue: tuple[Op, ...]

    def mainloop_ops(self) -> tuple[Op, ...]:
        """Return prologue, all iterations and tail, flattened, without the epilogue."""
        return self.prologue + tuple(op for body in self.iterations for op in body) + self.tail

    def ops(self) -> tuple[Op, ...]:
        """Return every op, in order."""
        return self.mainloop_ops() + self.epilogue
