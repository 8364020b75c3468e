"""Q, K, P and V as operands of the two GEMMs of a CTA, with the thread maps and fragments of any GEMM."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal, TypeAlias, get_args

import numpy as np

from gpusim.arrays import IntArray
from gpusim.element_types import element_bits, widest_alignment
from gpusim.families.attention.problem import AttentionScenario
from gpusim.families.attention.tile.shape import P_PADDING, attention_shape
from gpusim.layout.linear import PaddedLayout
from gpusim.layout.shared import SharedLayout
from gpusim.tile.gemm_iterators import GemmSource
from gpusim.tile.mma import MATRIX, PAIR, warp_coordinates
from gpusim.tile.operand import Operand, OperandTile, Side
from gpusim.units import WARP_SIZE

Gemm: TypeAlias = Literal["qk", "pv"]
Tensor: TypeAlias = Literal["q", "k", "p", "v"]
CopiedTensor: TypeAlias = Literal["q", "k", "v"]

GEMMS: Final[tuple[Gemm, Gemm]] = ("qk", "pv")

COPIED: Final[tuple[CopiedTensor, ...]] = get_args(CopiedTensor)

PLACE_OF: Final[dict[Tensor, tuple[Gemm, Side]]] = {
    "q": ("qk", "a"),
    "k": ("qk", "b"),
    "p": ("pv", "a"),
    "v": ("pv", "b"),
}
"""The GEMM that each tensor is an operand of, and its side."""

TENSOR_AT: Final[dict[tuple[str, str], Tensor]] = {place: tensor for tensor, place in PLACE_OF.items()}


class RowsOfKeys(PaddedLayout):
    """P in shared memory: a row of all keys of a block for each query, padded; its k tiles lie side by side."""

    @property
    def row_stride(self) -> int:
        """Elements from one query's row to the next."""
        return self.contiguous * self.stages + self.padding

    @property
    def stage_elements(self) -> int:
        """Elements from one k tile to the next, in every row."""
        return self.contiguous

    @property
    def elements(self) -> int:
        """Elements of the whole allocation, padding included."""
        return self.strided * self.row_stride


@dataclass(frozen=True, slots=True)
class ProbabilitiesOperand(Operand):
    """P, which the warps themselves store in shared memory, in a layout of its own."""

    @property
    def in_shared(self) -> OperandTile:
        """The operand itself, which alone knows its layout."""
        return self

    @property
    def shared(self) -> SharedLayout:
        """Rows of keys, one for each query."""
        queries, _, depth = self.tiling.threadblock
        return RowsOfKeys(self.bits, depth, queries, self.tiling.stages, P_PADDING)


@lru_cache(maxsize=256)
def attention_operand(scenario: AttentionScenario, tensor: Tensor) -> Operand:
    """
    Return an operand of one head, as a single CTA sees it: its tile, type and leading dimension.

    K of the second GEMM is a whole key block. So no residue tile comes first, and P is stored in order.
    """
    shape, problem = attention_shape(scenario), scenario.problem
    gemm, side = PLACE_OF[tensor]
    width = problem.head_dim if gemm == "qk" else problem.head_dim_v
    row = problem.heads * width
    extent = {"q": problem.queries, "k": problem.keys, "p": problem.queries, "v": width}[tensor]
    k_contiguous = tensor != "v"
    source = GemmSource(
        side,
        extent=extent,
        k=problem.head_dim if gemm == "qk" else shape.qk.threadblock[1],
        leading=row,
        bits=element_bits(problem.dtype.ab),
        k_contiguous=k_contiguous,
    )
    kind = ProbabilitiesOperand if tensor == "p" else Operand
    return kind(
        name=tensor,
        side=side,
        element=problem.dtype.ab,
        access=widest_alignment(problem.dtype.ab, width, row),
        k_contiguous=k_contiguous,
        layout="crosswise" if k_contiguous else "congruous",
        tiling=shape.tiling(gemm),
        source=source,
    )


def gemm_operands(scenario: AttentionScenario, gemm: Gemm) -> dict[Side, Operand]:
    """Return both operands of one GEMM."""
    return {side: attention_operand(scenario, TENSOR_AT[gemm, side]) for side in ("a", "b")}


def fragment_rows(scenario: AttentionScenario) -> IntArray:
    """Return the row within the CTA of each row of S that a lane holds, shape [warps, 32, rows]."""
    shape = attention_shape(scenario)
    row = np.arange(shape.rows_of_lane, dtype=np.int64) * MATRIX
    in_warp = np.arange(WARP_SIZE, dtype=np.int64)[:, None] // 4 + row
    warps = warp_coordinates(shape.qk.warps)
    rows: IntArray = warps[:, 0, None, None] * shape.qk.warp[0] + in_warp
    return rows


def p_store_offsets(scenario: AttentionScenario) -> IntArray:
    """
    Return the offsets at which each lane stores its accumulators of S as P: pairs of neighbours, row by row.

    Returns:
        Element offsets from P's base, shape [threads, accesses]; access = row * column blocks of 8 + column block.
    """
    shape = attention_shape(scenario)
    column = np.arange(shape.qk.warp[1] // MATRIX, dtype=np.int64) * MATRIX
    within = column + np.arange(WARP_SIZE, dtype=np.int64)[:, None] % 4 * PAIR
    warps = warp_coordinates(shape.qk.warps)
    key = warps[:, 1, None, None, None] * shape.qk.warp[1] + within[:, None, :]
    query = fragment_rows(scenario)[..., None]
    stage, in_tile = np.divmod(key, shape.pv.threadblock[2])
    return attention_operand(scenario, "p").shared.offset(in_tile, query, stage).reshape(shape.threads, -1)
