"""Operands of machine code as text, those included that no committed kernel has: indexed constants and halves."""

import pytest

from gpusim.lower.sass.operands import PT, RZ, URZ, CodeAddress, Constant, Immediate, Memory, Predicate, Register

R4, UR6 = Register(4), Register(6, uniform=True)
PAIR = {"wide": True}

WRITTEN = {
    "R4": R4,
    "UR6": UR6,
    "RZ": Register(RZ),
    "URZ": Register(URZ, uniform=True),
    "R63": Register(URZ),
    "-R4.reuse": Register(4, sign="-", reuse=True),
    "~R4.H0_H0": Register(4, sign="~", suffix=".H0_H0"),
    "|R4|.reuse.H1_H1": Register(4, absolute=True, reuse=True, suffix=".H1_H1"),
    "-|R4|": Register(4, sign="-", absolute=True),
    "PT": Predicate(PT),
    "!UP2": Predicate(2, uniform=True, inverted=True),
    "c[0x0][0x160]": Constant(0, 0x160),
    "c[0x3][R4+0x10]": Constant(3, 0x10, R4),
    "c[0x3][R4]": Constant(3, 0, R4),
    "c[0x3][0x10]": Constant(3, 0x10, Register(RZ)),
    "c[0x3][RZ]": Constant(3, 0, Register(RZ)),
    "c[0x3][R4+-0x10]": Constant(3, -0x10, R4),
    "0x120": CodeAddress(0x120),
    "-0x10": CodeAddress(0x120, shown_from=0x130),
    "-c[0x0][R4+0x8]": Constant(0, 8, R4, sign="-"),
    "-c[0x0][0x8].H0_H0": Constant(0, 8, sign="-", suffix=".H0_H0"),
    "|c[0x0][0x8]|": Constant(0, 8, absolute=True),
    "[R4]": Memory(R4),
    "[R4+0x10]": Memory(R4, 0x10),
    "[R4+-0x10]": Memory(R4, -0x10),
    "[0x10]": Memory(Register(RZ), 0x10),
    "[RZ]": Memory(Register(RZ)),
    "[UR6]": Memory(Register(RZ), uniform=UR6),
    "[R4.64+UR6+0x10]": Memory(R4, 0x10, UR6, **PAIR),
    "desc[UR6][R4.64]": Memory(R4, descriptor=UR6, **PAIR),
    "[R4+0x4]": Memory(R4, 4, alone=True, **PAIR),
    "0x80000000": Immediate(0x80000000),
    "-0x80000000": Immediate(0x80000000, "signed"),
    "0x40000000": Immediate(0x40000000, "signed"),
    "1.5": Immediate(0x3FC00000, "float"),
    "+INF": Immediate(0x7F800000, "float"),
    "-INF": Immediate(0xFF800000, "float"),
    "+QNAN": Immediate(0x7FC00000, "float"),
    "-SNAN": Immediate(0xFF800001, "float"),
    "16777216": Immediate(0x4B800000, "float"),
    "1.84467440737095516160e+19": Immediate(0x5F800000, "float"),
    "2.5": Immediate(0x40040000, "double"),
    "1.875, -1": Immediate(0x3F80_BC00, "halves"),
    "1, -0.0078125": Immediate(0x3F80_BC00, "bf16s"),
    "2, 1": Immediate(0x4000_3C00, "halves"),
}


@pytest.mark.parametrize(("text", "operand"), WRITTEN.items(), ids=WRITTEN)
def test_an_operand_has_one_spelling(text, operand):
    assert str(operand) == text
