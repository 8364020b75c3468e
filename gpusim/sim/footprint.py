"""What the global accesses of one CTA touch, warp instruction by warp instruction: sectors, and cache lines."""

from dataclasses import dataclass
from typing import TypeAlias, TypeVar

import numpy as np

from gpusim.arrays import BoolArray, IntArray
from gpusim.element_types import element_bits
from gpusim.scenario.gemm import GemmScenario
from gpusim.tile.epilogue import EpilogueTile, OutputAccess
from gpusim.tile.operand import SIDES
from gpusim.tile.requests import distinct_sectors
from gpusim.units import SECTOR_BYTES, SECTORS_PER_LINE, WARP_SIZE

Lines: TypeAlias = tuple[tuple[int, int], ...]
"""(line, bit mask of its sectors) of one warp instruction. Lines are numbered apart for each tensor."""

Request: TypeAlias = tuple[int, Lines]
"""(sectors, lines) of one warp instruction; lines are empty where no cache needs them."""

Requests: TypeAlias = list[list[list[list[Request]]]]
"""[fetch][access][vec][warp]."""

ArrayT = TypeVar("ArrayT", IntArray, BoolArray)
ItemT = TypeVar("ItemT")

TENSOR_STRIDE = 1 << 40
"""Lines between two tensors' first lines: more than any tensor has."""


@dataclass(frozen=True, slots=True)
class L2Status:
    """
    How one fetch of one operand finds the L2, per mille of its sectors.

    Attributes:
        slow: Sectors that wait for DRAM, be it another CTA's miss.
        missed: Sectors the chip brings from DRAM, over the sectors all CTAs of the wave request.
    """

    slow: int
    missed: int


FROM_DRAM = L2Status(slow=1000, missed=1000)
"""Data that nobody has read or written before."""

IN_L2 = L2Status(slow=0, missed=0)


@dataclass(frozen=True, slots=True)
class Footprint:
    """
    Attributes:
        copies: [operand][fetch][access][vec][warp] -> Request, of the cp.async.
        outputs: [step][access][warp] -> sectors of the epilogue's global accesses; the bias's as a step after the last.
        found: [step] -> how those of them that are loads find the L2.
        status: [operand][fetch] -> L2Status; empty where the L2 itself is simulated.
    """

    copies: tuple[Requests, ...]
    outputs: list[list[list[int]]]
    found: tuple[L2Status, ...]
    status: tuple[tuple[L2Status, ...], ...]


def cta_footprint(
    scenario: GemmScenario,
    epilogue: EpilogueTile,
    tile: tuple[int, int, int],
    *,
    fetches: int,
    with_lines: tuple[bool, bool],
    status: tuple[tuple[L2Status, ...], ...],
    first_wave: bool,
) -> Footprint:
    """
    Evaluate every address of one CTA.

    The source is read once, so it comes from DRAM; what a later slice of a serial split-K reads in its place, the slice
    before has just written. The bias comes from DRAM once for each tile of columns, while the first wave waits (D10).

    Args:
        tile: (tile m, tile n, split-K slice).
        fetches: Global fetches, the overrun included.
        with_lines: For operands a and b, whether lines are needed.
        status: [operand][fetch], where the L2 is not simulated; else empty.
        first_wave: Whether the CTA is among those that start at once.
    """
    bits = element_bits(scenario.problem.dtype.ab)
    copies = []
    for index, operand in enumerate(SIDES):
        iterator = scenario.operand(operand).iterator(tile[index], tile[2])
        access = iterator.fetch(np.arange(fetches, dtype=np.int64))
        if with_lines[index]:
            copies.append(requests_with_lines(access.offset, access.valid, bits, index * TENSOR_STRIDE))
        else:
            copies.append(requests(access.offset, access.valid, bits))
    source = FROM_DRAM if tile[2] == 0 else IN_L2
    shared = L2Status(slow=FROM_DRAM.slow, missed=FROM_DRAM.missed // scenario.grid.tiled.m)
    found = (source,) * epilogue.steps + ((shared if first_wave else IN_L2),)
    return Footprint(tuple(copies), _outputs(scenario, epilogue, tile), found, status)


def _by_warp(of_thread: ArrayT) -> ArrayT:
    """[fetches, threads, accesses, vecs] as [fetches, accesses, vecs, warps, 32]."""
    fetches, threads, accesses, vecs = of_thread.shape
    return of_thread.reshape(fetches, threads // WARP_SIZE, WARP_SIZE, accesses, vecs).transpose(0, 3, 4, 1, 2)


def requests(offset: IntArray, valid: BoolArray, bits: int) -> Requests:
    """Sectors alone, from arrays [fetches, threads, accesses, vecs]."""
    sectors = distinct_sectors(_by_warp(offset), _by_warp(valid), bits).tolist()
    return [[[[(count, ()) for count in warps] for warps in vec] for vec in access] for access in sectors]


def requests_with_lines(offset: IntArray, valid: BoolArray, bits: int, base: int) -> Requests:
    """Sectors and lines, the lines numbered from ``base``."""
    lanes, active = _by_warp(offset), _by_warp(valid)
    sectors = distinct_sectors(lanes, active, bits)
    touched = np.where(active, lanes * bits // 8 // SECTOR_BYTES, -1)
    flat = [
        (count, _lines(lane_sectors, base))
        for count, lane_sectors in zip(sectors.ravel().tolist(), touched.reshape(-1, WARP_SIZE).tolist(), strict=True)
    ]
    _, accesses, vecs, warps = sectors.shape
    return _groups(_groups(_groups(flat, warps), vecs), accesses)


def _groups(flat: list[ItemT], size: int) -> list[list[ItemT]]:
    return [flat[begin : begin + size] for begin in range(0, len(flat), size)]


def _lines(sectors: list[int], base: int) -> Lines:
    masks: dict[int, int] = {}
    for sector in set(sectors):
        if sector >= 0:
            line = base + sector // SECTORS_PER_LINE
            masks[line] = masks.get(line, 0) | 1 << sector % SECTORS_PER_LINE
    return tuple(sorted(masks.items()))


def _outputs(scenario: GemmScenario, epilogue: EpilogueTile, tile: tuple[int, int, int]) -> list[list[list[int]]]:
    """
    [step][access][warp] -> sectors of one global access of the epilogue.

    The loads of the bias follow as one step more.
    """
    rows = [_output_sectors(epilogue, epilogue.output(step, *tile)) for step in range(epilogue.steps)]
    return [*rows, _output_sectors(epilogue, epilogue.bias(tile[1]))] if scenario.problem.bias else rows


def _output_sectors(epilogue: EpilogueTile, output: OutputAccess) -> list[list[int]]:
    """[access][warp] of arrays [threads, accesses]."""
    threads, accesses = output.offset.shape
    lanes = output.offset.reshape(threads // WARP_SIZE, WARP_SIZE, accesses).transpose(2, 0, 1)
    active = output.valid.reshape(threads // WARP_SIZE, WARP_SIZE, accesses).transpose(2, 0, 1)
    spans = max(1, epilogue.access_bytes // SECTOR_BYTES)
    sectors: list[list[int]] = (distinct_sectors(lanes, active, epilogue.output_bits) * spans).tolist()
    return sectors
