"""Element types: how wide they are, which mma.sync multiplies them, in which shapes, and who executes it."""

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
"""(operand type, accumulator type) -> shapes (M, N, K), widest first: those of CUTLASS 2.x's kernels.

Source: PTX ISA, mma; CUTLASS include/cutlass/arch/mma_sm{75,80}.h. PTX has more, which no CUTLASS kernel uses."""

TURING: Final[frozenset[tuple[str, Shape]]] = frozenset(
    {("f16", (16, 8, 8)), *((ab, (8, 8, 16)) for ab in ("s8", "u8")), *((ab, (8, 8, 32)) for ab in ("s4", "u4"))}
)
"""(operand type, shape) of the instructions sm_75 has; the others need sm_80. Source: PTX ISA, mma, target notes."""

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
"""(operand type, accumulator type) -> output types: the accumulator's or the operands', as CUTLASS has them."""

INTEGERS: Final = frozenset({"s8", "u8", "s4", "u4", "s32"})
"""Element types whose arithmetic is exact."""

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
    "s4": 4,
    "u4": 4,
    "s32": 32,
}


def element_bits(element: str) -> int:
    """
    Bits one element takes in memory.

    Raises:
        KeyError: ``element`` is no element type of the scenario contract.
    """
    return _ELEMENT_BITS[element]


def widest_alignment(element: str, *extents: int) -> int:
    """
    The widest vector that divides every extent, in elements: at most 128 bits, at least 1 element.

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
    One mma.sync.

    Attributes:
        ab: Element type of both operands.
        accumulator: Element type of the accumulator.
        instruction: Shape M, N, K.
    """

    ab: str
    accumulator: str
    instruction: Shape


def least_capability(ab: str, instruction: Shape) -> int:
    """10 * major + minor of the first architecture that executes the instruction."""
    return 75 if (ab, instruction) in TURING else 80


def ptx_name(ab: str, accumulator: str, instruction: Shape) -> str:
    """
    The mma.sync's name after ``mma.sync.aligned.``; integers saturate, as CUTLASS's kernels have it.

    Source: PTX ISA, mma; CUTLASS's OpMultiplyAddSaturate.
    """
    m, n, k = instruction
    saturates = "satfinite." if accumulator == "s32" else ""
    return f"m{m}n{n}k{k}.row.col.{saturates}{accumulator}.{ab}.{ab}.{accumulator}"


def is_emulated(ab: str, compute_capability: int) -> bool:
    """
    Whether the assembler replaces the mma.sync by other instructions: 4-bit integers from sm_90 on.

    ptxas 13 for sm_90 unpacks both operands to 8 bits (some 190 instructions) and issues IMMA of 8 bits.
    """
    return ab in ("s4", "u4") and compute_capability >= 90


def tensor_opcode(ab: str) -> Literal["HMMA", "IMMA"]:
    """SASS opcode of the mma.sync: IMMA for integers, else HMMA."""
    return "IMMA" if ab in INTEGERS else "HMMA"


def walks_vertically(compute_capability: int) -> bool:
    """
    Whether a warp-level MMA walks its instruction tiles along M (reusing B) and not along N (reusing A).

    Source: CUTLASS include/cutlass/gemm/warp/mma_tensor_op.h: targets before sm_80, and sm_89.
    """
    return compute_capability < 80 or compute_capability == 89
