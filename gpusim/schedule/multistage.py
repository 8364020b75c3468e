"""
The cp.async mainloop with two or more stages: the order of its ops, for GEMM and for convolution.

This module knows the order of ops and the stages they touch; addresses and predicates come from the tile iterators.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

from gpusim.schedule.mainloop import Iterations, Mainloop, MainloopPolicy, MainloopShape, warp_fragment_loads
from gpusim.schedule.ops import Barrier, CacheOperator, CommitGroup, CopyAsync, Op, WaitGroup, WarpMma
from gpusim.tile.operand import SIDES, Side


@dataclass(frozen=True, slots=True)
class Multistage(MainloopPolicy):
    """
    The order of a multistage mainloop. Its attributes are all differences between GEMM and convolution.

    Attributes:
        name: Name of the kernels that share this policy.
        copies_before_mma: Order within a k group. True: ldmatrix, copies, mma. False: ldmatrix, mma, copies.
        share_lead: Number of k groups by which the shares of a fetch run ahead. 0: k group g issues share g. 1: k group
            g issues share g + 1, so the last k group of a k tile issues share 0 of the next fetch, and share 0 of the
            first mainloop fetch is issued before the loop.
        last_shares_together: True: the last k group's share is issued right after the second to last's.
        zfill_in_mainloop: True: every copy zero-fills. False: only those of the prologue do; later copies are
            predicated off where invalid.
        always_through_l1: Operands copied with .ca, whatever their access width.

    Source: CUTLASS include/cutlass/gemm/threadblock/mma_multistage.h, include/cutlass/conv/threadblock/
    implicit_gemm_multistage.h, default_mma.h and default_conv2d_fprop.h (cache operators); golden trace_gemm_*
    and trace_conv_*.
    """

    through_registers: ClassVar[bool] = False

    name: str
    copies_before_mma: bool
    share_lead: int
    last_shares_together: bool
    zfill_in_mainloop: bool
    always_through_l1: frozenset[Side]

    def cache(self, operand: Side, access_bits: int) -> CacheOperator:
        """Return the cache operator of one operand's copies; only 16-byte copies may bypass L1 (PTX cp.async.cg)."""
        return "ca" if operand in self.always_through_l1 or access_bits != 128 else "cg"

    def mainloop(self, shape: MainloopShape, k_iterations: int) -> Mainloop:
        """Return the ops that consume ``k_iterations`` k tiles."""
        return mainloop(shape, self, k_iterations)


GEMM_POLICY = Multistage(
    name="gemm",
    copies_before_mma=False,
    share_lead=0,
    last_shares_together=True,
    zfill_in_mainloop=False,
    always_through_l1=frozenset(),
)

CONVOLUTION_POLICY = Multistage(
    name="convolution",
    copies_before_mma=True,
    share_lead=1,
    last_shares_together=False,
    zfill_in_mainloop=True,
    always_through_l1=frozenset({"a"}),
)


@lru_cache(maxsize=64)
def mainloop(shape: MainloopShape, policy: Multistage, k_iterations: int) -> Mainloop:
    """
    Return prologue, one tuple of ops per k tile consumed, and tail.

    Fetch f goes to stage f mod stages. Iteration i consumes stage i mod stages while fetch i + stages - 1 is issued.
    The fetches at or past ``k_iterations`` are the overrun: they are issued and counted, but all their lanes are
    invalid.

    If the shape is ``whole``, the prologue copies all k tiles, each as a commit group of its own, and there is no
    overrun. A stage without a k tile gets an empty group. Every k tile but the last closes a group, so that all waits
    have the same count.
    Source: CUTLASS examples/41_fused_multi_head_attention/gemm/custom_mma_multistage.h.
    """
    ahead = shape.stages if shape.whole else shape.stages - 1
    in_flight = ahead - 1
    prologue: list[Op] = []
    for fetch in range(ahead):
        for operand in SIDES:
            accesses = 0 if shape.whole and fetch >= k_iterations else shape.of(operand).accesses
            prologue += copy_ops(shape, operand, fetch, range(accesses), zfill=True)
        prologue.append(CommitGroup())
    prologue += [WaitGroup(in_flight), Barrier()]
    prologue += warp_fragment_loads(shape, k_tile=0, k_group=0, stage=0)
    for share in range(0 if shape.whole else policy.share_lead):
        prologue += _share(shape, policy, shape.stages - 1, share)
    iterations = MultistageIterations(shape, policy, k_iterations, in_flight)
    return tuple(prologue), iterations, (Barrier(),) if shape.whole else (CommitGroup(), WaitGroup(0), Barrier())


@dataclass(frozen=True, slots=True)
class MultistageIterations(Iterations):
    """
    The ops of each k tile.

    Attributes:
        shape: Shape of the mainloop.
        policy: Order of its ops.
        k_tiles: Number of k tiles.
        in_flight: Groups that each wait may leave pending.
    """

    shape: MainloopShape
    policy: Multistage
    k_tiles: int
    in_flight: int

    def at(self, k_tile: int) -> tuple[Op, ...]:
        """Return the ops of one k tile. The last one of a ``whole`` shape ends the mainloop."""
        ends = self.shape.whole and k_tile == self.k_tiles - 1
        return _iteration(self.shape, self.policy, k_tile, self.in_flight, ends=ends)


@lru_cache(maxsize=256)
def _iteration(shape: MainloopShape, policy: Multistage, k_tile: int, in_flight: int, *, ends: bool) -> tuple[Op, ...]:
    """Return the ops of one k tile. If it ``ends`` the mainloop, it neither waits nor loads ahead."""
    ops: list[Op] = []
    last = shape.k_groups - 1
    for k_group in range(shape.k_groups):
        next_tile, next_group = (k_tile, k_group + 1) if k_group < last else (k_tile + 1, 0)
        if not (ends and k_group == last):
            ops += warp_fragment_loads(shape, next_tile, next_group, next_tile % shape.stages)
        copies = [] if shape.whole else _k_group_copies(shape, policy, k_tile, k_group)
        mma: list[Op] = [WarpMma(k_tile, k_group)]
        ops += copies + mma if policy.copies_before_mma else mma + copies
        if k_group == last - 1 and not ends:
            ops += [CommitGroup(), WaitGroup(in_flight), Barrier()]
    return tuple(ops)


def _k_group_copies(shape: MainloopShape, policy: Multistage, k_tile: int, k_group: int) -> list[Op]:
    """
    Return the shares issued in one k group: of the fetch that the k tile overlaps, or, due to the lead, of the next
    one.
    """
    last = shape.k_groups - 1
    lead_tiles, share = divmod(k_group + policy.share_lead, shape.k_groups)
    fetch = k_tile + lead_tiles + shape.stages - 1
    if not policy.last_shares_together:
        return _share(shape, policy, fetch, share)
    if share == last:
        return []
    ops = _share(shape, policy, fetch, share)
    return ops + _share(shape, policy, fetch, last) if share == last - 1 else ops


def _share(shape: MainloopShape, policy: Multistage, fetch: int, index: int) -> list[Op]:
    ops: list[Op] = []
    for operand in SIDES:
        ops += copy_ops(shape, operand, fetch, shape.share(operand, index), zfill=policy.zfill_in_mainloop)
    return ops


def copy_ops(shape: MainloopShape, operand: Side, fetch: int, accesses: range, *, zfill: bool) -> list[Op]:
    """Return the copies of some accesses of one fetch, into its stage."""
    copies = shape.of(operand)
    return [
        CopyAsync(operand, fetch, access, vec, stage=fetch % shape.stages, zfill=zfill, cache=copies.cache)
        for access in accesses
        for vec in range(copies.vecs)
    ]
