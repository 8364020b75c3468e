"""The instruction set of schedules, in PTX's names: the ops of each warp of a CTA, without times and addresses."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from gpusim.tile.operand import Side

CacheOperator: TypeAlias = Literal["ca", "cg"]

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


@dataclass(frozen=True, slots=True)
class CopyAsync:
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

    operand: Side
    fetch: int
    access: int
    vec: int
    stage: int
    zfill: bool
    cache: CacheOperator


@dataclass(frozen=True, slots=True)
class CommitGroup:
    """cp.async.commit_group: closes the group of all copies since the last commit."""


@dataclass(frozen=True, slots=True)
class WaitGroup:
    """cp.async.wait_group: waits until at most ``pending`` groups of this thread are in flight."""

    pending: int


@dataclass(frozen=True, slots=True)
class Barrier:
    """bar.sync over the CTA."""


@dataclass(frozen=True, slots=True)
class Ldmatrix:
    """
    One ldmatrix of the warp's fragment for (k tile, k group).

    Attributes:
        k_tile: k tile of the fragment; may be one past the last (loaded, never consumed).
        k_group: k group of the fragment.
        instruction: Index within the fragment load.
        stage: Stage of the shared-memory ring that is read.
    """

    operand: Side
    k_tile: int
    k_group: int
    instruction: int
    stage: int


@dataclass(frozen=True, slots=True)
class LoadFragment:
    """
    One ld.shared of one 32-bit register of the warp's fragment for (k tile, k group), if ldmatrix cannot load it.

    The attributes are those of ``Ldmatrix``; ``instruction`` is the register's index in the fragment.
    """

    operand: Side
    k_tile: int
    k_group: int
    instruction: int
    stage: int


FragmentLoad: TypeAlias = Ldmatrix | LoadFragment
"""A load of a fragment, or of a part of it, from shared memory to a warp's registers."""


@dataclass(frozen=True, slots=True)
class WarpMma:
    """All mma.sync of one warp-level MMA, in serpentine order, on the fragments of (k tile, k group)."""

    k_tile: int
    k_group: int


@dataclass(frozen=True, slots=True)
class StoreShared:
    """Epilogue: one st.shared of accumulators in step ``step``; ``access`` counts in fragment order."""

    step: int
    access: int


@dataclass(frozen=True, slots=True)
class LoadShared:
    """Epilogue: one ld.shared of the aligned fragment in step ``step``."""

    step: int
    access: int


@dataclass(frozen=True, slots=True)
class LoadSource:
    """Epilogue: one predicated ld.global of the source tensor C (only where beta is not 0) or of a split-K partial."""

    step: int
    access: int


@dataclass(frozen=True, slots=True)
class LoadBias:
    """Epilogue: one predicated ld.global of the bias for all rows; ``access`` counts along the thread map's columns."""

    access: int


@dataclass(frozen=True, slots=True)
class LoadPartial:
    """
    Reduction: one predicated ld.global of a slice's partial sums.

    Attributes:
        slice_: Split-K slice.
        access: Access within the slice, if one vector of the output takes several.
    """

    slice_: int
    access: int


@dataclass(frozen=True, slots=True)
class StoreGlobal:
    """Epilogue: the linear combination and one predicated st.global of the output."""

    step: int
    access: int


@dataclass(frozen=True, slots=True)
class LoadGlobal:
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

    operand: Side
    fetch: int
    access: int
    vec: int
    zfill: bool


@dataclass(frozen=True, slots=True)
class StoreTile:
    """
    st.shared of one access of the threadblock fragment, all of its vectors at once, by every thread of the CTA.

    Attributes:
        fetch: Fetch that the registers hold.
        access: Access of the thread map.
        stage: Stage of the shared-memory ring that is written.
    """

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
