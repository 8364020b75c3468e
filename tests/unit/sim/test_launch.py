"""Kinds of SM: which SMs stand for which."""

from doubles.published import H200
from problems.small import small_gemm

from gpusim.families.gemm.timed import TimedTileKernel
from gpusim.sim.launch import Launch, sm_kinds


def kinds_of(scenario):
    """(first CTA, SMs, CTAs of each) of each kind, two CTAs at a time."""
    kernel = TimedTileKernel(scenario, H200)
    streams = {slice_: kernel.stream(slice_, "estimated") for slice_ in range(scenario.problem.split_k_slices)}
    kinds = sm_kinds(Launch(kernel, streams, 2))
    return [(kind.queue[0], kind.count, len(kind.queue)) for kind in kinds]


def test_a_full_wave_and_a_tail_are_two_kinds_of_sm():
    """200 CTAs on 132 SMs: the first 68 run two."""
    assert kinds_of(small_gemm(64 * 20, 64 * 10, 64)) == [(0, 68, 2), (68, 64, 1)]


def test_whole_waves_are_one_kind_of_sm():
    assert kinds_of(small_gemm(64 * 132, 128, 64)) == [(0, 132, 2)]


def test_slices_that_run_other_programs_are_other_kinds():
    """3 slices of 50 CTAs; the first does not read its source. 150 CTAs: SMs 0 to 17 run one of each, and so on."""
    scenario = small_gemm(64 * 10, 64 * 5, 192, split_k_slices=3)
    assert kinds_of(scenario) == [(0, 18, 2), (18, 32, 1), (50, 82, 1)]


def test_ragged_ctas_of_a_small_grid_are_a_kind_of_their_own():
    """2 x 2 tiles, the second of each clipped."""
    assert [first for first, _, _ in kinds_of(small_gemm(100, 72, 64))] == [0, 1, 2, 3]
