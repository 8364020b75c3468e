"""The decoder against nvdisasm, instruction by instruction, and the control field."""

import gzip
from pathlib import Path

import pytest

from gpusim.errors import BadInput
from gpusim.lower.cubin import read_cubin
from gpusim.lower.sass import control_field, decode, decode_word
from gpusim.lower.sass_operands import Immediate, Memory, Predicate, Register
from gpusim.lower.sass_pipes import PIPES, UNITS

FOLDER = Path(__file__).parent / "data" / "sass"
KERNEL = "gpusim_kernel"
CUBINS = sorted(path.name.removesuffix(".cubin.gz") for path in FOLDER.glob("*.cubin.gz"))

LDGSTS = 0x0003E2000B901C4A0C0000000A2D6FAE
HMMA = 0x020FEC00000018540000009890DC723C


def cubin_bytes(name):
    return gzip.decompress((FOLDER / f"{name}.cubin.gz").read_bytes())


def disassembly(name):
    return gzip.decompress((FOLDER / f"{name}.txt.gz").read_bytes()).decode().splitlines()


@pytest.mark.parametrize("name", CUBINS)
def test_every_instruction_reads_as_nvdisasm_writes_it(name):
    cubin = read_cubin(cubin_bytes(name), KERNEL, name)
    decoded = [str(sass) for sass in decode(cubin.code, cubin.architecture)]

    assert decoded == disassembly(name)


@pytest.mark.parametrize("name", CUBINS)
def test_every_opcode_has_a_unit(name):
    cubin = read_cubin(cubin_bytes(name), KERNEL, name)

    assert {sass.name for sass in decode(cubin.code, cubin.architecture)} <= {*PIPES, *UNITS}


def test_the_operands_of_a_copy():
    sass = decode_word(LDGSTS, 0, 90)

    assert sass.text == "@P6 LDGSTS.E.BYPASS.128 [R45+0xc000], desc[UR10][R10.64]"
    assert sass.guard == Predicate(6)
    assert sass.operand("s", Memory) == Memory(Register(45), 0xC000)
    assert sass.operand("m", Memory).wide


def test_before_sm_90_a_global_address_names_no_descriptor():
    assert decode_word(LDGSTS, 0, 80).text == "@P6 LDGSTS.E.BYPASS.128 [R45+0xc000], [R10.64]"


def test_the_control_field():
    """
    020fec...: bits 116-121 wait for nothing but scoreboard 5, stall 6, no scoreboard set.
    """
    control = control_field(HMMA)

    assert (control.stall, control.write, control.read, control.wait_mask) == (6, 7, 7, 0b100000)
    assert str(control) == "B-----5:R-:W-:-:S06"


def test_scoreboards_of_a_copy():
    """
    0003e2...: read scoreboard 1... of three bits at 113: 0x3e2 >> 1 gives stall 1 and no write scoreboard.
    """
    control = control_field(LDGSTS)

    assert (control.stall, control.write, control.read) == (1, 7, 1)


def test_an_operand_of_another_kind_is_refused():
    with pytest.raises(TypeError, match=r"d must be a Immediate, got Register"):
        decode_word(HMMA, 0, 90).operand("d", Immediate)


def test_an_unknown_opcode_names_its_address():
    with pytest.raises(BadInput, match=r"^text 0x0040: opcode 0xfff is not known \(word 0{29}fff\)$"):
        decode_word(0xFFF, 0x40, 90)


def test_other_architectures_are_refused():
    with pytest.raises(BadInput, match=r"^architecture: machine code of sm_75 to sm_90 can be decoded, got sm_120$"):
        decode(b"", 120)
