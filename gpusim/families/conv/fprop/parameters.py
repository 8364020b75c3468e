"""Writes the parameter structure that CUTLASS 2.x's forward convolutions are launched with; reads no code."""

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from gpusim.families.conv.fprop.optimized import activation_steps, filter_steps
from gpusim.families.gemm.cutlass import structure
from gpusim.scenario.gemm import GemmScenario
from gpusim.tile.extents import ConvShape
from gpusim.tile.operand import Operand

_NHWC = (np.int32, 3)
_DIVMOD = np.dtype([("divisor", np.int32), ("multiplier", np.uint32), ("shift_right", np.uint32)], align=True)
_SHAPE = (
    *("n", "h", "w", "c", "p", "q", "k", "r", "s", "pad_h", "pad_w", "stride_h", "stride_w"),
    *("dilation_h", "dilation_w", "mode", "split_k_slices", "groups"),
)
_SERIAL = 1
"""``SplitKMode::kSerial``, which ``device::ImplicitGemmConvolution`` also passes without split-K."""


def _shape_values(shape: ConvShape) -> tuple[int, ...]:
    return (
        *(shape.n, shape.h, shape.w, shape.c, shape.p, shape.q, shape.k, shape.r, shape.s),
        *(*shape.padding, *shape.stride, *shape.dilation),
        int(shape.mode == "convolution"),
        shape.split_k_slices,
        1,
    )


def _divmod(divisor: int) -> structure.Members:
    """
    Return the factor and shift that replace a division.

    Source: CUTLASS include/cutlass/fast_math.h, ``find_divisor``.
    """
    if divisor == 1:
        return {"divisor": 1}
    power = 31 + (divisor - 1).bit_length()
    return {
        "divisor": divisor,
        "multiplier": (((1 << power) + divisor - 1) // divisor) & 0xFFFFFFFF,
        "shift_right": power - 32,
    }


_ANALYTIC = np.dtype([("layout", *_NHWC)], align=True)
_ACTIVATION = np.dtype(
    [
        ("layout", *_NHWC),
        ("inc_next", np.int64, 3),
        ("filter_c_delta", np.int32),
        ("pq", np.int32),
        ("pq_divmod", _DIVMOD),
        ("q_divmod", _DIVMOD),
    ],
    align=True,
)
_FILTER = np.dtype(
    [
        ("layout", *_NHWC),
        ("rs", np.int32),
        ("filter_c_delta", np.int32),
        *((name, np.int64) for name in ("inc_next_k", "inc_next_rs", "inc_next_c")),
    ],
    align=True,
)


def _activation(operand: Operand, shape: ConvShape) -> structure.Members:
    """
    Return the parameters of the activation's iterator.

    Source: CUTLASS include/cutlass/conv/threadblock/conv2d_params.h.
    """
    tile_k = operand.tiling.threadblock[2]
    steps = activation_steps(shape, operand.bits, tile_k)
    return {
        "layout": (shape.c, shape.w * shape.c, shape.h * shape.w * shape.c),
        "inc_next": (steps.next_s, steps.next_r, steps.next_c),
        "filter_c_delta": tile_k * shape.split_k_slices,
        "pq": shape.p * shape.q,
        "pq_divmod": _divmod(shape.p * shape.q),
        "q_divmod": _divmod(shape.q),
    }


def _filter(operand: Operand, shape: ConvShape) -> structure.Members:
    """Return the parameters of the filter's iterator; source as in ``_activation``."""
    steps = filter_steps(shape, operand.bits, operand.thread_map)
    return {
        "layout": (shape.c, shape.s * shape.c, shape.r * shape.s * shape.c),
        "rs": shape.r * shape.s,
        "filter_c_delta": operand.tiling.threadblock[2] * shape.split_k_slices,
        "inc_next_k": steps.next_k,
        "inc_next_rs": steps.next_rs,
        "inc_next_c": steps.next_c,
    }


def _conv_fields(scenario: GemmScenario) -> np.dtype[np.void]:
    analytic = scenario.kernel.iterator == "analytic"
    fields: list[Any] = [
        ("problem_size", np.int32, len(_SHAPE)),
        ("grid_tiled_shape", *structure.COORDINATE),
        ("implicit_gemm_problem_size", *structure.COORDINATE),
        *((name, np.int32) for name in ("swizzle_log_tile", "gemm_k_iterations", "gemm_k_iterations_per_channel")),
        ("iterator_a", _ANALYTIC if analytic else _ACTIVATION),
        ("ptr_a", np.uint64),
        ("iterator_b", _ANALYTIC if analytic else _FILTER),
        ("ptr_b", np.uint64),
        ("iterator_c", structure.OUTPUT_ITERATOR),
        ("ptr_c", np.uint64),
        ("iterator_d", structure.OUTPUT_ITERATOR),
        ("ptr_d", np.uint64),
        ("output_op", structure.output_op(scenario)),
        ("semaphore", np.uint64),
        ("split_k_mode", np.int32),
    ]
    return np.dtype(fields, align=True)


def _conv_values(scenario: GemmScenario, pointers: Mapping[str, int]) -> structure.Members:
    problem: Any = scenario.problem
    shape: ConvShape = problem.shape
    iterators = {
        "iterator_a": _activation(scenario.operand("a"), shape),
        "iterator_b": _filter(scenario.operand("b"), shape),
    }
    if scenario.kernel.iterator == "analytic":
        iterators = {name: {"layout": values["layout"]} for name, values in iterators.items()}
    return {
        **structure.tiled_grid(scenario),
        **iterators,
        "problem_size": _shape_values(shape),
        "implicit_gemm_problem_size": tuple(problem.extents),
        "gemm_k_iterations": scenario.k_iterations(),
        "gemm_k_iterations_per_channel": shape.r * shape.s,
        "ptr_a": pointers["a"],
        "ptr_b": pointers["b"],
        "iterator_c": structure.output_iterator(scenario),
        "ptr_c": pointers["source"],
        "iterator_d": structure.output_iterator(scenario),
        "ptr_d": pointers["output"],
        "output_op": structure.scales(scenario),
        "semaphore": pointers["semaphore"],
        "split_k_mode": _SERIAL,
    }


IMPLICIT_GEMM: Final = structure.LaunchStructure("4conv6kernel23ImplicitGemmConvolutionI", _conv_fields, _conv_values)
"""Structure of ``conv::kernel::ImplicitGemmConvolution``, with analytic or optimized iterators."""
