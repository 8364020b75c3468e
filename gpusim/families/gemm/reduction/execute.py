"""Executes the reduction's ops on real data: adds the partial sums of all slices, and stores the output."""

import numpy as np

from gpusim.families.gemm.reduction.tile import ReductionTile
from gpusim.functional.data_hazards import DataHazard, HazardLog
from gpusim.functional.epilogue import EpilogueInputs, OutputTensor
from gpusim.numerics.elements import Values, round_to
from gpusim.numerics.output_op import OutputOp, apply
from gpusim.schedule.ops import LoadBias, LoadPartial, LoadSource, Op, StoreGlobal


class Reduction:
    """
    Executes all CTAs of the second kernel, after the first kernel has stored every partial sum.

    Slices are added in order, and sums are rounded to the accumulator's type after each slice.

    Attributes:
        hazards: Log of the hazards that the data shows.
    """

    def __init__(
        self,
        tile: ReductionTile,
        does: OutputOp,
        workspace: Values,
        *,
        output: OutputTensor,
        inputs: EpilogueInputs,
        hazards: HazardLog,
    ) -> None:
        """
        Prepare the execution.

        Args:
            tile: Addresses of the reduction.
            does: Output operation that is applied to a sum.
            workspace: Partial sums, flat.
            output: The output tensor.
            inputs: Source and bias.
            hazards: Log of the hazards that the data shows.
        """
        self._tile, self._does = tile, does
        self._workspace, self._output, self._inputs, self.hazards = workspace, output, inputs, hazards
        access = tile.access(np.arange(tile.ctas, dtype=np.int64))
        self._valid = access.valid
        self._partial = np.moveaxis(access.partial, -1, 1)[access.valid]  # [threads, slices, loads]
        vector = np.arange(tile.elements_per_access, dtype=np.int64)
        self._elements = access.output[access.valid][:, None] + vector
        self._columns = access.bias[access.valid][:, None] + vector
        self._sum = np.zeros(self._elements.shape, np.float64)
        self._source = np.zeros_like(self._sum)
        self._bias = np.zeros_like(self._sum)

    def execute(self, op: Op) -> None:
        """
        Execute one op in every CTA.

        Raises:
            TypeError: It is no op of a reduction.
        """
        match op:
            case LoadPartial(slice_, access):
                self._add(slice_, access)
            case LoadSource():
                self._source[:] = self._given("source", self._inputs.source)[self._elements]
            case LoadBias():
                self._bias[:] = self._given("bias", self._inputs.bias)[self._columns]
            case StoreGlobal():
                result = apply(self._does, self._sum, self._source, self._bias)
                self._output.store(self._elements, result)
            case _:
                raise TypeError(f"{op} is no op of a reduction")

    def _add(self, slice_: int, access: int) -> None:
        width = self._tile.elements_per_load
        vector = np.arange(width, dtype=np.int64)
        loaded = self._workspace[self._partial[:, slice_, access, None] + vector].astype(np.float64)
        if np.isnan(loaded).any():
            message = f"the reduction adds partial sums of slice {slice_} that no CTA has stored"
            self.hazards.add(DataHazard("stale_data_consumed", message, -1, -1, "workspace", slice_, -1))
        part = self._sum[:, access * width : (access + 1) * width]
        part[:] = round_to(part + loaded, self._tile.accumulator_type)

    @staticmethod
    def _given(name: str, tensor: Values | None) -> Values:
        if tensor is None:
            raise ValueError(f"the program loads a {name}, but the problem has none")
        return tensor
