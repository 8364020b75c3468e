"""Atomic operations on global and shared memory, lane after lane: ATOMG, ATOMS, RED."""

from gpusim.execute.core.constants import (
    D_HIGH,
    FROM_C,
    FROM_C_HIGH,
    HALF_F16,
    NUMBER,
    OPERATION,
    RZ_ROW,
    SIZE,
    SPACE,
    TO,
    D,
)
from gpusim.execute.core.formats import packed_half, wide_half
from gpusim.execute.core.memory import CtaMemory, find_addresses, place_in, read_word, write_word
from gpusim.execute.core.registers import WarpRegisters, keep_row, place_of
from gpusim.execute.core.words import as_double, as_float, double_bits, float_bits, low32, low64, signed32, signed64
from gpusim.units import WARP_SIZE


def atomic(m: CtaMemory, r: WarpRegisters, row: int) -> None:
    """Read, combine, write, for each lane. FROM_C: the operand, what CAS compares; FROM_C_HIGH: what CAS writes."""
    find_addresses(m, r, row)
    size, to = r.code[row + SIZE], r.code[row + TO]
    given, new = place_of(r, r.code[row + FROM_C]), place_of(r, r.code[row + FROM_C_HIGH])
    given_step = 0 if r.code[row + FROM_C] == RZ_ROW else WARP_SIZE
    new_step = 0 if r.code[row + FROM_C_HIGH] == RZ_ROW else WARP_SIZE
    for lane in range(WARP_SIZE):
        if r.mask >> lane & 1:
            place = place_in(m, lane, m.addresses[lane], size, r.code[row + SPACE])
            if place < 0:
                return
            old, operand, other = low64(read_word(m, place, 4)), low64(r.file[given + lane]), low64(r.file[new + lane])
            if size == 8:
                old |= low64(read_word(m, place + 4, 4)) << 32
                operand |= low64(r.file[given + given_step + lane]) << 32
                other |= low64(r.file[new + new_step + lane]) << 32
            word = updated(r.code[row + OPERATION], r.code[row + NUMBER], old, operand, other)
            write_word(m, place, 4, low32(word))
            if size == 8:
                write_word(m, place + 4, 4, low32(word >> 32))
            r.s[D + lane], r.s[D_HIGH + lane] = low32(old), low32(old >> 32)
    if to >= 0:
        keep_row(r, to, D, 0)
        if size == 8:
            keep_row(r, to + 1, D_HIGH, 0)


def updated(operation: int, number: int, old: int, operand: int, other: int) -> int:
    """
    Return what an atomic operation writes.

    Args:
        operation: ADD, MIN, MAX, INC, DEC, AND, OR, XOR, EXCH, CAS: 0 to 9.
        number: U32, S32, U64, F32, F16x2, S64, F64, BF16x2: 0 to 7.
        old: What was there.
        operand: The operand; for CAS what is compared.
        other: What CAS writes.
    """
    if operation == 9:
        return other if old == operand else old
    if operation == 8:
        return operand
    if operation == 7:
        return old ^ operand
    if operation == 6:
        return old | operand
    if operation == 5:
        return old & operand
    if operation == 4:
        return operand if old == 0 or old > operand else low64(old - 1)
    if operation == 3:
        return low64(0) if old >= operand else low64(old + 1)
    if operation == 0:
        return added(number, old, operand)
    if number == 1:
        less = signed32(old) < signed32(operand)
    elif number == 5:
        less = signed64(old) < signed64(operand)
    else:
        less = old < operand
    return old if less == (operation == 1) else operand


def added(number: int, old: int, operand: int) -> int:
    """Return the sum of two numbers of a type."""
    if number == 3:
        return low64(float_bits(as_float(low32(old)) + as_float(low32(operand))))
    if number == 6:
        return low64(double_bits(as_double(old) + as_double(operand)))
    if number == 4 or number == 7:
        word = low64(0)
        for half in range(2):
            if number == 4:
                a, b = wide_half(low32(old >> 16 * half) & 0xFFFF), wide_half(low32(operand >> 16 * half) & 0xFFFF)
            else:
                a, b = low32(old >> 16 * half << 16), low32(operand >> 16 * half << 16)
            total = double_bits(float(as_float(a)) + as_float(b))
            word |= low64(packed_half(total, HALF_F16 if number == 4 else 1, 0)) << 16 * half
        return word
    return low64(old + operand)
