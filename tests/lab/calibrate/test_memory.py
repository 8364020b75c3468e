"""Near and far lines of the L2, parted by their latencies."""

import numpy as np
import pytest

from gpusim.lab.calibrate.memory import far_lines


def test_lines_part_at_the_gap_of_two_modes():
    near, far = np.arange(250, 280), np.arange(400, 440)
    assert np.array_equal(far_lines(np.concatenate([near, far, [9000]])), [False] * 30 + [True] * 41)


@pytest.mark.parametrize("latencies", [[260] * 50, list(range(255, 265))], ids=["equal", "one mode"])
def test_one_mode_has_no_far_lines(latencies):
    assert not far_lines(np.array(latencies)).any()
