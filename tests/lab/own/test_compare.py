"""Outputs of own kernels beside their oracle: what counts as wrong, and how errors are measured."""

import numpy as np
import pytest

from gpusim.lab.own.compare import OwnAgreement, compare
from gpusim.lab.own.kernel import OwnLaunch, named_alike

LAUNCH = OwnLaunch((1, 1, 1), (32, 1, 1), {})


def kernel(expected, tolerance=0.0):
    return named_alike("k", "memory", LAUNCH, LAUNCH, lambda _: {"out": np.array(expected)}, tolerance=tolerance)


@pytest.mark.parametrize(
    ("written", "wrong", "error"),
    [([3.0, 4.0], 0, 0.0), ([3.0, 4.04], 0, 0.01), ([3.0, 4.4], 1, 0.1), ([3.0, np.nan], 1, np.inf)],
    ids=["equal", "within", "beyond", "no number"],
)
def test_an_error_is_relative_to_the_larger_of_magnitude_and_root_mean_square(written, wrong, error):
    """3 and 4 have the root mean square 3.54; 4 is larger."""
    found = compare(kernel([3.0, 4.0], tolerance=0.02), {}, {"out": np.array(written, np.float32)})

    assert (found.elements, found.wrong) == (2, wrong)
    assert found.error == pytest.approx(error, rel=1e-5)


def test_small_elements_are_measured_by_the_root_mean_square():
    """0 and 10: 7.07; an error of 0.0707 is one hundredth."""
    found = compare(kernel([0.0, 10.0]), {}, {"out": np.array([0.0707107, 10.0])})

    assert found.error == pytest.approx(0.01, rel=1e-5)
    assert found.wrong == 1


def test_integers_are_equal_or_wrong():
    found = compare(kernel([1, 2, 3]), {}, {"out": np.array([1, 5, 3], np.int32), "other": np.zeros(1)})

    assert found == OwnAgreement(3, 1, 1.0)
