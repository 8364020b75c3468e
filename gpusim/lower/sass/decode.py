"""Decodes sm_75 to sm_90 machine code: 128-bit words to mnemonic, operands and control field; knows no kernel."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

from gpusim.errors import Unsupported
from gpusim.lower.sass.opcodes.table import decode_operation
from gpusim.lower.sass.operands import PT, Predicate, SassOperand
from gpusim.lower.sass.words import UnknownOpcode
from gpusim.lower.stream import INSTRUCTION_BYTES

OperandT = TypeVar("OperandT")

BRANCHES_OF_REGISTERS = frozenset({"BRX", "CALL", "RET"})
"""Opcodes whose target is the sum of a register and an address. The text has a blank between them."""

NO_BARRIER = 7
"""Value of the control field's read or write scoreboard that means none."""


@dataclass(frozen=True, slots=True)
class Control:
    """
    The control field: how the assembler schedules the instruction.

    Attributes:
        stall: Cycles to the warp's next instruction (0 to 15).
        yield_: The yield bit. If it is set, the hint to switch to another warp is off.
        write: Scoreboard held until the result is written, 7 for none.
        read: Scoreboard held until the sources are read, 7 for none.
        wait_mask: Scoreboards to wait for; bit s stands for scoreboard s.
        reuse: Operand slots kept in the reuse cache, one bit each.

    Source: Jia et al. 2018, section 2.1; Huerta et al., MICRO'25; maxas and CuAssembler documentation.
    """

    stall: int
    yield_: bool
    write: int
    read: int
    wait_mask: int
    reuse: int

    def __str__(self) -> str:
        wait = "".join(str(s) if self.wait_mask >> s & 1 else "-" for s in range(6))
        write = "-" if self.write == NO_BARRIER else str(self.write)
        read = "-" if self.read == NO_BARRIER else str(self.read)
        return f"B{wait}:R{read}:W{write}:{'-' if self.yield_ else 'Y'}:S{self.stall:02d}"


@dataclass(frozen=True, slots=True)
class Sass:
    """
    One machine instruction.

    Attributes:
        address: Byte address within the kernel's text.
        mnemonic: Opcode with its modifiers, "IMAD.WIDE.U32".
        guard: The predicate under which it executes.
        operands: Operands by role, in the order they are written. ``opcodes.regular`` and ``opcodes.irregular`` list
            the roles.
        shown: Roles that the text shows.
        control: The control field.
    """

    address: int
    mnemonic: str
    guard: Predicate
    operands: Mapping[str, SassOperand]
    shown: tuple[str, ...]
    control: Control

    @property
    def name(self) -> str:
        """The opcode without modifiers."""
        return self.mnemonic.partition(".")[0]

    @property
    def modifiers(self) -> tuple[str, ...]:
        """The modifiers, in order."""
        return tuple(self.mnemonic.split(".")[1:])

    def operand(self, role: str, kind: type[OperandT]) -> OperandT:
        """
        Return the operand in a role.

        Args:
            role: Role of the operand.
            kind: Class that the operand must have.

        Raises:
            TypeError: The operand is of another class.
        """
        operand = self.operands[role]
        if not isinstance(operand, kind):
            raise TypeError(f"{self}: {role} must be a {kind.__name__}, got {operand!r}")
        return operand

    @property
    def text(self) -> str:
        """Guard, mnemonic and operands, as a disassembler writes them."""
        guard = "" if self.guard == Predicate(PT, self.guard.uniform) else f"@{self.guard} "
        listed = ", ".join(str(self.operands[role]) for role in self.shown)
        if self.name in BRANCHES_OF_REGISTERS:
            listed = listed.replace(", ", " ")
        return f"{guard}{self.mnemonic}{' ' if listed else ''}{listed}"

    def __str__(self) -> str:
        return f"{self.address:#06x} {self.text}"


ARCHITECTURES = range(75, 91)
"""Compute capabilities, 10 * major + minor, whose machine code can be decoded."""


def require_decoded(architecture: int) -> None:
    """
    Check that the machine code of a target can be decoded.

    Args:
        architecture: Compute capability of the target as 10 * major + minor.

    Raises:
        Unsupported: It cannot.
    """
    if architecture not in ARCHITECTURES:
        first, last = ARCHITECTURES[0], ARCHITECTURES[-1]
        raise Unsupported(f"machine code of sm_{first} to sm_{last} can be decoded, got sm_{architecture}")


def decode(code: bytes, architecture: int) -> tuple[Sass, ...]:
    """
    Decode a kernel's text section.

    Args:
        code: Whole instructions of 16 bytes.
        architecture: 10 * major + minor of the target, 75 to 90.

    Raises:
        Unsupported: The architecture is not one of these, or an opcode is unknown. The message has address and word.
    """
    require_decoded(architecture)
    return tuple(
        decode_word(int.from_bytes(code[at : at + INSTRUCTION_BYTES], "little"), at, architecture)
        for at in range(0, len(code), INSTRUCTION_BYTES)
    )


def decode_word(word: int, address: int, architecture: int) -> Sass:
    """
    Decode one 128-bit instruction.

    Args:
        word: The instruction.
        address: Byte address of the instruction in the text section.
        architecture: Compute capability of the target as 10 * major + minor.

    Raises:
        Unsupported: The opcode is unknown, or one of its bits. The message has the word.
    """
    try:
        operation = decode_operation(word, address, architecture)
    except (UnknownOpcode, LookupError) as error:
        what = str(error) if isinstance(error, UnknownOpcode) else "the value of a field is not known"
        raise Unsupported(f"text {address:#06x}: {what} (word {word:032x})") from error
    guard = Predicate(word >> 12 & 7, operation.uniform, bool(word >> 15 & 1))
    return Sass(address, operation.mnemonic, guard, operation.operands, operation.shown, control_field(word))


def control_field(word: int) -> Control:
    """Return the control field of a 128-bit instruction: bits 105 to 125."""
    return Control(
        stall=word >> 105 & 0xF,
        yield_=bool(word >> 109 & 1),
        write=word >> 110 & 7,
        read=word >> 113 & 7,
        wait_mask=word >> 116 & 0x3F,
        reuse=word >> 122 & 0xF,
    )
