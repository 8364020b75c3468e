"""The sectors and lines that a CTA's copies touch."""

import numpy as np
import pytest
from doubles.published import H200
from problems.small import small_conv, small_gemm

from gpusim.families.gemm.timed import TimedTileKernel
from gpusim.sim.footprint import Footprints
from gpusim.tile.requests import distinct_sectors


@pytest.mark.parametrize(
    "scenario", [small_gemm(100, 72, 200), small_conv(c=72), small_conv(stride=[2, 1])], ids=["gemm", "c72", "s2"]
)
@pytest.mark.parametrize("with_lines", [False, True])
def test_the_footprint_has_the_sectors_that_the_counters_count(scenario, with_lines):
    """And the lines' masks hold as many sectors as are counted."""
    kernel = TimedTileKernel(scenario, H200)
    block = int(np.flatnonzero((kernel.tiles == [1, 0, 0]).all(axis=1))[0])
    base = (lambda row: row << 40) if with_lines else (lambda _row: None)
    copies = Footprints().copies(kernel.lanes().cta(block), lambda _row: 16, base)
    for operand, tile in ((0, 1), (1, 0)):
        sectors = np.array(
            [[[[request[0] for request in warps] for warps in vec] for vec in access] for access in copies[operand]]
        )
        access = scenario.operand("ab"[operand]).iterator(tile, 0).fetch(np.arange(len(copies[operand])))
        fetches, threads, accesses, vecs = access.offset.shape
        lanes = (fetches, threads // 32, 32, accesses, vecs)
        offset, valid = (one.reshape(lanes).transpose(0, 3, 4, 1, 2) for one in (access.offset, access.valid))
        assert np.array_equal(sectors, distinct_sectors(offset, valid, bits=16))
        if with_lines:
            for fetch in copies[operand]:
                for count, lines in (request for access in fetch for vec in access for request in vec):
                    assert sum(mask.bit_count() for _, mask in lines) == count
