"""Where boxes of TMA and operands of wgmma lie in shared memory, in 16-byte chunks; it knows no data."""

from functools import lru_cache
from typing import Final

import numpy as np

from gpusim.arrays import IntArray
from gpusim.tile.wgmma_descriptors import LAYOUT_TYPES, decode_descriptor

CHUNK: Final = 16
"""Bytes that a swizzle moves together."""

GRANULE: Final = 128
"""Bytes whose accesses are ordered together: the smallest block that a box or an operand is made of."""

_LINES: Final = 8
"""Lines of an atom."""

_K_CHUNKS: Final = 2
"""Chunks along K of an instruction's operand that is contiguous along K."""

_WIDTHS: Final = {LAYOUT_TYPES["SW128"]: 128, LAYOUT_TYPES["SW64"]: 64, LAYOUT_TYPES["SW32"]: 32, 0: CHUNK}
"""Width of a line in bytes by the layout type of a descriptor."""


def swizzled_chunks(chunks: IntArray, width: int) -> IntArray:
    """
    Return chunk numbers after the swizzle of lines of some width.

    Swizzle<B,4,3> of byte addresses XORs B bits from bit 7 into those from bit 4; B is 3, 2, 1 or 0.
    """
    return chunks ^ (chunks >> 3 & width // CHUNK - 1)


@lru_cache(maxsize=4096)
def box_chunks(address: int, rows: int, row_bytes: int, width: int) -> IntArray:
    """
    Return the chunks of a box in shared memory. Shape (rows, chunks of a row).

    Args:
        address: Byte address of the box.
        rows: Rows of the box.
        row_bytes: Bytes of a row, a multiple of 16.
        width: Width of the swizzle's lines in bytes; 16 for none.
    """
    first = address // CHUNK + np.arange(rows * row_bytes // CHUNK, dtype=np.int64).reshape(rows, -1)
    return swizzled_chunks(first, width)


@lru_cache(maxsize=16384)
def operand_chunks(descriptor: int, rows: int, bits: int, *, k_contiguous: bool) -> IntArray:
    """
    Return the chunks that one wgmma reads through a matrix descriptor.

    Args:
        descriptor: The 64 bits.
        rows: Rows of the operand: 64 of A, N of B.
        bits: Width of an element.
        k_contiguous: Whether the operand is contiguous along K.

    Returns:
        Shape (rows, chunks along K) if it is contiguous along K, else (columns along K, chunks along M or N).

    Source: PTX ISA, "Matrix Descriptor Format" and "Strides"; CUTLASS include/cute/arch/mma_sm90_desc.hpp.
    """
    found = decode_descriptor(descriptor)
    width = _WIDTHS[found.layout_type]
    line = width // CHUNK
    if k_contiguous:
        row = np.arange(rows, dtype=np.int64)[:, np.newaxis]
        column = np.arange(_K_CHUNKS, dtype=np.int64)
        step = 1 if line > 1 else found.leading
        chunks = found.start + row // _LINES * found.stride + row % _LINES * line + column * step
    else:
        atom_step, line_step = (found.leading, found.stride) if line > 1 else (found.stride, found.leading)
        k = np.arange(256 // bits, dtype=np.int64)[:, np.newaxis]
        column = np.arange(rows * bits // 128, dtype=np.int64)
        chunks = found.start + column // line * atom_step + column % line + k // _LINES * line_step + k % _LINES * line
    return swizzled_chunks(chunks, width)


@lru_cache(maxsize=4096)
def block_chunks(descriptors: tuple[int, ...], rows: int, bits: int, *, k_contiguous: bool) -> IntArray:
    """Return the chunks of several instructions' operands, side by side along K; the rest is as ``operand_chunks``."""
    each = [operand_chunks(one, rows, bits, k_contiguous=k_contiguous) for one in descriptors]
    return np.concatenate(each, axis=1 if k_contiguous else 0)


@lru_cache(maxsize=4096)
def block_granules(descriptors: tuple[int, ...], rows: int, bits: int, *, k_contiguous: bool) -> IntArray:
    """Return the granules of ``block_chunks``, in ascending order."""
    chunks = block_chunks(descriptors, rows, bits, k_contiguous=k_contiguous)
    return np.unique(chunks // (GRANULE // CHUNK))


def granules_of(address: int, size: int) -> slice:
    """Return the granules of consecutive bytes."""
    return slice(address // GRANULE, -(-(address + size) // GRANULE))
