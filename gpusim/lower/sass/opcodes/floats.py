"""The regular opcodes of f32 and f64, and of conversions between formats."""

from gpusim.lower.sass.opcodes.regular import COMBINATIONS, IMMEDIATES, NO_C, Arithmetic, ValueKind, second_source
from gpusim.lower.sass.operands import RZ
from gpusim.lower.sass.words import FIRST_HOPPER, UnknownOpcode, Word, optional, when

FLOAT_COMPARISONS = (
    *("F", "LT", "EQ", "LE", "GT", "NE", "GE", "NUM"),
    *("NAN", "LTU", "EQU", "LEU", "GTU", "NEU", "GEU", "T"),
)
DOUBLE_COMPARISONS = ("MIN", *FLOAT_COMPARISONS[1:-1], "MAX")
ROUNDINGS = ("", "RM", "RP", "RZ")
INTEGER_ROUNDINGS = ("", "FLOOR", "CEIL", "TRUNC")
FORMATS = {1: "F16", 2: "F32", 3: "F64", 4: "BF16"}
"""Formats of floating-point numbers in conversions."""

INTEGER_BITS = ("8", "16", "32", "64")
WORD_SIZE = 2
NARROW_CONVERSIONS = (0x104, 0x105, 0x106, 0x107)
"""Opcodes of conversions that have neither a source nor a result of 64 bits."""

HALF_FORMATS = ("F16", "BF16")


def _rounding(w: Word) -> list[str]:
    return optional(ROUNDINGS[w.bits(78, 2)])


def _ftz(w: Word) -> list[str]:
    return when(w.flag(80), "FTZ")


def _fsetp(w: Word) -> list[str]:
    return [FLOAT_COMPARISONS[w.bits(76, 4)], *_ftz(w), COMBINATIONS[w.bits(74, 2)]]


def _dsetp(w: Word) -> list[str]:
    return [DOUBLE_COMPARISONS[w.bits(76, 4)], COMBINATIONS[w.bits(74, 2)]]


def _fset(w: Word) -> list[str]:
    return ["BF", *_fsetp(w)]


def _fmnmx(w: Word) -> list[str]:
    return [*_ftz(w), *when(w.flag(81), "NAN"), *when(w.flag(82), "XORSIGN")]


SCALES = ("INVALID0", "D8", "D4", "D2", "", "M2", "M4", "M8")
"""Powers of two by which FMUL divides or multiplies its product."""


def _limits(w: Word) -> tuple[list[str], list[str]]:
    """Return the modifiers of FMUL and FFMA before and after the scale."""
    flush = ("", "FTZ", "FMZ", "INVALID3")[w.flag(80) | w.flag(76) << 1]
    return optional(flush), [*_rounding(w), *when(w.flag(77), "SAT")]


def _ffma(w: Word) -> list[str]:
    flush, rest = _limits(w)
    return [*flush, *rest]


def _fmul(w: Word) -> list[str]:
    flush, rest = _limits(w)
    if not w.bits(84, 3):
        raise UnknownOpcode("FMUL of scale 0 is not known")
    return [*flush, *optional(SCALES[w.bits(84, 3)]), *rest]


PACKINGS = {0: "PACK_AB", 1: "MERGE_C", 2: "UNPACK_B", 4: "UNPACK_B_MERGE_C", 5: "PACK_AB_MERGE_C"}
"""What F2FP does with its sources, by bits 78, 89 and 90. Before sm_89 only the first two exist."""

PACKED_SOURCES = {
    "PACK_AB": "d a b",
    "MERGE_C": "d b c",
    "UNPACK_B": "d b",
    "UNPACK_B_MERGE_C": "d b c",
    "PACK_AB_MERGE_C": "d a b c",
}
PACKED_FORMATS = {0: "F16", 1: "BF16", 3: "TF32", 4: "E5M2", 5: "E4M3"}
"""Formats of F2FP's result by bits 76, 86 and 87."""

UNPACKED_FORMATS = ("F32", "F16", "E5M2", "E4M3")
"""Formats of F2FP's sources by bits 73 and 74, from sm_89 on."""


def _packing(w: Word) -> str:
    wide = w.bits(89, 2) if w.architecture >= 89 else 0
    packing = PACKINGS.get(w.bits(78, 1) | wide << 1)
    if packing is None:
        raise UnknownOpcode("F2FP with this packing is not known")
    return packing


def _fadd(w: Word) -> list[str]:
    return [*_ftz(w), *_rounding(w), *when(w.flag(77), "SAT")]


def _f2fp(w: Word) -> list[str]:
    """Return the modifiers of F2FP. From sm_89 on they name both formats."""
    limits = [*when(w.flag(77), "SATFINITE"), *when(w.flag(75), "RELU")]
    rounding = {0: [], 3: ["RZ"]}.get(w.bits(79, 2))
    if rounding is None:
        raise UnknownOpcode(f"F2FP rounding {w.bits(79, 2)} is not known")
    if w.architecture < 89:
        return [*limits, *when(w.flag(76), "BF16"), _packing(w), *rounding]
    result = PACKED_FORMATS.get(w.bits(76, 1) | w.bits(86, 2) << 1)
    if result is None:
        raise UnknownOpcode("F2FP to this format is not known")
    return [*limits, result, UNPACKED_FORMATS[w.bits(73, 2)], _packing(w), *rounding]


def _f2fp_roles(w: Word) -> str:
    roles = PACKED_SOURCES[_packing(w)]
    if "a" not in roles and w.bits(24, 8) != RZ:
        raise UnknownOpcode("F2FP.MERGE_C with a first source is not known")
    return roles


def _unpacked_half(w: Word) -> str:
    """Return the suffix of a source of which two numbers of 8 bits are unpacked."""
    return ".H1" if w.architecture >= 89 and _packing(w) == "UNPACK_B" and w.flag(88) else ""


def _f2f(w: Word) -> list[str]:
    return [*_ftz(w), _format(w, 75), _source_format(w), *_rounding(w)]


def _format(w: Word, low: int) -> str:
    name = FORMATS.get(w.bits(low, 3))
    if name is None or (name == "F64" and w.bits(0, 9) in NARROW_CONVERSIONS):
        raise UnknownOpcode(f"format {w.bits(low, 3)} of a conversion is not known")
    return name


def _source_format(w: Word) -> str:
    """Return the format of a conversion's source. Only halves have an upper half, which bit 60 selects."""
    name = _format(w, 84)
    _require_half(w, name)
    return name


def _require_half(w: Word, name: str) -> None:
    if w.bits(9, 3) not in IMMEDIATES and w.flag(60) and name not in HALF_FORMATS:
        raise UnknownOpcode("the upper half of a source that is no half is not known")


def _upper_half(w: Word) -> str:
    return ".H1" if w.flag(60) else ""


INTEGER_PARTS = {0: ("", ".B1", ".B2", ".B3"), 1: ("", ".H1")}
"""Parts of a register that are an integer of 8 or 16 bits, by bits 60 and 61."""


def _integer_part(w: Word) -> str:
    return INTEGER_PARTS.get(w.bits(84, 2), ("",))[w.bits(60, 2)]


def _frnd(w: Word) -> list[str]:
    name = _source_format(w)
    if w.bits(84, 3) != w.bits(75, 3):
        raise UnknownOpcode("FRND to another format is not known")
    return [*_ftz(w), *when(name != "F32", name), *optional(INTEGER_ROUNDINGS[w.bits(78, 2)])]


def _integer(w: Word, sign: int, size: int) -> str:
    if w.bits(size, 2) > WORD_SIZE and w.bits(0, 9) in NARROW_CONVERSIONS:
        raise UnknownOpcode("a conversion of 64 bits by an opcode of 32 bits is not known")
    return f"{'S' if w.flag(sign) else 'U'}{INTEGER_BITS[w.bits(size, 2)]}"


def _i2f(w: Word) -> list[str]:
    source, result = _integer(w, 74, 84), _format(w, 75)
    return [*when(result != "F32", result), *when(source != "S32", source), *_rounding(w)]


def _f2i(w: Word) -> list[str]:
    result, source = _integer(w, 72, 75), _source_format(w)
    return [
        *_ftz(w),
        *when(result != "S32", result),
        *when(source != "F32", source),
        *optional(INTEGER_ROUNDINGS[w.bits(78, 2)]),
        *when(w.flag(77), "NTZ"),
    ]


def _i2fp(w: Word) -> list[str]:
    if w.bits(84, 2) != WORD_SIZE or w.bits(78, 2) not in (0, 3):
        raise UnknownOpcode("I2FP of this size or rounding is not known")
    return ["F32", _integer(w, 74, 84), *_rounding(w)]


def _f2ip(w: Word) -> list[str]:
    return ["S8" if w.flag(76) else "U8", "F32", *when(w.flag(74), "NTZ"), *when(w.flag(75), "RELU")]


HIGH_WORDS = (6, 7)
"""Functions of MUFU that take and return the high word of an f64."""

MUFU = ("COS", "SIN", "EX2", "LG2", "RCP", "RSQ", "RCP64H", "RSQ64H", "SQRT", "TANH")


def _mufu(w: Word) -> list[str]:
    """Return function and format of MUFU. Up to sm_89 bit 73 says F16, on sm_90 bit 72 does and bit 73 says BF16."""
    hopper = ("", "F16", "BF16", "INVALID3")
    name = hopper[w.bits(72, 2)] if w.architecture >= FIRST_HOPPER else "F16" if w.flag(73) else ""
    _require_half(w, name)
    return [MUFU[w.bits(74, 4)], *optional(name)]


def _mufu_values(w: Word) -> ValueKind:
    return "double" if w.bits(74, 4) in HIGH_WORDS else "float"


FLOAT_OPCODES: dict[int, Arithmetic] = {
    0x008: Arithmetic("FSEL", "d a b x", _ftz, sign="-", absolute=True, values="float"),
    0x009: Arithmetic("FMNMX", "d a b x", _fmnmx, "-", absolute=True, values="float"),
    0x00A: Arithmetic("FSET", "d a b x", _fset, "-", absolute=True, values="float"),
    0x00B: Arithmetic("FSETP", "p q a b x", _fsetp, "-", absolute=True, values="float"),
    0x020: Arithmetic("FMUL", "d a b", _fmul, "-", absolute=True, values="float"),
    0x021: Arithmetic("FADD", second_source("d a b"), _fadd, "-", absolute=True, values="float", adder=True),
    0x023: Arithmetic("FFMA", "d a b c", _ffma, "-", absolute=True, values="float"),
    0x028: Arithmetic("DMUL", "d a b", _rounding, "-", absolute=True, values="double"),
    0x029: Arithmetic("DADD", "d a c", _rounding, "-", absolute=True, values="double"),
    0x02A: Arithmetic("DSETP", second_source("p q a b x"), _dsetp, "-", absolute=True, values="double", adder=True),
    0x02B: Arithmetic("DFMA", "d a b c", _rounding, "-", absolute=True, values="double"),
    0x03E: Arithmetic("F2FP", _f2fp_roles, _f2fp, values="float", part=_unpacked_half, idle=NO_C),
    0x043: Arithmetic("F2IP", "d a b c", _f2ip, values="float"),
    0x045: Arithmetic("I2FP", "d b", _i2fp, idle=1 << 76),
    0x102: Arithmetic("FCHK", "p a b", sign="-", absolute=True, values="float"),
    0x104: Arithmetic("F2F", "d b", _f2f, "-", absolute=True, values="float", part=_upper_half),
    0x105: Arithmetic("F2I", "d b", _f2i, "-", absolute=True, values="float", part=_upper_half),
    0x106: Arithmetic("I2F", "d b", _i2f, part=_integer_part),
    0x107: Arithmetic("FRND", "d b", _frnd, "-", absolute=True, values="float", part=_upper_half),
    0x108: Arithmetic("MUFU", "d b", _mufu, "-", absolute=True, values=_mufu_values, part=_upper_half),
    0x110: Arithmetic("F2F", "d b", _f2f, "-", absolute=True, values="double", part=_upper_half),
    0x111: Arithmetic("F2I", "d b", _f2i, "-", absolute=True, values="double", part=_upper_half),
    0x112: Arithmetic("I2F", "d b", _i2f),
    0x113: Arithmetic("FRND", "d b", _frnd, "-", absolute=True, values="double"),
}
"""Regular opcodes of f32 and f64, and conversions, by bits 0 to 8."""
