"""
Matrix products of a warp: HMMA, IMMA, DMMA, and MOVM, on the fragments that PTX ISA 9.0 draws (mma.sync).

The products of a row and a column are summed in f64 and rounded once; a tensor core truncates some bits of each addend,
so that its results differ in the last bits.
"""

from gpusim.execute.core.constants import (
    FORM,
    FORM_2,
    FORM_3,
    FORM_4,
    FROM_A,
    FROM_B,
    FROM_C,
    H_MATRIX,
    I_MATRIX,
    NUMBER,
    OPERATION,
    RZ_ROW,
    SIZE,
    TALL,
    TO,
    A,
    D,
)
from gpusim.execute.core.formats import HALF_BF16, HALF_F16, packed_half, wide_of_half
from gpusim.execute.core.registers import WarpRegisters, fetch, keep_row, place_of, store
from gpusim.execute.core.words import as_float, double_bits, float_bits, low32, low64, signed32, signed64
from gpusim.units import WARP_SIZE


def element(r: WarpRegisters, first: int, row: int, k: int, form: int) -> int:
    """
    Return the bits of element (row, k) of a fragment.

    Args:
        first: First word of the fragment's registers; 0 for a fragment of zeros.
        row: Row of A, or column of B.
        k: Position along K.
        form: Bits of an element; and 64 where two registers hold a group of K: A, whose rows from 8 on have their own.
    """
    bits, tall = form & 63, 1 + (form >> 6)
    a_word = 32 // bits
    lane = (row & 7) * 4 + k // a_word % 4
    register = (row >> 3) + k // (4 * a_word) * tall
    word = r.file[first + register * WARP_SIZE + lane]
    if bits == 32:
        return word
    return low32(word >> bits * (k % a_word) & low32((1 << bits) - 1))


def float_value(bits: int, kind: int) -> float:
    """Return an element as a number: f16, bf16, tf32 are 0, 1, 2; tf32 has ten bits behind the point."""
    if kind == 2:
        return as_float(low32(bits >> 13 << 13))
    return as_float(wide_of_half(bits, HALF_F16 if kind == 0 else HALF_BF16))


def half_product(r: WarpRegisters, row: int) -> None:
    """HMMA. SIZE: extent of K. FORM: kind of the elements. FORM_2: sums are f32. NUMBER: bits of an element."""
    a, b = place_of(r, r.code[row + FROM_A]), place_of(r, r.code[row + FROM_B])
    kind, bits, extent = r.code[row + FORM], r.code[row + NUMBER], r.code[row + SIZE]
    for m in range(16):
        for n in range(8):
            total = 0.0
            for k in range(extent):
                left = float_value(element(r, a, m, k, bits + TALL), kind)
                total = total + float(left) * float_value(element(r, b, n, k, bits), kind)
            place = (m >> 3) * 2 * WARP_SIZE + (n & 1) * WARP_SIZE + (m & 7) * 4 + n // 2
            if r.code[row + FORM_2]:
                r.sums[place] = float_bits(total + as_float(addend(r, row, (m >> 3) * 2 + (n & 1), m, n)))
            else:
                word = addend(r, row, m >> 3, m, n)
                value = as_float(wide_of_half(low32(word >> 16 * (n & 1)) & 0xFFFF, HALF_F16))
                r.sums[place] = packed_half(double_bits(total + value), HALF_F16, 0)
    write_sums(r, row)


def addend(r: WarpRegisters, row: int, register: int, m: int, n: int) -> int:
    """Return the word of C's register that has the sum of row m and column n; zero where C is RZ."""
    source = r.code[row + FROM_C]
    if source == RZ_ROW:
        return low32(0)
    return r.file[place_of(r, source) + register * WARP_SIZE + (m & 7) * 4 + n // 2]


def write_sums(r: WarpRegisters, row: int) -> None:
    """Write the sums to the destination: four registers of f32 or integers, or two of pairs of halves."""
    to = r.code[row + TO]
    for register in range(4):
        for lane in range(WARP_SIZE):
            word = r.sums[register * WARP_SIZE + lane]
            if not r.code[row + FORM_2]:
                if register & 1:
                    continue
                word = word | low32(low64(r.sums[(register + 1) * WARP_SIZE + lane]) << 16)
            r.s[D + lane] = word
        if r.code[row + FORM_2]:
            keep_row(r, to + register, D, 0)
        elif not register & 1:
            keep_row(r, to + register // 2, D, 0)


def integer_product(r: WarpRegisters, row: int) -> None:
    """
    IMMA. SIZE: extent of K. NUMBER: bits of an element. FORM, FORM_3: A and B are signed. OPERATION: rows of A.

    FORM_4: sums are clamped to 32 bits, else they wrap.
    """
    a, b = place_of(r, r.code[row + FROM_A]), place_of(r, r.code[row + FROM_B])
    bits, extent, rows = r.code[row + NUMBER], r.code[row + SIZE], r.code[row + OPERATION]
    tall = TALL if rows == 16 else 0
    for m in range(rows):
        for n in range(8):
            total = signed32(addend(r, row, (m >> 3) * 2 + (n & 1), m, n))
            for k in range(extent):
                left = part(element(r, a, m, k, bits + tall), bits, r.code[row + FORM])
                total = total + left * part(element(r, b, n, k, bits), bits, r.code[row + FORM_3])
            if r.code[row + FORM_4]:
                most = (signed64(1) << 31) - 1
                total = max(-most - 1, min(most, total))
            r.sums[(m >> 3) * 2 * WARP_SIZE + (n & 1) * WARP_SIZE + (m & 7) * 4 + n // 2] = low32(total)
    for register in range(rows // 4):
        for lane in range(WARP_SIZE):
            r.s[D + lane] = r.sums[register * WARP_SIZE + lane]
        keep_row(r, r.code[row + TO] + register, D, 0)


def part(bits: int, width: int, is_signed: int) -> int:
    """Return an element of some bits as a number."""
    value = signed64(bits)
    return value - (signed64(1) << width) if is_signed and value >> width - 1 else value


def transpose(r: WarpRegisters, row: int) -> None:
    """MOVM.16.MT88: the transpose of an 8 x 8 matrix of halves, of which each lane holds two of a row."""
    fetch(r, row, FROM_A, A)
    for lane in range(WARP_SIZE):
        m, n = lane // 4, lane % 4 * 2
        word = low32(0)
        for half in range(2):
            taken = r.s[A + (n + half) * 4 + m // 2] >> 16 * (m & 1) & 0xFFFF
            word |= low32(taken) << 16 * half
        r.s[D + lane] = word
    store(r, row)


def matrix_operation(r: WarpRegisters, row: int, kind: int) -> None:
    """Execute a matrix product."""
    if kind == H_MATRIX:
        half_product(r, row)
    elif kind == I_MATRIX:
        integer_product(r, row)
    else:
        transpose(r, row)
