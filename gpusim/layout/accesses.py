"""Warp-wide accesses described by a word: a store, an ldmatrix, or one coordinate for each lane."""

import re
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, get_args

import numpy as np

from gpusim.arrays import BoolArray, IntArray
from gpusim.errors import BadInput
from gpusim.layout.banks import ACCESS_WIDTHS, MATRIX_ROW_BYTES, MATRIX_ROWS, ldmatrix_lanes
from gpusim.layout.shared import SharedLayout
from gpusim.units import WARP_SIZE

AccessKind: TypeAlias = Literal["store", "ldmatrix", "access"]

STORE_GRAMMAR: Final = "WIDTH[@C:S] with WIDTH 2B, 4B, 8B or 16B, as 16B or 16B@0:32"
LDMATRIX_GRAMMAR: Final = "x1, x2 or x4, then .trans and @C:S where wanted, as x4, x2.trans or x4@16:64"
ACCESS_GRAMMAR: Final = (
    "WIDTH@C:S,C:S,... with WIDTH 2B, 4B, 8B or 16B and one contiguous:strided coordinate a lane, at most 32, "
    "a - for a lane that takes no part, as 16B@0:0,8:0,-,0:1"
)

_STORE = re.compile(r"(\d+)B(?:@(\d+):(\d+))?")
_LDMATRIX = re.compile(r"x([124])(\.trans)?(?:@(\d+):(\d+))?")
_ACCESS = re.compile(r"(\d+)B@(.+)")
_COORDINATE = re.compile(r"(\d+):(\d+)")


@dataclass(frozen=True, slots=True)
class LaneAccess:
    """
    One warp-wide shared-memory instruction, in coordinates of a layout.

    Attributes:
        label: Name of the access for a reader, such as ``store 16B`` or ``ldmatrix.x4``.
        width_bytes: Bytes each lane accesses.
        contiguous: Contiguous coordinate of each lane's first element. Shape (32,).
        strided: Strided coordinate (row) of each lane. Shape (32,).
        active: Which lanes take part; the coordinates of the others are ignored. Shape (32,).
    """

    label: str
    width_bytes: int
    contiguous: IntArray
    strided: IntArray
    active: BoolArray

    def addresses(self, layout: SharedLayout) -> IntArray:
        """
        Return the byte address of each lane in stage 0, with 0 for inactive lanes. Shape (32,).

        Raises:
            BadInput: A lane reaches outside the tile, or its bytes are not contiguous in this layout.
        """
        elements = self.width_bytes * 8 // layout.element_bits
        if not elements:
            raise BadInput(f"{self.label}: {self.width_bytes} bytes hold no element of {layout.element_bits} bits")
        run = self.contiguous[:, np.newaxis] + np.arange(elements)
        outside = (run[:, -1] >= layout.contiguous) | (self.strided >= layout.strided)
        tile = f"the {layout.contiguous}x{layout.strided} tile"
        self._refuse(outside, f"of {self.width_bytes} bytes reaches outside {tile}")
        offsets = layout.offset(
            np.where(self.active[:, np.newaxis], run, 0), np.where(self.active, self.strided, 0)[:, np.newaxis]
        )
        broken = (np.diff(offsets) != 1).any(axis=-1) | (offsets[:, 0] * layout.element_bits % 8 != 0)
        self._refuse(broken, f"of {self.width_bytes} bytes is not contiguous in this layout")
        return np.where(self.active, offsets[:, 0] * layout.element_bits // 8, 0)

    def _refuse(self, wrong: BoolArray, why: str) -> None:
        lanes = np.flatnonzero(wrong & self.active)
        if len(lanes):
            c, s = self.contiguous[lanes[0]], self.strided[lanes[0]]
            raise BadInput(f"{self.label}: the access of lane {lanes[0]} at {c}:{s} {why}")


def parse_access(kind: str, argument: str, layout: SharedLayout) -> LaneAccess:
    """
    Parse a word that describes one warp-wide access.

    Args:
        kind: ``store``, ``ldmatrix`` or ``access``.
        argument: Text in the grammar of the kind: ``STORE_GRAMMAR``, ``LDMATRIX_GRAMMAR`` or ``ACCESS_GRAMMAR``.
        layout: Layout to access, which gives the extents and the element width.

    Raises:
        BadInput: Names the argument and the grammar.
    """
    match kind:
        case "store":
            return _store(argument, layout)
        case "ldmatrix":
            return _ldmatrix(argument, layout)
        case "access":
            return _coordinates(argument)
    raise BadInput(f"access must be one of {', '.join(get_args(AccessKind))}, got {kind!r}")


def _store(argument: str, layout: SharedLayout) -> LaneAccess:
    """Lay the lanes out as a warp-raked thread map does: along the contiguous dimension first, then along rows."""
    parsed = _STORE.fullmatch(argument.strip())
    if parsed is None or int(parsed[1]) not in ACCESS_WIDTHS:
        raise BadInput(f"store must read {STORE_GRAMMAR}, got {argument!r}")
    width, c0, s0 = int(parsed[1]), int(parsed[2] or 0), int(parsed[3] or 0)
    vector = max(1, width * 8 // layout.element_bits)
    lanes_per_row = max(1, (layout.contiguous - c0) // vector)
    lane = np.arange(WARP_SIZE, dtype=np.int64)
    strided = s0 + lane // lanes_per_row
    active = strided < max(layout.strided, s0 + 1)
    return LaneAccess(f"store {argument.strip()}", width, c0 + lane % lanes_per_row * vector, strided, active)


def _ldmatrix(argument: str, layout: SharedLayout) -> LaneAccess:
    """
    Place the matrices as ldmatrix does for the A operand of m16n8k16.

    Matrices 0 and 1 are rows 0-7 and 8-15. Matrices 2 and 3 are the same rows, one 16-byte vector further on.
    ``.trans`` changes which lane receives which element, but no address.
    """
    parsed = _LDMATRIX.fullmatch(argument.strip())
    if parsed is None:
        raise BadInput(f"ldmatrix must read {LDMATRIX_GRAMMAR}, got {argument!r}")
    matrices, c0, s0 = int(parsed[1]), int(parsed[3] or 0), int(parsed[4] or 0)
    lane = np.arange(WARP_SIZE, dtype=np.int64)
    contiguous = c0 + lane // (2 * MATRIX_ROWS) * (MATRIX_ROW_BYTES * 8 // layout.element_bits)
    label = f"ldmatrix.{argument.strip()}"
    return LaneAccess(label, MATRIX_ROW_BYTES, contiguous, s0 + lane % (2 * MATRIX_ROWS), ldmatrix_lanes(matrices))


def _coordinates(argument: str) -> LaneAccess:
    parsed = _ACCESS.fullmatch(argument.strip())
    entries = parsed[2].split(",") if parsed else []
    matches = [_COORDINATE.fullmatch(entry.strip()) for entry in entries]
    legal = all(match or entry.strip() == "-" for match, entry in zip(matches, entries, strict=True))
    if parsed is None or int(parsed[1]) not in ACCESS_WIDTHS or not legal or len(entries) > WARP_SIZE:
        raise BadInput(f"access must read {ACCESS_GRAMMAR}, got {argument!r}")
    coordinates = np.zeros((2, WARP_SIZE), dtype=np.int64)
    active = np.zeros(WARP_SIZE, dtype=np.bool_)
    for lane, match in enumerate(matches):
        if match:
            coordinates[:, lane] = int(match[1]), int(match[2])
            active[lane] = True
    return LaneAccess(f"access {argument.strip()}", int(parsed[1]), coordinates[0], coordinates[1], active)
