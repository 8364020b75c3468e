"""Words and their bits: LOP3's tables and PRMT's modes, as PTX states them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusim.execute.core.bits import chosen_byte, table_bits
from gpusim.execute.core.integers import combined, compared

WORDS = st.integers(0, (1 << 32) - 1)

F4E, B4E, RC8, ECL, ECR, RC16 = range(1, 7)

PERMUTED = {
    F4E: ("3210", "4321", "5432", "6543"),
    B4E: ("5670", "6701", "7012", "0123"),
    RC8: ("0000", "1111", "2222", "3333"),
    ECL: ("3210", "3211", "3222", "3333"),
    ECR: ("0000", "1110", "2210", "3210"),
    RC16: ("1010", "3232", "1010", "3232"),
}
"""Bytes of the result from the highest to the lowest, by the selector's low two bits. Source: PTX ISA 9.0, prmt."""


@given(st.integers(0, 255), WORDS, WORDS, WORDS)
def test_each_bit_is_looked_up_in_the_table(table, a, b, c):
    expected = sum(
        (table >> (4 * (a >> bit & 1) + 2 * (b >> bit & 1) + (c >> bit & 1)) & 1) << bit for bit in range(32)
    )

    assert table_bits(table, a, b, c) == expected


@pytest.mark.parametrize("mode", PERMUTED)
@pytest.mark.parametrize("selector", range(4))
def test_bytes_are_permuted_as_ptx_lists_them(mode, selector):
    chosen = "".join(str(chosen_byte(mode, selector, byte)) for byte in (3, 2, 1, 0))

    assert chosen == PERMUTED[mode][selector]


def test_without_a_mode_each_byte_has_four_bits_of_the_selector():
    assert [chosen_byte(0, 0xF731, byte) for byte in range(4)] == [1, 3, 7, 15]


RELATIONS = ("F", "LT", "EQ", "LE", "GT", "NE", "GE", "T")


@pytest.mark.parametrize(
    ("less", "equal", "holding"),
    [(1, 0, {"LT", "LE", "NE", "T"}), (0, 1, {"EQ", "LE", "GE", "T"}), (0, 0, {"GT", "GE", "NE", "T"})],
    ids=["less", "equal", "greater"],
)
def test_a_relation_holds_in_its_cases(less, equal, holding):
    assert {name for number, name in enumerate(RELATIONS) if compared(number, less, equal)} == holding


def test_masks_are_combined_by_and_or_xor():
    assert [combined(how, 0b1100, 0b1010) for how in range(3)] == [0b1000, 0b1110, 0b0110]
