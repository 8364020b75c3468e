"""What follows from a GEMM's table: leading dimensions and accesses."""

import pytest

from gpusim.families.registry import parse_scenario

GEMM = {"machine": "h200", "problem": {"kind": "gemm", "m": 100, "n": 36, "k": 44}}


def gemm(**changes):
    return parse_scenario(GEMM | {"problem": GEMM["problem"] | changes}, "x.toml").problem


def test_a_gemm_is_packed_unless_leading_dimensions_are_given():
    assert (gemm().leading_a, gemm().leading_b, gemm().leading_c) == (44, 44, 36)
    assert gemm(lda=48).leading_a == 48


@pytest.mark.parametrize(
    ("changes", "accesses"),
    [
        ({"k": 64}, (8, 8, 4)),
        ({"k": 44}, (4, 4, 4)),
        ({"k": 42, "n": 35}, (2, 2, 1)),
        ({"k": 64, "lda": 68}, (4, 8, 4)),
        ({"k": 64, "n": 36, "ldc": 38}, (8, 8, 2)),
        ({"k": 64, "dtype": {"output": "f16"}, "n": 40}, (8, 8, 8)),
        ({"k": 64, "alignment_b": 2}, (8, 2, 4)),
    ],
)
def test_the_default_access_is_the_widest_that_divides_extent_and_leading_dimension(changes, accesses):
    problem = gemm(**changes)

    assert (problem.access("a"), problem.access("b"), problem.access_c) == accesses
