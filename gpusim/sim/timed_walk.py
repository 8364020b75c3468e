"""Walks the CTAs of a grid through the L2 at the times at which a sample says that they run, to count what misses."""

from collections import OrderedDict
from collections.abc import Hashable, Sequence
from itertools import pairwise
from typing import Final, NamedTuple, TypeAlias

import numpy as np

from gpusim.arrays import FloatArray
from gpusim.sim.cta_scheduler import CtaLife
from gpusim.sim.l2_walk import L2Walk

MOST_STEPS: Final = 64
"""Steps in which a CTA fetches its data: fetches of one step are walked together."""

_LEAST_RATE: Final = 0.02
"""Of the mean rate of all CTAs, what the youngest of an SM has at least: it goes on where the others wait."""

Piece: TypeAlias = tuple[Hashable, int, int]
"""A granule of the L2, the mask of the parts of it that a step touches, and the bytes of each part."""


class Progress(NamedTuple):
    """
    How far a CTA has come, as a line through some points.

    Attributes:
        at: Cycles, from its first one to that after its last.
        done: The part of its work that it has done by then, 0 to 1.
    """

    at: FloatArray
    done: FloatArray


def progress_of_chip(lives: Sequence[CtaLife], working: int, ctas: int) -> list[Progress]:
    """
    Return how the CTAs of a grid come along, in launch order, from the lives of a sample's.

    Each SM of the chip does what one of the sample does; the SMs of the sample are taken in turn. CTAs go to the SMs in
    the order in which they find room, as the CTA scheduler hands them out. Where the sample's SMs stand for a few CTAs
    less than there are, the last ones run as the last of the sample.

    Args:
        lives: CTAs that were simulated.
        working: SMs of the chip that have a CTA.
        ctas: CTAs of the grid.
    """
    of_sm: dict[int, list[tuple[int, int]]] = {}
    for life in lives:
        of_sm.setdefault(life.sm, []).append((life.launched, life.finished))
    spans = [_ranked(sorted(of_sm[sm])) for sm in sorted(of_sm)]
    rates = _rates([one for own in spans for one in own])
    sampled = [[_progress(one, rates) for one in own] for own in spans]
    chip = [(one.at[0], sm, one) for sm in range(working) for one in sampled[sm % len(sampled)]]
    chip.sort(key=lambda place: place[:2])
    return [chip[min(cta, len(chip) - 1)][2] for cta in range(ctas)]


class _Stretch(NamedTuple):
    """A part of a CTA's life, in which as many older CTAs are on its SM."""

    begin: int
    end: int
    older: int


def _ranked(lives: Sequence[tuple[int, int]]) -> list[list[_Stretch]]:
    """Cut the lives of an SM's CTAs where others begin or end; they are in order of their begin."""
    found: list[list[_Stretch]] = []
    beside: list[tuple[int, int]] = []
    for place, (begin, end) in enumerate(lives):
        beside = [one for one in beside if one[1] > begin]
        cuts = {begin, end, *(cut for one in beside for cut in one if begin < cut < end)}
        for later in lives[place + 1 :]:
            if later[0] >= end:
                break
            cuts.add(later[0])
        own = [
            _Stretch(first, last, sum(one[1] > first for one in beside)) for first, last in pairwise(sorted(cuts))
        ]
        found.append(own)
        beside.append((begin, end))
    return found


def _rates(lives: Sequence[Sequence[_Stretch]]) -> FloatArray:
    """
    Return how fast a CTA is beside as many older ones: parts of its work a cycle, by the number of those.

    The SM issues for the oldest CTA first (D4), so that younger ones are slower. Every CTA does its work once in its
    life: the rates are those that fit all lives best, by least squares.
    """
    most = max(stretch.older for own in lives for stretch in own) + 1
    spent = np.zeros((len(lives), most))
    for place, own in enumerate(lives):
        for stretch in own:
            spent[place, stretch.older] += stretch.end - stretch.begin
    mean = spent.sum() / len(lives)
    fitted = np.linalg.lstsq(spent / mean, np.ones(len(lives)), rcond=None)[0]
    return np.maximum(fitted, _LEAST_RATE) / mean


def _progress(own: Sequence[_Stretch], rates: FloatArray) -> Progress:
    """Return how a CTA comes along; what it has done when it ends is all of its work."""
    at = np.array([own[0].begin, *(stretch.end for stretch in own)], dtype=np.float64)
    done = np.cumsum([0.0, *(float(rates[one.older]) * (one.end - one.begin) for one in own)])
    return Progress(at, done / done[-1])


def bytes_missed(walk: L2Walk, progress: Sequence[Progress], rooms: Sequence[int] = (100,)) -> list[int]:
    """
    Return the bytes that copies of a grid's CTAs bring from DRAM, for some sizes of the L2.

    A CTA fetches its data in the order of its turns, evenly over its work, in at most ``MOST_STEPS`` steps. The L2
    replaces what was used least recently, and holds as much as one of its partitions (D11); what a CTA stores takes
    room when it ends. So CTAs that share data and run one behind the other find it if what was used in between leaves
    room for it.

    Args:
        walk: The walk in which CTAs keep step, which knows what each touches.
        progress: How CTAs come along.
        rooms: The sizes, per cent of its own.
    """
    kernel = walk.kernel
    machine, ctas = kernel.machine, len(kernel.launched)
    steps = _Steps(walk)
    of_cta = [[steps.of(tensor, key) for tensor, key in enumerate(kernel.walked(cta))] for cta in range(ctas)]
    counts = [max(map(len, own), default=0) for own in of_cta]
    middles = {count: (2 * np.arange(count) + 1) / (2 * count) for count in set(counts) if count}
    times = [np.interp(middles[count], one.done, one.at) for count, one in zip(counts, progress, strict=True) if count]
    if not times:
        return [0] * len(rooms)
    owner = np.repeat(np.arange(ctas), counts)
    step = np.concatenate([np.arange(count) for count in counts])
    order = np.argsort(np.concatenate(times), kind="stable")
    turns = list(zip(owner[order].tolist(), step[order].tolist(), strict=True))
    stored = kernel.stored_bytes // ctas
    found = []
    for room in rooms:
        held = _Held(machine.l2.bytes // machine.l2.partitions * room // 100)
        for cta, number in turns:
            for own in of_cta[cta]:
                if number < len(own):
                    held.touch(own[number])
            if stored and number == counts[cta] - 1:
                held.touch([((ctas, cta), 1, stored)], brings=False)
        found.append(held.missed)
    return found


class _Held:
    """What the L2 holds of each granule: the mask of its parts, and their bytes, the least recently used first."""

    def __init__(self, capacity: int) -> None:
        self._capacity, self._bytes, self.missed = capacity, 0, 0
        self._parts: OrderedDict[Hashable, tuple[int, int]] = OrderedDict()

    def touch(self, pieces: Sequence[Piece], *, brings: bool = True) -> None:
        """Use some pieces; what is not there is brought from DRAM, or stored."""
        parts = self._parts
        for granule, mask, size in pieces:
            there, own = parts.get(granule, (0, 0))
            if mask & ~there:
                brought = (mask & ~there).bit_count() * size
                parts[granule] = there | mask, own + brought
                self._bytes += brought
                self.missed += brought if brings else 0
            parts.move_to_end(granule)
        while self._bytes > self._capacity and len(parts) > 1:
            self._bytes -= parts.popitem(last=False)[1][1]


class _Steps:
    """The pieces that the steps of a fetched tile touch; each tile's are made once."""

    def __init__(self, walk: L2Walk) -> None:
        self._walk = walk
        self._known: dict[tuple[int, Hashable], list[list[Piece]]] = {}

    def of(self, tensor: int, key: Hashable) -> list[list[Piece]]:
        """Return the pieces of each step of a tensor's tile."""
        if (tensor, key) not in self._known:
            self._known[tensor, key] = self._made(tensor, key)
        return self._known[tensor, key]

    def _made(self, tensor: int, key: Hashable) -> list[list[Piece]]:
        own = self._walk.kernel.own_bytes(tensor, key)
        if own is not None:
            bounds = _bounds(len(own))
            sizes = [int(own[begin:end].sum()) for begin, end in bounds]
            return [[((tensor, key, step), 1, size)] if size else [] for step, size in enumerate(sizes)]
        touches = self._walk.touches_of(tensor, key)
        found = []
        for begin, end in _bounds(len(touches)):
            pieces: dict[Hashable, tuple[int, int]] = {}
            for turn in touches[begin:end]:
                for touch in turn:
                    mask, _ = pieces.get(touch.granule, (0, 0))
                    pieces[touch.granule] = mask | touch.parts, touch.size
            found.append([((tensor, granule), mask, size) for granule, (mask, size) in pieces.items()])
        return found


def _bounds(turns: int) -> list[tuple[int, int]]:
    """Return the first turn of each step, and the one behind its last."""
    steps = min(turns, MOST_STEPS)
    return [(turns * step // steps, turns * (step + 1) // steps) for step in range(steps)]
