"""Random legal scenarios, small enough to compute for real: which problems ``verify`` is tried on, and how often.

The distribution, of equal weights and independent unless said otherwise:

- kernel: multistage of 3 to 5 stages, or pipelined; a GEMM in 60 of 100 problems, else conv2d forward with analytic or
  optimized iterators; threadblock and warp of ``TILES``; every threadblock swizzle.
- layouts of a GEMM: TN in 40 of 100, else NN, NT or TT.
- types: any of ``TYPES``, of 16 or 32 bits where A or B is not contiguous along K; any output they have.
- machine: t4 for half of the pipelined kernels of Turing's instructions that are small enough, else h200.
- shared layouts: for half of the operands the one CUTLASS picks, else one of ``SHARED_LAYOUTS``.
- alignment: accesses of A and B of 16, 8 or 4 bytes, the widest more often; output accesses of 16 bytes down to one
  byte or element. Stated in half of the problems, else left to be the widest legal.
- extents: whole tiles in 15 of 100, else ragged multiples of the accesses along them. M, N up to 1.6 tiles and K up to
  (stages + 2) k tiles, leading dimensions packed or padded; convolutions with filters 1 to 3 (rarely 5) wide and high,
  padding 0 to 3, stride 1 to 3, dilation 1 to 3, both modes, p and q as they follow or given one smaller.
- split-K: none, serial or parallel, of as many of 2 to 4 slices as find work.
- epilogue: bias, relu and a source, each in half of the problems; alpha and beta 1, another whole number or a fraction;
  for outputs of 8 bits and fewer an alpha that clamps some of the results.
"""

from math import floor, log2, sqrt
from typing import Any, TypeAlias

import numpy as np
from problems.draw import Draw, conv_extents, gemm_extents, legal_slices

from gpusim.element_types import (
    INTEGER_RANGE,
    INTEGERS,
    MMA_SHAPES,
    OUTPUTS,
    TURING,
    Shape,
    element_bits,
    widest_alignment,
)
from gpusim.families.gemm.gemm import TRANSPOSABLE_BITS
from gpusim.families.registry import parse_gemm_scenario
from gpusim.scenario.checks import COPY_BYTES
from gpusim.scenario.gemm import GemmScenario
from gpusim.scenario.kernel import PIPELINED_STAGES
from gpusim.units import VECTOR_BITS

Types: TypeAlias = tuple[str, str, Shape]
"""Operand type, accumulator type, mma.sync shape."""

TYPES: tuple[Types, ...] = tuple(
    (ab, accumulator, shape) for (ab, accumulator), shapes in MMA_SHAPES.items() for shape in shapes
)
"""Those of every instruction the kernels issue."""

TILES = (
    ((64, 64, 32), (32, 32, 32)),
    ((64, 64, 32), (64, 64, 32)),
    ((64, 64, 64), (32, 32, 64)),
    ((128, 64, 32), (64, 32, 32)),
    ((128, 64, 32), (32, 32, 32)),
    ((64, 128, 64), (32, 64, 64)),
    ((128, 128, 32), (64, 64, 32)),
    ((128, 128, 64), (64, 64, 64)),
    ((64, 256, 32), (32, 128, 32)),
    ((128, 256, 32), (64, 64, 32)),
    ((256, 128, 32), (64, 64, 32)),
)
"""Threadblock and warp tiles of 16-bit operands; K of others has as many bytes."""

SHARED_LAYOUTS = {
    32: ("row_major", "padded<8>", "Swizzle<2,3,3>", "Swizzle<3,3,6>"),
    64: ("row_major", "padded<8>", "Swizzle<3,3,3>", "Swizzle<2,3,3>"),
}
"""Layouts beside crosswise and congruous, by the threadblock's K, of 16-bit operands; others get as many bytes."""

THREADBLOCK_SWIZZLES = ("identity<1>", "identity<2>", "identity<4>", "identity<8>", "horizontal")

_DRAWN_BITS = 16


def random_scenario(seed: int, *, mainloop: str | None = None, types: Types | None = None) -> GemmScenario:
    """The scenario of a seed, validated; mainloop and types are drawn where they are not given."""
    return parse_gemm_scenario(random_data(seed, mainloop=mainloop, types=types), f"random problem {seed}")


def random_data(seed: int, *, mainloop: str | None = None, types: Types | None = None) -> dict[str, Any]:
    """The scenario of a seed as plain data, in the form of a scenario file. The same arguments give the same data."""
    rng = np.random.default_rng(seed)
    return drawn_data(Draw(lambda low, high: int(rng.integers(low, high + 1))), mainloop=mainloop, types=types)


def drawn_data(draw: Draw, *, mainloop: str | None = None, types: Types | None = None) -> dict[str, Any]:
    """
    A scenario as plain data.

    Args:
        draw: Makes the choices.
        mainloop: In place of a drawn one.
        types: Likewise.
    """
    mainloop = mainloop or draw.one_of("multistage", "pipelined")
    stages = PIPELINED_STAGES if mainloop == "pipelined" else draw.between(3, 5)
    gemm = draw.chance(60)
    transposes = gemm and (types is None or _may_transpose(types)) and draw.chance(60)
    letters = draw.one_of("NN", "NT", "TT") if transposes else "TN"
    types = types or draw.one_of(*(one for one in TYPES if letters == "TN" or _may_transpose(one)))
    ab, accumulator, instruction = types
    bits, output = element_bits(ab), draw.one_of(*OUTPUTS[ab, accumulator])
    tile, warp_tile = draw.one_of(*TILES)
    threadblock, warp = ([m, n, k * _DRAWN_BITS // bits] for m, n, k in (tile, warp_tile))
    layouts = {operand: _rescaled(draw.one_of(*SHARED_LAYOUTS[tile[2]]), bits) for operand in "ab" if draw.chance(50)}
    kernel = {
        "threadblock": threadblock,
        "warp": warp,
        "instruction": list(instruction),
        "stages": stages,
        "mainloop": mainloop,
        "threadblock_swizzle": draw.one_of(*THREADBLOCK_SWIZZLES),
        "shared": layouts,
    }
    access = _accesses(draw, bits, output, warp[1])
    split_k = draw.one_of(None, "serial", "parallel")
    slices = draw.between(2, 4) if split_k else 1
    if gemm:
        problem = gemm_extents(draw, letters, threadblock, stages + 2, access)
        summed = products = problem["k"]
    else:
        problem = conv_extents(draw, threadblock, slices, access)
        summed = problem["c"]
        products = summed * problem["r"] * problem["s"]
        kernel["iterator"] = draw.one_of("analytic", "optimized")
    if split_k:
        problem |= {"split_k": split_k, "split_k_slices": legal_slices(slices, -(-summed // threadblock[2]))}
    problem |= _epilogue(draw, ab, output, products)
    problem["dtype"] = {"ab": ab, "accumulator": accumulator, "output": output}
    problem |= {f"alignment_{operand}": access[operand] for operand in "abc" if draw.chance(50)}
    columns = (problem["n"], problem.get("ldc", 0)) if gemm else (problem["k"],)
    if widest_alignment(output, *columns) > _widest_output_access(output, warp[1]):
        problem["alignment_c"] = access["c"]
    fits_t4 = mainloop == "pipelined" and (ab, instruction) in TURING and tile[0] + tile[1] <= 256 and tile[2] == 32
    return {"machine": draw.one_of("t4", "h200") if fits_t4 else "h200", "problem": problem, "kernel": kernel}


def _may_transpose(types: Types) -> bool:
    """Whether operands of the type need not be contiguous along K."""
    return element_bits(types[0]) in TRANSPOSABLE_BITS


def _rescaled(layout: str, bits: int) -> str:
    """A shared layout of 16-bit elements for another width: the same bytes."""
    if layout.startswith("padded"):
        return f"padded<{int(layout[7:-1]) * _DRAWN_BITS // bits}>"
    if layout.startswith("Swizzle"):
        swizzle, base, shift = map(int, layout[8:-1].split(","))
        return f"Swizzle<{swizzle},{base + round(log2(_DRAWN_BITS / bits))},{shift}>"
    return layout


def _widest_output_access(output: str, warp_columns: int) -> int:
    """Elements: 16 bytes, or a quarter of the warp tile's row where 8 rows are no whole accesses of 32 lanes else."""
    return min(VECTOR_BITS // element_bits(output), warp_columns // 4)


def _accesses(draw: Draw, bits: int, output: str, warp_columns: int) -> dict[str, int]:
    """Elements of an access of each operand and of the output, which the extents along them are multiples of."""
    most, least = _widest_output_access(output, warp_columns), max(8 // element_bits(output), 1)
    inputs = {operand: 8 * draw.one_of(COPY_BYTES[0], *COPY_BYTES) // bits for operand in "ab"}
    return inputs | {"c": most >> draw.between(0, (most // least).bit_length() - 1)}


def _epilogue(draw: Draw, ab: str, output: str, products: int) -> dict[str, Any]:
    """The linear combination, given how many products are summed."""
    narrow = output in INTEGERS and output != "s32"
    return {
        "alpha": _clamping_alpha(draw, ab, output, products) if narrow else draw.scale(),
        "beta": draw.scale() if draw.chance(50) else 0.0,
        "bias": draw.chance(50),
        "activation": draw.one_of("identity", "relu"),
    }


def _clamping_alpha(draw: Draw, ab: str, output: str, products: int) -> float:
    """
    A scale with few significant bits that brings sums near the ends of the output's range, some of them beyond.

    Of random operands a signed product is a third of the greatest square in the mean square, an unsigned one a quarter
    of it in the mean.
    """
    low, high = INTEGER_RANGE[ab]
    typical = high**2 * (sqrt(products) / 3 if low < 0 else products / 4)
    return float(draw.one_of(1.0, 0.75, -0.5) * 2.0 ** floor(log2(INTEGER_RANGE[output][1] / typical)))
