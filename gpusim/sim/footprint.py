"""Evaluates the sectors and cache lines that each global-memory instruction of a CTA touches."""

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
"""Pairs (line, bit mask of its sectors) that one warp instruction touches. No two tensors share line numbers."""

Request: TypeAlias = tuple[int, Lines]
"""(number of sectors, lines) of one warp instruction. Lines are empty if no simulated cache needs them."""

Requests: TypeAlias = list[list[list[Request]]]
"""Requests of one fetch, indexed [access][vec][warp]."""

TENSOR_STRIDE = 1 << 40
"""Distance in lines between the first lines of two tensors, larger than any tensor."""


@dataclass(frozen=True, slots=True)
class L2Status:
    """
    Hits and misses of one fetch of one operand in the L2, per mille of its sectors.

    Attributes:
        slow: Sectors that wait for DRAM, whether this CTA or another one missed.
        missed: Sectors that the chip reads from DRAM, relative to those that all CTAs of the wave request.
    """

    slow: int
    missed: int


FROM_DRAM = L2Status(slow=1000, missed=1000)
"""Status of data that was not read or written before."""

IN_L2 = L2Status(slow=0, missed=0)


@dataclass(frozen=True, slots=True)
class Footprint:
    """
    The global accesses of one CTA.

    Attributes:
        copies: Requests of the copies and loads of operands, indexed [row][turn][access][vec][warp]. A turn is the
            number of a fetch in the CTA's program.
        outputs: Sectors of the other global accesses, indexed [row][access][warp].
        found: L2 status of those rows of ``outputs`` that are loads, indexed [row].
        status: L2 status of the copies, indexed [row][turn]; empty if the L2 itself is simulated.
    """

    copies: Sequence[Sequence[Requests]]
    outputs: list[list[list[int]]]
    found: tuple[L2Status, ...]
    status: Sequence[tuple[L2Status, ...]]


class Footprints:
    """
    Evaluates the footprints of CTAs.

    Each address pattern is evaluated once: accesses that differ by a whole number of lines touch as many sectors.
    """

    def __init__(self) -> None:
        self._sectors: dict[Any, Requests] = {}
        self._lines: dict[Any, list[list[list[Lines]]]] = {}
        self._outputs: dict[Any, list[list[int]]] = {}

    def copies(
        self, cta: CtaLanes[Any], bits: Callable[[int], int], base: Callable[[int], int | None]
    ) -> list[list[Requests]]:
        """
        Return the requests of a CTA's copies, indexed [row][turn].

        Args:
            cta: Addresses of the CTA.
            bits: Returns the width of an element of a row's tensor, in bits.
            base: Returns the first line of a row's tensor, or None if lines are not needed.
        """
        return [
            [self._requests(access, bits(row), base(row)) for access in turns] for row, turns in enumerate(cta.copies())
        ]

    def outputs(self, cta: CtaLanes[Any]) -> list[list[list[int]]]:
        """Return the sectors of a CTA's other global accesses, indexed [row][access][warp]."""
        return [self._output(row) for row in cta.output_rows]

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
        """Return the sectors of one row, indexed [access][warp]."""
        _, pattern = _pattern(row.offset, row.valid, row.bits)
        key = pattern, row.access_bytes
        if key not in self._outputs:
            spans = max(1, row.access_bytes // SECTOR_BYTES)
            sectors = distinct_sectors(over_warps(row.offset), over_warps(row.valid), row.bits) * spans
            self._outputs[key] = sectors.tolist()
        return self._outputs[key]


def _pattern(offset: IntArray, valid: BoolArray, bits: int) -> tuple[int, tuple[Any, ...]]:
    """Return the first line touched, and a key that is equal for accesses whole lines apart."""
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
