"""Rounding to narrow formats, against numpy and against exact fractions."""

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusim.execute.core.constants import EIGHT_E4M3, EIGHT_E5M2, HALF_BF16, HALF_F16
from gpusim.execute.core.formats import (
    flushed,
    half_of_eight,
    narrowed,
    packed_eight,
    wide_half,
    wide_of_half,
)
from gpusim.execute.core.words import as_double, as_float, double_bits, float_bits, fused32, fused64

NUMBERS = st.floats(allow_nan=False) | st.floats(-70000, 70000) | st.floats(-1e-4, 1e-4)
SINGLES = st.floats(width=32, allow_nan=False, allow_infinity=False)
WORDS = st.integers(0, (1 << 32) - 1)

DOWN, UP, ZERO = 1, 2, 3


def half_bits(value):
    with np.errstate(over="ignore"):
        return int(np.float16(value).view(np.uint16))


def single_bits(value):
    with np.errstate(over="ignore"):
        return int(np.float32(value).view(np.uint32))


@given(NUMBERS)
def test_to_nearest_is_numpys_rounding(value):
    bits = double_bits(value)

    assert narrowed(bits, 0, 5, 10, 0) == half_bits(value)
    assert narrowed(bits, 0, 8, 23, 0) == single_bits(value) == float_bits(value)


@given(SINGLES)
def test_a_bf16_is_the_nearest_of_the_two_next_to_an_f32(value):
    bits = narrowed(double_bits(value), 0, 8, 7, 0)
    low = single_bits(value) >> 16
    candidates = {low, low + 1}

    assert bits in candidates
    near, other = (
        abs(Fraction(as_float(one << 16)) - Fraction(value)) if _finite(one) else None
        for one in (bits, *(candidates - {bits}))
    )
    assert near is None or other is None or near <= other


def _finite(bits):
    return bits >> 7 & 0xFF != 0xFF


@given(NUMBERS)
def test_directed_roundings_enclose_the_number_and_meet_where_it_fits(value):
    bits = double_bits(value)
    down, up, inwards = (as_float(narrowed(bits, 0, 8, 23, rounding)) for rounding in (DOWN, UP, ZERO))

    assert down <= value <= up
    assert abs(inwards) <= abs(value)
    assert inwards in (down, up)
    assert (down == up) == (as_float(single_bits(value)) == value)


@pytest.mark.parametrize("rounding", [DOWN, UP, ZERO])
def test_a_sticky_bit_rounds_a_number_that_fits(rounding):
    """1 and a little more: up to the next f32, down and to zero to 1."""
    expected = {DOWN: 0x3F800000, UP: 0x3F800001, ZERO: 0x3F800000}[rounding]

    assert narrowed(double_bits(1.0), 1, 8, 23, rounding) == expected


@given(st.integers(0, 0xFFFF))
def test_an_f16_is_widened_exactly(bits):
    value = np.array(bits, dtype=np.uint16).view(np.float16)

    widened = as_float(wide_half(bits))
    assert widened == float(value) or (math.isnan(widened) and np.isnan(value))
    assert wide_of_half(bits, HALF_F16) == wide_half(bits)
    assert wide_of_half(bits, HALF_BF16) == bits << 16


@given(SINGLES, SINGLES, SINGLES)
def test_a_fused_product_and_sum_is_rounded_once(a, b, c):
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    got = as_float(fused32(a, b, c))

    if math.isinf(got):
        assert abs(exact) >= Fraction(2) ** 128 - Fraction(2) ** 103
    else:
        below, above = (
            np.nextafter(np.float32(got), np.float32(-np.inf)),
            np.nextafter(np.float32(got), np.float32(np.inf)),
        )
        for other in (below, above):
            if np.isfinite(other):
                assert abs(Fraction(got) - exact) <= abs(Fraction(float(other)) - exact)


def test_of_two_f32_as_near_the_even_one_is_taken_whatever_f64_says():
    """1 + 2^-24 + 2^-60 is above the middle of 1 and the next f32; rounded to f64 first it would be in the middle."""
    assert fused32(1.0, 1.0 + 2.0**-23, -(2.0**-24)) == 0x3F800000
    assert fused32(2.0**-30, 2.0**-30, 1.0 + 2.0**-24) == 0x3F800001


@given(st.floats(-1e100, 1e100), st.floats(-1e100, 1e100), st.floats(-1e200, 1e200))
def test_an_f64_is_fused_exactly(a, b, c):
    assert as_double(fused64(a, b, c)) == float(Fraction(a) * Fraction(b) + Fraction(c))


@given(WORDS)
def test_ftz_turns_subnormals_to_zero_of_their_sign_and_nothing_else(bits):
    subnormal = bits & 0x7F800000 == 0

    assert flushed(bits, 1) == (bits & 0x80000000 if subnormal else bits)
    assert flushed(bits, 0) == bits


LARGEST = {EIGHT_E4M3: 448.0, EIGHT_E5M2: 57344.0}


def eight_value(code, kind):
    return as_float(wide_half(half_of_eight(code, kind)))


def eight_numbers(kind):
    """Codes of the positive numbers of 8 bits, from zero to the largest, in order."""
    return range(0x7F if kind == EIGHT_E4M3 else 0x7C)


@pytest.mark.parametrize("kind", LARGEST)
def test_numbers_of_8_bits_rise_with_their_codes_to_the_largest_and_back(kind):
    values = [eight_value(code, kind) for code in eight_numbers(kind)]

    assert values == sorted(values)
    assert (values[0], values[-1]) == (0.0, LARGEST[kind])
    assert [packed_eight(value, kind) for value in values] == [*eight_numbers(kind)]
    assert [packed_eight(-value, kind) for value in values] == [code | 0x80 for code in eight_numbers(kind)]


@pytest.mark.parametrize("kind", LARGEST)
def test_between_two_numbers_of_8_bits_the_nearest_is_taken_and_the_even_one_in_the_middle(kind):
    codes = eight_numbers(kind)
    for below, above in pairwise(codes):
        low, high = eight_value(below, kind), eight_value(above, kind)
        middle = (low + high) / 2
        assert packed_eight(middle, kind) == (below if below % 2 == 0 else above)
        assert packed_eight(math.nextafter(middle, low), kind) == below
        assert packed_eight(math.nextafter(middle, high), kind) == above


@pytest.mark.parametrize("kind", LARGEST)
def test_beyond_the_largest_number_of_8_bits_there_is_the_largest(kind):
    code = packed_eight(LARGEST[kind], kind)

    assert [packed_eight(value, kind) for value in (1e6, math.inf, -math.inf)] == [code, code, code | 0x80]
    assert packed_eight(math.nan, kind) == 0x7F
    assert math.isnan(eight_value(0x7F, kind))


def test_only_the_format_with_two_bits_behind_the_point_has_an_infinity():
    assert eight_value(0x7C, EIGHT_E5M2) == math.inf
    assert eight_value(0x78, EIGHT_E4M3) == 256.0
