"""Rows of arithmetic: integers, floats, halves, doubles, conversions."""

from collections.abc import Sequence
from typing import Final

from gpusim.execute.core import constants as core
from gpusim.execute.rows import EIGHTS, HALF_SIGNS, SIGN_BIT, WORD, Make, Refused, RowMaker
from gpusim.lower.sass.opcodes.floats import FLOAT_COMPARISONS, INTEGER_ROUNDINGS, MUFU, ROUNDINGS
from gpusim.lower.sass.opcodes.integer import COMPARISONS
from gpusim.lower.sass.opcodes.regular import COMBINATIONS
from gpusim.lower.sass.operands import Immediate, Register

FLOATS: Final = {"F16": 1, "F32": 2, "F64": 3, "BF16": 4}
FULL: Final = 0x7FFFFFFF
HALF_FULL: Final = 0x7FFF7FFF


def _sum(row: RowMaker) -> None:
    row.kind(core.ADD3)
    row.carry()
    row.set(
        FORM=sum(
            row.addend(column, role) for column, role in ((core.FROM_A, "a"), (core.FROM_B, "b"), (core.FROM_C, "c"))
        )
    )
    row.outputs()
    row.result()


def _product(row: RowMaker) -> None:
    wide, high = row.has("WIDE"), row.has("HI")
    unsigned = row.has("U32")
    row.ignore(frozenset({"MOV", "IADD", "SHL"}))
    row.carry()
    row.source(core.FROM_A, "a")
    row.source(core.FROM_B, "b")
    if not wide and not high:
        row.kind(core.MULTIPLY)
        row.set(FORM=row.addend(core.FROM_C, "c"))
        row.result()
        return
    row.kind(core.MULTIPLY_WIDE)
    operand = row.sass.operands["c"]
    sign = row.source(core.FROM_C, "c", negative=WORD)
    row.set(FLIP_C=0, FORM=int(not unsigned), FORM_2=int(high), FORM_3=int(sign == "-"))
    if isinstance(operand, Immediate):
        if operand.value >> 31 and unsigned:
            raise Refused("an addend of 64 bits with a set sign bit is not executed")
        row.set(FROM_C_HIGH=row.words.immediate(WORD if operand.value >> 31 else 0))
    else:
        row.set(FROM_C_HIGH=row.place(operand, 1))
    if sign == "~" or (sign and row.cells[core.X_FLIP] != WORD):
        raise Refused("an inverted addend of 64 bits, or a negative one with a carry, is not executed")
    row.outputs()
    row.result(wide=wide)


def _shift_add(row: RowMaker) -> None:
    row.kind(core.SHIFT_ADD)
    high, extended = row.has("HI"), row.has("SX32")
    row.carry()
    sign = row.source(core.FROM_A, "a", negative=WORD)
    extra = row.addend(core.FROM_B, "b") + (sign == "-")
    if "c" in row.sass.operands:
        row.source(core.FROM_C, "c")
    count = row.sass.operand("k", Immediate).value
    row.set(FLIP_A=0, FORM=count, FORM_2=extra, FORM_3=2 if high and extended else int(high))
    row.set(FORM_4=WORD if sign else 0)
    row.outputs()
    row.result()


def _three(row: RowMaker, kind: int) -> None:
    row.kind(kind)
    for column, role in zip((core.FROM_A, core.FROM_B, core.FROM_C), "abc", strict=True):
        if role in row.sass.operands:
            row.source(column, role)
    row.outputs()
    row.result()


def _logic(row: RowMaker) -> None:
    row.has("LUT")
    _three(row, core.LOGIC)
    row.optional(core.X, "x")
    row.set(FORM=row.sass.operand("k", Immediate).value, FORM_2=int(row.has("PAND")))


def _predicate_logic(row: RowMaker) -> None:
    row.has("LUT")
    row.kind(core.PREDICATE_LOGIC)
    for column, role in ((core.X, "x"), (core.Y, "y"), (core.Z, "z")):
        row.predicate(column, row.sass.operands[role])
    row.set(FORM=row.sass.operand("k", Immediate).value, FORM_2=row.sass.operand("l", Immediate).value)
    row.outputs()


def _shift(row: RowMaker) -> None:
    _three(row, core.SHIFT)
    right = row.has("R")
    row.has("L")
    wraps, kind = row.has("W"), row.one_of(("S64", "U64", "S32", "U32"))
    row.set(FORM=int(right), FORM_2=int(row.has("HI")), FORM_3=64 if kind < 2 else 32)
    row.set(FORM_4=int(wraps) | int(kind in (0, 2)) << 1)


def _permute(row: RowMaker) -> None:
    _three(row, core.PERMUTE)
    row.set(FORM=row.one_of(("", "F4E", "B4E", "RC8", "ECL", "ECR", "RC16")))


def _select(row: RowMaker) -> None:
    _three(row, core.SELECT)
    row.predicate(core.X, row.sass.operands["x"])


def _move(row: RowMaker) -> None:
    _three(row, core.MOVE)


def _absolute(row: RowMaker) -> None:
    _three(row, core.ABSOLUTE)


def _extreme(row: RowMaker) -> None:
    _three(row, core.EXTREME)
    row.predicate(core.X, row.sass.operands["x"])
    row.set(FORM=int(row.has("U32")))


def _add_extreme(row: RowMaker) -> None:
    row.kind(core.ADD_EXTREME)
    row.source(core.FROM_A, "a")
    extra = row.addend(core.FROM_B, "b")
    row.source(core.FROM_C, "c")
    row.predicate(core.X, row.sass.operands["x"])
    row.set(FORM=int(row.has("U32")), FORM_2=extra)
    row.result()


def _compare(row: RowMaker) -> None:
    row.kind(core.COMPARE_INTEGERS)
    row.source(core.FROM_A, "a")
    row.source(core.FROM_B, "b")
    row.set(FORM=row.one_of(COMPARISONS), FORM_2=row.one_of(COMBINATIONS), FORM_3=int(row.has("U32")))
    row.set(FORM_4=int(row.has("EX")))
    row.predicate(core.X, row.sass.operands["x"])
    row.optional(core.Z, "z")
    row.outputs()


def _sign_extend(row: RowMaker) -> None:
    _three(row, core.SIGN_EXTEND)
    row.set(FORM=int(row.has("U32")), FORM_2=int(row.has("W")))


def _bit_mask(row: RowMaker) -> None:
    _three(row, core.BIT_MASK)
    row.set(FORM=int(row.has("W")))


def _count(row: RowMaker) -> None:
    _three(row, core.COUNT_BITS)


def _find_leading(row: RowMaker) -> None:
    _three(row, core.FIND_LEADING)
    row.set(FORM=int(row.has("U32")), FORM_2=int(row.has("SH")))


def _reverse(row: RowMaker) -> None:
    _three(row, core.REVERSE)


BYTE_SHIFTS: Final = {"": 0, "B1": 8, "B2": 16, "B3": 24, "H1": 16}


def _pack_predicates(row: RowMaker) -> None:
    row.kind(core.PACK_PREDICATES)
    row.source(core.FROM_A, "a")
    shift = 8 * row.one_of(("", "B1", "B2", "B3"))
    row.set(FORM=row.sass.operand("b", Immediate).value & 0x7F, FORM_2=shift)
    row.result()


def _unpack_predicates(row: RowMaker) -> None:
    row.kind(core.UNPACK_PREDICATES)
    row.source(core.FROM_A, "a")
    suffix = row.sass.operand("a", Register).suffix.lstrip(".")
    row.set(FORM=row.sass.operand("b", Immediate).value, FORM_2=BYTE_SHIFTS[suffix])


def _pack_integers(row: RowMaker) -> None:
    _three(row, core.PACK_INTEGERS)
    kind = row.one_of(("S8", "U8", "S4", "U4"))
    row.has("S32")
    if not row.has("SAT"):
        raise Refused("without SAT it is not executed")
    row.set(FORM=8 if kind < 2 else 4, FORM_2=int(kind in (0, 2)), FORM_3=0)


def _float_source(row: RowMaker, column: int, role: str) -> None:
    row.source(column, role, negative=SIGN_BIT, positive=FULL)


def _float(row: RowMaker, kind: int, roles: Sequence[str]) -> None:
    row.kind(kind)
    for column, role in zip((core.FROM_A, core.FROM_B, core.FROM_C), roles, strict=False):
        _float_source(row, column, role)
    rounding = row.one_of(ROUNDINGS)
    row.set(FORM=rounding | int(row.has("SAT")) << 2, FORM_2=int(row.has("FTZ")))
    row.result()


def _float_add(row: RowMaker) -> None:
    _float(row, core.F_ADD, ("a", "c" if "c" in row.sass.operands else "b"))


PRODUCT_SCALES: Final = {"D8": -3, "D4": -2, "D2": -1, "M2": 1, "M4": 2, "M8": 3}


def _float_multiply(row: RowMaker) -> None:
    _float(row, core.F_MULTIPLY, "ab")
    row.set(FORM_3=sum(power for name, power in PRODUCT_SCALES.items() if row.has(name)))


def _float_fused(row: RowMaker) -> None:
    _float(row, core.F_FUSED, "abc")


def _float_extreme(row: RowMaker) -> None:
    row.kind(core.F_EXTREME)
    _float_source(row, core.FROM_A, "a")
    _float_source(row, core.FROM_B, "b")
    row.predicate(core.X, row.sass.operands["x"])
    row.set(FORM=int(row.has("NAN")), FORM_2=int(row.has("FTZ")))
    row.result()


def _float_compare(row: RowMaker) -> None:
    row.kind(core.F_COMPARE)
    _float_source(row, core.FROM_A, "a")
    _float_source(row, core.FROM_B, "b")
    row.set(FORM=row.one_of(FLOAT_COMPARISONS), FORM_2=row.one_of(COMBINATIONS), FORM_3=int(row.has("FTZ")))
    row.predicate(core.X, row.sass.operands["x"])
    row.outputs()


def _float_set(row: RowMaker) -> None:
    _float_compare(row)
    row.kind(core.F_SET)
    row.set(FORM_4=0x3F800000 if row.has("BF") else WORD)
    row.result()


def _float_select(row: RowMaker) -> None:
    row.kind(core.F_SELECT)
    _float_source(row, core.FROM_A, "a")
    _float_source(row, core.FROM_B, "b")
    row.predicate(core.X, row.sass.operands["x"])
    row.set(FORM_2=int(row.has("FTZ")))
    row.result()


def _function(row: RowMaker) -> None:
    row.kind(core.F_FUNCTION)
    _float_source(row, core.FROM_B, "b")
    row.set(FORM=row.one_of(MUFU))
    row.result()


def _check(row: RowMaker) -> None:
    row.kind(core.F_CHECK)
    row.has("DIVIDE")
    _float_source(row, core.FROM_A, "a")
    _float_source(row, core.FROM_B, "b")
    row.outputs()


def _float_kind(row: RowMaker, names: Sequence[str]) -> int:
    for name in names:
        if row.has(name):
            return FLOATS[name]
    return FLOATS["F32"]


def _convert(row: RowMaker) -> None:
    """F2F: the modifiers name the result, then the source."""
    row.kind(core.F_CONVERT)
    named = [name for name in row.modifiers if name in FLOATS]
    row.ignore(frozenset(FLOATS))
    result, source = (FLOATS[name] for name in (*named, "F32", "F32")[:2])
    row.source(core.FROM_B, "b", negative=_sign(source), positive=_full(source), pair=source == FLOATS["F64"])
    row.set(FORM=source, FORM_2=result, FORM_3=row.one_of(ROUNDINGS), FORM_4=int(row.has("FTZ")))
    row.result(wide=result == FLOATS["F64"])


def _sign(kind: int) -> int:
    return 0x8000 if kind in (FLOATS["F16"], FLOATS["BF16"]) else SIGN_BIT


def _full(kind: int) -> int:
    return WORD - _sign(kind)


def _round_whole(row: RowMaker) -> None:
    row.kind(core.F_ROUND)
    kind = _float_kind(row, ("F64", "F16", "BF16"))
    row.source(core.FROM_B, "b", negative=_sign(kind), positive=_full(kind), pair=kind == FLOATS["F64"])
    rounding = row.one_of(INTEGER_ROUNDINGS)
    row.ignore(frozenset({"FTZ"}))
    row.set(FORM=kind, FORM_2=kind, FORM_3=rounding)
    row.result(wide=kind == FLOATS["F64"])


INTEGER_KINDS: Final = {f"{sign}{bits}": bits if sign == "U" else -bits for sign in "US" for bits in (8, 16, 32, 64)}


def _integer_kind(row: RowMaker) -> int:
    for name, bits in INTEGER_KINDS.items():
        if row.has(name):
            return bits
    return -32


def _to_integer(row: RowMaker) -> None:
    row.kind(core.FLOAT_TO_INTEGER)
    bits = _integer_kind(row)
    kind = _float_kind(row, ("F64", "F16"))
    row.source(core.FROM_B, "b", negative=_sign(kind), positive=_full(kind), pair=kind == FLOATS["F64"])
    row.ignore(frozenset({"NTZ"}))
    row.set(FORM=kind, FORM_2=bits, FORM_3=row.one_of(INTEGER_ROUNDINGS), FORM_4=int(row.has("FTZ")))
    row.result(wide=abs(bits) == 64)


def _from_integer(row: RowMaker) -> None:
    row.kind(core.INTEGER_TO_FLOAT)
    kind = _float_kind(row, ("F64", "F16", "F32"))
    bits = _integer_kind(row)
    operand = row.sass.operands["b"]
    suffix = operand.suffix.lstrip(".") if isinstance(operand, Register) else ""
    row.source(core.FROM_B, "b")
    if abs(bits) == 64:
        row.set(FROM_B_HIGH=row.place(operand, 1))
    row.set(FORM=bits, FORM_2=kind, FORM_3=row.one_of(ROUNDINGS), FORM_4=BYTE_SHIFTS.get(suffix, 0))
    row.result(wide=kind == FLOATS["F64"])


def _pack(row: RowMaker) -> None:
    eights = [kind for name, kind in EIGHTS.items() if row.has(name)]
    if eights:
        _pack_eights(row, eights[0])
        return
    row.kind(core.F_PACK)
    merges = row.has("MERGE_C")
    row.has("PACK_AB", "F32", "F16")
    kind = FLOATS["BF16"] if row.has("BF16") else FLOATS["F16"]
    for column, role in ((core.FROM_A, "a"), (core.FROM_B, "b"), (core.FROM_C, "c")):
        if role in row.sass.operands:
            _float_source(row, column, role)
    row.set(FORM=kind, FORM_2=row.one_of(ROUNDINGS) | int(row.has("RELU")) << 2, FORM_3=int(merges))
    row.result()


def _pack_eights(row: RowMaker, kind: int) -> None:
    if row.has("UNPACK_B"):
        row.kind(core.EIGHT_UNPACK)
        row.has("F16")
        row.set(FORM_2=int(row.sass.operand("b", Register).suffix == ".H1"))
    else:
        row.kind(core.EIGHT_PACK)
        if not row.has("SATFINITE"):
            raise Refused("without SATFINITE it is not executed")
        row.has("PACK_AB_MERGE_C", "UNPACK_B_MERGE_C")
        row.set(FORM_2=int(row.has("F16")))
        row.has("F32")
    row.set(FORM=kind)
    for column, role in ((core.FROM_A, "a"), (core.FROM_B, "b"), (core.FROM_C, "c")):
        if role in row.sass.operands:
            row.source(column, role)
    row.result()


HALF_SELECTORS: Final = {"": 0, ".H0_H0": 1, ".H1_H1": 2, ".F32": 3}


def _half_sources(row: RowMaker, roles: Sequence[str]) -> None:
    swizzles = 0
    for number, role in enumerate(roles):
        operand = row.sass.operands[role]
        row.source((core.FROM_A, core.FROM_B, core.FROM_C)[number], role, negative=HALF_SIGNS, positive=HALF_FULL)
        suffix = operand.suffix if isinstance(operand, Register) else ""
        if HALF_SELECTORS[suffix] == 3:
            raise Refused(f"{operand} as f32 beside halves is not executed")
        swizzles |= HALF_SELECTORS[suffix] << 2 * number
    row.ignore(frozenset({"MMA"}))
    row.set(FORM=int(row.has("BF16_V2", "BF16")), FORM_3=swizzles)


def _half(row: RowMaker, kind: int, roles: Sequence[str]) -> None:
    row.kind(kind)
    row.set(FORM_2=int(row.has("F32")))
    _half_sources(row, roles)
    row.set(FORM_4=int(row.has("SAT")) | int(row.has("RELU")) << 1)
    row.result()


def _half_add(row: RowMaker) -> None:
    _half(row, core.H_ADD, ("a", "c" if "c" in row.sass.operands else "b"))


def _half_multiply(row: RowMaker) -> None:
    _half(row, core.H_MULTIPLY, "ab")


def _half_fused(row: RowMaker) -> None:
    _half(row, core.H_FUSED, "abc")


def _half_extreme(row: RowMaker) -> None:
    row.kind(core.H_EXTREME)
    _half_sources(row, "ab")
    row.predicate(core.X, row.sass.operands["x"])
    row.set(FORM_4=int(row.has("NAN")))
    row.result()


def _half_compare(row: RowMaker) -> None:
    row.kind(core.H_COMPARE)
    _half_sources(row, "ab")
    row.set(FORM_2=row.one_of(FLOAT_COMPARISONS), FORM_4=row.one_of(COMBINATIONS))
    row.predicate(core.X, row.sass.operands["x"])
    row.outputs()
    row.result()


def _half_set(row: RowMaker) -> None:
    row.set(NUMBER=1 if row.has("BF") else 2)
    _half_compare(row)


def _double(row: RowMaker, kind: int, roles: Sequence[str]) -> None:
    row.kind(kind)
    for column, role in zip((core.FROM_A, core.FROM_B, core.FROM_C), roles, strict=False):
        row.source(column, role, negative=SIGN_BIT, positive=FULL, pair=True)
    row.result(wide=True)


def _double_add(row: RowMaker) -> None:
    _double(row, core.D_ADD, ("a", "c" if "c" in row.sass.operands else "b"))


def _double_multiply(row: RowMaker) -> None:
    _double(row, core.D_MULTIPLY, "ab")


def _double_fused(row: RowMaker) -> None:
    _double(row, core.D_FUSED, "abc")


def _double_compare(row: RowMaker) -> None:
    row.kind(core.D_COMPARE)
    row.source(core.FROM_A, "a", negative=SIGN_BIT, positive=FULL, pair=True)
    other = "c" if "c" in row.sass.operands else "b"
    row.source(core.FROM_B, other, negative=SIGN_BIT, positive=FULL, pair=True)
    row.set(FORM_3=row.one_of(("", "MIN", "MAX")))
    row.set(FORM=row.one_of(FLOAT_COMPARISONS), FORM_2=row.one_of(COMBINATIONS))
    row.predicate(core.X, row.sass.operands["x"])
    row.outputs()


def _difference(row: RowMaker) -> None:
    _three(row, core.DIFFERENCE)
    row.set(FORM=int(row.has("U32")))


def _dot(row: RowMaker) -> None:
    _three(row, core.DOT)
    row.has("2A", "4A")
    halves = row.one_of(("", "LO", "HI"))
    named = [name for name in row.modifiers if name in ("S8", "U8", "S16", "U16")]
    row.ignore(frozenset({"S8", "U8", "S16", "U16"}))
    a, b = (*named, "S8", "S8")[:2]
    row.set(FORM=int(a[0] == "S"), FORM_2=int(b[0] == "S"), FORM_3=halves)


ARITHMETIC_ROWS: Final[dict[str, Make]] = {
    **dict.fromkeys(("IADD3", "UIADD3", "VIADD"), _sum),
    **dict.fromkeys(("IMAD", "UIMAD"), _product),
    **dict.fromkeys(("LEA", "ULEA"), _shift_add),
    **dict.fromkeys(("LOP3", "ULOP3"), _logic),
    **dict.fromkeys(("PLOP3", "UPLOP3"), _predicate_logic),
    **dict.fromkeys(("SHF", "USHF"), _shift),
    **dict.fromkeys(("PRMT", "UPRMT"), _permute),
    **dict.fromkeys(("SEL", "USEL"), _select),
    **dict.fromkeys(("MOV", "UMOV"), _move),
    **dict.fromkeys(("ISETP", "UISETP"), _compare),
    **dict.fromkeys(("IMNMX", "VIMNMX"), _extreme),
    **dict.fromkeys(("POPC", "UPOPC"), _count),
    **dict.fromkeys(("FLO", "UFLO"), _find_leading),
    **dict.fromkeys(("BREV", "UBREV"), _reverse),
    **dict.fromkeys(("SGXT", "USGXT"), _sign_extend),
    **dict.fromkeys(("BMSK", "UBMSK"), _bit_mask),
    **dict.fromkeys(("I2F", "I2FP"), _from_integer),
    "VIADDMNMX": _add_extreme,
    "IABS": _absolute,
    "IDP": _dot,
    "VABSDIFF": _difference,
    "P2R": _pack_predicates,
    "R2P": _unpack_predicates,
    "I2IP": _pack_integers,
    "F2I": _to_integer,
    "F2F": _convert,
    "FRND": _round_whole,
    "F2FP": _pack,
    "FADD": _float_add,
    "FMUL": _float_multiply,
    "FFMA": _float_fused,
    "FMNMX": _float_extreme,
    "FSETP": _float_compare,
    "FSET": _float_set,
    "FSEL": _float_select,
    "FCHK": _check,
    "MUFU": _function,
    "HADD2": _half_add,
    "HMUL2": _half_multiply,
    "HFMA2": _half_fused,
    "HMNMX2": _half_extreme,
    "HSETP2": _half_compare,
    "HSET2": _half_set,
    "DADD": _double_add,
    "DMUL": _double_multiply,
    "DFMA": _double_fused,
    "DSETP": _double_compare,
}
"""What makes the row of an arithmetic opcode, by name."""
