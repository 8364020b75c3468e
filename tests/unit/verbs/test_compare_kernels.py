"""Two kernels of one's own beside each other: keys, figures, and the cause of the difference."""

from dataclasses import replace

import pytest
from problems.own_answers import LOAD, MATH, STORE, own_answer

from gpusim.errors import BadInput
from gpusim.results.result import Cycles
from gpusim.verbs.compare_kernels import compare_kernels

SLOW = own_answer()
FAST = own_answer(
    scenario=SLOW.scenario | {"defines": {"PAD": 1}},
    cycles=Cycles(elapsed=1500, active=80),
    ctas_per_sm=7,
    stalls={"long_scoreboard": 50, "wait": 16, "selected": 12, "math_pipe_throttle": 10},
    rows=(LOAD, MATH, replace(STORE, wavefronts=4, stalls={"selected": 4})),
)


def test_the_cause_is_the_stall_that_shrank_most_and_the_counts_that_changed():
    found = compare_kernels(("slow", "fast"), (SLOW, FAST))

    assert found.causes == (
        "fast takes 0.750 times the cycles of slow, 1,500 for 2,000",
        "  warp cycles -112: long_scoreboard -100, mio_throttle -12",
        "  data from global memory: 100 % of it in slow before 0x0020 FADD R2, R2, R2",
        "  wavefronts in shared memory: 4 for 32",
        "  CTAs per SM: 7 for 8",
    )


def test_where_a_stall_grew_its_place_is_that_of_the_slower_side():
    found = compare_kernels(("fast", "slow"), (FAST, SLOW))

    assert found.causes[0] == "slow takes 1.333 times the cycles of fast, 2,000 for 1,500"
    assert "in slow before" in found.causes[2]


def test_keys_that_differ_and_figures_of_all_sides_are_listed():
    found = compare_kernels(("slow", "fast"), (SLOW, FAST))

    assert [(one.key, one.values) for one in found.differences] == [("defines.PAD", ("-", 1))]
    metrics = {one.name: one for one in found.metrics}
    assert metrics["cycles"].values == (2000, 1500)
    assert metrics["wavefronts in shared memory"].ratio == 0.125
    assert metrics["warp cycles mio_throttle"].values == (12, 0)
    assert found.to_dict()["metrics"][0]["ratios"] == [1.0, 0.75]


def test_equal_answers_have_no_cause_but_their_time():
    assert compare_kernels(("a", "b"), (SLOW, SLOW)).causes == ("b takes 1.000 times the cycles of a, 2,000 for 2,000",)


def test_one_side_is_no_comparison():
    with pytest.raises(BadInput, match=r"^a comparison needs two sides or more, got 1$"):
        compare_kernels(("a",), (SLOW,))
