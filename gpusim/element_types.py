"""Element types: their widths, the mma.sync instructions that multiply them, and the GPUs that execute those."""

from typing import Final, Literal, NamedTuple, TypeAlias

from gpusim.units import VECTOR_BITS

Shape: TypeAlias = tuple[int, int, int]
Element: TypeAlias = Literal["f16", "bf16", "tf32", "f32", "f64", "s8", "u8", "s4", "u4", "s32"]

_INTEGER_8: Final = ((16, 8, 32), (8, 8, 16))
_INTEGER_4: Final = ((16, 8, 64), (8, 8, 32))

MMA_SHAPES: Final[dict[tuple[str, str], tuple[Shape, ...]]] = {
    ("f16", "f32"): ((16, 8, 16), (16, 8, 8)),
    ("f16", "f16"): ((16, 8, 16), (16, 8, 8)),
    ("bf16", "f32"): ((16, 8, 16),),
    ("tf32", "f32"): ((16, 8, 8),),
    ("s8", "s32"): _INTEGER_8,
    ("u8", "s32"): _INTEGER_8,
    ("s4", "s32"): _INTEGER_4,
    ("u4", "s32"): _INTEGER_4,
}
"""
Instruction shapes (M, N, K) for each (operand type, accumulator type), widest first.

Only shapes that CUTLASS 2.x kernels use are listed; PTX has more.
Source: PTX ISA, mma; CUTLASS include/cutlass/arch/mma_sm{75,80}.h.
"""

TURING: Final[frozenset[tuple[str, Shape]]] = frozenset(
    {("f16", (16, 8, 8)), *((ab, (8, 8, 16)) for ab in ("s8", "u8")), *((ab, (8, 8, 32)) for ab in ("s4", "u4"))}
)
"""
The (operand type, shape) of each mma.sync of sm_75; all others need sm_80.

Source: PTX ISA, mma, target notes.
"""

OUTPUTS: Final[dict[tuple[str, str], tuple[str, ...]]] = {
    ("f16", "f32"): ("f32", "f16"),
    ("f16", "f16"): ("f16",),
    ("bf16", "f32"): ("f32", "bf16"),
    ("tf32", "f32"): ("f32",),
    ("s8", "s32"): ("s32", "s8"),
    ("u8", "s32"): ("s32", "u8"),
    ("s4", "s32"): ("s32", "s4"),
    ("u4", "s32"): ("s32", "u4"),
}
"""
Output types for each (operand type, accumulator type): the accumulator's type or the operands', as in CUTLASS.
"""

INTEGERS: Final = frozenset({"s8", "u8", "s4", "u4", "s32"})
"""Integer element types, whose arithmetic is exact."""

INTEGER_RANGE: Final[dict[str, tuple[int, int]]] = {
    "s8": (-128, 127),
    "u8": (0, 255),
    "s4": (-8, 7),
    "u4": (0, 15),
    "s32": (-(2**31), 2**31 - 1),
}
"""Least and greatest value of each integer type."""


_ELEMENT_BITS: dict[str, int] = {
    "f16": 16,
    "bf16": 16,
    "tf32": 32,
    "f32": 32,
    "f64": 64,
    "s8": 8,
    "u8": 8,
    "e4m3": 8,
    "e5m2": 8,
    "s4": 4,
    "u4": 4,
    "s32": 32,
}


def element_bits(element: str) -> int:
    """
    Return the number of bits one element takes in memory.

    Raises:
        KeyError: ``element`` is not an element type of the scenario contract.
    """
    return _ELEMENT_BITS[element]


def widest_alignment(element: str, *extents: int) -> int:
    """
    Return the widest vector, in elements, that divides every extent.

    The vector is at most 128 bits wide and at least one element.

    Args:
        element: Element type.
        extents: Element counts the vector must divide: the contiguous extent and the leading dimension.
    """
    vector = VECTOR_BITS // element_bits(element)
    while vector > 1 and any(extent % vector for extent in extents):
        vector //= 2
    return vector


class Mma(NamedTuple):
    """
    One mma.sync instruction.

    Attributes:
        ab: Element type of both operands.
        accumulator: Element type of the accumulator.
        instruction: Shape (M, N, K).
    """

    ab: str
    accumulator: str
    instruction: Shape


def least_capability(ab: str, instruction: Shape) -> int:
    """Return the first compute capability (10 * major + minor) that executes the mma.sync."""
    return 75 if (ab, instruction) in TURING else 80


def ptx_name(ab: str, accumulator: str, instruction: Shape) -> str:
    """
    Return the name of the mma.sync after the prefix ``mma.sync.aligned.``.

    Integer accumulation saturates (``satfinite``), as in CUTLASS's kernels.

    Source: PTX ISA, mma; CUTLASS's OpMultiplyAddSaturate.
    """
    m, n, k = instruction
    saturates = "satfinite." if accumulator == "s32" else ""
    return f"m{m}n{n}k{k}.row.col.{saturates}{accumulator}.{ab}.{ab}.{accumulator}"


def is_emulated(ab: str, compute_capability: int) -> bool:
    """
    Return whether the assembler replaces the mma.sync by other instructions: it does for 4-bit types from sm_90 on.

    ptxas 13 for sm_90 unpacks both 4-bit operands to 8 bits (some 190 instructions) and issues 8-bit IMMA.
    """
    return ab in ("s4", "u4") and compute_capability >= 90


def tensor_opcode(ab: str) -> Literal["HMMA", "IMMA"]:
    """Return the SASS opcode of the mma.sync: IMMA for integers, HMMA for floating point."""
    return "IMMA" if ab in INTEGERS else "HMMA"


def walks_vertically(compute_capability: int) -> bool:
    """
    Return whether a warp-level MMA visits its instruction tiles along M first (reusing B), not along N (reusing A).

    CUTLASS walks along M on targets before sm_80 and on sm_89.
    Source: CUTLASS include/cutlass/gemm/warp/mma_tensor_op.h.
    """
    return compute_capability < 80 or compute_capability == 89
