"""Random problems of every element type computed for real: right within the bound of their types, integers exactly."""

from collections import Counter

import numpy as np
import pytest

from gpusim.functional.typed_problems import TYPES, typed_data, typed_scenario
from gpusim.functional.verify import verify
from gpusim.mma_types import OUTPUTS

SEEDS = range(1000, 1030)


EPILOGUE_TYPES = [types for types in TYPES if types[1] != "f16"]


def name(types):
    ab, accumulator, shape = types
    return f"{ab}-{accumulator}-m{shape[0]}n{shape[1]}k{shape[2]}"


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("types", EPILOGUE_TYPES, ids=name)
def test_random_problem_is_right_and_free_of_hazards(types, seed):
    report = verify(typed_scenario(seed, *types), seed)
    assert report.hazards == ()
    assert report.wrong_elements == 0
    assert report.ok


@pytest.mark.parametrize("types", TYPES, ids=name)
def test_the_problems_cover_families_outputs_split_k_and_layouts(types):
    scenarios = [typed_scenario(seed, *types) for seed in SEEDS]
    kinds = Counter(scenario.problem.kind for scenario in scenarios)
    layouts = {name.split("<")[0] for scenario in scenarios for name in scenario.kernel.shared.model_dump().values()}
    assert min(kinds["gemm"], kinds["conv2d_fprop"]) >= 5
    assert {scenario.problem.dtype.output for scenario in scenarios} == set(OUTPUTS[types[:2]])
    assert any(scenario.problem.split_k_slices > 1 for scenario in scenarios)
    assert layouts == {"crosswise", "row_major", "padded", "Swizzle"}


def test_a_seed_and_types_determine_the_problem():
    first, again, other = (typed_data(seed, *TYPES[0]) for seed in (7, 7, 8))
    assert first == again
    assert first != other


def test_integer_sums_are_exact():
    scenario = typed_scenario(1001, "s8", "s32", (16, 8, 32))
    exact = scenario.model_copy(
        update={"problem": scenario.problem.model_copy(update={"alpha": 1.0, "beta": 0.0, "split_k_slices": 1})}
    )
    report = verify(exact, 5)
    assert report.ok
    assert report.max_error == 0
    assert np.isfinite(report.max_error_over_bound)
