"""The columns of integers that the core reads: the code of every behaviour, and what every CTA touches."""

import mmap
import sys
from array import array
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from gpusim.arrays import IntArray

Column: TypeAlias = "array[int]"
"""A column of 64-bit integers."""


def column(values: Iterable[int]) -> Column:
    """Return integers as a column; never an empty one, which no view can be taken of."""
    return array("q", values) or array("q", [0])


def pages(count: int) -> "memoryview[int]":
    """
    Return ``count`` integers of value 0, whose memory is taken page by page as they are first used.

    Pages are large where the system has such: what lies anywhere in many small ones is looked up twice, for the
    processor finds its page first.
    """
    if sys.platform == "win32":
        memory = mmap.mmap(-1, 8 * count)
    else:
        memory = mmap.mmap(-1, 8 * count, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    if sys.platform == "linux":
        with suppress(OSError):  # a kernel without them
            memory.madvise(mmap.MADV_HUGEPAGE)
    return memoryview(memory).cast("q")


def zeros(count: int, value: int = 0) -> Column:
    """Return a column of ``count`` equal integers."""
    return array("q", [value]) * count


def rows_of(log: Column, width: int) -> IntArray:
    """Return a log as an array of shape [rows, width], which shares its memory."""
    return np.frombuffer(log, dtype=np.int64).reshape(-1, width)


@dataclass(frozen=True, slots=True)
class Code:
    """
    Instructions of all behaviours, one after another (``code.Decoded``), and where segments and programs begin.

    Attributes:
        kind ... activity: As in ``Decoded``; ``waits`` is a mask of scoreboards, ``line`` -1 where no line begins.
        wave, wave_slots: First entry in ``waves``, and the ring slots that it has; each slot has a warp after another.
        row, turn, access, vec: As in ``code.Target``; row is -1 of an epilogue's access, whose ``turn`` is its output.
        first, end, trips, tiles: Of each segment: its first instruction, the one after its last, trips, k tiles a trip.
        begins, warps_of: Of each program: its first segment, and its warps.
        warps: Most warps of a CTA.
        lines: Lines of the instruction cache that can be fetched.
    """

    kind: Column
    port: Column
    throttle: Column
    interval: Column
    latency: Column
    stall: Column
    gated: Column
    waits: Column
    write: Column
    read: Column
    line: Column
    is_branch: Column
    dispatches: Column
    takes: Column
    joins: Column
    registers: Column
    wave: Column
    wave_slots: Column
    bytes: Column
    row: Column
    turn: Column
    access: Column
    vec: Column
    stage: Column
    pending: Column
    is_load: Column
    through_l1: Column
    zero_fills: Column
    awaits: Column
    fills: Column
    apart: Column
    activity: Column
    waves: Column
    first: Column
    end: Column
    trips: Column
    tiles: Column
    begins: Column
    warps_of: Column
    warps: int
    lines: int


@dataclass(frozen=True, slots=True)
class Data:
    """
    What CTAs execute and touch; CTAs are numbered from 0 in the order in which they are handed out.

    Attributes:
        program: Of each CTA.
        follows, followed: Of each CTA: the one whose stores its epilogue waits for, and the one that waits for it, or
            -1.
        rows, outputs: Rows of copies, and of other global accesses, of a CTA.
        row_fetch, row_status: For each CTA and row of copies, its first entry among fetches and among statuses.
        row_output: For each CTA and output, its first entry in ``output_sectors``.
        found_slow, found_missed: For each CTA and output, its L2 status, per mille.
        found_first: For each CTA and output, whether it is read for the first time since it was written, 1 or 0.
        pattern, fetch_line: Of each fetch: its pattern, and the line that the pattern's lines count from.
        slow, shared, looked: L2 status of fetches, as in ``footprint.L2Status``.
        brought: For each of them, lines that the chip reads from DRAM for each that a sample lacks, per mille.
        request, vecs: Of each pattern: its first request, and the requests of one access. Requests are ordered by
            access, vec and warp.
        asked, touched: Of each instruction: sectors, and its first request of a line; ``touched`` has one entry more
            than instructions.
        l1_wavefronts: Of each instruction that looks up the L1: its wavefronts there.
        line, mask: Of each request: the number of its line, and the mask of its sectors.
        output_sectors: Sectors by access and warp.
        cached: Whether some access looks up the L1.
        simulates_l2: Whether the L2's lines are simulated; else statuses say what hits.
    """

    program: Column
    follows: Column
    followed: Column
    rows: int
    outputs: int
    row_fetch: Column
    row_status: Column
    row_output: Column
    found_slow: Column
    found_missed: Column
    found_first: Column
    pattern: Column
    fetch_line: Column
    slow: Column
    brought: Column
    shared: Column
    looked: Column
    request: Column
    vecs: Column
    asked: Column
    touched: Column
    l1_wavefronts: Column
    line: Column
    mask: Column
    output_sectors: Column
    cached: bool
    simulates_l2: bool
