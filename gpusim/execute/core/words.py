"""
Words and floats: what C does by a cast, for the interpreted core.

``words.pxd`` holds the same functions as C for the compiled core. Every float is carried as its bits.
"""

import ctypes
import math
import struct
from typing import Any

_F32, _U32 = struct.Struct("<f"), struct.Struct("<I")
_F64, _U64 = struct.Struct("<d"), struct.Struct("<Q")

NAN = 0x7FFFFFFF
"""The NaN that arithmetic returns."""


def words_of(array: Any) -> memoryview:
    """Return the address of an array of unsigned 32-bit words; here, a view of its memory."""
    return memoryview(array)


def integers_of(array: Any) -> memoryview:
    """Return the address of an array of signed 64-bit integers; here, a view of its memory."""
    return memoryview(array)


def bytes_of(array: Any) -> memoryview:
    """Return the address of an array of bytes; here, a view of its memory."""
    return memoryview(array)


def word_at(memory: memoryview, place: int, size: int) -> int:
    """Return one, two or four bytes of memory, the lowest first."""
    return int.from_bytes(memory[place : place + size], "little")


def put_word(memory: memoryview, place: int, size: int, word: int) -> None:
    """Write the low one, two or four bytes of a word to memory, the lowest first."""
    memory[place : place + size] = (word & (1 << 8 * size) - 1).to_bytes(size, "little")


def low32(value: int) -> int:
    """Return the low 32 bits, unsigned."""
    return value & 0xFFFFFFFF


def low64(value: int) -> int:
    """Return the low 64 bits, unsigned."""
    return value & 0xFFFFFFFFFFFFFFFF


def signed32(value: int) -> int:
    """Return the low 32 bits as a signed integer."""
    return (value & 0xFFFFFFFF ^ 0x80000000) - 0x80000000


def signed64(value: int) -> int:
    """Return the low 64 bits as a signed integer."""
    return (value & 0xFFFFFFFFFFFFFFFF ^ 1 << 63) - (1 << 63)


def as_float(bits: int) -> float:
    """Return the f32 with these bits."""
    return float(_F32.unpack(_U32.pack(bits))[0])


def float_bits(value: float) -> int:
    """Return the bits of a number rounded to f32, ties to even; a NaN as the one that arithmetic returns."""
    if value != value:  # noqa: PLR0124 - only a NaN differs from itself
        return NAN
    return int(_U32.unpack(ctypes.c_float(value))[0])


def as_double(bits: int) -> float:
    """Return the f64 with these bits."""
    return float(_F64.unpack(_U64.pack(bits))[0])


def double_bits(value: float) -> int:
    """Return the bits of an f64; a NaN as the one that arithmetic returns."""
    return 0x7FFFFFFF_FFFFFFFF if value != value else int(_U64.unpack(_F64.pack(value))[0])  # noqa: PLR0124


def quotient(a: float, b: float) -> float:
    """Return a / b as IEEE 754 has it, of zeros too."""
    if b:
        return a / b
    return math.nan if a == 0 or a != a else math.copysign(math.inf, a) * math.copysign(1.0, b)  # noqa: PLR0124


def square_root(value: float) -> float:
    """Return the square root, of a negative number a NaN."""
    return math.sqrt(value) if value >= 0 else (value if value == 0 else math.nan)


def exp2(value: float) -> float:
    """Return 2 to the power of a number."""
    if value != value or value > 1100:  # noqa: PLR0124 - only a NaN differs from itself
        return value if value != value else math.inf  # noqa: PLR0124
    return float(2.0**value)


def log2(value: float) -> float:
    """Return the binary logarithm: of zero minus infinity, of a negative number a NaN."""
    if value > 0:
        return math.log2(value) if value < math.inf else value
    return -math.inf if value == 0 else math.nan


def sine(value: float) -> float:
    """Return the sine of an angle in radians."""
    return math.sin(value) if abs(value) < math.inf else math.nan


def cosine(value: float) -> float:
    """Return the cosine of an angle in radians."""
    return math.cos(value) if abs(value) < math.inf else math.nan


def tangent_h(value: float) -> float:
    """Return the hyperbolic tangent."""
    return math.tanh(value)


def fused32(a: float, b: float, c: float) -> int:
    """Return the bits of a * b + c, rounded once to f32."""
    product = a * b  # exact: 48 bits
    total = product + c
    if math.isfinite(total) and math.isfinite(product):
        # Round to odd in f64, so that rounding to f32 rounds once.
        part = total - product
        error = (product - (total - part)) + (c - part)
        bits = double_bits(total)
        if error and not bits & 1:
            return float_bits(as_double(bits + (1 if (error > 0) == (total > 0) else -1)))
    return float_bits(total)


def fused64(a: float, b: float, c: float) -> int:
    """Return the bits of a * b + c, rounded once to f64."""
    if not (math.isfinite(a) and math.isfinite(b) and math.isfinite(c)):
        return double_bits(a * b + c)
    from fractions import Fraction  # noqa: PLC0415 - only f64 needs it

    exact = Fraction(a) * Fraction(b) + Fraction(c)
    if exact == 0:
        return double_bits(a * b + c)
    try:
        return double_bits(float(exact))
    except OverflowError:
        return double_bits(math.inf if exact > 0 else -math.inf)


def nearest(value: float) -> float:
    """Return the nearest integer, ties to even."""
    return float(round(value)) if abs(value) < 2**52 else value


def floor(value: float) -> float:
    """Return the largest integer that is not larger."""
    return float(math.floor(value)) if abs(value) < 2**52 else value


def count_bits(value: int) -> int:
    """Return how many bits of a word are set."""
    return value.bit_count()


def highest_bit(value: int) -> int:
    """Return the number of a word's highest set bit; the word is not 0."""
    return value.bit_length() - 1


def whole(value: float) -> int:
    """Return an f64 without a fraction as a signed integer."""
    return int(value)


def unsigned_whole(value: float) -> int:
    """Return an f64 without a fraction and sign as an integer."""
    return int(value)
