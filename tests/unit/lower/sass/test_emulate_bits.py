"""Bit operations of the emulator."""

from hypothesis import given
from hypothesis import strategies as st

from gpusim.lower.sass.emulate_bits import lut3
from gpusim.lower.sass.emulate_registers import word


@given(st.integers(0, 2**32 - 1), st.integers(0, 2**32 - 1), st.integers(0, 2**32 - 1), st.integers(0, 255))
def test_lop3_takes_each_bit_from_its_table(a, b, c, table):
    found = int(lut3(word(a), word(b), word(c), table)[0])
    bits = [table >> ((a >> i & 1) * 4 + (b >> i & 1) * 2 + (c >> i & 1)) & 1 for i in range(32)]

    assert found == sum(bit << i for i, bit in enumerate(bits))
