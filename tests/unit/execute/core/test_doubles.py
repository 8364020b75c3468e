"""Arithmetic of f64: extremes, as fmin and fmax are compiled."""

from itertools import product
from pathlib import Path

import numpy as np
import pytest

import gpusim
from gpusim.compiled.choice import asked_for
from gpusim.execute.core.doubles import first_is_extreme

DATA = Path(__file__).parents[2] / "python" / "data"
NAN, INF = float("nan"), float("inf")
VALUES = (NAN, 0.0, -0.0, 1.0, -1.0, INF, -INF, 5e-324)


@pytest.mark.parametrize("engine", ["interpreted", pytest.param("compiled", marks=pytest.mark.compiled)])
def test_the_extremes_of_doubles_are_those_of_ieee(engine):
    """A number is preferred to a NaN, and -0 is less than 0; two NaNs have a NaN."""
    pairs = np.array([*product(VALUES, VALUES)]).T
    a, b = np.ascontiguousarray(pairs)
    least, most = np.zeros(64), np.zeros(64)

    with asked_for(engine):
        gpusim.kernel(DATA / "extremes.cubin", machine="a100")[1, 64](a, b, least, most)

    for got, of_both, at_zero in ((least, np.fmin, True), (most, np.fmax, False)):
        expected = of_both(a, b)
        zeros = (a == 0) & (b == 0)
        assert np.array_equal(got[~zeros], expected[~zeros], equal_nan=True)
        negative = np.signbit(a) | np.signbit(b) if at_zero else np.signbit(a) & np.signbit(b)
        assert np.array_equal(np.signbit(got[zeros]), negative[zeros])


def test_the_first_is_the_extreme_unless_it_is_a_nan():
    assert [first_is_extreme(a, 1.0, 1) for a in (0.5, 1.5, NAN)] == [1, 0, 0]
    assert [first_is_extreme(a, 1.0, 2) for a in (0.5, 1.5, NAN)] == [0, 1, 0]
    assert [first_is_extreme(a, NAN, 1) for a in (0.5, NAN)] == [1, 0]
