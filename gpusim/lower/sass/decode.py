"""Decodes sm_75 to sm_90 machine code: 128-bit words to mnemonic, operands and control field; knows no kernel."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

from gpusim.errors import BadInput
from gpusim.lower.sass.opcodes import decode_operation
from gpusim.lower.sass.operands import PT, Predicate, SassOperand
from gpusim.lower.sass.words import UnknownOpcode
from gpusim.lower.stream import INSTRUCTION_BYTES

OperandT = TypeVar("OperandT")

NO_BARRIER = 7
"""What a scoreboard field of the control field says when it names none."""


@dataclass(frozen=True, slots=True)
class Control:
    """
    The control field: how the assembler schedules the instruction.

    Attributes:
        stall: Cycles to the warp's next instruction (0 to 15).
        yield_: The assembler's hint to switch to another warp is off when set.
        write: Scoreboard set until the result is written, 7 for none.
        read: Scoreboard set until the sources are read, 7 for none.
        wait_mask: Scoreboards (bits) to wait for.
        reuse: SassOperand slots kept in the reuse cache (bits).

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
        operands: Role -> operand (``sass_opcodes`` names the roles), in the order they are written.
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
        The operand in a role, of the kind that the opcode table puts there.

        Raises:
            TypeError: It is of another kind.
        """
        operand = self.operands[role]
        if not isinstance(operand, kind):
            raise TypeError(f"{self}: {role} must be a {kind.__name__}, got {operand!r}")
        return operand

    @property
    def text(self) -> str:
        """As a disassembler writes it."""
        guard = "" if self.guard == Predicate(PT, self.guard.uniform) else f"@{self.guard} "
        listed = ", ".join(str(self.operands[role]) for role in self.shown)
        return f"{guard}{self.mnemonic}{' ' if listed else ''}{listed}"

    def __str__(self) -> str:
        return f"{self.address:#06x} {self.text}"


def decode(code: bytes, architecture: int) -> tuple[Sass, ...]:
    """
    Decode a kernel's text section.

    Args:
        code: Whole instructions of 16 bytes.
        architecture: 10 * major + minor of the target, 75 to 90.

    Raises:
        BadInput: The architecture is not one of those, or an opcode is unknown; names the address and the word.
    """
    if not 75 <= architecture <= 90:
        raise BadInput(f"architecture: machine code of sm_75 to sm_90 can be decoded, got sm_{architecture}")
    return tuple(
        decode_word(int.from_bytes(code[at : at + INSTRUCTION_BYTES], "little"), at, architecture)
        for at in range(0, len(code), INSTRUCTION_BYTES)
    )


def decode_word(word: int, address: int, architecture: int) -> Sass:
    """Decode one 128-bit instruction at a byte address of the text."""
    try:
        operation = decode_operation(word, address, architecture)
    except UnknownOpcode as error:
        raise BadInput(f"text {address:#06x}: {error} (word {word:032x})") from error
    guard = Predicate(word >> 12 & 7, operation.uniform, bool(word >> 15 & 1))
    return Sass(address, operation.mnemonic, guard, operation.operands, operation.shown, control_field(word))


def control_field(word: int) -> Control:
    """The control field of a 128-bit instruction: bits 105 to 125."""
    return Control(
        stall=word >> 105 & 0xF,
        yield_=bool(word >> 109 & 1),
        write=word >> 110 & 7,
        read=word >> 113 & 7,
        wait_mask=word >> 116 & 0x3F,
        reuse=word >> 122 & 0xF,
    )
