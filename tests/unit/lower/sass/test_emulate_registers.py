"""What a source operand gives, lane by lane."""

import struct

import numpy as np
import pytest

from gpusim.lower.sass.emulate_registers import Registers, reader
from gpusim.lower.sass.operands import RZ, Constant, Register

BANK = struct.pack("<64I", *range(1000, 1064))
"""Word i of constant bank 0 is 1000 + i."""


@pytest.fixture
def registers():
    """Register 4 holds 4 times the lane."""
    made = Registers(BANK)
    made.vector[4] = 4 * np.arange(32, dtype=np.uint64)
    return made


@pytest.mark.parametrize("part", [0, 1])
def test_an_indexed_constant_is_another_word_in_each_lane(registers, part):
    """c[0x0][R4+0x10]: words 4 to 35, or those after them."""
    assert reader(Constant(0, 0x10, Register(4)), part)(registers).tolist() == [
        1004 + part + lane for lane in range(32)
    ]


@pytest.mark.parametrize("index", [None, Register(RZ)], ids=["none", "RZ"])
@pytest.mark.parametrize("part", [0, 1])
def test_a_constant_without_an_index_is_one_word_for_all_lanes(registers, index, part):
    assert reader(Constant(0, 0x10, index), part)(registers).tolist() == [1004 + part]
