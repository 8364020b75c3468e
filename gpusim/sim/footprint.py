"""Evaluates the sectors and cache lines that the global-memory instructions of a CTA touch."""

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from gpusim.arrays import BoolArray, IntArray
from gpusim.schedule.lanes import GlobalRow
from gpusim.tile.global_access import GlobalAccess
from gpusim.tile.lanes import SharedTable, over_warps
from gpusim.tile.requests import distinct_sectors
from gpusim.units import LINE_BITS, SECTOR_BITS, SECTOR_BYTES, SECTORS_PER_LINE

LineMasks: TypeAlias = tuple[tuple[int, int], ...]
"""Pairs (line, bit mask of its sectors) that one warp instruction touches. No two tensors share line numbers."""

SPLIT = 1 << SECTORS_PER_LINE
"""
Place in a mask of the sectors that are looked up where a line is asked for in several requests; 0 where it is in one.

It is in several where what is copied fills several lines of shared memory, or a sector two aligned 32 bytes of it: then
it is asked for twice (splits.csv).
"""

Request: TypeAlias = tuple[int, LineMasks]
"""(number of sectors, lines) of one warp instruction."""

TENSOR_STRIDE = 1 << 40
"""Distance in lines between the first lines of two tensors, larger than any tensor."""

WAVE_STRIDE = 1 << 44
"""Distance in lines between those of two waves of a sampled run, larger than all tensors."""


@dataclass(frozen=True, slots=True)
class L2Status:
    """
    Hits and misses of one fetch of one operand in the L2, per mille of its sectors.

    Attributes:
        slow: Sectors that wait for DRAM, whether this CTA or another one missed.
        missed: Sectors that the chip reads from DRAM, relative to those that all CTAs of the wave request.
        shared: CTAs of the wave that request the same data at once, at least 1.
        looked: Requests, per mille, that are looked up where all of them wait for the data; the others are merged.
        first: Whether the epilogue reads the data for the first time since it was written: what is on the other side of
            the chip then has to cross it. Of k tiles, what has crossed follows from their lines.
    """

    slow: int
    missed: int
    shared: int = 1
    looked: int = 1000
    first: bool = False


FROM_DRAM = L2Status(slow=1000, missed=1000, first=True)
"""Status of data that was not read or written before."""

IN_L2 = L2Status(slow=0, missed=0)

JUST_WRITTEN = L2Status(slow=0, missed=0, first=True)
"""Status of data that another SM has written, to the L2, and that nobody has read."""


@dataclass(frozen=True, slots=True)
class FetchPattern:
    """
    The requests of one fetch.

    Attributes:
        requests: Indexed [access][vec][warp]; lines count from the first line that the fetch touches.
    """

    requests: list[list[list[Request]]]


class Patterns:
    """
    Evaluates which sectors and lines accesses touch.

    Each address pattern is evaluated once: accesses that differ by a whole number of lines touch as many sectors.
    """

    def __init__(self) -> None:
        self._copies: dict[Any, FetchPattern] = {}
        self._outputs: dict[Any, list[list[int]]] = {}

    def copies(self, access: GlobalAccess, filled: SharedTable) -> tuple[int | None, FetchPattern]:
        """
        Return the first line of a fetch, None if it touches nothing, and its pattern; equal patterns are one object.

        Args:
            access: Accesses of the fetch.
            filled: The places in shared memory to which they are copied; its elements are theirs.
        """
        valid = np.broadcast_to(access.valid, access.offset.shape)
        bits = filled.bits
        first, pattern = _pattern(access.offset, valid, bits)
        key = pattern, filled
        if key not in self._copies:
            sectors = distinct_sectors(over_warps(access.offset), over_warps(valid), bits).tolist()
            offset = over_warps(access.offset - (first or 0) * LINE_BITS // bits)
            touched = np.where(over_warps(valid), offset * bits // SECTOR_BITS, -1).tolist()
            target = np.broadcast_to(filled.offsets[0] * bits // SECTOR_BITS, offset.shape).tolist()
            self._copies[key] = FetchPattern(
                [
                    [
                        [(count, _lines(touched[a][v][w], target[a][v][w])) for w, count in enumerate(warps)]
                        for v, warps in enumerate(vecs)
                    ]
                    for a, vecs in enumerate(sectors)
                ]
            )
        return first, self._copies[key]

    def output(self, row: GlobalRow) -> list[list[int]]:
        """Return the sectors of one row of other global accesses, indexed [access][warp]."""
        _, pattern = _pattern(row.offset, row.valid, row.bits)
        key = pattern, row.access_bytes
        if key not in self._outputs:
            spans = max(1, row.access_bytes // SECTOR_BYTES)
            sectors = distinct_sectors(over_warps(row.offset), over_warps(row.valid), row.bits) * spans
            self._outputs[key] = sectors.tolist()
        return self._outputs[key]


def _pattern(offset: IntArray, valid: BoolArray, bits: int) -> tuple[int | None, tuple[Any, ...]]:
    """Return the first line touched, None if none is, and a key that is equal for accesses whole lines apart."""
    if not valid.any():
        return None, (offset.shape, bits)
    first = int(offset[valid].min()) * bits // LINE_BITS
    moved = np.where(valid, offset - first * LINE_BITS // bits, -1)
    return first, (offset.shape, bits, moved.tobytes())


def _lines(sectors: list[int], filled: list[int]) -> LineMasks:
    """
    Return the lines of the lanes' sectors, and how each is asked for.

    Args:
        sectors: Sector that each lane copies from, -1 for none.
        filled: The 32 bytes of shared memory that it fills.
    """
    masks: dict[int, int] = {}
    pairs: dict[int, set[tuple[int, int]]] = {}
    for sector, piece in zip(sectors, filled, strict=True):
        if sector >= 0:
            line = sector // SECTORS_PER_LINE
            masks[line] = masks.get(line, 0) | 1 << sector % SECTORS_PER_LINE
            pairs.setdefault(line, set()).add((sector, piece))
    for line, found in pairs.items():
        looked = len(found)
        if looked > masks[line].bit_count() or len({piece // SECTORS_PER_LINE for _, piece in found}) > 1:
            masks[line] |= looked * SPLIT
    return tuple(sorted(masks.items()))
