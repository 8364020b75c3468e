"""
What CUTLASS 3.x's builders choose for an sm_90 GEMM: swizzles, epilogue tile, stages, and where shared memory is.

Source: golden stage_counts and kernel_trace files. Not modelled: column-major outputs, operands of A in registers.
"""

from dataclasses import dataclass
from functools import lru_cache
from math import gcd
from typing import Final, Literal

from gpusim.element_types import element_bits
from gpusim.families.hopper.problem import MMA_ROWS, WARPGROUP, HopperScenario
from gpusim.families.hopper.program.ops import Mbarrier
from gpusim.units import WARP_SIZE

CTA_SHARED_BYTES: Final = 227 * 1024
"""Shared memory that a CTA of sm_90 can have."""

BARRIER_BYTES: Final = 8
_TENSORS_ALIGN: Final = 128
"""Alignment of the operands' rings, as declared."""

_SWIZZLES: Final = (128, 64, 32, 16)
"""Widths of GMMA's atoms in bytes; 16 is the atom without a swizzle."""

HEAVY_ACCUMULATORS: Final = 208
"""Registers of a thread's accumulators from which cooperative kernels move more registers to the consumers."""

OperandSide = Literal["a", "b"]


def aligned(size: int, to: int) -> int:
    """Return the next multiple of ``to``."""
    return -(-size // to) * to


@dataclass(frozen=True, slots=True)
class SharedOperand:
    """
    One operand in shared memory.

    Attributes:
        side: "a" or "b".
        rows: Its extent along M or N in the CTA's tile.
        depth: Its extent along K.
        bits: Bits of an element.
        k_contiguous: Whether K is contiguous ("K-major").
        swizzle: Width of the atom in bytes: 128, 64, 32, or 16 without a swizzle.
        base: Byte address of the ring.
    """

    side: OperandSide
    rows: int
    depth: int
    bits: int
    k_contiguous: bool
    swizzle: int
    base: int

    @property
    def stage_bytes(self) -> int:
        """Bytes of a ring slot."""
        return self.rows * self.depth * self.bits // 8

    @property
    def atom_elements(self) -> int:
        """Contiguous elements of an atom."""
        return self.swizzle * 8 // self.bits

    def box(self, slices: int) -> tuple[int, int]:
        """
        Return the extents of a box of one of the slices that a cluster's CTAs load, the contiguous one first.

        A slice cuts each box along its other extent: M or N if K is contiguous, else K.
        """
        return self.atom_elements, (self.rows if self.k_contiguous else self.depth) // slices


@dataclass(frozen=True, slots=True)
class EpilogueStages:
    """
    The epilogue's subtiles and their shared memory.

    Attributes:
        tile: Rows and columns of a subtile.
        subtiles: Subtiles along M and N.
        stages_c, stages_d: Stages of C and D.
        reuses_c: Whether D is staged where C was.
        swizzle: Width of the atom of a subtile's rows in bytes.
        bits: Bits of an element.
        base: Byte address of the stages.
        delays_store: Whether the TMA store of a subtile is issued just before the next one is staged.
    """

    tile: tuple[int, int]
    subtiles: tuple[int, int]
    stages_c: int
    stages_d: int
    reuses_c: bool
    has_c: bool
    swizzle: int
    bits: int
    base: int

    @property
    def delays_store(self) -> bool:
        """Whether the TMA store of a subtile is issued just before the next one is staged: without a C."""
        return not self.has_c

    @property
    def stage_bytes(self) -> int:
        """Bytes of a stage."""
        return self.tile[0] * self.tile[1] * self.bits // 8

    @property
    def alignment(self) -> int:
        """Alignment of the stages: eight rows of the swizzle."""
        return max(_TENSORS_ALIGN, self.swizzle * 8)

    @property
    def tensor_bytes(self) -> int:
        """Bytes of the stages, with what an empty member behind them takes."""
        d = 0 if self.reuses_c else self.stages_d
        c = self.stages_c if self.has_c else 0
        return (c + d) * self.stage_bytes + self.alignment

    @property
    def shared_bytes(self) -> int:
        """Bytes of the stages and their mbarriers: what is carved out before stages are counted."""
        return aligned(self.tensor_bytes + 2 * BARRIER_BYTES * self.stages_c, self.alignment)

    def stage_address(self, stage: int, *, of_d: bool) -> int:
        """Return the byte address of a stage of C or D."""
        ahead = self.stages_c if of_d and self.has_c and not self.reuses_c else 0
        return self.base + (ahead + stage) * self.stage_bytes


@dataclass(frozen=True, slots=True)
class Collective:
    """
    A kernel as CUTLASS builds it.

    Attributes:
        scenario: What was asked.
        stages: Slots of the ring.
        a, b: The operands in shared memory.
        epilogue: The epilogue; None for the non-specialised kernel, which stores from registers.
        barriers: Byte address of each mbarrier, in the order of CUTLASS's storage.
        shared_bytes: Bytes of the kernel's shared memory.
        mainloop_bytes: Bytes of the rings with their mbarriers.
        threads: Threads of a CTA.
    """

    scenario: HopperScenario
    stages: int
    a: SharedOperand
    b: SharedOperand
    epilogue: EpilogueStages | None
    barriers: dict[Mbarrier, int]
    shared_bytes: int
    mainloop_bytes: int
    threads: int

    def __hash__(self) -> int:
        """Return the scenario's hash: all else follows from it."""
        return hash(self.scenario)

    @property
    def consumers(self) -> int:
        """Warpgroups that share an output tile."""
        return 2 if self.scenario.kernel.schedule == "cooperative" else 1

    @property
    def m_blocks(self) -> int:
        """Blocks of 64 rows that a warpgroup multiplies."""
        return self.scenario.kernel.tile[0] // (MMA_ROWS * self.consumers)

    @property
    def k_blocks(self) -> int:
        """Instructions along K of a k tile."""
        return self.scenario.kernel.tile[2] // self.scenario.instruction_k

    @property
    def stage_bytes(self) -> int:
        """Bytes that a full barrier expects: both operands of a k tile."""
        return self.a.stage_bytes + self.b.stage_bytes

    @property
    def cluster_size(self) -> int:
        """CTAs of a cluster."""
        along_m, along_n = self.scenario.kernel.cluster
        return along_m * along_n

    @property
    def registers(self) -> tuple[int, int] | None:
        """Registers of a producer's and of a consumer's thread after setmaxnreg; None where none is executed."""
        schedule, (m, n, _) = self.scenario.kernel.schedule, self.scenario.kernel.tile
        if schedule in ("non_specialized", "warp_specialized"):
            return None
        bits = element_bits(self.scenario.problem.dtype.accumulator)
        accumulators = m * n // (WARPGROUP * self.consumers) * bits // 32
        heavy = schedule == "cooperative" and accumulators >= HEAVY_ACCUMULATORS
        return (24, 240) if heavy else (40, 232)

    @property
    def instruction(self) -> str:
        """CuTe's name of the wgmma."""
        dtype, k, n = self.scenario.problem.dtype, self.scenario.instruction_k, self.scenario.kernel.tile[1]
        types = dtype.accumulator.upper() + 2 * dtype.ab.upper()
        suffix = "" if dtype.ab in ("f16", "bf16") else "_TN"
        return f"MMA_{MMA_ROWS}x{n}x{k}_{types}_SS{suffix}"


def _swizzle(extent: int, bits: int) -> int:
    """Return the widest atom, in bytes, that divides a contiguous extent."""
    return next(width for width in _SWIZZLES if extent * bits // 8 % width == 0)


def _epilogue(scenario: HopperScenario) -> EpilogueStages:
    """Return the epilogue at address 0."""
    kernel, bits = scenario.kernel, scenario.output_bits
    m, n, _ = kernel.tile
    cooperative = kernel.schedule == "cooperative"
    tile_m = min(2 * MMA_ROWS if cooperative else MMA_ROWS, m)
    tile_n = gcd(min(64 if bits == 8 and not cooperative else 32, n), n)
    subtiles = (m // tile_m, n // tile_n)
    count = subtiles[0] * subtiles[1]
    reuses = not kernel.void_c and bits > 8
    stages_d = min(count, 2)
    stages_c = max(min(count, 4), stages_d + 1) if reuses else min(count, 4)
    swizzle = _swizzle(tile_n, bits)
    return EpilogueStages((tile_m, tile_n), subtiles, stages_c, stages_d, reuses, not kernel.void_c, swizzle, bits, 0)


def _barriers(scenario: HopperScenario, stages: int, epilogue: EpilogueStages | None) -> list[Mbarrier]:
    """Return the mbarriers in the order of their storage."""
    pipelines = [("mainloop.full", stages), ("mainloop.empty", stages)]
    if epilogue is not None:
        pipelines += [("epi_load.full", epilogue.stages_c), ("epi_load.empty", epilogue.stages_c)]
    if scenario.kernel.schedule == "pingpong":
        pipelines.append(("math_wg_order", 4))
    if scenario.kernel.schedule in ("cooperative", "pingpong"):
        pipelines.append(("load_order", 2))
    return [Mbarrier(name, index) for name, count in pipelines for index in range(count)]


@lru_cache(maxsize=256)
def collective_of(scenario: HopperScenario) -> Collective:
    """Return what CUTLASS builds for a scenario."""
    kernel, problem, bits = scenario.kernel, scenario.problem, scenario.operand_bits
    m, n, k = kernel.tile
    along_k = problem.k_contiguous
    a = SharedOperand("a", m, k, bits, along_k[0], _swizzle(k if along_k[0] else m, bits), 0)
    b = SharedOperand("b", n, k, bits, along_k[1], _swizzle(k if along_k[1] else n, bits), 0)
    epilogue = None if kernel.schedule == "non_specialized" else _epilogue(scenario)
    carved = 1 if epilogue is None else epilogue.shared_bytes
    each = a.stage_bytes + b.stage_bytes
    stages = kernel.stages if kernel.stages != "auto" else (CTA_SHARED_BYTES - carved) // (each + 2 * BARRIER_BYTES)
    barriers = _barriers(scenario, stages, epilogue)
    storage = len(barriers) * BARRIER_BYTES
    alignment = _TENSORS_ALIGN if epilogue is None else epilogue.alignment
    if kernel.schedule in ("cooperative", "pingpong") and epilogue is not None:
        # Barriers first, then the epilogue's stages, then the rings.
        epilogue_base, first = aligned(storage, alignment), 0
        rings = aligned(epilogue_base + epilogue.tensor_bytes, _TENSORS_ALIGN)
        shared = aligned(rings + stages * each, alignment)
    else:
        # The epilogue's stages lie where the rings are; barriers follow.
        tensors = max(stages * each, 0 if epilogue is None else epilogue.tensor_bytes)
        epilogue_base, rings, first = 0, 0, aligned(tensors, BARRIER_BYTES if epilogue is None else alignment)
        shared = first + storage if epilogue is None else aligned(first + storage, alignment)
    return Collective(
        scenario=scenario,
        stages=stages,
        a=SharedOperand("a", m, k, bits, a.k_contiguous, a.swizzle, rings),
        b=SharedOperand("b", n, k, bits, b.k_contiguous, b.swizzle, rings + stages * a.stage_bytes),
        epilogue=None if epilogue is None else _placed(epilogue, epilogue_base),
        barriers={barrier: first + place * BARRIER_BYTES for place, barrier in enumerate(barriers)},
        shared_bytes=shared,
        mainloop_bytes=_mainloop_bytes(stages, each, alone=epilogue is None),
        threads=WARPGROUP * {"non_specialized": 1, "warp_specialized": 2}.get(kernel.schedule, 3),
    )


def _mainloop_bytes(stages: int, each: int, *, alone: bool) -> int:
    """Return the bytes of the rings with their mbarriers; ``alone`` if the kernel has no other shared memory."""
    size = stages * (each + 2 * BARRIER_BYTES)
    return size if alone else aligned(size, _TENSORS_ALIGN)


def _placed(epilogue: EpilogueStages, base: int) -> EpilogueStages:
    """Return an epilogue at another address."""
    return EpilogueStages(
        epilogue.tile,
        epilogue.subtiles,
        epilogue.stages_c,
        epilogue.stages_d,
        epilogue.reuses_c,
        epilogue.has_c,
        epilogue.swizzle,
        epilogue.bits,
        base,
    )


PRODUCER_ARRIVALS: Final = WARP_SIZE
"""Arrivals that complete a phase of the epilogue's full barriers, and of the order of loads: a warp's lanes."""
