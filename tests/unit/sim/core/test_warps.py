"""Slices of a serial split-K: each waits before its epilogue for the semaphore that the one before raises."""

import pytest
from doubles.by_hand import A100, Memory, assembly, chip_of, execute, instruction

from gpusim.sim.core.constants import BAR, PIPE
from gpusim.sim.figures import figures_of

FIGURES = figures_of(A100, 0, busy=False)._replace(constant_miss=0, semaphore=1000)
"""A slice sees the semaphore 1000 cycles after the end of the one before."""

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
