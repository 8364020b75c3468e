"""
Turns decoded machine code into the rows that the core executes: kinds, places of operands, forms.

A row that is refused names what is not executed; a kernel fails only where such an instruction is reached.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from gpusim.arrays import IntArray
from gpusim.errors import Unsupported
from gpusim.execute.core import constants as core
from gpusim.execute.spans import beyond_registers
from gpusim.lower.sass.decode import Sass, decode_word
from gpusim.lower.sass.operands import PT, RZ, URZ, Constant, Immediate, Predicate, Register, SassOperand
from gpusim.lower.stream import INSTRUCTION_BYTES
from gpusim.units import WORD_BYTES

WORD: Final = 0xFFFFFFFF
SIGN_BIT: Final = 0x80000000
HALF_SIGNS: Final = 0x80008000
UNIFORM_ROW: Final = core.REGISTERS
SPECIAL_ROW: Final = core.REGISTERS + core.UNIFORM_REGISTERS
UNIFORM_PREDICATE: Final = 8
EIGHTS: Final = {"E4M3": core.EIGHT_E4M3, "E5M2": core.EIGHT_E5M2}
"""Formats of 8 bits, by their names in modifiers."""


class Refused(Exception):
    """An instruction is not executed; the message says which part of it."""


@dataclass(slots=True)
class ConstantWords:
    """
    The words that instructions read from constant banks and from their own text.

    Attributes:
        banks: First index of each bank's words, and how many there are, by number.
        unknown: Bank and byte of each word that only a driver or a loader knows.
        words: All of them: the banks', then the immediates.
        places: Index of each immediate.
    """

    banks: Mapping[int, tuple[int, int]]
    unknown: frozenset[tuple[int, int]]
    words: list[int]
    places: dict[int, int] = field(default_factory=dict)

    def of_bank(self, bank: int, byte: int) -> int:
        """Return the source that reads a word of a bank."""
        if bank not in self.banks:
            raise Refused(f"constant bank {bank} is not in the cubin")
        first, count = self.banks[bank]
        word = byte // WORD_BYTES
        if not 0 <= word < count:
            raise Refused(f"byte {byte:#x} lies behind constant bank {bank} of {count * WORD_BYTES} bytes")
        if (bank, word * WORD_BYTES) in self.unknown:
            raise Refused(f"what a driver or loader writes at {byte:#x} of constant bank {bank} is not known")
        return ~(first + word)

    def immediate(self, value: int) -> int:
        """Return the source that reads a number."""
        value &= WORD
        if value not in self.places:
            self.places[value] = len(self.words)
            self.words.append(value)
        return ~self.places[value]


def words_of(banks: Mapping[int, bytes], unknown: frozenset[tuple[int, int]]) -> ConstantWords:
    """Lay out the words of constant banks."""
    places: dict[int, tuple[int, int]] = {}
    words: list[int] = []
    for bank, data in banks.items():
        padded = data + bytes(-len(data) % WORD_BYTES)
        places[bank] = len(words), len(padded) // WORD_BYTES
        words += np.frombuffer(padded, dtype="<u4").tolist()
    return ConstantWords(places, unknown, words)


class RowMaker:
    """
    The row of one instruction while it is made.

    Attributes:
        sass: The instruction.
        words: Where its constants lie.
        cells: The row.
        modifiers: Its modifiers that are not accounted for yet.
    """

    __slots__ = ("cells", "modifiers", "sass", "words")

    def __init__(self, sass: Sass, words: ConstantWords) -> None:
        self.sass, self.words = sass, words
        self.cells: IntArray = np.zeros(core.ROW, dtype=np.int64)
        self.modifiers = list(sass.modifiers)
        cells = self.cells
        cells[core.FROM_A : core.FROM_C_HIGH + 1] = RZ
        cells[core.INTO] = RZ
        cells[core.KEEP_A : core.KEEP_C + 1] = WORD
        for column in (core.TO, core.TO_HIGH, core.P, core.Q):
            cells[column] = core.NO_DESTINATION
        for column in (core.X, core.Y, core.Z):
            cells[column] = PT
        cells[core.SCALE] = 1
        self.predicate(core.GUARD, sass.guard)

    def kind(self, kind: int) -> None:
        """Set the kind of operation."""
        self.cells[core.KIND] = kind

    def set(self, **values: int) -> None:
        """Set columns by their names in ``core.constants``."""
        for name, value in values.items():
            self.cells[getattr(core, name)] = value

    def has(self, *names: str) -> bool:
        """Return whether the instruction has one of some modifiers, which is accounted for then."""
        found = [name for name in names if name in self.modifiers]
        for name in found:
            self.modifiers.remove(name)
        return bool(found)

    def one_of(self, names: Sequence[str], default: int = 0) -> int:
        """Return which of some modifiers the instruction has, or a default."""
        for number, name in enumerate(names):
            if name and name in self.modifiers:
                self.modifiers.remove(name)
                return number
        return default

    def ignore(self, names: frozenset[str]) -> None:
        """Account for modifiers that change no result."""
        self.modifiers = [name for name in self.modifiers if name not in names]

    def settle(self) -> None:
        """
        Check that every modifier is accounted for.

        Raises:
            Refused: A modifier is not accounted for.
        """
        if self.modifiers:
            raise Refused(f"modifier {self.modifiers[0]} is not executed")

    def predicate(self, column: int, operand: SassOperand) -> None:
        """Set a predicate that is read, and whether it is inverted."""
        if not isinstance(operand, Predicate):
            raise Refused(f"{operand} is no predicate")
        self.cells[column] = operand.number + UNIFORM_PREDICATE * operand.uniform
        self.cells[column + 1] = WORD if operand.inverted else 0

    def never(self, column: int) -> None:
        """Set a predicate that is read to false."""
        self.cells[column], self.cells[column + 1] = PT, WORD

    def optional(self, column: int, role: str) -> None:
        """Set a predicate that is read, if the instruction has the role."""
        if role in self.sass.operands:
            self.predicate(column, self.sass.operands[role])

    def carry(self) -> None:
        """Set the carries x and y, which are false unless the instruction says .X."""
        self.never(core.X)
        self.never(core.Y)
        if self.has("X"):
            self.optional(core.X, "x")
            self.optional(core.Y, "y")

    def outputs(self) -> None:
        """Set the predicates that are written."""
        for column, role in ((core.P, "p"), (core.Q, "q")):
            operand = self.sass.operands.get(role)
            if isinstance(operand, Predicate):
                self.cells[core.IS_UNIFORM] |= operand.uniform
                if operand.number != PT:
                    self.cells[column] = operand.number + UNIFORM_PREDICATE * operand.uniform

    def result(self, *, wide: bool = False, role: str = "d") -> None:
        """Set the destination, and the second register of a wide one."""
        operand = self.sass.operands.get(role)
        if not isinstance(operand, Register):
            return
        self.cells[core.IS_UNIFORM] |= operand.uniform
        if operand.number != (URZ if operand.uniform else RZ):
            self.cells[core.TO] = operand.number + UNIFORM_ROW * operand.uniform
            self.cells[core.TO_HIGH] = self.register(operand, 1) if wide else core.NO_DESTINATION

    def register(self, operand: Register, part: int = 0) -> int:
        """
        Return the row of a register, or of one behind it; the zero register has none behind it.

        Raises:
            Refused: The one behind it is the zero register.
        """
        zero = URZ if operand.uniform else RZ
        if operand.number < zero <= operand.number + part:
            raise Refused(f"the register behind {operand} is the zero register")
        return operand.number + (part if operand.number != zero else 0) + UNIFORM_ROW * operand.uniform

    def place(self, operand: SassOperand, part: int = 0) -> int:
        """Return the source of an operand's word."""
        if isinstance(operand, Register):
            return self.register(operand, part)
        if isinstance(operand, Immediate):
            return self.words.immediate(operand.value if part == 0 else 0)
        if isinstance(operand, Constant):
            if operand.index is not None and operand.index.number != (URZ if operand.index.uniform else RZ):
                raise Refused(f"{operand} with an index is no source")
            return self.words.of_bank(operand.bank, operand.offset + WORD_BYTES * part)
        raise Refused(f"{operand} is no source")

    def source(self, column: int, role: str, *, negative: int = 0, positive: int = WORD, pair: bool = False) -> str:
        """
        Set a source.

        Args:
            column: FROM_A, FROM_B or FROM_C.
            role: Role of the operand.
            negative: Bits that a sign flips; 0 if the operand may have none but "~".
            positive: Bits that an absolute value keeps.
            pair: The source has 64 bits, an immediate its high word.

        Returns:
            The operand's sign: "", "-" or "~".
        """
        operand = self.sass.operands[role]
        if pair and isinstance(operand, Immediate):
            self.cells[column] = RZ
            self.cells[column + core.HIGHS] = self.words.immediate(operand.value)
            return ""
        self.cells[column] = self.place(operand)
        if pair:
            self.cells[column + core.HIGHS] = self.place(operand, 1)
        if not isinstance(operand, Register | Constant):
            return ""
        if operand.absolute:
            if positive == WORD:
                raise Refused(f"the absolute value of {operand} is not read")
            self.cells[column + core.KEEPS] = positive
        if operand.sign == "~":
            self.cells[column + core.FLIPS] = WORD
        elif operand.sign == "-":
            if not negative:
                raise Refused(f"the negative of {operand} is not read")
            self.cells[column + core.FLIPS] = negative
        return operand.sign

    def addend(self, column: int, role: str) -> int:
        """Set a source of a sum, whose negative is its inverse plus one; return that one."""
        return int(role in self.sass.operands and self.source(column, role, negative=WORD) == "-")


Make = Callable[[RowMaker], None]


def rows_of(
    code: bytes, architecture: int, words: ConstantWords, makers: Mapping[str, Make]
) -> tuple[IntArray, list[Sass | None], dict[int, str]]:
    """
    Turn a kernel's text into rows.

    Args:
        code: Whole instructions of 16 bytes.
        architecture: Compute capability of the target as 10 * major + minor.
        words: Where constants lie; immediates are added.
        makers: What makes the row of an opcode, by name.

    Returns:
        The rows, one behind the other; the decoded instructions, None where one cannot be decoded; and for each
        instruction that is not executed the reason.
    """
    rows: list[IntArray] = []
    decoded: list[Sass | None] = []
    refused: dict[int, str] = {}
    for at in range(0, len(code), INSTRUCTION_BYTES):
        word = int.from_bytes(code[at : at + INSTRUCTION_BYTES], "little")
        number = at // INSTRUCTION_BYTES
        try:
            sass = decode_word(word, at, architecture)
        except Unsupported as error:
            decoded.append(None)
            refused[number] = str(error)
            rows.append(_refused_row())
            continue
        decoded.append(sass)
        row = RowMaker(sass, words)
        try:
            make = makers.get(sass.name)
            if make is None:
                raise Refused(f"{sass.name} is not executed")  # noqa: TRY301 - the same handler
            make(row)
            row.settle()
            if wrong := beyond_registers(row.cells):
                raise Refused(wrong)  # noqa: TRY301 - the same handler
            rows.append(row.cells)
        except (Refused, KeyError, IndexError, ValueError, TypeError, OverflowError) as error:
            what = str(error) if isinstance(error, Refused) else "this form is not executed"
            refused[number] = f"text {sass}: {what}"
            cells = _refused_row()
            cells[core.GUARD : core.GUARD_FLIP + 1] = row.cells[core.GUARD : core.GUARD_FLIP + 1]
            rows.append(cells)
    return np.concatenate(rows), decoded, refused


def _refused_row() -> IntArray:
    cells = np.zeros(core.ROW, dtype=np.int64)
    cells[core.KIND], cells[core.GUARD] = core.REFUSED, PT
    return cells
