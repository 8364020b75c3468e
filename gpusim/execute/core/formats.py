"""Formats of floats: f16, bf16, e5m2 and e4m3, and rounding an f64 to any narrower format, in any direction."""

from gpusim.execute.core.constants import EIGHT_E5M2, HALF_F16
from gpusim.execute.core.words import double_bits, low32, low64, signed64, unsigned_whole


def narrowed(bits: int, sticky: int, exponent_bits: int, mantissa_bits: int, rounding: int) -> int:
    """
    Return an f64 rounded to a narrower format.

    Args:
        bits: The f64.
        sticky: The exact number lies between this f64 and the next one away from zero.
        exponent_bits: Of the format: 8 or 5.
        mantissa_bits: Of the format, without the leading one.
        rounding: To nearest and ties to even, down, up, to zero: 0 to 3.
    """
    sign = low32(bits >> 63)
    exponent, mantissa = signed64(bits >> 52 & 0x7FF), low64(bits << 12) >> 12
    most = (1 << exponent_bits) - 1
    top = low32(low64(sign) << exponent_bits + mantissa_bits)
    infinity = top | low32(low64(most) << mantissa_bits)
    if exponent == 0x7FF:
        # Of a NaN all bits but the sign are set.
        return infinity if mantissa == 0 else low32((low64(1) << exponent_bits + mantissa_bits) - 1)
    if exponent == 0 and mantissa == 0 and not sticky:
        return top
    exponent = exponent - 1023 + (most >> 1)
    whole = mantissa | low64(1) << 52 if bits >> 52 & 0x7FF else mantissa
    dropped = 52 - mantissa_bits
    if exponent <= 0:
        dropped = min(dropped + 1 - exponent, 63)
        exponent = 0
    kept = low64(whole >> dropped)
    rest = low64(whole & (low64(1) << dropped) - 1)
    half = low64(1) << dropped - 1
    if rounding == 0:
        up = rest > half or (rest == half and (sticky or kept & 1))
    else:
        up = (rest or sticky) and ((rounding == 2 and not sign) or (rounding == 1 and sign))
    if exponent > 0:
        kept = kept & (low64(1) << mantissa_bits) - 1
    if exponent >= most:
        outward = rounding == 0 or (rounding == 2 and not sign) or (rounding == 1 and sign)
        return infinity if outward else low32(infinity - 1)
    # A carry out of the mantissa is the next exponent, and from the largest one it is infinity.
    return top | low32((low64(exponent) << mantissa_bits | kept) + (1 if up else 0))


def packed_half(bits: int, kind: int, rounding: int) -> int:
    """Return an f64 as the bits of an f16 or a bf16."""
    return narrowed(bits, 0, 5, 10, rounding) if kind == HALF_F16 else narrowed(bits, 0, 8, 7, rounding)


def wide_half(bits: int) -> int:
    """Return the f32 bits of an f16, which lies in the low 16 bits."""
    sign = low32(low64(bits & 0x8000) << 16)
    exponent, mantissa = low32(bits >> 10 & 31), low32(bits & 0x3FF)
    if exponent == 31:
        return sign | 0x7F800000 | mantissa << 13
    if exponent:
        return sign | (exponent + 112) << 23 | mantissa << 13
    if mantissa == 0:
        return sign
    exponent = 113
    while not mantissa & 0x400:
        mantissa, exponent = mantissa << 1, exponent - 1
    return sign | low32(exponent) << 23 | (mantissa & 0x3FF) << 13


def wide_of_half(bits: int, kind: int) -> int:
    """Return the f32 bits of an f16 or a bf16."""
    return wide_half(bits) if kind == HALF_F16 else low32(low64(bits & 0xFFFF) << 16)


def packed_eight(value: float, kind: int) -> int:
    """Return a number as 8 bits, to nearest, ties to even; what lies outside of the range as its end (.SATFINITE)."""
    if value != value:  # noqa: PLR0124 - only a NaN differs from itself
        return low32(0x7F)
    bits = double_bits(value)
    sign = low32(bits >> 63) << 7
    if kind == EIGHT_E5M2:
        return sign | min(narrowed(bits, 0, 5, 2, 0) & 0x7F, low32(0x7B))
    magnitude = -value if sign else value
    if magnitude < 256:
        return narrowed(bits, 0, 4, 3, 0)
    if magnitude >= 448:
        return sign | low32(0x7E)
    # From 256 on numbers lie 32 apart: eighths of 256.
    eighths = low32(unsigned_whole(magnitude / 32))
    rest = magnitude / 32 - eighths
    up = rest > 0.5 or (rest == 0.5 and eighths & 1)
    return sign | low32(0x70 + eighths + (1 if up else 0))


def half_of_eight(bits: int, kind: int) -> int:
    """Return the f16 that a number of 8 bits is."""
    bits = low32(bits & 0xFF)
    sign = low32(bits >> 7) << 15
    if kind == EIGHT_E5M2:
        return low32(bits << 8)
    exponent, mantissa = low32(bits >> 3 & 15), low32(bits & 7)
    if exponent == 15 and mantissa == 7:
        return low32(0x7FFF)
    if exponent:
        return sign | low32(exponent + 8) << 10 | mantissa << 7
    return sign | packed_half(double_bits(mantissa / 512.0), HALF_F16, 0)


def flushed(bits: int, flush: int) -> int:
    """Return an f32's bits, a subnormal as zero of its sign where an instruction says .FTZ."""
    if flush and not bits & 0x7F800000:
        return low32(bits >> 31 << 31)
    return low32(bits)
