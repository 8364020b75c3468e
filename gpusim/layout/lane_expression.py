"""Integer expressions of the lane, as in CUDA code: ``lane % 8 * 64``. The grammar differs from Python's."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np

from gpusim.arrays import IntArray
from gpusim.errors import BadInput
from gpusim.units import WARP_SIZE

LANE_NAME: Final = "lane"
"""The name of a lane's number, 0 to 31."""

MOST_CHARACTERS: Final = 200
MOST_VALUE_BITS: Final = 31
"""Largest number of bits of an intermediate value, and largest distance of a shift."""

_TOKEN = re.compile(r"\s*(?:(?P<number>\d+)|(?P<name>[A-Za-z_]\w*)|(?P<sign><<|>>|//|[-+*/%&^|()]))")

_LEVELS: Final = (("|",), ("^",), ("&",), ("<<", ">>"), ("+", "-"), ("*", "/", "//", "%"))
"""Operators of C and Python, from the loosest to the tightest binding."""

Apply: TypeAlias = Callable[[IntArray, IntArray], IntArray]

_APPLY: Final[dict[str, Apply]] = {
    "|": np.bitwise_or,
    "^": np.bitwise_xor,
    "&": np.bitwise_and,
    "<<": np.left_shift,
    ">>": np.right_shift,
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.floor_divide,
    "//": np.floor_divide,
    "%": np.mod,
}


def lane_values(text: str) -> IntArray:
    """
    Return the value of an expression for each lane.

    It may contain integers, ``lane``, ``+ - * / // % << >> & ^ |`` and parentheses; precedence is that of C. ``/`` and
    ``//`` both divide integers and round down.

    Args:
        text: The expression.

    Returns:
        Values, shape [32].

    Raises:
        BadInput: It is not such an expression, divides by zero, or a value needs more than 31 bits; the message names
            the character at fault, counted from 1.
    """
    if len(text) > MOST_CHARACTERS:
        raise BadInput(f"an expression must have at most {MOST_CHARACTERS} characters, got {len(text)}")
    parser = _Parser(_tokens(text))
    values = parser.level(0)
    parser.end()
    return values


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    at: int


def _tokens(text: str) -> list[_Token]:
    tokens, place = [], 0
    stripped = text.rstrip()
    while place < len(stripped):
        match = _TOKEN.match(stripped, place)
        if match is None:
            at = place + len(stripped[place:]) - len(stripped[place:].lstrip())
            raise _refusal(at, f"an integer, {LANE_NAME}, an operator or a parenthesis", stripped[at])
        kind = str(match.lastgroup)
        tokens.append(_Token(kind, match[kind], match.start(kind)))
        place = match.end()
    return [*tokens, _Token("end", "", len(stripped))]


def _refusal(at: int, expected: str, found: str) -> BadInput:
    return BadInput(f"character {at + 1} must be {expected}, got {found!r}" if found else f"{expected} must follow")


class _Parser:
    """A precedence-climbing parser that evaluates while it parses."""

    def __init__(self, tokens: list[_Token]) -> None:
        self._tokens, self._place = tokens, 0

    def _next(self) -> _Token:
        return self._tokens[self._place]

    def _take(self) -> _Token:
        self._place += 1
        return self._tokens[self._place - 1]

    def end(self) -> None:
        """Refuse text after the expression."""
        token = self._next()
        if token.kind != "end":
            raise _refusal(token.at, "an operator", token.text)

    def level(self, level: int) -> IntArray:
        """Return the value of the next operand, with all operators that bind at least as tightly as ``level``."""
        if level == len(_LEVELS):
            return self._unary()
        value = self.level(level + 1)
        while self._next().text in _LEVELS[level]:
            operator = self._take()
            value = _applied(operator, value, self.level(level + 1))
        return value

    def _unary(self) -> IntArray:
        if self._next().text == "-":
            self._take()
            return -self._unary()
        return self._operand()

    def _operand(self) -> IntArray:
        token = self._take()
        if token.kind == "number":
            if len(token.text) > MOST_VALUE_BITS or int(token.text) >> MOST_VALUE_BITS:
                raise _refusal(token.at, f"an integer of at most {MOST_VALUE_BITS} bits", token.text)
            return np.full(WARP_SIZE, int(token.text), dtype=np.int64)
        if token.kind == "name" and token.text == LANE_NAME:
            return np.arange(WARP_SIZE, dtype=np.int64)
        if token.text == "(":
            value = self.level(0)
            closing = self._take()
            if closing.text != ")":
                raise _refusal(closing.at, "an operator or )", closing.text)
            return value
        raise _refusal(token.at, f"an integer, {LANE_NAME} or (", token.text)


def _applied(operator: _Token, left: IntArray, right: IntArray) -> IntArray:
    """Return the result of an operator; refuse an undefined shift or division."""
    where = f"the {operator.text} at character {operator.at + 1}"
    if operator.text in ("/", "//", "%") and not right.all():
        raise BadInput(f"{where} must not divide by 0, as for lane {int(np.argmin(right != 0))}")
    if operator.text in ("<<", ">>") and ((right < 0) | (right > MOST_VALUE_BITS)).any():
        raise BadInput(f"{where} must shift by 0 to {MOST_VALUE_BITS} bits")
    value = _APPLY[operator.text](left, right)
    if (np.abs(value) >> MOST_VALUE_BITS).any():
        raise BadInput(f"{where} must give at most {MOST_VALUE_BITS} bits")
    return value
