"""Holds the register files of an emulated warp, and reads operands from them for all lanes at once.

32-bit values are kept in unsigned 64-bit arrays. A vector register has one value per lane; a uniform register, an
immediate or a constant has one for all lanes.
"""

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from gpusim.arrays import BoolArray, IntArray
from gpusim.lower.sass.decode import Sass
from gpusim.lower.sass.operands import PT, RZ, URZ, Constant, Immediate, Predicate, Register, SassOperand
from gpusim.units import WARP_SIZE, WORD_BYTES

LaneWords: TypeAlias = npt.NDArray[np.uint64]

MASK = np.uint64(0xFFFFFFFF)
SIGN = np.uint64(0x80000000)
ONE = np.uint64(1)
BITS = np.uint64(32)


LAUNCH_BANK, COMPILER_BANK = 0, 2
"""Constant banks whose words are known: the launch's bank with its parameters, and the compiler's constants."""


class Registers:
    """
    The register files of one warp and the constant banks it reads.

    Attributes:
        vector: Vector registers, shape [256, 32]. Row ``RZ`` stays zero.
        uniform: Uniform registers, shape [64, 1]. Row ``URZ`` stays zero.
        predicates: Predicate registers, shape [8, 32]. Row ``PT`` stays true.
        uniform_predicates: Uniform predicate registers, shape [8, 1]. Row ``PT`` stays true.
        banks: Constant banks by number, as 32-bit words.
        unknown: Words of the launch's bank that the driver fills with unknown values.
    """

    __slots__ = ("banks", "predicates", "uniform", "uniform_predicates", "unknown", "vector")

    def __init__(
        self, constants: bytes, compiler_constants: bytes = b"", unknown: frozenset[int] = frozenset()
    ) -> None:
        self.vector: LaneWords = np.zeros((256, WARP_SIZE), dtype=np.uint64)
        self.uniform: LaneWords = np.zeros((64, 1), dtype=np.uint64)
        self.predicates: BoolArray = np.zeros((8, WARP_SIZE), dtype=np.bool_)
        self.uniform_predicates: BoolArray = np.zeros((8, 1), dtype=np.bool_)
        self.predicates[PT] = True
        self.uniform_predicates[PT] = True
        self.banks = {LAUNCH_BANK: _words(constants), COMPILER_BANK: _words(compiler_constants)}
        self.unknown = unknown

    def write(self, register: Register, value: LaneWords, mask: BoolArray, part: int = 0) -> None:
        """Write a destination, or the ``part``-th register after it, in the lanes of ``mask``."""
        if register.uniform:
            if register.number != URZ and mask.any():
                self.uniform[register.number + part] = value[..., :1]
        elif register.number != RZ:
            np.copyto(self.vector[register.number + part], value, where=mask)

    def write_predicate(self, predicate: Predicate, value: BoolArray, mask: BoolArray) -> None:
        """Write a predicate destination in the lanes of ``mask``. A write to ``PT`` has no effect."""
        if predicate.number == PT:
            return
        if predicate.uniform:
            if mask.any():
                self.uniform_predicates[predicate.number] = value[..., :1]
        else:
            np.copyto(self.predicates[predicate.number], value, where=mask)

    def constant(self, bank: int, word: IntArray) -> LaneWords:
        """
        Return words of a constant bank.

        Args:
            bank: Number of the bank.
            word: Indices of the words, shape [1] or [32].

        Raises:
            NotImplementedError: The words of the bank are not known, or some lie outside it.
        """
        words = self.banks.get(bank)
        if words is None:
            raise NotImplementedError(f"constant bank {bank} is not known, only {' and '.join(map(str, self.banks))}")
        first, last = int(word.min()), int(word.max())
        if first < 0:
            raise NotImplementedError(f"constant bank {bank} is read {-4 * first} bytes before its beginning")
        if last >= len(words):
            raise NotImplementedError(f"constant bank {bank} has {4 * len(words)} bytes, byte {4 * last:#x} is read")
        if bank == LAUNCH_BANK and not self.unknown.isdisjoint((first,) if first == last else word.tolist()):
            raise NotImplementedError(f"what the driver writes at {4 * first:#x} of constant bank {bank} is not known")
        return words[word]


def _words(bank: bytes) -> LaneWords:
    return np.frombuffer(bank + bytes(-len(bank) % 4), dtype="<u4").astype(np.uint64)


Read: TypeAlias = Callable[[Registers], LaneWords]
Test: TypeAlias = Callable[[Registers], BoolArray]
Execute: TypeAlias = Callable[[Registers, BoolArray], None]


def word(value: int) -> LaneWords:
    """Return a 32-bit constant for all lanes, shape [1]."""
    return np.array([value & 0xFFFFFFFF], dtype=np.uint64)


def reader(operand: SassOperand, part: int = 0) -> Read:
    """
    Return a function that reads a source that has no sign, or the ``part``-th 32-bit word of a wide one.

    Raises:
        TypeError: The operand is no register, immediate or constant.
        NotImplementedError: It is negated, inverted or an absolute value.
    """
    if isinstance(operand, Register | Constant) and (operand.sign or operand.absolute):
        raise NotImplementedError(f"source {operand} with a sign is not emulated")
    return bare_reader(operand, part)


def bare_reader(operand: SassOperand, part: int = 0) -> Read:
    """
    Return what ``reader`` does, for a caller that applies the sign.

    Raises:
        TypeError: The operand is no register, immediate or constant.
    """
    if isinstance(operand, Register):
        number, uniform = operand.number, operand.uniform
        row = number if number == (URZ if uniform else RZ) else number + part
        return (lambda r: r.uniform[row]) if uniform else (lambda r: r.vector[row])
    if isinstance(operand, Immediate):
        # Only signed wide operations sign-extend an immediate, and those read part 0 alone.
        constant = word(operand.value if part == 0 else 0)
        return lambda _: constant
    if isinstance(operand, Constant):
        bank, address = operand.bank, constant_address(operand)
        return lambda r: r.constant(bank, address(r) // WORD_BYTES + part)
    raise TypeError(f"{operand} is no source")


def constant_address(operand: Constant) -> Callable[[Registers], IntArray]:
    """Return a function that computes the byte address of a constant in its bank, shape [1] or [32]."""
    offset = np.array([operand.offset], dtype=np.int64)
    if operand.index is None or operand.index.number == (URZ if operand.index.uniform else RZ):
        return lambda _: offset
    index = reader(operand.index)
    return lambda r: index(r).astype(np.int64) + offset


def tester(operand: SassOperand) -> Test:
    """
    Return a function that reads a predicate source, inversion included.

    Raises:
        TypeError: The operand is no predicate.
    """
    if not isinstance(operand, Predicate):
        raise TypeError(f"{operand} is no predicate")
    number, inverted, uniform = operand.number, operand.inverted, operand.uniform
    if uniform:
        return (lambda r: ~r.uniform_predicates[number]) if inverted else (lambda r: r.uniform_predicates[number])
    return (lambda r: ~r.predicates[number]) if inverted else (lambda r: r.predicates[number])


def signed(value: LaneWords) -> npt.NDArray[np.int64]:
    """Return 32-bit words as signed integers."""
    return (value ^ SIGN).astype(np.int64) - np.int64(0x80000000)


def sign_of(operand: SassOperand) -> str:
    """Return the sign of a source: "", "-" or "~"."""
    return operand.sign if isinstance(operand, Register | Constant) else ""


def suffix_of(operand: SassOperand) -> str:
    """Return the suffix of a source, "" if it has none."""
    return operand.suffix if isinstance(operand, Register | Constant) else ""


def addend(operand: SassOperand) -> tuple[Read, int]:
    """
    Return a function that reads a source of a sum with its sign applied, and a constant to add to the sum.

    -v is read as ~v and adds 1, so that the sum carries out as the hardware's adder does. ~v adds 0.
    """
    read = bare_reader(operand)
    sign = sign_of(operand)
    if not sign:
        return read, 0
    return (lambda r: MASK - read(r)), 1 if sign == "-" else 0


def result(sass: Sass) -> Register:
    """Return the destination register of an instruction."""
    return sass.operand("d", Register)
