"""What follows from a convolution's table: accesses and the output's extents."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gpusim.families.conv.fprop.problem import Conv2dFpropProblem
from gpusim.families.registry import parse_scenario


def conv(**changes):
    problem = {"kind": "conv2d_fprop", "n": 1, "h": 8, "w": 9, "c": 16, "k": 24, "r": 3, "s": 3}
    return parse_scenario({"machine": "h200", "problem": problem | changes}, "x.toml").problem


def test_a_convolution_accesses_channels():
    problem = conv(c=12, k=18)

    assert (problem.access("a"), problem.access("b"), problem.access_c) == (4, 4, 2)


@given(
    h=st.integers(1, 40),
    r=st.integers(1, 7),
    pad=st.integers(0, 4),
    stride=st.integers(1, 3),
    dilation=st.integers(1, 3),
)
def test_the_output_height_counts_the_places_where_the_filter_fits(h, r, pad, stride, dilation):
    problem = Conv2dFpropProblem(
        n=1, h=h, w=1, c=8, k=8, r=r, s=1, padding=(pad, 0), stride=(stride, 1), dilation=(dilation, 1)
    )
    last_row = np.arange(0, h + 2 * pad, stride) + dilation * (r - 1)

    assert max(0, problem.output_p) == np.count_nonzero(last_row < h + 2 * pad)


def test_a_given_output_extent_holds():
    problem = conv(p=5, q=6)

    assert (problem.output_p, problem.output_q) == (5, 6)
    assert (conv().output_p, conv().output_q) == (6, 7)


def test_a_filter_that_does_not_fit_passes_with_a_given_output_extent():
    assert conv(r=9, p=1).output_p == 1
