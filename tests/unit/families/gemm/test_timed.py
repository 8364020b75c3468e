"""What a kernel of tiles says of its CTAs for simulation in time: who waits for whom, and what DRAM brings."""

import pytest
from doubles.published import H200
from problems.small import small_gemm

from gpusim.families.gemm.reduction.timed import TimedReduction
from gpusim.families.gemm.timed import TimedTileKernel
from gpusim.sim.decode import assemble
from gpusim.sim.footprint import FROM_DRAM


def split(how, slices=3, **more):
    """2 x 1 tiles of 64 x 64 in slices of K."""
    return small_gemm(128, 64, 320, split_k=how, split_k_slices=slices, **more)


def test_a_slice_of_a_serial_split_k_follows_the_one_before_on_its_tile():
    """CTAs 0 and 1 are the tiles' first slices, 2 and 3 their second, 4 and 5 their third."""
    kernel = TimedTileKernel(split("serial"), H200)

    assert kernel.orders_slices
    assert [kernel.follows(cta) for cta in range(6)] == [-1, -1, 0, 1, 2, 3]


@pytest.mark.parametrize("scenario", [split("parallel"), small_gemm(128, 64, 320)], ids=["parallel", "whole"])
def test_other_kernels_have_no_order(scenario):
    kernel = TimedTileKernel(scenario, H200)

    assert not kernel.orders_slices
    assert {kernel.follows(cta) for cta in range(len(kernel.launched))} == {-1}


@pytest.mark.parametrize(("how", "waits"), [("serial", 1), ("parallel", 0)])
def test_a_slice_waits_once_before_the_first_instruction_of_its_epilogue(how, waits):
    kernel = TimedTileKernel(split(how), H200)
    segments = assemble(kernel.stream(1, "estimated"), kernel, 1).segments
    awaiting = [(segment.name, place) for segment in segments for place, one in enumerate(segment.code) if one.awaits]

    assert awaiting == [("epilogue", 0)] * waits
    assert all(one.gated for segment in segments for one in segment.code if one.awaits)


@pytest.mark.parametrize(("beta", "size"), [(0.0, 3 * 128 * 64 * 4), (0.5, 4 * 128 * 64 * 4)])
def test_a_reduction_reads_partial_sums_and_source_from_dram(beta, size):
    """Three slices of 128 x 64 sums, and a source, of 4 bytes."""
    kernel = TimedReduction(split("parallel", beta=beta), H200)

    assert set(kernel.found(0, first_wave=True)) == {FROM_DRAM}
    assert kernel.other_dram_bytes == size
