"""Decodes the regular opcodes of sm_75 to sm_90: bits 0 to 8 name them, bits 9 to 11 give the form of sources b and c.

Roles of operands: ``d`` destination, ``a b c`` sources, ``p q`` predicate destinations, ``x y z`` predicate sources,
``k`` an immediate field. A role written with "?" is left out of the text when it is the always-true predicate.

Source: the field positions are public from the encoders of Mesa's NAK compiler (sm70_encode.rs), CuAssembler and
TuringAs; every entry here was checked against the text of nvdisasm 13.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from gpusim.lower.sass.operands import PT, RZ, URZ, Constant, Immediate, Predicate, Register, SassOperand
from gpusim.lower.sass.words import Modifiers, Operation, UnknownOpcode, Word, optional, when

ValueKind: TypeAlias = Literal["integer", "signed", "float", "halves"]
Roles: TypeAlias = str | Callable[[Word], str]


def _none(_: Word) -> list[str]:
    return []


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """
    An opcode of the regular form: bits 0-8 name it, bits 9-11 say where sources b and c come from.

    Attributes:
        name: Opcode without modifiers.
        roles: Roles of the operands in the order they are written, or a function that returns them for a word.
        modifiers: Returns the modifiers that a word has.
        sign: Meaning of the sources' negation bits: "-" negates, "-x" negates but inverts under .X, "" means that the
            bits belong to other fields.
        signed_sources: Roles of the sources that have a negation bit.
        values: How an immediate is written.
        absolute: The sources have absolute-value bits.
        swizzled: The sources are pairs of halves, with fields that select halves.
        fields: Lowest bit and width of role ``k``.
        uniform: The opcode works on the uniform register file.
        adder: The opcode is a sum, whose second source takes the third slot's reuse bit.
        idle: Required value of the bits that only other forms of the opcode use.
    """

    name: str
    roles: Roles
    modifiers: Modifiers = _none
    sign: str = ""
    values: ValueKind = "integer"
    absolute: bool = False
    swizzled: bool = False
    signed_sources: str = "abc"
    fields: dict[str, tuple[int, int]] = field(default_factory=dict)
    uniform: bool = False
    adder: bool = False
    idle: int = 0


NO_CARRY = 0xF << 87 | 0xF << 77
"""Both predicate sources, inverted PT."""

NO_CARRY_IN = 0xF << 87
NO_PREDICATE = PT << 81
NO_C = RZ << 64
NO_UNIFORM_C = URZ << 64
ALL_BYTES = 0xF << 72
"""Idle fields: the first predicate source; the first predicate destination; source c; the bytes that MOV moves."""

COMPARISONS = ("F", "LT", "EQ", "LE", "GT", "NE", "GE", "T")
FLOAT_COMPARISONS = (
    *("F", "LT", "EQ", "LE", "GT", "NE", "GE", "NUM"),
    *("NAN", "LTU", "EQU", "LEU", "GTU", "NEU", "GEU", "T"),
)
COMBINATIONS = ("AND", "OR", "XOR", "INVALID3")
ROUNDINGS = ("", "RM", "RP", "RZ")
INTEGER_ROUNDINGS = ("", "FLOOR", "CEIL", "TRUNC")


def _isetp(w: Word) -> list[str]:
    return [
        COMPARISONS[w.bits(76, 3)],
        *when(not w.flag(73), "U32"),
        COMBINATIONS[w.bits(74, 2)],
        *when(w.flag(72), "EX"),
    ]


def _fsetp(w: Word) -> list[str]:
    return [FLOAT_COMPARISONS[w.bits(76, 4)], *when(w.flag(80), "FTZ"), COMBINATIONS[w.bits(74, 2)]]


def _carry(w: Word) -> list[str]:
    return when(w.flag(74), "X")


def _add_roles(w: Word) -> str:
    return "d ?p ?q a b c x y" if w.flag(74) else "d ?p ?q a b c"


def _imad(w: Word) -> list[str]:
    signed = when(not w.flag(73), "U32")
    if w.flag(74):
        return [*signed, "X"]
    form, immediate = w.bits(9, 3), w.bits(32, 32)
    uniform_file = w.bits(0, 9) & 0x080
    b = w.bits(64, 8) if form in (2, 3, 7) else w.bits(32, 8)
    c_is_zero = form in (1, 4, 5, 6) and w.bits(64, 8) == RZ and not w.flag(75)
    if uniform_file:
        return signed
    if form in (1, 2, 3) and b == RZ:
        return ["MOV", *signed]
    if form == 4 and immediate == 1 and w.flag(73):
        return ["IADD"]
    # nvdisasm does not write a shift by 16, which converts bf16 to f32, as SHL.
    if form == 4 and c_is_zero and immediate.bit_count() == 1 and immediate != 1 << 16 and not w.flag(73):
        return ["SHL", "U32"]
    return signed


def _low_multiply_roles(w: Word) -> str:
    return "d a b c x" if w.flag(74) else "d a b c"


def _multiply_roles(w: Word) -> str:
    return "d ?p a b c x" if w.flag(74) else "d ?p a b c"


def _long_multiply(kind: str) -> Modifiers:
    return lambda w: [kind, *when(not w.flag(73), "U32"), *when(w.flag(74), "X")]


def _lea(w: Word) -> list[str]:
    return [*when(w.flag(80), "HI"), *when(w.flag(74), "X"), *when(w.flag(73), "SX32")]


def _lea_roles(w: Word) -> str:
    third = " c" if w.flag(80) and not w.flag(73) else ""
    return f"d ?p a b{third} k" + (" x" if w.flag(74) else "")


def _shf(w: Word) -> list[str]:
    kind = ("S64", "U64", "S32", "U32")[w.bits(73, 2)]
    return ["R" if w.flag(76) else "L", *when(w.flag(75), "W"), kind, *when(w.flag(80), "HI")]


def _prmt(w: Word) -> list[str]:
    return [m for m in (("", "F4E", "B4E", "RC8", "ECL", "ECR", "RC16", "INVALID7")[w.bits(72, 3)],) if m]


def _float(w: Word) -> list[str]:
    return [*when(w.flag(80), "FTZ"), *optional(ROUNDINGS[w.bits(78, 2)]), *when(w.flag(77), "SAT")]


def _f2fp(w: Word) -> list[str]:
    kind, what = when(w.flag(76), "BF16"), "MERGE_C" if w.flag(78) else "PACK_AB"
    return [*kind, what] if w.architecture < 89 else [*(kind or ["F16"]), "F32", what]


def _i2f(w: Word) -> list[str]:
    source = ("8", "16", "32", "64")[w.bits(84, 2)]
    sign = "S" if w.flag(74) else "U"
    return [
        *when(w.bits(75, 2) != 2, ("INVALID0", "F16", "", "F64")[w.bits(75, 2)]),
        *when(sign + source != "S32", sign + source),
        *optional(ROUNDINGS[w.bits(78, 2)]),
    ]


def _f2i(w: Word) -> list[str]:
    result = ("8", "16", "32", "64")[w.bits(75, 2)]
    sign = "S" if w.flag(72) else "U"
    return [
        *when(w.flag(80), "FTZ"),
        *when(sign + result != "S32", sign + result),
        *optional(INTEGER_ROUNDINGS[w.bits(78, 2)]),
        *when(w.flag(77), "NTZ"),
    ]


def _i2fp(w: Word) -> list[str]:
    source = ("8", "16", "32", "64")[w.bits(84, 2)]
    return ["F32", f"{'S' if w.flag(74) else 'U'}{source}", *optional(ROUNDINGS[w.bits(78, 2)])]


def _f2ip(w: Word) -> list[str]:
    return ["S8" if w.flag(76) else "U8", "F32", *when(w.flag(74), "NTZ"), *when(w.flag(75), "RELU")]


MUFU = ("COS", "SIN", "EX2", "LG2", "RCP", "RSQ", "RCP64H", "RSQ64H", "SQRT", "TANH")


def _hadd2(w: Word) -> list[str]:
    return when(w.flag(78), "F32")


def _hmma(w: Word) -> list[str]:
    shape = {0: "1688", 1: "16816"}[w.bits(75, 1)]
    kind = {0: [], 1: ["BF16"], 2: ["TF32"]}[w.bits(82, 2)]
    return [shape, "F32" if w.flag(76) else "F16", *kind]


def _f2fp_roles(w: Word) -> str:
    """Return the roles of F2FP, which packs a and b, or puts b beside a half of c."""
    if not w.flag(78):
        return "d a b"
    if w.bits(24, 8) != RZ:
        raise UnknownOpcode("F2FP.MERGE_C with a first source is not known")
    return "d b c"


def _flo(w: Word) -> list[str]:
    return [*when(not w.flag(73), "U32"), *when(w.flag(74), "SH")]


def _lop(w: Word) -> list[str]:
    return ["LUT", *when(w.flag(80), "PAND")]


def _minmax(bit: int) -> Modifiers:
    return lambda w: when(not w.flag(bit), "U32")


def _isetp_roles(w: Word) -> str:
    return "p q a b x z" if w.flag(72) else "p q a b x"


def _product(
    name: str, roles: Callable[[Word], str], modifiers: Modifiers, *, idle: int = NO_CARRY_IN, uniform: bool = False
) -> Arithmetic:
    return Arithmetic(name, roles, modifiers, "-x", "signed", signed_sources="c", uniform=uniform, idle=idle)


ARITHMETIC: dict[int, Arithmetic] = {
    0x002: Arithmetic("MOV", "d b", idle=ALL_BYTES),
    0x007: Arithmetic("SEL", "d a b x"),
    0x008: Arithmetic("FSEL", "d a b x", sign="-", absolute=True, values="float"),
    0x009: Arithmetic("FMNMX", "d a b x", lambda w: when(w.flag(80), "FTZ"), "-", absolute=True, values="float"),
    0x00B: Arithmetic("FSETP", "p q a b x", _fsetp, "-", absolute=True, values="float"),
    0x00C: Arithmetic("ISETP", _isetp_roles, _isetp, values="signed", idle=PT << 68),
    0x010: Arithmetic("IADD3", _add_roles, _carry, "-x", values="signed", idle=NO_CARRY),
    0x011: Arithmetic(
        "LEA", _lea_roles, _lea, "-x", signed_sources="ab", fields={"k": (75, 5)}, idle=NO_CARRY_IN | NO_C
    ),
    0x012: Arithmetic("LOP3", "?p d a b c k x", _lop, fields={"k": (72, 8)}),
    0x013: Arithmetic("IABS", "d b"),
    0x016: Arithmetic("PRMT", "d a b c", _prmt),
    0x017: Arithmetic("IMNMX", "d a b x", _minmax(73), values="signed"),
    0x019: Arithmetic("SHF", "d a b c", _shf),
    0x01A: Arithmetic("SGXT", "d a b", _minmax(73)),
    0x01B: Arithmetic("BMSK", "d a b"),
    0x020: Arithmetic("FMUL", "d a b", _float, "-", absolute=True, values="float", idle=4 << 84),
    0x021: Arithmetic(
        "FADD",
        lambda w: "d a c" if w.bits(9, 3) in (2, 3, 7) else "d a b",
        _float,
        "-",
        absolute=True,
        values="float",
        adder=True,
    ),
    0x023: Arithmetic("FFMA", "d a b c", _float, "-", values="float"),
    0x024: _product("IMAD", _low_multiply_roles, _imad, idle=NO_CARRY_IN | NO_PREDICATE),
    0x025: _product("IMAD", _multiply_roles, _long_multiply("WIDE")),
    0x027: _product("IMAD", _multiply_roles, _long_multiply("HI")),
    0x030: Arithmetic(
        "HADD2",
        lambda w: "d a c" if w.bits(9, 3) in (2, 3, 7) else "d a b",
        _hadd2,
        "-",
        values="halves",
        swizzled=True,
        adder=True,
    ),
    0x031: Arithmetic("HFMA2", "d a b c", _none, "-", values="halves", swizzled=True),
    0x032: Arithmetic("HMUL2", "d a b", _none, "-", values="halves", swizzled=True),
    0x035: Arithmetic("HFMA2", "d a b c", lambda _: ["MMA"], "-", values="halves", swizzled=True),
    0x036: Arithmetic("VIADD", "d a b", sign="-"),
    0x03C: Arithmetic("HMMA", "d a b c", _hmma),
    0x03E: Arithmetic("F2FP", _f2fp_roles, _f2fp, values="float", idle=NO_C),
    0x040: Arithmetic("HMNMX2", "d a b x", values="halves", swizzled=True),
    0x043: Arithmetic("F2IP", "d a b c", _f2ip, values="float"),
    0x045: Arithmetic("I2FP", "d b", _i2fp, idle=1 << 76),
    0x046: Arithmetic("VIADDMNMX", "d a b c x", _minmax(72), "-", signed_sources="b"),
    0x048: Arithmetic("VIMNMX", "d a b x", _minmax(72), values="signed", idle=NO_PREDICATE | PT << 84),
    0x082: Arithmetic("UMOV", "d b", uniform=True),
    0x087: Arithmetic("USEL", "d a b x", uniform=True),
    0x08C: Arithmetic("UISETP", _isetp_roles, _isetp, uniform=True, values="signed", idle=PT << 68),
    0x090: Arithmetic("UIADD3", _add_roles, _carry, "-x", uniform=True, values="signed", idle=NO_CARRY),
    0x091: Arithmetic(
        *("ULEA", _lea_roles, _lea, "-x"),
        signed_sources="ab",
        fields={"k": (75, 5)},
        uniform=True,
        idle=NO_CARRY_IN | NO_UNIFORM_C,
    ),
    0x092: Arithmetic("ULOP3", "?p d a b c k x", _lop, fields={"k": (72, 8)}, uniform=True),
    0x096: Arithmetic("UPRMT", "d a b c", _prmt, uniform=True),
    0x099: Arithmetic("USHF", "d a b c", _shf, uniform=True),
    0x09B: Arithmetic("UBMSK", "d a b", uniform=True),
    0x0A4: _product("UIMAD", _low_multiply_roles, _imad, idle=NO_CARRY_IN | NO_PREDICATE, uniform=True),
    0x0A5: _product("UIMAD", _multiply_roles, _long_multiply("WIDE"), uniform=True),
    0x0BD: Arithmetic("UFLO", "d b", _flo, uniform=True, idle=NO_PREDICATE),
    0x0BE: Arithmetic("UBREV", "d b", uniform=True),
    0x0BF: Arithmetic("UPOPC", "d b", uniform=True),
    0x100: Arithmetic("FLO", "d b", _flo, idle=NO_PREDICATE),
    0x101: Arithmetic("BREV", "d b"),
    0x104: Arithmetic("F2F", "d b", lambda _: ["F16", "F32"], values="float", idle=1 << 75 | 2 << 84),
    0x105: Arithmetic("F2I", "d b", _f2i, "-", absolute=True, idle=2 << 84),
    0x106: Arithmetic("I2F", "d b", _i2f),
    0x108: Arithmetic("MUFU", "d b", lambda w: [MUFU[w.bits(74, 4)]], "-", absolute=True, values="float"),
    0x109: Arithmetic("POPC", "d b"),
    0x111: Arithmetic("F2I", "d b", _f2i, "-", absolute=True, idle=3 << 84),
    0x112: Arithmetic("I2F", "d b", _i2f),
}
"""Regular opcodes by bits 0 to 8. Uniform opcodes have bit 7 set and read uniform registers."""


def decode_arithmetic(word: Word) -> Operation | None:
    """Decode a word of a regular opcode. Return None if bits 0 to 8 name no such opcode."""
    entry = ARITHMETIC.get(word.bits(0, 9))
    form = word.bits(9, 3)
    if entry is None or form == 0:
        return None
    roles = entry.roles if isinstance(entry.roles, str) else entry.roles(word)
    operands: dict[str, SassOperand] = {}
    shown = []
    for role in roles.split():
        name = role.lstrip("?")
        operand = _operand(word, entry, name)
        operands[name] = operand
        if not (role != name and operand == Predicate(PT, entry.uniform)):
            shown.append(name)
    modifiers = entry.modifiers(word)
    sources = [operands[role] for role in "abc" if role in operands]
    if form not in CONSTANTS and word.flag(91) != any(isinstance(one, Register) and one.uniform for one in sources):
        raise UnknownOpcode(f"{entry.name} whose operands are of another register file is not known")
    word.require_read(entry.name, entry.idle)
    return Operation(".".join([entry.name, *modifiers]), operands, tuple(shown), entry.uniform)


REUSE_A, REUSE_B, REUSE_C = 122, 123, 124
"""Reuse bits of the three operand slots."""

SWAPPED = (2, 3, 7)
"""Forms in which bits 32 to 63 hold c instead of b."""

IMMEDIATES, CONSTANTS = (2, 4), (3, 5)
"""Forms in which bits 32 to 63 hold an immediate, or an address in a constant bank."""

UNIFORM_SOURCES = (6, 7)
"""Forms in which bits 32 to 63 hold a uniform register."""

PREDICATE_DESTINATIONS = {"p": 81, "q": 84}
PREDICATE_SOURCES = {"x": (87, 90), "y": (77, 80), "z": (68, 71)}


def _operand(word: Word, entry: Arithmetic, role: str) -> SassOperand:
    if role in "abc":
        return _source(word, entry, role)
    if role == "d":
        return Register(word.bits(16, 6 if entry.uniform else 8), entry.uniform)
    if role == "k":
        return Immediate(word.bits(*entry.fields["k"]))
    if role in PREDICATE_DESTINATIONS:
        return Predicate(word.bits(PREDICATE_DESTINATIONS[role], 3), entry.uniform)
    low, inverted = PREDICATE_SOURCES[role]
    return Predicate(word.bits(low, 3), entry.uniform, word.flag(inverted))


def _source(word: Word, entry: Arithmetic, role: str) -> SassOperand:
    """
    Decode source a, b or c.

    Source a is at bit 24. Either b or c is a register at bit 64; the other, of any kind, is at bits 32 to 63.
    """
    if role == "a":
        return _register(word, entry, role, 24, REUSE_A, negated=72, absolute=73)
    form = word.bits(9, 3)
    reuse = REUSE_B if role == "b" and not entry.adder else REUSE_C
    if role == ("b" if form in SWAPPED else "c"):
        negated, absolute = (84, 83) if entry.swizzled else (75, 74)
        return _register(word, entry, role, 64, reuse, negated=negated, absolute=absolute)
    if form in IMMEDIATES:
        return Immediate(word.bits(32, 32), entry.values)
    if form in CONSTANTS:
        if word.flag(91) != entry.uniform:
            raise UnknownOpcode("a constant bank chosen by a uniform register is not decoded")
        sign, absolute_value = _sign(word, entry, role, 63), _absolute(word, entry, 62)
        return Constant(word.bits(54, 5), word.bits(40, 14) * 4, None, sign, absolute_value)
    uniform = entry.uniform or form in UNIFORM_SOURCES
    return _register(word, entry, role, 32, reuse, negated=63, absolute=62, uniform=uniform)


def _register(
    word: Word,
    entry: Arithmetic,
    role: str,
    low: int,
    reuse: int,
    *,
    negated: int,
    absolute: int,
    uniform: bool | None = None,
) -> Register:
    in_uniform_file = entry.uniform if uniform is None else uniform
    suffix = ""
    if entry.swizzled:
        suffix = ("", ".F32", ".H0_H0", ".H1_H1")[word.bits({24: 74, 32: 60, 64: 81}[low], 2)]
    return Register(
        word.bits(low, 6 if in_uniform_file else 8),
        in_uniform_file,
        _sign(word, entry, role, negated),
        _absolute(word, entry, absolute),
        word.flag(reuse),
        suffix,
    )


def _sign(word: Word, entry: Arithmetic, role: str, bit: int) -> Literal["", "-", "~"]:
    if not entry.sign or role not in entry.signed_sources or not word.flag(bit):
        return ""
    return "~" if entry.sign == "-x" and word.flag(74) else "-"


def _absolute(word: Word, entry: Arithmetic, bit: int) -> bool:
    return entry.absolute and word.flag(bit)
