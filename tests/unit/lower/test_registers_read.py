"""How many general registers an instruction of the disassembly reads."""

import pytest

from gpusim.lower.registers_read import registers_read


@pytest.mark.parametrize(
    ("text", "registers"),
    [
        ("@P0 IADD3 R4, P1, R2, 0x10, RZ", 1),
        ("LOP3.LUT R6, R11, R6, RZ, 0x3c, !PT", 2),
        ("ISETP.GE.AND P0, PT, R133, R0, PT", 2),
        ("MOV R1, UR4", 0),
        ("FFMA R1, R1, R1, R1", 1),
        ("EXIT", 0),
    ],
    ids=[
        "a destination is not read",
        "RZ is none, and what is also written is read",
        "a predicate is written, and both registers are read",
        "a uniform register is none",
        "one register three times",
        "no operands",
    ],
)
def test_different_general_registers_that_are_sources_count(text, registers):
    assert registers_read(text) == registers
