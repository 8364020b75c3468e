"""A 128-bit instruction word's fields, and what decoding one gives; knows no opcode."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from gpusim.lower.sass.operands import SassOperand


class UnknownOpcode(Exception):
    """The word's opcode has no entry in the table."""


@dataclass(frozen=True, slots=True)
class Word:
    """One instruction's bits, where it lies, and the architecture it is for."""

    value: int
    address: int
    architecture: int

    def bits(self, low: int, width: int) -> int:
        """An unsigned field."""
        return self.value >> low & (1 << width) - 1

    def signed(self, low: int, width: int) -> int:
        """A two's-complement field."""
        value = self.bits(low, width)
        return value - (1 << width) if value >> width - 1 else value

    def flag(self, bit: int) -> bool:
        """One bit."""
        return bool(self.value >> bit & 1)


@dataclass(frozen=True, slots=True)
class Operation:
    """
    What a word says apart from guard and control field. The other fields are those of ``sass.Sass``.

    Attributes:
        uniform: Its guard is a uniform predicate.
    """

    mnemonic: str
    operands: dict[str, SassOperand]
    shown: tuple[str, ...]
    uniform: bool = False


Modifiers: TypeAlias = Callable[[Word], list[str]]


def optional(text: str) -> list[str]:
    """A modifier that is written only if it has a name."""
    return [text] if text else []


def when(flag: bool, text: str) -> list[str]:
    """A modifier that is there or not."""
    return [text] if flag and text else []
