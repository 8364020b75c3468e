"""Names of shared layouts, as a scenario or the command line writes them, and the layout each name stands for."""

import re
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from gpusim.errors import BadInput
from gpusim.layout.congruous import CongruousLayout
from gpusim.layout.crosswise import CrosswiseLayout, line_elements
from gpusim.layout.cute import Layout, Swizzle, SwizzledLayout, parse_layout, parse_swizzle, row_major
from gpusim.layout.linear import PaddedLayout
from gpusim.layout.shared import ELEMENT_BITS, SharedLayout
from gpusim.units import VECTOR_BITS


@dataclass(frozen=True, slots=True)
class CrosswiseSpec:
    """``crosswise`` or ``crosswise<bits,crosswise>``. None stands for the operand's element bits, or its K extent."""

    element_bits: int | None = None
    crosswise: int | None = None


@dataclass(frozen=True, slots=True)
class CongruousSpec:
    """``congruous`` or ``congruous<bits,crosswise>``. None stands for the operand's element bits, or a whole line."""

    element_bits: int | None = None
    crosswise: int | None = None


@dataclass(frozen=True, slots=True)
class PaddedSpec:
    """``padded<N>``: rows with N elements of padding. ``row_major`` is N = 0."""

    padding: int


@dataclass(frozen=True, slots=True)
class CuteSpec:
    """``Swizzle<B,M,S>`` over a row-major stage, or over a stated SHAPE:STRIDE with modes (strided, contiguous)."""

    swizzle: Swizzle
    layout: Layout | None = None


LayoutSpec: TypeAlias = CrosswiseSpec | CongruousSpec | PaddedSpec | CuteSpec

IDENTITY = Swizzle(bits=0, base=0, shift=0)

_PLAIN: dict[str, LayoutSpec] = {
    "crosswise": CrosswiseSpec(),
    "congruous": CongruousSpec(),
    "row_major": PaddedSpec(0),
}
_MULTIPLICAND = re.compile(
    r"(?:\w+::)*(?:TensorOpMultiplicand(Crosswise|Congruous)|(crosswise|congruous))<\s*(\d+)\s*,\s*(\d+)\s*>"
)
_PADDED = re.compile(r"padded<\s*(\d+)\s*>")


def layout_names() -> tuple[str, ...]:
    """Return the names a scenario may give a shared layout, where N, B, M and S stand for integers."""
    return ("crosswise", "congruous", "row_major", "padded<N>", "Swizzle<B,M,S>")


def parse_layout_spec(text: str) -> LayoutSpec:
    """
    Parse the name of a layout.

    Besides ``layout_names()``, these are understood:

    - ``crosswise<16,64>`` and ``congruous<16,64>`` (element bits, crosswise elements);
    - CUTLASS's own ``TensorOpMultiplicandCrosswise<16, 64>`` and ``TensorOpMultiplicandCongruous<16, 64>``;
    - a CuTe layout ``(8,64):(64,1)``, and a swizzle over one, ``Swizzle<3,3,3> o (8,64):(64,1)``.

    Raises:
        BadInput: Names the text and what is allowed.
    """
    name = text.strip()
    if name in _PLAIN:
        return _PLAIN[name]
    if match := _MULTIPLICAND.fullmatch(name):
        kind = CrosswiseSpec if (match[1] or match[2]).lower() == "crosswise" else CongruousSpec
        return kind(int(match[3]), int(match[4]))
    if match := _PADDED.fullmatch(name):
        return PaddedSpec(int(match[1]))
    if name.startswith("Swizzle<"):
        swizzle, composed, layout = name.partition(" o ")
        return CuteSpec(parse_swizzle(swizzle), parse_layout(layout) if composed else None)
    if ":" in name:
        return CuteSpec(IDENTITY, parse_layout(name))
    raise BadInput(f"shared layout must be one of {', '.join(layout_names())}, got {text!r}")


def shared_layout(
    name: str, element_bits: int, contiguous: int, strided: int, stages: int, *, vector_bits: int = VECTOR_BITS
) -> SharedLayout:
    """
    Build the layout a name stands for, with the extents of one operand.

    Args:
        name: A layout's name, read by ``parse_layout_spec``.
        element_bits: Width of one element.
        contiguous: Extent of one stage along the contiguous dimension, in elements.
        strided: Extent along the other dimension, in elements.
        stages: Stages of the shared-memory ring.
        vector_bits: Narrowest run of bits that must stay contiguous and aligned: 128 for cp.async and ldmatrix.

    Returns:
        A layout that gives every coordinate of every stage its own offset.

    Raises:
        BadInput: Names the value and what is allowed.
    """
    spec = parse_layout_spec(name)
    vector = max(1, vector_bits // max(element_bits, 1))
    extents = (element_bits, contiguous, strided, stages)
    _check_extents(name, extents, vector, vector_bits)
    match spec:
        case CrosswiseSpec(bits, crosswise):
            _check_bits(name, bits, element_bits)
            return CrosswiseLayout(*extents, crosswise=crosswise or contiguous)
        case CongruousSpec(bits, crosswise):
            _check_bits(name, bits, element_bits)
            line = line_elements(element_bits)
            if crosswise not in (None, line):
                raise BadInput(f"{name}: crosswise must be {line}, a whole 128-byte line, got {crosswise}")
            return CongruousLayout(*extents)
        case PaddedSpec(padding):
            if padding % vector:
                raise BadInput(
                    f"{name}: padding must be a multiple of {vector} elements of {element_bits} bits, so that rows "
                    f"start at {vector_bits}-bit vectors, got {padding}"
                )
            return PaddedLayout(*extents, padding=padding)
        case CuteSpec(swizzle, layout):
            return _cute_layout(name, extents, vector, swizzle, layout or row_major(strided, contiguous))


def _check_extents(name: str, extents: tuple[int, int, int, int], vector: int, vector_bits: int) -> None:
    element_bits, contiguous, strided, stages = extents
    if element_bits not in ELEMENT_BITS:
        raise BadInput(f"{name}: element bits must be one of {', '.join(map(str, ELEMENT_BITS))}, got {element_bits}")
    for what, value in (("contiguous extent", contiguous), ("strided extent", strided), ("stages", stages)):
        if value < 1:
            raise BadInput(f"{name}: {what} must be at least 1, got {value}")
    if contiguous % vector:
        raise BadInput(
            f"{name}: contiguous extent must be a multiple of {vector} elements of {element_bits} bits "
            f"({vector_bits}-bit vectors), got {contiguous}"
        )


def _check_bits(name: str, bits: int | None, element_bits: int) -> None:
    if bits not in (None, element_bits):
        raise BadInput(f"{name}: element bits must be those of the operand, {element_bits}, got {bits}")


def _cute_layout(
    name: str, extents: tuple[int, int, int, int], vector: int, swizzle: Swizzle, layout: Layout
) -> SwizzledLayout:
    if swizzle.bits and 1 << swizzle.base < vector:
        raise BadInput(
            f"{name}: M must be at least {vector.bit_length() - 1}, so that {vector} elements stay together, "
            f"got {swizzle.base}"
        )
    composed = SwizzledLayout(*extents, swizzle=swizzle, layout=layout)
    offsets = composed.offset(np.arange(composed.contiguous), np.arange(composed.strided)[:, np.newaxis])
    vectors = offsets.reshape(-1, vector)
    if np.any(vectors[:, 0] % vector) or np.any(np.diff(vectors) != 1):
        raise BadInput(f"{name}: {layout} must keep vectors of {vector} contiguous elements together and aligned")
    if np.unique(offsets).size != offsets.size:
        raise BadInput(f"{name}: {layout} gives two coordinates the same offset")
    return composed
