"""Which SM each CTA goes to when a grid is launched, by the groups of SMs."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusim.machine import load_machine
from gpusim.machine.spec import LaunchUnitsSpec
from gpusim.sim.cta_scheduler import first_places, groups_of

UNITS = LaunchUnitsSpec(
    ahead=2, others=(2, 4, 4), between=200, gpcs=(0, 0, 1, 2), sides=(0, 0, 1, 1), other_sm=10, next_cta=27
)
"""SMs 0 and 1 come first; then 2 and 3, 4 to 7, 8 to 11. The first group is back after two others."""

SMS = 12


def test_a_round_gives_each_sm_a_cta_group_by_group():
    assert first_places(SMS, SMS, 1, UNITS) == list(range(SMS))


def test_the_first_group_comes_ahead_of_its_turn_until_it_has_all_its_ctas():
    """Three rounds: the first group has its second turn after two others, its third after four, as 2 * 200 % says."""
    first, small, one, two = (0, 1), (2, 3), (4, 5, 6, 7), (8, 9, 10, 11)
    order = [*first, *small, *one, *first, *two, *small, *first, *one, *two, *small, *one, *two]

    assert first_places(3 * SMS, SMS, 3, UNITS) == order
    assert first_places(4 * SMS, SMS, 3, UNITS) == order


@pytest.mark.parametrize(
    ("ctas", "places"),
    [
        (1, [0]),
        (2, [0, 1]),
        # One for each group; then as long as there are TPCs without one: groups 1 and 2 have another.
        (5, [0, 1, 2, 4, 8]),
        (7, [0, 1, 2, 4, 6, 8, 10]),
        # The TPCs' second SMs, in turn; TPCs with two CTAs come first.
        (8, [0, 1, 2, 3, 4, 6, 8, 10]),
        (9, [0, 1, 2, 3, 4, 5, 6, 8, 10]),
        (11, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]),
    ],
)
def test_what_is_left_is_spread_over_groups_then_tpcs_then_sms(ctas, places):
    assert first_places(ctas, SMS, 1, UNITS) == places


def test_what_is_left_follows_the_whole_rounds():
    """12 CTAs fill a round; of the other five, the first group has two, and each other one."""
    assert first_places(17, SMS, 2, UNITS) == [*range(SMS), 0, 1, 2, 4, 8]


@given(st.integers(1, 100), st.integers(1, 4))
def test_no_sm_has_two_ctas_more_than_another_and_none_more_than_it_holds(ctas, slots):
    places = first_places(ctas, SMS, slots, UNITS)
    each = Counter(places)

    assert len(places) == min(ctas, slots * SMS)
    assert max(each.values()) <= slots
    assert max(each.values()) - min(each[sm] for sm in range(SMS)) <= 1


@pytest.mark.parametrize("units", [None, UNITS])
def test_sms_of_which_the_groups_are_not_known_take_turns(units):
    """Five SMs are none of the twelve that the groups have."""
    assert first_places(7, 5, 2, units) == [0, 1, 2, 3, 4, 0, 1]
    assert groups_of(7, 5, units) == []


def test_the_sms_of_a_small_grid_are_those_that_it_is_spread_over():
    """Five CTAs are on SMs 0, 1, 2, 4 and 8."""
    assert groups_of(5, 5, UNITS) == [0, 0, 1, 2, 3]
    assert groups_of(100, SMS, UNITS) == [0, 0, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3]


def test_an_h200_has_nine_groups():
    machine = load_machine("h200")
    groups = groups_of(machine.sms, machine.sms, machine.launch.units)

    assert list(Counter(groups).values()) == [8, 8, 16, 16, 16, 16, 16, 18, 18]
