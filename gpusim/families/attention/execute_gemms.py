"""Both GEMMs of a batch of attention CTAs on real data: their operands in one shared memory, their warps."""

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from gpusim.arrays import IntArray
from gpusim.families.attention.blocks import (
    block_advance,
    operand_access,
)
from gpusim.families.attention.operands import (
    GEMMS,
    CopiedTensor,
    Gemm,
    fragment_rows,
    gemm_operands,
    p_store_offsets,
)
from gpusim.families.attention.problem import AttentionScenario
from gpusim.families.attention.shape import attention_shape
from gpusim.families.attention.tensors import AttentionTensors
from gpusim.functional.data_hazards import HazardLog
from gpusim.functional.mainloop import OperandData, OperandTables, WarpTiles, operand_tables
from gpusim.functional.shared_memory import CopyQueue, SharedArray
from gpusim.numerics.elements import WORKING, Values, decode
from gpusim.schedule.ops import WarpMma
from gpusim.tile.global_access import GlobalAccess
from gpusim.tile.mma import PAIR, warp_coordinates
from gpusim.tile.operand import Side


@dataclass(frozen=True, slots=True)
class AttentionTables:
    """
    What no CTA changes, computed once for a run.

    Attributes:
        operands: Of both GEMMs; their offsets count 16-bit elements from the operands' common base.
        elements: 16-bit elements of that area.
        p_store: Element at which each pair of P goes. Shape (threads, accesses, 2).
        rows: Row of the CTA of each row of a lane. Shape (warps, 32, rows).
        columns: Key of the key block of a warp's first column. Shape (warps,).
        owned: Row each lane owns. Shape (warps, owned rows).
    """

    operands: dict[Gemm, dict[Side, OperandTables]]
    elements: int
    p_store: IntArray
    rows: IntArray
    columns: IntArray
    owned: IntArray


def attention_tables(scenario: AttentionScenario) -> AttentionTables:
    """The tables of a scenario, all from the tile iterators and the fragment layouts."""
    shape = attention_shape(scenario)
    base = {name: (first - shape.statistics_bytes) // 2 for name, first in shape.operand_base.items()}
    warps = warp_coordinates(shape.tiling("qk").warps)
    ends = [base[name] + size // 2 for name, size in shape.operand_bytes.items()]
    store = np.zeros((shape.threads, 0), np.int64) if shape.flash else p_store_offsets(scenario)
    return AttentionTables(
        operands={
            gemm: {
                side: _moved(operand_tables(operand), base[operand.name])
                for side, operand in gemm_operands(scenario, gemm).items()
            }
            for gemm in GEMMS
        },
        elements=max(ends),
        p_store=base["p"] + store[..., None] + np.arange(PAIR, dtype=np.int64),
        rows=fragment_rows(scenario),
        columns=warps[:, 1] * shape.qk_warp[1],
        owned=np.arange(shape.qk[0], dtype=np.int64).reshape(len(warps), -1),
    )


def _moved(table: OperandTables, base: int) -> OperandTables:
    return replace(table, store=table.store + base, load=table.load + base)


class FlashOutput(WarpTiles):
    """
    The second GEMM of flash: P is the warp's own registers.

    Attributes:
        p: Rounded to its type. Shape (ctas, warps, warp M, keys of a block); empty before its first MMA.
    """

    p: npt.NDArray[np.float32] = np.zeros(0, np.float32)

    def _matrix(self, operand: Side, op: WarpMma) -> npt.NDArray[np.float32]:
        """A: the accumulators of two neighbouring column blocks of S lie as the fragment of 16 keys does."""
        if operand == "b":
            return super()._matrix(operand, op)
        depth = self._tables["b"].place.shape[1]
        return self.p[..., op.k_group * depth : (op.k_group + 1) * depth]


class AttentionGemms:
    """
    The operands and warps of a batch of CTAs.

    Operands lie in one shared array, P and V in the place of Q and K where the kernel has them there, so that an
    overwrite of what may still be read shows.

    Attributes:
        operands: That array.
    """

    def __init__(
        self,
        scenario: AttentionScenario,
        tables: AttentionTables,
        tensors: AttentionTensors,
        ctas: IntArray,
        hazards: HazardLog,
    ) -> None:
        """
        Args:
            scenario: Problem and kernel.
            tables: Of the scenario.
            tensors: Global memory.
            ctas: blockIdx (x, y, z) of each. Shape (ctas, 3).
            hazards: Where what the data shows is written down.
        """
        self._scenario, self._tables, self._ctas, self._hazards = scenario, tables, ctas, hazards
        self._shape = attention_shape(scenario)
        self._advance = block_advance(scenario, ctas)
        element = scenario.problem.dtype.ab
        self.operands = SharedArray(len(ctas), tables.elements, len(tables.columns), WORKING[element])
        self._queue = CopyQueue()
        self._values: dict[CopiedTensor, Values] = {
            "q": decode(tensors.q, element),
            "k": decode(tensors.k, element),
            "v": decode(tensors.v, element),
        }
        self._known: dict[tuple[Gemm, int, int], WarpTiles] = {}

    def tiles(self, gemm: Gemm, key_block: int, column_block: int) -> WarpTiles:
        """The warps in one GEMM of one key block, made when its first op comes, and dropped with those before."""
        key = gemm, key_block, column_block
        if key not in self._known:
            scenario, advance = self._scenario, self._advance
            row: dict[Side, OperandData] = {}
            zero, keys = np.zeros_like(advance.num_keys), scenario.keys_per_block
            first_query, end_query = advance.query_start, advance.query_start + advance.num_queries
            if gemm == "qk":
                row["a"] = self._source("q", first_query, end_query)
                row["b"] = self._source("k", zero + key_block * keys, advance.num_keys, key_block=key_block)
            else:
                width = scenario.problem.head_dim_v
                row["a"] = replace(self._source("v", first_query, end_query), name="p", fetch=_nothing)
                first = zero + column_block * self._shape.pv[1]
                row["b"] = self._source("v", first, width, key_block=key_block, column_block=column_block)
            kind = FlashOutput if gemm == "pv" and self._shape.flash else WarpTiles
            self._known = {known: tiles for known, tiles in self._known.items() if abs(known[1] - key_block) <= 1}
            self._known[key] = kind(
                self._shape.tiling(gemm),
                scenario.mma,
                self._tables.operands[gemm],
                row,
                self._ctas,
                queue=self._queue,
                hazards=self._hazards,
            )
        return self._known[key]

    def _source(
        self, operand: CopiedTensor, first: IntArray, end: int | IntArray, *, key_block: int = 0, column_block: int = 0
    ) -> OperandData:
        def fetch(number: int) -> GlobalAccess:
            return operand_access(
                self._scenario, operand, self._ctas, key_block=key_block, column_block=column_block, fetch=number
            )

        return OperandData(operand, self._values[operand], fetch, first, end, self.operands)


def _nothing(_number: int) -> GlobalAccess:
    raise TypeError("no op copies P from global memory")
