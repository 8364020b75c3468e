"""The decoder against nvdisasm, instruction by instruction, and the control field."""

import gzip
from pathlib import Path

import pytest

from gpusim.errors import Unsupported
from gpusim.lower.sass.cubin import read_cubin
from gpusim.lower.sass.decode import control_field, decode, decode_word
from gpusim.lower.sass.operands import PT, Immediate, Memory, Predicate, Register
from gpusim.lower.sass.pipes import PIPE_OF_OPCODE, UNITS

FOLDER = Path(__file__).parent / "data"
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


@pytest.mark.parametrize("architecture", [75, 80, 86, 89, 90])
def test_every_form_of_every_opcode_reads_as_nvdisasm_writes_it(architecture):
    """
    Each line has address, word and text of one form: an opcode with its modifiers and kinds of operands. The words are
    code of nvcc 13.0 at -O3 and -G, the texts cuobjdump 13.5's, without its blank between INF or NAN and a comma.
    """
    lines = [line.split(" ", 2) for line in disassembly(f"opcodes_sm{architecture}")]
    decoded = [decode_word(int(word, 16), int(address, 16), architecture).text for address, word, _ in lines]

    assert decoded == [text for _, _, text in lines]


@pytest.mark.parametrize("name", CUBINS)
def test_every_opcode_has_a_unit(name):
    cubin = read_cubin(cubin_bytes(name), KERNEL, name)

    assert {sass.name for sass in decode(cubin.code, cubin.architecture)} <= {*PIPE_OF_OPCODE, *UNITS}


def test_the_operands_of_a_copy():
    sass = decode_word(LDGSTS, 0, 90)

    assert sass.text == "@P6 LDGSTS.E.BYPASS.128 [R45+0xc000], desc[UR10][R10.64]"
    assert sass.guard == Predicate(6)
    assert sass.operand("s", Memory) == Memory(Register(45), 0xC000)
    assert sass.operand("m", Memory).wide


MMAS = {
    0x004FDE0000445C08_000000060C087237: "IMMA.16832.S8.S8.SAT R8, R12.ROW, R6.COL, R8",
    0x004FDE0000405C08_000000060C087237: "IMMA.16832.S8.S8 R8, R12.ROW, R6.COL, R8",
    0x004FDE0000440C08_000000060C087237: "IMMA.16832.U8.U8.SAT R8, R12.ROW, R6.COL, R8",
    0x004FDE0000441408_0000000006087237: "IMMA.16816.S8.U8.SAT R8, R6.ROW, R0.COL, R8",
    0x004FD80000045406_0000000900067237: "IMMA.8816.S8.S8.SAT R6, R0.ROW, R9.COL, R6",
    0x004FF600007C5408_000000060C087237: "IMMA.16864.S4.S4.SAT R8, R12.ROW, R6.COL, R8",
    0x004FF600007C0408_000000060C087237: "IMMA.16864.U4.U4.SAT R8, R12.ROW, R6.COL, R8",
    0x004FDE00005C5C08_0000000006087237: "IMMA.16832.S4.S4.SAT R8, R6.ROW, R0.COL, R8",
    0x004FD800003C5406_0000000900067237: "IMMA.8832.S4.S4.SAT R6, R0.ROW, R9.COL, R6",
    0x004FDE0000000806_0000000C0806723C: "HMMA.16816.F16 R6, R8, R12, R6",
    0x004FDE0000000006_000000000806723C: "HMMA.1688.F16 R6, R8, R0, R6",
    0x004FDE0000001008_000000000608723C: "HMMA.1688.F32 R8, R6, R0, R8",
    0x004FDE0000081008_000000060C08723C: "HMMA.1688.F32.TF32 R8, R12, R6, R8",
    0x004FDE0000041808_000000060C08723C: "HMMA.16816.F32.BF16 R8, R12, R6, R8",
}
"""Instruction words of every mma.sync, assembled by ptxas 13 for sm_80 and sm_90, as nvdisasm writes them."""


LOADS = {
    0x000562000C101900_000000101E1E7980: "LD.E R30, desc[UR16][R30.64]",
    0x000FE20008000A00_0000840006067ABB: "ULDC.64 UR6, c[0x0][UR6+0x210]",
}
"""A generic load, and a constant at a uniform index, as nvdisasm 13 writes them for sm_90."""


@pytest.mark.parametrize(("word", "text"), LOADS.items(), ids=LOADS.values())
def test_loads_that_only_cutlass_s_kernels_execute_read_as_nvdisasm_writes_them(word, text):
    assert decode_word(word, 0, 90).text == text


@pytest.mark.parametrize(("word", "text"), MMAS.items(), ids=MMAS.values())
def test_every_mma_reads_as_nvdisasm_writes_it(word, text):
    assert decode_word(word, 0, 80).text == text


BARRIERS = {
    (0x000FEA0000000000_00C0000000007B1D, 75): "BAR.SYNC 0x3",
    (0x000FE20000010000_0041000000007B1D, 80): "BAR.SYNC.DEFER_BLOCKING 0x1, 0x40",
    (0x000FE20000010000_03D0000000007B1D, 80): "BAR.SYNC.DEFER_BLOCKING 0xf, 0x400",
    (0x000FEC0000002000_0081800000007B1D, 80): "BAR.ARV 0x2, 0x60",
    (0x000FF00000002000_01FF800000007B1D, 90): "BAR.ARV 0x7, 0xfe0",
    (0x000FEC0000002000_000100060000751D, 80): "BAR.ARV R6, 0x40",
    (0x000FEA0000000000_000000040000751D, 75): "BAR.SYNC R4",
    (0x0001E40000010000_010000000000791D, 90): "BAR.SYNC.DEFER_BLOCKING 0x4, R0",
    (0x000FEC0000010000_000000070000731D, 80): "BAR.SYNC.DEFER_BLOCKING R7, R7",
    (0x000FEC0004014000_0081000000007B1D, 90): "BAR.RED.POPC.DEFER_BLOCKING 0x2, 0x40, !P0",
    (0x000FEA0004004400_00C0000000007B1D, 75): "BAR.RED.AND 0x3, !P0",
}
"""Instruction words of barriers by number and count of threads, and their architecture, as nvdisasm writes them."""


@pytest.mark.parametrize(("word", "text"), BARRIERS.items(), ids=BARRIERS.values())
def test_barriers_read_as_nvdisasm_writes_them(word, text):
    value, architecture = word

    assert decode_word(value, 0, architecture).text == text


def test_the_operands_of_a_barrier_are_its_number_and_its_threads():
    """Without a count, all threads of the CTA are expected."""
    by_text = {text: decode_word(value, 0, architecture) for (value, architecture), text in BARRIERS.items()}

    assert by_text["BAR.ARV 0x2, 0x60"].operands == {"k": Immediate(2), "c": Immediate(96)}
    assert by_text["BAR.SYNC 0x3"].operands == {"k": Immediate(3)}
    assert by_text["BAR.SYNC.DEFER_BLOCKING R7, R7"].operands == {"k": Register(7), "c": Register(7)}


CONVERSIONS = {
    (0x001FE4000000001A_0000001C1F247239, 80): "I2IP.U8.S32.SAT R36, R31, R28, R26",
    (0x001FCE00000010FF_0000000302027239, 75): "I2IP.S8.S32.SAT R2, R2, R3, RZ",
    (0x001FCE00000072FF_0000000403037239, 75): "I2IP.S4.S32.SAT R3, R3, R4, RZ.24",
    (0x001FCE00000072FF_0000000403037239, 90): "I2IP.S4.S32 R3, R3, R4, RZ.24",
    (0x001FCE00000076FF_0000000403037239, 90): "I2IP.S4.S32.SAT R3, R3, R4, RZ.24",
    (0x001FCE00000076FF_0000000403037239, 89): "I2IP.S4.S32 R3, R3, R4, RZ.24",
    (0x000FF00000200800_0000002400247304, 75): "F2F.F16.F32 R36, R36",
    (0x000E220000200800_0000620000007B04, 75): "F2F.F16.F32 R0, c[0x0][0x188]",
}
"""Instruction words of the epilogue's conversions, and their architecture, as nvdisasm writes them."""


@pytest.mark.parametrize(("word", "text"), CONVERSIONS.items(), ids=CONVERSIONS.values())
def test_conversions_read_as_nvdisasm_writes_them(word, text):
    value, architecture = word

    assert decode_word(value, 0, architecture).text == text


def test_numbers_of_8_bits_are_unpacked_from_either_half():
    assert decode_word(0x000FE400020006FF_00000003FF09723E, 0, 90).text == "F2FP.F16.E4M3.UNPACK_B R9, R3"
    assert decode_word(0x000FE400030006FF_00000010FF10723E, 0, 90).text == "F2FP.F16.E4M3.UNPACK_B R16, R16.H1"


def test_lanes_that_leave_a_convergence_may_be_those_of_a_predicate():
    assert decode_word(0x000FE20005000000_0000000000048942, 0, 80).text == "@!P0 BREAK !P2, B4"
    assert decode_word(0x000FE20003800000_0000000000010942, 0, 80).text == "@P0 BREAK B1"


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
    with pytest.raises(Unsupported, match=r"^text 0x0040: opcode 0xfff is not known \(word 0{29}fff\)$"):
        decode_word(0xFFF, 0x40, 90)


@pytest.mark.parametrize(
    ("word", "name"),
    {0x000FE2000C7008FF_00E00000081879F0: "HGMMA", 0x001FCC0000000000_00000000000079C5: "WARPGROUP"}.items(),
)
def test_asynchronous_opcodes_of_sm_90_are_refused_by_name(word, name):
    with pytest.raises(Unsupported, match=rf"^text 0x0000: {name} \(opcode 0x9[0-9a-f]+\) is not decoded \(word "):
        decode_word(word, 0, 90)
    with pytest.raises(Unsupported, match=r"^text 0x0000: opcode 0x9[0-9a-f]+ is not known \(word "):
        decode_word(word, 0, 89)


@pytest.mark.parametrize("scale", range(8))
def test_a_product_is_scaled_by_a_power_of_two(scale):
    """FMUL R3, R1, R2 divided by 8, 4 and 2, as it is, or multiplied by 2, 4 and 8. Scale 0 has no name."""
    word = 0x000FC800_00000000_00000002_01037220 | scale << 84

    if scale == 0:
        with pytest.raises(Unsupported, match=r"FMUL of scale 0 is not known"):
            decode_word(word, 0, 80)
    else:
        assert (
            decode_word(word, 0, 80).mnemonic
            == ("FMUL.D8", "FMUL.D4", "FMUL.D2", "FMUL", "FMUL.M2", "FMUL.M4", "FMUL.M8")[scale - 1]
        )


def test_other_architectures_are_refused():
    with pytest.raises(Unsupported, match=r"^machine code of sm_75 to sm_90 can be decoded, got sm_120$"):
        decode(b"", 120)


ODD = {
    "a carry into a sum that has none": (0x210, 0x1 << 87, 0xF << 87),
    "a predicate that IMAD does not set": (0x224, 0x2 << 81, PT << 81),
    "some bytes of MOV": (0x202, 0x3 << 72, 0xF << 72),
    "a bit that no opcode is known to have": (0x210, 1 << 100, 0),
}
"""Opcode, what stands in a field that the decoder does not read, and what stands there in code that was seen."""

IDLE = {0x210: 0xF << 87 | 0xF << 77 | PT << 81 | PT << 84, 0x224: 0xF << 87 | PT << 81, 0x202: 0xF << 72}


@pytest.mark.parametrize("what", ODD)
def test_a_bit_that_is_not_read_and_not_idle_is_refused_by_its_number(what):
    """IADD3, IMAD and MOV R0, R0, R0 ..., with one field changed."""
    opcode, odd, idle = ODD[what]
    word = opcode | IDLE[opcode]

    assert decode_word(word, 0, 80).name in {"IADD3", "IMAD", "MOV"}
    with pytest.raises(Unsupported, match=r"^text 0x0000: [A-Z0-9]+ with 0x[0-9a-f]+ in bits [0-9, ]+ is not known"):
        decode_word(word & ~idle | odd, 0, 80)


def test_the_guard_of_a_special_register_s_move_to_a_uniform_one_is_uniform():
    sass = decode_word(0x000E620000008800_00000000000689C3, 0, 90)

    assert sass.text == "@!UP0 S2UR UR6, SR_CgaCtaId"
    assert sass.guard == Predicate(0, uniform=True, inverted=True)


RARE = {
    0x003FDE0000000000_0000000000007203: "P2R R0, PR, R0, R0",
    0x003FDE0000000000_0000000000007204: "R2P PR, R0, R0",
    0x003FDE0003800000_000000000000795B: "KILL",
}
"""Forms that no compiled kernel has, as nvdisasm writes them."""


@pytest.mark.parametrize(("word", "text"), RARE.items(), ids=RARE.values())
def test_masks_of_predicates_in_a_register_and_the_end_of_a_thread(word, text):
    assert decode_word(word, 0, 80).text == text


GLOBAL = {
    0x000FE2000810E106_000000FF11007986: "STG.E.U8.SYS [R17.U32+UR6], RZ",
    0x000EA400081F4344_00000000FF0079A8: "ATOMG.E.ADD.S32.STRONG.GPU PT, R0, [UR4], R0",
}
"""Global addresses of sm_75 that a uniform pair is part of, as nvdisasm writes them."""


@pytest.mark.parametrize(("word", "text"), GLOBAL.items(), ids=GLOBAL.values())
def test_addresses_of_sm_75_with_a_uniform_pair(word, text):
    assert decode_word(word, 0, 75).text == text


MERGES = {
    (0x001FC4000000400000006200FF207A3E, 89): "F2FP.F16.F32.MERGE_C R32, c[0x0][0x188], RZ",
    (0x000FE400000040FF00006300FF007A3E, 86): "F2FP.MERGE_C R0, c[0x0][0x18c], RZ",
}


@pytest.mark.parametrize(("word", "text"), MERGES.items(), ids=MERGES.values())
def test_a_conversion_that_keeps_the_other_half_is_no_packing_of_two(word, text):
    value, architecture = word

    assert decode_word(value, 0, architecture).text.startswith(text.rpartition(" ")[0])
