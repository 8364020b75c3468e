"""
Arithmetic of two halves, f16 or bf16, in one word: HADD2, HMUL2, HFMA2, HMNMX2, HSETP2.

Each result is rounded once from the exact one.
"""

from gpusim.execute.core.constants import (
    FORM,
    FORM_2,
    FORM_3,
    FORM_4,
    FROM_A,
    FROM_B,
    FROM_C,
    H_ADD,
    H_COMPARE,
    H_EXTREME,
    H_FUSED,
    H_MULTIPLY,
    HALF_F16,
    NUMBER,
    A,
    B,
    C,
    D,
    X,
)
from gpusim.execute.core.floats import extreme_of, float_compared
from gpusim.execute.core.formats import narrowed, packed_half, wide_of_half
from gpusim.execute.core.integers import combined
from gpusim.execute.core.registers import WarpRegisters, fetch, set_both, store, tested
from gpusim.execute.core.words import as_float, double_bits, float_bits, low32, low64
from gpusim.units import WARP_SIZE


def half_operand(r: WarpRegisters, row: int, place: int, lane: int, high: int) -> float:
    """
    Return a source's half for the low or high result.

    FORM: the format. FORM_3: two bits a source: each result its own half, the low one, the high one.
    """
    word = r.s[place + lane]
    which = r.code[row + FORM_3] >> 2 * (place // WARP_SIZE) & 3
    upper = high if which == 0 else which == 2
    return as_float(wide_of_half(low32(word >> 16) if upper else low32(word & 0xFFFF), r.code[row + FORM]))


def sum_as_half(product: float, c: float, kind: int) -> int:
    """Return the bits of a product, exact in f64, plus a half, rounded once."""
    total = product + c
    if total != total or total - total != 0:  # noqa: PLR0124 - a NaN or infinite
        return packed_half(double_bits(total), kind, 0)
    part = total - product
    error = (product - (total - part)) + (c - part)
    bits = low64(double_bits(total))
    if error != 0 and (error > 0) != (total > 0):
        bits = low64(bits - 1)  # the exact sum lies between this f64 and the next
    return narrowed(bits, error != 0, 5 if kind == HALF_F16 else 8, 10 if kind == HALF_F16 else 7, 0)


def settled_half(bits: int, kind: int, form: int) -> int:
    """Return a half after .SAT (bit 0 of the form) and .RELU (bit 1)."""
    nan = (bits & 0x7FFF) > (0x7C00 if kind == HALF_F16 else 0x7F80)
    if form & 3 and (bits & 0x8000 or nan):
        return low32(bits) if nan and not form & 1 else low32(0)
    if form & 1:
        return min(low32(bits), low32(0x3C00 if kind == HALF_F16 else 0x3F80))
    return low32(bits)


def half_arithmetic(r: WarpRegisters, row: int, kind: int) -> None:
    """HADD2, HMUL2, HFMA2. FORM_2: HADD2 returns one f32, of the low halves. FORM_4: .SAT and .RELU."""
    fetch(r, row, FROM_A, A)
    fetch(r, row, FROM_B, B)
    fetch(r, row, FROM_C, C)
    form = r.code[row + FORM]
    for lane in range(WARP_SIZE):
        word = low32(0)
        for high in range(2):
            a, b = half_operand(r, row, A, lane, high), half_operand(r, row, B, lane, high)
            if kind == H_ADD:
                bits = sum_as_half(a, b, form)
            elif kind == H_MULTIPLY:
                bits = packed_half(double_bits(float(a) * b), form, 0)
            else:
                bits = sum_as_half(float(a) * b, half_operand(r, row, C, lane, high), form)
            word |= settled_half(bits, form, r.code[row + FORM_4]) << 16 * high
        if r.code[row + FORM_2]:
            word = float_bits(half_operand(r, row, A, lane, 0) + half_operand(r, row, B, lane, 0))
        r.s[D + lane] = word
    store(r, row)


def half_extreme(r: WarpRegisters, row: int) -> None:
    """HMNMX2: the smaller of each pair where x holds, otherwise the larger. FORM_4: .NAN."""
    fetch(r, row, FROM_A, A)
    fetch(r, row, FROM_B, B)
    least, form = tested(r, row, X), r.code[row + FORM]
    for lane in range(WARP_SIZE):
        word = low32(0)
        for high in range(2):
            a = float_bits(half_operand(r, row, A, lane, high))
            b = float_bits(half_operand(r, row, B, lane, high))
            taken = extreme_of(a, b, least >> lane & 1, r.code[row + FORM_4])
            word |= packed_half(double_bits(as_float(taken)), form, 0) << 16 * high
        r.s[D + lane] = word
    store(r, row)


def half_compare(r: WarpRegisters, row: int) -> None:
    """
    HSETP2, HSET2: compare (FORM_2) both halves, and combine (FORM_4) with x: p is of the low ones, q of the high ones.

    NUMBER: 0 writes p and q; 1 writes the halves 1 or 0 (.BF), 2 halves of which all bits are set or none.
    """
    fetch(r, row, FROM_A, A)
    fetch(r, row, FROM_B, B)
    relation, how, low, high = r.code[row + FORM_2], r.code[row + FORM_4], 0, 0
    for lane in range(WARP_SIZE):
        low |= float_compared(relation, half_operand(r, row, A, lane, 0), half_operand(r, row, B, lane, 0)) << lane
        high |= float_compared(relation, half_operand(r, row, A, lane, 1), half_operand(r, row, B, lane, 1)) << lane
    also = tested(r, row, X)
    low, high = combined(how & 3, low, also), combined(how & 3, high, also)
    if not r.code[row + NUMBER]:
        set_both(r, row, low, high)
        return
    yes = low32(0xFFFF)
    if r.code[row + NUMBER] == 1:
        yes = low32(0x3C00) if r.code[row + FORM] == HALF_F16 else low32(0x3F80)
    for lane in range(WARP_SIZE):
        r.s[D + lane] = low32(yes * (low >> lane & 1)) | low32(low64(yes * (high >> lane & 1)) << 16)
    store(r, row)


def half_operation(r: WarpRegisters, row: int, kind: int) -> None:
    """Execute an instruction of two halves."""
    if kind == H_ADD or kind == H_MULTIPLY or kind == H_FUSED:
        half_arithmetic(r, row, kind)
    elif kind == H_EXTREME:
        half_extreme(r, row)
    elif kind == H_COMPARE:
        half_compare(r, row)
