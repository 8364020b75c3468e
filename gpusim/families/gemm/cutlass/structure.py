"""The parameter structure that one of CUTLASS 2.x's kernels is launched with, and what all of them have in it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from gpusim.numerics.output_op import compute_type
from gpusim.scenario.gemm import GemmScenario
from gpusim.tile.mma import MATRIX

COORDINATE: Final = (np.int32, 3)
"""``gemm::GemmCoord``: type and number of its members."""

OUTPUT_ITERATOR: Final = np.dtype(
    [
        (name, np.int64)
        for name in (
            *("stride", "increment_row", "increment_group", "increment_cluster"),
            *("advance_row", "advance_group", "advance_cluster", "advance_tile"),
        )
    ],
    align=True,
)
"""``epilogue::threadblock::PredicatedTileIteratorParams``."""

_SCALES = {"f32": np.float32, "s32": np.int32, "f16": np.float16}

Members = Mapping[str, Any]
"""Members of a structure's fields by name. Those of a structure inside it are a mapping, too."""


@dataclass(frozen=True, slots=True)
class LaunchStructure:
    """
    The parameter structure of one of CUTLASS's kernels.

    Attributes:
        mark: A part of the kernel's mangled name.
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


def fitting_structure(
    known: Sequence[LaunchStructure], scenario: GemmScenario, kernel: str, size: int
) -> LaunchStructure | None:
    """
    Return the parameter structure of a CUTLASS kernel, or None if none of those known has its size.

    Args:
        known: Structures of kernels of the problem's kind.
        scenario: Problem and kernel. A bias, which CUTLASS passes in several ways, has no structure here.
        kernel: Mangled name of the kernel. It decides between structures of one size.
        size: Bytes of parameters that the kernel takes.
    """
    if scenario.problem.bias:
        return None
    fitting = [one for one in known if one.fields(scenario).itemsize == size]
    return next((one for one in fitting if one.mark in kernel), fitting[0] if fitting else None)


def output_op(scenario: GemmScenario) -> np.dtype[np.void]:
    """Return the dtype of ``epilogue::thread::LinearCombination::Params``."""
    compute = compute_type(scenario.problem)
    factors = [(name, _SCALES[compute]) for name in ("alpha", "beta")]
    pointers = [(name, np.uint64) for name in ("alpha_ptr", "beta_ptr", "alpha_ptr_array", "beta_ptr_array")]
    return np.dtype([*factors, *pointers], align=True)


def tiled_grid(scenario: GemmScenario) -> Members:
    """Return the tiles of the grid, and how many stand side by side."""
    grid = scenario.grid
    return {"grid_tiled_shape": tuple(grid.tiled), "swizzle_log_tile": grid.swizzle.log_tile(grid.tiled)}


def output_iterator(scenario: GemmScenario) -> Members:
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


def scales(scenario: GemmScenario) -> Members:
    """Return the scales of product and source."""
    return {"alpha": scenario.problem.alpha, "beta": scenario.problem.beta}
