"""Specialises attention kernels for a GPU: macros, grid, shared memory, parameters."""

from typing import Final

import numpy as np

from gpusim.cuda.specialise import OWN_KERNEL_ONLY, PARAMS, Build, Specialisation, build_macros, specialised
from gpusim.element_types import ptx_name
from gpusim.errors import BadInput
from gpusim.families.attention.problem import TILE_DEPTH, AttentionScenario
from gpusim.families.attention.program.step import OP_KINDS
from gpusim.families.attention.tile.blocks import attention_epilogue, attention_grid
from gpusim.families.attention.tile.shape import CTAS_PER_SM, AttentionShape, attention_shape

ATTENTION_ENTRY: Final = "gpusim_attention"
"""The entry point of every attention kernel, in kernels_cuda/attention/kernel.cu."""

ATTENTION_PARAMS: Final = np.dtype(
    [
        ("common", PARAMS),
        ("v", np.uint64),
        ("log_sum_exp", np.uint64),
        ("query_lengths", np.uint64),
        ("key_lengths", np.uint64),
        ("scale_log2", np.float32),
        ("reserved", np.int32),
    ],
    align=True,
)
"""struct AttentionParams of kernels_cuda/attention/launch.cuh, passed to the kernel by value."""

_INSTRUCTION = (16, 8, 16)
"""The one mma.sync shape that kernels_cuda/attention issues, whatever CUTLASS's example does."""

_OPERAND: Final[dict[str, int | str]] = {
    "LAYOUT": "Crosswise",
    "K_CONTIGUOUS": 1,
    "ACCESS": 8,
    "STORE_POINTERS_STRIDED": 1,
    "STORE_POINTERS_CONTIGUOUS": 1,
    "WALK": "exclusive_or",
}
"""Macros of a GEMM's operands, which scenario.cuh requires; attention kernels do not use them."""


def specialisations(scenario: AttentionScenario, build: Build = "plain") -> tuple[Specialisation, ...]:
    """
    Return the one kernel of a scenario; its timeline build stamps key blocks.

    Raises:
        BadInput: kernels_cuda has no such kernel.
    """
    return (specialise_attention(scenario, build),)


def specialise_attention(
    scenario: AttentionScenario, build: Build = "plain", shape: AttentionShape | None = None, **changed: int
) -> Specialisation:
    """
    Return the specialised kernel of an attention scenario.

    Args:
        scenario: Problem and kernel.
        build: ``trace`` and ``timeline`` are the same source, instrumented (kernels_cuda/record.cuh).
        shape: Tiles to use in place of the scenario's tiles.
        changed: Other values of macros, by name without GPUSIM_: CTAS_PER_SM, QUERIES_IN_REGISTERS or COMPUTED_V,
            which are no keys of a scenario.

    Raises:
        BadInput: kernels_cuda has no such kernel: it issues another mma.sync, or is CUTLASS's.
        CannotRun: The CUDA sources are missing.
    """
    if scenario.kernel.code != "gpusim":
        raise BadInput(OWN_KERNEL_ONLY)
    if scenario.instruction != _INSTRUCTION:
        raise BadInput(
            f"kernel.instruction must be {list(_INSTRUCTION)} on a GPU: kernels_cuda/attention issues nothing else,"
            f" got {list(scenario.instruction)}"
        )
    tiles = shape or attention_shape(scenario)
    return specialised(
        "attention/kernel.cu",
        ATTENTION_ENTRY,
        build,
        _macros(scenario, tiles, build) | changed,
        attention_grid(scenario),
        block_threads=tiles.threads,
        shared_bytes=tiles.shared_bytes,
        k_iterations=-(-scenario.problem.keys // scenario.keys_per_block),
    )


def _macros(scenario: AttentionScenario, shape: AttentionShape, build: Build) -> dict[str, int | str]:
    problem, tile = scenario.problem, attention_epilogue(scenario)
    macros: dict[str, int | str] = {
        **_gemm_macros(scenario, shape),
        "KEYS": problem.keys,
        "BLOCK_KEYS": shape.qk.threadblock[1],
        "COMPUTED_V": shape.pv.threadblock[1],
        "ACCESS_C": tile.elements_per_access,
        "EPILOGUE_MIXED": int(tile.mixed),
        "FLASH": int(shape.flash),
        "HEADS": problem.heads,
        "HEAD_DIM": problem.head_dim,
        "HEAD_DIM_V": problem.head_dim_v,
        "MASK": problem.mask,
        "RAGGED": int(problem.ragged),
        "CTAS_PER_SM": CTAS_PER_SM[scenario.kernel.mainloop],
        "SHARED_BYTES": shape.shared_bytes,
        "QUERIES_IN_REGISTERS": 0,
        "PRELOAD_V": int(scenario.kernel.preload_v),
        "KEEP_OUTPUT_IN_REGISTERS": int(scenario.in_registers),
    }
    # An order that is the kernel's own is no macro, so that its name as a build stays.
    if scenario.cta_order == "longest_first":
        macros["LONGEST_FIRST"] = problem.batch
    elif scenario.cta_order != scenario.default_order:
        macros["LAST_FIRST"] = int(scenario.cta_order == "descending")
    return macros | build_macros(build, OP_KINDS)


def _gemm_macros(scenario: AttentionScenario, shape: AttentionShape) -> dict[str, int | str]:
    """Return the macros that kernels_cuda/scenario.cuh requires, for the second GEMM, P * V."""
    problem, (m, _, k) = scenario.problem, scenario.instruction
    ab = problem.dtype.ab
    return {
        "CONVOLUTION": 0,
        "EXTENT_M": problem.queries,
        "EXTENT_N": problem.head_dim_v,
        "AB": ab,
        "ACCUMULATOR": "f32",
        "OUTPUT": problem.dtype.output,
        "COMPUTE": "f32",
        "BIAS": 0,
        "RELU": 0,
        "REDUCES": 0,
        "MMA": ptx_name(ab, "f32", scenario.instruction),
        "INSTRUCTION_M": m,
        "INSTRUCTION_K": k,
        "TILE_M": shape.pv.threadblock[0],
        "TILE_N": shape.pv.threadblock[1],
        "TILE_K": TILE_DEPTH,
        "WARP_M": shape.pv.warp[0],
        "WARP_N": shape.pv.warp[1],
        "STAGES": shape.compiled_stages,
        "SPLIT_K_SLICES": 1,
        "THREADBLOCK_SWIZZLE": "IdentitySwizzle<1>",
        "LDC": problem.heads * problem.head_dim_v,
        **{f"{name}_{letter}": value for letter in "AB" for name, value in _OPERAND.items()},
    }
