"""
Computes the queries and keys of an attention CTA, and the addresses of its fetches and outputs; it knows no time.

Operands are those of a single GEMM (``operands``). This module adds the offsets of batches and heads in the tensors,
and the lengths of batches.
"""

from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from gpusim.arrays import BoolArray, IntArray
from gpusim.element_types import element_bits
from gpusim.families.attention.problem import AttentionScenario
from gpusim.families.attention.tile.operands import CopiedTensor, attention_operand
from gpusim.families.attention.tile.shape import attention_shape
from gpusim.tile.epilogue import EpilogueTile, OutputAccess
from gpusim.tile.extents import ceil_div
from gpusim.tile.global_access import GlobalAccess, over_lanes
from gpusim.units import VECTOR_BITS

Behaviour: TypeAlias = tuple[tuple[int, bool], ...]
"""(keys, masked) of a CTA's key blocks, ascending. CTAs with equal key blocks execute the same program."""


@dataclass(frozen=True, slots=True)
class BlockAdvance:
    """
    The part of the problem that belongs to each CTA, as arrays over CTAs.

    Attributes:
        active: Whether the CTA's first query exists.
        query_start: First query.
        num_queries: Queries of the batch from the first query on.
        num_keys: Keys that the CTA walks, up to the causal mask of its last query or the batch's length.
        causal_offset: Under a causal mask, query i sees the keys up to i + causal_offset.
        q, k, v, o: Element offset of the first query, and of the head's first key, value and output, in each tensor.
        lse: Offset of the first log-sum-exp.

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
    """Return gridDim: query blocks along x, heads along y, batches along z."""
    problem = scenario.problem
    return ceil_div(problem.queries, scenario.queries_per_block), problem.heads, problem.batch


def attention_ctas(scenario: AttentionScenario) -> IntArray:
    """Return blockIdx (x, y, z) of every CTA in launch order, x fastest, shape [ctas, 3]."""
    x, y, z = attention_grid(scenario)
    block = np.arange(x * y * z, dtype=np.int64)
    return np.stack([block % x, block // x % y, block // (x * y)], axis=-1)


def launched_ctas(scenario: AttentionScenario) -> IntArray:
    """
    Return the CTAs of ``attention_ctas`` in the order in which they do their work (kernels_cuda/attention/kernel.cu).

    Under a causal mask the last queries see the most keys. "descending" begins with these in each head; so does flash.
    "longest_first" begins with the last query blocks of all heads and batches, and ends with their first ones.
    """
    ctas = attention_ctas(scenario)
    x, y, z = attention_grid(scenario)
    match scenario.cta_order:
        case "descending":
            ctas[:, 0] = x - 1 - ctas[:, 0]
        case "longest_first":
            launched = np.arange(len(ctas), dtype=np.int64)
            ctas = np.stack([x - 1 - launched // (y * z), launched % y, launched % (y * z) // y], axis=-1)
    return ctas


def block_advance(scenario: AttentionScenario, ctas: IntArray) -> BlockAdvance:
    """
    Return the part of the problem that belongs to each CTA.

    Args:
        scenario: Problem and kernel.
        ctas: blockIdx (x, y, z), shape [ctas, 3].
    """
    problem = scenario.problem
    block, head, batch = ctas.T
    lengths_q, lengths_k = problem.queries_of(batch), problem.keys_of(batch)
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
        number: Number of the block in the order of the keys.
        keys: Keys of the CTA in this block: columns of S, and K of the second GEMM.
        masked: Whether a score may be invisible: past the last key, or behind a causal mask.
    """

    number: int
    keys: int
    masked: bool

    def k_tiles(self, depth: int) -> int:
        """Return the k tiles of the second GEMM."""
        return ceil_div(self.keys, depth)


def key_blocks(scenario: AttentionScenario, advance: BlockAdvance, cta: int) -> tuple[KeyBlock, ...]:
    """
    Return the key blocks that one CTA walks, ascending.

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


@lru_cache(maxsize=16)
def cta_blocks(scenario: AttentionScenario) -> tuple[tuple[KeyBlock, ...] | None, ...]:
    """
    Return the key blocks of every CTA in launch order, ascending; None for a CTA that finds no query.

    A block is masked if a score is invisible, as in kernels_cuda/attention/shape.cuh. The golden data, and a schedule
    made from it, mask one more block: the one that ends with the first query's last visible key. CTAs with equal walks
    share one tuple.
    """
    advance = block_advance(scenario, launched_ctas(scenario))
    seen_by_all = advance.num_keys
    if scenario.problem.mask != "none":
        seen_by_all = np.clip(advance.query_start + advance.causal_offset + 1, 0, advance.num_keys)
    each = scenario.keys_per_block

    @cache
    def walk(keys: int, whole: int) -> tuple[KeyBlock, ...]:
        starts = enumerate(range(0, keys, each))
        return tuple(KeyBlock(number, min(each, keys - start), masked=number >= whole) for number, start in starts)

    walks = zip(advance.active.tolist(), advance.num_keys.tolist(), (seen_by_all // each).tolist(), strict=True)
    return tuple(walk(keys, whole) if active else None for active, keys, whole in walks)


def operand_access(
    scenario: AttentionScenario,
    tensor: CopiedTensor,
    ctas: IntArray,
    fetch: int,
    *,
    key_block: int = 0,
    column_block: int = 0,
) -> GlobalAccess:
    """
    Return the global accesses of one fetch by some CTAs.

    Args:
        scenario: Problem and kernel.
        tensor: q, k or v.
        ctas: blockIdx (x, y, z), shape [ctas, 3].
        fetch: k tile of the GEMM.
        key_block: Number of the key block, for k and v.
        column_block: Number of the column block, for v.

    Returns:
        Arrays of shape [ctas, threads, accesses, vecs]; coordinates ``row`` (query or key) and ``column`` (element of
        the head). Valid: the row is a query of the batch, or a key the CTA walks.
    """
    advance, own = block_advance(scenario, ctas), attention_operand(scenario, tensor)
    tile = {"q": ctas[:, 0], "k": np.full(len(ctas), key_block), "v": np.full(len(ctas), column_block)}[tensor]
    access = own.iterator(tile, np.zeros_like(tile)).fetch(fetch)
    # Of A [m, k] a row is a row; of B [k, n] contiguous along K a column, else a row.
    along = {"q": ("row", "column"), "k": ("column", "row"), "v": ("row", "column")}[tensor]
    row, column = (access.coordinates[name] for name in along)
    stride = row_stride(scenario, tensor)
    if tensor == "q":
        base, end = advance.q - tile * own.tiling.threadblock[0] * stride, advance.num_queries + advance.query_start
    else:
        base, end = (advance.k if tensor == "k" else advance.v), advance.num_keys
    if tensor == "v":
        first = key_block * scenario.keys_per_block
        row = row + first
        base = base + first * stride
    return replace(
        access,
        coordinates={"row": row, "column": column},
        offset=access.offset + over_lanes(base),
        valid=access.valid & (row < over_lanes(end)),
    )


def row_stride(scenario: AttentionScenario, tensor: CopiedTensor) -> int:
    """Return the elements from one query, key or value of a head to the next."""
    problem = scenario.problem
    return problem.heads * (problem.head_dim_v if tensor == "v" else problem.head_dim)


def attention_epilogue(scenario: AttentionScenario) -> EpilogueTile:
    """Return the output's epilogue for one head: rows are queries, the extent is that of the longest batch."""
    problem, tiling = scenario.problem, attention_shape(scenario).pv
    return EpilogueTile(
        threadblock=tiling.threadblock,
        warp=tiling.warp,
        instruction=tiling.instruction,
        output_type=problem.dtype.output,
        elements_per_access=problem.access_o,
        extent=(problem.queries, problem.head_dim_v),
        leading=problem.heads * problem.head_dim_v,
    )


def source_parts(scenario: AttentionScenario) -> int:
    """Return the 16-byte accesses of the f32 buffer that make one vector of the output."""
    return scenario.problem.access_o * element_bits("f32") // VECTOR_BITS


def output_access(
    scenario: AttentionScenario, ctas: IntArray, column_block: int, step: int | npt.NDArray[np.int64]
) -> OutputAccess:
    """
    Return the global accesses of one epilogue step by some CTAs; the buffer's are the same elements.

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
