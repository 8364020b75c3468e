"""Matrix descriptors of the blocks of an operand's ring."""

from functools import lru_cache
from typing import Final

import numpy as np

from gpusim.families.hopper.collective import SharedOperand
from gpusim.families.hopper.problem import MMA_ROWS
from gpusim.layout.gmma.atom import GmmaAtom, GmmaSwizzle
from gpusim.layout.gmma.tile import GmmaTile, tile_to_shape
from gpusim.tile.wgmma_descriptors import BlockDescriptors
from gpusim.units import VECTOR_BITS

_NAMES: Final[dict[int, GmmaSwizzle]] = {128: "SW128", 64: "SW64", 32: "SW32", 16: "INTER"}
"""Names of the swizzles by the width of their atoms in bytes."""


@lru_cache(maxsize=64)
def ring(operand: SharedOperand, stages: int) -> GmmaTile:
    """Return an operand's ring as a layout (row or column of the output, K, slot) -> element."""
    atom = GmmaAtom("K" if operand.k_contiguous else "MN", _NAMES[operand.swizzle], operand.bits)
    return tile_to_shape(atom, (operand.rows, operand.depth, stages))


@lru_cache(maxsize=64)
def descriptors(operand: SharedOperand, stages: int) -> list[list[list[int]]]:
    """
    Return the 64-bit descriptors of a ring's blocks, indexed [slot][block along M or N][instruction along K].

    CUTLASS aligns a ring to 128 bytes alone and leaves the base offset 0: TMA and wgmma both swizzle by address bits.
    """
    rows = MMA_ROWS if operand.side == "a" else operand.rows
    encoded = BlockDescriptors(ring(operand, stages), rows).encoded() + np.uint64(operand.base * 8 // VECTOR_BITS)
    found: list[list[list[int]]] = encoded.tolist()
    return found
