"""
Writes a CUDA source in which each PTX instruction of a list is applied to random words, and the words.

    python tests/own/single_instructions.py > single.cu

The kernel of a list takes three arrays of words and writes one word, or two, for each. An H200 has executed it
(tests/own/measured/single_instructions.npz); the executor is held against what it wrote, bit for bit.
"""

import sys
from typing import Final

import numpy as np

COUNT: Final = 512
"""Words of each source."""

SPECIAL: Final = (
    *(0x00000000, 0x80000000, 0x3F800000, 0xBF800000, 0x7F800000, 0xFF800000, 0x7FC00000, 0x7F800001, 0x00000001),
    *(0x807FFFFF, 0x00800000, 0x7F7FFFFF, 0x4B000001, 0x4F000000, 0xCF000000, 0x3F000000, 0x40200000, 0x7FFFFFFF),
    *(0xFFFFFFFF, 0x3C003C00, 0x7C00FC00, 0x7E007C01, 0x00010001, 0x80000001, 0x0000001F, 0x00000020, 0x41490FDB),
)
"""Words that are likely to differ: zeros, ones, infinities, NaNs, subnormals, halves, counts of shifts."""

_ROUNDED = [f"{op}.{rounding}.f32 %0, %1, %2;" for op in ("add", "mul") for rounding in ("rn", "rz", "rm", "rp")]
_FUSED = [f"fma.{rounding}.f32 %0, %1, %2, %3;" for rounding in ("rn", "rz", "rm", "rp")]
_RELATIONS = ("eq", "ne", "lt", "le", "gt", "ge")

FLOATS: Final = (
    *_ROUNDED,
    *_FUSED,
    *("add.ftz.f32 %0, %1, %2;", "mul.ftz.f32 %0, %1, %2;", "fma.rn.ftz.f32 %0, %1, %2, %3;"),
    *("add.sat.f32 %0, %1, %2;", "fma.rn.sat.f32 %0, %1, %2, %3;", "mul.sat.f32 %0, %1, %2;"),
    *("min.f32 %0, %1, %2;", "max.f32 %0, %1, %2;", "min.NaN.f32 %0, %1, %2;", "max.NaN.f32 %0, %1, %2;"),
    *("abs.f32 %0, %1;", "neg.f32 %0, %1;", "div.rn.f32 %0, %1, %2;", "sqrt.rn.f32 %0, %1;", "rcp.rn.f32 %0, %1;"),
    *(f"cvt.{rounding}.f32.f32 %0, %1;" for rounding in ("rni", "rzi", "rmi", "rpi")),
)
"""Instructions on f32: their sources are float registers, and so is their result."""

FLOAT_COMPARISONS: Final = tuple(
    f"set.{relation}.u32.f32 %0, %1, %2;"
    for relation in (*_RELATIONS, "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan")
)
TO_INTEGERS: Final = tuple(
    f"cvt.{rounding}.{kind}.f32 %0, %1;" for rounding in ("rni", "rzi", "rmi", "rpi") for kind in ("s32", "u32")
)
FROM_INTEGERS: Final = tuple(
    f"cvt.{rounding}.f32.{kind} %0, %1;" for rounding in ("rn", "rz", "rm", "rp") for kind in ("s32", "u32")
)
APPROXIMATE: Final = tuple(
    f"{name}.approx.ftz.f32 %0, %1;" for name in ("rcp", "sqrt", "rsqrt", "sin", "cos", "ex2", "lg2")
)
"""Functions of the MUFU, which are exact to some bits."""

INTEGERS: Final = (
    *("add.u32 %0, %1, %2;", "sub.u32 %0, %1, %2;", "mul.lo.u32 %0, %1, %2;", "mul.hi.u32 %0, %1, %2;"),
    *("mul.hi.s32 %0, %1, %2;", "mad.lo.u32 %0, %1, %2, %3;", "mad.hi.s32 %0, %1, %2, %3;", "mul24.lo.s32 %0, %1, %2;"),
    *("min.s32 %0, %1, %2;", "max.s32 %0, %1, %2;", "min.u32 %0, %1, %2;", "max.u32 %0, %1, %2;", "abs.s32 %0, %1;"),
    *("and.b32 %0, %1, %2;", "or.b32 %0, %1, %2;", "xor.b32 %0, %1, %2;", "not.b32 %0, %1;", "cnot.b32 %0, %1;"),
    *(f"lop3.b32 %0, %1, %2, %3, {table:#x};" for table in (0xE8, 0x96, 0xCA, 0x1B)),
    *("shl.b32 %0, %1, %2;", "shr.u32 %0, %1, %2;", "shr.s32 %0, %1, %2;"),
    *(f"shf.{side}.{mode}.b32 %0, %1, %2, %3;" for side in "lr" for mode in ("clamp", "wrap")),
    *(f"prmt.b32{mode} %0, %1, %2, %3;" for mode in ("", ".f4e", ".b4e", ".rc8", ".ecl", ".ecr", ".rc16")),
    *("popc.b32 %0, %1;", "clz.b32 %0, %1;", "brev.b32 %0, %1;", "bfind.u32 %0, %1;", "bfind.s32 %0, %1;"),
    *("bfind.shiftamt.u32 %0, %1;", "bfe.u32 %0, %1, %2, %3;", "bfe.s32 %0, %1, %2, %3;"),
    *(
        "bmsk.clamp.b32 %0, %1, %2;",
        "bmsk.wrap.b32 %0, %1, %2;",
        "szext.clamp.s32 %0, %1, %2;",
        "szext.wrap.u32 %0, %1, %2;",
    ),
    *(
        "sad.u32 %0, %1, %2, %3;",
        "sad.s32 %0, %1, %2, %3;",
        "dp4a.s32.s32 %0, %1, %2, %3;",
        "dp4a.u32.u32 %0, %1, %2, %3;",
    ),
    *("dp2a.lo.s32.s32 %0, %1, %2, %3;", "dp2a.hi.u32.u32 %0, %1, %2, %3;", "dp4a.u32.s32 %0, %1, %2, %3;"),
    *(f"set.{relation}.u32.{kind} %0, %1, %2;" for relation in ("lt", "ge", "eq") for kind in ("s32", "u32")),
    *("div.u32 %0, %1, %2;", "rem.u32 %0, %1, %2;"),
    *(f"cvt.{kind}.{kind} %0, %1;".replace("s8.s8", "s32.s8").replace("u16.u16", "u32.u16") for kind in ("s8", "u16")),
)
HALVES: Final = (
    *("add.f16x2 %0, %1, %2;", "sub.f16x2 %0, %1, %2;", "mul.f16x2 %0, %1, %2;", "fma.rn.f16x2 %0, %1, %2, %3;"),
    *("fma.rn.relu.f16x2 %0, %1, %2, %3;", "fma.rn.sat.f16x2 %0, %1, %2, %3;", "add.sat.f16x2 %0, %1, %2;"),
    *("min.f16x2 %0, %1, %2;", "max.f16x2 %0, %1, %2;", "max.NaN.f16x2 %0, %1, %2;"),
    *("fma.rn.bf16x2 %0, %1, %2, %3;", "min.bf16x2 %0, %1, %2;", "max.bf16x2 %0, %1, %2;", "neg.f16x2 %0, %1;"),
    *("abs.f16x2 %0, %1;", "fma.rn.relu.bf16x2 %0, %1, %2, %3;"),
)
PACKED: Final = ("cvt.rn.f16x2.f32 %0, %1, %2;", "cvt.rn.bf16x2.f32 %0, %1, %2;", "cvt.rz.f16x2.f32 %0, %1, %2;")

LISTS: Final = {
    "floats": (FLOATS, "f", "f"),
    "float_comparisons": (FLOAT_COMPARISONS, "f", "r"),
    "to_integers": (TO_INTEGERS, "f", "r"),
    "from_integers": (FROM_INTEGERS, "r", "f"),
    "approximate": (APPROXIMATE, "f", "f"),
    "integers": (INTEGERS, "r", "r"),
    "halves": (HALVES, "r", "r"),
    "packed": (PACKED, "f", "r"),
}
"""Instructions by kernel, with the kind of their sources and of their result: float or integer registers."""


PARAMETERS: Final = "const unsigned* a, const unsigned* b, const unsigned* c, unsigned* out"


def sources() -> np.ndarray:
    """Return three arrays of words, random ones and special ones in all pairs."""
    draw = np.random.default_rng(9)
    words = draw.integers(0, 1 << 32, (3, COUNT), dtype=np.uint32)
    # A third of the words are floats of a middle size, so that sums and products are no infinities.
    middle = (draw.standard_normal((3, COUNT)) * 2.0 ** draw.integers(-20, 20, (3, COUNT))).astype(np.float32)
    words = np.where(draw.random((3, COUNT)) < 0.4, middle.view(np.uint32), words)
    chosen = draw.choice(np.array(SPECIAL, dtype=np.uint32), (3, COUNT))
    return np.where(draw.random((3, COUNT)) < 0.3, chosen, words)


def source() -> str:
    """Return the CUDA source."""
    lines = ["// Written by tests/own/single_instructions.py.", ""]
    for name, (instructions, taken, given) in LISTS.items():
        cast = {"f": "__uint_as_float({})", "r": "{}"}[taken]
        lines += [
            f'extern "C" __global__ void {name}({PARAMETERS}) {{',
            "    const int i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;",
            f"    const auto x = {cast.format('a[i]')}, y = {cast.format('b[i]')}, z = {cast.format('c[i]')};",
        ]
        for number, instruction in enumerate(instructions):
            inputs = [
                f'"{taken}"({word})'
                for word, mark in zip("xyz", ("%1", "%2", "%3"), strict=True)
                if mark in instruction
            ]
            kind = {"f": "float", "r": "unsigned"}[given]
            result = {"f": "__float_as_uint(d)", "r": "d"}[given]
            lines.append(
                f'    {{ {kind} d; asm volatile("{instruction}" : "={given}"(d) : {", ".join(inputs)});'
                f" out[{number} * n + i] = {result}; }}"
            )
        lines += ["}", ""]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.stdout.write(source())
