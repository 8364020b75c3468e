"""The sectors and lines that a CTA's copies touch."""

import numpy as np
import pytest
from doubles.published import H200
from problems.small import small_conv, small_gemm

from gpusim.families.gemm.timed import TimedTileKernel
from gpusim.sim.footprint import Patterns
from gpusim.tile.global_access import GlobalAccess
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
        found = [patterns.copies(access, 16) for access in copies]
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
                assert sum(mask.bit_count() for _, mask in lines) == count


def access_at(*elements):
    """One access of one warp, whose lanes read 8 elements of 2 bytes each from there on; other lanes nothing."""
    given = np.full(32, -1)
    given[: len(elements)] = elements
    return GlobalAccess({}, np.maximum(given, 0)[:, None, None], (given >= 0)[:, None, None])


def test_fetches_a_whole_number_of_lines_apart_are_one_pattern():
    """Lines of 64 elements: elements 64 and 200 lie in sector 0 of line 1 and sector 0 of line 3."""
    patterns = Patterns()
    first, pattern = patterns.copies(access_at(64, 200), 16)
    later, again = patterns.copies(access_at(64 + 640, 200 + 640), 16)
    _, other = patterns.copies(access_at(64 + 16, 200 + 16), 16)

    assert (first, later) == (1, 11)
    assert again is pattern
    assert pattern.requests == [[[(2, ((0, 1), (2, 1)))]]]
    assert other.requests == [[[(2, ((0, 2), (2, 2)))]]]


def test_lanes_that_read_nothing_touch_nothing():
    _, pattern = Patterns().copies(access_at(), 16)

    assert pattern.requests == [[[(0, ())]]]
