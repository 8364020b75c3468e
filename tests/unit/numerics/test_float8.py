"""8-bit floats have the values of their definition, and rounding takes the nearest one."""

import numpy as np
import pytest

from gpusim.numerics.float8 import FLOAT8, decode_float8, encode_float8, float8_values


@pytest.mark.parametrize(
    ("element", "code", "value"),
    [
        ("e4m3", 0x00, 0.0),
        ("e4m3", 0x01, 2.0**-9),
        ("e4m3", 0x07, 7 * 2.0**-9),
        ("e4m3", 0x08, 2.0**-6),
        ("e4m3", 0x38, 1.0),
        ("e4m3", 0x7E, 448.0),
        ("e4m3", 0xB8, -1.0),
        ("e5m2", 0x01, 2.0**-16),
        ("e5m2", 0x3C, 1.0),
        ("e5m2", 0x7B, 57344.0),
        ("e5m2", 0x7C, np.inf),
    ],
)
def test_codes_have_the_values_of_the_definition(element, code, value):
    assert float8_values(element)[code] == value


def test_nans():
    assert np.flatnonzero(np.isnan(float8_values("e4m3"))).tolist() == [0x7F, 0xFF]
    assert np.flatnonzero(np.isnan(float8_values("e5m2"))).tolist() == [0x7D, 0x7E, 0x7F, 0xFD, 0xFE, 0xFF]


@pytest.mark.parametrize("element", FLOAT8)
def test_every_finite_value_is_its_own_rounding(element):
    codes = np.flatnonzero(np.isfinite(float8_values(element))).astype(np.uint8)

    assert encode_float8(decode_float8(codes, element), element).tolist() == codes.tolist()


@pytest.mark.parametrize("element", FLOAT8)
def test_rounding_takes_the_nearest_value_and_the_even_code_of_two(element):
    """Brute force over all finite values; halfway between two neighbours, one of both codes is even."""
    finite = float8_values(element)[np.isfinite(float8_values(element))].astype(np.float64)
    ascending = np.unique(finite)
    middles = (ascending[1:] + ascending[:-1]) / 2
    values = np.concatenate([middles, np.random.default_rng(0).normal(0, 2, 1000)])

    rounded = decode_float8(encode_float8(values, element), element).astype(np.float64)

    nearest = np.abs(values[:, None] - ascending).min(axis=1)
    np.testing.assert_array_equal(np.abs(values - rounded), nearest)
    assert not (encode_float8(middles, element) & 1).any()


def test_values_beyond_the_largest_become_it():
    assert decode_float8(encode_float8([1e6, -1e6], "e4m3"), "e4m3").tolist() == [448.0, -448.0]
    assert np.isnan(decode_float8(encode_float8([np.nan], "e5m2"), "e5m2")).all()
