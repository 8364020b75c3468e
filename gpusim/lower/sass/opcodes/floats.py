"""The regular opcodes of floating-point numbers and of conversions."""

from gpusim.lower.sass.opcodes.irregular import plain
from gpusim.lower.sass.opcodes.regular import COMBINATIONS, NO_C, Arithmetic
from gpusim.lower.sass.operands import RZ
from gpusim.lower.sass.words import UnknownOpcode, Word, optional, when

FLOAT_COMPARISONS = (
    *("F", "LT", "EQ", "LE", "GT", "NE", "GE", "NUM"),
    *("NAN", "LTU", "EQU", "LEU", "GTU", "NEU", "GEU", "T"),
)
ROUNDINGS = ("", "RM", "RP", "RZ")
INTEGER_ROUNDINGS = ("", "FLOOR", "CEIL", "TRUNC")


def _fsetp(w: Word) -> list[str]:
    return [FLOAT_COMPARISONS[w.bits(76, 4)], *when(w.flag(80), "FTZ"), COMBINATIONS[w.bits(74, 2)]]


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


FLOAT_OPCODES: dict[int, Arithmetic] = {
    0x008: Arithmetic("FSEL", "d a b x", sign="-", absolute=True, values="float"),
    0x009: Arithmetic("FMNMX", "d a b x", lambda w: when(w.flag(80), "FTZ"), "-", absolute=True, values="float"),
    0x00B: Arithmetic("FSETP", "p q a b x", _fsetp, "-", absolute=True, values="float"),
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
    0x030: Arithmetic(
        "HADD2",
        lambda w: "d a c" if w.bits(9, 3) in (2, 3, 7) else "d a b",
        _hadd2,
        "-",
        values="halves",
        swizzled=True,
        adder=True,
    ),
    0x031: Arithmetic("HFMA2", "d a b c", plain, "-", values="halves", swizzled=True),
    0x032: Arithmetic("HMUL2", "d a b", plain, "-", values="halves", swizzled=True),
    0x035: Arithmetic("HFMA2", "d a b c", lambda _: ["MMA"], "-", values="halves", swizzled=True),
    0x03C: Arithmetic("HMMA", "d a b c", _hmma),
    0x03E: Arithmetic("F2FP", _f2fp_roles, _f2fp, values="float", idle=NO_C),
    0x040: Arithmetic("HMNMX2", "d a b x", values="halves", swizzled=True),
    0x043: Arithmetic("F2IP", "d a b c", _f2ip, values="float"),
    0x045: Arithmetic("I2FP", "d b", _i2fp, idle=1 << 76),
    0x104: Arithmetic("F2F", "d b", lambda _: ["F16", "F32"], values="float", idle=1 << 75 | 2 << 84),
    0x105: Arithmetic("F2I", "d b", _f2i, "-", absolute=True, idle=2 << 84),
    0x106: Arithmetic("I2F", "d b", _i2f),
    0x108: Arithmetic("MUFU", "d b", lambda w: [MUFU[w.bits(74, 4)]], "-", absolute=True, values="float"),
    0x111: Arithmetic("F2I", "d b", _f2i, "-", absolute=True, idle=3 << 84),
    0x112: Arithmetic("I2F", "d b", _i2f),
}
"""Regular floating-point opcodes and conversions by bits 0 to 8."""
