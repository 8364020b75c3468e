"""The steps of an attention program on real data: two GEMMs, and the softmax between their fragments."""

import numpy as np
import numpy.typing as npt

from gpusim.arrays import BoolArray, IntArray
from gpusim.families.attention.execute.batch import Batch
from gpusim.families.attention.execute.gemms import AttentionGemms, FlashOutput
from gpusim.families.attention.execute.output import AttentionEpilogue, Held
from gpusim.families.attention.program import softmax
from gpusim.families.attention.program.step import AttentionProgram, Step
from gpusim.families.attention.tile.blocks import block_advance
from gpusim.families.attention.tile.operands import Gemm
from gpusim.families.attention.tile.shape import ROW_STATISTICS
from gpusim.families.attention.tile.statistics import lse_access, statistic_lanes
from gpusim.functional.data_hazards import DataHazard
from gpusim.numerics.elements import Values, round_to
from gpusim.schedule.ops import Barrier, WarpMma
from gpusim.tile.mma import MATRIX, PAIR, warp_coordinates
from gpusim.tile.shared_tables import over_warps
from gpusim.units import WARP_SIZE

LOG2_E = np.float32(np.log2(np.e))
LN_2 = np.float32(np.log(2))

LaneValues = npt.NDArray[np.float32]
"""One value in each lane: shape (ctas, warps, 32)."""


class AttentionCtas:
    """
    A batch of CTAs that execute the same program, from launch to the last store.

    All threads of a CTA execute an op together, but see only data that the memory model guarantees (``shared_memory``).
    """

    def __init__(self, batch: Batch) -> None:
        lanes, ctas = batch.lanes, batch.ctas
        self._batch, self._lanes, self._shape, self._hazards = batch, lanes, lanes.shape, batch.hazards
        self._problem = lanes.scenario.problem
        self._advance = block_advance(lanes.scenario, ctas)
        self._first = warp_coordinates(lanes.shape.qk.warps)[:, :2] * lanes.shape.qk.warp[:2]
        arrays = len(ROW_STATISTICS) + lanes.shape.warp_columns
        self._statistics = batch.memory.allocate(
            "statistics", len(ctas), arrays * lanes.shape.qk.threadblock[0], lanes.warps
        )
        self._gemms = AttentionGemms(batch)
        self._scores: Values = np.zeros(0)
        self._output: Values = np.zeros((len(ctas), lanes.warps, *lanes.shape.pv.warp[:2]), np.float32)
        self._held: Held = {}
        for row in range(lanes.shape.rows_of_lane if lanes.shape.flash else 0):
            nothing = np.zeros((len(ctas), lanes.warps, WARP_SIZE), np.float32)
            self._held["maximum", "fragment", row] = nothing - np.float32(np.inf)
            self._held["sum", "fragment", row] = nothing
        self._epilogue: AttentionEpilogue | None = None

    def execute(self, program: AttentionProgram) -> None:
        """Execute all steps, in order."""
        for step in program:
            if isinstance(step.op, Barrier):
                self._gemms.shared.barrier()
                self._statistics.barrier()
                if self._epilogue is not None:
                    self._epilogue.execute(step.op)
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
                tiles.p = round_to(self._scores, self._problem.dtype.ab).astype(np.float32)
        tiles.execute(step.op)  # type: ignore[arg-type]  # a GEMM's phase has a GEMM's ops

    def _softmax(self, step: Step) -> None:
        match step.op:
            case softmax.ScaleScores(masked):
                self._scale(step.key_block, masked=masked)
            case softmax.LoadStatistic(statistic, at, index):
                self._held[statistic, at, index] = self._load(step, statistic, at)
            case softmax.StoreStatistic():
                self._store(step, step.op)
            case softmax.Shuffle(what, row, mask):
                mine = self._held[what, "fragment", row]
                other = mine[..., np.arange(WARP_SIZE) ^ mask]
                self._held[what, "fragment", row] = np.maximum(mine, other) if what == "maximum" else mine + other
            case softmax.RowOp(row):
                self._row(step, row)
            case softmax.RescaleFactor():
                self._factors()
            case softmax.StoreP(access):
                self._store_p(step, access)
            case softmax.AddSums():
                partial = (self._held["partial_sum", "owner", column] for column in range(self._shape.warp_columns))
                self._held["sum", "owner", 0] = sum(partial, start=self._held["sum", "owner", 0])
                self._held["previous", "owner", 0] = self._held["maximum", "owner", 0]
            case _:
                self._epilogue_of(step).execute(step.op)

    def _epilogue_of(self, step: Step) -> AttentionEpilogue:
        """Return the epilogue that a step belongs to; the first step of an epilogue creates it."""
        if self._epilogue is None or self._epilogue.place != (step.key_block, step.column_block):
            self._epilogue = AttentionEpilogue(self._batch, step, self._output, self._held)
        return self._epilogue

    def _row(self, step: Step, row: int) -> None:
        """Execute an op on one row of each lane."""
        held = self._held
        match step.op:
            case softmax.RowMax():
                largest = _lanes(self._slab(self._scores, row).max(axis=(3, 5)))
                if self._shape.flash:
                    held["previous", "fragment", row] = held["maximum", "fragment", row]
                    largest = np.maximum(largest, held["maximum", "fragment", row])
                held["maximum", "fragment", row] = largest
            case softmax.AtomicMax():
                if self._statistics.atomic_max(self._words(step)[0], held["maximum", "fragment", row]):
                    self._overwritten(step, "maximum")
            case softmax.Exponentials():
                slab, maximum = self._slab(self._scores, row), _spread(held["maximum", "fragment", row])
                slab[...] = np.exp2(slab - np.where(np.isneginf(maximum), np.float32(0), maximum))
            case softmax.RowSum():
                total = _lanes(self._slab(self._scores, row).sum(axis=(3, 5), dtype=np.float32))
                held["sum", "fragment", row] = total + held["sum", "fragment", row] if self._shape.flash else total
            case softmax.RescaleOutput():
                self._slab(self._output, row)[...] *= _spread(held["rescale", "fragment", row])
            case softmax.Normalise():
                total = held["sum", "fragment", row]
                inverse = np.where(total == 0, np.float32(0), 1 / np.where(total == 0, np.float32(1), total))
                self._slab(self._output, row)[...] *= _spread(inverse)
            case softmax.StoreLse():
                self._store_lse(row)

    def _slab(self, matrix: Values, row: int) -> Values:
        """The accumulators of one row of each lane, which is (row, quarter): (ctas, warps, 8, column blocks, 4, 2)."""
        rows = matrix[:, :, row * MATRIX : (row + 1) * MATRIX]
        return rows.reshape(*rows.shape[:3], -1, WARP_SIZE // MATRIX, PAIR)

    def _scale(self, key_block: int, *, masked: bool) -> None:
        self._scores *= np.float32(self._problem.score_scale * float(LOG2_E))
        if not masked:
            return
        advance, (rows, columns) = self._advance, self._scores.shape[2:]
        first_row, first_column = self._first.T
        key = (key_block * self._shape.qk.threadblock[1] + first_column)[:, None, None] + np.arange(columns)
        seen = key[None] < advance.num_keys[:, None, None, None]
        if self._problem.mask != "none":
            query = first_row[:, None] + np.arange(rows)
            last = (advance.query_start + advance.causal_offset)[:, None, None] + query
            seen = seen & (key[None] <= last[..., None])
        self._scores[...] = np.where(seen, self._scores, np.float32(-np.inf))

    def _factors(self) -> None:
        """Compute 2^(previous - maximum), which is 1 where both are equal, as two infinities are, and scale the sum."""
        places: list[tuple[softmax.At, int]] = [("owner", 0)]
        if self._shape.flash:
            places = [("fragment", row) for row in range(self._shape.rows_of_lane)]
        for at, row in places:
            previous, maximum = self._held["previous", at, row], self._held["maximum", at, row]
            rose = previous != maximum
            exponential = np.exp2(np.where(rose, previous - np.where(rose, maximum, 0), 0))
            factor = np.where(rose, exponential, np.float32(1)).astype(np.float32)
            self._held["rescale", at, row] = factor
            self._held["sum", at, row] = self._held["sum", at, row] * factor

    def _words(self, step: Step) -> tuple[IntArray, BoolArray]:
        """Return the floats that a step's lanes access, [warps, lanes that take part], and which lanes take part."""
        shared = self._lanes.shared(step)
        if shared is None:
            raise TypeError(f"{step} has no place in shared memory")
        active = shared.table.active
        taking = np.ones(WARP_SIZE, np.bool_) if active is None else active[0]
        return shared.offsets[:, taking], taking

    def _load(self, step: Step, statistic: softmax.Statistic, at: softmax.At) -> Values:
        words, _ = self._words(step)
        values = self._statistics.load(words)
        used = words % self._shape.qk.threadblock[0] < self._advance.num_queries[:, None, None]
        if (np.isnan(values) & used).any():
            message = (
                f"key block {step.key_block}: {statistic} is read at {at} where no visible store or atomic has put it"
            )
            self._hazards.add(DataHazard("stale_data_consumed", message, step.key_block, -1, statistic, -1, -1))
        return values

    def _store(self, step: Step, op: softmax.StoreStatistic) -> None:
        """Store the lanes' row statistics. The sum of a lane's row is a partial sum of the CTA's row."""
        words, taking = self._words(step)
        if step.phase == "start":
            values = np.full(
                (len(self._advance.lse), *words.shape), 0 if op.statistic == "sum" else -np.inf, np.float32
            )
        elif op.at == "owner":
            values = self._held[op.statistic, op.at, op.index]
        else:
            values = self._held["sum", op.at, op.index][..., taking]
        if self._statistics.store(words, values):
            self._overwritten(step, op.statistic)

    def _store_p(self, step: Step, access: int) -> None:
        row, block = divmod(access, self._shape.qk.warp[1] // MATRIX)
        pairs = self._slab(self._scores, row)[:, :, :, block]
        values = round_to(pairs.reshape(len(pairs), -1, PAIR), self._problem.dtype.ab)
        first = self._lanes.shared_base["p"] // 2 + self._lanes.p_stores.offsets[access]
        if self._gemms.shared.store(first.reshape(-1, 1) + np.arange(PAIR), values):
            self._overwritten(step, "p")

    def _overwritten(self, step: Step, what: str) -> None:
        message = f"key block {step.key_block}: {what} is written where another warp has read since the last barrier"
        self._hazards.add(DataHazard("overwrite_while_read", message, step.key_block, -1, what, -1, -1))

    def _store_lse(self, row: int) -> None:
        at: softmax.At = "fragment" if self._shape.flash else "owner"
        maximum, total = self._held["maximum", at, row], self._held["sum", at, row]
        empty = total == 0
        lse = np.where(empty, np.float32(-np.inf), maximum * LN_2 + np.log(np.where(empty, np.float32(1), total)))
        taking = statistic_lanes(self._lanes.scenario, at, stores=True)[0]
        offsets, valid = lse_access(self._lanes.scenario, self._advance)
        used = over_warps(valid[..., row], axis=1)[..., taking]
        mine = lse[..., taking] if at == "fragment" else lse
        self._batch.output.lse.store(over_warps(offsets[..., row], axis=1)[..., taking][used], mine[used])


def _lanes(values: Values) -> LaneValues:
    """Return values by row and quarter as one value for each lane: lane = 4 * row + quarter."""
    lanes: LaneValues = values.reshape(*values.shape[:2], WARP_SIZE)
    return lanes


def _spread(lanes: LaneValues) -> Values:
    """Return the lanes' values in a shape that broadcasts with the accumulators of a row (``_slab``)."""
    return lanes.reshape(*lanes.shape[:2], MATRIX, 1, WARP_SIZE // MATRIX, 1)
