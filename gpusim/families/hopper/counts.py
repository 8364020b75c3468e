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


def tile_sectors(extents: tuple[int, int, int], element_bytes: int, tile: tuple[int, int], box: int) -> IntArray:
    """
    Return the sectors that TMA touches for each tile of a tensor. Shape [batch, tiles of rows, tiles of columns].

    A row of a box touches each sector in which it has a byte inside the tensor. Rows outside have none.

    Args:
        extents: Contiguous elements, rows, and batches of the tensor, which is packed.
        element_bytes: Bytes of an element.
        tile: Contiguous elements and rows of a tile.
        box: Contiguous elements of a box.
    """
    width, height, batches = extents
    pitch, across, down = width * element_bytes, -(-width // tile[0]), -(-height // tile[1])
    first = np.arange(0, across * tile[0], box, dtype=np.int64) * element_bytes
    end = np.minimum(first + box * element_bytes, pitch)
    row = np.arange(batches * height, dtype=np.int64)[:, np.newaxis] * pitch
    touched = np.where(end > first, (row + end - 1) // SECTOR_BYTES - (row + first) // SECTOR_BYTES + 1, 0)
    by_column = touched.reshape(batches, height, across, -1).sum(axis=3)
    found: IntArray = np.add.reduceat(by_column, np.arange(down) * tile[1], axis=1)
    return found


def _operand_sectors(kernel: Collective, operand: SharedOperand) -> IntArray:
    """Return the sectors of an operand's tiles, indexed [batch, tile along M or N, k tile]."""
    problem, bytes_ = kernel.scenario.problem, operand.bits // 8
    rows = problem.m if operand.side == "a" else problem.n
    box = operand.atom_elements
    if operand.k_contiguous:
        return tile_sectors((problem.k, rows, problem.l), bytes_, (operand.depth, operand.rows), box)
    # As where a cluster slices the tile, a box is no wider than a slice.
    along_m, along_n = kernel.scenario.kernel.cluster
    box = min(box, operand.slice_rows(along_n if operand.side == "a" else along_m))
    found = tile_sectors((rows, problem.k, problem.l), bytes_, (operand.rows, operand.depth), box)
    return found.transpose(0, 2, 1)


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
        own = _sum_over_k(_operand_sectors(kernel, operand), columns, tiles)
        sectors += own
        multicast += own if sharers > 1 else 0
        slice_rows = operand.slice_rows(sharers)
        across = operand.depth if operand.k_contiguous else slice_rows
        loads += k_tiles * -(-across // operand.atom_elements)
    stores, staged, subtiles = 0, 0, 0
    if kernel.epilogue is not None:
        epilogue, problem, bytes_ = kernel.epilogue, scenario.problem, kernel.epilogue.bits // 8
        extents, tile = (problem.n, problem.m, problem.l), (scenario.kernel.tile[1], scenario.kernel.tile[0])
        output = tile_sectors(extents, bytes_, tile, epilogue.tile[1])
        last = columns["epilogue"] > 0
        inside = last & (columns["m"] < output.shape[1]) & (columns["n"] < output.shape[2])
        stores = int(output[columns["l"][inside], columns["m"][inside], columns["n"][inside]].sum())
        subtiles = int(last.sum()) * epilogue.subtiles[0] * epilogue.subtiles[1]
        if epilogue.bits == 16:
            instructions = epilogue.tile[1] // 16 * kernel.consumers * _WARPS
            staged = subtiles * instructions * _STMATRIX_WAVEFRONTS
        if scenario.loads_c:
            sectors, loads = sectors + stores, loads + subtiles
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


def _sum_over_k(sectors: IntArray, columns: dict[str, IntArray], tiles: IntArray) -> int:
    """Return the sectors of an operand over all work units; a cluster's padding has none."""
    up_to = np.concatenate([np.zeros((*sectors.shape[:2], 1), np.int64), sectors.cumsum(axis=2)], axis=2)
    inside = tiles < sectors.shape[1]
    batch, tile = columns["l"][inside], tiles[inside]
    first = np.minimum(columns["first_k_tile"][inside], sectors.shape[2])
    end = np.minimum(first + columns["k_tiles"][inside], sectors.shape[2])
    return int((up_to[batch, tile, end] - up_to[batch, tile, first]).sum())
