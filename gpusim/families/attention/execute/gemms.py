"""Both GEMMs of a batch of attention CTAs on real data: their operands in one shared memory, their warps."""

from functools import partial

import numpy as np
import numpy.typing as npt

from gpusim.families.attention.execute.batch import Batch
from gpusim.families.attention.tile.blocks import block_advance, operand_access
from gpusim.families.attention.tile.operands import TENSOR_AT, Gemm
from gpusim.functional.mainloop import OperandData, WarpTiles
from gpusim.functional.shared_memory import CopyQueue
from gpusim.schedule.ops import WarpMma
from gpusim.tile.operand import Side


class FlashOutput(WarpTiles):
    """
    The second GEMM of flash: P is the warp's own registers.

    Attributes:
        p: Rounded to its type. Shape (ctas, warps, warp M, keys of a block); empty before its first MMA.
    """

    p: npt.NDArray[np.float32] = np.zeros(0, np.float32)

    def _matrix(self, operand: Side, op: WarpMma) -> npt.NDArray[np.float32]:
        """Side a is P: accumulators of two neighbouring column blocks of S lie as the fragment of 16 keys does."""
        if operand == "b":
            return super()._matrix(operand, op)
        depth = self._tables["b"].depth
        return self.p[..., op.k_group * depth : (op.k_group + 1) * depth]


class AttentionGemms:
    """
    The operands and warps of a batch of CTAs.

    All operands lie in one array of shared memory, at the kernel's addresses: P and V may take the place of Q and K. So
    an overwrite of data that may still be read is noticed.

    Attributes:
        shared: Shared memory, 16-bit elements.
    """

    def __init__(self, batch: Batch) -> None:
        lanes = batch.lanes
        self._scenario, self._shape, self._tables = lanes.scenario, lanes.shape, batch.tables
        self._ctas, self._hazards = batch.ctas, batch.hazards
        self._advance = block_advance(lanes.scenario, batch.ctas)
        self.shared = batch.memory.allocate("operands", len(batch.ctas), lanes.shape.shared_bytes // 2, lanes.warps)
        self._queue = CopyQueue()
        self._values = batch.inputs
        self._known: dict[tuple[Gemm, int, int], WarpTiles] = {}

    def tiles(self, gemm: Gemm, key_block: int, column_block: int) -> WarpTiles:
        """Return the warps of one GEMM of one key block. The first op creates them; older key blocks are dropped."""
        key = gemm, key_block, column_block
        if key not in self._known:
            sources: dict[Side, OperandData] = {
                "a": self._source(gemm, "a", *key[1:]),
                "b": self._source(gemm, "b", *key[1:]),
            }
            kind = FlashOutput if gemm == "pv" and self._shape.flash else WarpTiles
            self._known = {known: tiles for known, tiles in self._known.items() if abs(known[1] - key_block) <= 1}
            self._known[key] = kind(
                self._shape.tiling(gemm),
                self._scenario.mma,
                self._tables[gemm],
                sources,
                self._ctas,
                queue=self._queue,
                hazards=self._hazards,
            )
        return self._known[key]

    def _source(self, gemm: Gemm, side: Side, key_block: int, column_block: int) -> OperandData:
        """Return an operand in global memory. No op copies P, which has as many rows as Q."""
        advance, tensor = self._advance, TENSOR_AT[gemm, side]
        first, end = advance.query_start, advance.query_start + advance.num_queries
        if tensor == "k":
            first, end = np.full_like(first, key_block * self._scenario.keys_per_block), advance.num_keys
        elif tensor == "v":
            first = np.full_like(first, column_block * self._shape.pv.threadblock[1])
            end = np.full_like(first, self._scenario.problem.head_dim_v)
        copied = "v" if tensor == "p" else tensor
        place = {"key_block": key_block, "column_block": column_block}
        fetch = partial(operand_access, self._scenario, copied, self._ctas, **place)
        return OperandData(tensor, self._values[copied], fetch, first, end, self.shared)
