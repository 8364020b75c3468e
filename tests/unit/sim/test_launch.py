"""Kinds of SM: which SMs stand for which; and which CTAs are of the first wave."""

from types import SimpleNamespace

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


def kinds_of_work(*work, most):
    """(the CTA that is simulated, SMs) of each kind, where every SM has one CTA of so much work, alike where equal."""
    kernel = SimpleNamespace(
        machine=SimpleNamespace(sms=len(work)),
        launched=range(len(work)),
        behaviour=lambda _: "the only one",
        kind=lambda cta, _: work[cta],
        work=lambda cta: work[cta],
        most_kinds=most,
    )
    kinds = sm_kinds(Launch(kernel, {"the only one": None}, 1))
    return [(kind.queue[0], kind.count) for kind in kinds]


def test_as_many_kinds_as_may_be_are_simulated_each():
    assert kinds_of_work(30, 10, 10, 10, 20, most=3) == [(0, 1), (1, 3), (4, 1)]


def test_one_kind_more_and_the_middle_stands_for_a_third_and_the_longest_for_the_last():
    """By work: SMs 1 and 2 of 10, 3 and 5 of 20, 0 and 4 of 30 and 40."""
    assert kinds_of_work(30, 10, 10, 20, 40, 20, most=3) == [(2, 2), (5, 2), (4, 2)]


def test_the_first_wave_ends_where_every_sm_is_full(monkeypatch):
    kernel, waves = TimedTileKernel(small_gemm(64 * 20, 64 * 20, 64), H200), []
    found = kernel.found
    monkeypatch.setattr(
        kernel, "found", lambda cta, *, first_wave: waves.append(first_wave) or found(cta, first_wave=first_wave)
    )
    launch = Launch(kernel, {0: kernel.stream(0, "estimated")}, 2)
    launch.run((0, 2 * 132 - 1, 2 * 132), sms=1, share=1, walk=None, watched=0)

    assert waves == [True, True, False]
