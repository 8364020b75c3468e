"""Writes the parameter structures that CUTLASS 2.x's GEMM and convolution kernels are launched with; reads no code."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from gpusim.numerics.output_op import compute_type
from gpusim.scenario.gemm import GemmScenario
from gpusim.tile.extents import ConvShape, ceil_div
from gpusim.tile.mma import MATRIX
from gpusim.tile.operand import Operand, Side

_COORDINATE = (np.int32, 3)
_PITCH_LINEAR = np.dtype(
    [(name, np.int64) for name in ("stride", "inc_strided", "inc_next", "inc_advance")], align=True
)
_REFERENCE = np.dtype([("pointer", np.uint64), ("stride", np.int64)], align=True)
_NHWC = (np.int32, 3)
_DIVMOD = np.dtype([("divisor", np.int32), ("multiplier", np.uint32), ("shift_right", np.uint32)], align=True)
_OUTPUT = np.dtype(
    [
        (name, np.int64)
        for name in (
            *("stride", "increment_row", "increment_group", "increment_cluster"),
            *("advance_row", "advance_group", "advance_cluster", "advance_tile"),
        )
    ],
    align=True,
)
_SCALES = {"f32": np.float32, "s32": np.int32, "f16": np.float16}
_SHAPE = (
    *("n", "h", "w", "c", "p", "q", "k", "r", "s", "pad_h", "pad_w", "stride_h", "stride_w"),
    *("dilation_h", "dilation_w", "mode", "split_k_slices", "groups"),
)
_SERIAL = 1
"""``SplitKMode::kSerial``, which ``device::ImplicitGemmConvolution`` also passes without split-K."""


def _output_op(compute: str) -> np.dtype[np.void]:
    """Return dtype of ``epilogue::thread::LinearCombination::Params``."""
    scales = [(name, _SCALES[compute]) for name in ("alpha", "beta")]
    pointers = [(name, np.uint64) for name in ("alpha_ptr", "beta_ptr", "alpha_ptr_array", "beta_ptr_array")]
    return np.dtype([*scales, *pointers], align=True)


Members = Mapping[str, Any]
"""Members of a structure's fields by name. Those of a structure inside it are a mapping, too."""


@dataclass(frozen=True, slots=True)
class LaunchStructure:
    """
    The parameter structure of one of CUTLASS's kernels.

    Attributes:
        mark: What the mangled name of the kernel contains.
        fields: Returns the dtype of the structure for a scenario.
        values: Returns the fields' values for a scenario and the addresses of its tensors. Fields left out are zero.
    """

    mark: str
    fields: Callable[[GemmScenario], np.dtype[np.void]]
    values: Callable[[GemmScenario, Mapping[str, int]], Members]

    def pack(self, scenario: GemmScenario, pointers: Mapping[str, int]) -> bytes:
        """Return the bytes of the structure."""
        packed: npt.NDArray[np.void] = np.zeros((), dtype=self.fields(scenario))
        _fill(packed, self.values(scenario, pointers))
        return packed.tobytes()


def _fill(structure: Any, values: Members) -> None:
    for name, value in values.items():
        if isinstance(value, Mapping):
            _fill(structure[name], value)
        else:
            structure[name] = value


# --- what both kinds of kernels share ---


def _grid(scenario: GemmScenario) -> Members:
    """Return the tiles of the grid, and how many stand side by side."""
    grid = scenario.grid
    return {"grid_tiled_shape": tuple(grid.tiled), "swizzle_log_tile": grid.swizzle.log_tile(grid.tiled)}


def _output_iterator(scenario: GemmScenario) -> Members:
    """
    Return the steps of the epilogue's global iterator, bytes.

    Source: CUTLASS include/cutlass/epilogue/threadblock/predicated_tile_iterator_params.h.
    """
    epilogue = scenario.epilogue
    row, threads = epilogue.leading * epilogue.output_bits // 8, epilogue.thread_map
    rows, between = threads.iterations[0], threads.delta[0]
    group = row * MATRIX * threads.steps
    return {
        "stride": row,
        "increment_row": row * between,
        "increment_group": row - row * between * (rows - 1),
        "increment_cluster": -row * between * (rows - 1),
        "advance_row": row * MATRIX,
        "advance_group": (threads.groups - 1) * group,
        "advance_cluster": threads.groups * group,
        "advance_tile": row * threads.groups * MATRIX,
    }


def _scales(scenario: GemmScenario) -> Members:
    return {"alpha": scenario.problem.alpha, "beta": scenario.problem.beta}


# --- GEMM ---


def _pitch_linear(operand: Operand, leading: int) -> Members:
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
        ("problem_size", *_COORDINATE),
        ("grid_tiled_shape", *_COORDINATE),
        ("swizzle_log_tile", np.int32),
        ("params_a", _PITCH_LINEAR),
        ("ref_a", _REFERENCE),
        ("params_b", _PITCH_LINEAR),
        ("ref_b", _REFERENCE),
        ("params_c", _OUTPUT),
        ("ref_c", _REFERENCE),
        ("params_d", _OUTPUT),
        ("ref_d", _REFERENCE),
        ("output_op", _output_op(compute_type(scenario.problem))),
        ("semaphore", np.uint64),
        ("gemm_k_size", np.int32),
        *((name, np.uint64) for name in ("gather_a", "gather_b", "scatter_d")),
    ]
    return np.dtype(fields, align=True)


def _gemm_values(scenario: GemmScenario, pointers: Mapping[str, int]) -> Members:
    leading = {"a": _leading(scenario, "a"), "b": _leading(scenario, "b")}
    written = scenario.epilogue.leading
    return {
        **_grid(scenario),
        "problem_size": tuple(scenario.problem.extents),
        "params_a": _pitch_linear(scenario.operand("a"), leading["a"]),
        "ref_a": {"pointer": pointers["a"], "stride": leading["a"]},
        "params_b": _pitch_linear(scenario.operand("b"), leading["b"]),
        "ref_b": {"pointer": pointers["b"], "stride": leading["b"]},
        "params_c": _output_iterator(scenario),
        "ref_c": {"pointer": pointers["source"], "stride": written},
        "params_d": _output_iterator(scenario),
        "ref_d": {"pointer": pointers["output"], "stride": written},
        "output_op": _scales(scenario),
        "semaphore": pointers["semaphore"],
        "gemm_k_size": _gemm_k_size(scenario),
    }


def _universal_fields(scenario: GemmScenario) -> np.dtype[np.void]:
    pointers = ("ptr_a", "ptr_b", "ptr_c", "ptr_d")
    gathered = ("gather_a", "gather_b", "scatter_d")
    fields: list[Any] = [
        ("problem_size", *_COORDINATE),
        ("grid_tiled_shape", *_COORDINATE),
        *((name, np.int32) for name in ("swizzle_log_tile", "mode", "batch_count", "gemm_k_size")),
        ("batch_stride_d", np.int64),
        ("semaphore", np.uint64),
        ("params_a", _PITCH_LINEAR),
        ("params_b", _PITCH_LINEAR),
        ("params_c", _OUTPUT),
        ("params_d", _OUTPUT),
        ("output_op", _output_op(compute_type(scenario.problem))),
        *((name, np.uint64) for name in pointers),
        *((name, np.int64) for name in ("batch_stride_a", "batch_stride_b", "batch_stride_c")),
        *((name, np.uint64) for name in gathered),
    ]
    return np.dtype(fields, align=True)


def _universal_values(scenario: GemmScenario, pointers: Mapping[str, int]) -> Members:
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


# --- convolution ---


def _shape_values(shape: ConvShape) -> tuple[int, ...]:
    return (
        *(shape.n, shape.h, shape.w, shape.c, shape.p, shape.q, shape.k, shape.r, shape.s),
        *(*shape.padding, *shape.stride, *shape.dilation),
        int(shape.mode == "convolution"),
        shape.split_k_slices,
        1,
    )


def _divmod(divisor: int) -> Members:
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


def _activation(operand: Operand, shape: ConvShape) -> Members:
    """
    Return the parameters of the activation's iterator.

    Source: CUTLASS include/cutlass/conv/threadblock/conv2d_params.h.
    """
    pixel, row, image = shape.c, shape.w * shape.c, shape.h * shape.w * shape.c
    sign = -1 if shape.mode == "convolution" else 1
    delta = operand.tiling.threadblock[2] * shape.split_k_slices
    along_w, along_h = sign * pixel * shape.dilation[1], sign * row * shape.dilation[0]
    steps = (
        along_w,
        along_h - (shape.s - 1) * along_w,
        delta - (shape.r - 1) * along_h - (shape.s - 1) * along_w,
    )
    return {
        "layout": (pixel, row, image),
        "inc_next": tuple(step * operand.bits // 8 for step in steps),
        "filter_c_delta": delta,
        "pq": shape.p * shape.q,
        "pq_divmod": _divmod(shape.p * shape.q),
        "q_divmod": _divmod(shape.q),
    }


def _filter(operand: Operand, shape: ConvShape) -> Members:
    """Return the parameters of the filter's iterator; source as in ``_activation``."""
    position, row, filter_ = shape.c, shape.s * shape.c, shape.r * shape.s * shape.c
    threads, delta = operand.thread_map, operand.tiling.threadblock[2] * shape.split_k_slices
    between = filter_ * threads.delta[1]
    back = between * (threads.iterations[1] - 1)
    return {
        "layout": (position, row, filter_),
        "rs": shape.r * shape.s,
        "filter_c_delta": delta,
        "inc_next_k": between * operand.bits // 8,
        "inc_next_rs": (position - back) * operand.bits // 8,
        "inc_next_c": (delta - (shape.r * shape.s - 1) * position - back) * operand.bits // 8,
    }


def _conv_fields(scenario: GemmScenario) -> np.dtype[np.void]:
    analytic = scenario.kernel.iterator == "analytic"
    fields: list[Any] = [
        ("problem_size", np.int32, len(_SHAPE)),
        ("grid_tiled_shape", *_COORDINATE),
        ("implicit_gemm_problem_size", *_COORDINATE),
        *((name, np.int32) for name in ("swizzle_log_tile", "gemm_k_iterations", "gemm_k_iterations_per_channel")),
        ("iterator_a", _ANALYTIC if analytic else _ACTIVATION),
        ("ptr_a", np.uint64),
        ("iterator_b", _ANALYTIC if analytic else _FILTER),
        ("ptr_b", np.uint64),
        ("iterator_c", _OUTPUT),
        ("ptr_c", np.uint64),
        ("iterator_d", _OUTPUT),
        ("ptr_d", np.uint64),
        ("output_op", _output_op(compute_type(scenario.problem))),
        ("semaphore", np.uint64),
        ("split_k_mode", np.int32),
    ]
    return np.dtype(fields, align=True)


def _conv_values(scenario: GemmScenario, pointers: Mapping[str, int]) -> Members:
    problem: Any = scenario.problem
    shape: ConvShape = problem.shape
    iterators = {
        "iterator_a": _activation(scenario.operand("a"), shape),
        "iterator_b": _filter(scenario.operand("b"), shape),
    }
    if scenario.kernel.iterator == "analytic":
        iterators = {name: {"layout": values["layout"]} for name, values in iterators.items()}
    return {
        **_grid(scenario),
        **iterators,
        "problem_size": _shape_values(shape),
        "implicit_gemm_problem_size": tuple(problem.extents),
        "gemm_k_iterations": scenario.k_iterations(),
        "gemm_k_iterations_per_channel": shape.r * shape.s,
        "ptr_a": pointers["a"],
        "ptr_b": pointers["b"],
        "iterator_c": _output_iterator(scenario),
        "ptr_c": pointers["source"],
        "iterator_d": _output_iterator(scenario),
        "ptr_d": pointers["output"],
        "output_op": _scales(scenario),
        "semaphore": pointers["semaphore"],
        "split_k_mode": _SERIAL,
    }


_STRUCTURES: Final[Mapping[str, tuple[LaunchStructure, ...]]] = {
    "gemm": (
        LaunchStructure("4gemm6kernel4GemmI", _gemm_fields, _gemm_values),
        LaunchStructure("4gemm6kernel13GemmUniversalI", _universal_fields, _universal_values),
    ),
    "conv2d_fprop": (LaunchStructure("4conv6kernel23ImplicitGemmConvolutionI", _conv_fields, _conv_values),),
}
"""Structures of the kernels of each kind: ``gemm::kernel::Gemm`` and ``GemmUniversal``, ``ImplicitGemmConvolution``."""


def launch_structure(scenario: GemmScenario, kernel: str, size: int) -> LaunchStructure | None:
    """
    Return the parameter structure of a CUTLASS kernel, or None if none that is known has its size.

    Args:
        scenario: Problem and kernel. A bias, which CUTLASS passes in several ways, has no structure here.
        kernel: Mangled name of the kernel. It decides between structures of one size.
        size: Bytes of parameters that the kernel takes.
    """
    known = () if scenario.problem.bias else _STRUCTURES.get(scenario.kind, ())
    fitting = [one for one in known if one.fields(scenario).itemsize == size]
    return next((one for one in fitting if one.mark in kernel), fitting[0] if fitting else None)
