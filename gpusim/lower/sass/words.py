"""Reads fields of 128-bit instruction words, and defines what decoding one gives; knows no opcode."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from gpusim.lower.sass.operands import SassOperand


class UnknownOpcode(Exception):
    """The opcode of an instruction word, or the value of one of its fields, is not known."""


@dataclass(frozen=True, slots=True)
class Word:
    """
    The bits of one instruction.

    Attributes:
        value: The 128 bits.
        address: Byte address in the kernel's text.
        architecture: Compute capability of the target as 10 * major + minor.
    """

    value: int
    address: int
    architecture: int

    def bits(self, low: int, width: int) -> int:
        """Return an unsigned field of ``width`` bits from bit ``low``."""
        return self.value >> low & (1 << width) - 1

    def signed(self, low: int, width: int) -> int:
        """Return a two's-complement field of ``width`` bits from bit ``low``."""
        value = self.bits(low, width)
        return value - (1 << width) if value >> width - 1 else value

    def flag(self, bit: int) -> bool:
        """Return one bit."""
        return bool(self.value >> bit & 1)


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


Modifiers: TypeAlias = Callable[[Word], list[str]]


def optional(text: str) -> list[str]:
    """Return ``[text]``, or an empty list if the text is empty."""
    return [text] if text else []


def when(flag: bool, text: str) -> list[str]:
    """Return ``[text]`` if the flag is set and the text is not empty, otherwise an empty list."""
    return [text] if flag and text else []
