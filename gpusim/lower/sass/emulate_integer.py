"""
Emulates the arithmetic opcodes of SASS over all lanes of a warp at once: integers exactly, floats as 1.

Loaded data is unknown. The value 1 replaces it, so that tests for zero, infinity or a subnormal take the path of nearly
all data.
"""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from gpusim.arrays import BoolArray
from gpusim.lower.sass.decode import Sass
from gpusim.lower.sass.emulate_bits import BITWISE, ONE_F32, as_float, unary
from gpusim.lower.sass.emulate_registers import (
    BITS,
    MASK,
    Execute,
    Registers,
    Test,
    addend,
    bare_reader,
    reader,
    result,
    sign_of,
    signed,
    tester,
    word,
)
from gpusim.lower.sass.operands import RZ, Constant, Immediate, Predicate, Register, SassOperand


def _carries(sass: Sass) -> list[Test]:
    return [tester(sass.operands[role]) for role in "xy" if role in sass.operands] if "X" in sass.modifiers else []


def _add(sass: Sass) -> Execute:
    """IADD3, VIADD: the sum of two or three sources and carries. ``p`` is set if it carries, ``q`` if it does twice."""
    sources = [addend(sass.operands[role]) for role in "abc" if role in sass.operands]
    extra = np.uint64(sum(one for _, one in sources))
    reads = [read for read, _ in sources]
    carries = _carries(sass)
    d = result(sass)
    carried_out = [(role, count) for role, count in (("p", 1), ("q", 2)) if role in sass.operands]
    outputs = [(sass.operand(role, Predicate), np.uint64(count)) for role, count in carried_out]

    def execute(r: Registers, mask: BoolArray) -> None:
        total = reads[0](r) + extra
        for read in reads[1:]:
            total = total + read(r)
        for carry in carries:
            total = total + carry(r)
        for predicate, count in outputs:
            r.write_predicate(predicate, total >> BITS >= count, mask)
        r.write(d, total & MASK, mask)

    return execute


def _multiply(sass: Sass) -> Execute:
    """IMAD: low 32 bits; .WIDE to a register pair; .HI with a 64-bit addend; each with a carry in and out."""
    kind = next((m for m in sass.modifiers if m in ("WIDE", "HI")), "")
    unsigned = "U32" in sass.modifiers or not kind
    a, b, c = (sass.operands[role] for role in "abc")
    read_a, read_b = reader(a), reader(b)
    read_c, one = addend(c)
    read_high = bare_reader(c, 1)
    if kind and isinstance(c, Immediate) and c.value >> 31:
        if unsigned:
            raise NotImplementedError(f"{sass.mnemonic} with an addend of a set sign bit")
        read_high = lambda _: word(0xFFFFFFFF)  # noqa: E731
    carries = _carries(sass)
    d = result(sass)
    extra = np.uint64(one)
    carry_out = sass.operand("p", Predicate) if "p" in sass.operands else None
    negated = bool(kind) and sign_of(c) == "-"
    if kind and sign_of(c) and (carries or not negated):
        raise NotImplementedError(f"{sass.mnemonic} with an inverted 64-bit addend, or a negated one and a carry")
    read_low = bare_reader(c) if kind else read_c

    def execute(r: Registers, mask: BoolArray) -> None:
        left, right = read_a(r), read_b(r)
        product = left * right if unsigned else (signed(left) * signed(right)).astype(np.uint64)
        if not kind:
            total = product + read_c(r) + extra
        else:
            addition = read_low(r) | read_high(r) << BITS
            total = product - addition if negated else product + addition
            if carry_out is not None:
                carried = product >= addition if negated else total < product  # -v is added as ~v + 1
                r.write_predicate(carry_out, np.asarray(carried, dtype=np.bool_), mask)
        for carry in carries:
            total = total + carry(r)
        if kind == "WIDE":
            r.write(d, total >> BITS, mask, 1)
        r.write(d, total >> BITS if kind == "HI" else total & MASK, mask)

    return execute


def _shift_add(sass: Sass) -> Execute:
    """LEA: (a << k) + b. .HI adds the high word of the shifted pair (c, a) instead; .SX32 has a's sign for c."""
    k = np.uint64(sass.operand("k", Immediate).value)
    read_a = bare_reader(sass.operands["a"])
    negated = sign_of(sass.operands["a"])
    read_b, one_b = addend(sass.operands["b"])
    high = "HI" in sass.modifiers
    read_c = reader(sass.operands["c"]) if "c" in sass.operands else None
    carries = _carries(sass)
    d, out = result(sass), sass.operand("p", Predicate)

    def execute(r: Registers, mask: BoolArray) -> None:
        a = read_a(r)
        if not high:
            shifted = a << k & MASK
        else:
            upper = read_c(r) if read_c is not None else signed(a).astype(np.uint64) >> BITS & MASK
            shifted = ((upper << BITS | a) << k) >> BITS
        one = np.uint64(one_b)
        if negated:
            shifted = MASK - shifted
            one = one + np.uint64(negated == "-")
        total = shifted + read_b(r) + one
        for carry in carries:
            total = total + carry(r)
        r.write_predicate(out, total > MASK, mask)
        r.write(d, total & MASK, mask)

    return execute


COMPARE: dict[str, Callable[[npt.NDArray[np.generic], npt.NDArray[np.generic]], BoolArray]] = {
    "LT": np.less,
    "EQ": np.equal,
    "LE": np.less_equal,
    "GT": np.greater,
    "NE": np.not_equal,
    "GE": np.greater_equal,
    "F": lambda a, b: np.zeros(np.broadcast(a, b).shape, dtype=np.bool_),
    "T": lambda a, b: np.ones(np.broadcast(a, b).shape, dtype=np.bool_),
}
COMBINE: dict[str, Callable[[BoolArray, BoolArray], BoolArray]] = {
    "AND": np.logical_and,
    "OR": np.logical_or,
    "XOR": np.logical_xor,
}


def _set_predicates(sass: Sass) -> Execute:
    """ISETP: compare, then combine with ``x``. .EX compares high words, given the low words' comparison ``z``."""
    read_a, read_b = reader(sass.operands["a"]), reader(sass.operands["b"])
    compare = COMPARE[sass.modifiers[0]]
    combine = COMBINE[next(m for m in sass.modifiers[1:] if m in COMBINE)]
    unsigned = "U32" in sass.modifiers
    low = tester(sass.operands["z"]) if "EX" in sass.modifiers else None
    unequal = sass.modifiers[0] == "NE"
    also, p, q = tester(sass.operands["x"]), sass.operand("p", Predicate), sass.operand("q", Predicate)

    def execute(r: Registers, mask: BoolArray) -> None:
        a, b = read_a(r), read_b(r)
        holds = compare(a, b) if unsigned else compare(signed(a), signed(b))
        if low is not None:
            holds = np.where(a == b, low(r), holds | (low(r) & unequal))
        other = also(r)
        r.write_predicate(p, combine(holds, other), mask)
        r.write_predicate(q, combine(~holds, other), mask)

    return execute


def _float_reader(operand: SassOperand) -> Callable[[Registers], npt.NDArray[np.float32]]:
    """Return a function that reads an f32 source, with its absolute value and sign applied."""
    read, negated = bare_reader(operand), sign_of(operand) == "-"
    absolute = isinstance(operand, Register | Constant) and operand.absolute

    def value(r: Registers) -> npt.NDArray[np.float32]:
        found = as_float(read(r))
        found = np.abs(found) if absolute else found
        return -found if negated else found

    return value


def _set_float_predicates(sass: Sass) -> Execute:
    """FSETP: compare two f32, then combine with ``x``."""
    name = sass.modifiers[0]
    compare = COMPARE[name.removesuffix("U")]
    unordered = name.endswith("U")
    combine = COMBINE[next(m for m in sass.modifiers[1:] if m in COMBINE)]
    read_a, read_b = _float_reader(sass.operands["a"]), _float_reader(sass.operands["b"])
    also, p, q = tester(sass.operands["x"]), sass.operand("p", Predicate), sass.operand("q", Predicate)

    def execute(r: Registers, mask: BoolArray) -> None:
        a, b = read_a(r), read_b(r)
        holds = compare(a, b)
        holds = holds | (np.isnan(a) | np.isnan(b)) if unordered else holds & ~(np.isnan(a) | np.isnan(b))
        r.write_predicate(p, combine(holds, also(r)), mask)
        r.write_predicate(q, combine(~holds, also(r)), mask)

    return execute


def _select_float(sass: Sass) -> Execute:
    """FSEL: one of two f32, with its absolute value and sign applied."""
    a, b, first = (*(_float_reader(sass.operands[role]) for role in "ab"), tester(sass.operands["x"]))
    d = result(sass)

    def execute(r: Registers, mask: BoolArray) -> None:
        chosen: npt.NDArray[np.float32] = np.where(first(r), a(r), b(r))
        r.write(d, chosen.view(np.uint32).astype(np.uint64), mask)

    return execute


def _select(sass: Sass) -> Execute:
    a, b, first = reader(sass.operands["a"]), reader(sass.operands["b"]), tester(sass.operands["x"])
    d = result(sass)

    def execute(r: Registers, mask: BoolArray) -> None:
        r.write(d, np.where(first(r), a(r), b(r)), mask)

    return execute


def _extreme(sass: Sass) -> Execute:
    """IMNMX, VIMNMX: the smaller source if ``x`` holds, otherwise the larger."""
    a, b, least = reader(sass.operands["a"]), reader(sass.operands["b"]), tester(sass.operands["x"])
    d, unsigned = result(sass), "U32" in sass.modifiers

    def execute(r: Registers, mask: BoolArray) -> None:
        left, right = a(r), b(r)
        less = left < right if unsigned else signed(left) < signed(right)
        r.write(d, np.where(less == least(r), left, right), mask)

    return execute


def _add_extreme(sass: Sass) -> Execute:
    """VIADDMNMX: the smaller of a + b and c if ``x`` holds, otherwise the larger."""
    a, (b, one) = reader(sass.operands["a"]), addend(sass.operands["b"])
    c, least = reader(sass.operands["c"]), tester(sass.operands["x"])
    d, unsigned, extra = result(sass), "U32" in sass.modifiers, np.uint64(one)

    def execute(r: Registers, mask: BoolArray) -> None:
        left, right = a(r) + b(r) + extra & MASK, c(r)
        less = left < right if unsigned else signed(left) < signed(right)
        r.write(d, np.where(less == least(r), left, right), mask)

    return execute


def _move(sass: Sass) -> Execute:
    read, d = reader(sass.operands["b"]), result(sass)
    return lambda r, mask: r.write(d, read(r), mask)


F32 = frozenset({"FADD", "FMUL", "FFMA", "FMNMX"})
"""Opcodes whose result is one f32."""


def _data(sass: Sass) -> Execute:
    """Floating-point arithmetic: the f32 1, 0 in other formats, except for 0 * 0 + c, which loads the constant c."""
    a, b, c = (sass.operands.get(role) for role in "abc")
    zero = all(isinstance(one, Register) and one.number == RZ for one in (a, b))
    unknown = ONE_F32 if sass.name in F32 else 0
    constant = word(c.value if zero and isinstance(c, Immediate) else unknown)
    d = result(sass)
    return lambda r, mask: r.write(d, constant, mask)


def _matrix_multiply(_: Sass) -> Execute:
    return lambda _r, _mask: None


EXECUTE: dict[str, Callable[[Sass], Execute]] = {
    **BITWISE,
    **dict.fromkeys(("IADD3", "UIADD3", "VIADD"), _add),
    **dict.fromkeys(("IMAD", "UIMAD"), _multiply),
    **dict.fromkeys(("LEA", "ULEA"), _shift_add),
    **dict.fromkeys(("ISETP", "UISETP"), _set_predicates),
    **dict.fromkeys(("SEL", "USEL"), _select),
    "FSEL": _select_float,
    **dict.fromkeys(("IMNMX", "VIMNMX"), _extreme),
    **dict.fromkeys(("MOV", "UMOV"), _move),
    **dict.fromkeys(
        ("FADD", "FMUL", "FFMA", "FMNMX", "HADD2", "HMUL2", "HFMA2", "HMNMX2", "F2FP", "F2F", "F2IP", "I2IP"),
        _data,
    ),
    "VIADDMNMX": _add_extreme,
    "FSETP": _set_float_predicates,
    "IABS": unary(lambda _: lambda value: np.abs(signed(value)).astype(np.uint64)),
    **dict.fromkeys(("HMMA", "IMMA"), _matrix_multiply),
}
"""All emulated arithmetic opcodes, each with the function that turns one of its instructions into an ``Execute``."""
