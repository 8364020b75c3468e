"""The emulator against arithmetic: each value that the kernel of expressions.cu stores to, in order."""

import gzip
import struct
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from slow import one_in

from gpusim.errors import Unsupported
from gpusim.lower.sass.cubin import read_cubin
from gpusim.lower.sass.decode import Sass, control_field, decode
from gpusim.lower.sass.emulate import EmulatedWarp, run_warp
from gpusim.lower.sass.operands import PT, RZ, CodeAddress, Constant, Immediate, Memory, Named, Predicate, Register

FOLDER = Path(__file__).parent / "data"
KERNEL = "gpusim_kernel"
OUT = 1 << 40
WARP_SIZE = np.arange(32, dtype=np.int64)


def cubin_bytes(name):
    return gzip.decompress((FOLDER / f"{name}.cubin.gz").read_bytes())


def shown(architecture, warp=1, block=5, **parameters):
    """
    (lanes that store, value in each lane) of every store, in order.
    """
    name = f"expressions_sm{architecture}"
    cubin = read_cubin(cubin_bytes(name), KERNEL, name)
    code = decode(cubin.code, cubin.architecture)
    packed = struct.pack("<QiIqif", OUT, *(parameters[key] for key in ("divisor", "modulus", "wide", "few", "zero")))
    bank = bytearray(cubin.constants)
    bank[cubin.parameters_at : cubin.parameters_at + len(packed)] = packed
    launched = EmulatedWarp(
        *((block, 0, 0), (9, 1, 1), (128, 1, 1), warp, bytes(bank), cubin.local_bytes),
        compiler_constants=cubin.compiler_constants,
        parameters_at=cubin.parameters_at,
    )
    steps = run_warp(code, launched).steps
    return [
        (np.ones(32, dtype=np.bool_) if step.lanes is None else step.lanes, step.address - OUT)
        for step in steps
        if code[step.at].name == "STG"
    ]


def unsigned(value):
    return int(value) & 0xFFFFFFFF


def as_signed(value):
    return (unsigned(value) ^ 0x80000000) - 0x80000000


def quotient(a, b):
    """As C divides: towards zero."""
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def collatz(n):
    steps = 0
    while n != 1:
        n = 3 * n + 1 if n % 2 else n // 2
        steps += 1
    return steps


def reverse(value):
    return int(f"{value:032b}"[::-1], 2)


def expected(warp, block, *, divisor, modulus, wide, few):
    """What each store shows, by lane, from the source's expressions."""
    threads = [warp * 32 + lane for lane in range(32)]
    s = [as_signed(thread * 7919 - 300000) for thread in threads]
    u = [unsigned(thread * 2654435761 + block) for thread in threads]
    w = [wide * a + b for a, b in zip(s, u, strict=True)]
    w = [(value & (2**64 - 1) ^ 2**63) - 2**63 for value in w]
    lanes = range(32)
    far = [a * few + 0x300000081 for a in s]
    ballot = sum(1 << lane for lane in lanes if u[lane] & 4)
    by_lane = [
        [
            quotient(s[i], divisor),
            s[i] - quotient(s[i], divisor) * divisor,
            u[i] // modulus,
            u[i] % modulus,
            quotient(s[i], 13),
            u[i] % 17,
            u[i] * modulus >> 32,
            s[i] * divisor >> 32,
            w[i],
            w[i] >> 32,
            w[i] << few >> 32,
            w[i] >> few,
            w[i] - divisor >> 32,
            int(w[i] < wide),
            3 if w[i] & (2**64 - 1) >= wide & (2**64 - 1) else 2,
            min(max(s[i], divisor), 5000),
            abs(s[i]),
            u[i].bit_count(),
            32 - u[i].bit_length(),
            (s[i] & -s[i]).bit_length(),
            reverse(u[i]),
            permuted(u[i], unsigned(s[i]), 0x7250 + few),
            u[i] << few,
            s[i] >> few,
            ((unsigned(s[i]) << 32 | u[i]) << (threads[i] & 31)) >> 32,
            (u[i] & s[i]) | (~u[i] & divisor) ^ s[i],
            u[i // 2],
            u[i - 3] if i >= 3 else u[i],
            u[i + 5] if i + 5 < 32 else u[i],
            u[i ^ 9],
            ballot,
            int(0 in s) * 2 + int(max(s) < 0),
            far[i],
            far[i] >> 32,
            u[i] + ((threads[i] + few) & 3),
            collatz(i + 1),
        ]
        for i in lanes
    ]
    return [[unsigned(value) for value in values] for values in zip(*by_lane, strict=True)]


def permuted(x, y, selector):
    pair = y << 32 | x
    return sum((pair >> 8 * (selector >> 4 * byte & 7) & 255) << 8 * byte for byte in range(4))


PARAMETERS = {
    "divisor": st.integers(-(2**31) + 1, 2**31 - 1).filter(bool),
    "modulus": st.integers(1, 2**32 - 1),
    "wide": st.integers(-(2**40), 2**40),
    "few": st.integers(1, 31),
}


@pytest.mark.parametrize("architecture", one_in(2, [90, 80, 75, 86, 89]))
def test_expressions(architecture):
    @given(**PARAMETERS, warp=st.integers(0, 3), block=st.integers(0, 8))
    @example(divisor=-37, modulus=1000003, wide=-123456789012345, few=9, warp=1, block=5)
    @example(divisor=1, modulus=1, wide=0, few=1, warp=0, block=0)
    @example(divisor=2**31 - 1, modulus=2**32 - 1, wide=-1, few=31, warp=3, block=8)
    def law(warp, block, **parameters):
        found = shown(architecture, warp, block, zero=0.0, **parameters)
        wanted = expected(warp, block, **parameters)
        for number, values in enumerate(wanted):
            lanes, address = found[number]
            assert lanes.all()
            assert [unsigned(value) for value in address] == values, f"expression {number}"

    law()


@pytest.mark.parametrize("architecture", [75, 80, 86, 89, 90])
@pytest.mark.parametrize("zero", [0.0, 1.5])
def test_lanes_part_at_a_branch_and_every_lane_stores_once(architecture, zero):
    stores = shown(architecture, divisor=3, modulus=5, wide=7, few=2, zero=zero)[36:]
    stored = sum(lanes.astype(int) for lanes, _ in stores)
    values = sum(np.where(lanes, address, 0) for lanes, address in stores)

    assert stored.tolist() == [1] * 32
    assert values.tolist() == np.where(WARP_SIZE % 3 == 0, WARP_SIZE * 5, 77 if zero else WARP_SIZE * 7).tolist()


def test_an_endless_wait_is_an_error(monkeypatch):
    monkeypatch.setattr("gpusim.lower.sass.emulate.MOST_STEPS", 100)

    with pytest.raises(Unsupported, match=r"^text 0x[0-9a-f]{4}: the warp does not end after 100 instructions$"):
        shown(90, divisor=3, modulus=5, wide=7, few=2, zero=0.0)


ALWAYS = Predicate(PT)
EXIT = ("EXIT", {})


def r(number):
    return Register(number)


def ur(number):
    return Register(number, uniform=True)


LANE = ("S2R", {"d": r(4), "n": Named("SR_LANEID", 0)})
"""R4 is the lane."""

ODD_LANES = ("R2P", {"a": r(4), "b": Immediate(1)})
"""P0 is bit 0 of the lane."""


def executed(*code, load=None, constants=bytes(1024), local_bytes=0, grid=(1, 1, 1)):
    """The steps of lanes 0 to 31 through (mnemonic, operands) of each instruction, or (.., .., guard)."""
    sass = [
        Sass(16 * at, mnemonic, guard[0] if guard else ALWAYS, operands, (), control_field(0))
        for at, (mnemonic, operands, *guard) in enumerate((*code, EXIT))
    ]
    return run_warp(sass, EmulatedWarp((0, 0, 0), grid, (32, 1, 1), 0, constants, local_bytes, load)).steps


def shown_by(steps):
    """The registers that stores use as their addresses."""
    return [step.address.tolist() for step in steps if step.address is not None and step.target is None]


def store_to(number):
    return "STS", {"m": Memory(r(number)), "v": r(RZ)}


@pytest.mark.parametrize(
    ("mnemonic", "words"),
    {"LDG.E.64": (0x40, 0x44), "ATOMG.E.64": (0x40, 0x44), "LDS.64": (0, 0)}.items(),
)
def test_only_loads_from_global_memory_are_answered(mnemonic, words):
    """Where each word holds its own address; shared memory is zero."""
    place = {"d": r(2), "m": Memory(r(RZ), 0x40, wide=mnemonic != "LDS.64")}
    steps = executed((mnemonic, place), store_to(2), store_to(3), load=lambda addresses: addresses)

    assert shown_by(steps)[1:] == [[word] * 32 for word in words]


def test_an_indexed_constant_is_loaded_lane_by_lane():
    """LDC.64 R2, c[0x0][R4+0x200], R4 the lane: four lanes to a word, and the word after it."""
    constants = np.arange(256, dtype="<u4").tobytes()
    load = ("LDC.64", {"d": r(2), "m": Constant(0, 0x200, r(4))})
    steps = executed(LANE, load, store_to(2), store_to(3), constants=constants)

    assert shown_by(steps) == [[128 + part + lane // 4 for lane in range(32)] for part in (0, 1)]


def test_an_index_in_the_register_that_is_loaded_counts_for_both_words():
    """LDC.64 R4, c[0x0][R4+0x200], R4 the lane."""
    constants = np.arange(256, dtype="<u4").tobytes()
    load = ("LDC.64", {"d": r(4), "m": Constant(0, 0x200, r(4))})
    steps = executed(LANE, load, store_to(4), store_to(5), constants=constants)

    assert shown_by(steps) == [[128 + part + lane // 4 for lane in range(32)] for part in (0, 1)]


def test_a_constant_at_a_uniform_index():
    """UMOV UR6, 8; ULDC.64 UR6, c[0x0][UR6+0x200]: the words at 0x208 and 0x20c, moved to R2 and R3."""
    constants = np.arange(256, dtype="<u4").tobytes()
    load = ("ULDC.64", {"d": ur(6), "m": Constant(0, 0x200, ur(6))})
    moves = [("MOV", {"d": r(2 + part), "b": ur(6 + part)}) for part in (0, 1)]
    index = ("UMOV", {"d": ur(6), "b": Immediate(8)})
    steps = executed(index, load, *moves, store_to(2), store_to(3), constants=constants)

    assert shown_by(steps) == [[130] * 32, [131] * 32]


def test_a_shared_address_has_32_bits_and_a_scaled_register():
    (below,) = shown_by(executed(("STS", {"m": Memory(r(RZ), -16), "v": r(RZ)})))
    scaled = {suffix: Register(4, suffix=suffix) for suffix in ("", ".X4", ".X8", ".X16")}
    found = [shown_by(executed(LANE, ("STS", {"m": Memory(base, 4), "v": r(RZ)})))[0][3] for base in scaled.values()]

    assert below == [2**32 - 16] * 32
    assert found == [4 + 3, 4 + 12, 4 + 24, 4 + 48]


def test_a_global_address_adds_a_pair_of_uniform_registers():
    """[R2.64+UR6-0x8]: R3 is 1 and UR7 is 2, the high words."""
    words = [("MOV", {"d": r(3), "b": Immediate(1)}), ("UMOV", {"d": ur(6), "b": Immediate(0x10)})]
    words.append(("UMOV", {"d": ur(7), "b": Immediate(2)}))
    place = Memory(r(2), -8, ur(6), wide=True)

    assert shown_by(executed(*words, ("STG", {"m": place, "v": r(RZ)}))) == [[(3 << 32) + 8] * 32]


def test_a_copy_has_a_source_a_target_and_a_predicate():
    """LDGSTS [R4+0x100], [RZ.64+0x40], P0."""
    operands = {"s": Memory(r(4), 0x100), "m": Memory(r(RZ), 0x40, wide=True), "x": Predicate(0)}
    copy = executed(LANE, ODD_LANES, ("LDGSTS.E.128", operands))[2]

    assert copy.address.tolist() == [0x40] * 32
    assert copy.target.tolist() == [0x100 + lane for lane in range(32)]
    assert copy.predicate.tolist() == [False, True] * 16


def test_a_negated_pair_is_subtracted_with_its_borrow_and_carries_where_it_does_not_borrow():
    """IMAD.WIDE R8, P1, R4, 5, -R2 with R3:R2 = 10, lane by lane: 5 lane - 10 carries from lane 2 on."""
    ten = [("MOV", {"d": r(number), "b": Immediate(value)}) for number, value in ((2, 10), (3, 0))]
    product = {"d": r(8), "p": Predicate(1), "a": r(4), "b": Immediate(5), "c": Register(2, sign="-")}
    one = ("MOV", {"d": r(6), "b": Immediate(1)}, Predicate(1))

    low, high, carried = shown_by(executed(LANE, *ten, ("IMAD.WIDE", product), one, *map(store_to, (8, 9, 6))))

    assert low == [(5 * lane - 10) % 2**32 for lane in range(32)]
    assert high == [2**32 - 1 if lane < 2 else 0 for lane in range(32)]
    assert carried == [int(lane >= 2) for lane in range(32)]


def test_a_uniform_register_takes_the_first_active_lane_s_value():
    """@P0 R2UR UR6, R4: lane 1 is the first of the odd ones."""
    taken = ("R2UR", {"d": ur(6), "a": r(4)}, Predicate(0))
    store = ("STS", {"m": Memory(r(RZ), uniform=ur(6)), "v": r(RZ)})

    assert shown_by(executed(LANE, ODD_LANES, taken, store)) == [[1] * 32]


@pytest.mark.parametrize(("mnemonic", "after"), [("CS2R", 0), ("CS2R.32", 7), ("S2R", 7)])
def test_only_a_wide_special_register_clears_the_register_after_it(mnemonic, after):
    seven = ("MOV", {"d": r(3), "b": Immediate(7)})

    assert shown_by(executed(seven, (mnemonic, {"d": r(2), "n": Named("SRZ", 255)}), store_to(3))) == [[after] * 32]


def test_the_stack_ends_where_it_ends():
    """Of 8 bytes, STL.64 at byte 0 takes all; at byte 8 it lies outside."""
    pair = {"v": r(RZ)}

    assert len(executed(("STL.64", {"m": Memory(r(RZ)), **pair}), local_bytes=8)) == 2
    with pytest.raises(Unsupported, match="local address outside the stack of 8 bytes"):
        executed(("STL.64", {"m": Memory(r(RZ), 8), **pair}), local_bytes=8)


def test_the_bank_begins_with_the_extents_of_block_and_grid():
    loads = [(("LDC", {"d": r(2), "m": Constant(0, 4 * word)}), store_to(2)) for word in range(6)]

    found = shown_by(executed(*(one for pair in loads for one in pair), grid=(5, 6, 7)))

    assert [lanes[0] for lanes in found] == [32, 1, 1, 5, 6, 7]


EVEN, ODD = [lane % 2 == 0 for lane in range(32)], [lane % 2 == 1 for lane in range(32)]
NOP, B0 = ("NOP", {}), {"n": Named("B0", 0)}
ON_ODD, ON_EVEN = Predicate(0), Predicate(0, inverted=True)


def to(place):
    return {"t": CodeAddress(16 * place)}


def path(steps):
    return [step.at for step in steps]


@pytest.mark.parametrize(("how", "followed"), [("CONV", [0, 2]), ("DIV", [0, 1, 2])])
def test_a_warp_that_is_whole_goes_where_it_converges_and_not_where_it_diverges(how, followed):
    assert path(executed((f"BRA.{how}", to(2)), NOP)) == followed


@pytest.mark.parametrize(("how", "followed"), [("CONV", [3, 4, 5, 5]), ("DIV", [3, 5, 5])])
def test_lanes_that_have_parted_go_where_it_diverges_and_not_where_it_converges(how, followed):
    parted = (LANE, ODD_LANES, ("BRA", to(5), ON_ODD))

    assert path(executed(*parted, (f"BRA.{how}", to(5)), NOP))[3:] == followed


def test_lanes_that_part_go_on_together_from_where_they_converge():
    parted = (LANE, ODD_LANES, ("BSSY", B0), ("BRA", to(5), ON_ODD))
    steps = executed(*parted, NOP, ("BSYNC", B0), NOP)

    assert path(steps) == [0, 1, 2, 3, 4, 5, 5, 6, 7]
    assert [None if step.lanes is None else step.lanes.tolist() for step in steps[4:]] == [EVEN, EVEN, ODD, None, None]


def test_nobody_waits_for_lanes_that_left_the_barrier():
    """The even lanes pass BSYNC and end; the odd ones, which branched past it, end after them."""
    parted = (LANE, ODD_LANES, ("BSSY", B0), ("BREAK", B0, ON_ODD), ("BRA", to(6), ON_ODD))
    steps = executed(*parted, ("BSYNC", B0))

    assert [step.lanes.tolist() for step in steps if step.at == 6] == [EVEN, ODD]


def test_a_call_returns_to_where_its_active_lanes_say(monkeypatch):
    """@!P0 EXIT; R2 = 0x60; RET R2: lane 0, whose R2 is still 0, is gone."""
    monkeypatch.setattr("gpusim.lower.sass.emulate.MOST_STEPS", 100)
    gone = (LANE, ODD_LANES, ("EXIT", {}, ON_EVEN), ("MOV", {"d": r(2), "b": Immediate(0x60)}))

    assert path(executed(*gone, ("RET", {"a": r(2), **to(0)}), NOP)) == [0, 1, 2, 3, 4, 6]


@pytest.mark.parametrize(("mnemonic", "register"), [("BMOV.32.CLEAR", 5), ("BMOV.32", RZ)])
def test_a_convergence_barrier_can_only_be_cleared(mnemonic, register):
    with pytest.raises(Unsupported, match="only clearing a convergence barrier is emulated"):
        executed((mnemonic, {"d": r(register), **B0}))


BANK_2 = struct.pack("<2I", 0x80, 0x3)


def test_a_source_in_bank_2_is_the_compiler_s_number_and_not_the_launch_s():
    """IMAD.WIDE R8, R4, 2, c[0x2][0x0], R4 the lane: 0x300000080 + 2 lane; in bank 0 there is 7."""
    product = {"d": r(8), "p": ALWAYS, "a": r(4), "b": Immediate(2), "c": Constant(2, 0)}
    code = [
        Sass(16 * at, mnemonic, ALWAYS, operands, (), control_field(0))
        for at, (mnemonic, operands) in enumerate((LANE, ("IMAD.WIDE", product), store_to(8), store_to(9), EXIT))
    ]
    warp = EmulatedWarp((0, 0, 0), (1, 1, 1), (32, 1, 1), 0, b"\7" * 1024, 0, compiler_constants=BANK_2)

    assert shown_by(run_warp(code, warp).steps) == [[0x80 + 2 * lane for lane in range(32)], [3] * 32]


REFUSED = {
    "bank 3": (("MOV", {"d": r(2), "b": Constant(3, 8)}), "constant bank 3 is not known, only 0 and 2"),
    "bank 4 of ULDC": (("ULDC.64", {"d": ur(2), "m": Constant(4, 8)}), "constant bank 4 is not known, only 0 and 2"),
    "beyond the bank": (("MOV", {"d": r(2), "b": Constant(2, 8)}), "constant bank 2 has 0 bytes, byte 0x8 is read"),
    "before the bank": (("LDC", {"d": r(2), "m": Constant(0, -4, r(RZ))}), "read 4 bytes before its beginning"),
    "a predicate of EXIT": (("EXIT", {"x": Predicate(0)}), "a predicate of EXIT besides its guard is not emulated"),
    "a negated selection": (
        ("SEL", {"d": r(2), "a": Register(4, sign="-"), "b": r(RZ), "x": ALWAYS}),
        "source -R4 with a sign is not emulated",
    ),
    "a modifier": (("SHF.L.U64.LO", {}), "modifier LO is not emulated"),
    "an atomic's result": (("ATOMS.ADD", {"d": r(2), "m": Memory(r(RZ)), "v": r(RZ)}), "a shared atomic that returns"),
    "lanes of a WARPSYNC": (("WARPSYNC", {"k": Immediate(1)}), "only a WARPSYNC of all lanes is emulated"),
    "a 64-bit conversion": (("I2F.U64", {"d": r(2), "b": r(4)}), "I2F.U64 is not emulated"),
    "an operand that is not there": (("MOV", {"d": r(2)}), "this form is not emulated"),
    "a call of a register": (
        ("CALL.REL.NOINC", {"a": r(4), "t": CodeAddress(0)}),
        "a call of a function in a register is not emulated",
    ),
    "a predicate of R2UR": (
        ("R2UR", {"p": Predicate(0), "d": ur(2), "a": r(4)}),
        "the predicate that R2UR writes is not emulated",
    ),
    "a conversion to f64": (("F2F.F64.F32", {"d": r(2), "b": r(4)}), "modifier F64 is not emulated"),
    "a function of halves": (("MUFU.RCP.F16", {"d": r(2), "b": r(4)}), "modifier F16 is not emulated"),
    "a compare and swap": (
        ("ATOMS.CAS", {"d": r(RZ), "m": Memory(r(RZ)), "v": r(4), "w": r(5)}),
        "modifier CAS is not emulated",
    ),
    "half a warp": (("WARPSYNC.EXCLUSIVE", {"k": Immediate(2**32 - 1)}), "modifier EXCLUSIVE is not emulated"),
    "an opcode": (("BMSK", {"d": r(2)}), "BMSK is not emulated"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_not_emulated_is_refused_by_name(what):
    instruction, why = REFUSED[what]

    with pytest.raises(Unsupported) as refusal:
        executed(instruction)
    assert str(refusal.value).startswith(f"text 0x0000 {instruction[0]}")
    assert why in str(refusal.value)


def test_a_word_that_only_the_driver_knows_is_refused():
    """The parameters begin at 0x160; what lies below is the launch's extents, the stack and the global window."""
    move = ("MOV", {"d": r(2), "b": Constant(0, 0x20)})
    code = [Sass(16 * at, name, ALWAYS, own, (), control_field(0)) for at, (name, own) in enumerate((move, EXIT))]
    warp = EmulatedWarp((0, 0, 0), (1, 1, 1), (32, 1, 1), 0, bytes(1024), 0, parameters_at=0x160)

    with pytest.raises(Unsupported, match="what the driver writes at 0x20 of constant bank 0 is not known"):
        run_warp(code, warp)


def test_a_base_of_32_bits_is_extended_by_zeros():
    """[R2.U32+UR6]: R3 is 1 and no part of the address, UR7 is 2."""
    words = [("MOV", {"d": r(number), "b": Immediate(value)}) for number, value in ((2, 0x10), (3, 1))]
    words.append(("UMOV", {"d": ur(7), "b": Immediate(2)}))
    place = Memory(r(2), 0, ur(6), wide=True, half=True)

    assert shown_by(executed(*words, ("STG", {"m": place, "v": r(RZ)}))) == [[(2 << 32) + 0x10] * 32]


@pytest.mark.parametrize(
    ("modifier", "value"),
    {"U8": 0x80, "S8": 0xFFFFFF80, "U16": 0x9080, "S16": 0xFFFF9080}.items(),
)
def test_a_narrow_load_takes_its_bytes_out_of_the_word(modifier, value):
    """Bytes 2 and 3 of the word 0x90801234 are 0x80 and 0x90."""
    place = {"d": r(2), "m": Memory(r(RZ), 0x42, wide=True)}
    steps = executed(
        (f"LDG.E.{modifier}", place), store_to(2), load=lambda address: np.where(address == 0x40, 0x90801234, 0)
    )

    assert shown_by(steps)[1] == [value] * 32


@pytest.mark.parametrize(
    ("modifier", "part", "value"), [("U8", ".B1", 3.0), ("S8", ".B3", -16.0), ("U16", ".H1", 61440.0)]
)
def test_a_conversion_takes_the_part_of_its_source(modifier, part, value):
    """0xf0000380: its bytes are 0x80, 3, 0 and 0xf0, -16 or the upper half of the half word 61440."""
    words = ("MOV", {"d": r(4), "b": Immediate(0xF0000380)})
    steps = executed(words, (f"I2F.{modifier}", {"d": r(2), "b": Register(4, suffix=part)}), store_to(2))

    assert shown_by(steps) == [[struct.unpack("<I", struct.pack("<f", value))[0]] * 32]


@pytest.mark.parametrize(("modifier", "value"), {"S8": -128.0, "U8": 128.0, "S16": 896.0, "U32.RP": 2.0**32}.items())
def test_a_conversion_takes_the_low_bits(modifier, value):
    """0x0380: its low byte is -128 or 128, the half word 896; 0xffffff80... upwards is 2 to the 32."""
    source = 0xFFFFFF81 if modifier == "U32.RP" else 0x0380
    words = ("MOV", {"d": r(4), "b": Immediate(source)})
    steps = executed(words, (f"I2F.{modifier}", {"d": r(2), "b": r(4)}), store_to(2))

    assert shown_by(steps) == [[struct.unpack("<I", struct.pack("<f", value))[0]] * 32]
