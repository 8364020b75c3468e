"""Warp-wide accesses of a tile in shared memory, in coordinates of its layout, and their addresses."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from gpusim.arrays import BoolArray, IntArray
from gpusim.errors import BadInput
from gpusim.layout.banks import MATRIX_COUNTS, MATRIX_ROW_BYTES, MATRIX_ROWS, ldmatrix_lanes
from gpusim.layout.shared import SharedLayout
from gpusim.units import WARP_SIZE

AccessOp: TypeAlias = Literal["load", "store", "ldmatrix", "stmatrix", "cp.async"]
"""Kind of an access: LDS, STS, LDSM, STSM or LDGSTS."""


@dataclass(frozen=True, slots=True)
class GlobalRows:
    """
    The rows of global memory that a cp.async reads.

    Attributes:
        cache: ``ca`` through L1, ``cg`` around it.
        leading: Elements from the start of one row to the start of the next.
    """

    cache: Literal["ca", "cg"]
    leading: int


@dataclass(frozen=True, slots=True)
class LaneAccess:
    """
    Warp-wide shared-memory instructions of one kind, in coordinates of a layout.

    Attributes:
        label: Name of the access for a reader, such as ``store 16B`` or ``ldmatrix.x4``.
        op: The instruction.
        width_bytes: Bytes each lane accesses.
        contiguous: Contiguous coordinate of each lane's first element. Shape (instructions, 32).
        strided: Strided coordinate (row) of each lane. Shape (instructions, 32).
        active: Mask of the active lanes; the coordinates of others are ignored. Shape (instructions, 32).
        source: Rows of global memory that a cp.async reads, if known.
    """

    label: str
    op: AccessOp
    width_bytes: int
    contiguous: IntArray
    strided: IntArray
    active: BoolArray
    source: GlobalRows | None = None

    @property
    def instructions(self) -> int:
        """Number of instructions."""
        return len(self.contiguous)

    def elements(self, element_bits: int) -> int:
        """
        Return the elements that each lane accesses.

        Raises:
            BadInput: The width holds no whole element.
        """
        count = self.width_bytes * 8 // element_bits
        if not count:
            raise BadInput(f"{self.label}: {self.width_bytes} bytes hold no element of {element_bits} bits")
        return count

    def addresses(self, layout: SharedLayout, base: int = 0) -> IntArray:
        """
        Return the byte address of each lane in stage 0, with 0 for inactive lanes. Shape (instructions, 32).

        Args:
            layout: Layout of the tile.
            base: Byte address of the tile.

        Raises:
            BadInput: A lane reaches outside the tile, or its bytes are not contiguous in this layout.
        """
        run = self.contiguous[..., np.newaxis] + np.arange(self.elements(layout.element_bits))
        outside = (run[..., -1] >= layout.contiguous) | (self.strided >= layout.strided)
        outside |= (self.contiguous < 0) | (self.strided < 0)
        tile = f"the {layout.contiguous}x{layout.strided} tile"
        self._refuse(outside, f"of {self.width_bytes} bytes reaches outside {tile}")
        offsets = layout.offset(
            np.where(self.active[..., np.newaxis], run, 0), np.where(self.active, self.strided, 0)[..., np.newaxis]
        )
        broken = (np.diff(offsets) != 1).any(axis=-1) | (offsets[..., 0] * layout.element_bits % 8 != 0)
        self._refuse(broken, f"of {self.width_bytes} bytes is not contiguous in this layout")
        return np.where(self.active, base + offsets[..., 0] * layout.element_bits // 8, 0)

    def _refuse(self, wrong: BoolArray, why: str) -> None:
        found = np.argwhere(wrong & self.active)
        if len(found):
            instruction, lane = found[0].tolist()
            c, s = self.contiguous[instruction, lane], self.strided[instruction, lane]
            raise BadInput(f"{self.label}: the access of lane {lane} at {c}:{s} {why}")


def one_instruction(
    label: str,
    op: AccessOp,
    width_bytes: int,
    *,
    contiguous: IntArray,
    strided: IntArray,
    active: BoolArray | None = None,
) -> LaneAccess:
    """Return a single instruction from the coordinates of its 32 lanes. All lanes take part by default."""
    taking = np.ones(WARP_SIZE, dtype=np.bool_) if active is None else active
    return LaneAccess(label, op, width_bytes, contiguous[np.newaxis], strided[np.newaxis], taking[np.newaxis])


def rows_access(
    label: str, op: AccessOp, width_bytes: int, layout: SharedLayout, *, contiguous: int = 0, strided: int = 0
) -> LaneAccess:
    """
    Lay the lanes out as a warp-raked thread map does: along the contiguous dimension first, then along rows.

    Args:
        label: Name of the access.
        op: The instruction.
        width_bytes: Bytes each lane accesses.
        layout: Layout to access, which gives the extents and the element width.
        contiguous: Contiguous coordinate of lane 0.
        strided: Row of lane 0.
    """
    vector = max(1, width_bytes * 8 // layout.element_bits)
    lanes_per_row = max(1, (layout.contiguous - contiguous) // vector)
    lane = np.arange(WARP_SIZE, dtype=np.int64)
    row = strided + lane // lanes_per_row
    active = row < max(layout.strided, strided + 1)
    run = contiguous + lane % lanes_per_row * vector
    return one_instruction(label, op, width_bytes, contiguous=run, strided=row, active=active)


def matrix_access(
    label: str, op: AccessOp, matrices: int, layout: SharedLayout, *, contiguous: int = 0, strided: int = 0
) -> LaneAccess:
    """
    Place the 8x8 matrices of an ldmatrix or stmatrix as for the A operand of m16n8k16.

    Matrices 0 and 1 are rows 0-7 and 8-15. Matrices 2 and 3 are the same rows, one 16-byte vector further on.
    ``.trans`` changes which lane receives which element, but no address.

    Args:
        label: Name of the access.
        op: ``ldmatrix`` or ``stmatrix``.
        matrices: 1, 2 or 4.
        layout: Layout to access, which gives the element width.
        contiguous: Contiguous coordinate of the first matrix.
        strided: First row of the first matrix.

    Raises:
        BadInput: The number of matrices is none of these.
    """
    if matrices not in MATRIX_COUNTS:
        raise BadInput(f"{op} must move one of {', '.join(map(str, MATRIX_COUNTS))} matrices, got {matrices}")
    lane = np.arange(WARP_SIZE, dtype=np.int64)
    column = contiguous + lane // (2 * MATRIX_ROWS) * (MATRIX_ROW_BYTES * 8 // layout.element_bits)
    row = strided + lane % (2 * MATRIX_ROWS)
    active = ldmatrix_lanes(matrices)
    return one_instruction(label, op, MATRIX_ROW_BYTES, contiguous=column, strided=row, active=active)
