"""Decodes every opcode that tile kernels execute on sm_75 to sm_90, with its modifiers and operands.

Roles beyond those of ``sass.arithmetic``: ``m`` memory address, ``s`` shared-memory address of a copy, ``t`` branch
target, ``n`` special register, scoreboard or convergence barrier, ``v`` stored data.

Sources: those of ``sass.arithmetic``. The field positions of LDGSTS, LDSM and HMMA were found by flipping bits and
disassembling with nvdisasm 13.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from gpusim.lower.sass.arithmetic import decode_arithmetic
from gpusim.lower.sass.operands import (
    PT,
    RZ,
    CodeAddress,
    Constant,
    Immediate,
    Memory,
    Named,
    Predicate,
    Register,
    SassOperand,
)
from gpusim.lower.sass.words import Operation, UnknownOpcode, Word, optional, when
from gpusim.lower.stream import INSTRUCTION_BYTES

SIZES = ("U8", "S8", "U16", "S16", "", "64", "128", "INVALID7")
SPECIAL = {
    0x00: "SR_LANEID",
    0x20: "SR_TID",
    0x21: "SR_TID.X",
    0x22: "SR_TID.Y",
    0x23: "SR_TID.Z",
    0x25: "SR_CTAID.X",
    0x26: "SR_CTAID.Y",
    0x27: "SR_CTAID.Z",
    0x28: "SR_NTID",
    0x2F: "SR_SWINHI",
    0x43: "SR_VIRTUALSMID",
    0x50: "SR_CLOCKLO",
    0x51: "SR_CLOCKHI",
    0x52: "SR_GLOBALTIMERLO",
    0x38: "SR_EQMASK",
    0x39: "SR_LTMASK",
    0x3A: "SR_LEMASK",
    0x3B: "SR_GTMASK",
    0x3C: "SR_GEMASK",
    0x88: "SR_CgaCtaId",
    0xFF: "SRZ",
}
"""Special registers that kernels read, by number."""

ORDERS = {0: (), 4: ("CONSTANT",), 5: ("STRONG", "SM"), 7: ("STRONG", "GPU"), 10: ("STRONG", "SYS")}
TURING_ORDERS = {7: ("SYS",), 10: ("STRONG", "GPU")}
"""Memory orders before sm_80, where a weak access names its scope."""

EVICTIONS = ("EF", "", "EL", "LU", "EU", "NA", "INVALID6", "INVALID7")
PREFETCHES = ("", "LTC64B", "LTC128B", "LTC256B")


Fields: TypeAlias = Callable[[Word], dict[str, SassOperand]]


@dataclass(frozen=True, slots=True)
class Irregular:
    """
    An opcode that bits 0 to 11 identify, with fields of its own.

    Attributes:
        modifiers: Returns the modifiers that a word has.
        operands: Returns the operands of a word by role.
        hidden: Roles of predicates that the text leaves out if they are always true.
        uniform: The guard is a uniform predicate.
        idle: Required value of the bits that only other forms of the opcode use.
    """

    modifiers: Callable[[Word], list[str]]
    operands: Fields
    hidden: str = ""
    uniform: bool = False
    idle: int = 0


def _size(w: Word) -> list[str]:
    return optional(SIZES[w.bits(73, 3)])


def _lds_modifiers(w: Word) -> list[str]:
    """Return the modifiers of LDS. Before sm_80, .U says that the lanes' addresses are unrelated."""
    return [*when(w.architecture < 80 and w.flag(76), "U"), *_size(w)]


def _eviction(w: Word) -> list[str]:
    return optional(EVICTIONS[w.bits(84, 3)])


def _order(w: Word) -> list[str]:
    field = w.bits(77, 4)
    orders = ORDERS if w.architecture >= 80 else TURING_ORDERS
    if field not in orders:
        raise UnknownOpcode(f"memory order {field} is not known")
    return list(orders[field])


def _d(w: Word) -> Register:
    return Register(w.bits(16, 8))


def _data(w: Word) -> Register:
    return Register(w.bits(32, 8))


def _window(w: Word, low: int) -> tuple[Register | None, Register | None]:
    """Return descriptor and uniform offset of a global access. Before sm_90, the text does not show the descriptor."""
    uniform = Register(w.bits(low, 6), uniform=True)
    if not w.flag(76):
        return None, uniform
    return (uniform if w.architecture >= 90 else None), None


def _local(w: Word) -> Memory:
    return Memory(Register(w.bits(24, 8)), w.signed(40, 24))


def _shared(w: Word, uniform_at: int = 32) -> Memory:
    uniform = Register(w.bits(uniform_at, 6), uniform=True) if w.flag(91) else None
    scale = ("", ".X4", ".X8", ".X16")[w.bits(78, 2)]
    return Memory(Register(w.bits(24, 8), suffix=scale), w.signed(40, 24), uniform)


TURING_GLOBAL = frozenset({0x381, 0x386, 0x3A8})
"""LDG, STG and ATOMG of sm_75 whose address is a register pair without a uniform register."""


def _global(w: Word, uniform_at: int) -> Memory:
    if w.bits(0, 12) in TURING_GLOBAL:
        return Memory(Register(w.bits(24, 8)), w.signed(40, 24), wide=True, alone=True)
    descriptor, uniform = _window(w, uniform_at)
    base, half = Register(w.bits(24, 8)), not w.flag(90)
    return Memory(base, w.signed(40, 24), uniform, wide=True, half=half, descriptor=descriptor)


def _predicate(w: Word, low: int, inverted: int | None = None, *, uniform: bool = False) -> Predicate:
    return Predicate(w.bits(low, 3), uniform, inverted is not None and w.flag(inverted))


def _ldg(w: Word) -> dict[str, SassOperand]:
    return {
        "p": _predicate(w, 81),
        "d": _d(w),
        "m": _global(w, 32),
        "x": Predicate(w.bits(64, 3) ^ PT, inverted=w.flag(67)),
    }


def _ldg_modifiers(w: Word) -> list[str]:
    return ["E", *_eviction(w), *optional(PREFETCHES[w.bits(68, 2)]), *_size(w), *_order(w)]


def _stg_modifiers(w: Word) -> list[str]:
    return ["E", *_eviction(w), *_size(w), *_order(w)]


def _stg(w: Word) -> dict[str, SassOperand]:
    return {"m": _global(w, 64), "v": _data(w)}


def _ldgsts_modifiers(w: Word) -> list[str]:
    return [
        "E",
        *when(not w.flag(81), "BYPASS"),
        *_eviction(w),
        *optional(PREFETCHES[w.bits(71, 2)]),
        *_size(w),
        *when(w.flag(82), "ZFILL"),
    ]


def _ldgsts(w: Word) -> dict[str, SassOperand]:
    descriptor, uniform = _window(w, 64)
    source = Memory(Register(w.bits(24, 8)), w.signed(32, 12), uniform, wide=True, descriptor=descriptor)
    return {"s": Memory(Register(w.bits(16, 8)), w.signed(44, 20)), "m": source, "x": _predicate(w, 87, 90)}


def _ldsm_modifiers(w: Word) -> list[str]:
    matrices = ("", "2", "4", "INVALID3")[w.bits(72, 2)]
    return ["16", ("M88", "MT88", "M816", "INVALID3")[w.bits(78, 2)], *optional(matrices)]


def _ldsm(w: Word) -> dict[str, SassOperand]:
    uniform = Register(w.bits(32, 6), uniform=True) if w.flag(91) else None
    return {"d": _d(w), "m": Memory(Register(w.bits(24, 8)), w.signed(40, 24), uniform)}


def _constant(w: Word) -> Constant:
    index = {0xAB9: None, 0xABB: Register(w.bits(24, 6), uniform=True)}.get(w.bits(0, 12), Register(w.bits(24, 8)))
    return Constant(w.bits(54, 5), w.bits(38, 16), index)


def _uldc(w: Word) -> dict[str, SassOperand]:
    return {"d": Register(w.bits(16, 6), uniform=True), "m": _constant(w)}


def _special(w: Word) -> Named:
    number = w.bits(72, 8)
    return Named(SPECIAL.get(number, f"SR{number}"), number)


def _branch_target(w: Word) -> CodeAddress:
    """Return the next instruction's address plus a signed offset. sm_90 has eight more low bits at bits 16 to 23."""
    offset = w.signed(34, 48) * 4
    if w.architecture >= 90:
        offset = w.signed(34, 48) * 1024 + w.bits(16, 8) * 4
    return CodeAddress(w.address + INSTRUCTION_BYTES + offset)


def _near_target(w: Word) -> CodeAddress:
    return CodeAddress(w.address + INSTRUCTION_BYTES + w.signed(32, 32))


def _convergence(w: Word) -> Named:
    return Named(f"B{w.bits(16, 4)}", w.bits(16, 4))


def _bmov(w: Word) -> dict[str, SassOperand]:
    number = w.bits(24, 4)
    return {"d": _d(w), "n": Named(f"B{number}", number)}


def _branch(w: Word) -> dict[str, SassOperand]:
    fields: dict[str, SassOperand] = {"x": _predicate(w, 87, 90)}
    if w.flag(91):
        fields["a"] = Register(w.bits(24, 6), uniform=True, sign="~" if w.flag(30) else "")
    return fields | {"t": _branch_target(w)}


def _bar_modifiers(w: Word) -> list[str]:
    mode = ("SYNC", "ARV", "RED", "SCAN", "SYNCALL")[w.bits(77, 3)]
    reduction = [("POPC", "AND", "OR", "INVALID3")[w.bits(74, 2)]] if mode == "RED" else []
    return [mode, *reduction, *when(w.flag(80), "DEFER_BLOCKING")]


def _bar(w: Word) -> dict[str, SassOperand]:
    fields: dict[str, SassOperand] = {"k": Immediate(w.bits(54, 4))}
    # Only a reduction reads the predicate; elsewhere its field is zero.
    return fields | ({"x": _predicate(w, 87, 90)} if w.bits(77, 3) == 2 else {})


def _depbar(w: Word) -> dict[str, SassOperand]:
    board = w.bits(44, 3)
    if w.bits(32, 6):
        raise UnknownOpcode("DEPBAR with a list of scoreboards is not decoded")
    return {"n": Named(f"SB{board}", board), "k": Immediate(w.bits(38, 6))}


def _shuffle(w: Word) -> dict[str, SassOperand]:
    form = w.bits(0, 12)
    lane: SassOperand = Immediate(w.bits(53, 5)) if form in (0x989, 0xF89) else _data(w)
    clamp: SassOperand = Immediate(w.bits(40, 13)) if form in (0x589, 0xF89) else Register(w.bits(64, 8))
    return {"p": _predicate(w, 81), "d": _d(w), "a": Register(w.bits(24, 8)), "b": lane, "c": clamp}


def _plop3(*, uniform: bool) -> Fields:
    def decode(w: Word) -> dict[str, SassOperand]:
        first = (w.bits(72, 5) << 3) | w.bits(64, 3)
        return {
            "p": _predicate(w, 81, uniform=uniform),
            "q": _predicate(w, 84, uniform=uniform),
            "x": _predicate(w, 87, 90, uniform=uniform),
            "y": _predicate(w, 77, 80, uniform=uniform),
            "z": _predicate(w, 68, 71, uniform=uniform or w.flag(67)),
            "k": Immediate(first),
            "l": Immediate(w.bits(16, 8)),
        }

    return decode


def _vote(*, uniform: bool) -> Fields:
    def decode(w: Word) -> dict[str, SassOperand]:
        return {
            "d": Register(w.bits(16, 6 if uniform else 8), uniform),
            "p": _predicate(w, 81, uniform=uniform),
            "x": _predicate(w, 87, 90),
        }

    return decode


ATOMIC_OPERATIONS = ("ADD", "MIN", "MAX", "INC", "DEC", "AND", "OR", "XOR", "EXCH", *["INVALID"] * 7)
ATOMIC_TYPES = ("", "S32", "64", "F32.FTZ.RN", "F16x2.RN", "S64", "F64.RN", "INVALID7")


def _atomic(w: Word) -> list[str]:
    width = 3 if w.bits(0, 12) == 0x98E else 4
    return ["E", ATOMIC_OPERATIONS[w.bits(87, width)], *optional(ATOMIC_TYPES[w.bits(73, 3)]), *_order(w)]


def _atomic_address(w: Word) -> Memory:
    if w.bits(0, 12) in TURING_GLOBAL:
        return _global(w, 64)
    uniform = Register(w.bits(64, 6), uniform=True)
    if not w.flag(71):
        return Memory(Register(w.bits(24, 8)), w.signed(40, 24), uniform, wide=True)
    descriptor = uniform if w.architecture >= 90 else None
    return Memory(Register(w.bits(24, 8)), w.signed(40, 24), wide=True, descriptor=descriptor)


def _atomg(w: Word) -> dict[str, SassOperand]:
    return {"p": _predicate(w, 81), "d": _d(w), "m": _atomic_address(w), "v": _data(w)}


def _shared_atomic(w: Word) -> list[str]:
    return [ATOMIC_OPERATIONS[w.bits(87, 4)], *optional(ATOMIC_TYPES[w.bits(73, 3)])]


def _fence(w: Word) -> list[str]:
    return [
        ("SC", "ALL", "INVALID2", "INVALID3")[w.bits(79, 2) & 1],
        ("CTA", "SM", "GPU", "SYS", "INVALID4", "VC", "INVALID6", "INVALID7")[w.bits(76, 3)],
    ]


def _cache(w: Word) -> list[str]:
    return [("PF1", "PF2", "WB", "IV", "IVALL", "RS", "IVALLP", "INVALID7")[w.bits(87, 3)]]


def _nothing(_: Word) -> dict[str, SassOperand]:
    return {}


def _to_uniform(w: Word) -> dict[str, SassOperand]:
    return {"d": Register(w.bits(16, 6), uniform=True), "a": Register(w.bits(24, 8))}


def _byte(w: Word) -> list[str]:
    return optional(("", "B1", "B2", "B3")[w.bits(76, 2)])


PREDICATE_FILE = Named("PR", 0)


def _predicates_to_register(w: Word) -> dict[str, SassOperand]:
    return {"d": _d(w), "n": PREDICATE_FILE, "a": Register(w.bits(24, 8)), "b": Immediate(w.bits(32, 32))}


def _register_to_predicates(w: Word) -> dict[str, SassOperand]:
    byte = ("", ".B1", ".B2", ".B3")[w.bits(76, 2)]
    return {
        "n": PREDICATE_FILE,
        "a": Register(w.bits(24, 8), reuse=w.flag(122), suffix=byte),
        "b": Immediate(w.bits(32, 32)),
    }


IMMA_SHAPES = {0: "8816", 2: "8832", 4: "16816", 5: "16832", 6: "16864"}
"""Shapes of IMMA as its mnemonic has them, by bits 75, 85 and 86."""


def _imma_modifiers(w: Word) -> list[str]:
    shape = w.bits(75, 1) | w.bits(85, 2) << 1
    if shape not in IMMA_SHAPES:
        raise UnknownOpcode(f"IMMA shape {shape} is not known")
    a, b = (
        ("S" if w.flag(signed) else "U") + ("4" if w.flag(narrow) else "8") for signed, narrow in ((76, 83), (78, 84))
    )
    return [IMMA_SHAPES[shape], a, b, *when(w.flag(82), "SAT")]


def _imma(w: Word) -> dict[str, SassOperand]:
    return {
        "d": _d(w),
        "a": Register(w.bits(24, 8), reuse=w.flag(122), suffix=".ROW"),
        "b": Register(w.bits(32, 8), reuse=w.flag(123), suffix=".COL"),
        "c": Register(w.bits(64, 8), reuse=w.flag(124)),
    }


I2IP_RESULTS = {(0, 0): ("8", ""), (3, 2): ("4", ".24")}
"""Width of the integers that I2IP packs, and the suffix of source c, by bits 77-78 and 72-73."""


def _i2ip_result(w: Word) -> tuple[str, str]:
    field = w.bits(77, 2), w.bits(72, 2)
    if field not in I2IP_RESULTS:
        raise UnknownOpcode(f"I2IP result {field} is not known")
    return I2IP_RESULTS[field]


def _i2ip_modifiers(w: Word) -> list[str]:
    """Return the modifiers of I2IP: up to sm_80 always SAT, on sm_86 and sm_89 if bit 74 is clear, on sm_90 if set."""
    saturates = w.architecture < 86 or w.flag(74) == (w.architecture >= 90)
    return [("S" if w.flag(76) else "U") + _i2ip_result(w)[0], "S32", *when(saturates, "SAT")]


def _i2ip(w: Word) -> dict[str, SassOperand]:
    return {
        "d": _d(w),
        "a": Register(w.bits(24, 8), reuse=w.flag(122)),
        "b": Register(w.bits(32, 8), reuse=w.flag(123)),
        "c": Register(w.bits(64, 8), reuse=w.flag(124), suffix=_i2ip_result(w)[1]),
    }


def _plain(_: Word) -> list[str]:
    return []


ALWAYS = PT << 87
UNCOUNTED = ALWAYS | 1 << 86
PAIR, WITH_UNIFORM = 1 << 72, 1 << 91
NORMAL_EVICTION = 1 << 84
"""Idle fields: a predicate; a call's predicate and count; a 64-bit address; its uniform register; no eviction."""


def _fixed(*modifiers: str) -> Callable[[Word], list[str]]:
    return lambda _: list(modifiers)


IRREGULAR: dict[int, tuple[str, Irregular]] = {
    0x237: ("IMMA", Irregular(_imma_modifiers, _imma, idle=1 << 74)),
    0x239: ("I2IP", Irregular(_i2ip_modifiers, _i2ip)),
    0x23B: ("MOVM", Irregular(_fixed("16", "MT88"), lambda w: {"d": _d(w), "a": Register(w.bits(24, 8))})),
    **dict.fromkeys(
        (0x38C, 0x98C),
        ("ATOMS", Irregular(_shared_atomic, lambda w: {"d": _d(w), "m": _shared(w, 64), "v": _data(w)})),
    ),
    0x31C: ("B2R", Irregular(_fixed("RESULT"), lambda w: {"d": _d(w), "p": _predicate(w, 81)})),
    0x355: ("BMOV", Irregular(lambda w: ["32", *when(w.flag(84), "CLEAR")], _bmov)),
    0x387: ("STL", Irregular(_size, lambda w: {"m": _local(w), "v": _data(w)}, idle=NORMAL_EVICTION)),
    **dict.fromkeys((0x388, 0x988), ("STS", Irregular(_size, lambda w: {"m": _shared(w, 64), "v": _data(w)}))),
    **dict.fromkeys((0x2CA, 0x3C2), ("R2UR", Irregular(_plain, _to_uniform, idle=PT << 81))),
    0x5AB: ("CGAERRBAR", Irregular(_plain, _nothing)),
    0x803: ("P2R", Irregular(_byte, _predicates_to_register)),
    0x804: ("R2P", Irregular(_plain, _register_to_predicates)),
    0x805: ("CS2R", Irregular(lambda w: when(not w.flag(80), "32"), lambda w: {"d": _d(w), "n": _special(w)})),
    0x806: (
        "VOTE",
        Irregular(lambda w: [("ALL", "ANY", "EQ", "INVALID3")[w.bits(72, 2)]], _vote(uniform=False)),
    ),
    0x81C: ("PLOP3", Irregular(_fixed("LUT"), _plop3(uniform=False))),
    0x83B: ("LDSM", Irregular(_ldsm_modifiers, _ldsm)),
    0x886: (
        "VOTEU",
        Irregular(lambda w: [("ALL", "ANY", "EQ", "INVALID3")[w.bits(72, 2)]], _vote(uniform=True)),
    ),
    0x89C: ("UPLOP3", Irregular(_fixed("LUT"), _plop3(uniform=True), uniform=True)),
    0x918: ("NOP", Irregular(_plain, _nothing)),
    0x919: ("S2R", Irregular(_plain, lambda w: {"d": _d(w), "n": _special(w)})),
    0x91A: ("DEPBAR", Irregular(_fixed("LE"), _depbar, idle=1 << 47)),
    0x941: ("BSYNC", Irregular(_plain, lambda w: {"n": _convergence(w)}, idle=ALWAYS)),
    0x942: ("BREAK", Irregular(_plain, lambda w: {"n": _convergence(w)}, idle=ALWAYS)),
    0x944: ("CALL", Irregular(_fixed("REL", "NOINC"), lambda w: {"t": _branch_target(w)}, idle=UNCOUNTED)),
    0x945: ("BSSY", Irregular(_plain, lambda w: {"n": _convergence(w), "t": _near_target(w)}, idle=ALWAYS)),
    0x946: ("YIELD", Irregular(_plain, _nothing, idle=ALWAYS)),
    0x947: ("BRA", Irregular(lambda w: optional(("", "U", "DIV", "CONV")[w.bits(32, 2)]), _branch, hidden="x")),
    0x948: (
        "WARPSYNC",
        Irregular(lambda w: when(w.architecture >= 90, "ALL"), lambda w: {"k": Immediate(w.bits(32, 32))}, idle=ALWAYS),
    ),
    0x94D: ("EXIT", Irregular(_plain, lambda w: {"x": _predicate(w, 87, 90)}, hidden="x")),
    0x950: (
        "RET",
        Irregular(
            _fixed("REL", "NODEC"), lambda w: {"a": Register(w.bits(24, 8)), "t": _branch_target(w)}, idle=UNCOUNTED
        ),
    ),
    0x95D: ("NANOSLEEP", Irregular(_plain, lambda w: {"k": Immediate(w.bits(32, 32))})),
    0x980: (
        "LD",
        Irregular(
            lambda w: ["E", *_size(w), *_order(w)],
            lambda w: {"d": _d(w), "m": _global(w, 32)},
            idle=PAIR | WITH_UNIFORM | NORMAL_EVICTION,
        ),
    ),
    0x381: ("LDG", Irregular(_ldg_modifiers, _ldg, hidden="px", idle=PAIR)),
    0x981: ("LDG", Irregular(_ldg_modifiers, _ldg, hidden="px", idle=PAIR | WITH_UNIFORM)),
    0x983: (
        "LDL",
        Irregular(lambda w: [*_eviction(w), *_size(w)], lambda w: {"d": _d(w), "m": _local(w)}),
    ),
    0x984: ("LDS", Irregular(_lds_modifiers, lambda w: {"d": _d(w), "m": _shared(w)})),
    0x386: ("STG", Irregular(_stg_modifiers, _stg, idle=PAIR)),
    0x986: ("STG", Irregular(_stg_modifiers, _stg, idle=PAIR | WITH_UNIFORM)),
    0x98E: ("RED", Irregular(_atomic, lambda w: {"m": _atomic_address(w), "v": _data(w)})),
    0x98F: ("CCTL", Irregular(_cache, _nothing, idle=RZ << 24)),
    0x992: ("MEMBAR", Irregular(_fence, _nothing)),
    0x3A8: ("ATOMG", Irregular(_atomic, _atomg, idle=RZ << 64 | PAIR | NORMAL_EVICTION)),
    0x9A8: ("ATOMG", Irregular(_atomic, _atomg, idle=1 << 70 | PAIR | NORMAL_EVICTION | 1 << 91)),
    0x9AB: ("ERRBAR", Irregular(_plain, _nothing)),
    0x9AF: ("LDGDEPBAR", Irregular(_plain, _nothing)),
    0x9C3: ("S2UR", Irregular(_plain, lambda w: {"d": Register(w.bits(16, 6), uniform=True), "n": _special(w)})),
    0xAB9: ("ULDC", Irregular(_size, _uldc, uniform=True)),
    0xABB: ("ULDC", Irregular(_size, _uldc, uniform=True, idle=1 << 91)),
    0xB1D: ("BAR", Irregular(_bar_modifiers, _bar, hidden="x")),
    0xB82: ("LDC", Irregular(_size, lambda w: {"d": _d(w), "m": _constant(w)})),
    0xFAE: ("LDGSTS", Irregular(_ldgsts_modifiers, _ldgsts, hidden="x", idle=1 << 70 | 1 << 91)),
    **dict.fromkeys(
        (0x389, 0x589, 0x989, 0xF89),
        ("SHFL", Irregular(lambda w: [("IDX", "UP", "DOWN", "BFLY")[w.bits(58, 2)]], _shuffle)),
    ),
}
"""Irregular opcodes by bits 0 to 11."""

VOTES = ("VOTE", "VOTEU")


def decode_operation(value: int, address: int, architecture: int) -> Operation:
    """
    Decode an instruction word except its guard and control field.

    Raises:
        UnknownOpcode: Neither table has its opcode, or one of its fields has an unknown value.
    """
    word = Word(value, address, architecture)
    entry = IRREGULAR.get(word.bits(0, 12))
    if entry is None:
        operation = decode_arithmetic(word)
        if operation is None:
            raise UnknownOpcode(f"opcode {word.bits(0, 12):#05x} is not known")
        return operation
    name, fields = entry
    operands = fields.operands(word)
    modifiers = fields.modifiers(word)
    word.require_read(name, fields.idle)
    shown = tuple(role for role, operand in operands.items() if _is_shown(word, name, fields, role, operand))
    return Operation(".".join([name, *modifiers]), operands, shown, fields.uniform)


def _is_shown(word: Word, name: str, fields: Irregular, role: str, operand: SassOperand) -> bool:
    if role in fields.hidden:
        return not (isinstance(operand, Predicate) and operand.number == PT and not operand.inverted)
    if name == "WARPSYNC":
        return word.architecture < 90
    if name in VOTES and role == "d":
        return not (isinstance(operand, Register) and operand.number == RZ)
    return True
