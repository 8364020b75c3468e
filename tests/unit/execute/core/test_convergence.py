"""Groups of lanes that part and meet, by hand; masks have lane 0 in their lowest bit."""

import numpy as np
import pytest

from gpusim.execute.core.constants import (
    ACTIVE,
    ALIVE,
    ALL,
    CONVERGENCE,
    EXITED,
    MOST_GROUPS,
    NAMED_LANES,
    NEVER_CONVERGES,
    NO_FAULT,
    STATE,
    STATE_WORDS,
    TOO_MANY_GROUPS,
)
from gpusim.execute.core.convergence import Convergence, branch, converge, leave, next_group, start

EVEN, ODD = 0x55555555, 0xAAAAAAAA


@pytest.fixture
def warp():
    convergence = Convergence(np.zeros(STATE_WORDS, dtype=np.int64))
    start(convergence, ALL)
    return convergence


def active(convergence):
    return convergence.state[ACTIVE]


def test_a_branch_that_all_lanes_take_parts_nobody(warp):
    assert branch(warp, 3, 9, ALL) == 9
    assert active(warp) == ALL


def test_a_branch_that_no_lane_takes_leads_to_the_next_instruction(warp):
    assert branch(warp, 3, 9, 0) == 4
    assert active(warp) == ALL


def test_lanes_that_take_a_branch_wait_for_those_that_do_not(warp):
    """Even lanes branch from 3 to 9: odd ones go on at 4, and as they end, even ones have their turn at 9."""
    assert branch(warp, 3, 9, EVEN) == 4
    assert active(warp) == ODD
    assert leave(warp, 5, ODD) == 9
    assert active(warp) == EVEN
    assert leave(warp, 9, EVEN) == -1
    assert warp.state[STATE] == EXITED
    assert warp.fault == NO_FAULT


def test_a_barrier_of_convergence_holds_the_first_group_until_the_second_comes(warp):
    """B2 has all lanes. Odd ones arrive at 20 and wait; even ones come from 9, and all go on at 21."""
    warp.state[CONVERGENCE + 2] = ALL
    branch(warp, 3, 9, EVEN)

    assert converge(warp, 20, 2, 0) == 9
    assert active(warp) == EVEN
    assert converge(warp, 20, 2, 0) == 21
    assert active(warp) == ALL


def test_lanes_that_have_exited_are_not_waited_for(warp):
    """Odd lanes wait at B2; even ones end, and odd ones go on behind the barrier."""
    warp.state[CONVERGENCE + 2] = ALL
    branch(warp, 3, 9, EVEN)
    converge(warp, 20, 2, 0)

    assert leave(warp, 9, EVEN) == 21
    assert active(warp) == warp.state[ALIVE] == ODD


def test_a_warpsync_waits_for_the_lanes_that_it_names_alone(warp):
    """Odd lanes name lanes 1 and 0: they wait for lane 0, which comes with the even ones."""
    branch(warp, 3, 9, EVEN)

    assert converge(warp, 20, NAMED_LANES, 0b11) == 9
    assert converge(warp, 20, NAMED_LANES, 0b11) == 21
    assert active(warp) == ALL


def test_lanes_that_wait_for_each_other_at_two_places_never_converge(warp):
    warp.state[CONVERGENCE + 1] = warp.state[CONVERGENCE + 2] = ALL
    branch(warp, 3, 9, EVEN)
    converge(warp, 20, 1, 0)

    assert converge(warp, 30, 2, 0) == -1
    assert warp.fault == NEVER_CONVERGES


def test_more_groups_than_there_are_lanes_are_a_fault_and_overwrite_nothing(warp):
    for _ in range(MOST_GROUPS):
        warp.state[ACTIVE] = ALL
        branch(warp, 3, 9, EVEN)
    assert warp.fault == NO_FAULT
    warp.state[ACTIVE] = ALL
    branch(warp, 3, 9, EVEN)

    assert warp.fault == TOO_MANY_GROUPS


def test_the_group_that_was_put_off_last_is_next(warp):
    branch(warp, 3, 9, EVEN)
    branch(warp, 4, 11, 0b10)

    assert next_group(warp) == 11
    assert active(warp) == 0b10
    assert next_group(warp) == 9
