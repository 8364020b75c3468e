"""How many 32-byte sectors the global loads of a grid request, exactly, from the iterators' addresses."""

import numpy as np
import numpy.typing as npt

from gpusim.arrays import BoolArray, IntArray
from gpusim.scenario_models import Scenario, element_bits
from gpusim.tile.extents import gemm_k_iterations, most_k_iterations
from gpusim.tile.global_access import SECTOR_BITS
from gpusim.tile.global_iterators import global_iterator
from gpusim.tile.thread_map import WARP_SIZE, Operand
from gpusim.tile.threadblock_swizzle import tiled_shape

_LANES_AT_ONCE = 1 << 20
"""Bound on the lanes evaluated together, which bounds memory."""


def distinct_sectors(offset: IntArray, valid: BoolArray, bits: int) -> IntArray:
    """
    Sectors that each warp instruction requests: distinct ones among its valid lanes.

    Tensors begin on a 256-byte boundary and no access straddles a sector.

    Args:
        offset: Elements from the tensor's base, shape [..., 32].
        valid: Predicates of the lanes, same shape.
        bits: Element width.

    Returns:
        Shape [...]; 0 where no lane is valid.
    """
    outside = -1
    sectors = np.sort(np.where(valid, offset * bits // SECTOR_BITS, outside), axis=-1)
    distinct = (np.diff(sectors, axis=-1) != 0).sum(axis=-1)
    return np.asarray(distinct + 1 - (sectors[..., 0] == outside), dtype=np.int64)


def _warp_sectors(
    scenario: Scenario, operand: Operand, tile: npt.ArrayLike, slice_: npt.ArrayLike, number: npt.ArrayLike
) -> IntArray:
    """Sectors of each warp instruction of fetch ``number``, shape [*ctas, accesses, vecs, warps]."""
    access = global_iterator(scenario, operand, tile, slice_).fetch(number)
    ctas, (threads, accesses, vecs) = access.offset.shape[:-3], access.offset.shape[-3:]
    by_warp = (*ctas, threads // WARP_SIZE, WARP_SIZE, accesses, vecs)
    offset = np.moveaxis(access.offset.reshape(by_warp), (-4, -3), (-2, -1))
    valid = np.moveaxis(access.valid.reshape(by_warp), (-4, -3), (-2, -1))
    return distinct_sectors(offset, valid, element_bits(scenario.problem.dtype.ab))


def fetch_sectors(scenario: Scenario, operand: Operand, tile: int, slice_: int) -> IntArray:
    """
    Sectors of every cp.async of one CTA, the pipeline's overrun fetches included.

    Args:
        scenario: The problem and the kernel.
        operand: Which operand.
        tile: Tile index along M for a, along N for b.
        slice_: Split-K slice.

    Returns:
        Shape [fetches, accesses, vecs, warps]; the fetches are the slice's k tiles and ``stages - 1`` more.
    """
    fetches = gemm_k_iterations(scenario, slice_) + scenario.kernel.stages - 1
    numbers = np.arange(fetches, dtype=np.int64)
    signatures = global_iterator(scenario, operand, tile, slice_).signature(numbers)
    _, first, which = np.unique(signatures, return_index=True, return_inverse=True)
    return _warp_sectors(scenario, operand, tile, slice_, numbers[first])[which]


def global_sectors(scenario: Scenario) -> dict[Operand, int]:
    """
    Sectors requested by all cp.async of the whole grid, by operand.

    Their sum is ncu's ``l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum`` of a kernel that reads no source tensor.
    Fetches with equal signatures are counted once and multiplied; the result is exact.
    """
    tiled = tiled_shape(scenario)
    return {
        "a": _operand_sectors(scenario, "a", tiled.m) * tiled.n,
        "b": _operand_sectors(scenario, "b", tiled.n) * tiled.m,
    }


def _operand_sectors(scenario: Scenario, operand: Operand, tiles: int) -> int:
    """Sectors of one operand where each (tile, slice) pair occurs once."""
    numbers = np.arange(most_k_iterations(scenario), dtype=np.int64)
    shape = (tiles, scenario.problem.split_k_slices, len(numbers))
    tile, slice_, number = np.indices(shape, sparse=True)
    signatures = np.broadcast_to(global_iterator(scenario, operand, tile, slice_).signature(number), shape)
    _, first, count = np.unique(signatures, return_index=True, return_counts=True)
    tile, slice_, number = np.unravel_index(first, shape)
    lanes_each = np.prod(global_iterator(scenario, operand, 0, 0).fetch(0).offset.shape)
    batches = max(1, len(first) * int(lanes_each) // _LANES_AT_ONCE)
    total = 0
    for batch in np.array_split(np.arange(len(first)), batches):
        sectors = _warp_sectors(scenario, operand, tile[batch], slice_[batch], number[batch])
        total += int(sectors.reshape(len(batch), -1).sum(axis=-1) @ count[batch])
    return total
