"""The columns of integers that the core reads: the code of every behaviour, and the memory accesses of every CTA."""

import mmap
import sys
from array import array
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, TypeAlias

import numpy as np

from gpusim.arrays import IntArray
from gpusim.sim.core.constants import CODE_WIDTH, PORT_WIDTH, TENSOR

Column: TypeAlias = "array[int]"
"""A column of 64-bit integers."""


def column(values: Iterable[int]) -> Column:
    """Return integers as a column. It is never empty, because an empty column has no memoryview."""
    return array("q", values) or array("q", [0])


def pages(count: int) -> "memoryview[int]":
    """
    Return ``count`` zeros, whose memory is allocated page by page on first use.

    Pages are large if the system has large pages, because random accesses to many small pages miss the host's TLB.
    """
    if sys.platform == "win32":
        memory = mmap.mmap(-1, 8 * count)
    else:
        memory = mmap.mmap(-1, 8 * count, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    if sys.platform == "linux":
        with suppress(OSError):  # an operating system without large pages
            memory.madvise(mmap.MADV_HUGEPAGE)
    return memoryview(memory).cast("q")


def zeros(count: int, value: int = 0) -> Column:
    """Return a column of ``count`` equal integers."""
    return array("q", [value]) * count


def side_by_side(count: int, width: int) -> "list[memoryview[int]]":
    """Return ``width`` interleaved columns of zeros: row n is at n * width."""
    table = pages(count * width)
    return [table[place:] for place in range(width)]


def rows_of(log: Column, width: int) -> IntArray:
    """Return a log as an array of shape [rows, width], which shares its memory."""
    return np.frombuffer(log, dtype=np.int64).reshape(-1, width)


CODE_LINES = (
    (
        *("kind", "port", "throttle", "interval", "latency", "stall", "gated", "waits", "write", "icache_line"),
        *("is_branch", "dispatches", "mma_hundredths", "next_stop", "cycles_to_stop", "traced"),
    ),
    (
        *("read", "registers", "first_wavefront", "wavefront_slots", "row", "fetch_number", "access", "vec"),
        *("ring_slot", "pending", "bytes", "is_load", "through_l1", "zero_fills", "fills", "lookup_penalty"),
    ),
    (
        "joins",
        "awaits",
        "activity",
        "chain",
        "order",
        "barrier",
        "arrivals",
        "meets",
        "expects",
        "atomic",
        "fetch_sectors",
    ),
)
"""
The columns of instructions that the core reads, grouped by cache lines of the host.

The first line has the columns that the core reads for every instruction, the second those of memory instructions, the
third all others. Each column is a field of ``code.Decoded``, or one of these:

- ``icache_line``: ``Decoded.line``; ``ring_slot``: ``Decoded.stage``.
- ``waits``: Mask of scoreboards.
- ``first_wavefront``, ``wavefront_slots``: Index of the first entry in ``Code.wavefronts``, and number of ring slots.
  Each slot has an entry for each warp.
- ``row``, ``fetch_number``, ``access``, ``vec``: ``code.Target``. For an epilogue's access, ``row`` is -1 and
  ``fetch_number`` is the row of outputs.
- ``next_stop``, ``cycles_to_stop``, ``chain``, ``order``: Results of ``next_stops`` and ``chains``.
"""

_OF_OTHERS = frozenset({"next_stop", "cycles_to_stop", "chain", "order"})
"""Columns that depend on other instructions, too."""

INSTRUCTION_COLUMNS = tuple(name for names in CODE_LINES for name in names if name not in _OF_OTHERS)
"""Columns that depend on the instruction alone."""


@dataclass(frozen=True, slots=True)
class Code:
    """
    Instructions of all behaviours, one after another (``code.Decoded``), with the bounds of segments and programs.

    Attributes:
        of: The columns that ``INSTRUCTION_COLUMNS`` names, by name.
        waves: Wavefronts of shared-memory accesses.
        first, end, trips, tiles: For each segment: first instruction, end (exclusive), trips, k tiles of a trip.
        begins: For each program and warp: its first segment, where the code of its role begins.
        warps_of: Warps of each program.
        warps: Most warps of a CTA.
        lines: Lines of the instruction cache that can be fetched.
        barriers: Barriers of a CTA.
        stretches: First and end of parts of the code into and out of which no jump leads, in order. In code of a
            stream these are the segments.
        mbarriers: mbarriers of a CTA.
    """

    of: Mapping[str, Column]
    wavefronts: Column
    first: Column
    end: Column
    trips: Column
    tiles: Column
    begins: Column
    warps_of: Column
    warps: int
    lines: int
    barriers: int
    stretches: Sequence[tuple[int, int]]
    mbarriers: int = 0


def together(*columns: Column) -> "list[memoryview[int]]":
    """Return interleaved columns, in rows of ``CODE_WIDTH`` integers of 32 bits: a row is a cache line of the host."""
    table = pages(len(columns[0]) * CODE_WIDTH // 2).cast("B").cast("i")
    for place, column in enumerate(columns):
        table[place::CODE_WIDTH] = memoryview(array("i", column))
    return [table[place:] for place in range(len(columns))]


def next_stops(code: Code, tensor: int) -> tuple[Column, Column]:
    """
    Return for each instruction the distance to the next stop, in integers of the code's rows, and in stall-free cycles.

    A stop is an instruction that uses the tensor core or waits for scoreboards, or the end of the stretch.
    """
    port, stall, waits = code.of["port"], code.of["stall"], code.of["waits"]
    behind, cycles = zeros(len(stall), CODE_WIDTH), array("q", stall)
    for first, end in code.stretches:
        for place in range(end - 2, first - 1, -1):
            if port[place + 1] != tensor and not waits[place + 1]:
                behind[place] += behind[place + 1]
                cycles[place] += cycles[place + 1]
    return behind, cycles


def chains(code: Code, tensor: int, behind: Column, cycles: Column) -> tuple[Column, Column, Column]:
    """
    Return the chains of mma.sync, as three columns.

    The mma.sync of a chain wait only for the tensor core and have the same interval. Each can issue within one interval
    after the one before.

    Returns:
        For each instruction: the number of mma.sync that follow it in its chain; the number of mma.sync before it.
        Third, the indices of all mma.sync, in integers of the code's rows.
    """
    port, waits, interval = code.of["port"], code.of["waits"], code.of["interval"]
    count, order, places = zeros(len(port)), zeros(len(port)), zeros(0)
    for place in range(len(port)):
        order[place] = len(places)
        if port[place] == tensor:
            places.append(place * CODE_WIDTH)
    for first, end in code.stretches:
        for place in range(end - 1, first - 1, -1):
            after = place + behind[place] // CODE_WIDTH
            if port[place] == tensor and after < end and port[after] == tensor and not waits[after]:
                own = interval[place]
                count[place] = count[after] + 1 if interval[after] == own >= max(1, cycles[place]) else 0
    return count, order, places


class CodeRows:
    """
    The code in the form that the core reads: rows of ``CODE_WIDTH`` integers of 32 bits.

    An instruction is identified by the index of its row's first integer.

    Attributes:
        mma_places: Indices of all mma.sync (``chains``).
        wavefronts ... barriers: As in ``Code``; ``first`` and ``end`` are indices of rows.
        ... : A column of each name in ``CODE_LINES``. ``port`` is an offset in an SMSP's row.
    """

    def __init__(self, code: Code, ports: int) -> None:
        """Lay out the code for SMSPs with ``ports`` ports."""
        tensor = ports - TENSOR
        behind, cycles = next_stops(code, tensor)
        chain, order, self.mma_places = chains(code, tensor, behind, cycles)
        port = array("q", [port * PORT_WIDTH for port in code.of["port"]])
        of_others = {"next_stop": behind, "cycles_to_stop": cycles, "chain": chain, "order": order}
        columns = {**code.of, **of_others, "port": port}
        for names in CODE_LINES:
            vars(self).update(zip(names, together(*(columns[name] for name in names)), strict=True))
        self.wavefronts, self.trips, self.tiles = code.wavefronts, code.trips, code.tiles
        self.first = array("q", [place * CODE_WIDTH for place in code.first])
        self.end = array("q", [place * CODE_WIDTH for place in code.end])
        self.begins, self.warps_of, self.warps, self.lines = code.begins, code.warps_of, code.warps, code.lines
        self.barriers, self.mbarriers = code.barriers, code.mbarriers

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> "memoryview[int]":
            """Return a column of ``CODE_LINES``."""


@dataclass(frozen=True, slots=True)
class Traces:
    """
    The accesses of warps in the order of their execution, for code whose lanes come from an execution.

    CTAs whose accesses differ only in the lines at which each array begins share their entries.

    Attributes:
        first: For each CTA and warp, the warp's first entry; empty without traces.
        arrays: Arrays in global memory.
        array_line: For each CTA and array, the line from which its entries count.
        masked: For each line request, 1 if a store writes a sector of it in part.
        passes: For each line request, the passes that an atomic takes: over its sectors, the most lanes at one word.
        access: For each entry, its request (``Data.asked``) << ``REQUEST_AT``, its array << ``ARRAY_AT``, and its
            wavefronts in shared memory.
        line: For each entry, the first line that it touches.
    """

    first: Column = field(default_factory=lambda: column(()))
    arrays: int = 0
    array_line: Column = field(default_factory=lambda: column(()))
    masked: Column = field(default_factory=lambda: column(()))
    passes: Column = field(default_factory=lambda: column(()))
    access: Column = field(default_factory=lambda: column(()))
    line: Column = field(default_factory=lambda: column(()))


@dataclass(frozen=True, slots=True)
class Data:
    """
    The programs and memory accesses of CTAs. CTAs are numbered from 0 in the order in which they are handed out.

    An L2 status says which part of a request waits for DRAM, misses, and is looked up (``footprint.L2Status``).

    Attributes:
        program: Program of each CTA.
        follows, followed: For each CTA: the CTA whose stores its epilogue waits for, and the CTA that waits for its own
            stores; -1 if there is none.
        rows, outputs: Rows of copies, and of other global accesses, of a CTA.
        row_fetch, row_status: For each CTA and row of copies, its first entry among fetches and among statuses.
        row_output: For each CTA and output, its first request. Requests are ordered by access and warp.
        output_line: For each CTA and output, the line of its tensor that its requests' lines count from.
        found_slow, found_missed: For each CTA and output, its L2 status, per mille.
        found_first: For each CTA and output, 1 for the first read after the data was written, else 0.
        pattern, fetch_line: For each fetch: its pattern, and the line from which the pattern's lines count.
        slow, shared, looked: L2 status of fetches, as in ``footprint.L2Status``.
        brought: For each status, lines that the chip reads from DRAM for each line that misses in a sample, per mille.
        request, vecs: For each pattern: its first request, and the requests of one access. Requests are ordered by
            access, vec and warp.
        asked, touched: For each request of an instruction: its sectors, and its first line request. ``touched`` has one
            more entry, the end.
        l1_wavefronts: For each request of an instruction: its wavefronts in the L1; 0 for copies around the L1.
        line, mask: For each line request: the number of its line, and the mask of its sectors.
        cached: Whether some access looks up the L1.
        simulates_l2: Whether the L2's lines are simulated; otherwise the statuses give the hits.
        traces: Accesses of traced instructions.
        cluster: For each CTA the first CTA of its cluster; empty if no kernel asks.
    """

    program: Column
    follows: Column
    followed: Column
    rows: int
    outputs: int
    row_fetch: Column
    row_status: Column
    row_output: Column
    output_line: Column
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
    cached: bool
    simulates_l2: bool
    traces: Traces = field(default_factory=Traces)
    cluster: Column = field(default_factory=lambda: column(()))


def traced_data(
    program: Column,
    requests: "TracedRequests",
    traces: Traces,
    *,
    cached: bool,
    cluster: "Column | None" = None,
) -> Data:
    """
    Return the data of CTAs all of whose accesses are traced: without rows, outputs and statuses, on a simulated L2.

    Args:
        program: Program of each CTA.
        requests: The requests that traces name.
        traces: The traces.
        cached: Whether some access looks up the L1.
        cluster: First CTA of each CTA's cluster; None if no kernel asks.
    """
    ctas = len(program)
    absent = dict.fromkeys(_OF_ROWS, column(()))
    return Data(
        program=program,
        follows=zeros(ctas, -1),
        followed=zeros(ctas, -1),
        rows=0,
        outputs=0,
        asked=requests.asked,
        touched=requests.touched,
        l1_wavefronts=requests.l1_wavefronts,
        line=requests.line or column(()),
        mask=requests.mask or column(()),
        cached=cached,
        simulates_l2=True,
        traces=traces,
        cluster=column(()) if cluster is None else cluster,
        **absent,
    )


class TracedRequests(Protocol):
    """
    Requests of traced accesses.

    Attributes:
        asked, touched, l1_wavefronts, line, mask: As in ``Data``.
    """

    asked: Column
    touched: Column
    l1_wavefronts: Column
    line: Column
    mask: Column


_OF_ROWS = (
    *("row_fetch", "row_status", "row_output", "output_line", "found_slow", "found_missed", "found_first"),
    *("pattern", "fetch_line", "slow", "brought", "shared", "looked", "request", "vecs"),
)
"""Columns of ``Data`` that only rows of copies, and outputs, fill."""
