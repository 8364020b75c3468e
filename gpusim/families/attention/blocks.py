"""Which queries and keys a CTA of an attention kernel has, and every address of its operands; never when.

Both GEMMs are presented as GEMM scenarios of one CTA (``gemm_view``), so that thread maps, layouts, fragments and
iterators are those of every GEMM; what attention adds is the place of a batch and head in the tensors, and where its
lengths end.
"""

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from gpusim.arrays import BoolArray, IntArray
from gpusim.element_types import element_bits
from gpusim.families.attention.problem import AttentionScenario
from gpusim.families.attention.shape import P_PADDING, attention_shape
from gpusim.families.gemm.gemm import GemmProblem
from gpusim.layout.linear import PaddedLayout
from gpusim.scenario.gemm import GemmScenario
from gpusim.scenario.kernel import Kernel, SharedLayouts
from gpusim.scenario.models import DTypes
from gpusim.tile.epilogue import EpilogueTile, OutputAccess
from gpusim.tile.extents import ceil_div
from gpusim.tile.global_access import GlobalAccess, over_lanes
from gpusim.tile.ldmatrix import ldmatrix_offsets
from gpusim.tile.mma import MATRIX, PAIR, warp_coordinates
from gpusim.tile.operand import Side
from gpusim.units import VECTOR_BITS, WARP_SIZE

Gemm: TypeAlias = Literal["qk", "pv"]
CopiedOperand: TypeAlias = Literal["q", "k", "v"]

GEMM_OF: dict[CopiedOperand, tuple[Gemm, Side]] = {"q": ("qk", "a"), "k": ("qk", "b"), "v": ("pv", "b")}
"""The GEMM and operand that each copied tensor is."""


@dataclass(frozen=True, slots=True)
class BlockAdvance:
    """
    What a CTA finds at its block index; arrays over CTAs.

    Attributes:
        active: Its first query exists.
        query_start: First query.
        num_queries: Queries of the batch from there on.
        num_keys: Keys it walks: the causal mask of its last query or the batch's length end them.
        causal_offset: A causal mask shows query i the keys up to i + this.
        q, k, v, o: Element offset of its first query, and of its head's first key, value and output, in each tensor.
        lse: Offset of its first log-sum-exp.

    Source: golden fmha_loops_*.
    """

    active: BoolArray
    query_start: IntArray
    num_queries: IntArray
    num_keys: IntArray
    causal_offset: IntArray
    q: IntArray
    k: IntArray
    v: IntArray
    o: IntArray
    lse: IntArray


def attention_grid(scenario: AttentionScenario) -> tuple[int, int, int]:
    """gridDim: query blocks, heads, batches."""
    problem = scenario.problem
    return ceil_div(problem.queries, scenario.queries_per_block), problem.heads, problem.batch


def attention_ctas(scenario: AttentionScenario) -> IntArray:
    """blockIdx (x, y, z) of every CTA in launch order, x fastest, shape [ctas, 3]."""
    x, y, z = attention_grid(scenario)
    block = np.arange(x * y * z, dtype=np.int64)
    return np.stack([block % x, block // x % y, block // (x * y)], axis=-1)


def launched_ctas(scenario: AttentionScenario) -> IntArray:
    """
    The CTAs of ``attention_ctas`` in the order in which they do their work.

    Under a causal mask flash starts with the last queries, which see the most keys (kernels_cuda/attention/kernel.cu).
    """
    ctas = attention_ctas(scenario)
    if scenario.flash and scenario.problem.mask != "none":
        ctas[:, 0] = attention_grid(scenario)[0] - 1 - ctas[:, 0]
    return ctas


def block_advance(scenario: AttentionScenario, ctas: IntArray) -> BlockAdvance:
    """
    Where CTAs stand.

    Args:
        scenario: Problem and kernel.
        ctas: blockIdx (x, y, z), shape [ctas, 3].
    """
    problem = scenario.problem
    block, head, batch = ctas.T
    lengths_q = np.array(problem.lengths_q, dtype=np.int64)[batch]
    lengths_k = np.array(problem.lengths_k, dtype=np.int64)[batch]
    start = block * scenario.queries_per_block
    offset = lengths_k - lengths_q if problem.mask == "causal_bottom_right" else np.zeros_like(start)
    keys = lengths_k
    if problem.mask != "none":
        keys = np.clip(start + offset + scenario.queries_per_block, 0, lengths_k)
    row = batch * problem.queries + start
    first_key = batch * problem.keys
    d, dv, heads = problem.head_dim, problem.head_dim_v, problem.heads
    return BlockAdvance(
        active=start < lengths_q,
        query_start=start,
        num_queries=lengths_q - start,
        num_keys=keys,
        causal_offset=offset,
        q=(row * heads + head) * d,
        k=(first_key * heads + head) * d,
        v=(first_key * heads + head) * dv,
        o=(row * heads + head) * dv,
        lse=(batch * heads + head) * problem.lse_length + start,
    )


@dataclass(frozen=True, slots=True)
class KeyBlock:
    """
    One step of a CTA's key loop.

    Attributes:
        number: Its place among the keys.
        keys: Of the CTA, in this block: columns of S, and K of the second GEMM.
        masked: Whether a score may be invisible: past the keys, or behind a causal mask.
    """

    number: int
    keys: int
    masked: bool

    def k_tiles(self, depth: int) -> int:
        """k tiles of the second GEMM."""
        return ceil_div(self.keys, depth)


def key_blocks(scenario: AttentionScenario, advance: BlockAdvance, cta: int) -> tuple[KeyBlock, ...]:
    """
    The key loop of one CTA, ascending.

    Source: golden fmha_loops_*, ``mask_applied_signed`` (the example compares unsigned, which leaves scores unmasked
    where the causal offset is negative).
    """
    per_block, keys = scenario.keys_per_block, int(advance.num_keys[cta])
    diagonal = int(advance.query_start[cta] + advance.causal_offset[cta])
    causal = scenario.problem.mask != "none"
    return tuple(
        KeyBlock(
            number=start // per_block,
            keys=min(per_block, keys - start),
            masked=keys - start < per_block or (causal and min(start + per_block, keys) >= diagonal),
        )
        for start in range(0, keys, per_block)
    )


@lru_cache(maxsize=256)
def gemm_view(scenario: AttentionScenario, gemm: Gemm) -> GemmScenario:
    """
    One of the two GEMMs as a GEMM scenario of a single CTA, unchecked: its tile, types, leading dimensions.

    K of ``pv`` is a whole key block, so that no residue comes first: P lies in order.
    """
    shape, problem = attention_shape(scenario), scenario.problem
    dtype = DTypes(ab=problem.dtype.ab, accumulator=problem.dtype.accumulator, output=problem.dtype.output)
    if gemm == "qk":
        row = problem.heads * problem.head_dim
        matrices = GemmProblem(
            m=problem.queries, n=problem.keys, k=problem.head_dim, lda=row, ldb=row, dtype=dtype
        )  # fmt: skip
        threadblock, warp, stages = shape.qk, shape.qk_warp, shape.qk_slots
    else:
        row = problem.heads * problem.head_dim_v
        matrices = GemmProblem(
            m=problem.queries, n=problem.head_dim_v, k=shape.qk[1], layout_b="row", ldb=row, dtype=dtype
        )  # fmt: skip
        threadblock, warp, stages = shape.pv, shape.pv_warp, shape.pv_slots
    kernel = Kernel(threadblock=threadblock, warp=warp, instruction=scenario.instruction, stages=stages)
    return GemmScenario(machine=scenario.machine, problem=matrices, kernel=kernel)


def p_layout(scenario: AttentionScenario) -> PaddedLayout:
    """P in shared memory: a row of keys for each query, padded; not in flash, where P stays in registers."""
    queries, keys, _ = attention_shape(scenario).qk
    return PaddedLayout(element_bits(scenario.problem.dtype.ab), keys, queries, 1, padding=P_PADDING)


def p_store_offsets(scenario: AttentionScenario) -> IntArray:
    """
    Where each lane stores its accumulators of S as P: pairs of neighbours, rows first.

    Returns:
        Element offsets from P's base, shape [threads, accesses]; access = row * column blocks of 8 + column block.
    """
    shape = attention_shape(scenario)
    column = np.arange(shape.qk_warp[1] // MATRIX, dtype=np.int64) * MATRIX
    lane = np.arange(WARP_SIZE, dtype=np.int64)
    within = column + lane[:, None] % 4 * PAIR
    warps = warp_coordinates(gemm_view(scenario, "qk").kernel.warps)
    key = warps[:, 1, None, None, None] * shape.qk_warp[1] + within[:, None, :]
    query = fragment_rows(scenario)[..., None]
    offsets = p_layout(scenario).offset(key, query)
    return offsets.reshape(shape.threads, -1)


def fragment_rows(scenario: AttentionScenario) -> IntArray:
    """Row of the CTA of each of a lane's rows of S, shape [warps, 32, rows]."""
    shape = attention_shape(scenario)
    row = np.arange(shape.rows_of_lane, dtype=np.int64) * MATRIX
    in_warp = np.arange(WARP_SIZE, dtype=np.int64)[:, None] // 4 + row
    warps = warp_coordinates(gemm_view(scenario, "qk").kernel.warps)
    rows: IntArray = warps[:, 0, None, None] * shape.qk_warp[0] + in_warp
    return rows


def p_load_offsets(scenario: AttentionScenario) -> IntArray:
    """
    The row addresses of ldmatrix for P's fragments, as ``ldmatrix_offsets`` gives those of other operands.

    Returns:
        Element offsets from P's base, shape [k tiles, warps, k_groups, instructions, 32].
    """
    view = gemm_view(scenario, "pv")
    queries, keys, depth = attention_shape(scenario).qk
    kernel = view.kernel.model_copy(
        update={
            "threadblock": (queries, view.kernel.threadblock[1], keys),
            "warp": (*view.kernel.warp[:2], keys),
            "stages": 1,
            "shared": SharedLayouts(a=f"padded<{P_PADDING}>"),
        }
    )
    whole = ldmatrix_offsets(view.model_copy(update={"kernel": kernel}).operand("a"), 0)
    warps, k_groups, instructions, lanes = whole.shape
    tiles = whole.reshape(warps, keys // depth, k_groups * depth // keys, instructions, lanes)
    return np.moveaxis(tiles, 1, 0)


def operand_access(
    scenario: AttentionScenario,
    operand: CopiedOperand,
    ctas: IntArray,
    *,
    key_block: int = 0,
    column_block: int = 0,
    fetch: int,
) -> GlobalAccess:
    """
    The global accesses of one fetch.

    Args:
        scenario: Problem and kernel.
        operand: q, k or v.
        ctas: blockIdx (x, y, z), shape [ctas, 3].
        key_block: Of k and v.
        column_block: Of v.
        fetch: k tile of the GEMM.

    Returns:
        Arrays of shape [ctas, threads, accesses, vecs]; coordinates ``row`` (query or key) and ``column`` (element of
        the head). Valid: the row is a query of the batch, or a key the CTA walks.
    """
    gemm, which = GEMM_OF[operand]
    advance = block_advance(scenario, ctas)
    tile = {"q": ctas[:, 0], "k": np.full(len(ctas), key_block), "v": np.full(len(ctas), column_block)}[operand]
    view = gemm_view(scenario, gemm)
    access = view.operand(which).iterator(tile, np.zeros_like(tile)).fetch(fetch)
    # Of A [m, k] a row is a row; of B [k, n] contiguous along K a column, else a row.
    along = {"q": ("row", "column"), "k": ("column", "row"), "v": ("row", "column")}[operand]
    row, column = (access.coordinates[name] for name in along)
    if operand == "q":
        base, end = advance.q - tile * view.kernel.threadblock[0] * _row_stride(scenario, operand), advance.num_queries
        end = end + advance.query_start
    else:
        base, end = (advance.k if operand == "k" else advance.v), advance.num_keys
    if operand == "v":
        first = key_block * scenario.keys_per_block
        row = row + first
        base = base + first * _row_stride(scenario, operand)
    return replace(
        access,
        coordinates={"row": row, "column": column},
        offset=access.offset + over_lanes(base),
        valid=access.valid & (row < over_lanes(end)),
    )


def _row_stride(scenario: AttentionScenario, operand: CopiedOperand) -> int:
    problem = scenario.problem
    return problem.heads * (problem.head_dim_v if operand == "v" else problem.head_dim)


def attention_epilogue(scenario: AttentionScenario) -> EpilogueTile:
    """The epilogue of the output, for one head: rows are queries, the extent is the longest batch's."""
    view = gemm_view(scenario, "pv")
    problem = scenario.problem
    return EpilogueTile(
        threadblock=view.kernel.threadblock,
        warp=view.kernel.warp,
        instruction=view.kernel.instruction,
        output_type=problem.dtype.output,
        elements_per_access=problem.access_o,
        extent=(problem.queries, problem.head_dim_v),
        leading=problem.heads * problem.head_dim_v,
    )


def source_parts(scenario: AttentionScenario) -> int:
    """16-byte accesses of the f32 buffer that make one vector of the output."""
    return scenario.problem.access_o * element_bits("f32") // VECTOR_BITS


def output_access(
    scenario: AttentionScenario, ctas: IntArray, column_block: int, step: int | npt.NDArray[np.int64]
) -> OutputAccess:
    """
    The global accesses of one epilogue step; those of the buffer are the same elements.

    Returns:
        Arrays of shape [ctas, threads, accesses]. Rows are queries; valid those of the batch.
    """
    tile, advance = attention_epilogue(scenario), block_advance(scenario, ctas)
    access = tile.output(step, ctas[:, 0], np.full(len(ctas), column_block))
    base = advance.o - advance.query_start * tile.leading
    end = advance.query_start + advance.num_queries
    return replace(
        access, offset=access.offset + base[:, None, None], valid=access.valid & (access.rows < end[:, None, None])
    )
