"""How element types are stored and rounded: every value survives storage, and rounding is to nearest."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusim.element_types import INTEGER_RANGE, INTEGERS
from gpusim.numerics.elements import STORED, WORKING, as_multiplied, decode, encode, is_unwritten, round_to, unwritten

FLOATS = sorted(set(STORED) - INTEGERS)
SMALL = sorted(INTEGERS - {"s32"})
finite = st.floats(width=32, allow_nan=False, allow_infinity=False)


@pytest.mark.parametrize("element", SMALL)
def test_every_small_integer_survives_storage(element):
    low, high = INTEGER_RANGE[element]
    values = np.arange(low, high + 1).astype(WORKING[element])
    stored = encode(values, element)
    assert stored.dtype == STORED[element]
    assert stored.nbytes * 8 == len(values) * int(element[1:])
    np.testing.assert_array_equal(decode(stored, element), values)


def test_two_4_bit_integers_share_a_byte_the_first_in_its_low_half():
    assert encode(np.array([1.0, -1.0, 7.0, -8.0]), "s4").tolist() == [0xF1, 0x87]
    assert encode(np.array([1.0, 15.0]), "u4").tolist() == [0xF1]


@given(st.lists(finite, min_size=1, max_size=8))
def test_bf16_is_the_nearest_of_the_upper_16_bits_ties_to_even(values):
    single = np.array(values, np.float32)
    nearest = round_to(single, "bf16")
    bits = single.view(np.uint32)
    for value, found, low in zip(single, nearest, bits & 0xFFFF0000, strict=True):
        down = np.uint32(low).view(np.float32)
        up = np.uint32(low + 0x10000).view(np.float32)
        far = abs(np.float64(value) - down) - abs(np.float64(up) - value) if np.isfinite(up) else None
        if far is not None:
            even = down if (int(low) >> 16) % 2 == 0 else up
            assert found == (down if far < 0 else up if far > 0 else even)
    np.testing.assert_array_equal(decode(encode(single, "bf16"), "bf16"), nearest)


@pytest.mark.parametrize(("element", "low", "high"), [("s8", -128, 127), ("u8", 0, 255), ("s4", -8, 7), ("u4", 0, 15)])
def test_integers_round_to_even_and_saturate(element, low, high):
    values = np.array([-1e9, 0.5, 1.5, 2.5, 1e9])
    assert round_to(values, element).tolist() == [low, 0, 2, 2, high]


@given(finite)
def test_a_tensor_core_reads_the_upper_19_bits_of_a_tf32_operand(value):
    single = np.array([value], np.float32)
    read = as_multiplied(single, "tf32")
    assert read.view(np.uint32)[0] == single.view(np.uint32)[0] & 0xFFFFE000
    assert abs(read[0]) <= abs(single[0])
    np.testing.assert_array_equal(as_multiplied(single, "f32"), single)


@pytest.mark.parametrize("element", [*FLOATS, "s8", "u8", "s32"])
def test_what_was_never_written_is_known(element):
    stored = np.full(4, unwritten(element), STORED[element])
    stored[1] = encode(np.array([3.0, 3.0]), element)[0]
    assert is_unwritten(decode(stored, element), element).tolist() == [True, False, True, True]
