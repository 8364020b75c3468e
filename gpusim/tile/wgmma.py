"""
Fixed facts of wgmma: instruction shapes, registers, and the element that each thread of a warpgroup holds.

This module knows one instruction only, not where its operands lie in shared memory.
"""

import re
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple, TypeAlias

import numpy as np

from gpusim.arguments import word
from gpusim.arrays import IntArray
from gpusim.element_types import Shape
from gpusim.errors import BadInput
from gpusim.layout.cute import Layout
from gpusim.layout.gmma.atom import MAJORS, Major

WARPGROUP_THREADS: Final = 128
"""Threads that execute one wgmma together: four warps, of which warp w holds rows 16 w to 16 w + 15."""

WGMMA_M: Final = 64
"""Rows of every wgmma."""

WGMMA_K_BYTES: Final = 32
"""Bytes of A and B along K that one wgmma multiplies."""

MN_MAJOR_BITS: Final = 16
"""Element width that wgmma can also read along M or N; all others lie along K."""

_REGISTER_BITS: Final = 32

_MOST_N: Final = 256

ASource: TypeAlias = Literal["SS", "RS"]
"""CuTe's words for A in shared memory and A in registers; B is always in shared memory."""

SOURCES: Final[tuple[ASource, ...]] = ("SS", "RS")


class _Operands(NamedTuple):
    """The types that one kind of wgmma multiplies, those it accumulates in, and the width of an operand's element."""

    types: tuple[str, ...]
    accumulators: tuple[str, ...]
    bits: int


_OPERANDS: Final = (
    _Operands(("f16",), ("f32", "f16"), 16),
    _Operands(("bf16",), ("f32",), 16),
    _Operands(("tf32",), ("f32",), 32),
    _Operands(("e4m3", "e5m2"), ("f32", "f16"), 8),
    _Operands(("s8", "u8"), ("s32",), 8),
)
"""
A and B may differ within a row. The single-bit wgmma is left out.

Source: PTX ISA, wgmma.mma_async, supported types and shapes.
"""

OPERAND_BITS: Final = tuple(sorted({each.bits for each in _OPERANDS}))
"""Element widths of A and B."""

_CUTE_NAME: Final = re.compile(
    r"(?:\w+::)*MMA_64x(\d{1,4})x(\d{1,4})_(F32|F16|S32)(F16|BF16|TF32|E4M3|E5M2|S8|U8)"
    r"(F16|BF16|TF32|E4M3|E5M2|S8|U8)_(SS|RS)(?:_TN)?"
)


def wgmma_columns(ab: str) -> tuple[int, ...]:
    """
    Return every N of the wgmma of an operand type, in ascending order.

    N is a multiple of 8 up to 256. Integers have only 8, 24 and the multiples of 16.

    Raises:
        BadInput: No wgmma has these operands.

    Source: PTX ISA, wgmma.mma_async, matrix shapes.
    """
    integers = _operands(ab).accumulators == ("s32",)
    return tuple(n for n in range(8, _MOST_N + 1, 8) if not integers or n % 16 == 0 or n in (8, 24))


def wgmma_depth(ab: str) -> int:
    """
    Return K of the wgmma of an operand type: 32 bytes of elements.

    Raises:
        BadInput: No wgmma has these operands.
    """
    return WGMMA_K_BYTES * 8 // _operands(ab).bits


def _operands(name: str) -> _Operands:
    found = next((each for each in _OPERANDS if name in each.types), None)
    if found is None:
        allowed = ", ".join(one for each in _OPERANDS for one in each.types)
        raise BadInput(f"operand type of wgmma must be one of {allowed}, got {name!r}")
    return found


@dataclass(frozen=True, slots=True)
class WgmmaInstruction:
    """
    One wgmma.mma_async.

    Attributes:
        n: Columns of the result.
        a: Element type of A.
        b: Element type of B.
        accumulator: Element type of the accumulators.
        source: Whether A is in shared memory or in registers.
        major_a: Dimension along which A is contiguous, K or M.
        major_b: Dimension along which B is contiguous, K or N.

    Raises:
        BadInput: There is no such instruction; the message names what is allowed.

    Source: PTX ISA, wgmma.mma_async.
    """

    n: int
    a: str = "f16"
    b: str = "f16"
    accumulator: str = "f32"
    source: ASource = "SS"
    major_a: Major = "K"
    major_b: Major = "K"

    def __post_init__(self) -> None:
        """Refuse types, extents and majors that no wgmma has."""
        kind = _operands(self.a)
        word(f"type of B beside {self.a}", self.b, kind.types)
        word(f"accumulator of {self.a}", self.accumulator, kind.accumulators)
        word("source of A", self.source, SOURCES)
        if self.n not in wgmma_columns(self.a):
            rule = "8, 24 or a multiple of 16" if self.accumulator == "s32" else "a multiple of 8"
            raise BadInput(f"N of a wgmma of {self.a} must be {rule}, at most {_MOST_N}, got {self.n}")
        for side, major in (("A", self.major_a), ("B", self.major_b)):
            word(f"major of {side}", major, MAJORS if kind.bits == MN_MAJOR_BITS else MAJORS[:1])
        if self.source == "RS" and self.major_a != "K":
            raise BadInput("A in registers must be K-major")

    @property
    def bits(self) -> int:
        """Width of an element of A and B."""
        return _operands(self.a).bits

    @property
    def shape(self) -> Shape:
        """Extents M, N, K."""
        return WGMMA_M, self.n, wgmma_depth(self.a)

    @property
    def accumulator_registers(self) -> int:
        """32-bit registers of a thread for the accumulators. Two f16 share one."""
        bits = 16 if self.accumulator == "f16" else 32
        return WGMMA_M * self.n * bits // _REGISTER_BITS // WARPGROUP_THREADS

    @property
    def a_registers(self) -> int:
        """Operands of A in the instruction: one 64-bit descriptor, or the 32-bit registers of a thread."""
        if self.source == "SS":
            return 1
        return WGMMA_M * WGMMA_K_BYTES * 8 // _REGISTER_BITS // WARPGROUP_THREADS

    @property
    def descriptor_operands(self) -> int:
        """Operands that a matrix descriptor gives: A and B, or B alone."""
        return 2 if self.source == "SS" else 1

    @property
    def cute_name(self) -> str:
        """CuTe's name of the operation, such as ``MMA_64x128x16_F32F16F16_SS``. It says nothing of 16-bit majors."""
        m, n, k = self.shape
        types = f"{self.accumulator}{self.a}{self.b}".upper()
        return f"MMA_{m}x{n}x{k}_{types}_{self.source}{'' if self.bits == MN_MAJOR_BITS else '_TN'}"

    @property
    def ptx_name(self) -> str:
        """Name in PTX, such as ``wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16``."""
        m, n, k = self.shape
        return f"wgmma.mma_async.sync.aligned.m{m}n{n}k{k}.{self.accumulator}.{self.a}.{self.b}"


def parse_wgmma(name: str) -> WgmmaInstruction:
    """
    Return a wgmma by CuTe's name of it, with operands along K.

    Raises:
        BadInput: The text is no such name, or there is no such instruction.
    """
    found = _CUTE_NAME.fullmatch(name)
    if found is None:
        raise BadInput(f"wgmma must be named as MMA_64x128x16_F32F16F16_SS, got {name!r}")
    n, k, accumulator, a, b, source = found.groups()
    wgmma = WgmmaInstruction(int(n), a.lower(), b.lower(), accumulator.lower(), "SS" if source == "SS" else "RS")
    if wgmma.shape[2] != int(k):
        raise BadInput(f"{name}: K of a wgmma of {wgmma.a} must be {wgmma.shape[2]}, got {k}")
    return wgmma


def accumulator_layout(n: int) -> Layout:
    """
    Return the layout (thread, value) -> m + 64 n of the accumulators of a 64 x N wgmma, of any type.

    A warp holds 16 rows as mma.sync's m16n8 accumulators: a lane has two neighbours of a row, and of the row 8 below.

    Raises:
        BadInput: N is not a multiple of 8 from 8 to 256.

    Source: CUTLASS include/cute/atom/mma_traits_sm90_gmma.hpp, ``CLayout_64xN``; PTX ISA, wgmma register fragments.
    """
    if n % 8 or not 0 < n <= _MOST_N:
        raise BadInput(f"N of a wgmma must be a multiple of 8 from 8 to {_MOST_N}, got {n}")
    return Layout(((4, 8, 4), (2, 2, n // 8)), ((2 * WGMMA_M, 1, 16), (WGMMA_M, 8, 8 * WGMMA_M)))


def register_a_layout(bits: int) -> Layout:
    """
    Return the layout (thread, value) -> m + 64 k of an operand A in registers.

    A warp holds 16 rows as mma.sync's A. A register has 32 bits of neighbours along K; the next one is 8 rows below,
    and the last two are 16 bytes further along K.

    Args:
        bits: Width of one element, 8, 16 or 32.

    Raises:
        BadInput: wgmma has no operands of this width.

    Source: CUTLASS include/cute/atom/mma_traits_sm90_gmma.hpp, ``ALayout_64x8``, ``_64x16`` and ``_64x32``.
    """
    if bits not in OPERAND_BITS:
        raise BadInput(f"element bits of A in registers must be one of {', '.join(map(str, OPERAND_BITS))}, got {bits}")
    together = _REGISTER_BITS // bits
    return Layout(((4, 8, 4), (together, 2, 2)), ((together * WGMMA_M, 1, 16), (WGMMA_M, 8, 4 * together * WGMMA_M)))


def thread_values(layout: Layout) -> IntArray:
    """
    Return the (row, column) of every value of every thread.

    Args:
        layout: ``accumulator_layout`` or ``register_a_layout``.

    Returns:
        Rows along M, columns along N or K. Shape (128, values, 2).
    """
    threads, values = (mode.size for mode in layout.modes)
    element = layout.offset((np.arange(threads)[:, np.newaxis], np.arange(values)))
    return np.stack([element % WGMMA_M, element // WGMMA_M], axis=-1)
