"""Warps: roles, scoreboards, commit groups, launch, and slices of a serial split-K, which wait for the one before."""

from collections import Counter

import pytest
from doubles.by_hand import (
    A100,
    Memory,
    assembly,
    chip_of,
    copy,
    execute,
    instruction,
    lds,
    load,
    roles,
    run,
)
from doubles.figures import with_figures

from gpusim.sim.core.constants import BAR, COMMIT, DEPBAR, PIPE
from gpusim.sim.figures import figures_of

FIGURES = with_figures(figures_of(A100, 0, busy=False), {"l2.semaphore": 1000}, constant_miss=0)
"""A slice sees the semaphore 1000 cycles after the end of the one before."""

QUIET = with_figures(FIGURES, {"l2.semaphore": A100.l2.semaphore})

ADDS = instruction(PIPE, pipe="half")
AWAITS = instruction(PIPE, pipe="half", awaits=True, gated=True)


def slices(core, *follows, code=(ADDS, ADDS, AWAITS), warps=1, sms=None):
    """The run of a CTA for each of ``follows``, on an SM each unless ``sms`` says else."""
    ctas = len(follows)
    return execute(
        core, (code, 1), warps=warps, ctas=ctas, sms=sms or ctas, figures=FIGURES, memory=Memory(follows=follows)
    )


def test_a_slice_waits_for_the_semaphore_of_the_one_before(core):
    """
    CTA 0 issues at 0, 1, 2, and its exit at 3; its end is 4. CTA 1 goes on at 1004, and ends at 1006; CTA 2 at 2006.
    """
    ran = slices(core, -1, 0, 1)

    assert [ran.warps[cta, 0].selected for cta in range(3)] == [
        [0, 1, 2, 3],
        [0, 1, 1004, 1005],
        [0, 1, 2006, 2007],
    ]
    assert ran.warps[1, 0].stalled("long_scoreboard") == 1002


def test_who_follows_nobody_waits_for_nobody(core):
    ran = slices(core, -1, -1)

    assert ran.warps[0, 0].selected == ran.warps[1, 0].selected == [0, 1, 2, 3]


@pytest.mark.parametrize("sms", [1, 2])
def test_all_warps_of_a_slice_wait(core, sms):
    """Four warps, one on each SMSP; CTA 0 takes the SMSPs first where both share an SM, and ends at 4."""
    code = (AWAITS,)
    ran = slices(core, -1, 0, code=(ADDS, *code), warps=4, sms=sms)
    end = next(life.finished for life in ran.lives if life.cta == 0)

    assert [ran.warps[1, warp].selected[1:] for warp in range(4)] == [[end + 1000, end + 1001]] * 4


def test_a_slice_that_waits_right_after_a_barrier(core):
    """The barrier lets both CTAs go at 23. CTA 0 ends at 25; CTA 1 goes on at 1025."""
    ran = slices(core, -1, 0, code=(instruction(BAR), AWAITS._replace(joins=True)))

    assert [ran.warps[cta, 0].selected for cta in (0, 1)] == [[0, 23, 24], [0, 1025, 1026]]


def test_a_slice_that_waits_before_its_barrier_has_let_it_go(core):
    """
    An instruction that the barrier does not hold back issues at 1; the exit waits for it, at 23. CTA 0 ends at 24.

    CTA 1 waits for the semaphore from 1 to 1024; its barrier has let it go long since.
    """
    ran = slices(core, -1, 0, code=(instruction(BAR), AWAITS))

    assert [ran.warps[cta, 0].selected for cta in (0, 1)] == [[0, 1, 23], [0, 1024, 1025]]


@pytest.mark.parametrize(("at", "goes_on"), [(600, 1004), (2000, 2002)])
def test_a_slice_that_comes_after_the_end_of_the_one_before(core, at, goes_on):
    """CTA 0 ends at 4: who comes to its epilogue at 602 waits until 1004, and who comes at 2002 does not."""
    chip = chip_of(
        assembly(((ADDS, ADDS, AWAITS), 1), warps=1), FIGURES, core, memory=Memory(follows=(-1, 0)), ctas=2, sms=2
    )
    chip.hand(0, 0, 0, 0)
    chip.hand(1, 1, at, 0)
    ends = {}
    while (cta := chip.run()) >= 0:
        ends[cta] = chip.ended_at

    assert ends == {0: 4, 1: goes_on + 2}


def test_the_end_of_a_cta_that_nobody_follows_wakes_nobody(core):
    """CTA 0 ends at 4. CTA 2, in the last slot, waits for CTA 1, which comes at 50 and ends at 54: it ends at 1056."""
    code = assembly(((ADDS, ADDS, AWAITS), 1), warps=1)
    chip = chip_of(code, FIGURES, core, memory=Memory(follows=(-1, -1, 1)), ctas=3, sms=3)
    for cta, at in ((0, 0), (2, 0), (1, 50)):
        chip.hand(cta, cta, at, 0)
    ends = {}
    while (cta := chip.run()) >= 0:
        ends[cta] = chip.ended_at

    assert ends == {0: 4, 1: 54, 2: 1056}


# --- scoreboards, commit groups, launch ---


def test_of_two_loads_that_hold_a_scoreboard_the_last_to_land_frees_it(core):
    """The first comes from DRAM; the second, of no lane, is there 33 cycles after it left the queue."""
    code = [load(0, write=0, activity=0), load(1, write=0, activity=0), instruction(PIPE, waits=(0,))]
    ran = execute(core, (code, 1), memory=Memory([(1, ((0, 1),)), (0, ())]))
    (_, first), (_, second) = ran.warps[0, 0].notes

    assert ran.warps[0, 0].selected[2] == first > second


def spent(core, *code, requests):
    """What one warp does in the cycles before it is done, from its first issue on: (cycles, reason)."""
    figures = figures_of(A100, 0, busy=False)._replace(constant_miss=0)
    ran = execute(core, (code, 1), figures=figures, memory=Memory(requests))
    return [(end - begin, reason) for begin, end, reason in ran.warps[0, 0].spans]


@pytest.mark.parametrize(
    ("first", "reason"), [("load", "short_scoreboard"), ("lds", "long_scoreboard")], ids=["lds last", "load last"]
)
def test_of_two_loads_that_land_together_the_later_one_names_the_wait(core, first, reason):
    """
    A load of no lane and an LDS hold one scoreboard. The first issues at 0 and leaves at 1, the second leaves at 5.

    The load lands 33 cycles after it left, at 34 or 38; the LDS one cycle less than its latency after it left, which
    is chosen so that both land together. At 2 the warp begins to wait.
    """
    held = {"write": 0, "waits": ()}
    far = load(0, **held)
    near = lds(**held)._replace(latency=30 if first == "load" else 38)
    pair = (far, near) if first == "load" else (near, far)
    landed = 34 if first == "load" else 38

    assert spent(core, *pair, instruction(PIPE, waits=(0,)), requests=[(0, ())])[:4] == [
        (1, "selected"),
        (1, "selected"),
        (landed - 2, reason),
        (1, "selected"),
    ]


def test_of_two_scoreboards_that_are_freed_together_the_lower_one_names_the_wait(core):
    """As above, each on a scoreboard of its own: a load on 1 that lands at 34, then an LDS on 0 that does."""
    far, near = load(0, write=1), lds(write=0)._replace(latency=30)
    log = spent(core, far, near, instruction(PIPE, waits=(0, 1)), requests=[(0, ())])

    assert log[2] == (32, "short_scoreboard")
    far, near = load(0, write=0), lds(write=1)._replace(latency=30)
    log = spent(core, far, near, instruction(PIPE, waits=(0, 1)), requests=[(0, ())])

    assert log[2] == (32, "long_scoreboard")


def test_wait_group_waits_for_the_groups_before_the_last_n(core):
    """
    Group 0 zero-fills: it is there 39 cycles after the last of its four wavefronts. Group 1 comes from DRAM.

    LDGSTS at 0 leaves at 1, writes until 4, lands at 43. COMMIT at 1 leaves at 5, and LDGSTS, at 2, leaves at 9: 4
    cycles lie between two that leave. COMMIT at 3. wait_group(1) may issue when group 0 is there: 43. wait_group(0)
    when group 1 is: it leaves at 9, the L2 takes it up at 9, DRAM brings it 566 cycles later, and a copy takes 39 - 33
    = 6 more than a load: 581.
    """
    code = [copy(0), instruction(COMMIT), copy(1), instruction(COMMIT)]
    code += [instruction(DEPBAR, pending=1), instruction(DEPBAR, pending=0), instruction(PIPE)]
    one_sector = (1, ((0, 1),))

    ran = execute(core, (code, 1), memory=Memory([(0, ()), one_sector]))

    assert ran.warps[0, 0].issues == [0, 1, 2, 3, 43, 581, 582, 583]
    waits = Counter({reason: end - begin for begin, end, reason in ran.warps[0, 0].spans if end - begin > 1})
    assert waits["long_scoreboard"] == 581 - 44


def test_an_empty_group_completes_with_the_one_before_it(core):
    """Copies complete in the order of their groups: the empty group 1 is there when group 0 is, at 43."""
    code = [copy(0), instruction(COMMIT), instruction(COMMIT), instruction(DEPBAR, pending=0)]

    ran = execute(core, (code, 1), memory=Memory([(0, ())]))

    assert ran.warps[0, 0].issues[:4] == [0, 1, 2, 43]


def test_wait_group_with_fewer_groups_than_n_waits_for_nothing(core):
    ran = execute(core, ([copy(0), instruction(COMMIT), instruction(DEPBAR, pending=1)], 1), memory=Memory([(0, ())]))

    assert ran.warps[0, 0].issues[:3] == [0, 1, 2]


def test_a_wait_may_leave_31_groups_pending(core):
    """
    Of 32 groups the first, which comes from DRAM, is waited for; the 31 empty ones after it come with it.

    Each commit has a place in the queue of 4, where one leaves every 4 cycles: the copy at 1, the k-th commit at
    1 + 4 k. So the 32nd issues when the 28th has left, at 113, and a wait for nothing one cycle later.
    """
    groups = [copy(0), *[instruction(COMMIT)] * 32]
    memory = Memory([(1, ((0, 1),))])
    first, pending = (
        execute(core, ([*groups, instruction(DEPBAR, pending=left)], 1), memory=memory).warps[0, 0].issues[33]
        for left in (31, 32)
    )

    assert (first, pending) == (1 + A100.dram.latency + A100.async_copy.l1_latency - A100.l1.hit_latency, 114)


@pytest.mark.parametrize("warps", [1, 2, 3, 4, 5, 8, 12])
def test_warps_of_ctas_spread_evenly_over_the_smsps(core, warps):
    ran = execute(core, ([instruction(PIPE)], 1), warps=warps, ctas=2)
    loads = Counter(warp.smsp for warp in ran.warps.values())

    assert max(loads.values()) <= -(-warps // 4) * 2
    if warps <= 2:
        assert set(loads.values()) == {1}


# --- roles ---


def test_each_warp_executes_the_code_of_its_role(core):
    """
    Two instructions of 4 cycles by warps 0 and 1, then the exit: 0, 4, 8. One of 7 by warp 2: 0, 7.

    Each warp has an SMSP of its own, so none waits for another.
    """
    code = roles(([instruction(PIPE, stall=4)] * 2, 2), ([instruction(PIPE, stall=7)], 1))
    ran = run(core, code, figures=QUIET)

    assert [ran.warps[0, number].selected for number in range(3)] == [[0, 4, 8], [0, 4, 8], [0, 7]]
    assert ran.lives[0].finished == 9


def test_an_exit_ends_the_warps_of_its_role_alone(core):
    """The first warp has nothing but its exit. The CTA ends with the other's, which issues at 0, 9 and 18."""
    ran = run(core, roles(([], 1), ([instruction(PIPE, stall=9)] * 2, 1)), figures=QUIET)

    assert [ran.warps[0, number].selected for number in range(2)] == [[0], [0, 9, 18]]
    assert ran.lives[0].finished == 19


def test_roles_of_equal_code_do_what_one_role_does(core):
    body = [instruction(PIPE, stall=3), instruction(PIPE, pipe="half", stall=2)]
    apart, together = (
        run(core, roles((body, 1), (body, 3)), figures=QUIET),
        execute(core, (body, 1), warps=4, figures=QUIET),
    )

    assert apart.warps == together.warps
