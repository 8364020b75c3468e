"""The parameters of a launch of kernels_cuda/hopper: ``struct Params`` of params.cuh. It needs no GPU."""

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from gpusim.cuda.specialise import RECORDED_BLOCKS
from gpusim.families.hopper.problem import HopperScenario
from gpusim.families.hopper.work import tiles_of

TENSOR_MAP_WORDS: Final = 16
"""64-bit words of a CUtensorMap."""

_MAP: Final = (np.uint64, TENSOR_MAP_WORDS)
_DIVISOR: Final = (np.uint32, 3)

HOPPER_PARAMS: Final = np.dtype(
    [
        ("a", *_MAP),
        ("b", *_MAP),
        ("c", *_MAP),
        ("d", *_MAP),
        ("output", np.uint64),
        ("m", np.int32),
        ("n", np.int32),
        ("alpha", np.float32),
        ("beta", np.float32),
        ("k_tiles", np.int32),
        ("tiles", np.int32),
        ("of_batch", *_DIVISOR),
        ("of_strip", *_DIVISOR),
        ("log_swizzle", np.int32),
        ("along_n", np.int32),
        ("records", np.uint64),
        ("record_counts", np.uint64),
        ("record_capacity", np.int32),
        ("recorded_blocks", np.int32),
        ("recorded", np.int32, RECORDED_BLOCKS),
        ("reserved", np.uint64),
    ],
    align=True,
)
"""dtype of struct Params in kernels_cuda/hopper/params.cuh, which the kernel takes by value."""

_DIVIDENDS: Final = 31
"""Bits of the numbers that are divided."""


def divisor(value: int) -> tuple[int, int, int]:
    """
    Return a divisor with the multiplier and the shift that divide numbers below 2^31 by it.

    floor(n / divisor) = (2 * n * multiplier >> 32) >> shift.
    """
    shift = (value - 1).bit_length()
    multiplier = -(-(1 << _DIVIDENDS + shift) // value)
    return value, multiplier, shift


def launch_params(scenario: HopperScenario, maps: Mapping[str, npt.NDArray[np.uint64]], output: int) -> Any:
    """
    Return the parameters of a plain launch, a structure of shape ().

    Args:
        scenario: The scenario.
        maps: CUtensorMap of "a" to "d", as far as the kernel has them.
        output: Address of D.
    """
    params = np.zeros((), HOPPER_PARAMS)
    for name, words in maps.items():
        params[name] = words
    problem, tiles = scenario.problem, tiles_of(scenario)
    numbered = tiles.numbered
    params["output"], params["m"], params["n"] = output, problem.m, problem.n
    params["alpha"], params["beta"] = problem.alpha, problem.beta
    params["k_tiles"], params["tiles"] = scenario.k_tiles, numbered.total
    along_n = tiles.raster == "along_n"
    params["of_batch"] = divisor(numbered.m * numbered.n)
    params["of_strip"] = divisor((numbered.n if along_n else numbered.m) // tiles.major)
    params["log_swizzle"], params["along_n"] = tiles.log_swizzle, int(along_n)
    return params
