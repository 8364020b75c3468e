"""Computes the addresses of each thread of a parallel split-K's second kernel; knows no order of ops."""

from dataclasses import dataclass
from typing import Final

import numpy as np

from gpusim.arrays import BoolArray, IntArray
from gpusim.element_types import element_bits
from gpusim.errors import BadInput
from gpusim.scenario.gemm import GemmScenario
from gpusim.tile.requests import distinct_sectors
from gpusim.units import LINE_BITS, SECTOR_BITS, WARP_SIZE

ROWS: Final = 4
"""Output rows of a CTA, one for each of its warps."""

PARTITIONS_PER_STAGE: Final = 4
"""Number of slices whose partial sums are loaded before the first of them is added."""


@dataclass(frozen=True, slots=True)
class ReductionAccess:
    """
    The global accesses of one or several CTAs.

    Offsets of accesses that are not valid are those that the pointer arithmetic gives.

    Attributes:
        partial: Element offset of each load in the workspace, shape [*ctas, slices, loads, threads].
        output: Element offset of the vector in output and source, shape [*ctas, threads].
        bias: Element offset of the vector in the bias, shape [*ctas, threads].
        valid: Predicate of all these accesses, shape [*ctas, threads].
    """

    partial: IntArray
    output: IntArray
    bias: IntArray
    valid: BoolArray


@dataclass(frozen=True, slots=True)
class ReductionTile:
    """
    The reduction of packed partial sums [slices, rows, columns] to an output [rows, columns].

    A thread computes one vector of the output. The lanes of a warp lie along a row, and the warps of a CTA in ``ROWS``
    successive rows.

    Attributes:
        slices: Number of partial sums of one output element.
        extent: Rows and columns of the output.
        leading: Leading dimension of the output, elements.
        accumulator_type, output_type: Element types of workspace and output.
        elements_per_access: Elements of one output access.
        elements_per_load: Elements of one load of partial sums.

    Not modelled: threads that return early. In CUTLASS, threads without an element return at once; here their accesses
    are predicated off.

    Source: CUTLASS include/cutlass/reduction/kernel/reduce_split_k.h and gemm/device/gemm_splitk_parallel.h.
    """

    slices: int
    extent: tuple[int, int]
    leading: int
    accumulator_type: str
    output_type: str
    elements_per_access: int
    elements_per_load: int

    @property
    def threads(self) -> int:
        """Number of threads of a CTA."""
        return ROWS * WARP_SIZE

    @property
    def warps(self) -> int:
        """Number of warps of a CTA."""
        return ROWS

    @property
    def columns(self) -> int:
        """Number of output columns of a CTA."""
        return WARP_SIZE * self.elements_per_access

    @property
    def grid(self) -> tuple[int, int, int]:
        """gridDim x, y, z. x runs over rows of the output, y over columns."""
        return -(-self.extent[0] // ROWS), -(-self.extent[1] // self.columns), 1

    @property
    def ctas(self) -> int:
        """Number of CTAs of the grid."""
        x, y, z = self.grid
        return x * y * z

    @property
    def loads_per_slice(self) -> int:
        """Number of loads of one thread for one slice's part of its vector."""
        return self.elements_per_access // self.elements_per_load

    @property
    def load_bytes(self) -> int:
        """Bytes of one load of partial sums."""
        return self.elements_per_load * element_bits(self.accumulator_type) // 8

    @property
    def access_bits(self) -> int:
        """Bits of one access to output, source or bias."""
        return self.elements_per_access * element_bits(self.output_type)

    def access(self, cta: int | IntArray) -> ReductionAccess:
        """
        Return all addresses of a CTA.

        Args:
            cta: Linear block index, x fastest. It may be an array.
        """
        block_y, block_x = np.divmod(np.asarray(cta, dtype=np.int64), self.grid[0])
        warp, lane = np.divmod(np.arange(self.threads, dtype=np.int64), WARP_SIZE)
        row = block_x[..., None] * ROWS + warp
        column = block_y[..., None] * self.columns + lane * self.elements_per_access
        rows, columns = self.extent
        slice_ = np.arange(self.slices, dtype=np.int64)[:, None, None] * (rows * columns)
        load = np.arange(self.loads_per_slice, dtype=np.int64)[:, None] * self.elements_per_load
        first = (row * columns + column)[..., None, None, :]
        return ReductionAccess(
            partial=slice_ + load + first,
            output=row * self.leading + column,
            bias=column,
            valid=(row < rows) & (column < columns),
        )

    def alike(self, cta: int) -> tuple[int, ...]:
        """
        Return a key of a CTA's accesses: where it is equal, CTAs have equal predicates, whole 128-byte lines apart.

        It has the rows and columns of the tile that exist, and the places in a line where partial sums, output and bias
        begin. Slices lie equally far apart in all CTAs.
        """
        row, column = self._first(cta)
        rows, columns = self.extent
        elements = self.accumulator_type, self.output_type, self.output_type
        places = (
            begin * element_bits(element) % LINE_BITS for begin, element in zip(self.begins(cta), elements, strict=True)
        )
        return min(rows - row, ROWS), min(columns - column, self.columns), *places

    def begins(self, cta: int) -> tuple[int, int, int]:
        """Return the offsets of a CTA's first element in a slice's partial sums, in the output and in the bias."""
        row, column = self._first(cta)
        return row * self.extent[1] + column, row * self.leading + column, column

    def _first(self, cta: int) -> tuple[int, int]:
        """Return the row and column of a CTA's first element."""
        block_y, block_x = divmod(cta, self.grid[0])
        return block_x * ROWS, block_y * self.columns

    def sectors(self, offset: IntArray, valid: BoolArray, element: str, elements: int) -> IntArray:
        """
        Count the distinct 32-byte sectors of each warp's access.

        Args:
            offset: Element offsets, shape [..., threads].
            valid: Predicates, broadcast against ``offset``.
            element: Element type of the tensor.
            elements: Elements of one access.

        Returns:
            Number of sectors, shape [..., warps].
        """
        lanes = (*offset.shape[:-1], self.warps, WARP_SIZE)
        active = np.broadcast_to(valid, offset.shape).reshape(lanes)
        bits = element_bits(element)
        return distinct_sectors(offset.reshape(lanes), active, bits) * max(1, elements * bits // SECTOR_BITS)


def reduction_tile(scenario: GemmScenario) -> ReductionTile:
    """
    Return the reduction of a scenario.

    Raises:
        BadInput: The scenario has no parallel split-K.
    """
    problem = scenario.problem
    if not problem.reduces:
        raise BadInput("only a parallel split-K of more than one slice has a reduction")
    return ReductionTile(
        slices=problem.split_k_slices,
        extent=(problem.extents.m, problem.extents.n),
        leading=problem.leading_c,
        accumulator_type=problem.dtype.accumulator,
        output_type=problem.dtype.output,
        elements_per_access=problem.access_c,
        elements_per_load=min(problem.access_c, problem.access_partial),
    )
