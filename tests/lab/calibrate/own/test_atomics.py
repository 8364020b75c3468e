"""Cycles of CTAs on an SM each."""

import numpy as np

from gpusim.lab.calibrate.own.atomics import by_sm


def test_cycles_of_an_sm_are_those_of_its_warps_and_clocks_of_two_sms_are_not_compared():
    """Three SMs of two warps: 30, 40 and 90 cycles, of 10 instructions each."""
    spans = np.array([[0, 20], [5, 30], [1000, 1040], [1001, 1030], [70, 160], [80, 90]])

    assert by_sm(spans, 3, 10, "each") == {"cycles": 40.0, "slowest": 90, "each": 4.0}
