"""What each SM brings from the L2 where all ask for all that it gives (cpcs.cu): CPCs take turns."""

import heapq
from pathlib import Path
from statistics import mean

import pytest
from doubles.by_hand import quiet

from gpusim.lab.calibrate.table import MeasuredTable
from gpusim.machine import load_machine
from gpusim.sim.core.constants import MILLI, READ
from gpusim.sim.cta_scheduler import groups_of
from gpusim.sim.figures import figures_of
from gpusim.units import LINE_BYTES

CPCS = MeasuredTable(Path(__file__).parents[4] / "reports" / "measured" / "h200" / "microbench", "cpcs")
H200 = load_machine("h200")
SMS, CYCLES = 132, 40_000
GROUPS, BYTES = 8 * 4, 4096
"""Commit groups that each SM of cpcs.cu has on their way, and bytes of one."""


def measured():
    """Bytes a cycle of each SM, from the least to the most."""
    rows = CPCS.rows(sms="all", row_bytes=128, own=1)
    return sorted(float(row["bytes"]) / float(row["cycles"]) for row in rows)


def simulated():
    """The same, of SMs of which each asks for a group when one of its own has come, and those that wait less."""
    groups = groups_of(SMS, SMS, H200.launch.units)
    chip = quiet(figures=figures_of(H200, 0, busy=False), sms=SMS, groups=groups)
    brought, due = [0] * SMS, [(0, sm) for sm in range(SMS) for _ in range(GROUPS)]
    while due[0][0] < CYCLES:
        now, sm = heapq.heappop(due)
        brought[sm] += BYTES if now else 0
        heapq.heappush(
            due,
            (
                chip.l2.arbiter.request(READ, sm, chip.crossbar.inject(sm, now, BYTES), now, BYTES) // MILLI
                + chip.l2.near,
                sm,
            ),
        )
    small = {sm for sm in range(SMS) if chip.l2.arbiter.small_cpc[sm]}
    return [brought[sm] / CYCLES for sm in range(SMS) if sm in small], [
        brought[sm] / CYCLES for sm in range(SMS) if sm not in small
    ]


def test_sms_of_small_cpcs_bring_more_each():
    """
    Of six GPCs of eight TPCs one CPC has two, whose four SMs bring 47 bytes a cycle each, all others 33.
    """
    small, large = simulated()
    others, most = measured()[:108], measured()[108:]

    assert (len(small), len(large)) == (24, 108)
    assert mean(small) == pytest.approx(mean(most), rel=0.02)
    assert mean(large) == pytest.approx(mean(others), rel=0.02)


EIGHT = figures_of(H200, 0, busy=False)._replace(
    gpcs=(0,), sides=(0,), placed_sms=8, small_cpcs=(3,), tpcs_beside=4, cpc_percent=200, l2_bytes=8
)
"""Eight SMs, of which 6 and 7 are a CPC of one TPC: of 8 bytes a cycle these get 4, twice the mean each."""


def test_requests_wait_for_those_of_their_share_or_for_all():
    """
    Every SM asks for 32 bytes at once, and 32 bytes take 4 cycles of the L2, and 8 of a share.

    The fifth and sixth of large CPCs wait until the L2 has served all before, 4 * 4 and 5 * 4 cycles, not their own
    4 * 8 and 5 * 8. SM 6 waits for nobody, SM 7 for SM 6 alone: 8. SM 0 waits for all then, 8 * 4, whether it asks
    at once or at 20, when small CPCs have nothing left.
    """
    chip = quiet(figures=EIGHT, sms=8, groups=(0,) * 8)
    turns = [chip.l2.arbiter.request(READ, sm, 0, 0, 32) // MILLI for sm in range(8)]

    assert turns == [0, 4, 8, 12, 16, 20, 0, 8]
    assert [chip.l2.arbiter.request(READ, 0, at * MILLI, at, 0) // MILLI for at in (0, 20)] == [32, 32]


def test_what_small_cpcs_leave_is_for_the_others():
    """
    SMs 6 and 7 ask first, 64 bytes each, then SM 0, which waits for neither. SM 1 waits for what that asked for, at 4
    bytes a cycle, and what comes later for all, 32 cycles.
    """
    chip = quiet(figures=EIGHT, sms=8, groups=(0,) * 8)

    assert [chip.l2.arbiter.request(READ, sm, 0, 0, 64) // MILLI for sm in (6, 7, 0, 1)] == [0, 8, 0, 16]
    assert chip.l2.arbiter.grant(READ, 1, 0) == 32 * MILLI


def test_what_a_share_had_to_do_alone_it_has_had_all_of_the_l2_for():
    """
    SM 0 asks for 320 bytes: 40 cycles alone. At 20 SM 6 asks for as many, and half of SM 0's are left: 160 bytes, 40
    cycles of a share. SM 1 waits for those, until 60, not for SM 6, until 80.
    """
    chip = quiet(figures=EIGHT, sms=8, groups=(0,) * 8)
    chip.l2.arbiter.request(READ, 0, 0, 0, 320)
    chip.l2.arbiter.request(READ, 6, 20 * MILLI, 20, 320)

    assert chip.l2.arbiter.request(READ, 1, 20 * MILLI, 20, 32) // MILLI == 60


def test_who_asks_first_does_not_decide_what_is_merged():
    """
    The L2 has 4 lines to serve for SM 0, 64 cycles, and none for SM 6. Both ask for one line then: one look-up serves
    them in either order, though SM 6 has it sooner.
    """
    for first, second in ((0, 6), (6, 0)):
        chip = quiet(figures=EIGHT._replace(most_merged=4, merge_window=20, l2_far_percent=0), sms=8, groups=(0,) * 8)
        chip.l2.read(5, chip.l2.lines.touch(7), 15, 0, 0)
        chip.l2.looked_up = 0
        for _ in range(4):
            chip.l2.arbiter.request(READ, 0, 9_000 * MILLI, 9_000, LINE_BYTES)
        lands = {sm: chip.l2.read(sm, chip.l2.lines.touch(7), 15, 9_000 * MILLI, 9_000) for sm in (first, second)}

        assert chip.l2.looked_up == 4
        assert lands[6] < lands[0]


@pytest.mark.parametrize("sms", [1, 16, 66, 100, 124, 128, 131])
def test_of_a_part_of_the_chip_all_wait_for_all_that_the_l2_has_to_do(sms):
    """A sample, or a grid of fewer CTAs than SMs, has some of the SMs: which are missing of a GPC is not known."""
    for groups in ((), groups_of(sms, sms, H200.launch.units)):
        chip = quiet(figures=figures_of(H200, 0, busy=False), sms=sms, groups=groups)
        assert list(chip.l2.arbiter.small_cpc) == [0] * sms
