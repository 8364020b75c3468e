"""Writes the parameter structures that CUTLASS 2.x's GEMM kernels are launched with; reads no code."""

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from gpusim.families.gemm.cutlass import structure
from gpusim.scenario.gemm import GemmScenario
from gpusim.tile.extents import ceil_div
from gpusim.tile.operand import Operand, Side

_PITCH_LINEAR = np.dtype(
    [(name, np.int64) for name in ("stride", "inc_strided", "inc_next", "inc_advance")], align=True
)
_REFERENCE = np.dtype([("pointer", np.uint64), ("stride", np.int64)], align=True)


def _pitch_linear(operand: Operand, leading: int) -> structure.Members:
    """
    Return the steps of an operand's global iterator: its stride in elements, the others in bytes.

    Source: CUTLASS include/cutlass/transform/threadblock/predicated_tile_access_iterator_params.h.
    """
    threads = operand.thread_map
    contiguous, strided = threads.shape
    row = leading * operand.bits // 8
    advance = contiguous * operand.bits // 8 if operand.k_contiguous else strided * row
    return {
        "stride": leading,
        "inc_strided": row * threads.delta[1],
        "inc_next": advance - (threads.iterations[1] - 1) * threads.delta[1] * row,
        "inc_advance": advance,
    }


def _gemm_k_size(scenario: GemmScenario) -> int:
    """Return the elements along K of one split-K slice."""
    tile_k = scenario.tiling.threadblock[2]
    return ceil_div(ceil_div(scenario.problem.extents.k, tile_k), scenario.grid.tiled.slices) * tile_k


def _leading(scenario: GemmScenario, side: Side) -> int:
    problem: Any = scenario.problem
    return int(problem.leading_a if side == "a" else problem.leading_b)


def _gemm_fields(scenario: GemmScenario) -> np.dtype[np.void]:
    fields: list[Any] = [
        ("problem_size", *structure.COORDINATE),
        ("grid_tiled_shape", *structure.COORDINATE),
        ("swizzle_log_tile", np.int32),
        ("params_a", _PITCH_LINEAR),
        ("ref_a", _REFERENCE),
        ("params_b", _PITCH_LINEAR),
        ("ref_b", _REFERENCE),
        ("params_c", structure.OUTPUT_ITERATOR),
        ("ref_c", _REFERENCE),
        ("params_d", structure.OUTPUT_ITERATOR),
        ("ref_d", _REFERENCE),
        ("output_op", structure.output_op(scenario)),
        ("semaphore", np.uint64),
        ("gemm_k_size", np.int32),
        *((name, np.uint64) for name in ("gather_a", "gather_b", "scatter_d")),
    ]
    return np.dtype(fields, align=True)


def _gemm_values(scenario: GemmScenario, pointers: Mapping[str, int]) -> structure.Members:
    leading = {"a": _leading(scenario, "a"), "b": _leading(scenario, "b")}
    written = scenario.epilogue.leading
    return {
        **structure.tiled_grid(scenario),
        "problem_size": tuple(scenario.problem.extents),
        "params_a": _pitch_linear(scenario.operand("a"), leading["a"]),
        "ref_a": {"pointer": pointers["a"], "stride": leading["a"]},
        "params_b": _pitch_linear(scenario.operand("b"), leading["b"]),
        "ref_b": {"pointer": pointers["b"], "stride": leading["b"]},
        "params_c": structure.output_iterator(scenario),
        "ref_c": {"pointer": pointers["source"], "stride": written},
        "params_d": structure.output_iterator(scenario),
        "ref_d": {"pointer": pointers["output"], "stride": written},
        "output_op": structure.scales(scenario),
        "semaphore": pointers["semaphore"],
        "gemm_k_size": _gemm_k_size(scenario),
    }


def _universal_fields(scenario: GemmScenario) -> np.dtype[np.void]:
    pointers = ("ptr_a", "ptr_b", "ptr_c", "ptr_d")
    gathered = ("gather_a", "gather_b", "scatter_d")
    fields: list[Any] = [
        ("problem_size", *structure.COORDINATE),
        ("grid_tiled_shape", *structure.COORDINATE),
        *((name, np.int32) for name in ("swizzle_log_tile", "mode", "batch_count", "gemm_k_size")),
        ("batch_stride_d", np.int64),
        ("semaphore", np.uint64),
        ("params_a", _PITCH_LINEAR),
        ("params_b", _PITCH_LINEAR),
        ("params_c", structure.OUTPUT_ITERATOR),
        ("params_d", structure.OUTPUT_ITERATOR),
        ("output_op", structure.output_op(scenario)),
        *((name, np.uint64) for name in pointers),
        *((name, np.int64) for name in ("batch_stride_a", "batch_stride_b", "batch_stride_c")),
        *((name, np.uint64) for name in gathered),
    ]
    return np.dtype(fields, align=True)


def _universal_values(scenario: GemmScenario, pointers: Mapping[str, int]) -> structure.Members:
    own = _gemm_values(scenario, pointers)
    kept = ("problem_size", "grid_tiled_shape", "swizzle_log_tile", "semaphore", "gemm_k_size", "output_op")
    return {
        **{name: own[name] for name in (*kept, "params_a", "params_b", "params_c", "params_d")},
        "batch_count": scenario.grid.tiled.slices,
        "ptr_a": pointers["a"],
        "ptr_b": pointers["b"],
        "ptr_c": pointers["source"],
        "ptr_d": pointers["output"],
    }


GEMM_STRUCTURES: Final = (
    structure.LaunchStructure("4gemm6kernel4GemmI", _gemm_fields, _gemm_values),
    structure.LaunchStructure("4gemm6kernel13GemmUniversalI", _universal_fields, _universal_values),
)
"""Structures of ``gemm::kernel::Gemm`` and ``GemmUniversal``."""
