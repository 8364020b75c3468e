"""The sectors and lines that a CTA's copies touch."""

import numpy as np
import pytest
from doubles.published import H200
from problems.small import small_conv, small_gemm

from gpusim.families.gemm.timed import TimedTileKernel
from gpusim.sim.footprint import SPLIT, Patterns
from gpusim.tile.global_access import GlobalAccess
from gpusim.tile.lanes import SharedTable, copy_table
from gpusim.tile.requests import distinct_sectors


@pytest.mark.parametrize(
    "scenario", [small_gemm(100, 72, 200), small_conv(c=72), small_conv(stride=[2, 1])], ids=["gemm", "c72", "s2"]
)
def test_the_footprint_has_the_sectors_that_the_counters_count(scenario):
    """And the lines' masks hold as many sectors as are counted."""
    kernel = TimedTileKernel(scenario, H200)
    block = int(np.flatnonzero((kernel.tiles == [1, 0, 0]).all(axis=1))[0])
    cta, patterns = kernel.lanes().cta(block), Patterns()
    for operand, tile in ((0, 1), (1, 0)):
        copies = [cta.fetched(operand, fetch.number) for fetch in cta.fetches()[operand]]
        filled = copy_table(scenario.operand("ab"[operand]))
        found = [patterns.copies(access, filled) for access in copies]
        sectors = np.array(
            [[[[count for count, _ in warps] for warps in vecs] for vecs in pattern.requests] for _, pattern in found]
        )
        access = scenario.operand("ab"[operand]).iterator(tile, 0).fetch(np.arange(len(found)))
        fetches, threads, accesses, vecs = access.offset.shape
        lanes = (fetches, threads // 32, 32, accesses, vecs)
        offset, valid = (one.reshape(lanes).transpose(0, 3, 4, 1, 2) for one in (access.offset, access.valid))
        assert np.array_equal(sectors, distinct_sectors(offset, valid, bits=16))
        for _, pattern in found:
            for count, lines in (request for vecs in pattern.requests for warps in vecs for request in warps):
                assert sum((mask & SPLIT - 1).bit_count() for _, mask in lines) == count


def access_at(*elements):
    """One access of one warp, whose lanes read 8 elements of 2 bytes each from there on; other lanes nothing."""
    given = np.full(32, -1)
    given[: len(elements)] = elements
    return GlobalAccess({}, np.maximum(given, 0)[:, None, None], (given >= 0)[:, None, None])


def filled_at(*bytes_):
    """Places in shared memory, elements of 2 bytes, that the lanes of ``access_at`` fill."""
    offsets = np.zeros(32, dtype=np.int64)
    offsets[: len(bytes_)] = bytes_
    return SharedTable(offsets[None, None, None, None] // 2, 16, 16)


@pytest.mark.parametrize(
    ("bytes_", "looked_up"),
    [
        ((0, 16, 32, 48), 0),  # as they lie in global memory
        ((16, 0, 48, 32), 0),  # swapped within 32 bytes
        ((96, 112, 128, 144), 2),  # two sectors in two lines
        ((16, 32, 48, 64), 4),  # each sector in two pieces
        ((112, 128, 144, 160), 4),
    ],
)
def test_what_fills_several_lines_or_pieces_of_shared_memory_is_asked_for_again(bytes_, looked_up):
    """Four lanes copy 16 bytes each, of two sectors of one line."""
    _, pattern = Patterns().copies(access_at(0, 8, 16, 24), filled_at(*bytes_))

    assert pattern.requests == [[[(2, ((0, 0b0011 | looked_up * SPLIT),))]]]


def test_fetches_a_whole_number_of_lines_apart_are_one_pattern():
    """Lines of 64 elements: elements 64 and 200 lie in sector 0 of line 1 and sector 0 of line 3."""
    patterns = Patterns()
    filled = filled_at(0, 16)
    first, pattern = patterns.copies(access_at(64, 200), filled)
    later, again = patterns.copies(access_at(64 + 640, 200 + 640), filled)
    _, other = patterns.copies(access_at(64 + 16, 200 + 16), filled)

    assert (first, later) == (1, 11)
    assert again is pattern
    assert pattern.requests == [[[(2, ((0, 1), (2, 1)))]]]
    assert other.requests == [[[(2, ((0, 2), (2, 2)))]]]


def test_lanes_that_read_nothing_touch_nothing():
    _, pattern = Patterns().copies(access_at(), filled_at())

    assert pattern.requests == [[[(0, ())]]]
