"""Measures loads that hit the L1 or shared memory, and stores, by address space."""

from itertools import product
from typing import Final

import numpy as np

from gpusim.lab.calibrate.runner import WARP, Device, MeasuredRow, elapsed

SPACES: Final = ("global", "local", "shared", "generic_global", "generic_shared")
"""Address spaces whose loads are measured. Local and shared loads have a word a lane, the others two."""

STORED_SPACES: Final = ("local", "shared", "global", "generic_shared")
"""Address spaces whose stores are measured."""

_ITERATIONS, _CHAINED, _WARP_BYTES = 32, 32, 4096


def measure_spaces(device: Device, *, quick: bool) -> list[MeasuredRow]:
    """
    Measure loads whose address is the last load's value, and stores.

    ``lanes`` lanes side by side are in one line of 128 bytes, so an instruction has 32 / ``lanes`` lines or, of shared
    memory, as many words in a bank. Column ``per_round`` has the cycles from one load of a chain to the next;
    ``per_instruction`` those of the SM for each instruction of a warp.
    """
    rows: list[MeasuredRow] = []
    warps_of = (1, 16) if quick else (1, 4, 8, 16)
    data = device.cupy.zeros(warps_of[-1] * _WARP_BYTES, dtype=np.uint8)
    kernels = [("load", space, f"load_{space}_{ilp}", ilp) for space in SPACES for ilp in (1, 8)]
    kernels += [("store", space, f"store_of_{space}", 1) for space in STORED_SPACES]
    for (access, space, kernel, ilp), lanes, warps in product(kernels, (32, 16, 8, 4, 2, 1), warps_of):
        arguments = (data, np.int32(_ITERATIONS), np.uint32(lanes))
        place = {"threads": warps * WARP, "shared": warps_of[-1] * _WARP_BYTES}
        cycles = elapsed(device.spans("spaces", kernel, arguments, **place))
        row: MeasuredRow = {"access": access, "space": space, "lanes": lanes, "ilp": ilp, "warps": warps}
        row |= {"cycles": cycles, "per_round": cycles / (_ITERATIONS * (_CHAINED // ilp))}
        rows.append(row | {"per_instruction": cycles / (_ITERATIONS * _CHAINED * warps)})
    return rows
