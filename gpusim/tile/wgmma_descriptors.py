"""The 64-bit matrix descriptors of wgmma, for every instruction's block of a tile; knows no instruction order."""

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from gpusim.arguments import integer, whole_number
from gpusim.arrays import IntArray
from gpusim.errors import BadInput
from gpusim.layout.gmma.atom import ATOM_LINES, GmmaSwizzle
from gpusim.layout.gmma.tile import GmmaTile
from gpusim.tile.wgmma import MN_MAJOR_BITS, OPERAND_BITS, WGMMA_K_BYTES
from gpusim.units import VECTOR_BITS

LAYOUT_TYPES: Final[dict[GmmaSwizzle, int]] = {"INTER": 0, "SW128": 1, "SW64": 2, "SW32": 3}
"""Layout type of a descriptor for each swizzle. Source: PTX ISA, "Matrix Descriptor Format", bits 62-63."""

_FIELDS: Final = {
    "start": (0, 14),
    "leading": (16, 14),
    "stride": (32, 14),
    "base_offset": (49, 3),
    "layout_type": (62, 2),
}
"""Lowest bit and width of each field."""

_UNIT_BYTES: Final = VECTOR_BITS // 8
_MOST_BYTES: Final = _UNIT_BYTES << _FIELDS["start"][1]
_DESCRIPTOR_BITS: Final = 64


@dataclass(frozen=True, slots=True)
class MatrixDescriptor:
    """
    A matrix descriptor of wgmma. Addresses and offsets count 16 bytes.

        bits 63-62       51-49         45-32    29-16     13-0
        layout_type      base_offset   stride   leading   start

    Attributes:
        start: Address in shared memory.
        leading: Leading dimension byte offset (LBO).
        stride: Stride dimension byte offset (SBO).
        base_offset: Number of the line in the swizzle's block at which the operand's first block starts; 0 if aligned.
        layout_type: One of ``LAYOUT_TYPES``.

    Raises:
        BadInput: A field does not fit its bits.

    Source: PTX ISA, "Matrix Descriptor Format"; CUTLASS include/cute/arch/mma_sm90_desc.hpp.
    """

    start: int
    leading: int
    stride: int
    base_offset: int = 0
    layout_type: int = 0

    def __post_init__(self) -> None:
        """Refuse a value that does not fit its field."""
        for name, (_, width) in _FIELDS.items():
            whole_number(name, getattr(self, name), 0, (1 << width) - 1)

    def encode(self) -> int:
        """Return the 64 bits."""
        return sum(int(getattr(self, name)) << low for name, (low, _) in _FIELDS.items())


def decode_descriptor(value: int) -> MatrixDescriptor:
    """
    Return the descriptor of 64 bits.

    Raises:
        BadInput: The value has more than 64 bits, or one outside of the fields is set.
    """
    bits = integer("descriptor", value)
    fields = {name: bits >> low & (1 << width) - 1 for name, (low, width) in _FIELDS.items()}
    found = MatrixDescriptor(**fields)
    if not 0 <= bits < 1 << _DESCRIPTOR_BITS or found.encode() != bits:
        places = ", ".join(f"{low}-{low + width - 1}" for low, width in _FIELDS.values())
        raise BadInput(f"descriptor must have 64 bits, and none set but {places}, got {bits:#x}")
    return found


@dataclass(frozen=True, slots=True)
class BlockDescriptors:
    """
    The matrix descriptors of all instruction blocks of an operand: ``rows`` along M or N, 32 bytes along K.

    In the canonical layouts of CuTe, LBO and SBO are these distances, and 0 where there is no second block:

        K-major    SBO: from 8 rows to the next 8          LBO: from the first 16 bytes along K to the next
        MN-major   SBO: from 8 columns of K to the next 8  LBO: from an atom to the next along M or N
        MN-major without a swizzle: SBO and LBO exchanged

    Attributes:
        tile: The operand in shared memory.
        rows: Rows along M or N that one instruction reads: 64 of A, N of B.
        base: Byte address of the tile in shared memory.

    Raises:
        BadInput: wgmma has no such operand, the block does not divide the tile or an atom does not divide the block,
            or the base is not aligned.

    Source: CUTLASS include/cute/atom/mma_traits_sm90_gmma.hpp, ``make_gmma_desc``.
    """

    tile: GmmaTile
    rows: int
    base: int = 0

    def __post_init__(self) -> None:
        """Refuse blocks that no descriptor can give."""
        tile, atom = self.tile, self.tile.atom
        whole_number("rows", self.rows, 1, tile.mn)
        if atom.element_bits not in OPERAND_BITS:
            allowed = ", ".join(map(str, OPERAND_BITS))
            raise BadInput(f"{atom}: element bits of wgmma must be one of {allowed}, got {atom.element_bits}")
        if atom.major == "MN" and atom.element_bits != MN_MAJOR_BITS:
            raise BadInput(
                f"{atom}: wgmma reads only {MN_MAJOR_BITS}-bit elements along M or N; "
                f"those of {atom.element_bits} bits must be K-major"
            )
        if self.rows % atom.mn or tile.mn % self.rows:
            raise BadInput(
                f"{atom}: rows of an instruction must be a multiple of {atom.mn} that divides {tile.mn}, "
                f"got {self.rows}"
            )
        if tile.k % self.depth:
            raise BadInput(f"{atom}: K must be a multiple of {self.depth} for wgmma, got {tile.k}")
        whole_number("base", self.base, 0, _MOST_BYTES)
        if self.base % atom.alignment:
            raise BadInput(f"{atom}: the base must be a multiple of {atom.alignment} bytes, got {self.base}")
        if self.base + tile.size_bytes > _MOST_BYTES:
            raise BadInput(
                f"{atom}: a descriptor reaches {_MOST_BYTES} bytes of shared memory, "
                f"and the tile ends at {self.base + tile.size_bytes}"
            )

    @property
    def depth(self) -> int:
        """Columns along K that one instruction reads, in elements."""
        return WGMMA_K_BYTES * 8 // self.tile.atom.element_bits

    @property
    def shape(self) -> tuple[int, int, int]:
        """Stages, blocks along M or N, and blocks along K."""
        return self.tile.stages, self.tile.mn // self.rows, self.tile.k // self.depth

    @property
    def leading(self) -> int:
        """LBO of every block, in units of 16 bytes."""
        return self._offsets[0]

    @property
    def stride(self) -> int:
        """SBO of every block, in units of 16 bytes."""
        return self._offsets[1]

    @property
    def _offsets(self) -> tuple[int, int]:
        atom = self.tile.atom
        if atom.major == "K":
            return self._units(0, VECTOR_BITS // atom.element_bits), self._units(ATOM_LINES, 0)
        along_mn, along_k = self._units(atom.mn, 0), self._units(0, ATOM_LINES)
        return (along_mn, along_k) if atom.swizzle_bits else (along_k, along_mn)

    def _units(self, row: int, column: int) -> int:
        """Return the distance from a block's first element to another before the swizzle; 0 if it is outside."""
        if row >= self.rows or column >= self.depth:
            return 0
        return int(self.tile.layout.offset((row, column, 0))) * self.tile.atom.element_bits // VECTOR_BITS

    @property
    def starts(self) -> IntArray:
        """Start address of each block, in units of 16 bytes. Shape ``shape``: (stage, along M or N, along K)."""
        stages, along_mn, along_k = self.shape
        stage, block, step = np.ogrid[:stages, :along_mn, :along_k]
        offsets = self.tile.offset(block * self.rows, step * self.depth, stage)
        return self.base // _UNIT_BYTES + offsets * self.tile.atom.element_bits // VECTOR_BITS

    def descriptor(self, stage: int, block: int, step: int) -> MatrixDescriptor:
        """Return the descriptor of one block: by its stage, and its number along M or N and along K."""
        return MatrixDescriptor(
            int(self.starts[stage, block, step]), self.leading, self.stride, 0, LAYOUT_TYPES[self.tile.atom.swizzle]
        )

    def encoded(self) -> npt.NDArray[np.uint64]:
        """Return the 64 bits of each block's descriptor. Shape ``shape``."""
        common = MatrixDescriptor(0, self.leading, self.stride, 0, LAYOUT_TYPES[self.tile.atom.swizzle]).encode()
        return self.starts.astype(np.uint64) | np.uint64(common)
