"""Groups of lanes that part and meet, by hand; masks have lane 0 in their lowest bit."""

import numpy as np
import pytest

from gpusim.execute.core.constants import (
    ACTIVE,
    ALIVE,
    ALL,
    AT_BARRIER,
    AT_NUMBERED,
    AWAITED,
    CONVERGENCE,
    EXITED,
    MOST_GROUPS,
    NAMED_LANES,
    NEVER_CONVERGES,
    NO_FAULT,
    RUNNING,
    STATE,
    STATE_WORDS,
    TOO_MANY_GROUPS,
)
from gpusim.execute.core.convergence import (
    Convergence,
    branch,
    converge,
    leave,
    meet,
    next_group,
    rotate,
    separate,
    start,
)

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

    assert converge(warp, 20, 2) == 9
    assert active(warp) == EVEN
    assert converge(warp, 20, 2) == 21
    assert active(warp) == ALL


def test_lanes_that_have_exited_are_not_waited_for(warp):
    """Odd lanes wait at B2; even ones end, and odd ones go on behind the barrier."""
    warp.state[CONVERGENCE + 2] = ALL
    branch(warp, 3, 9, EVEN)
    converge(warp, 20, 2)

    assert leave(warp, 9, EVEN) == 21
    assert active(warp) == warp.state[ALIVE] == ODD


def test_a_warpsync_waits_for_the_lanes_that_it_names_alone(warp):
    """Odd lanes name lanes 1 and 0: they wait for lane 0, which comes with the even ones."""
    branch(warp, 3, 9, EVEN)

    assert meet(warp, 20, NAMED_LANES, warp.state[ACTIVE], 0b11) == 9
    assert meet(warp, 20, NAMED_LANES, warp.state[ACTIVE], 0b11) == 21
    assert active(warp) == ALL


def test_lanes_that_wait_for_each_other_at_two_places_never_converge(warp):
    warp.state[CONVERGENCE + 1] = warp.state[CONVERGENCE + 2] = ALL
    branch(warp, 3, 9, EVEN)
    converge(warp, 20, 1)

    assert converge(warp, 30, 2) == -1
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


def test_lanes_at_one_warpsync_by_two_ways_go_on_where_they_were(warp):
    """Odd lanes at 20 and even ones at 30 name all lanes: the odd ones go on at 21, the even ones at 31 afterwards."""
    branch(warp, 3, 9, EVEN)
    assert meet(warp, 20, NAMED_LANES, ODD, ALL) == 9

    assert meet(warp, 30, NAMED_LANES, EVEN, ALL) == 21
    assert warp.state[ACTIVE] == ODD
    assert leave(warp, 21, ODD) == 31
    assert warp.state[ACTIVE] == EVEN


def test_a_warp_arrives_at_a_barrier_of_its_cta_when_all_its_lanes_have(warp):
    """Barrier 3, which odd lanes reach at 20 and even ones at 30."""
    branch(warp, 3, 9, EVEN)
    assert meet(warp, 20, AT_NUMBERED + 3, ODD, 0) == 9
    assert warp.state[STATE] == RUNNING

    assert meet(warp, 30, AT_NUMBERED + 3, EVEN, 0) == 21
    assert (warp.state[STATE], warp.state[AWAITED]) == (AT_BARRIER, 3)


def test_the_other_lanes_of_a_guarded_barrier_go_on(warp):
    assert meet(warp, 20, AT_NUMBERED, ODD, 0) == 21
    assert warp.state[ACTIVE] == EVEN
    assert meet(warp, 40, AT_NUMBERED, EVEN, 0) == 21
    assert warp.state[STATE] == AT_BARRIER


def test_lanes_at_a_barrier_count_as_arrived_at_a_warpsync(warp):
    """Odd lanes at the barrier, even ones at WARPSYNC.ALL before theirs: nobody else could let these go on."""
    meet(warp, 20, AT_NUMBERED, ODD, 0)

    assert meet(warp, 30, NAMED_LANES, EVEN, ALL) == 31
    assert warp.state[ACTIVE] == EVEN


def test_groups_take_turns(warp):
    """Odd lanes stay at 4, even ones wait at 9, and change with them."""
    branch(warp, 3, 9, EVEN)

    assert rotate(warp, 4) == 9
    assert warp.state[ACTIVE] == EVEN
    assert rotate(warp, 9) == 4
    assert warp.state[ACTIVE] == ODD


def test_lanes_at_a_bsync_go_on_while_others_spin(warp):
    """Odd lanes wait at 20 for even ones, which spin at 9: they go on at 21; the even ones need not wait for them."""
    warp.state[CONVERGENCE + 2] = ALL
    branch(warp, 3, 9, EVEN)
    assert converge(warp, 20, 2) == 9

    separate(warp)
    assert rotate(warp, 9) == 21
    assert warp.state[ACTIVE] == ODD
    assert warp.state[CONVERGENCE + 2] == EVEN
