"""Reads fields of 128-bit instruction words, and defines the result of decoding one; knows no opcode."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from gpusim.lower.sass.operands import SassOperand


class UnknownOpcode(Exception):
    """The opcode of an instruction word, or the value of one of its fields, is not known."""


FIRST_HOPPER = 90
"""Compute capability from which some opcodes have other fields, as 10 * major + minor."""

OPERATION_BITS = range(16, 105)
"""Bits of an instruction's modifiers and operands. The opcode and the guard are below, the control field above."""


@dataclass(slots=True)
class Word:
    """
    The bits of one instruction, and a mask of the bits that were read.

    Attributes:
        value: The 128 bits.
        address: Byte address in the kernel's text.
        architecture: Compute capability of the target as 10 * major + minor.
        read: Mask of the bits of ``value`` that were read.
    """

    value: int
    address: int
    architecture: int
    read: int = 0

    def bits(self, low: int, width: int) -> int:
        """Return an unsigned field of ``width`` bits from bit ``low``."""
        field = (1 << width) - 1
        self.read |= field << low
        return self.value >> low & field

    def signed(self, low: int, width: int) -> int:
        """Return a two's-complement field of ``width`` bits from bit ``low``."""
        value = self.bits(low, width)
        return value - (1 << width) if value >> width - 1 else value

    def flag(self, bit: int) -> bool:
        """Return one bit."""
        self.read |= 1 << bit
        return bool(self.value >> bit & 1)

    def require_read(self, name: str, idle: int) -> None:
        """
        Check that every unread bit has its idle value.

        Args:
            name: The opcode, for the message.
            idle: Value of the bits that the opcode's other forms use.

        Raises:
            UnknownOpcode: An unread bit differs from ``idle``. The message names the bits.
        """
        if (self.value ^ idle) & ~self.read & _OPERATION:
            odd = [str(bit) for bit in OPERATION_BITS if (self.value ^ idle) & ~self.read & 1 << bit]
            raise UnknownOpcode(
                f"{name} with {self.value & ~self.read & _OPERATION:#x} in bits {', '.join(odd)} is not known"
            )


@dataclass(frozen=True, slots=True)
class Operation:
    """
    A decoded instruction word without its guard and control field.

    Attributes:
        mnemonic: Opcode with its modifiers.
        operands: Operands by role, in the order they are written.
        shown: Roles that the text shows.
        uniform: The guard is a uniform predicate.
    """

    mnemonic: str
    operands: dict[str, SassOperand]
    shown: tuple[str, ...]
    uniform: bool = False


_OPERATION = sum(1 << bit for bit in OPERATION_BITS)

Modifiers: TypeAlias = Callable[[Word], list[str]]


def optional(text: str) -> list[str]:
    """Return ``[text]``, or an empty list if the text is empty."""
    return [text] if text else []


def when(flag: bool, text: str) -> list[str]:
    """Return ``[text]`` if the flag is set and the text is not empty, otherwise an empty list."""
    return [text] if flag and text else []
