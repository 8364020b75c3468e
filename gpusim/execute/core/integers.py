"""
Integer arithmetic of one instruction, over the lanes of a warp: IADD3, IMAD, LEA, LOP3, SHF, PRMT and more.

Each function reads an instruction's row, computes in the scratch, and writes what the row names. Source: PTX ISA 9.0,
the instructions from which these are assembled, and the results of an H200 on random bits.
"""

from gpusim.execute.core.bits import bit_operation
from gpusim.execute.core.constants import (
    ABSOLUTE,
    ADD3,
    ADD_EXTREME,
    C_HIGH,
    COMPARE_INTEGERS,
    D_HIGH,
    DIFFERENCE,
    DOT,
    EXTREME,
    FORM,
    FORM_2,
    FORM_3,
    FORM_4,
    FROM_A,
    FROM_B,
    FROM_C,
    IS_UNIFORM,
    MOVE,
    MULTIPLY,
    MULTIPLY_WIDE,
    PACK_INTEGERS,
    SELECT,
    SHIFT_ADD,
    A,
    B,
    C,
    D,
    P,
    X,
    Y,
    Z,
)
from gpusim.execute.core.registers import (
    WarpRegisters,
    fetch,
    fetch_high,
    set_both,
    set_predicate,
    store,
    store_high,
    tested,
)
from gpusim.execute.core.words import low32, low64, signed32, signed64
from gpusim.units import WARP_SIZE


def add3(r: WarpRegisters, row: int) -> None:
    """IADD3, VIADD: a + b + c, a constant (FORM) and the carries x and y; p holds if it carries, q if it does twice."""
    fetch(r, row, FROM_A, A)
    fetch(r, row, FROM_B, B)
    fetch(r, row, FROM_C, C)
    carry, second = tested(r, row, X), tested(r, row, Y)
    extra = r.code[row + FORM]
    once, twice = 0, 0
    for lane in range(WARP_SIZE):
        total = (
            low64(r.s[A + lane]) + r.s[B + lane] + r.s[C + lane] + extra + (carry >> lane & 1) + (second >> lane & 1)
        )
        r.s[D + lane] = low32(total)
        once |= (total >> 32 >= 1) << lane
        twice |= (total >> 32 >= 2) << lane
    set_both(r, row, once, twice)
    store(r, row)


def multiply(r: WarpRegisters, row: int) -> None:
    """IMAD: the low 32 bits of a * b + c, a constant (FORM) and the carry x."""
    fetch(r, row, FROM_A, A)
    fetch(r, row, FROM_B, B)
    fetch(r, row, FROM_C, C)
    carry = tested(r, row, X)
    extra = r.code[row + FORM]
    for lane in range(WARP_SIZE):
        product = low64(r.s[A + lane]) * r.s[B + lane]
        r.s[D + lane] = low32(product + r.s[C + lane] + extra + (carry >> lane & 1))
    store(r, row)


def multiply_wide(r: WarpRegisters, row: int) -> None:
    """
    IMAD.WIDE, IMAD.HI: the 64 bits of a * b + c, or their high word, with the carry x; p holds if it carries.

    FORM: the factors are signed. FORM_2: only the high word is kept. FORM_3: c is subtracted.
    """
    fetch(r, row, FROM_A, A)
    fetch(r, row, FROM_B, B)
    fetch(r, row, FROM_C, C)
    fetch_high(r, row, FROM_C, C_HIGH)
    carry = tested(r, row, X)
    is_signed, high, negated = r.code[row + FORM], r.code[row + FORM_2], r.code[row + FORM_3]
    carried = 0
    for lane in range(WARP_SIZE):
        if is_signed:
            product = low64(signed32(r.s[A + lane]) * signed32(r.s[B + lane]))
        else:
            product = low64(low64(r.s[A + lane]) * r.s[B + lane])
        addend = low64(r.s[C + lane]) | low64(r.s[C_HIGH + lane]) << 32
        if negated:
            total = low64(product - addend)
            carried |= (product >= addend) << lane
        else:
            total = low64(product + addend)
            carried |= (total < product) << lane
        total = low64(total + (carry >> lane & 1))
        r.s[D + lane] = low32(total >> 32) if high else low32(total)
        r.s[D_HIGH + lane] = low32(total >> 32)
    set_predicate(r, r.code[row + P], carried, r.code[row + IS_UNIFORM])
    store(r, row)
    store_high(r, row)


def shift_add(r: WarpRegisters, row: int) -> None:
    """
    LEA: (a << k) + b, a constant (FORM_2) and the carry x; p holds if it carries.

    FORM: k. FORM_3: 1 adds the high word of (c, a) << k instead, 2 the same with a's sign for c. FORM_4: the shifted
    value is inverted.
    """
    fetch(r, row, FROM_A, A)
    fetch(r, row, FROM_B, B)
    fetch(r, row, FROM_C, C)
    carry = tested(r, row, X)
    count, extra, high, flip = (
        r.code[row + FORM],
        r.code[row + FORM_2],
        r.code[row + FORM_3],
        low32(r.code[row + FORM_4]),
    )
    carried = 0
    for lane in range(WARP_SIZE):
        pair = low64(r.s[A + lane])
        if high == 1:
            pair = pair | low64(r.s[C + lane]) << 32
        elif high == 2:
            pair = low64(signed32(r.s[A + lane]))
        shifted = low64(pair << count)
        word = low32(shifted >> 32) if high else low32(shifted)
        total = low64(word ^ flip) + r.s[B + lane] + extra + (carry >> lane & 1)
        r.s[D + lane] = low32(total)
        carried |= (total >> 32 != 0) << lane
    set_predicate(r, r.code[row + P], carried, r.code[row + IS_UNIFORM])
    store(r, row)


def select(r: WarpRegisters, row: int) -> None:
    """SEL: a where x holds, otherwise b."""
    fetch(r, row, FROM_A, A)
    fetch(r, row, FROM_B, B)
    first = tested(r, row, X)
    for lane in range(WARP_SIZE):
        r.s[D + lane] = r.s[A + lane] if first >> lane & 1 else r.s[B + lane]
    store(r, row)


def move(r: WarpRegisters, row: int) -> None:
    """MOV: b."""
    fetch(r, row, FROM_B, D)
    store(r, row)


def absolute(r: WarpRegisters, row: int) -> None:
    """IABS: the absolute value of b."""
    fetch(r, row, FROM_B, B)
    for lane in range(WARP_SIZE):
        value = signed32(r.s[B + lane])
        r.s[D + lane] = low32(-value) if value < 0 else low32(value)
    store(r, row)


def extreme(r: WarpRegisters, row: int) -> None:
    """IMNMX, VIMNMX: the smaller of a and b where x holds, otherwise the larger. FORM: unsigned."""
    fetch(r, row, FROM_A, A)
    fetch(r, row, FROM_B, B)
    take_extreme(r, row, A, B)


def add_extreme(r: WarpRegisters, row: int) -> None:
    """VIADDMNMX: the smaller of a + b and c where x holds, otherwise the larger. FORM: unsigned. FORM_2: added too."""
    fetch(r, row, FROM_A, A)
    fetch(r, row, FROM_B, B)
    fetch(r, row, FROM_C, C)
    extra = r.code[row + FORM_2]
    for lane in range(WARP_SIZE):
        r.s[A + lane] = low32(low64(r.s[A + lane]) + r.s[B + lane] + extra)
    take_extreme(r, row, A, C)


def take_extreme(r: WarpRegisters, row: int, left: int, right: int) -> None:
    """Write the smaller of two scratch words where x holds, otherwise the larger."""
    least, unsigned = tested(r, row, X), r.code[row + FORM]
    for lane in range(WARP_SIZE):
        a, b = r.s[left + lane], r.s[right + lane]
        less = a < b if unsigned else signed32(a) < signed32(b)
        r.s[D + lane] = a if less == (least >> lane & 1) else b
    store(r, row)


def compared(relation: int, less: int, equal: int) -> int:
    """Return whether a relation holds: F, LT, EQ, LE, GT, NE, GE, T are 0 to 7; each bit of the number is a case."""
    if equal:
        return relation >> 1 & 1
    return relation & 1 if less else relation >> 2 & 1


def combined(how: int, holds: int, other: int) -> int:
    """Combine two masks of lanes: AND, OR, XOR are 0, 1, 2."""
    if how == 0:
        return holds & other
    return holds | other if how == 1 else holds ^ other


def compare(r: WarpRegisters, row: int) -> None:
    """
    ISETP: compare a with b, then combine with x; q is of the opposite.

    FORM: the relation. FORM_2: how it is combined. FORM_3: unsigned. FORM_4: these are the high words, z is the low
    words' comparison.
    """
    fetch(r, row, FROM_A, A)
    fetch(r, row, FROM_B, B)
    relation, how, unsigned = r.code[row + FORM], r.code[row + FORM_2], r.code[row + FORM_3]
    low = tested(r, row, Z)
    holds = 0
    for lane in range(WARP_SIZE):
        a, b = r.s[A + lane], r.s[B + lane]
        less = a < b if unsigned else signed32(a) < signed32(b)
        one = compared(relation, less, a == b)
        if r.code[row + FORM_4]:
            one = low >> lane & 1 if a == b else one
        holds |= one << lane
    also = tested(r, row, X)
    set_both(r, row, combined(how, holds, also), combined(how, ~holds, also))


def dot(r: WarpRegisters, row: int) -> None:
    """
    IDP: c plus the products of a's and b's parts.

    FORM: a is signed. FORM_2: b is. FORM_3: 0 for four bytes each, 1 or 2 for two halves of a with the low or high two
    bytes of b.
    """
    fetch(r, row, FROM_A, A)
    fetch(r, row, FROM_B, B)
    fetch(r, row, FROM_C, C)
    a_signed, b_signed, halves = r.code[row + FORM], r.code[row + FORM_2], r.code[row + FORM_3]
    for lane in range(WARP_SIZE):
        total = signed64(r.s[C + lane])
        for part in range(2 if halves else 4):
            if halves:
                left = signed64(r.s[A + lane] >> 16 * part & 0xFFFF)
                left = (left ^ 0x8000) - 0x8000 if a_signed else left
                right = signed64(r.s[B + lane] >> 8 * part + 16 * (halves - 1) & 0xFF)
            else:
                left = signed64(r.s[A + lane] >> 8 * part & 0xFF)
                left = (left ^ 0x80) - 0x80 if a_signed else left
                right = signed64(r.s[B + lane] >> 8 * part & 0xFF)
            right = (right ^ 0x80) - 0x80 if b_signed else right
            total += left * right
        r.s[D + lane] = low32(total)
    store(r, row)


def pack_integers(r: WarpRegisters, row: int) -> None:
    """I2IP: clamp a and b to integers of FORM bits (FORM_2: signed) and put them below c, moved by FORM_3 bits."""
    fetch(r, row, FROM_A, A)
    fetch(r, row, FROM_B, B)
    fetch(r, row, FROM_C, C)
    bits, is_signed = r.code[row + FORM], r.code[row + FORM_2]
    least = -(1 << bits - 1) if is_signed else 0
    most = (1 << bits - 1) - 1 if is_signed else (1 << bits) - 1
    ones = low32((1 << bits) - 1)
    for lane in range(WARP_SIZE):
        high = low32(max(least, min(most, signed32(r.s[A + lane])))) & ones
        low = low32(max(least, min(most, signed32(r.s[B + lane])))) & ones
        r.s[D + lane] = low32(low64(r.s[C + lane]) << 2 * bits) | high << bits | low
    store(r, row)


def difference(r: WarpRegisters, row: int) -> None:
    """VABSDIFF: the absolute value of a - b, plus c. FORM: unsigned."""
    fetch(r, row, FROM_A, A)
    fetch(r, row, FROM_B, B)
    fetch(r, row, FROM_C, C)
    unsigned = r.code[row + FORM]
    for lane in range(WARP_SIZE):
        a, b = r.s[A + lane], r.s[B + lane]
        less = a < b if unsigned else signed32(a) < signed32(b)
        r.s[D + lane] = low32(low64(r.s[C + lane]) + (low32(b - a) if less else low32(a - b)))
    store(r, row)


def integer_operation(r: WarpRegisters, row: int, kind: int) -> None:
    """Execute an instruction of the integers' group."""
    if kind == ADD3:
        add3(r, row)
    elif kind == MULTIPLY:
        multiply(r, row)
    elif kind == MULTIPLY_WIDE:
        multiply_wide(r, row)
    elif kind == SHIFT_ADD:
        shift_add(r, row)
    elif kind == SELECT:
        select(r, row)
    elif kind == MOVE:
        move(r, row)
    elif kind == ABSOLUTE:
        absolute(r, row)
    elif kind == EXTREME:
        extreme(r, row)
    elif kind == ADD_EXTREME:
        add_extreme(r, row)
    elif kind == COMPARE_INTEGERS:
        compare(r, row)
    elif kind == DOT:
        dot(r, row)
    elif kind == PACK_INTEGERS:
        pack_integers(r, row)
    elif kind == DIFFERENCE:
        difference(r, row)
    else:
        bit_operation(r, row, kind)
