"""Random problems computed for real: every data path often, and every number right within the bound of its types."""

import tomllib
from collections import Counter
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from problems.draw import LAYOUTS
from problems.gemm import THREADBLOCK_SWIZZLES, TILES, TYPES, random_data, random_scenario
from problems.paths import edges, paths
from slow import one_in

from gpusim.element_types import INTEGER_RANGE, OUTPUTS, element_bits
from gpusim.families.gemm.execute import run
from gpusim.families.gemm.gemm import TRANSPOSABLE_BITS
from gpusim.numerics.tensors import make_tensors
from gpusim.scenario.text import write_toml
from gpusim.verbs.verify import verify

COMMITTED = tomllib.loads((Path(__file__).parent / "verify_problems.toml").read_text())
SEEDS = range(COMMITTED["first_seed"], COMMITTED["first_seed"] + COMMITTED["count"])

EVERY_PATH = {
    "mainloop": {
        f"{mainloop} {kind}"
        for mainloop in ("multistage", "pipelined")
        for kind in ("gemm", "analytic conv", "optimized conv")
    },
    "stages": {"2", "3", "4", "5"},
    "layouts": {"NHWC", *LAYOUTS},
    "types": {f"{ab} m{m}n{n}k{k} {accumulator}" for ab, accumulator, (m, n, k) in TYPES},
    "conversion": {f"{accumulator} to {output}" for (_, accumulator), outputs in OUTPUTS.items() for output in outputs},
    "threadblock swizzle": {*THREADBLOCK_SWIZZLES},
    "split-K": {"none", "serial", "parallel"},
    "epilogue": {"plain", "bias", "relu", "source", "bias relu", "bias source", "relu source", "bias relu source"},
    **{
        f"shared {operand}": {
            f"{family} along {axis}"
            for axis, own in (("K", "crosswise"), (other, "congruous"))
            for family in (own, "row_major", "padded", "Swizzle")
        }
        for operand, other in (("a", "M"), ("b", "N"))
    },
    **{f"access {operand}": {"16 bytes", "8 bytes", "4 bytes"} for operand in "ab"},
    "access c": {"16 bytes", "8 bytes", "4 bytes", "2 bytes", "1 bytes"},
}


def meet(first, second):
    """Whether one kernel can take both paths: NHWC is a convolution's, and fragments of 8 and 4 bits lie along K."""
    both = dict((first, second))
    layouts, mainloop, types = (both.get(aspect) for aspect in ("layouts", "mainloop", "types"))
    if layouts and mainloop:
        return (layouts == "NHWC") == mainloop.endswith("conv")
    return not (layouts and types) or layouts in ("NHWC", "TN") or element_bits(types.split()[0]) in TRANSPOSABLE_BITS


@pytest.fixture(scope="module")
def scenarios():
    return [random_scenario(seed) for seed in SEEDS]


@pytest.mark.parametrize("seed", one_in(20, SEEDS))
def test_random_problem_is_right_and_free_of_hazards(seed):
    scenario = random_scenario(seed)
    report = verify(scenario, seed)
    assert report.hazards == ()
    assert report.wrong_elements == 0, write_toml(scenario.resolved())
    assert report.max_error_over_bound <= 1
    assert report.ok


def test_random_problems_take_every_path_often(scenarios):
    taken = Counter(path for scenario in scenarios for path in paths(scenario).items())
    every = {(aspect, value) for aspect, values in EVERY_PATH.items() for value in values}
    assert set(taken) == every
    assert {path: count for path, count in taken.items() if count < COMMITTED["at_least"]} == {}


def test_random_problems_take_every_two_paths_that_meet(scenarios):
    paired = COMMITTED["paired"]
    taken = Counter(pair for scenario in scenarios for pair in combinations(sorted(paths(scenario).items()), 2))
    every = {
        (first, second)
        for one, other in combinations(sorted(paired), 2)
        for first in ((one, value) for value in EVERY_PATH[one])
        for second in ((other, value) for value in EVERY_PATH[other])
        if meet(first, second)
    }
    assert {pair for pair in taken if pair[0][0] in paired and pair[1][0] in paired} == every
    assert {pair: taken[pair] for pair in every if taken[pair] < COMMITTED["pairs_at_least"]} == {}


def test_random_problems_have_every_edge_often(scenarios):
    found = Counter(edge for scenario in scenarios for edge, present in edges(scenario).items() if present)
    assert {edge: found[edge] for edge in edges(scenarios[0]) if found[edge] < COMMITTED["at_least"]} == {}


def test_random_problems_have_every_tile_often(scenarios):
    """K of a tile has as many bytes in every type; TILES says how many 16-bit elements."""
    tiles = Counter(
        tuple(
            (m, n, k * element_bits(one.problem.dtype.ab) // 16)
            for m, n, k in (one.kernel.threadblock, one.kernel.warp)
        )
        for one in scenarios
    )
    assert set(tiles) == set(TILES)
    assert min(tiles.values()) >= COMMITTED["at_least"]


@pytest.mark.parametrize("output", ["s8", "u8", "s4", "u4"])
def test_narrow_outputs_are_clamped_at_times(scenarios, output):
    """Some results are clamped and most are not, or the numbers would prove little."""
    narrow = [(seed, one) for seed, one in zip(SEEDS, scenarios, strict=True) if one.problem.dtype.output == output]
    values = np.concatenate([run(one, make_tensors(one, seed)).output.ravel() for seed, one in narrow[:10]])
    clamped = np.isin(values, INTEGER_RANGE[output]).mean()
    assert 0.02 < clamped < 0.8


def test_the_seed_and_what_is_given_determine_the_problem():
    assert random_data(7) == random_data(7)
    assert random_data(7) != random_data(8)
    assert random_data(7, mainloop="pipelined")["kernel"]["mainloop"] == "pipelined"
    tf32 = random_data(7, types=("tf32", "f32", (16, 8, 8)))
    assert (tf32["problem"]["dtype"]["ab"], tf32["kernel"]["instruction"]) == ("tf32", [16, 8, 8])
