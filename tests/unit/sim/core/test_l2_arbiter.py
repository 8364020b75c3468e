"""The L2's arbiter: backlogs of ways and shares by hand, and the port at which an SM injects its requests."""

import pytest
from doubles.by_hand import quiet
from doubles.figures import with_figures
from doubles.published import H200

from gpusim.sim.core.constants import MILLI, READ, STORE
from gpusim.sim.core.l2_arbiter import Crossbar, L2Arbiter
from gpusim.sim.figures import figures_of
from gpusim.units import LINE_BYTES

EIGHT = with_figures(
    figures_of(H200, 0, busy=False),
    {
        "launch.units.gpcs": (0,),
        "launch.units.sides": (0,),
        "launch.units.ahead": 8,
        "launch.units.others": (),
        "launch.cpcs.tpcs": (3,),
        "launch.cpcs.beside": 4,
        "launch.cpcs.percent": 200,
    },
    l2_bytes=8,
)
"""Eight SMs, of which 6 and 7 are a CPC of one TPC: of 8 bytes a cycle these get 4, twice the mean each."""


def test_requests_wait_for_those_of_their_share_or_for_all():
    """
    Every SM asks for 32 bytes at once, and 32 bytes take 4 cycles of the L2, and 8 of a share.

    The fifth and sixth of large CPCs wait until the L2 has served all before, 4 * 4 and 5 * 4 cycles, not their own
    4 * 8 and 5 * 8. SM 6 waits for nobody, SM 7 for SM 6 alone: 8. SM 0 waits for all then, 8 * 4, whether it asks
    at once or at 20, when small CPCs have nothing left.
    """
    arbiter = L2Arbiter(EIGHT, 8, 1, (0,) * 8)
    turns = [arbiter.request(READ, sm, 0, 0, 32) // MILLI for sm in range(8)]

    assert turns == [0, 4, 8, 12, 16, 20, 0, 8]
    assert [arbiter.request(READ, 0, at * MILLI, at, 0) // MILLI for at in (0, 20)] == [32, 32]


def test_what_small_cpcs_leave_is_for_the_others():
    """
    SMs 6 and 7 ask first, 64 bytes each, then SM 0, which waits for neither. SM 1 waits for what that asked for, at 4
    bytes a cycle, and what comes later for all, 32 cycles.
    """
    arbiter = L2Arbiter(EIGHT, 8, 1, (0,) * 8)

    assert [arbiter.request(READ, sm, 0, 0, 64) // MILLI for sm in (6, 7, 0, 1)] == [0, 8, 0, 16]
    assert arbiter.grant(READ, 1, 0) == 32 * MILLI


def test_what_a_share_had_to_do_alone_it_has_had_all_of_the_l2_for():
    """
    SM 0 asks for 320 bytes: 40 cycles alone. At 20 SM 6 asks for as many, and half of SM 0's are left: 160 bytes, 40
    cycles of a share. SM 1 waits for those, until 60, not for SM 6, until 80.
    """
    arbiter = L2Arbiter(EIGHT, 8, 1, (0,) * 8)
    arbiter.request(READ, 0, 0, 0, 320)
    arbiter.request(READ, 6, 20 * MILLI, 20, 320)

    assert arbiter.request(READ, 1, 20 * MILLI, 20, 32) // MILLI == 60


def test_who_asks_first_does_not_decide_what_is_merged():
    """
    The L2 has 4 lines to serve for SM 0, 64 cycles, and none for SM 6. Both ask for one line then: one look-up serves
    them in either order, though SM 6 has it sooner.
    """
    for first, second in ((0, 6), (6, 0)):
        chip = quiet(
            figures=with_figures(EIGHT, {"l2.merging.most": 4, "l2.far_fraction_percent": 0}, merge_window=20),
            sms=8,
            groups=(0,) * 8,
        )
        chip.l2.read(5, chip.l2.lines.touch(7), 15, 0, 0)
        chip.l2.looked_up = 0
        for _ in range(4):
            chip.l2.arbiter.request(READ, 0, 9_000 * MILLI, 9_000, LINE_BYTES)
        lands = {sm: chip.l2.read(sm, chip.l2.lines.touch(7), 15, 9_000 * MILLI, 9_000) for sm in (first, second)}

        assert chip.l2.looked_up == 4
        assert lands[6] < lands[0]


def test_reads_leave_a_port_at_its_rate_and_behind_what_the_sm_has_stored():
    """64 bytes a cycle: 128 bytes take 2 cycles. A store that the L2 takes at 9 holds its SM's reads until then."""
    crossbar = Crossbar(with_figures(EIGHT, {"l2.bytes_per_cycle_per_sm": 64}).machine, sms=2)
    left = [crossbar.inject(0, 5, 128) for _ in range(2)]
    crossbar.stored_at[0] = 9_000

    assert left == [5_000, 7_000]
    assert [crossbar.inject(sm, 5, 128) for sm in (0, 1)] == [9_000, 5_000]


@pytest.mark.parametrize(("percent", "stored_at"), [(0, 0), (25, 4_000)])
def test_a_read_takes_its_part_of_the_bandwidth_for_stores(percent, stored_at):
    """A read of 128 bytes as much as a quarter of stored ones: 32 bytes, 4 cycles at 8 bytes a cycle; or nothing."""
    figures = with_figures(EIGHT, {"l2.mixed.read_percent": percent, "launch.cpcs.tpcs": ()}, l2_write_bytes=8)
    arbiter = L2Arbiter(figures, 8, 1, (0,) * 8)
    arbiter.request(READ, 0, 0, 0, 128)

    assert arbiter.grant(STORE, 0, 0) == stored_at


def test_a_fill_waits_for_what_is_stored_and_takes_its_part_of_that_bandwidth():
    """
    Stores of 64 bytes take 8 cycles at 8 bytes a cycle. A line from DRAM comes then, and takes half as long as if it
    were stored: 8 cycles for 128 bytes.
    """
    figures = with_figures(EIGHT, {"l2.mixed.fill_percent": 50, "launch.cpcs.tpcs": ()}, l2_write_bytes=8)
    arbiter = L2Arbiter(figures, 8, 1, (0,) * 8)
    arbiter.request(STORE, 0, 0, 0, 64)

    assert arbiter.fill(0, 128) == 8_000
    assert arbiter.all_served(STORE) == 16_000
