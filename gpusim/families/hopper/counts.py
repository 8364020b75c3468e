"""
Counts what a grid executes and moves: wgmma and their wavefronts, TMA instructions, bytes and sectors, stmatrix.

The counts follow from tiles, extents and strides alone. Not modelled: which sectors the L2 merges or finds.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from gpusim.arrays import IntArray
from gpusim.families.hopper.collective import Collective, SharedOperand, collective_of
from gpusim.families.hopper.problem import WARPGROUP, HopperScenario
from gpusim.families.hopper.work import work_of
from gpusim.tile.scheduler.cta_work import WorkUnit
from gpusim.units import SECTOR_BYTES, WARP_SIZE

_WARPS: Final = WARPGROUP // WARP_SIZE

_A_WAVEFRONTS, _COLUMNS_OF_WAVEFRONT = 16, 4
"""A wgmma takes 16 wavefronts for its block of A, and one for each four columns of B. Source: ncu, all launches."""

_STMATRIX_WAVEFRONTS: Final = 4
"""Wavefronts of an x4 stmatrix, 512 bytes without conflicts."""


@dataclass(frozen=True, slots=True)
class HopperCounts:
    """
    Counts of a whole grid; ncu's metric stands beside each.

    Attributes:
        wgmma: Warp instructions (sm__sass_inst_executed_op_shared_gmma).
        wgmma_wavefronts: Wavefronts in shared memory (l1tex__data_pipe_lsu_wavefronts_mem_shared_op_gmma).
        tma_loads, tma_stores: Instructions (smsp__inst_executed_op_tma_ld, _st).
        load_sectors: Sectors that reach SMs (l1tex__m_xbar2l1tex_read_sectors_mem_global_op_tma_ld).
        multicast_sectors: Those of them that come by multicast (the same, _dest_multicast).
        store_sectors: Sectors of the output (l1tex__m_l1tex2xbar_write_sectors_mem_global_op_tma_st).
        stmatrix_wavefronts: Wavefronts of stmatrix (sm__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_stsm).
    """

    wgmma: int
    wgmma_wavefronts: int
    tma_loads: int
    tma_stores: int
    load_sectors: int
    multicast_sectors: int
    store_sectors: int
    stmatrix_wavefronts: int

    @property
    def load_bytes(self) -> int:
        """Bytes that reach SMs, in whole sectors."""
        return self.load_sectors * SECTOR_BYTES


def tile_sectors(
    extents: tuple[int, int, int], element_bytes: int, tile: tuple[int, int], box: int, *, filled: bool
) -> IntArray:
    """
    Return the sectors that TMA moves for each tile of a tensor. Shape [batch, tiles of rows, tiles of columns].

    A row of a box has each sector in which it has a byte inside the tensor. A load brings the bytes outside the tensor
    as zeros, in sectors of their own.

    Args:
        extents: Contiguous elements, rows, and batches of the tensor, which is packed.
        element_bytes: Bytes of an element.
        tile: Contiguous elements and rows of a tile.
        box: Contiguous elements of a box.
        filled: Whether bytes outside the tensor are filled, as in loads.
    """
    width, height, batches = extents
    # Sectors begin at the same places in all batches, or in every second one.
    alike = 1 if width * element_bytes * height % SECTOR_BYTES == 0 else 2
    if batches > alike:
        found = tile_sectors((width, height, alike), element_bytes, tile, box, filled=filled)
        return found[np.arange(batches) % alike]
    pitch, across, down = width * element_bytes, -(-width // tile[0]), -(-height // tile[1])
    first = np.arange(0, across * tile[0], box, dtype=np.int64) * element_bytes
    end = np.minimum(first + box * element_bytes, pitch)
    rows = np.arange(down * tile[1], dtype=np.int64)
    row = (np.arange(batches, dtype=np.int64)[:, np.newaxis] * height + rows)[..., np.newaxis] * pitch
    inside = (rows < height)[:, np.newaxis] & (end > first)
    touched = np.where(inside, (row + end - 1) // SECTOR_BYTES - (row + first) // SECTOR_BYTES + 1, 0)
    if filled:
        outside = box * element_bytes - np.where(inside, end - first, 0)
        touched += -(-outside // SECTOR_BYTES)
    summed: IntArray = touched.reshape(batches, down, tile[1], across, -1).sum(axis=(2, 4))
    return summed


def _operand_sectors(kernel: Collective, operand: SharedOperand) -> IntArray:
    """Return the sectors of an operand's tiles, indexed [batch, tile along M or N, k tile]."""
    problem, bytes_, box = kernel.scenario.problem, operand.bits // 8, operand.atom_elements
    rows = problem.m if operand.side == "a" else problem.n
    if operand.k_contiguous:
        extents, tile = (problem.k, rows, problem.l), (operand.depth, operand.rows)
        return tile_sectors(extents, bytes_, tile, box, filled=True)
    extents, tile = (rows, problem.k, problem.l), (operand.rows, operand.depth)
    return tile_sectors(extents, bytes_, tile, box, filled=True).transpose(0, 2, 1)


def grid_counts(scenario: HopperScenario, sms: int) -> HopperCounts:
    """
    Return the counts of a scenario's grid.

    Args:
        scenario: The scenario.
        sms: SMs of the machine, which persistent kernels fill.
    """
    kernel, rows = collective_of(scenario), work_of(scenario, sms).rows
    columns = {name: rows[:, place] for place, name in enumerate(WorkUnit._fields)}
    along_m, along_n = scenario.kernel.cluster
    k_tiles = int(columns["k_tiles"].sum())
    wgmma = k_tiles * kernel.k_blocks * kernel.m_blocks * kernel.consumers * _WARPS
    sectors, multicast, loads = 0, 0, 0
    for operand, tiles, sharers in ((kernel.a, columns["m"], along_n), (kernel.b, columns["n"], along_m)):
        row_bytes = operand.swizzle
        padding = operand.stage_bytes // row_bytes * -(-row_bytes // SECTOR_BYTES)
        own = _sum_over_k(_operand_sectors(kernel, operand), columns, tiles, padding)
        sectors += own
        multicast += own if sharers > 1 else 0
        across = operand.depth if operand.k_contiguous else operand.rows
        loads += k_tiles * across // operand.atom_elements
    stores, staged, subtiles = 0, 0, 0
    if kernel.epilogue is not None:
        epilogue, problem, bytes_ = kernel.epilogue, scenario.problem, kernel.epilogue.bits // 8
        extents, tile = (problem.n, problem.m, problem.l), (scenario.kernel.tile[1], scenario.kernel.tile[0])
        output = tile_sectors(extents, bytes_, tile, epilogue.tile[1], filled=False)
        last = columns["epilogue"] > 0
        inside = last & (columns["m"] < output.shape[1]) & (columns["n"] < output.shape[2])
        stores = int(output[columns["l"][inside], columns["m"][inside], columns["n"][inside]].sum())
        subtiles = int(last.sum()) * epilogue.subtiles[0] * epilogue.subtiles[1]
        if epilogue.bits == 16:
            instructions = epilogue.tile[1] // 16 * kernel.consumers * _WARPS
            staged = subtiles * instructions * _STMATRIX_WAVEFRONTS
        if scenario.loads_c:
            source = tile_sectors(extents, bytes_, tile, epilogue.tile[1], filled=True)
            whole = scenario.kernel.tile[0] * scenario.kernel.tile[1] * bytes_ // SECTOR_BYTES
            read = source[columns["l"][inside], columns["m"][inside], columns["n"][inside]].sum()
            sectors += int(read) + int((last & ~inside).sum()) * whole
            loads += subtiles
    wavefronts = _A_WAVEFRONTS + scenario.kernel.tile[1] // _COLUMNS_OF_WAVEFRONT
    return HopperCounts(
        wgmma=wgmma,
        wgmma_wavefronts=wgmma * wavefronts // _WARPS,
        tma_loads=loads,
        tma_stores=subtiles,
        load_sectors=sectors,
        multicast_sectors=multicast,
        store_sectors=stores,
        stmatrix_wavefronts=staged,
    )


def _sum_over_k(sectors: IntArray, columns: dict[str, IntArray], tiles: IntArray, padding: int) -> int:
    """
    Return the sectors of an operand over all work units.

    Args:
        sectors: Sectors of its tiles, indexed [batch, tile along M or N, k tile].
        columns: The work units' columns.
        tiles: The tile of each unit along M or N.
        padding: Sectors of a k tile of a cluster's padding, which lies outside the tensor.
    """
    up_to = np.concatenate([np.zeros((*sectors.shape[:2], 1), np.int64), sectors.cumsum(axis=2)], axis=2)
    inside = tiles < sectors.shape[1]
    batch, tile, first = columns["l"][inside], tiles[inside], columns["first_k_tile"][inside]
    own = up_to[batch, tile, first + columns["k_tiles"][inside]] - up_to[batch, tile, first]
    return int(own.sum()) + int(columns["k_tiles"][~inside].sum()) * padding
