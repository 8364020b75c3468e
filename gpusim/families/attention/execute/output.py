"""Executes attention's epilogues on real data: accumulators go through shared memory to the buffer or the output."""

from typing import TypeAlias

import numpy as np

from gpusim.families.attention.execute.batch import Batch
from gpusim.families.attention.program import softmax
from gpusim.families.attention.program.step import Step
from gpusim.families.attention.tile.blocks import output_access, source_parts
from gpusim.functional.data_hazards import DataHazard
from gpusim.functional.epilogue import TileEpilogue
from gpusim.numerics.elements import Values, round_to
from gpusim.tile.epilogue import OutputAccess

Held: TypeAlias = dict[tuple[softmax.Statistic, softmax.At, int], Values]
"""Row statistics in registers, by (statistic, at, index) of their access: shape (ctas, warps, lanes that take part)."""


class AttentionEpilogue(TileEpilogue):
    """One column block of a batch of CTAs, from its accumulators to the f32 buffer, or after all keys to the output."""

    def __init__(self, batch: Batch, first: Step, accumulators: Values, held: Held) -> None:
        """
        Args:
            batch: The CTAs.
            first: Any step of the epilogue; its phase decides between buffer and output.
            accumulators: Warp tiles as matrices. Shape (ctas, warps, warp M, warp N).
            held: Row statistics in the lanes' registers; later steps may update them.
        """
        super().__init__(
            batch.lanes.epilogue,
            accumulators,
            memory=batch.memory,
            output=batch.output.output,
            hazards=batch.hazards,
            name=f"staging {first.key_block} {first.column_block}",
        )
        self.place = first.key_block, first.column_block
        self._scenario, self._ctas, self._final = batch.lanes.scenario, batch.ctas, first.phase == "epilogue"
        self._parts, self._buffer, self._held = source_parts(self._scenario), batch.output.buffer, held
        self._source = np.zeros(self._staging.loaded.shape, np.float32)
        self._sound = not np.isnan(accumulators).any()

    def _output_access(self, step: int) -> OutputAccess:
        return output_access(self._scenario, self._ctas, self.place[1], step)

    def _part(self, index: int) -> tuple[int, slice]:
        """Return the vector of the output that an access of the buffer is a part of, and the elements of that part."""
        access, part = divmod(index, self._parts)
        width = self._tile.elements_per_access // self._parts
        return access, slice(part * width, (part + 1) * width)

    def _load_source(self, step: int, access: int) -> None:
        vector, mine = self._part(access)
        (cta, thread), elements = self._vectors(step, vector)
        loaded = self._buffer[elements[:, mine]]
        if np.isnan(loaded).any():
            message = f"epilogue step {step} reads the buffer where no key block has stored"
            self._hazards.add(DataHazard("stale_data_consumed", message, -1, -1, "buffer", step, -1))
        self._source[cta, thread, vector, mine] = loaded

    def _store_global(self, step: int, access: int) -> None:
        """Store accumulators + buffer * rescale, after the last key block divided by the sum, all in float32."""
        vector, mine = (access, slice(None)) if self._final else self._part(access)
        (cta, thread), elements = self._vectors(step, vector)
        values = self._staging.loaded[cta, thread, vector]
        if self._sound and np.isnan(values).any():
            message = f"epilogue step {step} loads staged accumulators that no visible store has written"
            self._hazards.add(DataHazard("stale_data_consumed", message, -1, -1, "accumulator", step, -1))
        number = step * self._tile.accesses_per_step + vector
        if (rescale := self._held.get(("rescale", "output", number))) is not None:
            factor = rescale.reshape(len(rescale), -1)[cta, thread, None]
            values = values + self._source[cta, thread, vector] * factor
        if (total := self._held.get(("sum", "output", number))) is not None:
            divisor = total.reshape(len(total), -1)[cta, thread, None]
            values = np.where(divisor == 0, np.float32(0), values / np.where(divisor == 0, np.float32(1), divisor))
        if self._final:
            self._output.store(elements, round_to(values, self._output.element))
        else:
            self._buffer[elements[:, mine]] = values[:, mine]
