"""Parses layouts, swizzles and their compositions in the printed forms of CuTe and CuTe DSL."""

import re
from dataclasses import dataclass

from gpusim.errors import BadInput
from gpusim.layout.cute import IntTuple, Layout, Swizzle

_SWIZZLE = re.compile(r"(?:Swizzle|Sw|S)<\s*(-?\d{1,9})\s*,\s*(-?\d{1,9})\s*,\s*(-?\d{1,9})\s*>")
_TUPLE_TOKEN = re.compile(r"\s*(?:_?(\d{1,9})|([(),]))")
_COMPOSED = re.compile(r"\s+o\s+")
_POINTER = re.compile(r"smem_ptr\[(\d{1,9})b\]\([^)]*\)")
_ZERO = re.compile(r"_?0")
_MOST_DIGITS = 9


@dataclass(frozen=True, slots=True)
class Composition:
    """
    A swizzle over a layout, as printed.

    Attributes:
        swizzle: The swizzle; with ``pointer_bits`` it acts on byte addresses, else on element offsets.
        layout: The layout; None if only a swizzle was given.
        pointer_bits: Element width of ``smem_ptr[16b]``; None
            if the text has none.
    """

    swizzle: Swizzle
    layout: Layout | None
    pointer_bits: int | None = None


def is_printed(text: str) -> bool:
    """Return whether a text looks like a layout or a swizzle in CuTe's printed form."""
    return bool(_SWIZZLE.match(text)) or (":" in text and "::" not in text)


def parse_swizzle(text: str) -> Swizzle:
    """
    Parse ``Swizzle<B,M,S>``, or ``Sw<B,M,S>`` and ``S<B,M,S>`` as CuTe and CuTe DSL print it.

    Raises:
        BadInput: The text is not of that form, or not a legal swizzle.
    """
    match = _SWIZZLE.fullmatch(text.strip())
    if match is None:
        raise BadInput(f"swizzle must read Swizzle<B,M,S> with three integers, got {text!r}")
    if any(len(part) > _MOST_DIGITS for part in match.groups()):
        raise BadInput(f"swizzle must have integers of at most {_MOST_DIGITS} digits, got {text!r}")
    return Swizzle(*map(int, match.groups()))


def parse_layout(text: str) -> Layout:
    """
    Parse a layout in CuTe's printed form: ``(8,64):(64,1)``, ``((_4,_2),_64):((_64,_512),_1)``, ``32:1``.

    Raises:
        BadInput: The text is not of that form, or shape and stride do not agree.
    """
    shape, colon, stride = text.partition(":")
    if not colon:
        raise BadInput(f"layout must read SHAPE:STRIDE, as (8,64):(64,1), got {text!r}")
    return Layout(_parse_tuple(shape, text), _parse_tuple(stride, text))


def parse_shape(text: str) -> IntTuple:
    """
    Parse a shape in CuTe's printed form: ``(_128,_32)``, ``(8,(4,2))``, ``32``.

    Raises:
        BadInput: The text is not of that form.
    """
    return _parse_tuple(text, text)


def parse_composition(text: str) -> Composition:
    """
    Parse a composed layout.

    These are understood: ``Sw<3,4,3> o smem_ptr[16b](unset) o (_8,_64):(_64,_1)``, where the swizzle acts on byte
    addresses; ``Sw<3,3,3> o _0 o (_8,_64):(_64,_1)`` and ``Swizzle<3,3,3> o (8,64):(64,1)``, where it acts on element
    offsets; a swizzle or a layout alone.

    Raises:
        BadInput: The text is not of that form, or its offset is not 0.
    """
    first, *rest = _COMPOSED.split(text.strip())
    if not rest and not _SWIZZLE.match(first):
        return Composition(Swizzle(bits=0, base=0, shift=0), parse_layout(first))
    swizzle = parse_swizzle(first)
    if not rest:
        return Composition(swizzle, None)
    *between, layout = rest
    bits = None
    for part in between:
        if pointer := _POINTER.fullmatch(part):
            bits = int(pointer[1])
        elif not _ZERO.fullmatch(part):
            raise BadInput(f"between swizzle and layout must stand _0 or smem_ptr[16b](unset), got {part!r}")
    return Composition(swizzle, parse_layout(layout), bits)


def _parse_tuple(part: str, whole: str) -> IntTuple:
    opened: list[list[IntTuple]] = [[]]
    expects_value = True
    position = 0
    part = part.strip()
    while position < len(part):
        token = _TUPLE_TOKEN.match(part, position)
        if token is None:
            break
        position = token.end()
        match token[2] or token[1]:
            case "(" if expects_value:
                opened.append([])
            case ")" if not expects_value and len(opened) > 1:
                closed = tuple(opened.pop())
                opened[-1].append(closed)
            case "," if not expects_value and len(opened) > 1:
                expects_value = True
            case digits if digits.isdigit() and expects_value and len(digits) <= _MOST_DIGITS:
                opened[-1].append(int(digits))
                expects_value = False
            case _:
                break
    else:
        if len(opened) == 1 and len(opened[0]) == 1:
            return opened[0][0]
    raise BadInput(f"layout must read SHAPE:STRIDE, as (8,64):(64,1), got {whole!r}")
