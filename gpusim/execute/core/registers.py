"""
A warp's registers, and how an instruction's row reads and writes them.

State: the register files of all warps of a CTA, each 256 vector and 64 uniform registers of 32 lanes, then the words of
constants and immediates; the predicates of each warp as masks of lanes; the scratch words in which one instruction
computes; the warp and the lanes that execute now.
"""

from typing import TYPE_CHECKING

from gpusim.execute.core.constants import (
    ALL,
    D_HIGH,
    FILE_WORDS,
    FLIPS,
    HIGHS,
    IS_UNIFORM,
    KEEPS,
    PREDICATE_ROWS,
    REGISTERS,
    SCRATCH_WORDS,
    TO,
    TO_HIGH,
    UNIFORM_REGISTERS,
    D,
    P,
    Q,
)
from gpusim.execute.core.words import integers_of, low32, words_of
from gpusim.units import WARP_SIZE

if TYPE_CHECKING:
    from gpusim.arrays import IntArray, WordArray


class WarpRegisters:
    """
    The registers of all warps of one CTA.

    Attributes:
        code: Rows of the instructions, ``ROW`` integers each.
        file: Words of all register files, then ``WARP_SIZE`` of each constant.
        predicates: Masks of lanes, ``PREDICATES`` for each warp.
        s: Scratch words, ``WARP_SIZE`` for each place.
        sums: Scratch words of a matrix product.
        base, first: First word and first predicate of the executing warp.
        constants: First word of the constants.
        mask: Lanes that execute the instruction.
    """

    def __init__(self, code: "IntArray", file: "WordArray", predicates: "WordArray", scratch: "WordArray") -> None:
        """Take the arrays, of which the scratch has ``SCRATCH_WORDS`` and ``MATRIX_WORDS`` words."""
        self.held = (code, file, predicates, scratch)
        self.code, self.file = integers_of(code), words_of(file)
        self.predicates, self.s = words_of(predicates), words_of(scratch)
        self.sums = words_of(scratch[SCRATCH_WORDS:])
        self.all = ALL
        self.base, self.first, self.mask = 0, 0, 0
        self.constants = len(predicates) // PREDICATE_ROWS * FILE_WORDS

    def choose(self, warp: int) -> None:
        """Execute a warp from now on."""
        self.base, self.first = warp * FILE_WORDS, warp * PREDICATE_ROWS


def reset(r: WarpRegisters, count: int) -> None:
    """Put zeros into the registers of the kernel, the uniform ones and the predicates of the executing warp."""
    for word in range(count * WARP_SIZE):
        r.file[r.base + word] = 0
    first = r.base + REGISTERS * WARP_SIZE
    for word in range(UNIFORM_REGISTERS * WARP_SIZE):
        r.file[first + word] = 0
    for number in range(PREDICATE_ROWS):
        r.predicates[r.first + number] = 0
    # PT and UPT lie at the end of their halves.
    r.predicates[r.first + PREDICATE_ROWS // 2 - 1] = low32(r.all)
    r.predicates[r.first + PREDICATE_ROWS - 1] = low32(r.all)


def fill(r: WarpRegisters, number: int, value: int) -> None:
    """Put a number into all lanes of a register of the executing warp."""
    for lane in range(WARP_SIZE):
        r.file[r.base + number * WARP_SIZE + lane] = low32(value)


def place_of(r: WarpRegisters, source: int) -> int:
    """Return the first word of a source: a register's row, or ~n for constant n."""
    return r.base + source * WARP_SIZE if source >= 0 else r.constants + ~source * WARP_SIZE


def fetch(r: WarpRegisters, row: int, source: int, place: int) -> None:
    """Read a source of an instruction into the scratch, with its absolute value, sign or inversion."""
    cell = row + source
    first = place_of(r, r.code[cell])
    keep, flip = low32(r.code[cell + KEEPS]), low32(r.code[cell + FLIPS])
    for lane in range(WARP_SIZE):
        r.s[place + lane] = (r.file[first + lane] & keep) ^ flip


def fetch_high(r: WarpRegisters, row: int, source: int, place: int) -> None:
    """Read the high word of a source of 64 bits into the scratch, as it is."""
    first = place_of(r, r.code[row + source + HIGHS])
    for lane in range(WARP_SIZE):
        r.s[place + lane] = r.file[first + lane]


def fetch_pair(r: WarpRegisters, row: int, source: int, place: int) -> None:
    """Read a source of 64 bits; the sign and absolute value are those of its high word."""
    cell = row + source
    low, high = place_of(r, r.code[cell]), place_of(r, r.code[cell + HIGHS])
    keep, flip = low32(r.code[cell + KEEPS]), low32(r.code[cell + FLIPS])
    for lane in range(WARP_SIZE):
        r.s[place + lane] = r.file[low + lane]
        r.s[place + 4 * WARP_SIZE + lane] = (r.file[high + lane] & keep) ^ flip


def store(r: WarpRegisters, row: int) -> None:
    """Write the result to the destination, in the lanes that execute."""
    keep_row(r, r.code[row + TO], D, r.code[row + IS_UNIFORM])


def store_high(r: WarpRegisters, row: int) -> None:
    """Write the high word of the result to the destination's second register."""
    keep_row(r, r.code[row + TO_HIGH], D_HIGH, r.code[row + IS_UNIFORM])


def keep_row(r: WarpRegisters, number: int, place: int, uniform: int) -> None:
    """Write scratch words to a register, in the lanes that execute; a uniform register has one value for all."""
    if number < 0:
        return
    first = r.base + number * WARP_SIZE
    if uniform or r.mask == r.all:
        for lane in range(WARP_SIZE):
            r.file[first + lane] = r.s[place + lane]
        return
    for lane in range(WARP_SIZE):
        if r.mask >> lane & 1:
            r.file[first + lane] = r.s[place + lane]


def tested(r: WarpRegisters, row: int, column: int) -> int:
    """Return the lanes in which a source predicate holds, inversion included; the next column says whether it is."""
    return low32(r.predicates[r.first + r.code[row + column]] ^ low32(r.code[row + column + 1]))


def set_predicate(r: WarpRegisters, number: int, lanes: int, uniform: int) -> None:
    """Write a predicate, in the lanes that execute; nothing where the instruction has no such destination."""
    if number < 0:
        return
    place = r.first + number
    if uniform:
        r.predicates[place] = low32(lanes)
    else:
        r.predicates[place] = low32((r.predicates[place] & ~r.mask) | (lanes & r.mask))


def set_both(r: WarpRegisters, row: int, holds: int, other: int) -> None:
    """Write both destination predicates of an instruction."""
    set_predicate(r, r.code[row + P], holds, r.code[row + IS_UNIFORM])
    set_predicate(r, r.code[row + Q], other, r.code[row + IS_UNIFORM])
