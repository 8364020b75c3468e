"""The points of a loop: of one kernel, no two alike, and of the size that the loop is named after in the mean."""

from statistics import mean

import pytest

from gpusim.lab.bench.commands import LOOPS
from gpusim.lab.bench.loop import loop, problem_of


@pytest.mark.parametrize(("size", "points"), LOOPS.items())
def test_points_differ_in_k_alone_and_have_the_size_in_the_mean(size, points):
    problems = [problem_of(size, point) for point in range(points + 1)]
    k = [problem["k"] for problem in problems]

    assert {(problem["m"], problem["n"]) for problem in problems} == {(size, size)}
    assert len(set(k)) == len(k)
    assert mean(k) == k[0] == size
    assert all(extent % 32 == 0 for extent in k)


def test_a_loop_takes_time_for_the_first_point_and_for_the_others():
    first, others = loop(256, 2)

    assert first > 0
    assert others > 0
