"""Conversions between numbers: F2F, FRND, F2I, I2F, F2FP. Kinds of floats: 1 f16, 2 f32, 3 f64, 4 bf16."""

from gpusim.execute.core.constants import (
    B_HIGH,
    D_HIGH,
    EIGHT_PACK,
    EIGHT_UNPACK,
    F_CONVERT,
    F_PACK,
    F_ROUND,
    FLOAT_TO_INTEGER,
    FORM,
    FORM_2,
    FORM_3,
    FORM_4,
    FROM_A,
    FROM_B,
    FROM_C,
    HALF_BF16,
    HALF_F16,
    INTEGER_TO_FLOAT,
    A,
    B,
    C,
    D,
)
from gpusim.execute.core.formats import flushed, half_of_eight, narrowed, packed_eight, packed_half, wide_half
from gpusim.execute.core.registers import WarpRegisters, fetch, fetch_pair, store, store_high
from gpusim.execute.core.words import (
    as_double,
    as_float,
    double_bits,
    floor,
    low32,
    low64,
    nearest,
    signed64,
    unsigned_whole,
    whole,
)
from gpusim.units import WARP_SIZE


def wide_of(r: WarpRegisters, place: int, lane: int, kind: int) -> float:
    """Return a source as f64: kind 1 is f16, 2 f32, 3 f64, 4 bf16."""
    word = r.s[place + lane]
    if kind == 2:
        return as_float(word)
    if kind == 3:
        return as_double(low64(r.s[place + 4 * WARP_SIZE + lane]) << 32 | word)
    if kind == 4:
        return as_float(low32(low64(word) << 16))
    return as_float(wide_half(word))


def write_as(r: WarpRegisters, lane: int, value: float, kind: int, rounding: int) -> None:
    """Put an f64 into the result as f16, f32, f64 or bf16 (1 to 4), rounded."""
    bits = double_bits(value)
    if kind == 3:
        r.s[D + lane], r.s[D_HIGH + lane] = low32(bits), low32(bits >> 32)
    elif kind == 2:
        r.s[D + lane] = narrowed(bits, 0, 8, 23, rounding)
    else:
        r.s[D + lane] = packed_half(bits, HALF_F16 if kind == 1 else HALF_BF16, rounding)


def float_convert(r: WarpRegisters, row: int) -> None:
    """F2F: b as another float. FORM: kind of the source. FORM_2: kind of the result. FORM_3: rounding. FORM_4: .FTZ."""
    fetch_source(r, row, r.code[row + FORM])
    flush = r.code[row + FORM_4]
    for lane in range(WARP_SIZE):
        if flush:
            r.s[B + lane] = flushed(r.s[B + lane], flush)
        value = wide_of(r, B, lane, r.code[row + FORM])
        write_as(r, lane, value, r.code[row + FORM_2], r.code[row + FORM_3])
    store(r, row)
    store_high(r, row)


def fetch_source(r: WarpRegisters, row: int, kind: int) -> None:
    """Read b, both words of it where it is f64."""
    if kind == 3:
        fetch_pair(r, row, FROM_B, B)
    else:
        fetch(r, row, FROM_B, B)


def whole_of(value: float, rounding: int) -> float:
    """Return a number rounded to an integer: to nearest, down, up, to zero (0 to 3)."""
    if rounding == 0:
        return nearest(value)
    if rounding == 1 or (rounding == 3 and value >= 0):
        return floor(value)
    return -floor(-value)


def round_whole(r: WarpRegisters, row: int) -> None:
    """FRND: b rounded to an integer. FORM, FORM_2: kinds of source and result. FORM_3: rounding."""
    fetch_source(r, row, r.code[row + FORM])
    for lane in range(WARP_SIZE):
        value = wide_of(r, B, lane, r.code[row + FORM])
        write_as(r, lane, whole_of(value, r.code[row + FORM_3]), r.code[row + FORM_2], 0)
    store(r, row)
    store_high(r, row)


def to_integer(r: WarpRegisters, row: int) -> None:
    """
    F2I: b as an integer, clamped; a NaN is 0, or the lowest bit pattern with a sign where 64 bits take part.

    FORM: kind of the source. FORM_2: bits of the result, negative for a signed one. FORM_3: rounding. FORM_4: .FTZ.
    """
    fetch_source(r, row, r.code[row + FORM])
    bits, rounding, flush = r.code[row + FORM_2], r.code[row + FORM_3], r.code[row + FORM_4]
    for lane in range(WARP_SIZE):
        if flush:
            r.s[B + lane] = flushed(r.s[B + lane], flush)
        word = clamped(whole_of(wide_of(r, B, lane, r.code[row + FORM]), rounding), bits, r.code[row + FORM] == 3)
        r.s[D + lane], r.s[D_HIGH + lane] = low32(word), low32(word >> 32)
    store(r, row)
    store_high(r, row)


def clamped(value: float, bits: int, of_double: int) -> int:
    """Return a whole number as an integer of so many bits, negative for a signed one, clamped to its range."""
    if value != value:  # noqa: PLR0124 - only a NaN differs from itself
        if bits == 64 or bits == -64:
            return low64(1) << 63
        return low64(1) << (-bits if bits < 0 else bits) - 1 if of_double else low64(0)
    if bits < 0:
        most = as_double(low64(1022 - bits) << 52)
        if value >= most:
            return low64((low64(1) << -bits - 1) - 1)
        if value < -most:
            return low64(-(signed64(1) << -bits - 2) * 2)
        return low64(whole(value))
    if value <= 0:
        return low64(0)
    if value >= as_double(low64(1023 + bits) << 52):
        return low64((low64(1) << bits - 1) - 1 + (low64(1) << bits - 1))
    return unsigned_whole(value)


def from_integer(r: WarpRegisters, row: int) -> None:
    """
    I2F, I2FP: an integer b as a float.

    FORM: bits of the source, negative if signed. FORM_2: kind of the result. FORM_3: rounding. FORM_4: first bit.
    """
    bits, kind, rounding, first = r.code[row + FORM], r.code[row + FORM_2], r.code[row + FORM_3], r.code[row + FORM_4]
    if bits == 64 or bits == -64:
        fetch_pair(r, row, FROM_B, B)
    else:
        fetch(r, row, FROM_B, B)
    for lane in range(WARP_SIZE):
        if bits == 64 or bits == -64:
            write_long(
                r, lane, low64(r.s[B_HIGH + lane]) << 32 | r.s[B + lane], kind, rounding | (4 if bits < 0 else 0)
            )
        else:
            value = signed64(low32(r.s[B + lane] >> first))
            width = -bits if bits < 0 else bits
            value = value & ((signed64(1) << width) - 1)
            if bits < 0 and value >> width - 1:
                value = value - (signed64(1) << width)
            write_as(r, lane, float(value), kind, rounding)
    store(r, row)
    store_high(r, row)


def write_long(r: WarpRegisters, lane: int, value: int, kind: int, rounding: int) -> None:
    """Put a 64-bit integer into the result as a float, rounded once; bit 2 of the rounding says that it is signed."""
    sign, is_signed = low64(0), rounding >> 2
    rounding = rounding & 3
    if is_signed and value >> 63:
        sign, value = low64(1) << 63, low64(-signed64(value))
    if value == 0:
        r.s[D + lane], r.s[D_HIGH + lane] = low32(0), low32(0)
        return
    exponent = 63
    while not value >> 63:
        value, exponent = low64(value << 1), exponent - 1
    low = value & 0x7FF
    bits = sign | low64(exponent + 1023) << 52 | low64(value << 1) >> 12
    if kind == 3:
        up = low > 1024 or (low == 1024 and bits & 1) if rounding == 0 else low and (rounding == 2) == (sign == 0)
        bits = low64(bits + (1 if up and rounding != 3 else 0))
        r.s[D + lane], r.s[D_HIGH + lane] = low32(bits), low32(bits >> 32)
    elif kind == 2:
        r.s[D + lane] = narrowed(bits, low != 0, 8, 23, rounding)
    else:
        r.s[D + lane] = narrowed(bits, low != 0, 5 if kind == 1 else 8, 10 if kind == 1 else 7, rounding)


def float_pack(r: WarpRegisters, row: int) -> None:
    """
    F2FP: f32 a and b as two halves, a above; or (FORM_3) b as the low half, beside c's high one.

    FORM: 1 f16, 4 bf16. FORM_2: rounding, bit 2: negative results are 0 (.RELU).
    """
    fetch(r, row, FROM_A, A)
    fetch(r, row, FROM_B, B)
    fetch(r, row, FROM_C, C)
    kind, rounding = HALF_F16 if r.code[row + FORM] == 1 else HALF_BF16, r.code[row + FORM_2]
    for lane in range(WARP_SIZE):
        low = half_of(r.s[B + lane], kind, rounding)
        if r.code[row + FORM_3]:
            r.s[D + lane] = low | low32(r.s[C + lane] >> 16 << 16)
        else:
            r.s[D + lane] = low | low32(low64(half_of(r.s[A + lane], kind, rounding)) << 16)
    store(r, row)


def eight_pack(r: WarpRegisters, row: int) -> None:
    """
    F2FP: two numbers as numbers of 8 bits (FORM), which are a word's lower half; c's lower half is the upper one.

    FORM_2: 0, the numbers are f32, a above b; 1, they are b's halves.
    """
    fetch(r, row, FROM_A, A)
    fetch(r, row, FROM_B, B)
    fetch(r, row, FROM_C, C)
    kind = r.code[row + FORM]
    for lane in range(WARP_SIZE):
        below, above = r.s[B + lane], r.s[A + lane]
        if r.code[row + FORM_2]:
            below, above = wide_half(low32(below & 0xFFFF)), wide_half(low32(below >> 16))
        word = packed_eight(as_float(below), kind) | packed_eight(as_float(above), kind) << 8
        r.s[D + lane] = word | low32(low64(r.s[C + lane]) << 16)
    store(r, row)


def eight_unpack(r: WarpRegisters, row: int) -> None:
    """F2FP.UNPACK_B: the two numbers of 8 bits (FORM) in the lower half of b, or the upper (FORM_2), as two f16."""
    fetch(r, row, FROM_B, B)
    kind = r.code[row + FORM]
    for lane in range(WARP_SIZE):
        word = low32(r.s[B + lane] >> 16 * r.code[row + FORM_2])
        r.s[D + lane] = half_of_eight(word, kind) | low32(low64(half_of_eight(low32(word >> 8), kind)) << 16)
    store(r, row)


def half_of(bits: int, kind: int, rounding: int) -> int:
    """Return an f32 as a half's bits."""
    if rounding & 4 and bits >> 31 and (bits & 0x7FFFFFFF) <= 0x7F800000:
        return low32(0)
    return packed_half(double_bits(as_float(bits)), kind, rounding & 3)


def conversion(r: WarpRegisters, row: int, kind: int) -> None:
    """Execute a conversion."""
    if kind == F_ROUND:
        round_whole(r, row)
    elif kind == F_CONVERT:
        float_convert(r, row)
    elif kind == F_PACK:
        float_pack(r, row)
    elif kind == FLOAT_TO_INTEGER:
        to_integer(r, row)
    elif kind == INTEGER_TO_FLOAT:
        from_integer(r, row)
    elif kind == EIGHT_PACK:
        eight_pack(r, row)
    elif kind == EIGHT_UNPACK:
        eight_unpack(r, row)
