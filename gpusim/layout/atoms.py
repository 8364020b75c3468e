"""CuTe's atoms by name: the element of each lane and value of an MMA, and the bits that a copy instruction moves."""

import re
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from gpusim.errors import BadInput
from gpusim.layout.accesses import AccessOp
from gpusim.layout.cute import Layout
from gpusim.layout.printed import parse_layout

MmaSide: TypeAlias = Literal["a", "b", "c"]


@dataclass(frozen=True, slots=True)
class MmaAtom:
    """
    One mma.sync as CuTe describes it.

    Attributes:
        name: Name of its operation in CuTe, such as ``SM80_16x8x16_F32F16F16F32_TN``.
        shape: Extents M, N, K.
        bits: Element width of A and B.
        layouts: For "a", "b" and "c", the layout (lane, value) -> element, counted along M (of B: N) first.

    Source: CUTLASS include/cute/atom/mma_traits_sm75.hpp and mma_traits_sm80.hpp.
    """

    name: str
    shape: tuple[int, int, int]
    bits: int
    layouts: dict[MmaSide, Layout]

    def extents(self, side: MmaSide) -> tuple[int, int]:
        """Return the extents of an operand: M x K of "a", N x K of "b", M x N of "c"."""
        m, n, k = self.shape
        return {"a": (m, k), "b": (n, k), "c": (m, n)}[side]


_ROW_8X8 = "((4,8),2):((16,1),8)"
_ROW_16X8 = "((4,8),(2,2)):((32,1),(16,8))"
_ROW_8X16 = "((4,8),4):((32,1),8)"

_LAYOUTS: Final = {
    # M, N, K and bits of A and B: layouts of A, B and C
    (16, 8, 8, 16): (_ROW_16X8, _ROW_8X8, _ROW_16X8),
    (16, 8, 16, 16): ("((4,8),(2,2,2)):((32,1),(16,8,128))", "((4,8),(2,2)):((16,1),(8,64))", _ROW_16X8),
    (16, 8, 4, 32): ("((4,8),2):((16,1),8)", "((4,8),1):((8,1),0)", _ROW_16X8),
    (16, 8, 8, 32): ("((4,8),(2,2)):((16,1),(8,64))", "((4,8),2):((8,1),32)", _ROW_16X8),
    (8, 8, 16, 8): (_ROW_8X16, _ROW_8X16, _ROW_8X8),
    (16, 8, 16, 8): ("((4,8),(4,2)):((64,1),(16,8))", _ROW_8X16, _ROW_16X8),
    (16, 8, 32, 8): ("((4,8),(4,2,2)):((64,1),(16,8,256))", "((4,8),(4,2)):((32,1),(8,128))", _ROW_16X8),
}

_TYPES: Final = {
    "f16": (16, ("F16F16F16F16", "F32F16F16F32")),
    "bf16": (16, ("F32BF16BF16F32",)),
    "tf32": (32, ("F32TF32TF32F32",)),
    "s8": (8, ("S32S8S8S32", "S32S8U8S32")),
    "u8": (8, ("S32U8U8S32", "S32U8S8S32")),
}

_MMA_NAME = re.compile(r"SM(75|80)_(\d{1,9})x(\d{1,9})x(\d{1,9})_(\w+?)_TN(?:_SATURATE)?")
_PTX_NAME = re.compile(r"m(\d{1,9})n(\d{1,9})k(\d{1,9})\.(\w+)")


def mma_atoms() -> tuple[str, ...]:
    """Return CuTe's names of the known MMA atoms."""
    return tuple(
        f"SM80_{m}x{n}x{k}_{types}_TN"
        for m, n, k, bits in _LAYOUTS
        for width, names in _TYPES.values()
        if width == bits
        for types in names
    )


def mma_atom(name: str) -> MmaAtom:
    """
    Return an MMA atom by the name of its operation in CuTe, or in PTX's form, such as ``m16n8k8.tf32``.

    Raises:
        BadInput: Names the atoms that are known.
    """
    parsed, bits = None, 0
    if cute := _MMA_NAME.fullmatch(name):
        parsed = cute.groups()[1:4]
        bits = next((width for width, names in _TYPES.values() if cute[5] in names), 0)
    elif ptx := _PTX_NAME.fullmatch(name):
        parsed = ptx.groups()[:3]
        bits = _TYPES[ptx[4]][0] if ptx[4] in _TYPES else 0
    m, n, k = map(int, parsed or (0, 0, 0))
    found = _LAYOUTS.get((m, n, k, bits))
    if found is None:
        kinds = ", ".join(f"m{m}n{n}k{k}.{dtype}" for m, n, k, bits in _LAYOUTS for dtype in _of_bits(bits))
        raise BadInput(f"MMA atom must be one of {kinds}, or CuTe's name of one, got {name!r}")
    a, b, c = map(parse_layout, found)
    return MmaAtom(name, (m, n, k), bits, {"a": a, "b": b, "c": c})


def _of_bits(bits: int) -> list[str]:
    return [name for name, (width, _) in _TYPES.items() if width == bits]


@dataclass(frozen=True, slots=True)
class CopyAtom:
    """
    One copy instruction as CuTe describes it, in elements.

    Attributes:
        name: Name of its operation in CuTe, such as ``SM75_U32x4_LDSM_N``.
        op: The instruction; None for a plain copy, which its direction makes a load or a store.
        memory: Layout (lane, value) -> element on the side of shared memory.
        reference: Layout (lane, value) -> element by which a TiledCopy numbers lanes and values.

    Source: CUTLASS include/cute/atom/copy_traits_sm75.hpp, copy_traits_sm80.hpp and copy_traits_sm90.hpp.
    """

    name: str
    op: AccessOp | None
    memory: Layout
    reference: Layout

    @property
    def lanes(self) -> int:
        """Lanes that take part together: 32, or 1 if each lane copies separately."""
        return self.reference.modes[0].size

    @property
    def values(self) -> int:
        """Values of one lane in the numbering of a TiledCopy."""
        return self.reference.modes[1].size


_MATRICES: Final = re.compile(r"SM(75|90)_U(32|16)x([1248])_(LDSM|STSM)_([NT])")
_PLAIN: Final = re.compile(r"(?:UniversalCopy|AutoVectorizingCopyWithAssumedAlignment|DefaultCopy)(?:<(.+)>)?")
_ASYNC: Final = re.compile(r"SM80_CP_ASYNC_CACHE(?:ALWAYS|GLOBAL)(?:_ZFILL)?<(.+?)>")
_WORD: Final = re.compile(r"(?:cute::|cutlass::|std::)?u?int(\d{1,9})_t|(\d{1,9})")
_WORDS: Final = {"float": 32, "double": 64, "half_t": 16, "float4": 128, "float2": 64, "uint4": 128, "int": 32}
MOST_BITS: Final = 128

COPY_ATOMS: Final = (
    "SM75_U32x{1,2,4}_LDSM_N, SM75_U16x{2,4,8}_LDSM_T, SM90_U32x{1,2,4}_STSM_N, SM90_U16x{2,4,8}_STSM_T, "
    "UniversalCopy<uint128_t>, SM80_CP_ASYNC_CACHEALWAYS<uint128_t> and SM80_CP_ASYNC_CACHEGLOBAL<uint128_t>"
)


def copy_atom(name: str, element_bits: int) -> CopyAtom:
    """
    Return a copy atom by the name of its operation in CuTe.

    Args:
        name: One of ``COPY_ATOMS``. The argument of the last three is the type that one lane copies.
        element_bits: Width of one element.

    Raises:
        BadInput: Names the atoms that are known, or says that the elements do not fit the instruction.
    """
    if match := _MATRICES.fullmatch(name):
        return _matrix_atom(name, match, element_bits)
    plain, copied = _PLAIN.fullmatch(name), _ASYNC.fullmatch(name)
    found = plain or copied
    if found is None:
        raise BadInput(f"copy atom must be one of {COPY_ATOMS}, got {name!r}")
    bits = _word_bits(found[1]) if found[1] else element_bits
    if bits > MOST_BITS or bits < element_bits or bits % element_bits:
        raise BadInput(f"{name}: must copy whole elements of {element_bits} bits, {MOST_BITS} bits at most")
    vector = Layout((1, bits // element_bits), (0, 1))
    return CopyAtom(name, "cp.async" if copied else None, vector, vector)


def _word_bits(text: str) -> int:
    word = _WORD.fullmatch(text.strip())
    bits = int(word[1] or word[2]) if word else _WORDS.get(text.rpartition("::")[2], 0)
    if not bits:
        raise BadInput(f"type of a copy must be one such as uint128_t, uint32_t, float or half_t, got {text!r}")
    return bits


def _matrix_atom(name: str, match: re.Match[str], element_bits: int) -> CopyAtom:
    kind, transposed = match[4], match[5] == "T"
    matrices = int(match[3]) * int(match[2]) // 32
    known = (match[1] == "75") == (kind == "LDSM") and (match[2] == "16") == transposed and matrices in (1, 2, 4)
    if not known:
        raise BadInput(f"copy atom must be one of {COPY_ATOMS}, got {name!r}")
    if transposed and element_bits != _TRANSPOSED:
        raise BadInput(f"{name}: moves elements of {_TRANSPOSED} bits, got {element_bits}")
    if element_bits > _LANE_BITS:
        raise BadInput(f"{name}: moves {_LANE_BITS} bits to each lane, which hold no element of {element_bits} bits")
    row, lane = MOST_BITS // element_bits, _LANE_BITS // element_bits
    matrix = 8 * row
    # Lanes past the last matrix repeat the addresses of the first ones.
    suppliers = 8 * matrices
    memory = Layout(((suppliers, 32 // suppliers), row), ((row, 0), 1))
    if transposed:
        reference = Layout(((4, 8), (2, matrices)), ((2 * row, 1), (row, matrix)))
    else:
        reference = Layout((32, (lane, matrices)), (lane, (1, matrix)))
    return CopyAtom(name, "ldmatrix" if kind == "LDSM" else "stmatrix", memory, reference)


_TRANSPOSED: Final = 16
"""Element width that the transposing instructions move."""

_LANE_BITS: Final = 32
"""Bits that one 8x8 matrix gives to each lane."""
