"""
Floating-point arithmetic over the lanes of a warp: FADD, FMUL, FFMA, FMNMX, FSETP, FSET, FSEL, FCHK, MUFU.

A NaN that arithmetic returns is 0x7fffffff. MUFU is the nearest f32 to the exact result, which may differ from silicon
in the last bits. Source: PTX ISA 9.0, and the results of an H200 on random bits.
"""

from gpusim.execute.core.constants import (
    F_ADD,
    F_CHECK,
    F_COMPARE,
    F_EXTREME,
    F_FUNCTION,
    F_FUSED,
    F_MULTIPLY,
    F_SELECT,
    F_SET,
    FORM,
    FORM_2,
    FORM_3,
    FORM_4,
    FROM_A,
    FROM_B,
    FROM_C,
    A,
    B,
    C,
    D,
    X,
)
from gpusim.execute.core.conversions import conversion
from gpusim.execute.core.formats import flushed, narrowed
from gpusim.execute.core.integers import combined
from gpusim.execute.core.registers import WarpRegisters, fetch, set_both, store, tested
from gpusim.execute.core.words import (
    as_double,
    as_float,
    cosine,
    double_bits,
    exp2,
    float_bits,
    floor,
    fused32,
    log2,
    low32,
    low64,
    quotient,
    signed64,
    sine,
    square_root,
    tangent_h,
)
from gpusim.units import WARP_SIZE


def settled(bits: int, form: int, flush: int) -> int:
    """Return a result's bits after .FTZ and .SAT (bit 2 of the form), which clamps to 0 and 1 and turns a NaN to 0."""
    bits = flushed(bits, flush)
    if form & 4:
        if bits >> 31 or (bits & 0x7FFFFFFF) > 0x7F800000:
            return low32(0)
        return min(low32(0x3F800000), low32(bits))
    return low32(bits)


def float_add(r: WarpRegisters, row: int) -> None:
    """FADD: a + b. FORM: bits 0 and 1 the rounding, bit 2 .SAT. FORM_2: .FTZ."""
    fetch(r, row, FROM_A, A)
    fetch(r, row, FROM_B, B)
    form, flush = r.code[row + FORM], r.code[row + FORM_2]
    for lane in range(WARP_SIZE):
        a, b = flushed(r.s[A + lane], flush), flushed(r.s[B + lane], flush)
        if form & 3:
            bits = directed(1.0, as_float(a), as_float(b), form & 3)
        else:
            bits = float_bits(as_float(a) + as_float(b))
        r.s[D + lane] = settled(bits, form, flush)
    store(r, row)


def float_multiply(r: WarpRegisters, row: int) -> None:
    """FMUL: a * b, times two to the power FORM_3. FORM and FORM_2 as FADD's."""
    fetch(r, row, FROM_A, A)
    fetch(r, row, FROM_B, B)
    form, flush = r.code[row + FORM], r.code[row + FORM_2]
    scale = as_double(low64(1023 + r.code[row + FORM_3]) << 52)
    for lane in range(WARP_SIZE):
        a, b = flushed(r.s[A + lane], flush), flushed(r.s[B + lane], flush)
        product = as_float(a) * scale * as_float(b)  # exact in f64
        if form & 3:
            bits = narrowed(double_bits(product), 0, 8, 23, form & 3)
        else:
            bits = float_bits(product)
        r.s[D + lane] = settled(bits, form, flush)
    store(r, row)


def float_fused(r: WarpRegisters, row: int) -> None:
    """FFMA: a * b + c, rounded once. FORM and FORM_2 as FADD's."""
    fetch(r, row, FROM_A, A)
    fetch(r, row, FROM_B, B)
    fetch(r, row, FROM_C, C)
    form, flush = r.code[row + FORM], r.code[row + FORM_2]
    if form == 0 and flush == 0:
        for lane in range(WARP_SIZE):
            r.s[D + lane] = fused32(as_float(r.s[A + lane]), as_float(r.s[B + lane]), as_float(r.s[C + lane]))
    else:
        for lane in range(WARP_SIZE):
            a, b, c = (
                flushed(r.s[A + lane], flush),
                flushed(r.s[B + lane], flush),
                flushed(r.s[C + lane], flush),
            )
            if form & 3:
                bits = directed(as_float(a), as_float(b), as_float(c), form & 3)
            else:
                bits = fused32(as_float(a), as_float(b), as_float(c))
            r.s[D + lane] = settled(bits, form, flush)
    store(r, row)


def directed(a: float, b: float, c: float, rounding: int) -> int:
    """Return the bits of a * b + c rounded down, up or to zero (1, 2, 3). The product of two f32 is exact in f64."""
    product = a * b
    total = product + c
    if total != total or total - total != 0 or product - product != 0:  # noqa: PLR0124 - a NaN or infinite
        return float_bits(total)
    part = total - product
    error = (product - (total - part)) + (c - part)
    if total == 0 and error == 0:
        zero = double_bits(total) >> 63
        if rounding == 1 and (double_bits(product) >> 63 or double_bits(c) >> 63):
            zero = 1  # x - x is -0 rounded down
        return low32(zero << 31)
    sticky = 0 if error == 0 else (1 if (error > 0) == (total > 0) else -1)
    bits = low64(double_bits(total))
    if sticky < 0:
        bits = low64(bits - 1)  # the exact result lies between this one and the next
    return narrowed(bits, sticky != 0, 8, 23, rounding)


def float_extreme(r: WarpRegisters, row: int) -> None:
    """FMNMX: the smaller of a and b where x holds, otherwise the larger; a number wins over a NaN. FORM_2: .FTZ."""
    fetch(r, row, FROM_A, A)
    fetch(r, row, FROM_B, B)
    least, flush = tested(r, row, X), r.code[row + FORM_2]
    for lane in range(WARP_SIZE):
        a, b = flushed(r.s[A + lane], flush), flushed(r.s[B + lane], flush)
        r.s[D + lane] = extreme_of(a, b, least >> lane & 1, r.code[row + FORM])
    store(r, row)


def extreme_of(a: int, b: int, least: int, propagates: int) -> int:
    """Return the bits of the smaller or larger f32, -0 below +0; of a number and a NaN the number, unless .NAN."""
    a_nan, b_nan = (a & 0x7FFFFFFF) > 0x7F800000, (b & 0x7FFFFFFF) > 0x7F800000
    if (a_nan and b_nan) or (propagates and (a_nan or b_nan)):
        return low32(0x7FFFFFFF)
    if a_nan or b_nan:
        return low32(b) if a_nan else low32(a)
    left, right = as_float(a), as_float(b)
    less = left < right or (left == right and a >> 31 > b >> 31)
    return low32(a) if less == (least != 0) else low32(b)


def float_compared(relation: int, a: float, b: float) -> int:
    """Return whether a relation of 16 holds: bits 0 to 2 for less, equal, greater, bit 3 for unordered."""
    if a != a or b != b:  # noqa: PLR0124 - only a NaN differs from itself
        return relation >> 3 & 1
    if a == b:
        return relation >> 1 & 1
    return relation & 1 if a < b else relation >> 2 & 1


def compare_lanes(r: WarpRegisters, row: int) -> int:
    """Return the lanes in which the relation (FORM) of a and b holds. FORM_3: .FTZ."""
    fetch(r, row, FROM_A, A)
    fetch(r, row, FROM_B, B)
    relation, flush, holds = r.code[row + FORM], r.code[row + FORM_3], 0
    for lane in range(WARP_SIZE):
        a, b = as_float(flushed(r.s[A + lane], flush)), as_float(flushed(r.s[B + lane], flush))
        holds |= float_compared(relation, a, b) << lane
    return holds


def float_compare(r: WarpRegisters, row: int) -> None:
    """FSETP: compare a with b, then combine (FORM_2) with x; q is of the opposite."""
    holds, also, how = compare_lanes(r, row), tested(r, row, X), r.code[row + FORM_2]
    set_both(r, row, combined(how, holds, also), combined(how, ~holds, also))


def set_word(r: WarpRegisters, row: int) -> None:
    """FSET: the word FORM_4 where the relation holds, combined (FORM_2) with x, otherwise 0."""
    holds = combined(r.code[row + FORM_2], compare_lanes(r, row), tested(r, row, X))
    word = low32(r.code[row + FORM_4])
    for lane in range(WARP_SIZE):
        r.s[D + lane] = word if holds >> lane & 1 else low32(0)
    store(r, row)


def float_check(r: WarpRegisters, row: int) -> None:
    """FCHK.DIVIDE: p holds where a / b needs more care than a Newton step: extreme exponents, zero, infinity, NaN."""
    fetch(r, row, FROM_A, A)
    fetch(r, row, FROM_B, B)
    holds = 0
    for lane in range(WARP_SIZE):
        a, b = signed64(r.s[A + lane] >> 23 & 255), signed64(r.s[B + lane] >> 23 & 255)
        careful = a == 255 or b == 255 or b == 0 or a == 0 or b > 252 or b < 3 or a - b > 125 or a - b < -124 or a < 26
        holds |= careful << lane
    set_both(r, row, holds, 0)


def float_function(r: WarpRegisters, row: int) -> None:
    """MUFU: COS, SIN, EX2, LG2, RCP, RSQ, RCP64H, RSQ64H, SQRT, TANH of b are 0 to 9 (FORM)."""
    fetch(r, row, FROM_B, B)
    which = r.code[row + FORM]
    for lane in range(WARP_SIZE):
        word = r.s[B + lane]
        if which == 6 or which == 7:
            value = as_double(low64(word) << 32)
            root = value if which == 6 else square_root(value)
            r.s[D + lane] = low32(double_bits(quotient(1.0, root)) >> 32)
        else:
            r.s[D + lane] = flushed(float_bits(function_of(which, as_float(flushed(word, 1)))), 1)
    store(r, row)


def function_of(which: int, value: float) -> float:
    """Return a function of MUFU. Sine and cosine take the angle in turns, of which the fraction counts."""
    if which == 0:
        return cosine((value - floor(value)) * 6.283185307179586)
    if which == 1:
        return sine((value - floor(value)) * 6.283185307179586)
    if which == 2:
        return exp2(value)
    if which == 3:
        return log2(value)
    if which == 4:
        return quotient(1.0, value)
    if which == 5:
        return quotient(1.0, square_root(value))
    return square_root(value) if which == 8 else tangent_h(value)


def float_select(r: WarpRegisters, row: int) -> None:
    """FSEL: a where x holds, otherwise b, with their signs and absolute values. FORM_2: .FTZ."""
    fetch(r, row, FROM_A, A)
    fetch(r, row, FROM_B, B)
    first, flush = tested(r, row, X), r.code[row + FORM_2]
    for lane in range(WARP_SIZE):
        r.s[D + lane] = flushed(r.s[A + lane] if first >> lane & 1 else r.s[B + lane], flush)
    store(r, row)


def float_operation(r: WarpRegisters, row: int, kind: int) -> None:
    """Execute an instruction of the floats' group."""
    if kind == F_ADD:
        float_add(r, row)
    elif kind == F_MULTIPLY:
        float_multiply(r, row)
    elif kind == F_FUSED:
        float_fused(r, row)
    elif kind == F_EXTREME:
        float_extreme(r, row)
    elif kind == F_COMPARE:
        float_compare(r, row)
    elif kind == F_SET:
        set_word(r, row)
    elif kind == F_SELECT:
        float_select(r, row)
    elif kind == F_FUNCTION:
        float_function(r, row)
    elif kind == F_CHECK:
        float_check(r, row)
    else:
        conversion(r, row, kind)
