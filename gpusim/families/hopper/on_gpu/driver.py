"""Asks NVIDIA's driver for the tensor maps of a scenario (cuTensorMapEncodeTiled), through ctypes."""

import ctypes
from collections.abc import Mapping
from functools import cache

import numpy as np
import numpy.typing as npt

from gpusim.errors import CannotRun
from gpusim.families.hopper.on_gpu.launch import TENSOR_MAP_WORDS
from gpusim.families.hopper.problem import HopperScenario
from gpusim.families.hopper.tensor_maps import tensor_maps

_ALIGNMENT = 64
"""Alignment of a CUtensorMap in bytes."""

_RANK = 3


def encoded_maps(scenario: HopperScenario, addresses: Mapping[str, int]) -> dict[str, npt.NDArray[np.uint64]]:
    """
    Return the CUtensorMap of each tensor of a scenario, by "a" to "d".

    Args:
        scenario: The scenario.
        addresses: Device address of each tensor.

    Raises:
        CannotRun: There is no driver, or it refuses a tensor.
    """
    maps = {}
    for tensor, *columns in tensor_maps(scenario):
        name = "abcd"[tensor]
        # C is not read where beta is 0, but the kernel prefetches its map.
        maps[name] = _encoded(name, columns, addresses.get(name, addresses["d"]))
    return maps


@cache
def _driver() -> ctypes.CDLL:
    try:
        return ctypes.CDLL("libcuda.so.1")
    except OSError as error:
        raise CannotRun(f"no GPU can be used: {error}; install NVIDIA's driver") from error


def _encoded(name: str, columns: list[int], address: int) -> npt.NDArray[np.uint64]:
    data_type, *rest, swizzle, promotion = columns
    dims, strides, box = rest[:_RANK], rest[_RANK : 2 * _RANK - 1], rest[2 * _RANK - 1 :]
    size = TENSOR_MAP_WORDS * 8
    memory = ctypes.create_string_buffer(size + _ALIGNMENT)
    place = -(-ctypes.addressof(memory) // _ALIGNMENT) * _ALIGNMENT
    status = _driver().cuTensorMapEncodeTiled(
        ctypes.c_void_p(place),
        ctypes.c_int(data_type),
        ctypes.c_uint32(_RANK),
        ctypes.c_void_p(address),
        (ctypes.c_uint64 * _RANK)(*dims),
        (ctypes.c_uint64 * (_RANK - 1))(*strides),
        (ctypes.c_uint32 * _RANK)(*box),
        (ctypes.c_uint32 * _RANK)(1, 1, 1),
        ctypes.c_int(0),
        ctypes.c_int(swizzle),
        ctypes.c_int(promotion),
        ctypes.c_int(0),
    )
    if status != 0:
        raise CannotRun(f"the driver refuses the tensor map of {name.upper()} (CUresult {status}): {columns}")
    return np.frombuffer(ctypes.string_at(place, size), np.uint64).copy()
