"""Emulates the bitwise opcodes: logic, shifts, byte permutations, bit counts, and conversions for integer division."""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from gpusim.arrays import BoolArray
from gpusim.lower.sass.decode import Sass
from gpusim.lower.sass.emulate_registers import (
    BITS,
    MASK,
    ONE,
    SIGN,
    Execute,
    LaneWords,
    Registers,
    reader,
    result,
    signed,
    suffix_of,
    tester,
)
from gpusim.lower.sass.operands import Immediate, Predicate

ONE_F32 = 0x3F800000
"""The f32 1, which replaces every floating-point result that depends on data."""


def as_float(value: LaneWords) -> npt.NDArray[np.float32]:
    """Return 32-bit words reinterpreted as f32."""
    return value.astype(np.uint32).view(np.float32)


def lut3(a: LaneWords, b: LaneWords, c: LaneWords, table: int) -> LaneWords:
    """Evaluate LOP3: each bit of the result is bit ``4a + 2b + c`` of the table, for that position's bits a, b, c."""
    total = np.zeros(1, dtype=np.uint64)
    for minterm in range(8):
        if table >> minterm & 1:
            term = a if minterm & 4 else MASK - a
            term = term & (b if minterm & 2 else MASK - b)
            total = total | (term & (c if minterm & 1 else MASK - c))
    return total


def _logic(sass: Sass) -> Execute:
    a, b, c = (reader(sass.operands[role]) for role in "abc")
    lut = sass.operand("k", Immediate).value
    d, out, also = result(sass), sass.operand("p", Predicate), tester(sass.operands["x"])

    both = "PAND" in sass.modifiers

    def execute(r: Registers, mask: BoolArray) -> None:
        value = lut3(a(r), b(r), c(r), lut)
        r.write_predicate(out, (value != 0) & also(r) if both else (value != 0) | also(r), mask)
        r.write(d, value, mask)

    return execute


def _predicate_logic(sass: Sass) -> Execute:
    sources = [tester(sass.operands[role]) for role in "xyz"]
    tables = [(sass.operand(p, Predicate), sass.operand(k, Immediate).value) for p, k in ("pk", "ql")]

    def execute(r: Registers, mask: BoolArray) -> None:
        a, b, c = (source(r).astype(np.uint64) * MASK for source in sources)
        for predicate, table in tables:
            value = np.broadcast_to(lut3(a, b, c, table) != 0, a.shape)
            r.write_predicate(predicate, value, mask)

    return execute


def _shift(sass: Sass) -> Execute:
    """SHF: shift the pair (c, a) and keep its low or high word."""
    read_a, read_b, read_c = (reader(sass.operands[role]) for role in "abc")
    modifiers = sass.modifiers
    right, high, wraps = "R" in modifiers, "HI" in modifiers, "W" in modifiers
    arithmetic = "S32" in modifiers or "S64" in modifiers
    width = 64 if "U64" in modifiers or "S64" in modifiers else 32
    d = result(sass)

    def execute(r: Registers, mask: BoolArray) -> None:
        a, c = read_a(r), read_c(r)
        amount = read_b(r)
        amount = amount & np.uint64(width - 1) if wraps else np.minimum(amount, np.uint64(width))
        if right and high and width == 32:
            value = signed(c) >> amount.astype(np.int64) if arithmetic else c >> amount
        elif not right and not high:
            value = a << amount
        else:
            pair = c << BITS | a
            over = amount >= np.uint64(64)
            safe = np.where(over, np.uint64(63), amount)
            if right:
                wide = pair.astype(np.int64) >> safe.astype(np.int64) if arithmetic else pair >> safe
                wide = np.where(over & (not arithmetic), np.uint64(0), wide.astype(np.uint64))
            else:
                wide = np.where(over, np.uint64(0), pair << safe)
            value = wide >> BITS if high else wide
        r.write(d, value.astype(np.uint64) & MASK, mask)

    return execute


def _permute(sass: Sass) -> Execute:
    """PRMT: each byte of the result is one of the eight bytes of the pair (c, a), or its replicated sign."""
    if sass.modifiers:
        raise NotImplementedError(f"{sass.mnemonic} selects bytes in a mode that is not emulated")
    read_a, read_b, read_c = (reader(sass.operands[role]) for role in "abc")
    d = result(sass)

    def execute(r: Registers, mask: BoolArray) -> None:
        pair = read_c(r) << BITS | read_a(r)
        selector = read_b(r)
        value = np.zeros(1, dtype=np.uint64)
        for byte in range(4):
            chosen = selector >> np.uint64(4 * byte) & np.uint64(15)
            picked = pair >> (chosen & np.uint64(7)) * np.uint64(8) & np.uint64(255)
            replicated = np.where(picked >> np.uint64(7) == ONE, np.uint64(255), np.uint64(0))
            value = value | np.where(chosen >= np.uint64(8), replicated, picked) << np.uint64(8 * byte)
        r.write(d, value, mask)

    return execute


def unary(function: Callable[[Sass], Callable[[LaneWords], LaneWords]]) -> Callable[[Sass], Execute]:
    """Return the maker of an opcode that computes its destination from source b alone, by ``function(sass)``."""

    def make(sass: Sass) -> Execute:
        read, d, compute = reader(sass.operands["b"]), result(sass), function(sass)

        def execute(r: Registers, mask: BoolArray) -> None:
            r.write(d, compute(read(r)), mask)

        return execute

    return make


def _highest_bit(value: LaneWords) -> LaneWords:
    found = np.frexp(value.astype(np.float64))[1] - 1
    return found.astype(np.int64).astype(np.uint64) & MASK


def _find_leading(sass: Sass) -> Callable[[LaneWords], LaneWords]:
    unsigned, distance = "U32" in sass.modifiers, "SH" in sass.modifiers

    def compute(value: LaneWords) -> LaneWords:
        if not unsigned:
            value = np.where(value & SIGN != 0, MASK - value, value)
        bit = _highest_bit(value)
        return np.where(value == 0, MASK, np.uint64(31) - bit if distance else bit)

    return compute


def _reverse(value: LaneWords) -> LaneWords:
    total = np.zeros_like(value)
    for bit in range(32):
        total = total | (value >> np.uint64(bit) & ONE) << np.uint64(31 - bit)
    return total


def _count(value: LaneWords) -> LaneWords:
    return np.bitwise_count(value).astype(np.uint64)


NARROW_INTEGERS = {"U8": 8, "S8": 8, "U16": 16, "S16": 16}
"""Bits of the integers below a word that I2F converts, by its modifier."""

PART_BITS = {"": 0, ".B1": 8, ".B2": 16, ".B3": 24, ".H1": 16}
"""Lowest bit of the part of a register that I2F converts."""

DIRECTIONS = {"RM": -np.inf, "RP": np.inf, "RZ": 0.0}
"""Rounding mode of a conversion by modifier; without a modifier it rounds to nearest."""


def _integer_to_float(sass: Sass) -> Callable[[LaneWords], LaneWords]:
    """I2F and I2FP of a word, or of the low bits of one, to f32."""
    modifiers = {*sass.modifiers} - {"F32"}
    if not modifiers <= {"U32", "S32", *NARROW_INTEGERS, *DIRECTIONS}:
        raise NotImplementedError(f"{sass.mnemonic} is not emulated, only f32 of at most 32 bits")
    is_unsigned = not modifiers.isdisjoint({"U8", "U16", "U32"})
    towards = next((DIRECTIONS[one] for one in modifiers if one in DIRECTIONS), None)
    bits = next((NARROW_INTEGERS[one] for one in modifiers if one in NARROW_INTEGERS), 32)
    sign, shift = np.uint64(1 << bits - 1), np.uint64(PART_BITS[suffix_of(sass.operands["b"])])

    def compute(value: LaneWords) -> LaneWords:
        low = value >> shift & np.uint64((1 << bits) - 1)
        whole = low.astype(np.int64) if is_unsigned else (low ^ sign).astype(np.int64) - np.int64(sign)
        exact = whole.astype(np.float64)
        near = exact.astype(np.float32)
        if towards is not None:
            wrong = near > exact if towards < 0 else near < exact if towards > 0 else np.abs(near) > np.abs(exact)
            near = np.where(wrong, np.nextafter(near, np.float32(towards)), near)
        return near.view(np.uint32).astype(np.uint64)

    return compute


def _float_to_integer(sass: Sass) -> Callable[[LaneWords], LaneWords]:
    """
    F2I, clamped to the range of the result.

    U32 truncates, as integer divisions use it. S32 rounds to nearest, ties to even.
    """
    modifiers = frozenset(sass.modifiers)
    truncates = modifiers >= {"U32", "TRUNC"}
    if not truncates and not modifiers <= {"NTZ"}:
        raise NotImplementedError(f"{sass.mnemonic}: only U32 by truncation and S32 to nearest are emulated")
    least, most = (0, 2**32 - 1) if truncates else (-(2**31), 2**31 - 1)

    def compute(value: LaneWords) -> LaneWords:
        exact = as_float(value).astype(np.float64)
        near = np.nan_to_num(np.trunc(exact) if truncates else np.rint(exact))
        whole: LaneWords = np.clip(near, least, most).astype(np.int64).astype(np.uint64) & MASK
        return whole

    return compute


def _multifunction(sass: Sass) -> Callable[[LaneWords], LaneWords]:
    """
    MUFU.RCP, rounded to nearest; 1 for other functions, whose operand is data.

    The hardware's last bit may differ, which the integer division corrects.
    """
    if "RCP" not in sass.modifiers:
        return lambda value: np.full_like(value, ONE_F32)

    def compute(value: LaneWords) -> LaneWords:
        with np.errstate(divide="ignore"):
            return (np.float64(1) / as_float(value)).astype(np.float32).view(np.uint32).astype(np.uint64)

    return compute


BITWISE: dict[str, Callable[[Sass], Execute]] = {
    **dict.fromkeys(("LOP3", "ULOP3"), _logic),
    **dict.fromkeys(("PLOP3", "UPLOP3"), _predicate_logic),
    **dict.fromkeys(("SHF", "USHF"), _shift),
    **dict.fromkeys(("PRMT", "UPRMT"), _permute),
    **dict.fromkeys(("POPC", "UPOPC"), unary(lambda _: _count)),
    **dict.fromkeys(("FLO", "UFLO"), unary(_find_leading)),
    **dict.fromkeys(("BREV", "UBREV"), unary(lambda _: _reverse)),
    **dict.fromkeys(("I2F", "I2FP"), unary(_integer_to_float)),
    "F2I": unary(_float_to_integer),
    "MUFU": unary(_multifunction),
}
"""Bitwise opcodes, each with the function that turns one of its instructions into an ``Execute``."""
