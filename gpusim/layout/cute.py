"""The part of CuTe's algebra that shared memory needs: shape:stride layouts, Swizzle<B,M,S>, and their composition."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Final, TypeAlias

import numpy as np

from gpusim.arrays import IntArray
from gpusim.errors import BadInput
from gpusim.layout.shared import SharedLayout

IntTuple: TypeAlias = "int | tuple[IntTuple, ...]"
"""A nested tuple of integers: ``64``, ``(8, 64)``, ``((4, 2), 64)``."""

Coordinate: TypeAlias = "int | IntArray | Sequence[Coordinate]"
"""One coordinate per mode. A nested mode takes an integer (colexicographic index) or a sequence of its own."""


WIDEST_OFFSET: Final = 31
"""Bits of the largest offset that a swizzle may act on."""


@dataclass(frozen=True, slots=True)
class Swizzle:
    """
    CuTe's Swizzle<B,M,S>: XORs a field of B bits of an offset with the B bits that lie S places above it.

        S > 0:  bits [M, M+B)      ^=  bits [M+S, M+S+B)
        S < 0:  bits [M-S, M-S+B)  ^=  bits [M, M+B)

    Attributes:
        bits: B, width of both fields. 0 is the identity.
        base: M, number of unchanged low bits: 2^M consecutive elements stay consecutive.
        shift: S, distance of the fields; |S| >= B so that they do not overlap.

    Raises:
        BadInput: B or M is negative, |S| < B, or a field lies above bit ``WIDEST_OFFSET``.

    Source: CUTLASS include/cute/swizzle.hpp.
    """

    bits: int
    base: int
    shift: int

    def __post_init__(self) -> None:
        """Refuse a B, M or S the class does not allow."""
        if self.bits < 0 or self.base < 0:
            raise BadInput(f"{self}: B and M must be at least 0")
        if abs(self.shift) < self.bits:
            raise BadInput(f"{self}: |S| must be at least B, got S = {self.shift} with B = {self.bits}")
        if self.bits + self.base + abs(self.shift) > WIDEST_OFFSET:
            raise BadInput(f"{self}: B + M + |S| must be at most {WIDEST_OFFSET}, the bits of an offset")

    def __str__(self) -> str:
        """Return the CUTLASS type name, such as ``Swizzle<3,3,3>``."""
        return f"Swizzle<{self.bits},{self.base},{self.shift}>"

    def apply(self, offsets: int | IntArray) -> IntArray:
        """
        Return the swizzled offsets, in the unit and shape of ``offsets``. Applying it twice gives the offsets back.
        """
        given = np.asarray(offsets, dtype=np.int64)
        mask = (1 << self.bits) - 1
        if self.shift >= 0:
            return given ^ (((given >> (self.base + self.shift)) & mask) << self.base)
        return given ^ (((given >> self.base) & mask) << (self.base - self.shift))

    def of_elements(self, element_bits: int) -> "Swizzle":
        """
        Return the swizzle of element offsets that equals this one of byte addresses.

        CuTe prints ``smem_ptr[16b]`` if a swizzle acts on the bytes of a pointer. M then counts bytes.

        Args:
            element_bits: Width of one element, a power of two.

        Source: CUTLASS include/cute/swizzle_layout.hpp, upcast and downcast of a Swizzle.
        """
        base = self.base - (element_bits.bit_length() - 4)
        return Swizzle(self.bits, base, self.shift) if base >= 0 else Swizzle(max(0, self.bits + base), 0, self.shift)

    @property
    def reach(self) -> int:
        """Smallest power of two N such that the swizzle reads and writes only the bits below N."""
        return 1 << (self.base + self.bits + abs(self.shift)) if self.bits else 1

    @property
    def span(self) -> int:
        """Smallest power of two N such that every aligned block of N offsets is permuted within itself."""
        return 1 << (self.base + self.bits + max(0, -self.shift)) if self.bits else 1


@dataclass(frozen=True, slots=True)
class Layout:
    """
    A CuTe layout, shape:stride: the offset of a coordinate is its inner product with the strides.

    Attributes:
        shape: Extents, possibly nested.
        stride: Strides, nested as the shape, at least 0.

    Raises:
        BadInput: Shape and stride are not nested alike, an extent is under 1 or a stride negative.

    Source: CUTLASS include/cute/layout.hpp.
    """

    shape: IntTuple
    stride: IntTuple

    def __post_init__(self) -> None:
        """Refuse a shape or stride the class does not allow."""
        if not _congruent(self.shape, self.stride):
            raise BadInput(f"{self}: shape and stride must be nested alike")
        if min(_flatten(self.shape)) < 1 or min(_flatten(self.stride)) < 0:
            raise BadInput(f"{self}: extents must be at least 1 and strides at least 0")

    def __str__(self) -> str:
        """Return the layout in CuTe's printed form, such as ``(8,64):(64,1)``."""
        return f"{_text(self.shape)}:{_text(self.stride)}"

    @property
    def size(self) -> int:
        """Number of coordinates."""
        return prod(_flatten(self.shape))

    @property
    def cosize(self) -> int:
        """One past the largest offset."""
        pairs = zip(_flatten(self.shape), _flatten(self.stride), strict=True)
        return 1 + sum((extent - 1) * stride for extent, stride in pairs)

    @property
    def flat(self) -> "Layout":
        """The same layout with all modes at the top level."""
        return Layout(_flatten(self.shape), _flatten(self.stride))

    @property
    def flat_modes(self) -> tuple[tuple[int, int], ...]:
        """Extent and stride of every mode, the nested ones too."""
        return tuple(zip(_flatten(self.shape), _flatten(self.stride), strict=True))

    @property
    def modes(self) -> tuple["Layout", ...]:
        """The layouts of the top-level modes."""
        if isinstance(self.shape, int) or isinstance(self.stride, int):
            return (self,)
        return tuple(Layout(shape, stride) for shape, stride in zip(self.shape, self.stride, strict=True))

    def offset(self, coordinate: Coordinate) -> IntArray:
        """
        Return the offset of a coordinate, or of an array of coordinates.

        Args:
            coordinate: An integer or array counts all coordinates with the first mode fastest. A sequence gives one
                coordinate for each top-level mode, and its arrays broadcast against each other.

        Raises:
            BadInput: A sequence and its mode differ in their number of entries.
        """
        return _offset(coordinate, self.shape, self.stride)


def row_major(rows: int, columns: int) -> Layout:
    """Return the layout (rows,columns):(columns,1)."""
    return Layout((rows, columns), (columns, 1))


def _flatten(value: IntTuple) -> tuple[int, ...]:
    if isinstance(value, int):
        return (value,)
    return tuple(leaf for entry in value for leaf in _flatten(entry))


def _congruent(shape: IntTuple, stride: IntTuple) -> bool:
    if isinstance(shape, int) or isinstance(stride, int):
        return isinstance(shape, int) and isinstance(stride, int)
    return len(shape) == len(stride) > 0 and all(map(_congruent, shape, stride))


def _text(value: IntTuple) -> str:
    return str(value) if isinstance(value, int) else f"({','.join(map(_text, value))})"


def _offset(coordinate: Coordinate, shape: IntTuple, stride: IntTuple) -> IntArray:
    if isinstance(coordinate, int | np.integer | np.ndarray):
        index = np.asarray(coordinate, dtype=np.int64)
        total = np.zeros_like(index)
        extents, strides = _flatten(shape), _flatten(stride)
        for extent, step in zip(extents[:-1], strides[:-1], strict=True):
            total = total + index % extent * step
            index = index // extent
        return total + index * strides[-1]
    if isinstance(shape, int) or isinstance(stride, int) or len(coordinate) != len(shape):
        raise BadInput(f"coordinate {coordinate} does not fit shape {_text(shape)}")
    parts = (_offset(c, s, d) for c, s, d in zip(coordinate, shape, stride, strict=True))
    return np.asarray(sum(parts, np.zeros((), dtype=np.int64)))


@dataclass(frozen=True, slots=True)
class SwizzledLayout(SharedLayout):
    """
    A Swizzle<B,M,S> composed with a two-mode layout (strided, contiguous). Its stages lie one after another.

    Each stage starts at a multiple of the swizzle's span, so the swizzle never moves an element to another stage.

    Attributes:
        swizzle: Swizzle applied to element offsets within the stage.
        layout: Layout of one stage, with modes (strided, contiguous), each possibly nested.
        first_is_contiguous: Whether the layout was stated with the contiguous mode first, as in ``(128,8):(1,128)``.

    Raises:
        BadInput: The layout does not have two modes, its extents are not this operand's, or the swizzle permutes blocks
            larger than the stage.
    """

    swizzle: Swizzle
    layout: Layout
    first_is_contiguous: bool = False

    def __post_init__(self) -> None:
        """Refuse a layout whose modes are not (strided, contiguous)."""
        modes = self.layout.modes
        if len(modes) != 2 or (modes[0].size, modes[1].size) != (self.strided, self.contiguous):
            raise BadInput(
                f"{self.layout}: must have the modes (strided, contiguous) = ({self.strided},{self.contiguous})"
            )
        if self.swizzle.span > self.layout.cosize:
            raise BadInput(
                f"{self.swizzle}: permutes blocks of {self.swizzle.span} elements, which must be at most the "
                f"{self.layout.cosize} elements of a stage"
            )

    @property
    def stage_elements(self) -> int:
        """Elements from one stage to the next: the layout's cosize, rounded up to a multiple of the swizzle's span."""
        return -(-self.layout.cosize // self.swizzle.span) * self.swizzle.span

    @property
    def elements(self) -> int:
        """Elements of the whole allocation, over all stages."""
        return self.stage_elements * self.stages

    def offset(self, contiguous: int | IntArray, strided: int | IntArray, stage: int | IntArray = 0) -> IntArray:
        """Return what ``SharedLayout.offset`` specifies."""
        offsets = self.swizzle.apply(self.layout.offset((strided, contiguous)))
        return np.asarray(stage, dtype=np.int64) * self.stage_elements + offsets
