"""The order of segments between barriers, for warps that meet all together, in parts, or that have exited."""

import numpy as np
import pytest

from gpusim.execute.checks.order import UnknownOrder, warp_order
from gpusim.schedule.warp_events import Arrive, Sync


def known(order, warp, segment):
    """Segments of each warp that have happened before a segment of one."""
    return order.clocks[order.rows(np.array([warp]), np.array([segment]))[0]].tolist()


def test_behind_a_barrier_of_the_cta_the_segments_before_it_of_all_warps_have_happened():
    order = warp_order([[Sync(0), Sync(0)], [Sync(0), Sync(0)]])

    assert [known(order, 0, segment) for segment in range(3)] == [[0, 0], [1, 1], [2, 2]]


def test_a_barrier_of_two_warps_orders_no_third():
    order = warp_order([[Sync(1, 2)], [Sync(1, 2)], []])

    assert known(order, 0, 1) == [1, 1, 0]
    assert known(order, 2, 0) == [0, 0, 0]


def test_a_warp_that_arrives_and_goes_on_knows_nothing_of_those_that_wait():
    order = warp_order([[Arrive(1, 2)], [Sync(1, 2)]])

    assert known(order, 0, 1) == [0, 0]
    assert known(order, 1, 1) == [1, 1]


@pytest.mark.parametrize("expected", [0, 3])
def test_a_warp_that_has_exited_counts_as_arrived(expected):
    order = warp_order([[Sync(0, expected), Sync(0, expected)], [Sync(0, expected)], []])

    assert known(order, 0, 2)[:2] == [2, 2]


def test_an_order_that_cannot_be_told_is_refused():
    with pytest.raises(UnknownOrder, match="the number or count of a barrier is in a register"):
        warp_order([[Sync(0), None], [Sync(0)]])
    with pytest.raises(UnknownOrder, match="barrier 1 must expect as many warps"):
        warp_order([[Sync(1, 2)], [Sync(1, 3)], []])


def test_a_warp_that_still_waits_has_no_segment_behind_its_wait():
    order = warp_order([[Sync(1, 2)], [], []])

    assert known(order, 0, 0) == [0, 0, 0]
    with pytest.raises(UnknownOrder, match="in an order that is not understood"):
        order.rows(np.array([0]), np.array([1]))
