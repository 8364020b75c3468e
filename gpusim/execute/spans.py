"""Knows which registers an instruction uses beyond the named ones, and finds spans that reach the zero register."""

from collections.abc import Iterator

from gpusim.arrays import IntArray
from gpusim.execute.core import constants as core
from gpusim.lower.sass.operands import RZ, URZ
from gpusim.units import WARP_SIZE, WORD_BYTES


def register_spans(cells: IntArray) -> Iterator[tuple[int, int]]:
    """Yield for each operand of several registers its column and how many there are."""
    kind, words = int(cells[core.KIND]), max(int(cells[core.SIZE]) // WORD_BYTES, 1)
    if kind in (core.LOAD, core.LOAD_CONSTANT):
        yield core.TO, words
    elif kind == core.STORE_WORDS:
        yield core.FROM_C, words
    elif kind == core.ATOMIC:
        yield from ((column, words) for column in (core.TO, core.FROM_C, core.FROM_C_HIGH))
    elif kind == core.LOAD_MATRIX:
        yield core.TO, int(cells[core.SIZE])
    elif kind in (core.H_MATRIX, core.I_MATRIX):
        rows = 16 if kind == core.H_MATRIX else int(cells[core.OPERATION])
        # One register of each lane holds eight rows of four words along K.
        groups = int(cells[core.SIZE]) * int(cells[core.NUMBER]) // (4 * WARP_SIZE)
        packed = kind == core.H_MATRIX and not cells[core.FORM_2]
        sums = rows // 8 if packed else rows // 4
        yield from ((core.FROM_A, rows // 8 * groups), (core.FROM_B, groups), (core.FROM_C, sums), (core.TO, sums))
    elif kind == core.D_MATRIX:
        yield from ((core.FROM_A, 2), (core.FROM_B, 2), (core.FROM_C, 4), (core.TO, 4))


def beyond_registers(cells: IntArray) -> str:
    """Return what is wrong with the registers of a row: a span of them reaches the zero register; else nothing."""
    matrix = cells[core.KIND] in (core.H_MATRIX, core.I_MATRIX)
    for column, count in register_spans(cells):
        first = int(cells[column])
        zero = RZ if first < core.REGISTERS else core.REGISTERS + URZ
        fragment = matrix and column in (core.FROM_A, core.FROM_B)
        if (first == zero and fragment and count > 1) or first < zero < first + count:
            name = f"{'R' if zero == RZ else 'UR'}{first % core.REGISTERS}"
            return f"{count} registers from {name} on reach the zero register"
    return ""
