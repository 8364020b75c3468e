"""The regular opcodes of integers, logic and moves, of the vector and the uniform datapath."""

from collections.abc import Callable

from gpusim.lower.sass.opcodes.regular import (
    ALL_BYTES,
    COMBINATIONS,
    NO_C,
    NO_CARRY,
    NO_CARRY_IN,
    NO_PREDICATE,
    NO_UNIFORM_C,
    Arithmetic,
)
from gpusim.lower.sass.operands import PT, RZ
from gpusim.lower.sass.words import Modifiers, UnknownOpcode, Word, optional, when

COMPARISONS = ("F", "LT", "EQ", "LE", "GT", "NE", "GE", "T")


def _isetp(w: Word) -> list[str]:
    return [
        COMPARISONS[w.bits(76, 3)],
        *when(not w.flag(73), "U32"),
        COMBINATIONS[w.bits(74, 2)],
        *when(w.flag(72), "EX"),
    ]


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
    if form == 4 and immediate == 1:
        return ["IADD", *signed]
    # nvdisasm does not write a shift by 16, which converts bf16 to f32, as SHL.
    if form == 4 and c_is_zero and immediate.bit_count() == 1 and immediate != 1 << 16:
        return ["SHL", *signed]
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


def _flo(w: Word) -> list[str]:
    return [*when(not w.flag(73), "U32"), *when(w.flag(74), "SH")]


def _lop(w: Word) -> list[str]:
    return ["LUT", *when(w.flag(80), "PAND")]


def _unsigned(bit: int) -> Modifiers:
    return lambda w: when(not w.flag(bit), "U32")


def _wraps(w: Word) -> list[str]:
    return when(w.flag(75), "W")


def _sgxt(w: Word) -> list[str]:
    return [*_wraps(w), *when(not w.flag(73), "U32")]


def _vabsdiff4(w: Word) -> list[str]:
    return [*when(not w.flag(73), "U8"), *when(w.flag(75), "ACC")]


def _idp(w: Word) -> list[str]:
    """Return the modifiers of IDP: four products of bytes, or two of a's halves with b's low or high bytes."""
    kind = {0: ["4A"], 1: ["2A", "LO"], 3: ["2A", "HI"]}.get(w.bits(76, 2))
    if kind is None:
        raise UnknownOpcode("IDP.4A.HI is not known")
    first = "8" if kind == ["4A"] else "16"
    return [*kind, ("S" if w.flag(73) else "U") + first, "S8" if w.flag(74) else "U8"]


def _packed(w: Word) -> list[str]:
    """Return the type of an extreme: one 32-bit integer, or two of 16 bits."""
    return [*optional(("U32", "", "U16x2", "S16x2")[w.bits(72, 2)]), *when(w.flag(76), "RELU")]


def _isetp_roles(w: Word) -> str:
    return "p q a b x z" if w.flag(72) else "p q a b x"


def _product(
    name: str, roles: Callable[[Word], str], modifiers: Modifiers, *, idle: int = NO_CARRY_IN, uniform: bool = False
) -> Arithmetic:
    return Arithmetic(name, roles, modifiers, "-x", "signed", signed_sources="c", uniform=uniform, idle=idle)


INTEGER_OPCODES: dict[int, Arithmetic] = {
    0x002: Arithmetic("MOV", "d b", idle=ALL_BYTES),
    0x007: Arithmetic("SEL", "d a b x"),
    0x00C: Arithmetic("ISETP", _isetp_roles, _isetp, values="signed", idle=PT << 68),
    0x010: Arithmetic("IADD3", _add_roles, _carry, "-x", values="signed", idle=NO_CARRY),
    0x011: Arithmetic(
        "LEA", _lea_roles, _lea, "-x", signed_sources="ab", fields={"k": (75, 5)}, idle=NO_CARRY_IN | NO_C
    ),
    0x012: Arithmetic("LOP3", "?p d a b c k x", _lop, fields={"k": (72, 8)}),
    0x013: Arithmetic("IABS", "d b"),
    0x014: Arithmetic("VABSDIFF", "d ?p a b c", _unsigned(73)),
    0x015: Arithmetic("VABSDIFF4", "d ?p a b c", _vabsdiff4),
    0x016: Arithmetic("PRMT", "d a b c", _prmt),
    0x00F: Arithmetic("VIMNMX3", "d a b c x", _packed, values="signed"),
    0x017: Arithmetic("IMNMX", "d a b x", _unsigned(73), values="signed"),
    0x019: Arithmetic("SHF", "d a b c", _shf),
    0x01A: Arithmetic("SGXT", "d a b", _sgxt),
    0x01B: Arithmetic("BMSK", "d a b", _wraps),
    0x024: _product("IMAD", _low_multiply_roles, _imad, idle=NO_CARRY_IN | NO_PREDICATE),
    0x025: _product("IMAD", _multiply_roles, _long_multiply("WIDE")),
    0x026: Arithmetic("IDP", "d a b c", _idp, "-", signed_sources="c"),
    0x027: _product("IMAD", _multiply_roles, _long_multiply("HI")),
    0x036: Arithmetic("VIADD", "d a b", lambda w: when(w.flag(73), "16x2"), "-"),
    0x046: Arithmetic("VIADDMNMX", "d a b c x", _packed, "-", signed_sources="b"),
    0x048: Arithmetic("VIMNMX", "d a b x", _packed, values="signed", idle=NO_PREDICATE | PT << 84),
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
    0x09A: Arithmetic("USGXT", "d a b", _sgxt, uniform=True),
    0x09B: Arithmetic("UBMSK", "d a b", _wraps, uniform=True),
    0x0A4: _product("UIMAD", _low_multiply_roles, _imad, idle=NO_CARRY_IN | NO_PREDICATE, uniform=True),
    0x0A5: _product("UIMAD", _multiply_roles, _long_multiply("WIDE"), uniform=True),
    0x0BD: Arithmetic("UFLO", "d b", _flo, uniform=True, idle=NO_PREDICATE),
    0x0BE: Arithmetic("UBREV", "d b", uniform=True),
    0x0BF: Arithmetic("UPOPC", "d b", uniform=True),
    0x100: Arithmetic("FLO", "d b", _flo, idle=NO_PREDICATE),
    0x101: Arithmetic("BREV", "d b"),
    0x109: Arithmetic("POPC", "d b"),
}
"""Regular integer and logic opcodes by bits 0 to 8. Uniform opcodes have bit 7 set and read uniform registers."""
