"""Turns the addresses of warps' lanes into requests of global memory and wavefronts in shared memory."""

from dataclasses import dataclass, field
from typing import Final, NamedTuple

import numpy as np

from gpusim.arrays import BoolArray, IntArray
from gpusim.execute.lane_masks import active_lanes
from gpusim.layout.banks import Banks, access_wavefronts, ldmatrix_wavefronts
from gpusim.sim.columns import Column, column
from gpusim.sim.footprint import l1_wavefronts
from gpusim.units import LINE_BYTES, SECTOR_BYTES, SECTORS_PER_LINE, WORD_BYTES

_KIND_FACTOR: Final = 0x5851F42D4C957F2D
"""Odd factor by which sizes and kinds enter the hash of a pattern. Source: Knuth's MMIX generator."""

_IDLE: Final = -1


class Accesses(NamedTuple):
    """
    Accesses of warps.

    Attributes:
        addresses: Byte address of each lane, shape [accesses, 32].
        active: Mask of the lanes that take part.
        sizes: Bytes of each lane; for ldmatrix, the matrices.
        lowest: Lowest address of the lanes that take part.
        hashes: Hash of these lanes' addresses, relative to the line of the lowest one.
    """

    addresses: IntArray
    active: IntArray
    sizes: IntArray
    lowest: IntArray
    hashes: IntArray

    def of(self, rows: IntArray) -> "Accesses":
        """Return some of the accesses."""
        return Accesses(*(values[rows] for values in self))

    @property
    def lanes(self) -> BoolArray:
        """Whether each lane takes part, shape [accesses, 32]."""
        return active_lanes(self.active)

    def relative(self) -> IntArray:
        """Return the addresses relative to the line of the lowest one; -1 in lanes that take no part."""
        line = self.lowest // LINE_BYTES * LINE_BYTES
        return np.where(self.lanes, self.addresses - line[:, None], _IDLE)

    def keys(self, kinds: IntArray) -> IntArray:
        """Return a 64-bit key of each pattern of addresses with its kind."""
        with np.errstate(over="ignore"):
            found: IntArray = self.hashes + (kinds + 1) * _KIND_FACTOR
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
    The distinct requests of warp instructions to global memory, in the columns of ``sim.columns.Data`` and ``Traces``.

    Request 0 is that of an instruction without active lanes. Lines count from the first line that a request touches.
    """

    banks: Banks
    asked: Column = field(default_factory=lambda: column((0,)))
    touched: Column = field(default_factory=lambda: column((0, 0)))
    l1_wavefronts: Column = field(default_factory=lambda: column((0,)))
    line: Column = field(default_factory=lambda: column(())[:0])
    mask: Column = field(default_factory=lambda: column(())[:0])
    masked: Column = field(default_factory=lambda: column(())[:0])
    passes: Column = field(default_factory=lambda: column(())[:0])
    _seen: _Seen = field(default_factory=_Seen)

    def of(self, accesses: Accesses) -> tuple[IntArray, IntArray]:
        """Return the request of each access, and the first line that it touches; (0, 0) without active lanes."""
        some, keys = accesses.active != 0, accesses.keys(accesses.sizes)
        request, known = self._seen.find(keys)
        new = np.flatnonzero(~known & some)
        if len(new):
            distinct, place = np.unique(keys[new], return_index=True)
            chosen = accesses.of(new[place])
            self._seen.add(distinct, self._add(chosen.relative(), chosen.lanes, chosen.sizes))
            request, _ = self._seen.find(keys)
        return np.where(some, request, 0), np.where(some, accesses.lowest // LINE_BYTES, 0)

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
        words, most = _sector_contents(relative, active, sizes, row, sectors[row, lane])
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
        self.masked.frombytes(np.maximum.reduceat(words < SECTOR_BYTES, starts).astype(np.int64).tobytes())
        self.passes.frombytes(np.add.reduceat(most, starts).astype(np.int64).tobytes())
        return numbers.astype(np.int64)


def _sector_contents(
    relative: IntArray, active: BoolArray, sizes: IntArray, row: IntArray, sector: IntArray
) -> tuple[IntArray, IntArray]:
    """
    Return for each sector of each access the bytes that lanes access, and the most lanes at one address.

    Args:
        relative, active, sizes: The accesses.
        row, sector: The access and the number of each sector, in order.
    """
    at, lane = np.nonzero(active)
    address = relative[at, lane]
    order = np.lexsort((address, at))
    at, address = at[order], address[order]
    fresh = np.ones(len(at), dtype=np.bool_)
    fresh[1:] = (at[1:] != at[:-1]) | (address[1:] != address[:-1])
    first = np.flatnonzero(fresh)
    alike = np.diff(np.append(first, len(at)))
    of_sector = np.searchsorted(row << 40 | sector, at[first] << 40 | address[first] // SECTOR_BYTES)
    covered, most = np.zeros(len(row), dtype=np.int64), np.zeros(len(row), dtype=np.int64)
    np.add.at(covered, of_sector, sizes[at[first]])
    np.maximum.at(most, of_sector, alike)
    return covered, most


LOADED, STORED, MATRICES, SPILLED, UPDATED, DISTINCT, KINDS = range(7)
"""Kinds of access to banked memory, and their number: plain loads, stores, ldmatrix, local memory, atomics;
and accesses that take a pass for each distinct address, which are to no banked memory."""


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

    def of(self, accesses: Accesses, kinds: IntArray) -> IntArray:
        """Return the wavefronts of each access; kinds are ``LOADED`` to ``UPDATED``."""
        keys = accesses.keys(accesses.sizes * KINDS + kinds)
        wavefronts, known = self._seen.find(keys)
        new = np.flatnonzero(~known)
        if len(new):
            distinct, place = np.unique(keys[new], return_index=True)
            rows = new[place]
            chosen = accesses.of(rows)
            found = self._evaluate(chosen.relative(), chosen.lanes, chosen.sizes, kinds[rows])
            self._seen.add(distinct, found)
            wavefronts, _ = self._seen.find(keys)
        return wavefronts

    def _evaluate(self, relative: IntArray, active: BoolArray, sizes: IntArray, kinds: IntArray) -> IntArray:
        found = np.zeros(len(relative), dtype=np.int64)
        for kind, size in {(int(kind), int(size)) for kind, size in zip(kinds, sizes, strict=True)}:
            own = (kinds == kind) & (sizes == size)
            addresses, taking = relative[own], active[own]
            if kind == MATRICES:
                found[own] = ldmatrix_wavefronts(addresses, size)
            elif kind == DISTINCT:
                ordered = np.sort(addresses, axis=1)
                found[own] = (np.diff(ordered, axis=1) > 0).sum(axis=1) + (ordered[:, 0] != _IDLE)
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
