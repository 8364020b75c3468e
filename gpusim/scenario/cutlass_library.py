"""
The facts that the name of a CUTLASS 2.x library kernel implies but does not state.

The library contains the kernels that the CUTLASS profiler runs. All facts follow python/cutlass_library/generator.py
and gemm_operation.py of CUTLASS 4.x, whose 2.x kernels are those of CUTLASS 2.11.
"""

from typing import Final

from gpusim.element_types import MMA_SHAPES, Shape, element_bits, least_capability
from gpusim.units import VECTOR_BITS

ROUNDED: Final = ("f32", "f32")
"""(Operand type, accumulator type) of the kernels that round their float operands to tf32."""

_TYPED = (*MMA_SHAPES.items(), (ROUNDED, MMA_SHAPES["tf32", "f32"]))

INSTRUCTION_SHAPES: Final[dict[str, Shape]] = {
    "".join(map(str, shape)): shape for _, shapes in _TYPED for shape in shapes
}
"""The mma.sync shape for each string of digits in a name."""

OPERANDS: Final[dict[str, tuple[tuple[str, str], ...]]] = {
    digits: tuple(types for types, shapes in _TYPED if shape in shapes) for digits, shape in INSTRUCTION_SHAPES.items()
}
"""The (operand type, accumulator type) pairs for each instruction, by its digits."""

GEMM_SWIZZLE = "identity<8>"
"""Threadblock swizzle of every GEMM of the library."""

CONV_SWIZZLE = "identity<4>"
"""Threadblock swizzle of every forward convolution of the library."""

LIBRARY_WARPS: Final = {
    (256, 128): (4, 2),
    (128, 256): (2, 4),
    (128, 128): (2, 2),
    (256, 64): (4, 1),
    (64, 256): (1, 4),
    (128, 64): (2, 2),
    (64, 128): (2, 2),
    (64, 64): (2, 2),
    (256, 32): (4, 1),
    (32, 256): (1, 4),
    (128, 32): (4, 1),
    (32, 128): (1, 4),
    (64, 32): (2, 1),
}
"""Warps along M and N for each threadblock tile, M by N."""

# Tiles whose warps also depend on instruction, K and stages.
_OTHER_WARPS = {
    ("1688", (64, 128, 64), 2): (1, 2, 2),
    ("8816", (128, 32, 32), 2): (2, 1, 1),
}
_LEAST_WIDE = 128
_NARROW = 8
_WIDE = 16


def warp_tile(digits: str, threadblock: Shape, stages: int) -> Shape | None:
    """
    Return the warp tile of a threadblock tile, or None if the library has no such tile.

    Args:
        digits: Instruction, in the digits of a kernel's name.
        threadblock: Threadblock tile (M, N, K).
        stages: Stages of the mainloop.
    """
    flat = LIBRARY_WARPS.get(threadblock[:2])
    warps = _OTHER_WARPS.get((digits, threadblock, stages), (*flat, 1) if flat else None)
    if warps is None:
        return None
    m, n, k = (tile // count for tile, count in zip(threadblock, warps, strict=True))
    return m, n, k


def output_alignment(digits: str, threadblock: Shape, output: str, alignment: int) -> int:
    """
    Return the elements of one access of the output.

    For outputs of at least 16 bits it is the inputs' alignment, but at most 8 elements and at most 16 bytes. For
    narrower outputs, which are clamped, it is 16 elements, or 8 if the tile is less than 128 columns wide or if an
    m16n8k32 tile is 32 rows high.
    """
    bits = element_bits(output)
    if bits < 16:
        low = digits == "16832" and threadblock[0] == 32
        return _NARROW if low or threadblock[1] < _LEAST_WIDE else _WIDE
    return min(_NARROW, alignment, VECTOR_BITS // bits)


def is_turing(digits: str, ab: str) -> bool:
    """Return whether the library builds kernels of this instruction for sm_75; the others are for sm_80."""
    return least_capability(ab, INSTRUCTION_SHAPES[digits]) < 80
