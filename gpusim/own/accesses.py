"""Turns the addresses of warps' lanes into requests of global memory and wavefronts in shared memory."""

from dataclasses import dataclass, field
from typing import Final

import numpy as np

from gpusim.arrays import BoolArray, IntArray
from gpusim.layout.banks import Banks, access_wavefronts, ldmatrix_wavefronts
from gpusim.sim.columns import Column, column
from gpusim.sim.footprint import l1_wavefronts
from gpusim.units import LINE_BYTES, SECTOR_BYTES, SECTORS_PER_LINE, WARP_SIZE, WORD_BYTES

_FACTORS: Final = np.random.default_rng(59).integers(1 << 62, size=WARP_SIZE + 1, dtype=np.int64) * 2 + 1
"""Odd factors of the hash by which equal patterns of addresses are found."""

_IDLE: Final = -1


def _hashes(patterns: IntArray, kind: IntArray) -> IntArray:
    """Return a 64-bit hash of each row of addresses and its kind."""
    with np.errstate(over="ignore"):
        mixed = (patterns + 1) * _FACTORS[:WARP_SIZE]
        mixed ^= mixed >> 29
        found: IntArray = (mixed * _FACTORS[WARP_SIZE]).sum(axis=1) + kind * _FACTORS[0]
        return found


@dataclass(slots=True)
class _Seen:
    """Patterns that were evaluated, as sorted hashes, with a value for each."""

    hashes: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    values: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    def find(self, wanted: IntArray) -> tuple[IntArray, BoolArray]:
        """Return the value of each hash, and whether it is known."""
        if not len(self.hashes):
            return np.zeros(len(wanted), dtype=np.int64), np.zeros(len(wanted), dtype=np.bool_)
        place = np.minimum(np.searchsorted(self.hashes, wanted), len(self.hashes) - 1)
        return self.values[place], self.hashes[place] == wanted

    def add(self, hashes: IntArray, values: IntArray) -> None:
        """Add hashes that are not known."""
        together = np.concatenate([self.hashes, hashes])
        order = np.argsort(together, kind="stable")
        self.hashes, self.values = together[order], np.concatenate([self.values, values])[order]


@dataclass(slots=True)
class Requests:
    """
    The distinct requests of warp instructions to global memory, in the columns of ``sim.columns.Data``.

    Request 0 is that of an instruction without active lanes. Lines count from the first line that a request touches.
    """

    banks: Banks
    asked: Column = field(default_factory=lambda: column((0,)))
    touched: Column = field(default_factory=lambda: column((0, 0)))
    l1_wavefronts: Column = field(default_factory=lambda: column((0,)))
    line: Column = field(default_factory=lambda: column(())[:0])
    mask: Column = field(default_factory=lambda: column(())[:0])
    _seen: _Seen = field(default_factory=_Seen)

    def of(self, addresses: IntArray, active: BoolArray, sizes: IntArray) -> tuple[IntArray, IntArray]:
        """
        Return the request of each access, and the first line that it touches; (0, 0) without active lanes.

        Args:
            addresses: Byte addresses, shape [accesses, 32].
            active: Lanes that take part.
            sizes: Bytes of each lane.
        """
        first = np.where(active, addresses, np.iinfo(np.int64).max).min(axis=1) // LINE_BYTES
        some = active.any(axis=1)
        first = np.where(some, first, 0)
        relative = np.where(active, addresses - (first * LINE_BYTES)[:, None], _IDLE)
        hashes = _hashes(relative, sizes)
        request, known = self._seen.find(hashes)
        new = np.flatnonzero(~known & some)
        if len(new):
            distinct, place = np.unique(hashes[new], return_index=True)
            rows = new[place]
            self._seen.add(distinct, self._add(relative[rows], active[rows], sizes[rows]))
            request, _ = self._seen.find(hashes)
        return np.where(some, request, 0), first

    def _add(self, relative: IntArray, active: BoolArray, sizes: IntArray) -> IntArray:
        """Add requests; return their numbers."""
        numbers = np.arange(len(self.asked), len(self.asked) + len(relative))
        sectors = np.sort(np.where(active, relative // SECTOR_BYTES, 1 << 40), axis=1)
        distinct = sectors < 1 << 40
        distinct[:, 1:] &= sectors[:, 1:] != sectors[:, :-1]
        lines = np.where(distinct, sectors // SECTORS_PER_LINE, -1)
        row, lane = np.nonzero(distinct)
        line, bit = lines[row, lane], 1 << sectors[row, lane] % SECTORS_PER_LINE
        begins = np.ones(len(row), dtype=np.bool_)
        begins[1:] = (row[1:] != row[:-1]) | (line[1:] != line[:-1])
        starts = np.flatnonzero(begins)
        masks = np.add.reduceat(bit, starts)
        counts = np.bincount(row[starts], minlength=len(relative))
        wavefronts = np.zeros(len(relative), dtype=np.int64)
        for size in np.unique(sizes):
            own = sizes == size
            wavefronts[own] = l1_wavefronts(np.where(active, relative, 0)[own], active[own], int(size), self.banks)
        self.asked.frombytes(distinct.sum(axis=1).astype(np.int64).tobytes())
        self.touched.frombytes((self.touched[-1] + np.cumsum(counts)).astype(np.int64).tobytes())
        self.l1_wavefronts.frombytes(wavefronts.tobytes())
        self.line.frombytes(line[starts].astype(np.int64).tobytes())
        self.mask.frombytes(masks.astype(np.int64).tobytes())
        return numbers.astype(np.int64)


LOADED, STORED, MATRICES, SPILLED, UPDATED = range(5)
"""Kinds of access to banked memory: plain loads, stores, ldmatrix, local memory, atomics."""


@dataclass(slots=True)
class SharedWavefronts:
    """
    Evaluates the wavefronts of accesses to shared and local memory, each distinct pattern once.

    Attributes:
        banks: The banks.
        atomic_wavefronts: Wavefronts that an atomic takes for each lane that accesses the same word.
    """

    banks: Banks
    atomic_wavefronts: int
    _seen: _Seen = field(default_factory=_Seen)

    def of(self, addresses: IntArray, active: BoolArray, sizes: IntArray, kinds: IntArray) -> IntArray:
        """
        Return the wavefronts of each access.

        Args:
            addresses: Byte addresses, shape [accesses, 32].
            active: Lanes that take part.
            sizes: Bytes of each lane; for ldmatrix, the matrices.
            kinds: ``LOADED`` to ``UPDATED``.
        """
        row = self.banks.row_bytes
        lowest = np.where(active, addresses, np.iinfo(np.int64).max).min(axis=1) // row * row
        relative = np.where(active, addresses - lowest[:, None], _IDLE)
        hashes = _hashes(relative, sizes * 8 + kinds)
        wavefronts, known = self._seen.find(hashes)
        new = np.flatnonzero(~known)
        if len(new):
            distinct, place = np.unique(hashes[new], return_index=True)
            rows = new[place]
            self._seen.add(distinct, self._evaluate(relative[rows], active[rows], sizes[rows], kinds[rows]))
            wavefronts, _ = self._seen.find(hashes)
        return wavefronts

    def _evaluate(self, relative: IntArray, active: BoolArray, sizes: IntArray, kinds: IntArray) -> IntArray:
        found = np.zeros(len(relative), dtype=np.int64)
        for kind, size in {(int(kind), int(size)) for kind, size in zip(kinds, sizes, strict=True)}:
            own = (kinds == kind) & (sizes == size)
            addresses, taking = relative[own], active[own]
            if kind == MATRICES:
                found[own] = ldmatrix_wavefronts(addresses, size)
            elif kind == SPILLED:
                found[own] = taking.any(axis=1) * max(1, size // WORD_BYTES)
            else:
                width = max(size, WORD_BYTES)
                words = np.where(taking, addresses // width * width, 0)
                found[own] = access_wavefronts(
                    words, width, taking, self.banks.count, self.banks.width, loads=kind == LOADED
                )
                if kind == UPDATED:
                    found[own] = np.maximum(found[own], self.atomic_wavefronts * _most_alike(words, taking))
        return found


def _most_alike(words: IntArray, active: BoolArray) -> IntArray:
    """Return for each access the largest number of active lanes that access the same word."""
    alike = (words[:, :, None] == words[:, None, :]) & active[:, :, None] & active[:, None, :]
    most: IntArray = alike.sum(axis=2).max(axis=1)
    return most
