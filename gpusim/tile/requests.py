"""The exact number of 32-byte sectors that the global loads of a grid request, from the iterators' addresses."""

from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from gpusim.arrays import BoolArray, IntArray
from gpusim.layout.banks import STANDARD, Banks, access_wavefronts
from gpusim.layout.global_lines import distinct_pieces, returning_lines, returning_wavefronts
from gpusim.tile.operand import Operand
from gpusim.tile.shared_store import store_offsets
from gpusim.tile.threadblock_swizzle import TiledShape
from gpusim.units import LINE_BITS, SECTOR_BITS, WARP_SIZE

_LANES_AT_ONCE = 1 << 18
"""Largest number of lanes evaluated together; it bounds the memory used."""


def distinct_sectors(offset: IntArray, valid: BoolArray, bits: int) -> IntArray:
    """
    Count the sectors that each warp instruction requests: the distinct sectors of its valid lanes.

    Tensors begin on a 256-byte boundary and no access straddles a sector.

    Args:
        offset: Elements from the tensor's base, shape [..., 32].
        valid: Predicates of the lanes, same shape.
        bits: Element width.

    Returns:
        Shape [...]; 0 where no lane is valid.
    """
    return distinct_pieces(offset * bits // SECTOR_BITS, valid)


def bypassing_sectors(offset: IntArray, target: IntArray, valid: BoolArray, bits: int) -> IntArray:
    """
    Count the sectors each warp instruction requests when its copies bypass L1 (cp.async.cg).

    Each 128-byte line of global memory is requested once for every aligned 32 bytes of shared memory that it fills. So
    a sector whose two lanes write to different 32 bytes is requested twice, and two half sectors that fill the same 32
    bytes are requested once.

    Args:
        offset: Elements from the tensor's base, shape [..., 32].
        target: Elements from a 32-byte boundary of shared memory, same shape.
        valid: Predicates of the lanes, same shape.
        bits: Element width.

    Returns:
        Shape [...]; 0 where no lane is valid.

    Source: reports/measured/h200/microbench/ldgsts.csv, equal on all 358 launches.
    """
    pieces = target * bits // SECTOR_BITS
    return distinct_pieces(offset * bits // LINE_BITS * (int(pieces.max()) + 1) + pieces, valid)


def access_sectors(offset: IntArray, valid: BoolArray, bits: int, elements: int) -> int:
    """
    Count the sectors that all warp instructions together request, for accesses within a sector or of whole sectors.
    """
    return int(distinct_sectors(offset, valid, bits).sum()) * max(1, elements * bits // SECTOR_BITS)


class CopyRequests(NamedTuple):
    """
    The requests of copies to the memory system. The arrays are over warp instructions.

    Attributes:
        sectors: Sectors requested.
        returns: Wavefronts beyond those of the shared address pattern, needed because every 128-byte line of global
            memory returns separately.
    """

    sectors: IntArray
    returns: IntArray


@dataclass(frozen=True, slots=True)
class OperandRequests:
    """The ``CopyRequests`` of one operand, summed over the grid."""

    sectors: int
    returns: int


def _warp_requests(
    operand: Operand,
    tile: npt.ArrayLike,
    slice_: npt.ArrayLike,
    number: npt.ArrayLike,
    *,
    around_l1: bool,
    banks: Banks,
) -> CopyRequests:
    """Return the requests of each warp instruction of fetch ``number``. Shape [*ctas, accesses, vecs, warps]."""
    access = operand.iterator(tile, slice_).fetch(number)
    ctas, (threads, accesses, vecs) = access.offset.shape[:-3], access.offset.shape[-3:]
    by_warp = (*ctas, threads // WARP_SIZE, WARP_SIZE, accesses, vecs)
    offset = np.moveaxis(access.offset.reshape(by_warp), (-4, -3), (-2, -1))
    valid = np.moveaxis(access.valid.reshape(by_warp), (-4, -3), (-2, -1))
    # Every stage of the ring begins on a 32-byte boundary, so stage 0 represents all.
    target = store_offsets(operand, 0).reshape(by_warp[-4:])
    target = np.moveaxis(target, (-4, -3), (-2, -1))
    return copy_requests(offset, target, valid, operand.bits, operand.access_bytes, around_l1=around_l1, banks=banks)


def copy_requests(
    offset: IntArray,
    target: IntArray,
    valid: BoolArray,
    bits: int,
    width: int,
    *,
    around_l1: bool,
    banks: Banks = STANDARD,
) -> CopyRequests:
    """
    Return the sectors and extra wavefronts that warp instructions of copies need.

    Args:
        offset: Elements from the tensor's base, shape [..., 32].
        target: Elements from a 32-byte boundary of shared memory; broadcasts with ``offset``.
        valid: Predicates of the lanes, shape of ``offset``.
        bits: Element width.
        width: Bytes of one copy.
        around_l1: Whether the copies bypass L1 (cp.async.cg).
        banks: Banks of the shared memory.
    """
    by_pattern = access_wavefronts(target * bits // 8, width, banks=banks.count, bank_bytes=banks.width)
    target = np.broadcast_to(target, offset.shape)
    first, which = _alike(offset, target, valid, bits)
    offset, target = offset.reshape(-1, WARP_SIZE)[first], target.reshape(-1, WARP_SIZE)[first]
    valid = valid.reshape(-1, WARP_SIZE)[first]
    if around_l1:
        sectors = bypassing_sectors(offset, target, valid, bits)
        returning = returning_wavefronts(offset, target, valid, bits, banks)
    else:
        sectors = distinct_sectors(offset, valid, bits)
        returning = returning_lines(offset, valid, bits, width)
    return CopyRequests(sectors[which], np.maximum(returning[which] - by_pattern, 0))


def _alike(offset: IntArray, target: IntArray, valid: BoolArray, bits: int) -> tuple[IntArray, IntArray]:
    """
    Group warp instructions that lie whole lines of global memory apart, with equal targets and predicates.

    Returns:
        The number of the first one of each kind, and the kind of each one, in the shape of the arrays without lanes.
    """
    line = offset[..., :1] * bits // LINE_BITS * LINE_BITS // bits
    told_apart = np.ascontiguousarray(
        np.concatenate([offset - line, target, valid], axis=-1).reshape(-1, 3 * WARP_SIZE)
    )
    kinds = told_apart.view(np.dtype((np.void, told_apart.itemsize * told_apart.shape[1])))
    _, first, which = np.unique(kinds, return_index=True, return_inverse=True)
    return first, which.reshape(offset.shape[:-1])


class GridFetches(NamedTuple):
    """
    Every fetch of an operand's tiles; the arrays have the shape [tiles, slices, fetches].

    Attributes:
        signature: ``GlobalIterator.signature``, numbered from 0.
        base: ``GlobalIterator.base``.
    """

    signature: IntArray
    base: IntArray


@lru_cache(maxsize=4)
def grid_fetches(operand: Operand, tiled: TiledShape, k_tiles: int) -> GridFetches:
    """
    Return the fetches of an operand's tiles: one for each k tile, and one for each stage as the overrun.

    They are cached, because counts, tables and the walk through the L2 all need the fetches of both operands.

    Args:
        operand: The operand.
        tiled: Tiles of the grid.
        k_tiles: k tiles of the longest slice.
    """
    shape = (tiled.m if operand.side == "a" else tiled.n, tiled.slices, k_tiles + operand.tiling.stages)
    tile, slice_, number = np.indices(shape, sparse=True)
    iterator = operand.iterator(tile, slice_)
    told = iterator.signature(number)
    _, signature = np.unique(told, return_inverse=True)
    signature = signature.reshape(told.shape)
    found = GridFetches(*(np.broadcast_to(one, shape) for one in (signature, iterator.base(number))))
    for one in found:
        one.flags.writeable = False
    return found


def grid_requests(
    operand: Operand, tiled: TiledShape, fetches: int, *, around_l1: bool, banks: Banks = STANDARD
) -> OperandRequests:
    """
    Return the requests of all cp.async of one operand over the whole grid.

    The sum of both operands' sectors is ncu's ``l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum`` of a kernel that reads
    no source tensor. Fetches with equal signatures are counted once and multiplied; the result is exact.

    Args:
        operand: The operand. Each of its tiles is fetched by all CTAs that share it.
        tiled: Tiles of the grid.
        fetches: k tiles of the longest slice.
        around_l1: Whether the copies bypass L1 (cp.async.cg).
        banks: Banks of the shared memory.
    """
    sharing_ctas = tiled.n if operand.side == "a" else tiled.m
    signatures = grid_fetches(operand, tiled, fetches).signature[..., :fetches]
    _, first, count = np.unique(signatures, return_index=True, return_counts=True)
    tile, slice_, number = np.unravel_index(first, signatures.shape)
    lanes_each = np.prod(operand.iterator(0, 0).fetch(0).offset.shape)
    batches = max(1, len(first) * int(lanes_each) // _LANES_AT_ONCE)
    totals = np.zeros(2, dtype=np.int64)
    for batch in np.array_split(np.arange(len(first)), batches):
        found = _warp_requests(operand, tile[batch], slice_[batch], number[batch], around_l1=around_l1, banks=banks)
        for index, figure in enumerate(found):
            totals[index] += figure.reshape(len(batch), -1).sum(axis=-1) @ count[batch]
    sectors, returns = (totals * sharing_ctas).tolist()
    return OperandRequests(sectors, returns)
