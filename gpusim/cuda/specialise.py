"""What a scenario's CUDA kernel is compiled with and launched with: macros, grid, shared memory, parameters."""

import hashlib
from dataclasses import dataclass
from itertools import product
from math import prod
from pathlib import Path
from typing import Final, Literal, TypeAlias

import numpy as np

import gpusim
from gpusim.arrays import IntArray
from gpusim.cuda.trace_format import OPERATIONS
from gpusim.element_types import element_bits, ptx_name
from gpusim.errors import CannotRun
from gpusim.layout.crosswise import line_elements
from gpusim.layout.named import CongruousSpec, CrosswiseSpec, CuteSpec, PaddedSpec, parse_layout_spec
from gpusim.numerics.output_op import compute_type
from gpusim.scenario.gemm import GemmScenario
from gpusim.tile.ldmatrix import instruction_steps, ldmatrix_offsets
from gpusim.tile.operand import SIDES, Side
from gpusim.tile.shared_store import store_offsets
from gpusim.tile.threadblock_swizzle import IdentitySwizzle, threadblock_swizzle

Build: TypeAlias = Literal["plain", "trace", "timeline"]
Walk: TypeAlias = Literal["add", "exclusive_or", "layout"]

ENTRY: Final = "gpusim_kernel"
"""The entry point of every specialised tile kernel, in kernels_cuda/kernel.cu."""

REDUCTION_ENTRY: Final = "gpusim_reduction"
"""The entry point of a parallel split-K's second kernel, in kernels_cuda/reduction.cu."""

SHARED_ALIGNMENT: Final = 1024
"""Alignment of the CTA's dynamic shared memory in kernels_cuda/ptx.cuh, bytes."""

RECORDED_BLOCKS: Final = 8
"""Most CTAs that one launch records."""

PARAMS: Final = np.dtype(
    [
        ("a", np.uint64),
        ("b", np.uint64),
        ("source", np.uint64),
        ("output", np.uint64),
        ("semaphore", np.uint64),
        ("alpha", np.float32),
        ("beta", np.float32),
        ("records", np.uint64),
        ("record_counts", np.uint64),
        ("record_capacity", np.int32),
        ("recorded_blocks", np.int32),
        ("recorded", np.int32, RECORDED_BLOCKS),
        ("k_iterations", np.int32),
        ("reserved", np.int32),
        ("bias", np.uint64),
        ("partial", np.uint64),
    ],
    align=True,
)
"""struct Params of kernels_cuda/params.cuh, passed to the kernel by value; pointers are device addresses."""


@dataclass(frozen=True, slots=True)
class Specialisation:
    """
    One kernel of one scenario.

    Attributes:
        entry: Name of the entry point.
        build: Which of the kernel's builds this is.
        options: Compiler options that make ``source`` this kernel; the C++ standard included, the architecture not.
        grid: gridDim x, y, z.
        block_threads: Threads of a CTA.
        shared_bytes: Dynamic shared memory of a CTA.
        k_iterations: ``Params.k_iterations``: k tiles of slice 0.
        semaphores: int32 flags, all zero, that a serial split-K launch needs; 0 without split-K.
        source: The file to compile.
        include: The folder of its headers.
        digest: SHA-256 over options and sources: equal for kernels that compile alike.
    """

    entry: str
    build: Build
    options: tuple[str, ...]
    grid: tuple[int, int, int]
    block_threads: int
    shared_bytes: int
    k_iterations: int
    semaphores: int
    source: Path
    include: Path
    digest: str


def kernels_folder() -> Path:
    """
    Where the CUDA sources lie: inside an installed wheel, or at the top of the source tree.

    Raises:
        CannotRun: Neither is there, so the installation is damaged.
    """
    package = Path(gpusim.__file__).parent
    folders = (package / "_kernels_cuda", package.parent / "kernels_cuda")
    for folder in folders:
        if (folder / "kernel.cu").is_file():
            return folder
    raise CannotRun(f"no CUDA sources: neither {folders[0]} nor {folders[1]} has kernel.cu; reinstall gpusim")


def specialise(scenario: GemmScenario, build: Build = "plain") -> Specialisation:
    """
    The kernel of a scenario.

    alpha and beta stay run-time values; only whether beta is 0 is compiled in, because a kernel without a source
    tensor holds no code that reads one.

    Args:
        scenario: Problem and kernel.
        build: ``trace`` and ``timeline`` are the same source, instrumented (kernels_cuda/record.cuh).

    Raises:
        CannotRun: The CUDA sources are missing.
    """
    folder = kernels_folder()
    options = _options(_macros(scenario, build))
    tiled = scenario.grid.tiled
    rings = sum(_ring_bytes(scenario, operand) for operand in SIDES)
    return Specialisation(
        entry=ENTRY,
        build=build,
        options=options,
        grid=scenario.grid.dim,
        block_threads=scenario.kernel.threads,
        shared_bytes=max(rings, scenario.epilogue.storage_bytes),
        k_iterations=scenario.k_iterations(),
        semaphores=tiled.m * tiled.n if tiled.slices > 1 and not scenario.problem.reduces else 0,
        source=folder / "kernel.cu",
        include=folder,
        digest=_digest(options, folder),
    )


def specialise_reduction(scenario: GemmScenario, build: Build = "plain") -> Specialisation:
    """
    The second kernel of a parallel split-K.

    Args:
        scenario: One whose problem ``reduces``.
        build: ``plain`` or ``trace``; there is no timeline of it.

    Raises:
        CannotRun: The CUDA sources are missing.
        BadInput: The scenario has no parallel split-K.
    """
    folder = kernels_folder()
    tile, problem = scenario.reduction, scenario.problem
    macros = _macros(scenario, build) | {
        "GPUSIM_BETA_IS_ZERO": int(problem.beta == 0),
        "GPUSIM_OUTPUT": problem.dtype.output,
        "GPUSIM_BIAS": int(problem.bias),
        "GPUSIM_RELU": int(problem.activation == "relu"),
        "GPUSIM_LDC": tile.leading,
        "GPUSIM_ACCESS_C": tile.elements_per_access,
        "GPUSIM_ACCESS_PARTIAL": tile.elements_per_load,
    }
    options = _options(macros)
    return Specialisation(
        entry=REDUCTION_ENTRY,
        build=build,
        options=options,
        grid=tile.grid,
        block_threads=tile.threads,
        shared_bytes=0,
        k_iterations=0,
        semaphores=0,
        source=folder / "reduction.cu",
        include=folder,
        digest=_digest(options, folder),
    )


def kernels(scenario: GemmScenario, build: Build = "plain") -> tuple[Specialisation, ...]:
    """The kernels of a scenario in the order of their launches; a second, which has no timeline build, stays plain."""
    if not scenario.problem.reduces:
        return (specialise(scenario, build),)
    return specialise(scenario, build), specialise_reduction(scenario, "plain" if build == "timeline" else build)


def store_pointers(scenario: GemmScenario, operand: Side) -> tuple[int, int]:
    """
    Base addresses a thread needs for its copies into shared memory, along (contiguous, strided).

    The fewest (along each dimension a power of two, or all) such that an access lies a constant from the one whose
    index is taken modulo the pointers, the same in every thread: (1, 2) for crosswise and congruous operands, (1, 1)
    for unswizzled rows.
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
    """The powers of two under a number of accesses, and all of them."""
    return [*(1 << power for power in range((accesses - 1).bit_length())), accesses]


def ldmatrix_walk(scenario: GemmScenario, operand: Side) -> Walk:
    """
    How a lane finds its address for another instruction or k group of the same stage.

    Returns:
        ``add``: the same constant away in every lane. ``exclusive_or``: one XOR away inside a 128-byte line of the
        contiguous dimension, and a constant besides, as in CUTLASS's own iterators. ``layout``: neither, so that the
        kernel asks the layout anew.
    """
    base = _ring_bytes(scenario, "a") if operand == "b" else 0
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


def _ring_bytes(scenario: GemmScenario, operand: Side) -> int:
    return scenario.operand(operand).shared.elements * element_bits(scenario.problem.dtype.ab) // 8


def _options(macros: dict[str, int | str]) -> tuple[str, ...]:
    return ("-std=c++17", *(f"-D{name}={value}" for name, value in macros.items()))


def _macros(scenario: GemmScenario, build: Build) -> dict[str, int | str]:
    problem, kernel = scenario.problem, scenario.kernel
    tile_m, tile_n, tile_k = kernel.threadblock
    epilogue = scenario.epilogue
    macros: dict[str, int | str] = {
        **problem.macros,
        "OPTIMIZED_ITERATOR": int(kernel.iterator == "optimized"),
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
        "PIPELINED": int(kernel.mainloop == "pipelined"),
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
    if build == "trace":
        macros |= {f"OP_{name.upper()}": number for number, name in enumerate(OPERATIONS)}
    if build != "plain":
        macros[build.upper()] = 1
    return {f"GPUSIM_{name}": value for name, value in macros.items()}


def _swizzle_type(name: str) -> str:
    """The type of kernels_cuda/threadblock_swizzle.cuh that a scenario's threadblock swizzle stands for."""
    swizzle = threadblock_swizzle(name)
    return f"IdentitySwizzle<{swizzle.width}>" if isinstance(swizzle, IdentitySwizzle) else "HorizontalSwizzle"


def _layout_macros(name: str) -> dict[str, int | str]:
    """
    The type of kernels_cuda/layout.cuh that a scenario's layout name stands for.

    Swizzle's arguments are macros of their own: nvcc takes an option with a comma for a list of options.
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


def _digest(options: tuple[str, ...], folder: Path) -> str:
    sha = hashlib.sha256("\n".join(options).encode())
    for path in sorted(folder.glob("*.cu*")):
        sha.update(f"\n{path.name}\n".encode() + path.read_bytes())
    return sha.hexdigest()
