"""The tensor maps that a kernel's host side passes to the driver (cuTensorMapEncodeTiled)."""

from typing import Final

from gpusim.families.hopper.collective import SharedOperand, collective_of
from gpusim.families.hopper.problem import HopperScenario

MAP_COLUMNS: Final = (
    *("tensor", "data_type", "dim_x", "dim_y", "dim_z", "stride_y", "stride_z"),
    *("box_x", "box_y", "box_z", "swizzle", "l2_promotion"),
)
"""``tensor`` is 0 to 3 for A, B, C, D; strides are bytes; types, swizzles and promotions are the driver's numbers."""

_UNSIGNED: Final = {8: 0, 16: 1, 32: 2}
"""Data type of operands, which are loaded as unsigned integers of their width."""

_TYPES: Final = {"s8": 0, "s32": 3, "f16": 6, "f32": 7, "bf16": 9}
"""Data types of C and D. Signed bytes have none of their own."""

_SWIZZLES: Final = {16: 0, 32: 1, 64: 2, 128: 3}
_PROMOTION: Final = 2
"""L2 promotion to 128 bytes."""


def tensor_maps(scenario: HopperScenario) -> list[tuple[int, ...]]:
    """Return a row for each tensor, with the columns of ``MAP_COLUMNS``."""
    problem, kernel = scenario.problem, collective_of(scenario)
    along_m, along_n = scenario.kernel.cluster
    rows = [
        (0, *_operand(kernel.a, problem.m, problem.k, problem.l, along_n)),
        (1, *_operand(kernel.b, problem.n, problem.k, problem.l, along_m)),
    ]
    if kernel.epilogue is None:
        return rows
    epilogue, bits = kernel.epilogue, scenario.output_bits
    extents = (problem.n, problem.m, problem.l)
    box = (epilogue.tile[1], epilogue.tile[0], 1)
    tail = (*extents, *_strides(extents, bits), *box, _SWIZZLES[epilogue.swizzle], _PROMOTION)
    data_type = _TYPES[problem.dtype.output]
    return rows + [(tensor, data_type, *tail) for tensor in ((2, 3) if epilogue.has_c else (3,))]


def _operand(operand: SharedOperand, rows: int, depth: int, batches: int, slices: int) -> tuple[int, ...]:
    extents = (depth, rows, batches) if operand.k_contiguous else (rows, depth, batches)
    box = (*operand.box(slices), 1)
    strides = _strides(extents, operand.bits)
    return (_UNSIGNED[operand.bits], *extents, *strides, *box, _SWIZZLES[operand.swizzle], _PROMOTION)


def _strides(extents: tuple[int, int, int], bits: int) -> tuple[int, int]:
    """Return the strides of rows and batches in bytes; a single batch has none."""
    row = extents[0] * bits // 8
    return row, row * extents[1] if extents[2] > 1 else 0
