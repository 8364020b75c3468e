"""What the global accesses of one CTA touch, warp instruction by warp instruction: sectors, and cache lines."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from gpusim.arrays import BoolArray, IntArray
from gpusim.schedule.lanes import CtaLanes, GlobalRow
from gpusim.tile.global_access import GlobalAccess
from gpusim.tile.lanes import over_warps
from gpusim.tile.requests import distinct_sectors
from gpusim.units import LINE_BITS, SECTOR_BITS, SECTOR_BYTES, SECTORS_PER_LINE

Lines: TypeAlias = tuple[tuple[int, int], ...]
"""(line, bit mask of its sectors) of one warp instruction. Lines are numbered apart for each tensor."""

Request: TypeAlias = tuple[int, Lines]
"""(sectors, lines) of one warp instruction; lines are empty where no cache needs them."""

Requests: TypeAlias = list[list[list[Request]]]
"""[access][vec][warp] of one fetch."""

TENSOR_STRIDE = 1 << 40
"""Lines between two tensors' first lines: more than any tensor has."""


@dataclass(frozen=True, slots=True)
class L2Status:
    """
    How one fetch of one operand finds the L2, per mille of its sectors.

    Attributes:
        slow: Sectors that wait for DRAM, be it another CTA's miss.
        missed: Sectors the chip brings from DRAM, over the sectors all CTAs of the wave request.
    """

    slow: int
    missed: int


FROM_DRAM = L2Status(slow=1000, missed=1000)
"""Data that nobody has read or written before."""

IN_L2 = L2Status(slow=0, missed=0)


@dataclass(frozen=True, slots=True)
class Footprint:
    """
    Attributes:
        copies: [row][turn][access][vec][warp] -> Request, of the copies and loads of operands.
        outputs: [row][access][warp] -> sectors of the other global accesses.
        found: [row] -> how those of them that are loads find the L2.
        status: [row of copies][turn] -> L2Status; empty where the L2 itself is simulated.
    """

    copies: Sequence[Sequence[Requests]]
    outputs: list[list[list[int]]]
    found: tuple[L2Status, ...]
    status: Sequence[tuple[L2Status, ...]]


class Footprints:
    """
    Evaluates the addresses of CTAs.

    Accesses that are a whole number of lines apart ask for as many sectors: each pattern is evaluated once.
    """

    def __init__(self) -> None:
        self._sectors: dict[Any, Requests] = {}
        self._lines: dict[Any, list[list[list[Lines]]]] = {}
        self._outputs: dict[Any, list[list[int]]] = {}

    def copies(
        self, cta: CtaLanes[Any], bits: Callable[[int], int], base: Callable[[int], int | None]
    ) -> list[list[Requests]]:
        """
        The copies of a CTA, by row and turn.

        Args:
            bits: Row -> width of an element.
            base: Row -> first line of its tensor where lines are needed, else None.
        """
        return [
            [self._requests(access, bits(row), base(row)) for access in turns] for row, turns in enumerate(cta.copies())
        ]

    def outputs(self, cta: CtaLanes[Any]) -> list[list[list[int]]]:
        """The other global accesses of a CTA, by row."""
        return [self._output(row) for row in cta.outputs()]

    def _requests(self, access: GlobalAccess, bits: int, base: int | None) -> Requests:
        valid = np.broadcast_to(access.valid, access.offset.shape)
        first, pattern = _pattern(access.offset, valid, bits)
        if pattern not in self._sectors:
            sectors = distinct_sectors(over_warps(access.offset), over_warps(valid), bits).tolist()
            self._sectors[pattern] = [[[(count, ()) for count in warps] for warps in vec] for vec in sectors]
        found = self._sectors[pattern]
        if base is None:
            return found
        if pattern not in self._lines:
            offset = over_warps(access.offset - first * LINE_BITS // bits)
            touched = np.where(over_warps(valid), offset * bits // SECTOR_BITS, -1).tolist()
            self._lines[pattern] = [[[_lines(lanes) for lanes in warps] for warps in vec] for vec in touched]
        begin = base + first
        return [
            [
                [
                    (count, tuple((begin + line, mask) for line, mask in lines))
                    for (count, _), lines in zip(*both, strict=True)
                ]
                for both in zip(*vecs, strict=True)
            ]
            for vecs in zip(found, self._lines[pattern], strict=True)
        ]

    def _output(self, row: GlobalRow) -> list[list[int]]:
        """[access][warp]."""
        _, pattern = _pattern(row.offset, row.valid, row.bits)
        key = pattern, row.access_bytes
        if key not in self._outputs:
            spans = max(1, row.access_bytes // SECTOR_BYTES)
            sectors = distinct_sectors(over_warps(row.offset), over_warps(row.valid), row.bits) * spans
            self._outputs[key] = sectors.tolist()
        return self._outputs[key]


def _pattern(offset: IntArray, valid: BoolArray, bits: int) -> tuple[int, tuple[Any, ...]]:
    """The first line that is touched, and what tells an access besides."""
    if not valid.any():
        return 0, (offset.shape, bits)
    first = int(offset[valid].min()) * bits // LINE_BITS
    moved = np.where(valid, offset - first * LINE_BITS // bits, -1)
    return first, (offset.shape, bits, moved.tobytes())


def _lines(sectors: list[int]) -> Lines:
    masks: dict[int, int] = {}
    for sector in set(sectors):
        if sector >= 0:
            line = sector // SECTORS_PER_LINE
            masks[line] = masks.get(line, 0) | 1 << sector % SECTORS_PER_LINE
    return tuple(sorted(masks.items()))
