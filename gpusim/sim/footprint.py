"""Evaluates the sectors and cache lines that the global-memory instructions of a CTA access."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np

from gpusim.arrays import BoolArray, IntArray
from gpusim.layout.banks import STANDARD, Banks, access_wavefronts
from gpusim.schedule.lanes import GlobalRow
from gpusim.tile.global_access import GlobalAccess
from gpusim.tile.requests import distinct_sectors
from gpusim.tile.shared_tables import SharedTable, over_warps
from gpusim.units import LINE_BITS, SECTOR_BITS, SECTOR_BYTES, SECTORS_PER_LINE, VECTOR_BITS, WORD_BYTES

LineMasks: TypeAlias = tuple[tuple[int, int], ...]
"""Line requests of one warp instruction: (line, mask of its sectors). No two tensors share line numbers."""

Request: TypeAlias = tuple[int, LineMasks]
"""(number of sectors, lines) of one warp instruction."""

_VECTORS_PER_LINE = LINE_BITS // VECTOR_BITS


@dataclass(frozen=True, slots=True)
class L2Status:
    """
    Hits and misses of one fetch of one operand in the L2, per mille of its sectors.

    Attributes:
        slow: Sectors that wait for DRAM, for this CTA's miss or an earlier miss of another CTA.
        missed: Sectors that the chip reads from DRAM, relative to the requests of all CTAs of the wave.
        shared: CTAs of the wave that request the same data at once, at least 1.
        looked: Requests that are looked up in the L2, among requests for the same data in flight, per mille. The others
            are merged.
        first: Whether the epilogue reads the data for the first time since it was written. Data in the other partition
            then has to cross the chip. For k tiles, the simulated lines say which data has crossed.
    """

    slow: int
    missed: int
    shared: int = 1
    looked: int = 1000
    first: bool = False


FROM_DRAM = L2Status(slow=1000, missed=1000, first=True)
"""Status of data that has been neither read nor written before."""

IN_L2 = L2Status(slow=0, missed=0)

JUST_WRITTEN = L2Status(slow=0, missed=0, first=True)
"""Status of data that another SM has written to the L2 and that no SM has read."""


@dataclass(frozen=True, slots=True)
class FetchPattern:
    """
    The requests of one fetch.

    Attributes:
        requests: Indexed [access][vec][warp]; lines count from the first line that the fetch touches.
        wavefronts: Wavefronts of each request in the L1's banks, which conflict as those of shared memory do
            (returns.csv); 0 for copies that bypass the L1.
    """

    requests: list[list[list[Request]]]
    wavefronts: list[list[list[int]]]


class Patterns:
    """
    Evaluates the sectors and lines that accesses touch.

    Each address pattern is evaluated once: accesses at a distance of whole lines touch equally many sectors.
    """

    def __init__(self) -> None:
        self._copies: dict[Any, FetchPattern] = {}
        self._outputs: dict[Any, list[list[Request]]] = {}

    def copies(
        self, access: GlobalAccess, filled: SharedTable, lane_bytes: int, *, around_l1: bool
    ) -> tuple[int | None, FetchPattern]:
        """
        Return the first line of a fetch, or None for a fetch without accesses, and the fetch's pattern.

        Equal patterns are one object.

        Args:
            access: Accesses of the fetch.
            filled: Shared-memory addresses to which the data is copied, in the same elements.
            lane_bytes: Bytes of each lane.
            around_l1: Whether the copies bypass the L1 (cp.async.cg), 16 bytes each. Otherwise each line is requested
                once.
        """
        valid = np.broadcast_to(access.valid, access.offset.shape)
        bits = filled.bits
        first, pattern = _pattern(access.offset, valid, bits)
        key = pattern, filled, lane_bytes, around_l1
        if key not in self._copies:
            sectors = distinct_sectors(over_warps(access.offset), over_warps(valid), bits).tolist()
            offset = over_warps(access.offset - (first or 0) * LINE_BITS // bits)
            touched = np.where(over_warps(valid), offset * bits // VECTOR_BITS, -1).tolist()
            places = filled.offsets[0] * bits // VECTOR_BITS if around_l1 else np.zeros_like(filled.offsets[0])
            target = np.broadcast_to(places, offset.shape).tolist()
            requests = [
                [
                    [(count, line_requests(touched[a][v][w], target[a][v][w])) for w, count in enumerate(warps)]
                    for v, warps in enumerate(vecs)
                ]
                for a, vecs in enumerate(sectors)
            ]
            looks_up = np.broadcast_to(not around_l1, valid.shape)
            wavefronts = l1_wavefronts(offset * bits // 8, over_warps(valid & looks_up), lane_bytes, filled.banks)
            self._copies[key] = FetchPattern(
                requests, [[list(map(int, warps)) for warps in vecs] for vecs in wavefronts]
            )
        return first, self._copies[key]

    def output(self, row: GlobalRow) -> tuple[int | None, list[list[Request]]]:
        """
        Return the first line, or None, and the L2 requests of a row of global accesses that are no copies.

        The requests are indexed [access][warp]; equal requests are one object. Lines count from the first line. If the
        L1 keeps the row's data, a warp requests each sector once, with its first access to the sector.
        """
        first, pattern = _pattern(row.offset, row.valid, row.bits)
        key = pattern, row.access_bytes, row.kept
        if key not in self._outputs:
            offset = over_warps(row.offset - (first or 0) * LINE_BITS // row.bits)
            sectors = np.where(over_warps(row.valid), offset * row.bits // SECTOR_BITS, -1).tolist()
            spans = range(max(1, row.access_bytes // SECTOR_BYTES))
            found: list[list[Request]] = []
            kept: list[set[int]] = [set() for _ in sectors[0]]
            for of_access in sectors:
                touched = [{one + span for one in lanes if one >= 0 for span in spans} for lanes in of_access]
                found.append([_request(own - had) for own, had in zip(touched, kept, strict=True)])
                if row.kept:
                    kept = [own | had for own, had in zip(touched, kept, strict=True)]
            self._outputs[key] = found
        return first, self._outputs[key]


def _request(sectors: Iterable[int]) -> Request:
    """Return the request for a set of sectors. Sectors are numbered from the first sector of line 0."""
    masks: dict[int, int] = {}
    for sector in sorted(sectors):
        line = sector // SECTORS_PER_LINE
        masks[line] = masks.get(line, 0) | 1 << sector % SECTORS_PER_LINE
    return sum(map(int.bit_count, masks.values())), tuple(masks.items())


def _pattern(offset: IntArray, valid: BoolArray, bits: int) -> tuple[int | None, tuple[Any, ...]]:
    """Return the first line accessed, or None, and a key that is equal for accesses at a distance of whole lines."""
    if not valid.any():
        return None, (offset.shape, bits)
    first = int(offset[valid].min()) * bits // LINE_BITS
    moved = np.where(valid, offset - first * LINE_BITS // bits, -1)
    return first, (offset.shape, bits, moved.tobytes())


def l1_wavefronts(addresses: IntArray, active: BoolArray, lane_bytes: int, banks: Banks = STANDARD) -> IntArray:
    """
    Return the wavefronts of loads from the L1, whose data lies in the banks of shared memory.

    Rows of 64 bytes in the same banks take a wavefront each. If every other row lies in the other half of the banks,
    two rows share a wavefront, whether they lie in one line or two (returns.csv). Words narrower than a bank count as
    whole words.

    Args:
        addresses: Bytes from the beginning of a line; shape [..., 32].
        active: Lanes that load.
        lane_bytes: Bytes of each lane.
        banks: Banks that the L1 shares with the shared memory.
    """
    width = max(lane_bytes, WORD_BYTES)
    return access_wavefronts(addresses // width * width, width, active, banks.count, banks.width)


def line_requests(vectors: Sequence[int], filled: Sequence[int]) -> LineMasks:
    """
    Return the line requests of one warp instruction.

    A line of global memory takes one request for each line of shared memory that it fills. If the two vectors of a
    sector fill different aligned 32 bytes, one request takes the even vectors and another one the odd vectors, so each
    sector is requested twice (splits.csv: rows that end 16, 32 and 64 bytes before the next begins).

    Args:
        vectors: Vector of 16 bytes that each lane copies, or copies from; -1 for none.
        filled: The vector of shared memory that it fills.
    """
    asked = [vector for vector in vectors if vector >= 0]
    if not asked:
        return ()
    first = min(asked) // _VECTORS_PER_LINE
    start, place = first * _VECTORS_PER_LINE, min(filled) // _VECTORS_PER_LINE * _VECTORS_PER_LINE
    moved = tuple(vector - start if vector >= 0 else -1 for vector in vectors)
    return tuple((first + line, mask) for line, mask in _from_line_0(moved, tuple(own - place for own in filled)))


@lru_cache(maxsize=1024)
def _from_line_0(vectors: tuple[int, ...], filled: tuple[int, ...]) -> LineMasks:
    """Return ``line_requests`` of vectors whose first line, in global and in shared memory, is line 0."""
    lanes: dict[int, list[tuple[int, int]]] = {}
    for vector, own in zip(vectors, filled, strict=True):
        if vector >= 0:
            lanes.setdefault(vector // _VECTORS_PER_LINE, []).append((vector, own))
    requests: list[tuple[int, int]] = []
    for line, found in sorted(lanes.items()):
        pieces = {(vector // 2, own // 2) for vector, own in found}
        is_split = len(pieces) > len({sector for sector, _ in pieces})
        masks: dict[tuple[int, int], int] = {}
        for vector, own in found:
            key = vector % 2 if is_split else 0, own // _VECTORS_PER_LINE
            masks[key] = masks.get(key, 0) | 1 << vector // 2 % SECTORS_PER_LINE
        requests += [(line, mask) for _, mask in sorted(masks.items())]
    return tuple(requests)
