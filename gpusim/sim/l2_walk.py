"""
Walks a grid's fetches through the L2 in CTA order, without time: which fetches of which CTAs find their data there.

CTAs of a wave go k tile by k tile side by side; the L2 replaces the least recently used granule. A granule is what one
fetch of one operand tile brings; of an activation, which CTAs and filter positions share in part, it is up to 16
neighbouring pixels of one channel interval.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np

from gpusim.arrays import BoolArray, IntArray
from gpusim.machine.spec import Machine
from gpusim.scenario.gemm import GemmScenario
from gpusim.sim.footprint import L2Status
from gpusim.tile.global_access import Pixels
from gpusim.tile.operand import SIDES

PIXELS_PER_GRANULE = 16
PER_MILLE = 1000

Granule: TypeAlias = tuple[int, int, int, int]
"""(operand, tile or channel interval, slice, fetch or pixel block)."""


class Touch(NamedTuple):
    """
    What one fetch touches of one granule.

    Attributes:
        parts: Bit mask of the pixels; 1 where the granule is whole.
        size: Bytes of one part.
    """

    granule: Granule
    parts: int
    size: int


@dataclass(slots=True)
class WalkedFetch:
    """
    One operand tile's fetch within a wave.

    Attributes:
        asked: Bytes one CTA asks for.
        missed: Of these, bytes that nobody had brought.
        slow: Bytes that wait for DRAM: missed here, or by another tile in the same fetch.
    """

    asked: int = 0
    missed: int = 0
    slow: int = 0


@dataclass(frozen=True, slots=True)
class WalkedGrid:
    """
    What to walk.

    Attributes:
        tiles: (tile m, tile n, slice) of each CTA in launch order, shape [ctas, 3].
        resident: CTAs that run at the same time on the whole chip.
        fetches: Fetches of a CTA, the overrun included.
        waves: Waves to walk; later ones are not asked about.
    """

    tiles: IntArray
    resident: int
    fetches: int
    waves: int


class LruGranules:
    """The L2's content: granules with the parts of them it holds, least recently used first. Sizes in bytes."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._held = 0
        self._parts: dict[Granule, tuple[int, int]] = {}  # granule -> (parts, bytes)

    def touch(self, touch: Touch) -> int:
        """Make the touched parts the most recently used; the mask of those that were not there."""
        parts, size = self._parts.pop(touch.granule, (0, 0))
        missing = touch.parts & ~parts
        brought = missing.bit_count() * touch.size
        self._parts[touch.granule] = parts | missing, size + brought
        self._held += brought
        while self._held > self._capacity and len(self._parts) > 1:
            self._held -= self._parts.pop(next(iter(self._parts)))[1]
        return missing


class L2Walk:
    """The walk's outcome, CTA by CTA."""

    def __init__(self, scenario: GemmScenario, machine: Machine, grid: WalkedGrid) -> None:
        self._scenario = scenario
        self._grid = grid
        # Data that SMs of both partitions read is kept in both (D11).
        self._held = LruGranules(machine.l2.bytes // machine.l2.partitions)
        self._status: dict[tuple[int, int, int, int], tuple[L2Status, ...]] = {}
        self.missed_by_wave: list[int] = []
        self.bytes_asked = 0
        self._touches = {
            (operand, tile, slice_): list(self._touches_of(operand, tile, slice_))
            for operand in (0, 1)
            for tile, slice_ in self._tile_slices(operand)
        }
        for wave in range(grid.waves):
            self.missed_by_wave.append(0)
            self._walk_wave(wave)

    def status(self, cta: int) -> tuple[tuple[L2Status, ...], ...]:
        """[operand][fetch] -> L2Status of the CTA."""
        wave = cta // self._grid.resident
        row = self._grid.tiles[cta]
        return tuple(self._status[wave, operand, int(row[operand]), int(row[2])] for operand in (0, 1))

    def bytes_missed(self) -> int:
        """
        Bytes that the whole grid brings from DRAM.

        The waves beyond those walked bring what the later half of these brought: what any grid brings once, it brings
        at first.
        """
        ctas, resident = len(self._grid.tiles), self._grid.resident
        missed = sum(self.missed_by_wave)
        walked = min(len(self.missed_by_wave) * resident, ctas)
        later = len(self.missed_by_wave) // 2
        steady = sum(self.missed_by_wave[later:])
        return missed + steady * (ctas - walked) // (walked - later * resident)

    def _tile_slices(self, operand: int) -> list[tuple[int, int]]:
        """(tile, slice) of an operand that the walked waves touch."""
        walked = self._grid.tiles[: self._grid.waves * self._grid.resident]
        return sorted({(int(row[operand]), int(row[2])) for row in walked})

    def _walk_wave(self, wave: int) -> None:
        resident = self._grid.resident
        sharers: tuple[dict[tuple[int, int], int], ...] = ({}, {})
        for row in self._grid.tiles[wave * resident : (wave + 1) * resident].tolist():
            for operand in (0, 1):
                key = row[operand], row[2]
                sharers[operand][key] = sharers[operand].get(key, 0) + 1
        collected: dict[tuple[int, int, int, int], list[L2Status]] = {}
        for fetch in range(self._grid.fetches):
            for operand in (0, 1):
                for (tile, slice_), status in self._walk_fetch(operand, fetch, sharers[operand]).items():
                    collected.setdefault((wave, operand, tile, slice_), []).append(status)
        self._status.update({key: tuple(value) for key, value in collected.items()})

    def _walk_fetch(
        self, operand: int, fetch: int, sharers: dict[tuple[int, int], int]
    ) -> dict[tuple[int, int], L2Status]:
        """One fetch of one operand by all CTAs of a wave; ``sharers``: CTAs of each (tile, slice)."""
        coming: dict[Granule, int] = {}
        walked = {key: self._walk_tile(self._touches[operand, *key][fetch], coming) for key in sharers}
        asked = sum(walked[key].asked * count for key, count in sharers.items())
        missed = sum(one.missed for one in walked.values())
        self.bytes_asked += asked
        self.missed_by_wave[-1] += missed
        chip = missed * PER_MILLE // asked if asked else 0
        return {
            key: L2Status(slow=one.slow * PER_MILLE // one.asked if one.asked else 0, missed=chip)
            for key, one in walked.items()
        }

    def _walk_tile(self, touches: list[Touch], coming: dict[Granule, int]) -> WalkedFetch:
        """One tile's fetch; ``coming``: parts that this fetch of this wave is bringing from DRAM."""
        walked = WalkedFetch()
        for touch in touches:
            missing = self._held.touch(touch)
            bringing = coming.get(touch.granule, 0) | missing
            if bringing:
                coming[touch.granule] = bringing
            walked.asked += touch.parts.bit_count() * touch.size
            walked.missed += missing.bit_count() * touch.size
            walked.slow += (touch.parts & bringing).bit_count() * touch.size
        return walked

    def _touches_of(self, operand: int, tile: int, slice_: int) -> Iterator[list[Touch]]:
        """What each fetch touches."""
        own = self._scenario.operand(SIDES[operand])
        iterator = own.iterator(tile, slice_)
        access = iterator.fetch(np.arange(self._grid.fetches, dtype=np.int64))
        valid = access.valid.reshape(self._grid.fetches, -1).sum(axis=1)
        sizes = (valid * own.access_bytes).tolist()
        pixels = iterator.pixels(access)
        if pixels is not None:
            yield from _pixel_touches(pixels, access.valid, sizes)
            return
        for fetch, size in enumerate(sizes):
            yield [Touch((operand, tile, slice_, fetch), 1, size)] if size else []


def _pixel_touches(pixels: Pixels, valid: BoolArray, sizes: list[int]) -> Iterator[list[Touch]]:
    """Of each fetch the granules of neighbouring pixels."""
    count = pixels.count + PIXELS_PER_GRANULE
    for fetch, size in enumerate(sizes):
        touched = np.unique((pixels.interval[fetch] * count + pixels.pixel[fetch])[valid[fetch]])
        masks: dict[Granule, int] = {}
        for one in touched.tolist():
            in_interval = one % count
            granule = (0, one // count, 0, in_interval // PIXELS_PER_GRANULE)
            masks[granule] = masks.get(granule, 0) | 1 << in_interval % PIXELS_PER_GRANULE
        yield [Touch(granule, parts, size // len(touched)) for granule, parts in masks.items()]
