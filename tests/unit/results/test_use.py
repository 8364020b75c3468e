"""How much of a machine a run uses, worked on paper, and against runs whose tiles and grids are known."""

from dataclasses import replace
from functools import cache

import pytest

import gpusim
from gpusim.machine import load_machine
from gpusim.results.use import tile_efficiency, use_of
from gpusim.results.verdict import verdict

H200 = load_machine("h200")


@cache
def simulated(problem=(), kernel=()):
    scenario = gpusim.load("gemm_ragged").replace(problem=dict(problem), kernel=dict(kernel))
    return gpusim.simulate(scenario, stream="estimated")


def of_gemm(m, n, k):
    run = simulated((("m", m), ("n", n), ("k", k)))
    return run, use_of(run, H200)


def test_every_sm_counts_whether_it_has_a_cta_or_not():
    """512 x 256 are 4 x 2 tiles of 128 x 128."""
    _, use = of_gemm(512, 256, 64)

    assert (use.working, use.idle_sms, use.sms) == (8, 124, 132)
    assert use.waves == 1
    assert use.last_wave == pytest.approx(8 / (2 * 132))


def test_the_last_wave_is_what_is_left_of_the_grid():
    """17 x 16 CTAs, two on each of 132 SMs: 264 in the first wave, 8 in the second."""
    run, use = of_gemm(17 * 128, 16 * 128, 64)

    assert run.ctas == 272
    assert use.waves == 2
    assert use.last_wave == pytest.approx(8 / 264)


@pytest.mark.parametrize(("n", "efficiency"), [(128, 1.0), (64, 0.5), (32, 0.25), (160, 0.625)])
def test_what_lies_outside_the_problem_is_padding(n, efficiency):
    """M and K fill their tiles, and N is rounded up to 128."""
    _, use = of_gemm(256, n, 128)

    assert use.tile_efficiency == pytest.approx(efficiency, rel=0.005)


def test_tile_efficiency_is_useful_over_executed_multiplications():
    assert tile_efficiency(2 * 16 * 8 * 16 * 3, 4, (16, 8, 16)) == 0.75
    assert tile_efficiency(1.0, 0, (16, 8, 16)) is None


def test_the_peak_of_the_tensor_cores_is_that_of_their_interval():
    """132 SMs of 4 tensor cores, an m16n8k16 of 4,096 operations every 6 cycles at 1,980 MHz."""
    _, use = of_gemm(256, 128, 128)

    assert use.tensor_peak == pytest.approx(132 * 4 * 4096 / 6 * 1980e6 / 1e12)


def test_the_use_of_the_tensor_cores_is_padding_and_useful_rate():
    """What they execute over their peak is the rate of useful multiplications, over the tile's efficiency."""
    run, use = of_gemm(1024, 960, 1024)

    assert dict(use.of_peak)["tensor core"] == pytest.approx(
        run.tflops / use.tensor_peak / use.tile_efficiency, rel=0.01
    )


def test_resources_are_ranked_by_use():
    _, use = of_gemm(1024, 1024, 1024)

    assert list(use.of_peak) == sorted(use.of_peak, key=lambda item: -item[1])
    assert all(0 <= share <= 1 for _, share in use.of_peak)


def test_a_verdict_says_first_that_sms_are_idle_and_that_tiles_are_padding():
    run, use = of_gemm(256, 32, 128)

    assert verdict(run, use).startswith(
        "130 of 132 SMs have no CTA; 75 % of the multiplications are padding of the tile; where there is work, "
    )


@pytest.mark.parametrize("rounded", [0.499997, 0.500003])
def test_a_verdict_of_half_filled_tiles_does_not_hang_on_how_a_rate_was_rounded(rounded):
    run, use = of_gemm(2048, 2048, 128)
    half = replace(use, tile_efficiency=rounded)

    assert verdict(run, half).startswith("50 % of the multiplications are padding of the tile; ")


def test_a_verdict_names_a_last_wave_that_is_nearly_empty():
    run, use = of_gemm(17 * 128, 16 * 128, 64)

    assert verdict(run, use).startswith("The last of 2 waves of CTAs is filled to 3 %; where there is work, ")


def test_a_verdict_names_the_busy_resource():
    """Rows without a swizzle share banks: the data stage is the limit."""
    run = gpusim.simulate(
        gpusim.load("gemm_ragged").replace(
            problem={"m": 2048, "n": 2048}, kernel={"shared": {"a": "row_major", "b": "row_major"}}
        ),
        stream="estimated",
    )

    assert run.bound["resource"] == "shared-memory data stage"
    assert verdict(run, use_of(run, H200)).startswith("The limit is the shared-memory data stage, busy for ")
