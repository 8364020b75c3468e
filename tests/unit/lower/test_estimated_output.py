"""Integer arithmetic around an epilogue's accesses, and what the output operation takes of every vector, by hand."""

from collections import Counter

import pytest

from gpusim.lower.estimated_output import (
    SHORTEST_DEPENDENT,
    bias_arithmetic,
    global_load,
    global_opcode,
    global_store,
    integer,
    output_arithmetic,
    repeated,
)
from gpusim.numerics.output_op import OutputOp


def does(accumulator="f32", compute="f32", output="f16", *, source=False, bias=False, relu=False, scaled=True):
    """An output operation on 8 elements."""
    return OutputOp(
        accumulator, compute, output, 1.0, 0.0, scaled=scaled, with_source=source, with_bias=bias, with_relu=relu
    )


def test_every_second_integer_instruction_depends_on_the_one_before():
    assert [one.stall for one in integer(4)] == [2, SHORTEST_DEPENDENT, 2, SHORTEST_DEPENDENT] == [2, 4, 2, 4]


def test_of_instructions_that_are_repeated_the_first_waits():
    made = list(repeated("FMUL", "fma", 3, 2, waits=0b100))

    assert [(one.opcode, one.pipe, one.stall, one.wait_mask) for one in made] == [
        ("FMUL", "fma", 2, 0b100),
        ("FMUL", "fma", 2, 0),
        ("FMUL", "fma", 2, 0),
    ]


@pytest.mark.parametrize(
    ("bits", "opcode"),
    [(8, "STG.E.U8"), (16, "STG.E.U16"), (32, "STG.E"), (64, "STG.E.64"), (128, "STG.E.128")],
)
def test_the_width_of_a_global_access_is_in_its_opcode(bits, opcode):
    assert global_opcode("STG", bits) == opcode


def test_a_global_access_takes_three_integers_before_it():
    """A 64-bit pointer addition and a test of the predicate; a load holds scoreboard 5, a store none."""
    load, store = list(global_load(128, None)), list(global_store(64, None))

    assert [one.opcode for one in load] == ["IADD3"] * 3 + ["LDG.E.128"]
    assert (load[-1].write_scoreboard, load[-1].stall) == (5, 2)
    assert [one.opcode for one in store] == ["IADD3"] * 3 + ["STG.E.64"]
    assert (store[-1].write_scoreboard, store[-1].stall, store[-1].guard) == (-1, 2, "predicate")


@pytest.mark.parametrize(
    ("op", "opcodes"),
    [
        (does(), {"FMUL": 8, "F2FP.F16.F32.PACK_AB": 4}),
        (does(output="f32"), {"FMUL": 8}),
        (does(source=True), {"HADD2.F32": 8, "FMUL": 8, "FFMA": 8, "F2FP.F16.F32.PACK_AB": 4}),
        (does(output="f32", source=True), {"FMUL": 8, "FFMA": 8}),
        (does(bias=True, relu=True), {"FMUL": 8, "FADD": 8, "FMNMX": 8, "F2FP.F16.F32.PACK_AB": 4}),
        (does("s32", output="s8"), {"I2FP.F32.S32": 8, "FMUL": 8, "F2IP.S8.F32.NTZ": 4}),
        (does("s32", output="s8", source=True), {"I2FP.F32.S32": 16, "FMUL": 8, "FFMA": 8, "F2IP.S8.F32.NTZ": 4}),
        (does("s32", output="s4"), {"I2FP.F32.S32": 8, "FMUL": 8, "F2I.NTZ": 8, "I2IP.SAT": 4}),
        (does("s32", output="s32"), {"I2FP.F32.S32": 8, "FMUL": 8, "F2I.NTZ": 8}),
        (does("f16", "f16"), {"HMUL2": 4}),
        (does("f16", "f16", source=True, bias=True, relu=True), {"HMUL2": 4, "HFMA2": 4, "HADD2": 4, "HMNMX2": 4}),
        (does("s32", "s32", "s32"), {"IMAD": 8}),
        (does("s32", "s32", "s32", source=True, bias=True, relu=True), {"IMAD": 16, "IADD3": 8, "VIMNMX": 8}),
        (does("f32", output="f32", scaled=False), {}),
    ],
)
def test_a_vector_of_eight_elements_by_hand(op, opcodes):
    """
    One instruction for each element in f32 and s32, for each pair in f16; a conversion packs a pair, or not.

    With a source its scale comes first, after its own conversion. Partial sums are stored without arithmetic.
    """
    made = list(output_arithmetic(op, 8))

    assert Counter(one.opcode for one in made) == opcodes
    assert [one.wait_mask for one in made] == ([1 << 5] + [0] * (len(made) - 1) if made else [])


def test_pipes_of_the_output_s_arithmetic():
    op = does("s32", output="s4", source=True, bias=True, relu=True)
    pipes = {one.opcode: one.pipe for one in output_arithmetic(op, 8)}

    assert pipes == {
        "I2FP.F32.S32": "alu",
        "FMUL": "fma",
        "FFMA": "fma",
        "FADD": "fma",
        "FMNMX": "alu",
        "F2I.NTZ": "mufu",
        "I2IP.SAT": "alu",
    }


def test_three_elements_are_two_pairs():
    """In f16 they take two HMUL2, and as bytes two F2IP; a conversion to f16 packs whole pairs alone."""
    assert len(list(output_arithmetic(does("f16", "f16"), 3))) == 2
    assert Counter(one.opcode for one in output_arithmetic(does("s32", output="u8"), 3))["F2IP.U8.F32.NTZ"] == 2
    assert Counter(one.opcode for one in output_arithmetic(does(), 3))["F2FP.F16.F32.PACK_AB"] == 1


def test_packing_halves_stalls_for_two_cycles():
    made = list(output_arithmetic(does(), 2))

    assert [(one.opcode, one.stall) for one in made] == [("FMUL", 1), ("FMUL", 1), ("F2FP.F16.F32.PACK_AB", 2)]


@pytest.mark.parametrize(
    ("op", "opcodes"),
    [(does(), ["HADD2.F32"] * 4), (does("s32", output="s8"), ["I2FP.F32.S32"] * 4), (does(output="f32"), [])],
)
def test_a_loaded_bias_is_converted_when_it_is_there(op, opcodes):
    made = list(bias_arithmetic(op, 4))

    assert [one.opcode for one in made] == opcodes
    assert [one.wait_mask for one in made] == ([1 << 5, 0, 0, 0] if opcodes else [])
