"""Defines opcodes that have fields of their own, and reads the fields that several of them share; names no opcode.

Roles beyond those of ``opcodes.regular``: ``m`` memory address, ``s`` shared-memory address of a copy, ``t`` branch
target, ``n`` special register, scoreboard or convergence barrier, ``v`` stored data. A compare and swap compares memory
with ``v`` and stores ``w``. A branch with a register ``a`` goes to the register's value plus ``t``.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from gpusim.lower.sass.operands import Predicate, Register, SassOperand
from gpusim.lower.sass.words import Word

Fields: TypeAlias = Callable[[Word], dict[str, SassOperand]]


@dataclass(frozen=True, slots=True)
class Irregular:
    """
    An opcode that bits 0 to 11 identify, with fields of its own.

    Attributes:
        modifiers: Returns the modifiers that a word has.
        operands: Returns the operands of a word by role.
        hidden: Roles of predicates that the text leaves out if they are always true.
        uniform: The guard is a uniform predicate.
        idle: Required value of the bits that only other forms of the opcode use.
        hopper: Name of the opcode on sm_90, if it is another.
    """

    modifiers: Callable[[Word], list[str]]
    operands: Fields
    hidden: str = ""
    uniform: bool = False
    idle: int = 0
    hopper: str = ""


def destination(w: Word) -> Register:
    """Return the destination register."""
    return Register(w.bits(16, 8))


def data(w: Word) -> Register:
    """Return the register at bit 32: the data of a store, the second source of other opcodes."""
    return Register(w.bits(32, 8))


def predicate(w: Word, low: int, inverted: int | None = None, *, uniform: bool = False) -> Predicate:
    """Return the predicate at bit ``low``, inverted if bit ``inverted`` is set."""
    return Predicate(w.bits(low, 3), uniform, inverted is not None and w.flag(inverted))


def nothing(_: Word) -> dict[str, SassOperand]:
    """Return no operands."""
    return {}


def plain(_: Word) -> list[str]:
    """Return no modifiers."""
    return []


def fixed(*modifiers: str) -> Callable[[Word], list[str]]:
    """Return a function that returns these modifiers for every word."""
    return lambda _: list(modifiers)
