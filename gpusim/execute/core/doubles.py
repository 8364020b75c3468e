"""Arithmetic of f64, whose words lie in two registers: DADD, DMUL, DFMA, DSETP."""

from gpusim.execute.core.constants import (
    D_ADD,
    D_COMPARE,
    D_HIGH,
    D_MULTIPLY,
    FORM,
    FORM_2,
    FORM_3,
    FROM_A,
    FROM_B,
    FROM_C,
    A,
    B,
    C,
    D,
    X,
)
from gpusim.execute.core.floats import float_compared
from gpusim.execute.core.integers import combined
from gpusim.execute.core.registers import WarpRegisters, fetch_pair, set_both, store, store_high, tested
from gpusim.execute.core.words import as_double, double_bits, fused64, low32, low64
from gpusim.units import WARP_SIZE


def double_at(r: WarpRegisters, place: int, lane: int) -> float:
    """Return an f64 of the scratch, whose high word lies four places behind the low one."""
    return as_double(low64(r.s[place + 4 * WARP_SIZE + lane]) << 32 | r.s[place + lane])


def double_operation(r: WarpRegisters, row: int, kind: int) -> None:
    """Execute an instruction of f64."""
    fetch_pair(r, row, FROM_A, A)
    fetch_pair(r, row, FROM_B, B)
    if kind == D_COMPARE:
        double_compare(r, row)
        return
    fetch_pair(r, row, FROM_C, C)
    for lane in range(WARP_SIZE):
        a, b = double_at(r, A, lane), double_at(r, B, lane)
        if kind == D_ADD:
            bits = double_bits(a + b)
        elif kind == D_MULTIPLY:
            bits = double_bits(a * b)
        else:
            bits = fused64(a, b, double_at(r, C, lane))
        r.s[D + lane], r.s[D_HIGH + lane] = low32(bits), low32(bits >> 32)
    store(r, row)
    store_high(r, row)


def double_compare(r: WarpRegisters, row: int) -> None:
    """
    DSETP: compare (FORM) a with b, then combine (FORM_2) with x; q is of the opposite.

    FORM_3: 1, 2 for .MIN, .MAX: p is of the lanes whose extreme is a, q of those in which both are NaN. Source: nvcc's
    code of fmin and fmax, which takes b where p does not hold, and makes it a quiet NaN where q does.
    """
    relation, how, extreme = r.code[row + FORM], r.code[row + FORM_2], r.code[row + FORM_3]
    holds, other = 0, 0
    for lane in range(WARP_SIZE):
        a, b = double_at(r, A, lane), double_at(r, B, lane)
        if extreme:
            holds |= first_is_extreme(a, b, extreme) << lane
            other |= (a != a and b != b) << lane  # noqa: PLR0124 - only a NaN differs from itself
        else:
            holds |= float_compared(relation, a, b) << lane
    also = tested(r, row, X)
    set_both(r, row, combined(how, holds, also), combined(how, other if extreme else ~holds, also))


def first_is_extreme(a: float, b: float, extreme: int) -> int:
    """Return whether the minimum (1) or maximum (2) of two numbers is the first: a number before a NaN, -0 before 0."""
    if a != a:  # noqa: PLR0124 - only a NaN differs from itself
        return 0
    if b != b:  # noqa: PLR0124
        return 1
    if a == b:
        negative = low32(double_bits(a) >> 63)
        return negative if extreme == 1 else 1 - negative
    return a < b if extreme == 1 else a > b
