"""The regular opcodes of pairs of halves (f16 and bf16) and of matrix multiplication on floating-point numbers."""

from gpusim.lower.sass.opcodes.floats import FLOAT_COMPARISONS
from gpusim.lower.sass.opcodes.regular import COMBINATIONS, Arithmetic, ValueKind, second_source
from gpusim.lower.sass.words import FIRST_HOPPER, UnknownOpcode, Word, optional, when

BF16 = 85
"""Bit of a half opcode that says bf16."""


def _format(w: Word, *, f32: bool = True, bf16: bool = True) -> list[str]:
    """
    Return the format of a half opcode: bit 78 says F32, bit 85 BF16.

    Args:
        w: The instruction.
        f32: The opcode has the form F32.
        bf16: The opcode has the form BF16.
    """
    return [*when(f32 and w.flag(78), "F32"), *when(bf16 and w.flag(BF16), "BF16_V2")]


def _limits(w: Word) -> list[str]:
    flush = ("", "FTZ", "FMZ", "INVALID3")[w.flag(80) | w.flag(76) << 1]
    return [*optional(flush), *when(w.flag(77), "SAT")]


def _hadd2(w: Word) -> list[str]:
    return [*_format(w, bf16=w.architecture >= FIRST_HOPPER), *_limits(w)]


def _hmul2(w: Word) -> list[str]:
    hopper = w.architecture >= FIRST_HOPPER
    return [*_format(w, f32=not hopper, bf16=hopper), *_limits(w)]


def _hfma2(w: Word) -> list[str]:
    return [*_format(w), *_limits(w), *when(w.flag(79), "RELU")]


def _hfma2_roles(w: Word) -> str:
    """Return the roles of HFMA2. RELU has a predicate source."""
    return "d a b c ?x" if w.flag(79) else "d a b c"


def _hfma2_mma(w: Word) -> list[str]:
    """Return the modifiers of HFMA2.MMA, whose sources are whole pairs."""
    if w.bits(74, 2) or w.bits(81, 2):
        raise UnknownOpcode("HFMA2.MMA of one half is not known")
    return ["MMA", *_format(w, f32=False, bf16=w.architecture >= FIRST_HOPPER), *_limits(w), *when(w.flag(79), "RELU")]


def _hmnmx2(w: Word) -> list[str]:
    return [
        *_format(w, f32=w.architecture < FIRST_HOPPER),
        *when(w.flag(80), "FTZ"),
        *when(w.flag(81), "NAN"),
        *when(w.architecture >= 86 and w.flag(82), "XORSIGN"),
    ]


def _comparison(w: Word) -> list[str]:
    return [
        *when(_compares_bf16(w), "BF16_V2"),
        FLOAT_COMPARISONS[w.bits(76, 4)],
        *when(w.flag(80), "FTZ"),
        COMBINATIONS[w.bits(69, 2)],
    ]


def _compares_bf16(w: Word) -> bool:
    return w.architecture >= FIRST_HOPPER and w.flag(65)


def _compared_values(w: Word) -> ValueKind:
    return "bf16s" if _compares_bf16(w) else "halves"


def _hset2(w: Word) -> list[str]:
    comparison = _comparison(w)
    at = int(_compares_bf16(w))
    return [*comparison[:at], *when(w.flag(71), "BF"), *comparison[at:]]


def _values(w: Word) -> ValueKind:
    return "bf16s" if w.flag(BF16) else "halves"


HMMA_SHAPES = {0: "1688", 1: "16816", 2: "1684"}
"""Shapes of HMMA as its mnemonic has them, by bits 75 and 78."""


def _hmma(w: Word) -> list[str]:
    shape = HMMA_SHAPES.get(w.bits(75, 1) | w.bits(78, 1) << 1)
    if shape is None:
        raise UnknownOpcode("an HMMA of this shape is not known")
    kind = {0: [], 1: ["BF16"], 2: ["TF32"]}[w.bits(82, 2)]
    return [shape, "F32" if w.flag(76) else "F16", *kind]


def _dmma(w: Word) -> list[str]:
    if w.bits(75, 4):
        raise UnknownOpcode(f"DMMA shape {w.bits(75, 4)} is not known")
    return ["884" if w.architecture < FIRST_HOPPER else "8x8x4"]


HALF_OPCODES: dict[int, Arithmetic] = {
    0x030: Arithmetic(
        *("HADD2", second_source("d a b"), _hadd2, "-"), absolute=True, values=_values, swizzled=True, adder=True
    ),
    0x031: Arithmetic("HFMA2", _hfma2_roles, _hfma2, "-", absolute=True, values=_values, swizzled=True),
    0x032: Arithmetic("HMUL2", "d a b", _hmul2, "-", absolute=True, values=_values, swizzled=True),
    0x033: Arithmetic(
        *("HSET2", second_source("d a b x"), _hset2, "-"),
        absolute=True,
        values=_compared_values,
        swizzled=True,
        adder=True,
    ),
    0x034: Arithmetic(
        *("HSETP2", second_source("p q a b x"), _comparison, "-"),
        absolute=True,
        values=_compared_values,
        swizzled=True,
        adder=True,
    ),
    0x035: Arithmetic("HFMA2", _hfma2_roles, _hfma2_mma, "-", absolute=True, values=_values, swizzled=True),
    0x03C: Arithmetic("HMMA", "d a b c", _hmma),
    0x03F: Arithmetic("DMMA", "d a b c", _dmma),
    0x040: Arithmetic("HMNMX2", "d a b x", _hmnmx2, "-", absolute=True, values=_values, swizzled=True),
}
"""Regular opcodes of halves and matrices by bits 0 to 8."""
