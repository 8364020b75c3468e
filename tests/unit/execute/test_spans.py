"""Registers behind the named ones: how many an instruction has, and those that reach the zero register."""

import numpy as np
import pytest

from gpusim.execute.core import constants as core
from gpusim.execute.spans import beyond_registers, register_spans
from gpusim.lower.sass.operands import RZ


def row(kind, **cells):
    made = np.zeros(core.ROW, dtype=np.int64)
    made[[core.TO, core.FROM_A, core.FROM_B, core.FROM_C, core.FROM_C_HIGH]] = core.NO_DESTINATION, RZ, RZ, RZ, RZ
    made[core.KIND] = kind
    for name, value in cells.items():
        made[getattr(core, name)] = value
    return made


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        (row(core.LOAD, SIZE=16, TO=251), ""),
        (row(core.LOAD, SIZE=16, TO=252), "4 registers from R252 on reach the zero register"),
        (row(core.LOAD, SIZE=4, TO=254), ""),
        (row(core.LOAD, SIZE=16), ""),
        (row(core.STORE_WORDS, SIZE=8, FROM_C=254), "2 registers from R254 on reach the zero register"),
        (row(core.STORE_WORDS, SIZE=16, FROM_C=RZ), ""),
        (row(core.ATOMIC, SIZE=8, FROM_C=4, FROM_C_HIGH=254), "2 registers from R254 on reach the zero register"),
        (row(core.LOAD_CONSTANT, SIZE=8, TO=core.REGISTERS + 62), "2 registers from UR62 on reach the zero register"),
        (row(core.LOAD_MATRIX, SIZE=4, TO=253), "4 registers from R253 on reach the zero register"),
    ],
)
def test_a_span_that_reaches_the_zero_register_is_named(cells, said):
    assert beyond_registers(cells) == said


@pytest.mark.parametrize(
    ("cells", "counts"),
    [
        (row(core.H_MATRIX, SIZE=16, NUMBER=16, FORM_2=1), (4, 2, 4, 4)),
        (row(core.H_MATRIX, SIZE=16, NUMBER=16), (4, 2, 2, 2)),
        (row(core.H_MATRIX, SIZE=8, NUMBER=16, FORM_2=1), (2, 1, 4, 4)),
        (row(core.H_MATRIX, SIZE=8, NUMBER=32, FORM_2=1), (4, 2, 4, 4)),
        (row(core.I_MATRIX, SIZE=32, NUMBER=8, OPERATION=16), (4, 2, 4, 4)),
        (row(core.I_MATRIX, SIZE=16, NUMBER=8, OPERATION=8), (1, 1, 2, 2)),
        (row(core.I_MATRIX, SIZE=64, NUMBER=4, OPERATION=16), (4, 2, 4, 4)),
        (row(core.H_MATRIX, SIZE=32, NUMBER=8, FORM_2=1), (4, 2, 4, 4)),
        (row(core.D_MATRIX), (2, 2, 4, 4)),
    ],
    ids=["f16", "f16 into f16", "f16, k8", "tf32, k8", "s8", "s8 of Turing", "s4", "e4m3", "f64"],
)
def test_fragments_have_the_registers_of_the_ptx_isa(cells, counts):
    """Registers of A, B, C and D of mma.m16n8k16 and others. Source: PTX ISA, matrix fragments."""
    assert tuple(count for _, count in register_spans(cells)) == counts


def test_a_fragment_of_the_zero_register_has_one_register():
    assert beyond_registers(row(core.I_MATRIX, SIZE=16, NUMBER=8, OPERATION=8, FROM_B=RZ)) == ""
    assert "4 registers from R255 on" in beyond_registers(row(core.H_MATRIX, SIZE=16, NUMBER=16, FROM_B=4))
