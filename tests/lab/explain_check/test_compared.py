"""When a predicted gain is right."""

import pytest

from gpusim.lab.explain_check.compared import GainRow


@pytest.mark.parametrize(
    ("measured", "simulated", "sign", "near"),
    [(10, 6, True, True), (10, 4, True, False), (0.9, -0.9, True, True), (1.1, -0.9, False, True)],
)
def test_a_gain_is_right_in_sign_and_near_within_5_points(measured, simulated, sign, near):
    row = GainRow("stages", "a", "b", measured, simulated)

    assert (row.sign_right, row.near) == (sign, near)
