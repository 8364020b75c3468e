"""Specialises the tile kernel of a GEMM or convolution: macros, grid, shared memory, tensor addresses."""

from collections.abc import Mapping
from itertools import product
from math import prod
from typing import Final, Literal, TypeAlias, get_args

import numpy as np

from gpusim.arrays import IntArray
from gpusim.cuda.specialise import SHARED_ALIGNMENT, Build, Specialisation, build_macros, specialised
from gpusim.element_types import element_bits, ptx_name
from gpusim.families.gemm.program import mainloop_policy
from gpusim.layout.crosswise import line_elements
from gpusim.layout.named import CongruousSpec, CrosswiseSpec, CuteSpec, PaddedSpec, parse_layout_spec
from gpusim.numerics.output_op import compute_type
from gpusim.scenario.gemm import GemmScenario
from gpusim.schedule.ops import Op
from gpusim.tile.extents import ceil_div
from gpusim.tile.ldmatrix import instruction_steps, ldmatrix_offsets
from gpusim.tile.operand import SIDES, Side
from gpusim.tile.shared_store import store_offsets
from gpusim.tile.threadblock_swizzle import IdentitySwizzle, threadblock_swizzle

Walk: TypeAlias = Literal["add", "exclusive_or", "layout"]

ENTRY: Final = "gpusim_kernel"
"""Name of the ``__global__`` function of every tile kernel, in kernels_cuda/kernel.cu."""

EXTENT_MACROS: Final = frozenset({"EXTENT_M", "EXTENT_N", "GEMM_K", "GEMM_LDA", "GEMM_LDB", "LDC"})
"""Macros of the extents of a GEMM, which its build with run-time extents does without."""

POINTERS: Final[Mapping[str, int]] = {
    name: place << 40 for place, name in enumerate(("a", "b", "source", "output", "bias", "partial", "semaphore"), 1)
}
"""Assumed global byte address of each tensor when a kernel's code is emulated. Their address ranges do not overlap."""


def specialise(scenario: GemmScenario, build: Build = "plain") -> Specialisation:
    """
    Return the specialised tile kernel of a scenario.

    alpha and beta stay run-time values. Only whether beta is 0 is compiled in, because a kernel without a source tensor
    has no code that reads one.

    Args:
        scenario: Problem and kernel.
        build: ``plain``; or ``trace`` or ``timeline``, the same source instrumented (kernels_cuda/record.cuh).

    Raises:
        CannotRun: The CUDA sources are missing.
    """
    return _launched(scenario, build, tile_macros(scenario, build))


def specialise_any_extents(scenario: GemmScenario, build: Build = "plain") -> Specialisation | None:
    """
    Return the build that serves all extents of a kernel's configuration, with the launch of this scenario.

    Its options hold no extent and no leading dimension: tiles, layouts, types and alignments alone make the machine
    code. None where there is no such build: the iterators of a convolution have their extents compiled in, and so has
    the reduction of a parallel split-K.

    Args:
        scenario: Problem and kernel.
        build: ``plain``, ``trace`` or ``timeline``.

    Raises:
        CannotRun: The CUDA sources are missing.
    """
    problem, tiled = scenario.problem, scenario.grid.tiled
    if problem.launch_extents is None or problem.reduces:
        return None
    k, leading_a, leading_b = problem.launch_extents
    macros = {name: value for name, value in tile_macros(scenario, build).items() if name not in EXTENT_MACROS}
    tile_k = scenario.kernel.threadblock[2]
    extents = (
        *(problem.extents.m, problem.extents.n, k),
        *(leading_a, leading_b, scenario.epilogue.leading),
        *(tiled.m, tiled.n, scenario.grid.swizzle.log_tile(tiled)),
        ceil_div(ceil_div(k, tile_k), problem.split_k_slices) * tile_k,
    )
    return _launched(scenario, build, macros | {"RUN_TIME_EXTENTS": 1}, extents)


def _launched(
    scenario: GemmScenario, build: Build, macros: Mapping[str, int | str], extents: tuple[int, ...] = ()
) -> Specialisation:
    tiled = scenario.grid.tiled
    return specialised(
        "kernel.cu",
        ENTRY,
        build,
        macros,
        scenario.grid.dim,
        block_threads=scenario.kernel.threads,
        shared_bytes=scenario.shared_bytes,
        k_iterations=scenario.k_iterations(),
        semaphores=tiled.m * tiled.n if tiled.slices > 1 and not scenario.problem.reduces else 0,
        extents=extents,
    )


def store_pointers(scenario: GemmScenario, operand: Side) -> tuple[int, int]:
    """
    Return the number of base addresses that a thread needs for its copies into shared memory: (contiguous, strided).

    An access uses the base address at its index modulo the number of them. The number is the smallest one (along each
    dimension a power of two, or all accesses) for which the distance from the base address is the same in every thread:
    (1, 2) for crosswise and congruous operands, (1, 1) for unswizzled rows.
    """
    contiguous, strided = scenario.operand(operand).thread_map.iterations
    offsets = store_offsets(scenario.operand(operand), 0)[:, :, 0].reshape(-1, strided, contiguous)
    choices = sorted(product(_pointers(contiguous), _pointers(strided)), key=lambda choice: (prod(choice), choice))
    for along_contiguous, along_strided in choices:
        rows, columns = np.arange(strided) % along_strided, np.arange(contiguous) % along_contiguous
        distance = offsets - offsets[:, rows[:, None], columns]
        if (distance == distance[0]).all():
            return along_contiguous, along_strided
    raise AssertionError("with a pointer for each access the distance is 0")


def _pointers(accesses: int) -> list[int]:
    """Return the powers of two below a number of accesses, and that number."""
    return [*(1 << power for power in range((accesses - 1).bit_length())), accesses]


def ldmatrix_walk(scenario: GemmScenario, operand: Side) -> Walk:
    """
    Return how a lane's address for another instruction or k group of the same stage follows from its first one.

    Returns:
        ``add``: by adding a constant that is the same in every lane. ``exclusive_or``: by an XOR within a 128-byte line
        of the contiguous dimension, and adding a constant, as in CUTLASS's iterators. ``layout``: by neither, so the
        kernel evaluates the layout again.
    """
    base = scenario.operand("a").shared_bytes if operand == "b" else 0
    layout = scenario.operand(operand).shared
    kernel = scenario.kernel
    stages = [ldmatrix_offsets(scenario.operand(operand), stage) for stage in range(kernel.stages)]
    bits = element_bits(scenario.problem.dtype.ab)
    address = base + np.stack(stages) * bits // 8  # [stages, warps, k groups, instructions, 32]
    first = address[:, :, :1, :1]
    k_groups = np.arange(kernel.k_groups, dtype=np.int64)[:, None, None] * kernel.instruction[2]
    step_k, step_mn = instruction_steps(scenario.operand(operand))
    k, mn = k_groups + step_k[:, None], step_mn[:, None]
    contiguous, strided = (k, mn) if scenario.problem.k_contiguous(operand) else (mn, k)

    def along(contiguous: int | IntArray, strided: int | IntArray) -> IntArray:
        return layout.offset(contiguous, strided) * bits // 8

    if (first + along(contiguous, strided) == address).all():
        return "add"
    in_line = contiguous % line_elements(bits)
    toggled = along(in_line, 0)
    moved = first ^ toggled
    if toggled.max() < SHARED_ALIGNMENT and (moved + along(contiguous - in_line, strided) == address).all():
        return "exclusive_or"
    return "layout"


def tile_macros(scenario: GemmScenario, build: Build) -> dict[str, int | str]:
    """Return the macros that kernels_cuda/scenario.cuh requires, by name without the prefix ``GPUSIM_``."""
    problem, kernel = scenario.problem, scenario.kernel
    tile_m, tile_n, tile_k = kernel.threadblock
    epilogue = scenario.epilogue
    macros: dict[str, int | str] = {
        **problem.macros,
        "EXTENT_M": problem.extents.m,
        "EXTENT_N": problem.extents.n,
        "ITERATORS": problem.iterators(kernel.iterator),
        "SPLIT_K_SLICES": problem.split_k_slices,
        "BETA_IS_ZERO": int(problem.beta == 0 or problem.reduces),
        "AB": problem.dtype.ab,
        "ACCUMULATOR": problem.dtype.accumulator,
        "OUTPUT": epilogue.output_type,
        "COMPUTE": compute_type(problem),
        "BIAS": int(problem.bias and not problem.reduces),
        "RELU": int(problem.activation == "relu" and not problem.reduces),
        "REDUCES": int(problem.reduces),
        "EPILOGUE_MIXED": int(epilogue.mixed),
        "MMA": ptx_name(problem.dtype.ab, problem.dtype.accumulator, kernel.instruction),
        "INSTRUCTION_M": kernel.instruction[0],
        "INSTRUCTION_K": kernel.instruction[2],
        "TILE_M": tile_m,
        "TILE_N": tile_n,
        "TILE_K": tile_k,
        "WARP_M": kernel.warp[0],
        "WARP_N": kernel.warp[1],
        "PIPELINED": int(mainloop_policy(scenario).through_registers),
        "STAGES": kernel.stages,
        "THREADBLOCK_SWIZZLE": _swizzle_type(kernel.threadblock_swizzle),
        "ACCESS_C": epilogue.elements_per_access,
        "LDC": epilogue.leading,
    }
    for operand in SIDES:
        letter = operand.upper()
        layout, pointers = _layout_macros(scenario.shared_layout(operand)), store_pointers(scenario, operand)
        macros |= {f"{name}_{letter}": value for name, value in layout.items()}
        macros |= {
            f"ACCESS_{letter}": problem.access(operand),
            f"K_CONTIGUOUS_{letter}": int(scenario.problem.k_contiguous(operand)),
            f"STORE_POINTERS_CONTIGUOUS_{letter}": pointers[0],
            f"STORE_POINTERS_STRIDED_{letter}": pointers[1],
            f"WALK_{letter}": ldmatrix_walk(scenario, operand),
        }
    return macros | build_macros(build, get_args(Op))


def _swizzle_type(name: str) -> str:
    """Return the type in kernels_cuda/threadblock_swizzle.cuh of a threadblock swizzle."""
    swizzle = threadblock_swizzle(name)
    return f"IdentitySwizzle<{swizzle.width}>" if isinstance(swizzle, IdentitySwizzle) else "HorizontalSwizzle"


def _layout_macros(name: str) -> dict[str, int | str]:
    """
    Return the macros that select the type in kernels_cuda/layout.cuh of a shared-memory layout.

    The arguments of a Swizzle are separate macros, because nvcc reads an option with a comma as a list of options.
    """
    match parse_layout_spec(name):
        case CrosswiseSpec(None, None):
            return {"LAYOUT": "Crosswise"}
        case CongruousSpec(None, None):
            return {"LAYOUT": "Congruous"}
        case PaddedSpec(padding):
            return {"LAYOUT": f"Padded<{padding}>"}
        case CuteSpec(swizzle, None):
            return {"SWIZZLE_BITS": swizzle.bits, "SWIZZLE_BASE": swizzle.base, "SWIZZLE_SHIFT": swizzle.shift}
        case spec:
            raise TypeError(f"{spec} is no shared layout of a scenario")
