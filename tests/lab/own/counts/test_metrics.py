"""What a metric of ncu counts of an instruction."""

from itertools import combinations

import pytest

from gpusim.execute.counts import InstructionCounts
from gpusim.lab.own.counts.metrics import ASSUMED_PIPES, COMPARABLE, MEASURED_PIPES, NCU_PIPES, pipe_of
from gpusim.lower.sass.decode import Sass
from gpusim.lower.sass.operands import PT, Predicate

ROW = InstructionCounts(0, "", issues=2, lanes=64, wavefronts=3, ideal_wavefronts=2, sectors=8, ideal_sectors=8)


class Written(Sass):
    """An instruction of which only mnemonic and text are known."""

    def __init__(self, text):
        object.__setattr__(self, "mnemonic", text.partition(" ")[0])
        object.__setattr__(self, "guard", Predicate(PT))
        object.__setattr__(self, "shown", ("all",))
        object.__setattr__(self, "operands", {"all": text.partition(" ")[2]})


@pytest.mark.parametrize(
    ("text", "pipe"),
    [
        ("IMAD.WIDE R2, R5, 0x4, R2", "fma"),
        ("VIADD R0, R1, 0x1", "fma"),
        ("HFMA2 R0, R1, R2, R3", "fma"),
        ("HFMA2.MMA R0, -RZ, RZ, 0, 0", "tensor_op_hmma"),
        ("S2R R0, SR_TID.X", "lsu"),
        ("S2R R0, SR_CTAID.X", ""),
        ("BRA 0x10", ""),
        ("R2UR UR4, R2", "alu"),
        ("IMMA.16832.S8.S8 R0, R4.ROW, R8.COL, R0", "tensor_op_imma"),
    ],
)
def test_the_pipe_of_an_instruction(text, pipe):
    assert pipe_of(Written(text)) == pipe


def test_an_opcode_is_on_one_pipe_and_either_measured_or_assumed():
    assert not any(one & other for one, other in combinations(NCU_PIPES.values(), 2))
    assert not any(MEASURED_PIPES[pipe] & opcodes for pipe, opcodes in ASSUMED_PIPES.items())


def test_a_load_counts_as_instruction_of_its_pipe_and_by_its_sectors():
    counted = {metric.words: metric.counted(Written("LDG.E R0, [R2.64]"), ROW) for metric in COMPARABLE}

    assert {words: value for words, value in counted.items() if value} == {
        "instructions": 2,
        "instructions of pipe lsu": 2,
        "LDG instructions": 2,
        "global sectors of loads and copies": 8,
    }


def test_names_and_words_of_metrics_are_unique():
    assert (
        len({metric.name for metric in COMPARABLE}) == len({metric.words for metric in COMPARABLE}) == len(COMPARABLE)
    )
