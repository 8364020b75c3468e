"""What attention stores, on real data: accumulators through shared memory to the buffer or the output, log-sum-exps."""

from typing import TypeAlias

import numpy as np

from gpusim.arrays import IntArray
from gpusim.families.attention.problem import AttentionScenario
from gpusim.families.attention.program import softmax
from gpusim.families.attention.program.step import Step
from gpusim.families.attention.tile.blocks import output_access, source_parts
from gpusim.families.attention.tile.lanes import AttentionLanes
from gpusim.functional.data_hazards import DataHazard, HazardLog
from gpusim.functional.epilogue import OutputTensor, Staging
from gpusim.numerics.elements import Values, round_to
from gpusim.schedule.ops import LoadShared, LoadSource, StoreGlobal, StoreShared
from gpusim.tile.epilogue import OutputAccess

Held: TypeAlias = dict[tuple[softmax.Statistic, softmax.At, int], Values]
"""Row statistics in registers, by (statistic, at, index) of their access: shape (ctas, warps, lanes that take part)."""


class OutputTensors:
    """
    The output, the f32 buffer and the log-sum-exps in global memory, all NaN where nothing was stored.

    Attributes:
        output: Shape [batch * queries * heads * head_dim_v].
        buffer: Elements as the output's, f32; empty where that stays in registers.
        lse: Shape [batch * heads * queries rounded up].
    """

    def __init__(self, scenario: AttentionScenario) -> None:
        problem = scenario.problem
        elements = problem.output_elements
        self.output = OutputTensor(elements, problem.dtype.output)
        self.buffer: Values = np.full(0 if scenario.in_registers else elements, np.nan, np.float32)
        self.lse = OutputTensor(problem.batch * problem.heads * problem.lse_length, "f32")


class AttentionOutput:
    """A batch of CTAs at their epilogues: the last one, or one in every key block."""

    def __init__(self, lanes: AttentionLanes, ctas: IntArray, tensors: OutputTensors, hazards: HazardLog) -> None:
        """
        Args:
            lanes: Addresses of the scenario's kernel.
            ctas: blockIdx (x, y, z) of each. Shape (ctas, 3).
            tensors: Where results go.
            hazards: Where what the data shows is written down.
        """
        self._scenario, self._ctas, self._tensors, self._hazards = lanes.scenario, ctas, tensors, hazards
        self._tile, self._parts = lanes.epilogue, source_parts(lanes.scenario)
        self._place: tuple[int, int] | None = None
        self._staging: Staging | None = None
        self._access: tuple[tuple[int, int], OutputAccess] | None = None
        self._source: Values = np.zeros(0)
        self._sound = True

    def barrier(self) -> None:
        """Let all warps arrive at a barrier."""
        if self._staging is not None:
            self._staging.barrier()

    def execute(self, step: Step, accumulators: Values, held: Held) -> None:
        """
        Do one op of an epilogue in every CTA.

        Args:
            step: Its place says which epilogue: a new one stages the accumulators anew.
            accumulators: Warp tiles as matrices. Shape (ctas, warps, warp M, warp N).
            held: What the lanes know of row statistics.

        Raises:
            TypeError: It is no op of an epilogue.
        """
        place = step.key_block, step.column_block
        if place != self._place or self._staging is None:
            self._place, self._staging = place, Staging(self._tile, accumulators, self._hazards)
            self._source = np.zeros(self._staging.loaded.shape, np.float32)
            self._sound = not np.isnan(accumulators).any()
        match step.op:
            case StoreShared(number, access):
                self._staging.store(number, access)
            case LoadShared(_, access):
                self._staging.load(access)
            case LoadSource(number, access):
                self._load_source(step.column_block, number, access)
            case StoreGlobal(number, access):
                self._store(step, self._staging, number, access, held)
            case _:
                raise TypeError(f"{step.op} is no op of the {step.phase} of an attention kernel")

    def _part(self, index: int) -> tuple[int, slice]:
        """Return the vector of the output that an access of the buffer is a part of, and the elements of that part."""
        access, part = divmod(index, self._parts)
        width = self._tile.elements_per_access // self._parts
        return access, slice(part * width, (part + 1) * width)

    def _lanes(self, column_block: int, number: int, access: int, mine: slice) -> tuple[IntArray, IntArray, IntArray]:
        """Return CTA and thread of each valid lane, and the elements ``mine`` of its vector, shape (lanes, width)."""
        key = column_block, number
        if self._access is None or self._access[0] != key:
            self._access = key, output_access(self._scenario, self._ctas, column_block, number)
        offset, valid = self._access[1].offset[..., access], self._access[1].valid[..., access]
        cta, thread = valid.nonzero()
        return cta, thread, offset[valid][:, None] + np.arange(mine.start, mine.stop, dtype=np.int64)

    def _load_source(self, column_block: int, number: int, index: int) -> None:
        access, mine = self._part(index)
        cta, thread, elements = self._lanes(column_block, number, access, mine)
        loaded = self._tensors.buffer[elements]
        if np.isnan(loaded).any():
            message = f"epilogue step {number} reads the buffer where no key block has stored"
            self._hazards.add(DataHazard("stale_data_consumed", message, -1, -1, "buffer", number, -1))
        self._source[cta, thread, access, mine] = loaded

    def _store(self, step: Step, staging: Staging, number: int, index: int, held: Held) -> None:
        """Store accumulators + buffer * rescale, in the end divided by the sum; each operation is done in float32."""
        final = step.phase == "epilogue"
        access, mine = (index, slice(0, self._tile.elements_per_access)) if final else self._part(index)
        cta, thread, elements = self._lanes(step.column_block, number, access, mine)
        values = staging.loaded[cta, thread, access]
        if self._sound and np.isnan(values).any():
            message = f"epilogue step {number} loads staged accumulators that no visible store has written"
            self._hazards.add(DataHazard("stale_data_consumed", message, -1, -1, "accumulator", number, -1))
        vector = number * self._tile.accesses_per_step + access
        if (rescale := held.get(("rescale", "output", vector))) is not None:
            factor = rescale.reshape(len(rescale), -1)[cta, thread, None]
            values = values + self._source[cta, thread, access] * factor
        if (total := held.get(("sum", "output", vector))) is not None:
            divisor = total.reshape(len(total), -1)[cta, thread, None]
            values = np.where(divisor == 0, np.float32(0), values / np.where(divisor == 0, np.float32(1), divisor))
        if final:
            self._tensors.output.store(elements, round_to(values, self._tensors.output.element))
        else:
            self._tensors.buffer[elements] = values[:, mine]
