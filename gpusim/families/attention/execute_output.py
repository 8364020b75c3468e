"""What attention stores, on real data: accumulators through shared memory to the buffer or the output, log-sum-exps."""

import numpy as np

from gpusim.arrays import BoolArray, IntArray
from gpusim.families.attention import softmax
from gpusim.families.attention.blocks import attention_epilogue, block_advance, output_access, source_parts
from gpusim.families.attention.problem import AttentionScenario
from gpusim.families.attention.step import Step
from gpusim.functional.data_hazards import DataHazard, HazardLog
from gpusim.functional.epilogue import OutputTensor, Staging
from gpusim.numerics.elements import WORKING, Values, round_to
from gpusim.schedule.ops import LoadShared, LoadSource, StoreGlobal, StoreShared
from gpusim.tile.epilogue import OutputAccess


class OutputTensors:
    """
    The output, the f32 buffer and the log-sum-exps in global memory, all NaN where nothing was stored.

    Attributes:
        output: With a count of the stores to each element.
        buffer: Flat, elements as the output's.
        lse: Flat: [batch, heads, queries rounded up].
        lse_stores: Stores to each.
    """

    def __init__(self, scenario: AttentionScenario) -> None:
        problem = scenario.problem
        elements = problem.batch * problem.queries * problem.heads * problem.head_dim_v
        self.output = OutputTensor(elements, problem.dtype.output)
        self.buffer: Values = np.full(0 if scenario.in_registers else elements, np.nan, np.float32)
        self.lse: Values = np.full(problem.batch * problem.heads * problem.lse_length, np.nan, np.float32)
        self.lse_stores = np.zeros(len(self.lse), np.uint8)


class AttentionOutput:
    """A batch of CTAs at their epilogues: the last one, or one in every key block."""

    def __init__(self, scenario: AttentionScenario, ctas: IntArray, tensors: OutputTensors, hazards: HazardLog) -> None:
        """
        Args:
            scenario: Problem and kernel.
            ctas: blockIdx (x, y, z) of each. Shape (ctas, 3).
            tensors: Where results go.
            hazards: Where what the data shows is written down.
        """
        self._scenario, self._ctas, self._tensors, self._hazards = scenario, ctas, tensors, hazards
        self._tile = attention_epilogue(scenario)
        self._parts = source_parts(scenario)
        self._advance = block_advance(scenario, ctas)
        self._place: tuple[int, int] | None = None
        self._staging: Staging | None = None
        self._access: tuple[tuple[int, int], OutputAccess] | None = None
        self._factors: dict[tuple[str, int], Values] = {}
        self._source = np.zeros(0)
        self._sound = True

    def barrier(self) -> None:
        """All warps arrive."""
        if self._staging is not None:
            self._staging.barrier()

    def execute(self, step: Step, accumulators: Values) -> None:
        """
        Do one op of an epilogue in every CTA.

        Args:
            step: Its place says which epilogue: a new one stages the accumulators anew.
            accumulators: Warp tiles as matrices. Shape (ctas, warps, warp M, warp N).

        Raises:
            TypeError: It is no op of an epilogue.
        """
        place = step.key_block, step.column_block
        if place != self._place:
            self._place, self._staging = place, Staging(self._tile, accumulators, self._hazards)
            tile = self._tile
            self._source = np.zeros((len(self._ctas), tile.threads, tile.accesses_per_step, tile.elements_per_access))
            self._factors = {}
            self._sound = not np.isnan(accumulators).any()
        if self._staging is None:
            raise AssertionError("an epilogue stages its accumulators first")
        match step.op:
            case StoreShared(number, access):
                self._staging.store(number, access)
            case LoadShared(_, access):
                self._staging.load(access)
            case LoadSource(number, access):
                self._load_source(step.column_block, number, access)
            case StoreGlobal(number, access):
                self._store(step, self._staging, number, access)
            case _:
                raise TypeError(f"{step.op} is no op of the {step.phase} of an attention kernel")

    def rows(self, column_block: int, vector: int) -> IntArray:
        """Row of the CTA of each thread's vector of an epilogue, shape [threads]; the same in every CTA."""
        number, access = divmod(vector, self._tile.accesses_per_step)
        rows: IntArray = self._vectors(column_block, number).rows[0, :, access] - self._advance.query_start[0]
        return rows

    def factor(self, statistic: softmax.Statistic, vector: int, values: Values) -> None:
        """What was loaded to scale a vector with, shape (ctas, threads)."""
        self._factors[statistic, vector] = values

    def store_lse(self, rows: IntArray, lse: Values) -> None:
        """st.global of log-sum-exps of some rows of the CTA. Shapes (warps, lanes) and (ctas, warps, lanes)."""
        used: BoolArray = rows < self._advance.num_queries[:, None, None]
        offsets = (self._advance.lse[:, None, None] + rows)[used]
        self._tensors.lse[offsets] = lse[used]
        np.add.at(self._tensors.lse_stores, offsets, 1)

    def _vectors(self, column_block: int, number: int) -> OutputAccess:
        key = column_block, number
        if self._access is None or self._access[0] != key:
            self._access = key, output_access(self._scenario, self._ctas, column_block, number)
        return self._access[1]

    def _lanes(self, column_block: int, number: int, access: int) -> tuple[IntArray, IntArray, IntArray]:
        """CTA and thread of each valid lane, and its elements, shape (lanes, width)."""
        where = self._vectors(column_block, number)
        valid = where.valid[..., access]
        cta, thread = valid.nonzero()
        width = self._tile.elements_per_access
        return cta, thread, where.offset[..., access][valid][:, None] + np.arange(width, dtype=np.int64)

    def _load_source(self, column_block: int, number: int, index: int) -> None:
        access, part = divmod(index, self._parts)
        cta, thread, elements = self._lanes(column_block, number, access)
        width = elements.shape[1] // self._parts
        mine = slice(part * width, (part + 1) * width)
        loaded = self._tensors.buffer[elements[:, mine]]
        if np.isnan(loaded).any():
            message = f"epilogue step {number} reads the buffer where no key block has stored"
            self._hazards.add(DataHazard("stale_data_consumed", message, -1, -1, "buffer", number, -1))
        self._source[cta, thread, access, mine] = loaded

    def _store(self, step: Step, staging: Staging, number: int, index: int) -> None:
        """(accumulators + buffer * rescale), in the end divided by the sum, each operation in float32."""
        final = step.phase == "epilogue"
        access, part = (index, 0) if final else divmod(index, self._parts)
        cta, thread, elements = self._lanes(step.column_block, number, access)
        vector = number * self._tile.accesses_per_step + access
        values = staging.loaded[cta, thread, access]
        if self._sound and np.isnan(values).any():
            message = f"epilogue step {number} loads staged accumulators that no visible store has written"
            self._hazards.add(DataHazard("stale_data_consumed", message, -1, -1, "accumulator", number, -1))
        if (rescale := self._factors.get(("rescale", vector))) is not None:
            source = self._source[cta, thread, access].astype(np.float32)
            values = values + source * rescale[cta, thread][:, None]
        if (total := self._factors.get(("sum", vector))) is not None:
            mine = total[cta, thread][:, None]
            values = np.where(mine == 0, np.float32(0), values / np.where(mine == 0, np.float32(1), mine))
        if not final:
            width = elements.shape[1] // self._parts
            part_of = slice(part * width, (part + 1) * width)
            self._tensors.buffer[elements[:, part_of]] = values[:, part_of]
            return
        element = self._scenario.problem.dtype.output
        self._tensors.output.values[elements] = round_to(values, element).astype(WORKING[element])
        np.add.at(self._tensors.output.stores, elements, 1)
