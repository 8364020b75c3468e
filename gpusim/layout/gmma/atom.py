"""CuTe's GMMA atoms: the smallest blocks of shared memory that wgmma reads; knows no tiles."""

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from gpusim.arguments import word
from gpusim.arrays import IntArray
from gpusim.errors import BadInput
from gpusim.layout.cute import Layout, Swizzle
from gpusim.units import VECTOR_BITS

Major: TypeAlias = Literal["K", "MN"]
"""Dimension along which an operand of a matrix instruction is contiguous."""

GmmaSwizzle: TypeAlias = Literal["INTER", "SW32", "SW64", "SW128"]
"""CuTe's words for no swizzle, and for swizzles of lines of 32, 64 and 128 bytes."""

MAJORS: Final[tuple[Major, ...]] = ("K", "MN")
GMMA_SWIZZLES: Final[tuple[GmmaSwizzle, ...]] = ("INTER", "SW32", "SW64", "SW128")

GMMA_BITS: Final = (4, 8, 16, 32)
"""Element widths of an atom."""

ATOM_LINES: Final = 8
"""Lines of an atom: rows of M or N if it is contiguous along K, columns of K otherwise."""


@dataclass(frozen=True, slots=True)
class GmmaAtom:
    """
    One GMMA atom: 8 lines of 16, 32, 64 or 128 bytes, packed, under a swizzle of the 16-byte vectors of a line.

    The swizzle is Swizzle<B,4,3> of byte addresses with B = 0, 1, 2 or 3 for the four widths. The line has 16 << B
    bytes, so B address bits select a vector of a line, and they are XORed with the B bits that lie three above. With
    B = 3 those are the number of the line. With less, 8 >> B lines share one number.

    Attributes:
        major: Dimension along which lines run.
        swizzle: Width of a line.
        element_bits: Width of one element, one of ``GMMA_BITS``.

    Raises:
        BadInput: Names the value and what is allowed.

    Source: CUTLASS include/cute/atom/mma_traits_sm90_gmma.hpp, ``Layout_K_SW128_Atom_Bits`` and its like.
    """

    major: Major
    swizzle: GmmaSwizzle
    element_bits: int

    def __post_init__(self) -> None:
        """Refuse a major, a swizzle or an element width that no atom has."""
        word("major", self.major, MAJORS)
        word("swizzle", self.swizzle, GMMA_SWIZZLES)
        if self.element_bits not in GMMA_BITS:
            allowed = ", ".join(map(str, GMMA_BITS))
            raise BadInput(f"element bits of a GMMA atom must be one of {allowed}, got {self.element_bits}")

    def __str__(self) -> str:
        """Return CuTe's name of the atom, with the width of its elements in place of their type."""
        return f"GMMA::Layout_{self.major}_{self.swizzle}_Atom<{self.element_bits}b>"

    @property
    def swizzle_bits(self) -> int:
        """B of the swizzle, 0 to 3."""
        return GMMA_SWIZZLES.index(self.swizzle)

    @property
    def line(self) -> int:
        """Elements of one line."""
        return (VECTOR_BITS << self.swizzle_bits) // self.element_bits

    @property
    def mn(self) -> int:
        """Extent along M or N, in elements."""
        return ATOM_LINES if self.major == "K" else self.line

    @property
    def k(self) -> int:
        """Extent along K, in elements."""
        return self.line if self.major == "K" else ATOM_LINES

    @property
    def size(self) -> int:
        """Elements of the atom."""
        return ATOM_LINES * self.line

    @property
    def size_bytes(self) -> int:
        """Bytes of the atom: 128, 256, 512 or 1024."""
        return self.size * self.element_bits // 8

    @property
    def alignment(self) -> int:
        """Bytes of which the address of an atom must be a multiple: its size under a swizzle, else 16."""
        return self.size_bytes if self.swizzle_bits else VECTOR_BITS // 8

    @property
    def byte_pattern(self) -> Swizzle:
        """The swizzle, of byte addresses: Swizzle<B,4,3>."""
        return Swizzle(bits=self.swizzle_bits, base=4, shift=3)

    @property
    def pattern(self) -> Swizzle:
        """The swizzle, of element offsets."""
        return self.byte_pattern.of_elements(self.element_bits)

    @property
    def layout(self) -> Layout:
        """The layout (mn, k) before its swizzle, in elements."""
        return Layout((self.mn, self.k), (self.line, 1) if self.major == "K" else (1, self.line))

    def offset(self, row: int | IntArray, column: int | IntArray) -> IntArray:
        """
        Return the element offset of a row along M or N and a column along K. Both broadcast against each other.
        """
        return self.pattern.apply(self.layout.offset((row, column)))


def widest_atom(major: Major, element_bits: int, extent: int) -> GmmaAtom:
    """
    Return the atom that CUTLASS selects for a tile: the widest whose line divides the tile's contiguous extent.

    Args:
        major: Dimension along which the operand is contiguous.
        element_bits: Width of one element.
        extent: Extent of the tile along that dimension, in elements.

    Raises:
        BadInput: Not even lines of 16 bytes divide the extent, or no atom has these elements.

    Source: CUTLASS include/cutlass/gemm/collective/builders/sm90_common.inl, ``ss_smem_selector``.
    """
    for swizzle in reversed(GMMA_SWIZZLES):
        atom = GmmaAtom(major, swizzle, element_bits)
        if extent > 0 and extent % atom.line == 0:
            return atom
    least = GmmaAtom(major, "INTER", element_bits).line
    along = "K" if major == "K" else "M or N"
    raise BadInput(f"extent along {along} must be a multiple of {least} elements of {element_bits} bits, got {extent}")
