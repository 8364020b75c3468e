"""
Counts of each instruction: issues, lanes, wavefronts of shared memory, sectors of global memory.

State: ``COUNTS`` integers for each instruction, and the addresses of the access at hand. The rules are those of
``gpusim.layout.banks``; a test compares them. Atomics on shared memory are not counted.
"""

from typing import TYPE_CHECKING

from gpusim.execute.core.constants import (
    ATOMIC,
    COPY,
    COUNTS,
    DEPTHS,
    FOUND,
    GENERIC_SPACE,
    GLOBAL_SPACE,
    IDEAL_SECTORS,
    IDEAL_WAVEFRONTS,
    ISSUES,
    KIND,
    LANES,
    LOAD,
    LOAD_CONSTANT,
    LOAD_MATRIX,
    LOCAL_WINDOW,
    MASKS,
    ROW,
    SECTORS,
    SHARED_SPACE,
    SHARED_WINDOW,
    SIZE,
    SPACE,
    WAVEFRONTS,
)
from gpusim.execute.core.words import count_bits, integers_of, low32, signed64
from gpusim.units import SECTOR_BYTES, WARP_SIZE, WORD_BYTES

if TYPE_CHECKING:
    from gpusim.arrays import IntArray


class AccessCounts:
    """
    Counts of a kernel's instructions.

    Attributes:
        code: Rows of the instructions, ``ROW`` integers each.
        counts: ``COUNTS`` integers for each instruction.
        s: Scratch: the addresses of an access, and what is found among them.
    """

    def __init__(self, code: "IntArray", counts: "IntArray", scratch: "IntArray") -> None:
        """Take the arrays; the scratch has ``ACCESS_SCRATCH`` integers."""
        self.held = (code, counts, scratch)
        self.code, self.counts, self.s = integers_of(code), integers_of(counts), integers_of(scratch)

    def add(self, steps: "IntArray", lanes: "IntArray", accesses: "IntArray", addresses: "IntArray") -> None:
        """Count a piece of a trace, whose arrays are those of ``ExecutedSteps``."""
        for step in range(len(steps)):
            place = steps[step] * COUNTS
            self.counts[place + ISSUES] += 1
            self.counts[place + LANES] += count_bits(low32(lanes[step]))
        last = signed64(-1)
        for access in range(len(accesses)):
            for lane in range(WARP_SIZE):
                self.s[lane] = addresses[access, lane]
            step = accesses[access]
            count_access(self, steps[step], lanes[step], step == last)
            last = step


def count_access(x: AccessCounts, at: int, mask: int, second: int) -> None:
    """Count the access whose addresses are in the scratch; ``second``: where a copy writes to."""
    row, place = at * ROW, at * COUNTS
    if x.code[row + KIND] < LOAD or x.code[row + KIND] == LOAD_CONSTANT:
        return
    kind, space, size = x.code[row + KIND], x.code[row + SPACE], x.code[row + SIZE]
    if kind == COPY:
        if second:
            count_shared(x, place, mask, size, 0)
        else:
            count_global(x, place, mask, size)
    elif kind == LOAD_MATRIX:
        # 8 lanes have the addresses of a matrix's rows, 16 bytes each, whichever lanes execute.
        rows = (signed64(1) << 8 * size) - 1
        x.counts[place + WAVEFRONTS] += wavefronts(x, rows, 16, 8)
        x.counts[place + IDEAL_WAVEFRONTS] += size
    elif space == GLOBAL_SPACE:
        count_global(x, place, mask, size)
        if kind == ATOMIC:
            count_repeats(x, place, mask)
    elif space == GENERIC_SPACE:
        count_generic(x, place, mask, size, kind == LOAD)
    elif space == SHARED_SPACE and kind != ATOMIC:
        count_shared(x, place, mask, size, kind == LOAD)


def count_generic(x: AccessCounts, place: int, mask: int, size: int, loads: int) -> None:
    """Count a generic access: the lanes of global and of shared memory apart."""
    in_global, in_shared = signed64(0), signed64(0)
    for lane in range(WARP_SIZE):
        if mask >> lane & 1:
            window = x.s[lane] >> 32
            if window == SHARED_WINDOW:
                in_shared |= signed64(1) << lane
                x.s[lane] = signed64(low32(x.s[lane]))
            elif window != LOCAL_WINDOW:
                in_global |= signed64(1) << lane
    if in_global:
        count_global(x, place, in_global, size)
    if in_shared:
        count_shared(x, place, in_shared, size, loads)


def count_shared(x: AccessCounts, place: int, mask: int, size: int, loads: int) -> None:
    """Count an access to shared memory."""
    width = max(size, WORD_BYTES)  # lanes of one word share it, whichever of its bytes they access
    lanes = min(WARP_SIZE, WARP_SIZE * WORD_BYTES // width)
    if loads and lanes < WARP_SIZE and share_in_pairs(x, mask):
        lanes = 2 * lanes
    x.counts[place + WAVEFRONTS] += wavefronts(x, mask, width, lanes)
    phase = (signed64(1) << lanes) - 1
    for first in range(WARP_SIZE // lanes):
        if mask >> first * lanes & phase:
            x.counts[place + IDEAL_WAVEFRONTS] += 1


def share_in_pairs(x: AccessCounts, mask: int) -> int:
    """Return whether each active lane shares its address with lane XOR 1, or each with lane XOR 2."""
    one, two = 1, 1
    for lane in range(WARP_SIZE):
        if mask >> lane & 1:
            if mask >> (lane ^ 1) & 1 and x.s[lane] != x.s[lane ^ 1]:
                one = 0
            if mask >> (lane ^ 2) & 1 and x.s[lane] != x.s[lane ^ 2]:
                two = 0
    return one or two


def wavefronts(x: AccessCounts, mask: int, width: int, lanes: int) -> int:
    """Return the wavefronts of an access: in each phase of some lanes, one for each distinct word of the worst bank."""
    total, columns, shift = 0, WARP_SIZE * WORD_BYTES // width, 2
    while 1 << shift < width:
        shift += 1
    for phase in range(WARP_SIZE // lanes):
        worst = 0
        for column in range(columns):
            x.s[DEPTHS + column] = 0
        for lane in range(phase * lanes, (phase + 1) * lanes):
            if mask >> lane & 1:
                slot = x.s[lane] >> shift
                number = find(x, slot, slot & (columns - 1))
                worst = max(worst, number + 1)
        total += worst
    return total


def count_global(x: AccessCounts, place: int, mask: int, size: int) -> None:
    """Count an access to global memory: its distinct sectors, and those that as many bytes would fill."""
    for column in range(WARP_SIZE):
        x.s[DEPTHS + column] = 0
    for lane in range(WARP_SIZE):
        if mask >> lane & 1:
            sector = x.s[lane] // SECTOR_BYTES
            column = sector & (WARP_SIZE - 1)
            depth = x.s[DEPTHS + column]
            entry = column * WARP_SIZE + find(x, sector, column)
            if x.s[DEPTHS + column] > depth:
                x.s[MASKS + entry] = 0
            x.s[MASKS + entry] |= signed64(1) << x.s[lane] % SECTOR_BYTES
    distinct = 0
    for column in range(WARP_SIZE):
        depth = x.s[DEPTHS + column]
        x.counts[place + SECTORS] += depth
        for entry in range(depth):
            distinct += count_bits(low32(x.s[MASKS + column * WARP_SIZE + entry]))
    x.counts[place + IDEAL_SECTORS] += (distinct * size + SECTOR_BYTES - 1) // SECTOR_BYTES


def count_repeats(x: AccessCounts, place: int, mask: int) -> None:
    """
    Count the further sectors of an atomic whose lanes repeat addresses (repeats.csv).

    A lane that is the n-th one at its address takes part in pass n. Each pass accesses its own lanes' sectors.
    """
    for lane in range(WARP_SIZE):
        x.s[DEPTHS + lane] = 0
        if not mask >> lane & 1:
            continue
        fresh = 1
        for other in range(lane):
            if mask >> other & 1 and x.s[other] == x.s[lane]:
                x.s[DEPTHS + lane] += 1
        for other in range(lane):
            same = x.s[other] // SECTOR_BYTES == x.s[lane] // SECTOR_BYTES
            if mask >> other & 1 and same and x.s[DEPTHS + other] == x.s[DEPTHS + lane]:
                fresh = 0
        if x.s[DEPTHS + lane] > 0 and fresh:
            x.counts[place + SECTORS] += 1


def find(x: AccessCounts, value: int, column: int) -> int:
    """Return the number of a value among the distinct ones of its column, to which it is added if it is new."""
    first, depth = FOUND + column * WARP_SIZE, x.s[DEPTHS + column]
    for number in range(depth):
        if x.s[first + number] == value:
            return number
    x.s[first + depth] = value
    x.s[DEPTHS + column] = depth + 1
    return depth
