"""The steps of an attention program on real data: two GEMMs, and the softmax between their fragments."""

import numpy as np
import numpy.typing as npt

from gpusim.arrays import IntArray
from gpusim.families.attention import softmax
from gpusim.families.attention.blocks import block_advance
from gpusim.families.attention.execute_gemms import AttentionGemms, AttentionTables, FlashOutput
from gpusim.families.attention.execute_output import AttentionOutput, OutputTensors
from gpusim.families.attention.operands import Gemm
from gpusim.families.attention.problem import AttentionScenario
from gpusim.families.attention.shape import ROW_STATISTICS, attention_shape
from gpusim.families.attention.step import AttentionProgram, Step
from gpusim.families.attention.tensors import AttentionTensors
from gpusim.functional.data_hazards import DataHazard, HazardLog
from gpusim.functional.shared_memory import SharedArray
from gpusim.numerics.elements import Values, round_to
from gpusim.schedule.ops import Barrier, WarpMma
from gpusim.tile.mma import MATRIX, PAIR
from gpusim.units import WARP_SIZE

LOG2_E = np.float32(np.log2(np.e))
LN_2 = np.float32(np.log(2))

LaneValues = npt.NDArray[np.float32]
"""One value in each lane: shape (ctas, warps, 32)."""


class AttentionCtas:
    """
    A batch of CTAs that walk the same program, from launch to the last store.

    All threads of a CTA do an op together, but see only what the memory model promises them (``shared_memory``).
    """

    def __init__(
        self,
        scenario: AttentionScenario,
        tables: AttentionTables,
        tensors: AttentionTensors,
        ctas: IntArray,
        *,
        output: OutputTensors,
        hazards: HazardLog,
    ) -> None:
        """
        Args:
            scenario: Problem and kernel.
            tables: Of the scenario.
            tensors: Global memory.
            ctas: blockIdx (x, y, z) of each. Shape (ctas, 3).
            output: Where results go.
            hazards: Where what the data shows is written down.
        """
        self._scenario, self._tables, self._ctas, self._hazards = scenario, tables, ctas, hazards
        self._shape = shape = attention_shape(scenario)
        self._advance = block_advance(scenario, ctas)
        warps = shape.threads // WARP_SIZE
        arrays = len(ROW_STATISTICS) + shape.warp_columns
        self._statistics = SharedArray(len(ctas), arrays * shape.qk[0], warps, np.float32)
        self._gemms = AttentionGemms(scenario, tables, tensors, ctas, hazards)
        self._scores: Values = np.zeros(0)
        self._output: Values = np.zeros((len(ctas), warps, *shape.pv_warp[:2]), np.float32)
        self._lanes: dict[tuple[str, int], LaneValues] = {}
        self._owner: dict[str, Values] = {}
        self._out = AttentionOutput(scenario, ctas, output, hazards)

    def execute(self, program: AttentionProgram) -> None:
        """Do every step, in order."""
        for step in program.steps:
            if isinstance(step.op, Barrier):
                self._gemms.operands.barrier()
                self._statistics.barrier()
                self._out.barrier()
            elif step.phase in ("qk", "pv"):
                self._gemm(step)
            else:
                self._softmax(step)

    def _gemm(self, step: Step) -> None:
        gemm: Gemm = "qk" if step.phase == "qk" else "pv"
        tiles = self._gemms.tiles(gemm, step.key_block, step.column_block)
        if isinstance(step.op, WarpMma):
            if gemm == "qk":
                self._scores = tiles.accumulators
            elif self._shape.in_registers:
                tiles.accumulators = self._output
            else:
                self._output = tiles.accumulators
            if isinstance(tiles, FlashOutput) and not tiles.p.size:
                tiles.p = round_to(self._scores, self._scenario.problem.dtype.ab).astype(np.float32)
        tiles.execute(step.op)  # type: ignore[arg-type]  # a GEMM's phase has a GEMM's ops

    def _softmax(self, step: Step) -> None:
        match step.op:
            case softmax.ScaleScores(masked):
                self._scale(step.key_block, masked=masked)
            case softmax.Shuffle(what, row, mask):
                mine = self._lanes[what, row]
                other = mine[..., np.arange(WARP_SIZE) ^ mask]
                self._lanes[what, row] = np.maximum(mine, other) if what == "maximum" else mine + other
            case softmax.LoadStatistic() | softmax.StoreStatistic():
                (self._load if isinstance(step.op, softmax.LoadStatistic) else self._store)(
                    step, step.op.statistic, step.op.at, step.op.index
                )
            case softmax.RescaleFactor():
                self._factor()
            case softmax.StoreP(access):
                self._store_p(step, access)
            case softmax.AddSums():
                for column in range(self._shape.warp_columns):
                    self._owner["sum"] = self._owner["sum"] + self._owner[f"partial_sum{column}"]
                self._owner["previous"] = self._owner["maximum"]
            case (
                softmax.RowMax(row)
                | softmax.AtomicMax(row)
                | softmax.Exponentials(row)
                | softmax.RowSum(row)
                | softmax.RescaleOutput(row)
                | softmax.Normalise(row)
            ):
                self._row(step, row)
            case softmax.StoreLse(row):
                self._store_lse(row)
            case _:
                self._out.execute(step, self._output)

    def _row(self, step: Step, row: int) -> None:
        """What an op does with one row of each lane."""
        match step.op:
            case softmax.RowMax():
                self._row_max(row)
            case softmax.AtomicMax():
                offsets = self._offsets("maximum", self._tables.rows[..., row])
                if self._statistics.atomic_max(offsets, self._lanes["maximum", row]):
                    self._overwritten(step, "maximum")
            case softmax.Exponentials():
                slab, maximum = self._slab(self._scores, row), _spread(self._lanes["maximum", row])
                slab[...] = np.exp2(slab - np.where(np.isneginf(maximum), np.float32(0), maximum))
            case softmax.RowSum():
                total = _lanes(self._slab(self._scores, row).sum(axis=(3, 5), dtype=np.float32))
                running = self._lanes.get(("sum", row)) if self._shape.flash else None
                self._lanes["sum", row] = total if running is None else total + running
            case softmax.RescaleOutput():
                self._slab(self._output, row)[...] *= _spread(self._lanes["rescale", row])
            case softmax.Normalise():
                total = self._lanes["sum", row]
                inverse = np.where(total == 0, np.float32(0), 1 / np.where(total == 0, np.float32(1), total))
                self._slab(self._output, row)[...] *= _spread(inverse)

    def _row_max(self, row: int) -> None:
        largest = _lanes(self._slab(self._scores, row).max(axis=(3, 5)))
        if self._shape.flash:
            previous = self._lanes.get(("maximum", row), np.full_like(largest, -np.inf))
            self._lanes["previous", row] = previous
            largest = np.maximum(largest, previous)
        self._lanes["maximum", row] = largest

    def _slab(self, matrix: Values, row: int) -> Values:
        """The accumulators of one row of each lane, which is (row, quarter): (ctas, warps, 8, column blocks, 4, 2)."""
        rows = matrix[:, :, row * MATRIX : (row + 1) * MATRIX]
        return rows.reshape(*rows.shape[:3], -1, WARP_SIZE // MATRIX, PAIR)

    def _scale(self, key_block: int, *, masked: bool) -> None:
        problem = self._scenario.problem
        self._scores *= np.float32(problem.score_scale * float(LOG2_E))
        if not masked:
            return
        advance, (rows, columns) = self._advance, self._scores.shape[2:]
        first = key_block * self._scenario.keys_per_block + self._tables.columns
        key = first[:, None, None] + np.arange(columns)
        seen = key[None] < advance.num_keys[:, None, None, None]
        if problem.mask != "none":
            # The first row of each lane 0 is the warp's.
            query = self._tables.rows[:, 0, 0, None] + np.arange(rows)
            last = (advance.query_start + advance.causal_offset)[:, None, None] + query
            seen = seen & (key[None] <= last[..., None])
        self._scores[...] = np.where(seen, self._scores, np.float32(-np.inf))

    def _factor(self) -> None:
        if self._shape.flash:
            for row in range(self._shape.rows_of_lane):
                factor = _factor(self._lanes["previous", row], self._lanes["maximum", row])
                self._lanes["rescale", row] = factor
                self._lanes["sum", row] = self._lanes.get(("sum", row), np.zeros_like(factor)) * factor
            return
        self._owner["rescale"] = _factor(self._owner["previous"], self._owner["maximum"])
        self._owner["sum"] = self._owner["sum"] * self._owner["rescale"]

    def _offsets(self, statistic: softmax.Statistic, rows: IntArray, column: int | IntArray = 0) -> IntArray:
        """Of a statistic of some rows, floats from the base of shared memory."""
        queries = self._shape.qk[0]
        names = (*ROW_STATISTICS, "partial_sum")
        offsets: IntArray = (names.index(statistic) + np.asarray(column)) * queries + rows
        return offsets

    def _rows(self, statistic: softmax.Statistic, at: str, index: int) -> tuple[IntArray, IntArray]:
        """Rows of the CTA and offsets of an access."""
        if at == "owner":
            return self._tables.owned, self._offsets(statistic, self._tables.owned, index)
        rows = self._tables.rows[..., index]
        column = self._tables.columns[:, None] // self._shape.qk_warp[1] if statistic == "partial_sum" else 0
        return rows, self._offsets(statistic, rows, column)

    def _load(self, step: Step, statistic: softmax.Statistic, at: str, index: int) -> None:
        if at == "output":
            rows = self._out.rows(step.column_block, index)
            offsets = self._offsets(statistic, rows)
            values = self._statistics.load(offsets)
            self._out.factor(statistic, index, values)
        else:
            rows, offsets = self._rows(statistic, at, index)
            values = self._statistics.load(offsets)
            if at == "owner":
                self._owner[f"{statistic}{index}" if statistic == "partial_sum" else statistic] = values
            else:
                self._lanes[statistic, index] = values
        used = rows < self._advance.num_queries.reshape(-1, *[1] * rows.ndim)
        if (np.isnan(values) & used).any():
            message = (
                f"key block {step.key_block}: {statistic} is read at {at} where no visible store or atomic has put it"
            )
            self._hazards.add(DataHazard("stale_data_consumed", message, step.key_block, -1, statistic, -1, -1))

    def _store(self, step: Step, statistic: softmax.Statistic, at: str, index: int) -> None:
        _, offsets = self._rows(statistic, at, index)
        if step.phase == "start":
            values = np.full((len(self._ctas), *offsets.shape), 0 if statistic == "sum" else -np.inf, np.float32)
        elif at == "owner":
            values = self._owner[statistic]
        else:
            leaders = slice(None, None, 4)
            offsets, values = offsets[:, leaders], self._lanes["sum", index][..., leaders]
        if self._statistics.store(offsets, values):
            self._overwritten(step, statistic)

    def _store_p(self, step: Step, access: int) -> None:
        row, block = divmod(access, self._shape.qk_warp[1] // MATRIX)
        pairs = self._slab(self._scores, row)[:, :, :, block]
        values = round_to(pairs.reshape(len(pairs), -1, PAIR), self._scenario.problem.dtype.ab)
        if self._gemms.operands.store(self._tables.p_store[:, access], values):
            self._overwritten(step, "p")

    def _overwritten(self, step: Step, what: str) -> None:
        message = f"key block {step.key_block}: {what} is written where another warp has read since the last barrier"
        self._hazards.add(DataHazard("overwrite_while_read", message, step.key_block, -1, what, -1, -1))

    def _store_lse(self, row: int) -> None:
        if self._shape.flash:
            leaders = slice(None, None, 4)
            rows = self._tables.rows[:, leaders, row]
            nothing = np.zeros((len(self._ctas), *rows.shape), np.float32)
            maximum, total = (
                lanes[..., leaders] if (lanes := self._lanes.get((name, row))) is not None else nothing
                for name in ("maximum", "sum")
            )
        else:
            rows, maximum, total = self._tables.owned, self._owner["maximum"], self._owner["sum"]
        empty = total == 0
        lse = np.where(empty, np.float32(-np.inf), maximum * LN_2 + np.log(np.where(empty, np.float32(1), total)))
        self._out.store_lse(rows, lse)


def _lanes(values: Values) -> LaneValues:
    """Rows by quarters, as lanes."""
    lanes: LaneValues = values.reshape(*values.shape[:2], WARP_SIZE)
    return lanes


def _spread(lanes: LaneValues) -> Values:
    """A value of each lane, to be broadcast over its accumulators of a row."""
    return lanes.reshape(*lanes.shape[:2], MATRIX, 1, WARP_SIZE // MATRIX, 1)


def _factor(previous: Values, maximum: Values) -> Values:
    """2^(previous - maximum), 1 where they are equal, as two infinities are."""
    rose = previous != maximum
    factor: Values = np.where(rose, np.exp2(np.where(rose, previous - np.where(rose, maximum, 0), 0)), np.float32(1))
    return factor.astype(np.float32)
