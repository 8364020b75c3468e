"""Names of shared layouts, as in scenarios and on the command line, and the layout of each name."""

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple, TypeAlias

import numpy as np

from gpusim.arguments import integer
from gpusim.arguments import text as text_of
from gpusim.errors import BadInput
from gpusim.layout.congruous import CongruousLayout
from gpusim.layout.crosswise import CrosswiseLayout, line_elements
from gpusim.layout.cute import WIDEST_OFFSET, Layout, Swizzle, SwizzledLayout, row_major
from gpusim.layout.gmma.names import GmmaSpec, is_gmma, parse_gmma
from gpusim.layout.gmma.tile import tile_to_shape
from gpusim.layout.linear import PaddedLayout
from gpusim.layout.printed import is_printed, parse_composition
from gpusim.layout.shared import ELEMENT_BITS, SharedLayout
from gpusim.units import VECTOR_BITS


@dataclass(frozen=True, slots=True)
class CrosswiseSpec:
    """``crosswise`` or ``crosswise<bits,crosswise>``. None means the operand's element bits, or its K extent."""

    element_bits: int | None = None
    crosswise: int | None = None


@dataclass(frozen=True, slots=True)
class CongruousSpec:
    """``congruous`` or ``congruous<bits,crosswise>``. None means the operand's element bits, or a whole line."""

    element_bits: int | None = None
    crosswise: int | None = None


@dataclass(frozen=True, slots=True)
class PaddedSpec:
    """``padded<N>``: rows with N elements of padding. ``row_major`` is N = 0."""

    padding: int


@dataclass(frozen=True, slots=True)
class CuteSpec:
    """
    ``Swizzle<B,M,S>`` over a row-major stage, or over a stated SHAPE:STRIDE.

    Attributes:
        swizzle: The swizzle, of element offsets.
        layout: The stated layout, None for a row-major stage.
        pointer_bits: Element width if CuTe applies the swizzle to the bytes of a pointer, else None.
    """

    swizzle: Swizzle
    layout: Layout | None = None
    pointer_bits: int | None = None


LayoutSpec: TypeAlias = CrosswiseSpec | CongruousSpec | PaddedSpec | CuteSpec | GmmaSpec

_PLAIN: dict[str, LayoutSpec] = {
    "crosswise": CrosswiseSpec(),
    "congruous": CongruousSpec(),
    "row_major": PaddedSpec(0),
    "RowMajor": PaddedSpec(0),
    "ColumnMajor": PaddedSpec(0),
}
_MULTIPLICAND = re.compile(
    r"(?:(?:Row|Column)?(?:Major)?TensorOpMultiplicand(Crosswise|Congruous)|(crosswise|congruous))"
    r"<\s*(\d{1,9})\s*,\s*(\d{1,9})\s*>"
)
_NAMESPACE = re.compile(r"(?:::)?(?:\w+::)+")
_CUTLASS_NAMES = (
    "RowMajor, ColumnMajor, {RowMajor,ColumnMajor,}TensorOpMultiplicandCrosswise<bits,crosswise> and "
    "{RowMajor,ColumnMajor,}TensorOpMultiplicandCongruous<bits,crosswise>"
)
_PADDED = re.compile(r"padded<\s*(\d{1,9})\s*>")


def layout_names() -> tuple[str, ...]:
    """Return the names of shared layouts in a scenario, with N, B, M and S for integers."""
    return ("crosswise", "congruous", "row_major", "padded<N>", "Swizzle<B,M,S>")


def parse_layout_spec(text: str) -> LayoutSpec:
    """
    Parse the name of a layout.

    Besides ``layout_names()``, these are understood:

    - ``crosswise<16,64>`` and ``congruous<16,64>`` (element bits, crosswise elements);
    - CUTLASS's own ``TensorOpMultiplicandCrosswise<16, 64>`` and ``TensorOpMultiplicandCongruous<16, 64>``, with or
      without ``cutlass::layout::`` and ``RowMajor`` or ``ColumnMajor`` before them, and ``cutlass::layout::RowMajor``;
    - a CuTe layout ``(8,64):(64,1)`` and a swizzle over one, as CuTe prints them:
      ``Sw<3,3,3> o _0 o (_8,_64):(_64,_1)``, ``Sw<3,4,3> o smem_ptr[16b](unset) o (_8,_64):(_64,_1)``;
    - CuTe's GMMA atoms, ``GMMA::Layout_K_SW128_Atom<f16>``, and tiles made of them (``parse_gmma``).

    Raises:
        BadInput: Names the text and what is allowed.
    """
    if is_gmma(text):
        return parse_gmma(text)
    name, of_cutlass = text.strip(), False
    if space := _NAMESPACE.match(name):
        name, of_cutlass = name[space.end() :], True
    if name in _PLAIN:
        return _PLAIN[name]
    if match := _MULTIPLICAND.fullmatch(name):
        kind = CrosswiseSpec if (match[1] or match[2]).lower() == "crosswise" else CongruousSpec
        return kind(int(match[3]), int(match[4]))
    if of_cutlass:
        raise BadInput(f"CUTLASS's shared layouts known here are {_CUTLASS_NAMES}, got {text!r}")
    if match := _PADDED.fullmatch(name):
        return PaddedSpec(int(match[1]))
    if is_printed(name):
        composed = parse_composition(name)
        bits = composed.pointer_bits
        swizzle = composed.swizzle if bits is None else composed.swizzle.of_elements(bits)
        return CuteSpec(swizzle, composed.layout, bits)
    raise BadInput(f"shared layout must be one of {', '.join(layout_names())}, got {text!r}")


@lru_cache(maxsize=1024)
def plain_name(text: str, element_bits: int, contiguous: int, strided: int) -> str:
    """
    Return the short name of a tile's layout that is written in CuTe's printed form.

    Packed rows are ``row_major``, rows with a gap ``padded<N>``, and a swizzle of packed rows ``Swizzle<B,M,S>``,
    however the modes are nested. CUTLASS's names lose their namespace. All other text is returned unchanged.

    Args:
        text: A layout's name.
        element_bits: Width of one element.
        contiguous: Contiguous extent of one stage, in elements.
        strided: Extent along the other dimension.
    """
    try:
        spec = parse_layout_spec(text)
        if not isinstance(spec, CuteSpec):
            return _without_namespace(text, spec, element_bits, contiguous)
        stated = spec.layout is not None or not text.startswith("Swizzle")
        return _rows_name(text, spec, element_bits, (contiguous, strided)) if stated else text
    except BadInput:
        return text


def _rows_name(text: str, spec: CuteSpec, element_bits: int, extents: tuple[int, int]) -> str:
    """Return the short name of a CuTe layout of rows, else the text."""
    contiguous, strided = extents
    stages = 1 if spec.layout is None or len(spec.layout.modes) < _MOST_MODES else spec.layout.modes[2].size
    layout = _cute_layout(text, (element_bits, contiguous, strided, stages), 1, spec)
    row, column = np.arange(strided)[:, np.newaxis], np.arange(contiguous)
    offsets = layout.layout.offset((row, column))
    apart = int(offsets[1, 0]) if strided > 1 else contiguous
    in_rows = apart >= contiguous and np.array_equal(offsets, row * apart + column)
    if not in_rows or spec.pointer_bits not in {None, element_bits} or (spec.swizzle.bits and apart > contiguous):
        return text
    if spec.swizzle.bits:
        return str(spec.swizzle)
    return f"padded<{apart - contiguous}>" if apart > contiguous else "row_major"


def _without_namespace(text: str, spec: LayoutSpec, element_bits: int, contiguous: int) -> str:
    """Return the short name of one of CUTLASS's names of a layout with these extents, else the text."""
    if "::" not in text:
        return text
    match spec:
        case PaddedSpec():
            return "row_major"
        case CrosswiseSpec(bits, crosswise) if (bits, crosswise) == (element_bits, contiguous):
            return "crosswise"
        case CongruousSpec(bits, crosswise) if (bits, crosswise) == (element_bits, line_elements(element_bits)):
            return "congruous"
    return text


class Extents(NamedTuple):
    """The extents that a layout's name states: elements of one stage along both dimensions, and stages."""

    contiguous: int
    strided: int
    stages: int


def stated_extents(name: str) -> Extents | None:
    """
    Return the extents that a layout's name states, or None if it states none.

    The contiguous mode is the one with the smaller stride among a CuTe layout's first two. A third mode is the stages.

    Raises:
        BadInput: The name is not a layout's, or its layout has more than three modes.
    """
    spec = parse_layout_spec(name)
    if isinstance(spec, GmmaSpec) and spec.shape is not None:
        mn, k, stages = spec.shape
        return Extents(k, mn, stages) if spec.atom.major == "K" else Extents(mn, k, stages)
    if not isinstance(spec, CuteSpec) or spec.layout is None:
        return None
    first, *others = spec.layout.modes
    if not others:
        return Extents(first.size, 1, 1)
    if len(others) > _MOST_MODES - 1:
        raise BadInput(f"{name}: must have two modes, or three with the stages last, got {len(others) + 1}")
    second, stages = others[0], others[1].size if len(others) > 1 else 1
    extents = (first.size, second.size) if _runs_along_first(first, second) else (second.size, first.size)
    return Extents(*extents, stages)


def stated_bits(name: str) -> int | None:
    """
    Return the width of an element that a layout's name states, or None if it states none.

    Raises:
        BadInput: The name is not a layout's.
    """
    match parse_layout_spec(name):
        case CrosswiseSpec(bits, _) | CongruousSpec(bits, _):
            return bits
        case CuteSpec(pointer_bits=bits):
            return bits
        case GmmaSpec(atom):
            return atom.element_bits
        case _:
            return None


_MOST_MODES = 3


def _runs_along_first(first: Layout, second: Layout) -> bool:
    """Return whether the first of two modes has the smaller stride. Modes of one coordinate do not count."""
    return _step(first) < _step(second)


def _step(mode: Layout) -> int:
    """Return the smallest stride of a mode, or a large number if the mode has only one coordinate."""
    strides = [stride for extent, stride in mode.flat_modes if extent > 1]
    return min(strides, default=1 << WIDEST_OFFSET)


def shared_layout(
    name: str, element_bits: int, contiguous: int, strided: int, stages: int, *, vector_bits: int = VECTOR_BITS
) -> SharedLayout:
    """
    Build the layout of a name, with the extents of one operand.

    Args:
        name: A layout's name, read by ``parse_layout_spec``.
        element_bits: Width of one element.
        contiguous: Extent of one stage along the contiguous dimension, in elements.
        strided: Extent along the other dimension, in elements.
        stages: Stages of the shared-memory ring.
        vector_bits: Width of the vectors that must stay contiguous and aligned: 128 for cp.async and ldmatrix.

    Returns:
        A layout that gives every coordinate of every stage its own offset.

    Raises:
        BadInput: Names the value and what is allowed.
    """
    spec = parse_layout_spec(text_of("name", name))
    element_bits, vector_bits = integer("element_bits", element_bits), integer("vector_bits", vector_bits)
    contiguous, strided = integer("contiguous", contiguous), integer("strided", strided)
    vector = max(1, vector_bits // max(element_bits, 1))
    extents = (element_bits, contiguous, strided, integer("stages", stages))
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
        case CuteSpec():
            if spec.pointer_bits is not None:
                _check_bits(name, spec.pointer_bits, element_bits)
            return _cute_layout(name, extents, vector, spec)
        case GmmaSpec():
            _check_bits(name, spec.atom.element_bits, element_bits)
            return _gmma_layout(name, extents, spec)


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


def _cute_layout(name: str, extents: tuple[int, int, int, int], vector: int, spec: CuteSpec) -> SwizzledLayout:
    swizzle = spec.swizzle
    if swizzle.bits and 1 << swizzle.base < vector:
        raise BadInput(
            f"{name}: M must be at least {vector.bit_length() - 1}, so that {vector} elements stay together, "
            f"got {swizzle.base}"
        )
    layout, first_is_contiguous = _strided_first(name, extents, spec)
    composed = SwizzledLayout(*extents, swizzle=swizzle, layout=layout, first_is_contiguous=first_is_contiguous)
    offsets = composed.offset(np.arange(composed.contiguous), np.arange(composed.strided)[:, np.newaxis])
    vectors = offsets.reshape(-1, vector)
    if np.any(vectors[:, 0] % vector) or np.any(np.diff(vectors) != 1):
        raise BadInput(f"{name}: {layout} must keep vectors of {vector} contiguous elements together and aligned")
    if np.unique(offsets).size != offsets.size:
        raise BadInput(f"{name}: {layout} gives two coordinates the same offset")
    return composed


def _gmma_layout(name: str, extents: tuple[int, int, int, int], spec: GmmaSpec) -> SwizzledLayout:
    _, contiguous, strided, stages = extents
    shape = (strided, contiguous, stages) if spec.atom.major == "K" else (contiguous, strided, stages)
    if spec.shape not in (None, shape):
        raise BadInput(f"{name}: the tile must be the stated one, (M or N, K, stages) = {spec.shape}, got {shape}")
    return tile_to_shape(spec.atom, shape, spec.step).shared


def _strided_first(name: str, extents: tuple[int, int, int, int], spec: CuteSpec) -> tuple[Layout, bool]:
    """
    Return one stage of a stated layout with its modes as (strided, contiguous), and whether they were swapped.

    The modes keep their order if they have the given extents, unless the strides contradict it.
    """
    _, contiguous, strided, stages = extents
    if spec.layout is None:
        return row_major(strided, contiguous), False
    modes = spec.layout.modes
    if len(modes) == 1 and strided == 1:
        return Layout((1, spec.layout.shape), (0, spec.layout.stride)), False
    if len(modes) not in (2, _MOST_MODES):
        return spec.layout, False
    first, second = modes[:2]
    turned = (second.size, first.size) == (strided, contiguous) and (
        (first.size, second.size) != (strided, contiguous) or _runs_along_first(first, second)
    )
    rows, run = (second, first) if turned else (first, second)
    stage = Layout((rows.shape, run.shape), (rows.stride, run.stride))
    if len(modes) == _MOST_MODES:
        _check_stages(name, modes[2], stages, -(-stage.cosize // spec.swizzle.span) * spec.swizzle.span)
    return stage, turned


def _check_stages(name: str, mode: Layout, stages: int, apart: int) -> None:
    """Refuse stages that do not lie one after another."""
    if mode.size != stages:
        raise BadInput(f"{name}: the third mode has {mode.size} stages, got {stages}")
    offsets = mode.offset(np.arange(stages))
    if not np.array_equal(offsets, np.arange(stages) * apart):
        raise BadInput(f"{name}: stages must lie {apart} elements apart, one after another, got {mode}")
