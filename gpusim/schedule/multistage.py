"""The cp.async mainloop with three or more stages: which op comes when, for GEMM and for convolution.

It knows the order of ops and the stages they touch; addresses and predicates come from the tile iterators.
"""

from dataclasses import dataclass
from functools import lru_cache

from gpusim.scenario import Scenario, element_bits
from gpusim.schedule.epilogue import epilogue_ops, source_needed
from gpusim.schedule.ops import (
    Barrier,
    CacheOperator,
    CommitGroup,
    CopyAsync,
    Ldmatrix,
    Op,
    Operand,
    Program,
    WaitGroup,
    WarpMma,
)
from gpusim.tile.ldmatrix import fragment_loads
from gpusim.tile.thread_map import operand_thread_map

OPERANDS: tuple[Operand, Operand] = ("a", "b")


@dataclass(frozen=True, slots=True)
class Family:
    """
    Every way in which the multistage mainloops of GEMM and of convolution differ.

    Attributes:
        name: The kernels that share this policy.
        copies_before_mma: True: a k group is ldmatrix, copies, mma. False: ldmatrix, mma, copies.
        share_lead: How many k groups ahead the shares of a fetch run. 0: k group g issues share g. 1: k group g
            issues share g + 1, so share 0 of each fetch is issued in the last k group of the k tile before (and
            that of the first mainloop fetch before the loop).
        last_shares_together: True: the last k group's share is issued right after the last-but-one's.
        zfill_in_mainloop: True: every copy zero-fills. False: only those of the prologue do, later copies are
            predicated off where invalid.
        always_through_l1: Operands copied with .ca whatever their access width.

    Source: CUTLASS include/cutlass/gemm/threadblock/mma_multistage.h, include/cutlass/conv/threadblock/
    implicit_gemm_multistage.h, default_mma.h and default_conv2d_fprop.h (cache operators); golden trace_gemm_*
    and trace_conv_*.
    """

    name: str
    copies_before_mma: bool
    share_lead: int
    last_shares_together: bool
    zfill_in_mainloop: bool
    always_through_l1: frozenset[Operand]

    def cache(self, operand: Operand, access_bits: int) -> CacheOperator:
        """The cache operator of one operand's copies: only 16-byte copies may go around L1 (PTX cp.async.cg)."""
        return "ca" if operand in self.always_through_l1 or access_bits != 128 else "cg"


GEMM = Family(
    name="gemm",
    copies_before_mma=False,
    share_lead=0,
    last_shares_together=True,
    zfill_in_mainloop=False,
    always_through_l1=frozenset(),
)

CONVOLUTION = Family(
    name="convolution",
    copies_before_mma=True,
    share_lead=1,
    last_shares_together=False,
    zfill_in_mainloop=True,
    always_through_l1=frozenset({"a"}),
)


def family(scenario: Scenario) -> Family:
    """The policy of the scenario's kernel."""
    return GEMM if scenario.problem.kind == "gemm" else CONVOLUTION


@dataclass(frozen=True, slots=True)
class OperandCopies:
    """
    How one operand's k tile reaches shared memory and the fragments.

    Attributes:
        accesses: Accesses of one thread per k tile.
        vecs: Copies per access; more than 1 when the alignment is narrower than 128 bits.
        cache: Cache operator of its copies.
        ldmatrix: ldmatrix instructions per k group of one warp.
    """

    accesses: int
    vecs: int
    cache: CacheOperator
    ldmatrix: int


@dataclass(frozen=True, slots=True)
class MainloopShape:
    """
    What the op order depends on besides the family.

    Attributes:
        stages: Slots of the shared-memory ring, at least 2 (CUTLASS's multistage has at least 3).
        k_groups: Instruction-K slices of a k tile, at least 2 (CUTLASS asserts it).
    """

    stages: int
    k_groups: int
    a: OperandCopies
    b: OperandCopies

    def of(self, operand: Operand) -> OperandCopies:
        """The copies of one operand."""
        return self.a if operand == "a" else self.b

    def share(self, operand: Operand, index: int) -> range:
        """
        Accesses of one fetch that share ``index`` (0 to k_groups - 1) issues: ceil(accesses / k_groups) each.

        The last shares are shorter, or empty, when the accesses do not divide.
        """
        accesses = self.of(operand).accesses
        size = -(-accesses // self.k_groups)
        return range(min(index * size, accesses), min((index + 1) * size, accesses))


def mainloop_shape(scenario: Scenario) -> MainloopShape:
    """The shape of the scenario's mainloop: from its thread maps, alignments and fragments."""
    bits = element_bits(scenario.problem.dtype.ab)
    policy = family(scenario)
    copies: dict[Operand, OperandCopies] = {}
    for operand in OPERANDS:
        thread_map = operand_thread_map(scenario, operand)
        elements = scenario.problem.access_a if operand == "a" else scenario.problem.access_b
        copies[operand] = OperandCopies(
            accesses=thread_map.accesses,
            vecs=thread_map.elements_per_access // elements,
            cache=policy.cache(operand, elements * bits),
            ldmatrix=fragment_loads(scenario, operand).instructions,
        )
    return MainloopShape(stages=scenario.kernel.stages, k_groups=scenario.kernel.k_groups, a=copies["a"], b=copies["b"])


def program(scenario: Scenario, k_iterations: int, slice_: int = 0) -> Program:
    """
    The ops of one CTA, prologue to the last global store.

    Args:
        scenario: A multistage scenario.
        k_iterations: k tiles this CTA consumes; 0 and fewer than stages are allowed.
        slice_: Split-K slice of the CTA: later slices of a serial split add to the partial output.

    Not modelled: the semaphore that orders serial split-K slices (it has no address or copy of its own).
    """
    prologue, iterations, tail = mainloop(mainloop_shape(scenario), family(scenario), k_iterations)
    return Program(
        prologue=prologue,
        iterations=iterations,
        tail=tail,
        epilogue=epilogue_ops(scenario, with_source=source_needed(scenario, slice_)),
    )


Mainloop = tuple[tuple[Op, ...], tuple[tuple[Op, ...], ...], tuple[Op, ...]]


@lru_cache(maxsize=64)
def mainloop(shape: MainloopShape, policy: Family, k_iterations: int) -> Mainloop:
    """
    Prologue, one tuple of ops per k tile consumed, and tail.

    Fetch f goes to slot f mod stages; iteration i consumes slot i mod stages while fetch i + stages - 1 is issued.
    The fetches at or past ``k_iterations`` are the overrun: issued and counted, bringing nothing.
    """
    in_flight = shape.stages - 2
    prologue: list[Op] = []
    for fetch in range(shape.stages - 1):
        for operand in OPERANDS:
            prologue += _copies(shape, operand, fetch, range(shape.of(operand).accesses), zfill=True)
        prologue.append(CommitGroup())
    prologue += [WaitGroup(in_flight), Barrier()]
    prologue += _fragment_loads(shape, k_tile=0, k_group=0)
    for share in range(policy.share_lead):
        prologue += _share(shape, policy, shape.stages - 1, share)
    iterations = tuple(_iteration(shape, policy, k_tile, in_flight) for k_tile in range(k_iterations))
    return tuple(prologue), iterations, (CommitGroup(), WaitGroup(0), Barrier())


def _iteration(shape: MainloopShape, policy: Family, k_tile: int, in_flight: int) -> tuple[Op, ...]:
    ops: list[Op] = []
    last = shape.k_groups - 1
    for k_group in range(shape.k_groups):
        next_tile, next_group = (k_tile, k_group + 1) if k_group < last else (k_tile + 1, 0)
        ops += _fragment_loads(shape, next_tile, next_group)
        copies = _k_group_copies(shape, policy, k_tile, k_group)
        mma: list[Op] = [WarpMma(k_tile, k_group)]
        ops += copies + mma if policy.copies_before_mma else mma + copies
        if k_group == last - 1:
            ops += [CommitGroup(), WaitGroup(in_flight), Barrier()]
    return tuple(ops)


def _k_group_copies(shape: MainloopShape, policy: Family, k_tile: int, k_group: int) -> list[Op]:
    """The shares issued in one k group: those of the fetch that this k tile overlaps, or lead of the next one."""
    last = shape.k_groups - 1
    lead_tiles, share = divmod(k_group + policy.share_lead, shape.k_groups)
    fetch = k_tile + lead_tiles + shape.stages - 1
    if not policy.last_shares_together:
        return _share(shape, policy, fetch, share)
    if share == last:
        return []
    ops = _share(shape, policy, fetch, share)
    return ops + _share(shape, policy, fetch, last) if share == last - 1 else ops


def _share(shape: MainloopShape, policy: Family, fetch: int, index: int) -> list[Op]:
    ops: list[Op] = []
    for operand in OPERANDS:
        ops += _copies(shape, operand, fetch, shape.share(operand, index), zfill=policy.zfill_in_mainloop)
    return ops


def _copies(shape: MainloopShape, operand: Operand, fetch: int, accesses: range, *, zfill: bool) -> list[Op]:
    copies = shape.of(operand)
    return [
        CopyAsync(operand, fetch, access, vec, stage=fetch % shape.stages, zfill=zfill, cache=copies.cache)
        for access in accesses
        for vec in range(copies.vecs)
    ]


def _fragment_loads(shape: MainloopShape, k_tile: int, k_group: int) -> list[Op]:
    return [
        Ldmatrix(operand, k_tile, k_group, instruction, stage=k_tile % shape.stages)
        for operand in OPERANDS
        for instruction in range(shape.of(operand).ldmatrix)
    ]
