"""
Walks a grid's fetches through the L2 in CTA order, without timing, to find which of them hit.

The CTAs of a wave advance together, fetch by fetch. The L2 replaces the least recently used granule. Each kernel
defines its granules: the data of one fetch of one operand tile, or a part of it that other tiles share.
"""

from collections import Counter
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, overload

import numpy as np

from gpusim.arrays import IntArray
from gpusim.sim.core.engine import engine
from gpusim.sim.footprint import L2Status
from gpusim.sim.pace import Progress, paced, silent
from gpusim.sim.stack_distance import missed_fetches
from gpusim.sim.timed_kernel import KernelData, Touched

PER_MILLE = 1000

_Sharers: TypeAlias = list[dict[Hashable, int]]

_NEVER_FULL = 1 << 62
"""Bytes of an L2 that never evicts."""

_TOUCHES_AT_ONCE = 1 << 21
"""Approximate number of granule accesses that are walked at once. It bounds the memory used."""


@dataclass(frozen=True, slots=True)
class Statuses(Sequence[L2Status]):
    """
    The L2 status of the fetches of one tensor by one CTA. A turn is the number of a fetch in the CTA's program.

    Attributes:
        slow, missed, shared, looked: As in ``L2Status``, by turn.
    """

    slow: tuple[int, ...]
    missed: tuple[int, ...]
    shared: tuple[int, ...]
    looked: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.slow)

    @overload
    def __getitem__(self, turn: int) -> L2Status: ...
    @overload
    def __getitem__(self, turn: slice) -> list[L2Status]: ...
    def __getitem__(self, turn: int | slice) -> L2Status | list[L2Status]:
        """Return the status of one fetch."""
        if isinstance(turn, slice):
            return [self[one] for one in range(*turn.indices(len(self)))]
        return L2Status(self.slow[turn], self.missed[turn], self.shared[turn], self.looked[turn])


@dataclass(frozen=True, slots=True)
class _Found:
    """
    The L2 status of one tensor in one wave.

    Attributes:
        row: Row of each key in ``slow``.
        turns: Fetches of each row.
        slow: Bytes that wait for DRAM, per mille, by key and turn.
        missed, shared, looked: As in ``L2Status``, by turn.
    """

    row: Mapping[Hashable, int]
    turns: Sequence[int]
    slow: IntArray
    missed: tuple[int, ...]
    shared: tuple[int, ...]
    looked: tuple[int, ...]

    def of(self, key: Hashable) -> Statuses:
        """Return the status of the fetches of a key."""
        row = self.row[key]
        turns = self.turns[row]
        return Statuses(
            tuple(self.slow[row, :turns].tolist()), self.missed[:turns], self.shared[:turns], self.looked[:turns]
        )


class L2Walk:
    """
    A walk through the L2, and the status of every fetch of every walked CTA.

    Args:
        kernel: The kernel whose grid is walked.
        resident: Number of CTAs that run at the same time on the whole chip.
        waves: Number of waves to walk. ``status`` knows no CTA of a later wave.
        groups: Group of each CTA's SM in a wave; requests of one group are merged. If empty, all SMs form one group.
        progress: Called with a line every few seconds.
    """

    def __init__(
        self, kernel: KernelData, resident: int, waves: int, groups: Sequence[int] = (), progress: Progress = silent
    ) -> None:
        self._kernel, self._resident, self._waves, machine = kernel, resident, waves, kernel.machine
        self._groups, self._most_merged = groups or [0] * resident, machine.l2.most_merged
        self._looked: dict[tuple[int, int], int] = {}
        # By wave and tensor: bytes that CTAs request, and bytes that come from DRAM.
        self._asked: Counter[tuple[int, int]] = Counter()
        self._missed: Counter[tuple[int, int]] = Counter()
        # Both partitions keep data that SMs of both sides read, so the capacity is that of one partition (D11).
        self._capacity = machine.l2.bytes // machine.l2.partitions
        self._found: dict[tuple[int, int], _Found] = {}
        self._status: dict[tuple[int, int, Hashable], Statuses] = {}
        self._lacking: dict[int, Any] = {}
        self._places_seen = 0
        self._say = paced(progress, "waves walked through the L2", waves)
        sharers = [self._sharers(wave) for wave in range(waves)]
        self._stored = kernel.stored_bytes * resident // len(kernel.launched)
        self._own = self._own_bytes(sharers)
        if self._own is not None:
            self._walk_apart(sharers, self._own)
        else:
            self._walk_granules(sharers)

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

    def status(self, cta: int) -> tuple[Statuses, ...]:
        """Return the L2 status of a CTA's fetches, indexed [tensor][turn]; CTAs that fetch the same have one object."""
        wave = cta // self._resident
        places = [(wave, tensor, key) for tensor, key in enumerate(self._kernel.walked(cta))]
        for place in places:
            if place not in self._status:
                self._status[place] = self._found[place[:2]].of(place[2])
        return tuple(self._status[place] for place in places)

    def brought(self, ctas: Sequence[int]) -> dict[tuple[int, int], int]:
        """
        Return the lines that the chip reads from DRAM for each line that some CTAs miss, per mille.

        The CTAs of a sample share fewer lines than all CTAs of the wave do. Relative to their requests they miss more
        than the chip does, and in one tensor more than in another.

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
        Return the bytes that some CTAs of a wave request of a tensor, and the bytes that they miss, in thousandths.

        Args:
            place: The wave and the tensor.
            sharers: Number of these CTAs that fetch the same data, by key.
        """
        tensor, found, count = place[1], self._found[place], np.array(list(sharers.values()))
        rows = [found.row[key] for key in sharers]
        slow = found.slow[rows]
        if self._own is not None:
            sizes = np.stack([self._own[tensor, key] for key in sharers])
            return int(count @ sizes.sum(axis=1)), int((sizes * slow).sum())
        asked = lacked = 0
        if tensor not in self._lacking:
            self._lacking[tensor] = engine().module.Granules(_NEVER_FULL, self._kernel.granules(tensor))
        # If several CTAs access data, the first of them misses, in whatever turn.
        self._places_seen += 1
        keys, turns = list(sharers), max(found.turns[row] for row in rows)
        each = max(1, _TOUCHES_AT_ONCE // max(1, turns * self._kernel.most_granules(tensor)))
        for begin in range(0, len(keys), each):
            part = slice(begin, begin + each)
            touched = self._kernel.touched(tensor, tuple(keys[part]), 0, turns)
            order = np.argsort(touched.key, kind="stable")
            by_key = Touched(touched.keys, *(one[order] for one in touched[1:]))
            seen = np.full(touched.keys * turns, self._places_seen)
            figures = _walked(self._lacking[tensor], by_key, by_key.key * turns + by_key.turn, seen)
            own, _, _, fresh = figures.reshape(4, touched.keys, turns)
            asked += int(count[part] @ own.sum(axis=1))
            lacked += int((fresh * slow[part, :turns]).sum())
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
        """Return for each tensor the keys that a wave fetches, in CTA order, each with the number of its CTAs."""
        ctas = range(wave * self._resident, min((wave + 1) * self._resident, len(self._kernel.launched)))
        walked = [(self._kernel.walked(cta), group) for cta, group in zip(ctas, self._groups, strict=False)]
        fetching = [(keys, group) for keys, group in walked if keys]
        groups = [group for _, group in fetching]
        sharers: _Sharers = []
        for tensor, keys in enumerate(zip(*(keys for keys, _ in fetching), strict=True)):
            sharers.append(Counter(keys))
            self._looked[wave, tensor] = self._looked_up(Counter(zip(keys, groups, strict=True)).values())
        return sharers

    def _looked_up(self, sharers: Collection[int]) -> int:
        """
        Return the requests, per mille, that take a lookup if CTAs that fetch the same data wait for it together.

        Each group of SMs takes one lookup for every ``most_merged`` requests, rounded up (D24).

        Args:
            sharers: Number of CTAs of each group that fetch the same data.
        """
        return sum(-(-count // self._most_merged) for count in sharers) * PER_MILLE // sum(sharers)

    def _own_bytes(self, sharers: Sequence[_Sharers]) -> dict[tuple[int, Hashable], IntArray] | None:
        """Return the bytes of each fetch by tensor and key; None if fetches share granules or keys differ in turns."""
        own: dict[tuple[int, Hashable], IntArray] = {}
        for tensor, key in dict.fromkeys(
            (tensor, key) for one in sharers for tensor, of in enumerate(one) for key in of
        ):
            sizes = self._kernel.own_bytes(tensor, key)
            if sizes is None:
                return None
            own[tensor, key] = sizes
        return own if len(set(map(len, own.values()))) == 1 else None

    def _walk_apart(self, sharers: Sequence[_Sharers], own: dict[tuple[int, Hashable], IntArray]) -> None:
        """Walk all waves at once. Every fetch must be a granule of its own."""
        stream = {key: number for number, key in enumerate(own)}
        sizes = np.stack(list(own.values()))
        waves = [[stream[tensor, key] for tensor, of in enumerate(one) for key in of] for one in sharers]
        for wave, (one, missed) in enumerate(
            zip(sharers, missed_fetches(waves, sizes, self._capacity, self._stored), strict=True)
        ):
            end = 0
            for tensor, of in enumerate(one):
                begin, end = end, end + len(of)
                asked = sizes[waves[wave][begin:end]]
                from_dram = asked * missed[begin:end]
                self._find(wave, tensor, of, [sizes.shape[1]] * len(of), (asked, from_dram, from_dram, asked))
            self._say(wave + 1)

    def _find(
        self, wave: int, tensor: int, sharers: Mapping[Hashable, int], turns: Sequence[int], walked: Sequence[IntArray]
    ) -> None:
        """
        Store the L2 status of a tensor in a wave.

        Args:
            wave: The wave.
            tensor: The tensor.
            sharers: CTAs that fetch the same data, by key.
            turns: Fetches of each key.
            walked: As ``Granules.walk`` finds them, each of shape [keys, turns].
        """
        of_one, missed, waits, fresh = walked
        count = np.fromiter(sharers.values(), dtype=np.int64)
        asked, from_dram = count @ of_one, missed.sum(axis=0)
        shared = np.maximum(asked // np.maximum(fresh.sum(axis=0), 1), 1)
        looked = np.full_like(shared, self._looked[wave, tensor])
        if self._own is None and len(sharers) == count.sum():
            # Each CTA has a key of its own. It is not known which other CTAs access parts of its granules.
            looked = -(-shared // self._most_merged) * PER_MILLE // shared
        self._asked[wave, tensor], self._missed[wave, tensor] = int(asked.sum()), int(from_dram.sum())
        self._found[wave, tensor] = _Found(
            row={key: row for row, key in enumerate(sharers)},
            turns=turns,
            slow=waits * PER_MILLE // np.maximum(of_one, 1),
            missed=tuple((from_dram * PER_MILLE // np.maximum(asked, 1)).tolist()),
            shared=tuple(shared.tolist()),
            looked=tuple(looked.tolist()),
        )

    def _walk_granules(self, sharers: Sequence[_Sharers]) -> None:
        """Walk every granule of every fetch, turn by turn, and tensor by tensor within a turn."""
        kernel = self._kernel
        first = np.cumsum([0, *(kernel.granules(tensor) for tensor in range(max(map(len, sharers), default=0)))])
        content = engine().module.Granules(self._capacity, int(first[-1]) + len(sharers))
        turns_walked = 0
        for wave, tensors in enumerate(sharers):
            turns = [[kernel.turns(tensor, key) for key in of] for tensor, of in enumerate(tensors)]
            longest = max((max(of, default=0) for of in turns), default=0)
            walked = [np.zeros((4, longest, len(of)), dtype=np.int64) for of in tensors]
            for begin, end in self._parts(tensors, longest):
                touched = [kernel.touched(tensor, tuple(of), begin, end) for tensor, of in enumerate(tensors)]
                found = _walk_together(content, touched, first, (begin, end), turns_walked)
                turns_walked += end - begin
                for of_tensor, part in zip(walked, found, strict=True):
                    of_tensor[:, begin:end] = part
            for tensor, of in enumerate(tensors):
                self._find(wave, tensor, of, turns[tensor], tuple(walked[tensor].swapaxes(1, 2)))
            content.touch(int(first[-1]) + wave, 1, self._stored)
            self._say(wave + 1)

    def _parts(self, tensors: _Sharers, turns: int) -> Iterator[tuple[int, int]]:
        """Yield the intervals of turns that are walked at once."""
        of_turn = sum(len(of) * self._kernel.most_granules(tensor) for tensor, of in enumerate(tensors))
        each = max(1, _TOUCHES_AT_ONCE // max(1, of_turn))
        yield from ((begin, min(turns, begin + each)) for begin in range(0, turns, each))


def _walked(content: Any, touched: Touched, rows: IntArray, turn_of: IntArray) -> IntArray:
    """Walk touches, each of a row; return the four figures of ``Granules.walk`` by row, shape [4, rows]."""
    found = np.zeros((4, len(turn_of)), dtype=np.int64)
    columns = (rows, touched.granule, touched.parts, touched.size)
    content.walk([np.ascontiguousarray(one).data for one in columns], turn_of.data, [one.data for one in found])
    return found


def _walk_together(
    content: Any, touched: Sequence[Touched], first: IntArray, turns: tuple[int, int], before: int
) -> list[IntArray]:
    """
    Walk the fetches of all tensors in some turns.

    Args:
        content: The L2.
        touched: Granules that each tensor's fetches access in these turns.
        first: First granule of each tensor.
        turns: First turn, and the one after the last.
        before: Turns walked so far, in all waves.

    Returns:
        Of each tensor, the four figures of ``Granules.walk``, shape [4, turns, keys].
    """
    begin, end = turns
    keys = np.cumsum([0, *(one.keys for one in touched)])
    tensor_of = np.repeat(np.arange(len(touched)), [len(one.turn) for one in touched])
    turn, key, granule, parts, size = (
        np.concatenate([getattr(one, name) for one in touched]) for name in ("turn", "key", "granule", "parts", "size")
    )
    order = np.argsort(turn * len(touched) + tensor_of, kind="stable")
    rows = (turn - begin) * keys[-1] + keys[tensor_of] + key
    granule = granule + first[tensor_of]
    all_touched = Touched(int(keys[-1]), *(one[order] for one in (turn, key, granule, parts, size)))
    turn_of = np.repeat(np.arange(before + 1, before + 1 + end - begin), keys[-1])
    found = _walked(content, all_touched, rows[order], turn_of).reshape(4, end - begin, -1)
    return [found[..., own : own + one.keys] for own, one in zip(keys.tolist(), touched, strict=False)]
