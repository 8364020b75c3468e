"""Tensors made from a seed: repeatable, in range, NaN where nothing belongs."""

import numpy as np
import pytest
from problems.small import as_given

from gpusim.families.gemm.gemm import GemmProblem
from gpusim.numerics.tensors import fresh_output, make_tensors


def test_tensors_follow_from_the_seed():
    scenario = as_given(GemmProblem(m=9, n=8, k=16, lda=24, beta=1.0))
    first, again, other = (make_tensors(scenario, seed) for seed in (1, 1, 2))
    for name in ("a", "b", "source"):
        assert np.array_equal(getattr(first, name), getattr(again, name), equal_nan=True)
        assert not np.array_equal(getattr(first, name), getattr(other, name), equal_nan=True)


def test_padding_between_rows_is_nan_and_nothing_else():
    scenario = as_given(GemmProblem(m=9, n=8, k=16, lda=24))
    view = scenario.problem.operand_views[0]
    rows = make_tensors(scenario, 1).a.reshape(9, 24)
    assert view.elements == 9 * 24
    assert np.isfinite(rows[:, :16]).all()
    assert np.isnan(rows[:, 16:]).all()


def test_uniform_values_lie_in_the_unit_interval():
    a = make_tensors(as_given(GemmProblem(m=64, n=8, k=64)), 1, "uniform").a
    assert np.abs(a).max() <= 1
    assert np.abs(a).max() > 0.9


def test_no_source_tensor_without_beta():
    assert make_tensors(as_given(GemmProblem(m=8, n=8, k=8)), 1).source is None


@pytest.mark.parametrize("output", ["f16", "f32"])
def test_fresh_output_is_all_nan(output):
    scenario = as_given(GemmProblem(m=8, n=8, k=8, ldc=16, dtype={"ab": "f16", "accumulator": "f32", "output": output}))
    assert fresh_output(scenario).dtype == {"f16": np.float16, "f32": np.float32}[output]
    assert np.isnan(fresh_output(scenario)).all()
    assert scenario.problem.output_view.of(fresh_output(scenario)).shape == (8, 8)
