"""Gathers what the CTAs of a launch executed, as programs and traces of the core."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from gpusim.arrays import BoolArray, IntArray
from gpusim.execute.core import constants as core
from gpusim.execute.image import Image
from gpusim.execute.lane_masks import active_lanes
from gpusim.execute.run import ExecutedSteps
from gpusim.own.accesses import (
    DISTINCT,
    LOADED,
    MATRICES,
    SPILLED,
    STORED,
    UPDATED,
    Accesses,
    Requests,
    SharedWavefronts,
)
from gpusim.own.paths import Paths
from gpusim.sim.columns import Column, column
from gpusim.sim.core.constants import ARRAY_AT, REQUEST_AT, TENSOR_STRIDE
from gpusim.units import LINE_BYTES, WARP_SIZE

_IN_GLOBAL = -1
"""Kind of accesses to global memory."""


def _empty() -> Column:
    return column(())[:0]


class NamedBarrier(NamedTuple):
    """A barrier instruction by its number in the text, with the barrier and the warps that it met when it executed."""

    at: int
    barrier: int
    warps: int


@dataclass(slots=True)
class LaunchTrace:
    """
    What the CTAs of a launch executed. CTAs that executed the same share their entries.

    Attributes:
        rows: The executor's rows, one for each instruction (``KernelExecution.rows``, reshaped).
        traced: Whether each instruction has an entry in the trace (``traced_in``).
        image: Global memory.
        warps: Warps of a CTA.
        requests, shared: Distinct requests and patterns so far.
        paths: Distinct paths so far.
        programs: First segments of the warps of each distinct program.
        program: Program of each CTA.
        first: First entry of each warp of each CTA.
        array_line: Line from which the entries of each array count, for each CTA.
        access, line: The entries (``sim.columns.Traces``).
        entries: Entries of the decoded code (``machine_code``) before those of ``barriers``.
        barriers: Entry of each barrier whose number or count is in a register.
        instructions: Warp instructions.
        streams: Number of distinct lists of accesses.
    """

    rows: IntArray
    traced: BoolArray
    image: Image
    warps: int
    requests: Requests
    shared: SharedWavefronts
    paths: Paths
    entries: int
    barriers: dict[NamedBarrier, int] = field(default_factory=dict)
    programs: list[list[int]] = field(default_factory=list)
    program: Column = field(default_factory=_empty)
    first: Column = field(default_factory=_empty)
    array_line: Column = field(default_factory=_empty)
    access: Column = field(default_factory=_empty)
    line: Column = field(default_factory=_empty)
    instructions: int = 0
    streams: int = 0
    _program_of: dict[bytes, int] = field(default_factory=dict)
    _stream_of: dict[bytes, int] = field(default_factory=dict)
    _lines: IntArray = field(init=False)
    _has_named: bool = field(init=False)
    _sizes: IntArray = field(init=False)
    _kinds: IntArray = field(init=False)
    _generic: BoolArray = field(init=False)

    def __post_init__(self) -> None:
        addresses = [one.address for one in self.image.allocations] or [0]
        self._lines = np.array(addresses, dtype=np.int64) // LINE_BYTES
        named = (self.rows[:, core.KIND] == core.MEET_BARRIER) & (self.rows[:, core.FORM_4] != 0)
        self._has_named = bool(named.any())
        self._sizes, self._generic = self.rows[:, core.SIZE], self.rows[:, core.SPACE] == core.GENERIC_SPACE
        self._kinds = np.array([_kind(cells) for cells in self.rows], dtype=np.int64)

    @property
    def arrays(self) -> int:
        """Arrays in global memory; one if there is none."""
        return len(self._lines)

    def add(self, ctas: Sequence[Sequence[ExecutedSteps]]) -> None:
        """Add the pieces of CTAs that follow each other in launch order; accesses are evaluated together."""
        pieces = [piece for own in ctas for piece in own]
        entries = self._entries(joined(pieces))
        begin = 0
        for own in ctas:
            executed = np.concatenate([piece.steps for piece in own])
            by = np.concatenate([piece.warps for piece in own])
            traced = by[self.traced[executed]]
            if self._has_named:
                self._name_barriers(executed, own)
            end = begin + len(traced)
            self.instructions += len(executed)
            self._add_program(executed, by)
            self._add_stream(traced, *(part[begin:end] for part in entries))
            begin = end

    def _name_barriers(self, executed: IntArray, pieces: Sequence[ExecutedSteps]) -> None:
        """Replace barriers whose number or count is in a register by their entries in ``barriers``."""
        begin = 0
        for piece in pieces:
            for place in np.flatnonzero(self.rows[piece.steps[piece.accesses], core.KIND] == core.MEET_BARRIER):
                step = begin + int(piece.accesses[place])
                number, count = piece.addresses[place, :2].tolist()
                named = NamedBarrier(int(executed[step]), number, count)
                executed[step] = self.barriers.setdefault(named, self.entries + len(self.barriers))
            begin += len(piece.steps)

    def _add_program(self, executed: IntArray, by: IntArray) -> None:
        key = _digest(executed.astype(np.int32), by.astype(np.int16))
        if key not in self._program_of:
            order = np.argsort(by, kind="stable")
            ends = np.searchsorted(by[order], np.arange(self.warps + 1))
            own = [executed[order[begin:end]] for begin, end in pairwise(ends)]
            self._program_of[key] = len(self.programs)
            self.programs.append(self.paths.program([self.paths.add(path) for path in own]))
        self.program.append(self._program_of[key])

    def _add_stream(
        self, by: IntArray, request: IntArray, wavefronts: IntArray, array: IntArray, line: IntArray
    ) -> None:
        """Add the entries of a CTA's accesses, in the order of execution."""
        order = np.argsort(by, kind="stable")
        by, array, line = by[order], array[order], line[order]
        base = np.full(self.arrays, np.iinfo(np.int64).max, dtype=np.int64)
        touching = request[order] > 0
        np.minimum.at(base, array[touching], line[touching])
        base[base == np.iinfo(np.int64).max] = 0
        self.array_line.frombytes((base + np.arange(self.arrays) * TENSOR_STRIDE).tobytes())
        relative = np.where(touching, line - base[array], 0)
        access = (request[order] << REQUEST_AT | array << ARRAY_AT) + wavefronts[order]
        key = _digest(access, relative, by)
        if key not in self._stream_of:
            self._stream_of[key] = len(self.access)
            self.streams += 1
            self.access.frombytes(access.tobytes())
            self.line.frombytes(relative.tobytes())
        starts = self._stream_of[key] + np.searchsorted(by, np.arange(self.warps))
        self.first.frombytes(starts.astype(np.int64).tobytes())

    def _entries(self, piece: ExecutedSteps) -> tuple[IntArray, IntArray, IntArray, IntArray]:
        """Return request, wavefronts, array and line of each traced step of a piece."""
        traced = self.traced[piece.steps]
        number = np.cumsum(traced) - 1
        count = int(traced.sum())
        request, wavefronts = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.int64)
        array, line = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.int64)
        at = piece.accesses
        if not len(at):
            return request, wavefronts, array, line
        instruction = piece.steps[at]
        second = np.zeros(len(at), dtype=np.bool_)
        second[1:] = at[1:] == at[:-1]  # a copy's writes follow its reads
        accesses = Accesses(piece.addresses, piece.lanes[at], self._sizes[instruction], piece.lowest, piece.hashes)
        kinds = self._kinds[instruction]
        in_global = (kinds == _IN_GLOBAL) & ~second
        banked = ~in_global & self.traced[instruction]
        chosen = np.flatnonzero(in_global)
        if len(chosen):
            found, first = self.requests.of(_outside_windows(accesses.of(chosen), self._generic[instruction[chosen]]))
            place, owner = number[at[chosen]], np.maximum(np.searchsorted(self._lines, first, side="right") - 1, 0)
            request[place], array[place], line[place] = found, owner, first - self._lines[owner]
        chosen = np.flatnonzero(banked)
        if len(chosen):
            own = np.where(second[chosen], STORED, kinds[chosen])
            wavefronts[number[at[chosen]]] = self.shared.of(accesses.of(chosen), own)
        return request, wavefronts, array, line


def joined(pieces: Sequence[ExecutedSteps]) -> ExecutedSteps:
    """Return pieces of executions as one."""
    if len(pieces) == 1:
        return pieces[0]
    begins = np.cumsum([0, *(len(piece.steps) for piece in pieces[:-1])])
    accesses = [piece.accesses + begin for piece, begin in zip(pieces, begins, strict=True)]
    together = zip(*(piece.arrays for piece in pieces), strict=True)
    steps, lanes, warps, _, addresses, lowest, hashes = (np.concatenate(arrays) for arrays in together)
    return ExecutedSteps(pieces[0].cta, steps, lanes, warps, np.concatenate(accesses), addresses, lowest, hashes)


def _outside_windows(accesses: Accesses, generic: BoolArray) -> Accesses:
    """Return accesses whose generic ones lack the lanes in shared and local memory."""
    rows = np.flatnonzero(generic)
    if not len(rows):
        return accesses
    window, active, hashes = accesses.addresses[rows] >> 32, accesses.active.copy(), accesses.hashes.copy()
    outside = (window != core.SHARED_WINDOW) & (window != core.LOCAL_WINDOW)
    kept = active[rows] & (outside << np.arange(WARP_SIZE)).sum(axis=1)
    # A pattern of fewer lanes is another pattern.
    hashes[rows] ^= active[rows] ^ kept
    active[rows] = kept
    taking = active_lanes(kept)
    lowest = accesses.lowest.copy()
    lowest[rows] = np.where(taking, accesses.addresses[rows], np.iinfo(np.int64).max).min(axis=1)
    return accesses._replace(active=active, hashes=hashes, lowest=lowest)


def _kind(cells: IntArray) -> int:
    """Return the kind of an instruction's accesses to banked memory, or ``_IN_GLOBAL``."""
    kind, space = int(cells[core.KIND]), int(cells[core.SPACE])
    if kind == core.LOAD_MATRIX:
        return MATRICES
    if kind in (core.LOAD_CONSTANT, core.MATCH):
        return DISTINCT
    if kind == core.COPY or space in (core.GLOBAL_SPACE, core.GENERIC_SPACE):
        return _IN_GLOBAL
    if space == core.LOCAL_SPACE:
        return SPILLED
    return {core.LOAD: LOADED, core.ATOMIC: UPDATED}.get(kind, STORED)


def _digest(*arrays: IntArray) -> bytes:
    hashed = hashlib.blake2b(digest_size=16)
    for array in arrays:
        hashed.update(np.ascontiguousarray(array).data)
        hashed.update(len(array).to_bytes(8, "little"))
    return hashed.digest()
