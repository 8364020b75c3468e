"""Random data gradients computed for real: every path often, every number right within the bound of its types."""

from collections import Counter

import pytest
from problems.dgrad import random_dgrad
from slow import one_in

from gpusim.scenario.text import write_toml
from gpusim.verbs.verify import verify

SEEDS = range(150)


@pytest.mark.parametrize("seed", one_in(5, SEEDS))
def test_random_data_gradient_is_right_and_free_of_hazards(seed):
    scenario = random_dgrad(seed)
    report = verify(scenario, seed)
    assert report.hazards == ()
    assert report.wrong_elements == 0, write_toml(scenario.resolved())
    assert report.max_error_over_bound <= 1
    assert report.ok


def test_random_data_gradients_take_every_path_often():
    taken = Counter()
    for seed in SEEDS:
        scenario = random_dgrad(seed)
        problem, kernel = scenario.problem, scenario.kernel
        taken.update(
            [
                problem.mode,
                kernel.mainloop,
                problem.dtype.ab,
                f"split-K {problem.split_k if problem.split_k_slices > 1 else 'none'}",
                "padding" if any(problem.padding) else "no padding",
                "dilation" if problem.dilation != (1, 1) else "no dilation",
                "given p or q" if problem.p or problem.q else "p and q by the formula",
                f"accesses of the filter of {scenario.operand('b').access_bytes} bytes",
                f"accesses of the gradient of {scenario.operand('a').access_bytes} bytes",
                "ragged filters" if problem.k % kernel.threadblock[2] else "whole filters",
                "ragged channels" if problem.c % kernel.threadblock[1] else "whole channels",
                "source" if problem.beta else "no source",
                "bias" if problem.bias else "no bias",
            ]
        )

    assert len(taken) == 30, taken
    assert min(taken.values()) >= 5, taken
