"""
Matrix products of a warp: HMMA, QMMA, IMMA, DMMA, and MOVM, on the fragments that PTX ISA 9.0 draws (mma.sync).

The products of a row and a column are summed in f64 and rounded once; a tensor core truncates some bits of each addend,
so that its results differ in the last bits.
"""

from gpusim.execute.core.constants import (
    A_ELEMENTS,
    B_ELEMENTS,
    D_MATRIX,
    FORM,
    FORM_2,
    FORM_3,
    FORM_4,
    FROM_A,
    FROM_B,
    FROM_C,
    H_MATRIX,
    HALF_BF16,
    HALF_F16,
    I_MATRIX,
    NUMBER,
    OPERATION,
    RZ_ROW,
    SIZE,
    TO,
    A,
    D,
)
from gpusim.execute.core.formats import half_of_eight, packed_half, wide_half, wide_of_half
from gpusim.execute.core.registers import WarpRegisters, fetch, keep_row, place_of, store
from gpusim.execute.core.words import (
    as_double,
    as_float,
    double_bits,
    float_bits,
    fused64,
    low32,
    low64,
    signed32,
    signed64,
)
from gpusim.units import WARP_SIZE


def unpack(r: WarpRegisters, row: int, first: int, rows: int, place: int) -> None:
    """
    Write the elements of a fragment to the sums' scratch, each row of A and each column of B in the order of K.

    Args:
        row: The instruction's row: SIZE is the extent of K, NUMBER the bits of an element.
        first: First word of the fragment's registers.
        rows: Rows of A, or columns of B: 8, or 16 with two registers for each group of K.
        place: Where the elements go.
    """
    bits, extent = r.code[row + NUMBER], r.code[row + SIZE]
    keep = low32((low64(1) << bits) - 1)
    held, tall = 32 // bits, rows // 8
    for register in range(rows * extent // (held * WARP_SIZE)):
        for lane in range(WARP_SIZE):
            word = r.file[first + register * WARP_SIZE + lane]
            line = register % tall * 8 + lane // 4
            into = place + line * extent + (register // tall * 4 + lane % 4) * held
            for number in range(held):
                r.sums[into + number] = word >> bits * number & keep


def float_value(bits: int, kind: int) -> float:
    """Return an element as a number: f16, bf16, tf32, e4m3, e5m2 are 0 to 4; tf32 has ten bits behind the point."""
    if kind == 2:
        return as_float(low32(bits >> 13 << 13))
    if kind > 2:
        return as_float(wide_half(half_of_eight(bits, kind)))
    return as_float(wide_of_half(bits, HALF_F16 if kind == 0 else HALF_BF16))


def half_product(r: WarpRegisters, row: int) -> None:
    """HMMA, QMMA. SIZE: extent of K. FORM, FORM_3: kinds of A, B. FORM_2: sums are f32. NUMBER: bits of an element."""
    kind, other, extent = r.code[row + FORM], r.code[row + FORM_3], r.code[row + SIZE]
    unpack(r, row, place_of(r, r.code[row + FROM_A]), 16, A_ELEMENTS)
    unpack(r, row, place_of(r, r.code[row + FROM_B]), 8, B_ELEMENTS)
    for k in range(16 * extent):
        r.sums[A_ELEMENTS + k] = float_bits(float_value(r.sums[A_ELEMENTS + k], kind))
    for k in range(8 * extent):
        r.sums[B_ELEMENTS + k] = float_bits(float_value(r.sums[B_ELEMENTS + k], other))
    for m in range(16):
        for n in range(8):
            total, left, right = 0.0, A_ELEMENTS + m * extent, B_ELEMENTS + n * extent
            for k in range(extent):
                total = total + float(as_float(r.sums[left + k])) * as_float(r.sums[right + k])
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
    bits, extent, rows = r.code[row + NUMBER], r.code[row + SIZE], r.code[row + OPERATION]
    unpack(r, row, place_of(r, r.code[row + FROM_A]), rows, A_ELEMENTS)
    unpack(r, row, place_of(r, r.code[row + FROM_B]), 8, B_ELEMENTS)
    for m in range(rows):
        for n in range(8):
            total = signed32(addend(r, row, (m >> 3) * 2 + (n & 1), m, n))
            for k in range(extent):
                left = part(r.sums[A_ELEMENTS + m * extent + k], bits, r.code[row + FORM])
                total = total + left * part(r.sums[B_ELEMENTS + n * extent + k], bits, r.code[row + FORM_3])
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


def double_product(r: WarpRegisters, row: int) -> None:
    """DMMA.884: an 8 x 8 matrix of f64, C plus the product of 8 x 4 and 4 x 8 ones; each addend is rounded."""
    a, b, c = r.code[row + FROM_A], r.code[row + FROM_B], r.code[row + FROM_C]
    for m in range(8):
        for n in range(8):
            lane = m * 4 + n // 2
            bits = low64(pair_of(r, c, 2 * (n & 1), lane))
            for k in range(4):
                left, right = as_double(pair_of(r, a, 0, m * 4 + k)), as_double(pair_of(r, b, 0, n * 4 + k))
                bits = fused64(left, right, as_double(bits))
            r.sums[2 * (n & 1) * WARP_SIZE + lane] = low32(bits)
            r.sums[(2 * (n & 1) + 1) * WARP_SIZE + lane] = low32(bits >> 32)
    for register in range(4):
        for lane in range(WARP_SIZE):
            r.s[D + lane] = r.sums[register * WARP_SIZE + lane]
        keep_row(r, r.code[row + TO] + register, D, 0)


def pair_of(r: WarpRegisters, source: int, register: int, lane: int) -> int:
    """Return the 64 bits of a lane's register and the next one, counted from a source; 0 where it is RZ."""
    if source == RZ_ROW:
        return low64(0)
    place = place_of(r, source) + register * WARP_SIZE + lane
    return low64(r.file[place + WARP_SIZE]) << 32 | r.file[place]


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
    elif kind == D_MATRIX:
        double_product(r, row)
    else:
        transpose(r, row)
