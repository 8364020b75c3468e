"""Walks the CTAs of a grid through the L2 at the pace of a sample, to count the bytes that miss."""

from collections.abc import Hashable, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np

from gpusim.arrays import BoolArray, FloatArray, IntArray
from gpusim.sim.core.engine import engine
from gpusim.sim.cta_scheduler import CtaLife
from gpusim.sim.timed_kernel import KernelData

MOST_WALK_STEPS: Final = 64
"""Steps in which a CTA fetches its data: fetches of one step are walked together."""

_LEAST_RATE: Final = 0.02
"""Least rate of the youngest CTA of an SM, relative to the mean: it advances while the others wait."""

_PIECES_AT_ONCE: Final = 1 << 20
"""Approximate number of pieces of granules that are made at once."""

_STEPS_AT_ONCE: Final = 1 << 17
"""Steps that are walked at once; it bounds the memory used."""


class CtaProgress(NamedTuple):
    """
    The progress of a CTA, as a piecewise linear function of time.

    Attributes:
        at: Cycles, from its first cycle to the cycle after its last.
        done: The part of its work done by then, 0 to 1.
    """

    at: FloatArray
    done: FloatArray


def progress_of_chip(lives: Sequence[CtaLife], working: int, ctas: int) -> list[CtaProgress]:
    """
    Return the progress of a grid's CTAs, in launch order, from the lives of a sample's CTAs.

    The SMs of the chip repeat the SMs of the sample round robin. CTAs go to SMs in the order in which slots become
    free, as the CTA scheduler hands them out. If the repeated SMs have fewer CTAs than the grid, the grid's last CTAs
    progress as the sample's last CTA.

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
    """A part of a CTA's life in which the number of ``older`` CTAs on its SM stays the same."""

    begin: int
    end: int
    older: int


def _ranked(lives: Sequence[tuple[int, int]]) -> list[list[_Stretch]]:
    """Cut the life of each CTA of an SM where other CTAs begin or end. ``lives`` are sorted by begin."""
    found: list[list[_Stretch]] = []
    beside: list[tuple[int, int]] = []
    for place, (begin, end) in enumerate(lives):
        beside = [one for one in beside if one[1] > begin]
        cuts = {begin, end, *(cut for one in beside for cut in one if begin < cut < end)}
        for later in lives[place + 1 :]:
            if later[0] >= end:
                break
            cuts.add(later[0])
        own = [_Stretch(first, last, sum(one[1] > first for one in beside)) for first, last in pairwise(sorted(cuts))]
        found.append(own)
        beside.append((begin, end))
    return found


def _rates(lives: Sequence[Sequence[_Stretch]]) -> FloatArray:
    """
    Return the rate of a CTA, as a part of its work per cycle, by the number of older CTAs on its SM.

    The SM issues for the oldest CTA first (D4), so younger CTAs are slower. The rates are a least-squares fit to all
    lives, in each of which a CTA does all of its work once.
    """
    most = max(stretch.older for own in lives for stretch in own) + 1
    spent = np.zeros((len(lives), most))
    for place, own in enumerate(lives):
        for stretch in own:
            spent[place, stretch.older] += stretch.end - stretch.begin
    mean = spent.sum() / len(lives)
    fitted = np.linalg.lstsq(spent / mean, np.ones(len(lives)), rcond=None)[0]
    rates: FloatArray = np.maximum(fitted, _LEAST_RATE) / mean
    return rates


def _progress(own: Sequence[_Stretch], rates: FloatArray) -> CtaProgress:
    """Return the progress of a CTA, scaled so that all of its work is done when it ends."""
    at = np.array([own[0].begin, *(stretch.end for stretch in own)], dtype=np.float64)
    done = np.cumsum([0.0, *(float(rates[one.older]) * (one.end - one.begin) for one in own)])
    return CtaProgress(at, done / done[-1])


def bytes_missed(kernel: KernelData, progress: Sequence[CtaProgress], rooms: Sequence[int] = (100,)) -> list[int]:
    """
    Return the bytes that copies of a grid's CTAs read from DRAM, for some sizes of the L2.

    A CTA fetches its data in the order of its turns, evenly over its work, in at most ``MOST_WALK_STEPS`` steps. The L2
    is an LRU cache of the size of one partition (D11); a CTA's stores enter it when the CTA ends. So if two CTAs share
    data, the later one hits unless the data used in between has evicted it.

    Args:
        kernel: The kernel.
        progress: Progress of its CTAs.
        rooms: Sizes of the L2, in per cent of the machine's.
    """
    machine, ctas = kernel.machine, len(kernel.launched)
    steps = _Steps(kernel)
    walked = [kernel.walked(cta) for cta in range(ctas)]
    for tensor, keys in enumerate(zip(*filter(None, walked), strict=True)):
        steps.make(tensor, list(dict.fromkeys(keys)))
    of_cta = [[steps.of(tensor, key) for tensor, key in enumerate(own)] for own in walked]
    counts = [max((count for _, count in own), default=0) for own in of_cta]
    middles = {count: (2 * np.arange(count) + 1) / (2 * count) for count in set(counts) if count}
    times = [np.interp(middles[count], one.done, one.at) for count, one in zip(counts, progress, strict=True) if count]
    if not times:
        return [0] * len(rooms)
    owner = np.repeat(np.arange(ctas), counts)
    step = np.concatenate([np.arange(count) for count in counts])
    order = np.argsort(np.concatenate(times), kind="stable")
    stored = kernel.stored_bytes // ctas
    granules, capacity = steps.whole(), machine.l2.bytes // machine.l2.partitions
    held = [engine().module.Granules(capacity * room // 100, granules + ctas) for room in rooms]
    found = [0] * len(rooms)
    tensors = max(map(len, of_cta))
    table = np.array([[*own, *[(0, 0)] * (tensors - len(own))] for own in of_cta], dtype=np.int64)
    first, length, last = table[..., 0], table[..., 1], np.array(counts, dtype=np.int64) - 1
    for begin in range(0, len(order), _STEPS_AT_ONCE):
        part = order[begin : begin + _STEPS_AT_ONCE]
        cta, number = owner[part], step[part]
        fetches = first[cta] + number[:, None]
        granule, parts, size, row = steps.pieces(fetches, number[:, None] < length[cta])
        if stored:
            ends = np.flatnonzero(number == last[cta])
            place = np.searchsorted(row, ends, side="right")
            granule = np.insert(granule, place, granules + cta[ends])
            parts, size = np.insert(parts, place, 1), np.insert(size, place, stored)
            # Stores read nothing from DRAM: they get a row of their own behind all others.
            row = np.insert(row, place, len(part))
        columns = [np.ascontiguousarray(one).data for one in (row, granule, parts, size)]
        turns = np.arange(1 + begin, 2 + begin + len(part), dtype=np.int64).data
        for place_of_room, content in enumerate(held):
            figures = np.zeros((4, len(part) + 1), dtype=np.int64)
            content.walk(columns, turns, [one.data for one in figures])
            found[place_of_room] += int(figures[1, :-1].sum())
    return found


class _Steps:
    """The pieces of the L2's granules that the steps of tiles access. The pieces of a tile are made once."""

    def __init__(self, kernel: KernelData) -> None:
        self._kernel = kernel
        self._known: dict[tuple[int, Hashable], tuple[int, int]] = {}
        self._steps = self._granules = 0
        self._first_of: dict[int, int] = {}
        self._made: list[tuple[IntArray, IntArray, IntArray, IntArray]] = []
        self._columns: tuple[IntArray, IntArray, IntArray, IntArray] | None = None

    def make(self, tensor: int, keys: Sequence[Hashable]) -> None:
        """Make the pieces of a tensor's tiles, many at once where their granules are shared."""
        kernel = self._kernel
        apart = [kernel.own_bytes(tensor, key) for key in keys]
        own = [sizes for sizes in apart if sizes is not None]
        if len(own) == len(keys):
            for key, sizes in zip(keys, own, strict=True):
                self._add(tensor, (key,), [min(len(sizes), MOST_WALK_STEPS)], self._pieces_apart(sizes))
            return
        turns = np.array([kernel.turns(tensor, key) for key in keys], dtype=np.int64)
        each = max(1, _PIECES_AT_ONCE // max(1, int(turns.max()) * kernel.most_granules(tensor)))
        for begin in range(0, len(keys), each):
            part = slice(begin, begin + each)
            steps = np.minimum(turns[part], MOST_WALK_STEPS)
            self._add(tensor, keys[part], steps.tolist(), self._pieces_shared(tensor, keys[part], turns[part], steps))

    def _add(
        self,
        tensor: int,
        keys: Sequence[Hashable],
        steps: Sequence[int],
        pieces: tuple[IntArray, IntArray, IntArray, IntArray],
    ) -> None:
        """Add the pieces of some tiles; ``steps`` is the number of steps of each."""
        self._made.append(pieces)
        for key, count in zip(keys, steps, strict=True):
            self._known[tensor, key] = self._steps, count
            self._steps += count

    def of(self, tensor: int, key: Hashable) -> tuple[int, int]:
        """Return the number of the first step of a tensor's tile, and the number of its steps."""
        return self._known[tensor, key]

    def whole(self) -> int:
        """Complete the pieces, and return the number of granules."""
        counts, granules, masks, sizes = (np.concatenate(one) for one in zip(*self._made, strict=True))
        self._columns = (np.concatenate([[0], counts.cumsum()]), granules, masks, sizes)
        return self._granules

    def pieces(self, steps: IntArray, asked: BoolArray) -> tuple[IntArray, IntArray, IntArray, IntArray]:
        """
        Return the pieces of some steps, in order: granule, mask of its parts, bytes of a part, and row.

        Args:
            steps: Numbers of steps, shape [rows, tensors].
            asked: Mask of the steps that exist.
        """
        if self._columns is None:
            raise RuntimeError("the pieces are not complete")
        begins, granule, parts, size = self._columns
        flat = steps[asked]
        counts = begins[flat + 1] - begins[flat]
        ends = counts.cumsum()
        place = (
            np.arange(ends[-1] if len(ends) else 0) - np.repeat(ends - counts, counts) + np.repeat(begins[flat], counts)
        )
        row = np.repeat(np.nonzero(asked)[0], counts)
        return granule[place], parts[place], size[place], row

    def _pieces_apart(self, sizes: IntArray) -> tuple[IntArray, IntArray, IntArray, IntArray]:
        """Return the pieces of a tile whose fetches have granules of their own: one piece for each step."""
        steps = min(len(sizes), MOST_WALK_STEPS)
        granule = self._granules + np.arange(steps)
        self._granules += steps
        size = np.add.reduceat(sizes, len(sizes) * np.arange(steps) // steps)
        return np.ones(steps, dtype=np.int64), granule, np.ones(steps, dtype=np.int64), size

    def _pieces_shared(
        self, tensor: int, keys: Sequence[Hashable], turns: IntArray, steps: IntArray
    ) -> tuple[IntArray, IntArray, IntArray, IntArray]:
        """Return the pieces of each step of some tiles, and the columns of all: granule, mask, bytes of a part."""
        granules = self._kernel.granules(tensor)
        if tensor not in self._first_of:
            self._first_of[tensor] = self._granules
            self._granules += granules
        touched = self._kernel.touched(tensor, tuple(keys), 0, int(turns.max()))
        step = (
            steps.cumsum()[touched.key] - steps[touched.key] + touched.turn * steps[touched.key] // turns[touched.key]
        )
        first_of = self._first_of[tensor]
        if turns.max() <= MOST_WALK_STEPS:  # each step is one fetch, whose pieces are in order
            order = np.argsort(step, kind="stable")
            counts = np.bincount(step, minlength=int(steps.sum()))
            return counts, first_of + touched.granule[order], touched.parts[order], touched.size[order]
        place, first, which = np.unique(step * granules + touched.granule, return_index=True, return_inverse=True)
        parts = np.zeros(len(place), dtype=np.int64)
        np.bitwise_or.at(parts, which, touched.parts)
        counts = np.bincount(place // granules, minlength=int(steps.sum()))
        return counts, first_of + touched.granule[first], parts, touched.size[first]
