"""
Walks a grid's fetches through the L2 in CTA order, without timing, to find which of them hit.

The CTAs of a wave advance together, fetch by fetch. The L2 replaces the least recently used granule. Each kernel
defines its granules: the data of one fetch of one operand tile, or a part of it that other tiles share.
"""

from collections import Counter
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np

from gpusim.arrays import IntArray
from gpusim.sim.footprint import L2Status
from gpusim.sim.stack_distance import missed_fetches
from gpusim.sim.timed_kernel import TimedKernel, Touch

PER_MILLE = 1000

_Sharers: TypeAlias = list[dict[Hashable, int]]


@dataclass(slots=True)
class _Walked:
    """
    The outcome of one tile's fetch within a wave, in bytes.

    Attributes:
        asked: Bytes that one CTA requests.
        missed: Bytes of these that this fetch reads from DRAM.
        slow: Bytes that wait for DRAM, read by this fetch or at the same time by another tile's.
        fresh: Bytes that no tile before in this turn touched.
    """

    asked: int = 0
    missed: int = 0
    slow: int = 0
    fresh: int = 0


@lru_cache(maxsize=4096)
def _l2_status(slow: int, missed: int, shared: int, looked: int) -> L2Status:
    return L2Status(slow=slow, missed=missed, shared=shared, looked=looked)


class LruGranules:
    """
    The content of the L2: granules and the parts of them that it holds, with least-recently-used replacement.

    Args:
        capacity: Size of the L2, bytes.
    """

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._held = 0
        self._parts: dict[Hashable, tuple[int, int]] = {}  # granule -> (parts, bytes)

    def touch(self, touch: Touch) -> int:
        """Make the touched parts the most recently used, and return the mask of those that were missing."""
        parts, size = self._parts.pop(touch.granule, (0, 0))
        missing = touch.parts & ~parts
        brought = missing.bit_count() * touch.size
        self._parts[touch.granule] = parts | missing, size + brought
        self._held += brought
        while self._held > self._capacity and len(self._parts) > 1:
            self._held -= self._parts.pop(next(iter(self._parts)))[1]
        return missing


class L2Walk:
    """
    A walk through the L2, and the status of every fetch of every walked CTA.

    Args:
        kernel: The kernel whose grid is walked.
        resident: Number of CTAs that run at the same time on the whole chip.
        waves: Number of waves to walk. ``status`` knows no CTA of a later wave.
        groups: Group of the SM of each CTA of a wave, whose requests are merged; all are of one where it is empty.
    """

    def __init__(self, kernel: TimedKernel[Any], resident: int, waves: int, groups: Sequence[int] = ()) -> None:
        self._kernel, self._resident, self._waves, machine = kernel, resident, waves, kernel.machine
        self._groups, self._most_merged = groups or [0] * resident, machine.l2.most_merged
        self._looked: dict[tuple[int, int], int] = {}
        # Bytes that CTAs of a wave request of a tensor, and those of them that come from DRAM.
        self._asked: Counter[tuple[int, int]] = Counter()
        self._missed: Counter[tuple[int, int]] = Counter()
        # Data that SMs of both partitions read is kept in both, so the capacity is that of one partition (D11).
        self._held = LruGranules(machine.l2.bytes // machine.l2.partitions)
        self._status: dict[tuple[int, int, Hashable], tuple[L2Status, ...]] = {}
        self._touches: dict[tuple[int, Hashable], Sequence[Sequence[Touch]]] = {}
        sharers = [self._sharers(wave) for wave in range(waves)]
        self._stored = kernel.stored_bytes * resident // len(kernel.launched)
        self._own = self._own_bytes(sharers)
        if self._own is not None:
            self._walk_apart(sharers, self._own, machine.l2.bytes // machine.l2.partitions)
            return
        for wave in range(waves):
            self._walk_wave(wave, sharers[wave])
            self._held.touch(Touch(("stored", wave), 1, self._stored))

    @property
    def bytes_asked(self) -> int:
        """Bytes that all CTAs of the walked waves request."""
        return self._asked.total()

    @property
    def missed_by_wave(self) -> list[int]:
        """Bytes that each walked wave reads from DRAM."""
        found = [0] * self._waves
        for (wave, _), missed in self._missed.items():
            found[wave] += missed
        return found

    def status(self, cta: int) -> tuple[tuple[L2Status, ...], ...]:
        """Return the L2 status of a CTA's fetches, indexed [tensor][turn]."""
        wave = cta // self._resident
        return tuple(self._status[wave, tensor, key] for tensor, key in enumerate(self._kernel.walked(cta)))

    def brought(self, ctas: Sequence[int]) -> dict[tuple[int, int], int]:
        """
        Return what a line that some CTAs lack stands for: lines that the chip reads from DRAM, per mille.

        CTAs of a sample share fewer lines than all do. They lack more, for what they request, than the chip reads, and
        those of one tensor more than those of another.

        Args:
            ctas: The CTAs.

        Returns:
            The lines by wave and tensor.
        """
        sharers: dict[tuple[int, int], Counter[Hashable]] = {}
        for cta in ctas:
            wave = cta // self._resident
            for tensor, key in enumerate(self._kernel.walked(cta)):
                sharers.setdefault((wave, tensor), Counter())[key] += 1
        found: dict[tuple[int, int], int] = {}
        for place, own in sharers.items():
            asked, lacked = self._lacked(place, own)
            part = self._missed[place] * asked
            found[place] = part * PER_MILLE * PER_MILLE // (self._asked[place] * lacked) if lacked else 0
        return found

    def _lacked(self, place: tuple[int, int], sharers: Mapping[Hashable, int]) -> tuple[int, int]:
        """
        Return the bytes that some CTAs of a wave request of a tensor, and those that they lack, in thousandths.

        Args:
            place: The wave and the tensor.
            sharers: Those of them that fetch the same data, by key.
        """
        asked = lacked = 0
        touched: dict[Hashable, int] = {}
        for key, count in sharers.items():
            slow = [status.slow for status in self._status[*place, key]]
            if self._own is not None:
                sizes = self._own[place[1], key]
                asked += count * int(sizes.sum())
                lacked += int(sizes @ np.array(slow, dtype=np.int64))
                continue
            for touches, waits in zip(self._touches_of(place[1], key), slow, strict=True):
                for touch in touches:
                    before = touched.get(touch.granule, 0)
                    touched[touch.granule] = before | touch.parts
                    asked += count * touch.parts.bit_count() * touch.size
                    lacked += (touch.parts & ~before).bit_count() * touch.size * waits
        return asked, lacked

    def bytes_missed(self) -> int:
        """
        Return the bytes that the whole grid reads from DRAM.

        Waves that were not walked are assumed to read as much as the later half of those walked. The earlier half is
        left out because it includes data that is read once.
        """
        ctas, resident = len(self._kernel.launched), self._resident
        walked, later = min(self._waves * resident, ctas), self._waves // 2
        steady = sum(self.missed_by_wave[later:])
        return self._missed.total() + steady * (ctas - walked) // (walked - later * resident)

    def _sharers(self, wave: int) -> _Sharers:
        """Return for each tensor the keys that a wave fetches, in the order of its CTAs, and the CTAs of each."""
        ctas = range(wave * self._resident, min((wave + 1) * self._resident, len(self._kernel.launched)))
        sharers: _Sharers = []
        by_group: list[Counter[tuple[Hashable, int]]] = []
        for cta in ctas:
            group = self._groups[cta % self._resident]
            for tensor, key in enumerate(self._kernel.walked(cta)):
                if tensor == len(sharers):
                    sharers.append({})
                    by_group.append(Counter())
                sharers[tensor][key] = sharers[tensor].get(key, 0) + 1
                by_group[tensor][key, group] += 1
        for tensor, counted in enumerate(by_group):
            self._looked[wave, tensor] = self._looked_up(counted.values())
        return sharers

    def _looked_up(self, sharers: Collection[int]) -> int:
        """
        Return the requests, per mille, that are looked up where CTAs that fetch the same data wait for it together.

        In each group of SMs the first one's is, and the first after as many as are merged with one (D24).

        Args:
            sharers: CTAs of each group that fetch the same data.
        """
        return sum(-(-count // self._most_merged) for count in sharers) * PER_MILLE // sum(sharers)

    def _own_bytes(self, sharers: Sequence[_Sharers]) -> dict[tuple[int, Hashable], IntArray] | None:
        """Return the bytes of each fetch by tensor and key; None if fetches share granules or a key has fewer turns."""
        own: dict[tuple[int, Hashable], IntArray] = {}
        for tensor, key in dict.fromkeys(
            (tensor, key) for one in sharers for tensor, of in enumerate(one) for key in of
        ):
            sizes = self._kernel.own_bytes(tensor, key)
            if sizes is None:
                return None
            own[tensor, key] = sizes
        return own if len(set(map(len, own.values()))) == 1 else None

    def _walk_apart(
        self, sharers: Sequence[_Sharers], own: dict[tuple[int, Hashable], IntArray], capacity: int
    ) -> None:
        """Walk all waves at once, where every fetch is a granule of its own."""
        stream = {key: number for number, key in enumerate(own)}
        sizes = np.stack(list(own.values()))
        waves = [[stream[tensor, key] for tensor, of in enumerate(one) for key in of] for one in sharers]
        for wave, (one, missed) in enumerate(
            zip(sharers, missed_fetches(waves, sizes, capacity, self._stored), strict=True)
        ):
            end = 0
            for tensor, of in enumerate(one):
                begin, end = end, end + len(of)
                of_fetch, slow = sizes[waves[wave][begin:end]], missed[begin:end]
                asked = (of_fetch * np.array(list(of.values()))[:, None]).sum(axis=0)
                from_dram = (of_fetch * slow).sum(axis=0)
                chip = (from_dram * PER_MILLE // np.maximum(asked, 1)).tolist()
                shared = np.maximum(asked // np.maximum(of_fetch.sum(axis=0), 1), 1).tolist()
                for key, row in zip(of, (slow * PER_MILLE).tolist(), strict=True):
                    looked = self._looked[wave, tensor]
                    self._status[wave, tensor, key] = tuple(
                        _l2_status(*one, looked) for one in zip(row, chip, shared, strict=True)
                    )
                self._asked[wave, tensor], self._missed[wave, tensor] = int(asked.sum()), int(from_dram.sum())

    def _walk_wave(self, wave: int, sharers: _Sharers) -> None:
        touches = [{key: self._touches_of(tensor, key) for key in own} for tensor, own in enumerate(sharers)]
        longest = max((len(one) for own in touches for one in own.values()), default=0)
        collected: dict[tuple[int, int, Hashable], list[L2Status]] = {}
        for turn in range(longest):
            for tensor, own in enumerate(sharers):
                going = {key: touches[tensor][key][turn] for key in own if turn < len(touches[tensor][key])}
                for key, status in self._walk_turn(wave, tensor, going, own).items():
                    collected.setdefault((wave, tensor, key), []).append(status)
        empty = {(wave, tensor, key): () for tensor, own in enumerate(sharers) for key in own}
        self._status.update(empty | {key: tuple(value) for key, value in collected.items()})

    def _touches_of(self, tensor: int, key: Hashable) -> Sequence[Sequence[Touch]]:
        if (tensor, key) not in self._touches:
            self._touches[tensor, key] = self._kernel.touches(tensor, key)
        return self._touches[tensor, key]

    def _walk_turn(
        self, wave: int, tensor: int, going: dict[Hashable, Sequence[Touch]], sharers: dict[Hashable, int]
    ) -> dict[Hashable, L2Status]:
        """
        Walk one fetch of one tensor by all CTAs of a wave.

        Args:
            wave: The wave.
            tensor: The tensor.
            going: The granules that each key's fetch touches.
            sharers: CTAs that fetch the same data, by key.
        """
        coming: dict[Hashable, int] = {}
        touched: dict[Hashable, int] = {}
        walked = {key: self._walk_fetch(touches, coming, touched) for key, touches in going.items()}
        asked = sum(one.asked * sharers[key] for key, one in walked.items())
        missed = sum(one.missed for one in walked.values())
        self._asked[wave, tensor] += asked
        self._missed[wave, tensor] += missed
        chip = missed * PER_MILLE // asked if asked else 0
        shared = max(1, asked // max(1, sum(one.fresh for one in walked.values())))
        looked = self._looked[wave, tensor]
        if len(sharers) == sum(sharers.values()):
            # Each CTA has a key of its own, and parts of its granules are others' too: whose is not known.
            looked = self._looked_up([shared])
        return {
            key: _l2_status(one.slow * PER_MILLE // one.asked if one.asked else 0, chip, shared, looked)
            for key, one in walked.items()
        }

    def _walk_fetch(
        self, touches: Sequence[Touch], coming: dict[Hashable, int], touched: dict[Hashable, int]
    ) -> _Walked:
        """
        Walk one tile's fetch.

        Args:
            touches: The granules that it touches.
            coming: Parts of granules that this turn of the wave reads from DRAM.
            touched: Parts of granules that this turn of the wave touches.
        """
        walked = _Walked()
        for touch in touches:
            missing = self._held.touch(touch)
            bringing = coming.get(touch.granule, 0) | missing
            if bringing:
                coming[touch.granule] = bringing
            before = touched.get(touch.granule, 0)
            touched[touch.granule] = before | touch.parts
            walked.fresh += (touch.parts & ~before).bit_count() * touch.size
            walked.asked += touch.parts.bit_count() * touch.size
            walked.missed += missing.bit_count() * touch.size
            walked.slow += (touch.parts & bringing).bit_count() * touch.size
        return walked
