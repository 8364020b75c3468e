"""Barriers whose warps go on: which instruction waits for the release, and what it is charged (D32)."""

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
    quiet,
    spans_of,
    store,
)
from doubles.published import H200

from gpusim.sim.core.constants import BAR, COMMIT, DEPBAR, NEVER, PIPE, WARP_WIDTH
from gpusim.sim.figures import figures_of
from gpusim.sim.footprint import IN_L2
from gpusim.sim.stall_reasons import SELECTED

FIGURES = figures_of(A100, 0, busy=False)._replace(constant_miss=0, barrier_base=20, barrier_per_warp=2)
"""A warp alone that arrives at 0 is let go at 2 + 20 = 22."""

HALF = instruction(PIPE, pipe="half")
JOINING = HALF._replace(joins=True)
BARRIER = instruction(BAR)


def first_warp(core, *code, warps=1, **more):
    memory = Memory([(0, ())], outputs=[(4, IN_L2)])
    return execute(core, (code, 1), warps=warps, figures=FIGURES._replace(**more), memory=memory).warps[0, 0]


def test_a_warp_goes_on_before_the_release_up_to_the_first_instruction_that_joins(core):
    """BAR at 0; two that do not join at 1 and 2; the one that does at 22, and then the exit."""
    warp = first_warp(core, BARRIER, HALF, HALF, JOINING)

    assert warp.selected == [0, 1, 2, 22, 23]
    assert warp.spans[3:5] == [(3, 22, "barrier"), (22, 23, "selected")]


@pytest.mark.parametrize(
    "joining",
    [
        *(lds(), copy(0), load(0), store(0), instruction(COMMIT), instruction(DEPBAR), BARRIER),
        *(instruction(PIPE, pipe="branch"), instruction(PIPE, pipe="mufu")),
    ],
    ids=["LDS", "LDGSTS", "LDG", "STG", "LDGDEPBAR", "DEPBAR", "BAR", "BRA", "MUFU"],
)
def test_memory_instructions_branches_and_barriers_join(core, joining):
    assert first_warp(core, BARRIER, joining).selected[1] == 22


@pytest.mark.parametrize("pipe", ["alu", "fma", "half", "uniform", "tensor core"])
def test_arithmetic_does_not(core, pipe):
    assert first_warp(core, BARRIER, instruction(PIPE, pipe=pipe)).selected[1] == 1


def test_the_exit_joins(core):
    assert first_warp(core, BARRIER).selected == [0, 22]


def test_a_warp_that_comes_after_the_release_waits_for_nothing(core):
    """Thirty instructions take it beyond 22: it joins at 31."""
    warp = first_warp(core, BARRIER, *[HALF] * 30, JOINING)

    assert warp.selected == list(range(33))
    assert warp.stalled("barrier") == 0


def test_only_the_first_one_that_joins_waits(core):
    """Once it has joined, at 22, the warp is at no barrier: loads follow one cycle apart."""
    assert first_warp(core, BARRIER, lds(), lds()).selected[:3] == [0, 22, 23]


def test_two_barriers_in_a_row(core):
    """The second one joins the first, at 22, and is let go 22 cycles after its own arrival."""
    assert first_warp(core, BARRIER, HALF, BARRIER, HALF, JOINING).selected == [0, 1, 22, 23, 44, 45]


def test_a_warp_that_arrives_last_lets_those_go_that_wait_and_those_that_go_on(core):
    """
    Warps 0 to 3, an SMSP each, with a load of 1, 1, 1 and 101 wavefronts: the last arrives long after the others.

    They leave at 1, 2, 3 and 4; the last data is there at 4 - 1 + 23 + 2 * 100 = 226, where its warp arrives. The unit
    takes 2 cycles and the release 20: 248. Warp 0, which arrived at 23 and waits, and warp 3 join then.
    """
    slow = lds(write=0)._replace(wavefronts=((1, 1, 1, 101),))
    code = [slow, instruction(BAR, waits=(0,), gated=True), HALF, JOINING]
    ran = execute(core, (code, 1), warps=4, figures=FIGURES)

    assert [ran.warps[0, warp].selected[2] for warp in (0, 3)] == [24, 227]
    assert [ran.warps[0, warp].selected[3] for warp in (0, 3)] == [248, 248]


@pytest.mark.parametrize(
    ("latency", "base", "reason"),
    [(30, 20, "short_scoreboard"), (23, 27, "barrier"), (30, 27, "short_scoreboard")],
    ids=["data last", "barrier last", "together"],
)
def test_of_a_barrier_and_data_the_later_one_names_the_stall_and_data_if_they_come_together(
    core, latency, base, reason
):
    """An LDS at 0 has its data at its latency; the warp arrives at 1 and is let go 2 + base later: from 2 to 30."""
    asked = lds(write=0)._replace(latency=latency)
    warp = first_warp(core, asked, BARRIER, JOINING._replace(waits=(0,), gated=True), barrier_base=base)

    assert (warp.selected[2], warp.stalled(reason)) == (30, 28)


def test_an_instruction_that_does_not_join_asks_for_its_line_at_once(core):
    """The line is asked for at 1, and there 200 cycles later: the barrier's release at 22 lies before."""
    own = HALF._replace(line=5, gated=True)

    assert first_warp(core, BARRIER, own, fetch_miss=200).selected[1] == 201
    assert first_warp(core, BARRIER, own._replace(joins=True), fetch_miss=200).selected[1] == 222


# --- the unit ---


@pytest.mark.parametrize(("warps", "cost"), [(1, 23), (2, 25), (4, 29), (8, 37), (16, 53), (32, 85)])
def test_bar_sync_costs_21_and_2_for_each_warp(core, warps, cost):
    """One barrier after the other: cycles of a round. Source: SyncPerformance, A100: 23, 25, 29, 37, 53, 85."""
    ran = execute(core, ([instruction(BAR)], 60), warps=warps)

    assert ran.period(60) == pytest.approx(cost, rel=0.01)


def test_one_barrier_of_four_warps(core):
    """All issue at 0; the unit takes them at 2, 4, 6, 8, and 21 cycles after the last lets all go: 29."""
    ran = execute(core, ([instruction(BAR), instruction(PIPE, joins=True)], 1), warps=4)

    assert [warp.issues for warp in ran.warps.values()] == [[0, 29, 30]] * 4


@pytest.mark.parametrize(("warps", "published"), [(16, 64), (32, 122.7)])
def test_two_ctas_share_the_barrier_unit(core, warps, published):
    """
    2 cycles for each warp of the SM: 64 and 128 cycles a round. Source: SyncPerformance, A100: 64 and 122.7.

    Taken over 40 of 60 rounds: the first ones, in which the CTAs fall behind one another, and the exits do not count.
    """
    whole, first = (execute(core, ([instruction(BAR)], rounds), warps=warps, ctas=2).period(1) for rounds in (60, 20))

    assert (whole - first) / 40 == 4 * warps
    assert 4 * warps == pytest.approx(published, rel=0.05)


def test_a_barrier_frees_nobody_before_the_last_arrival(core):
    """Warp 1's last word before the barrier takes 100 cycles: all issue 2 + 21 cycles after its arrival or later."""
    slow = instruction(PIPE, pipe="tensor core", stall=100)
    ran = execute(core, ([slow, instruction(BAR), instruction(PIPE, joins=True)], 1), warps=4)
    arrivals = [warp.issues[1] for warp in ran.warps.values()]
    released = [warp.issues[2] for warp in ran.warps.values()]

    assert min(released) >= max(arrivals) + A100.barrier.base + A100.barrier.per_warp


@pytest.mark.parametrize("busy", [False, True], ids=["alone", "beside a younger CTA"])
def test_a_barrier_lets_a_warp_go_on_in_time_though_its_smsp_issues_ahead(core, busy):
    """
    Warp 0 of CTA 0 waits at a barrier, while CTA 1 issues on the same SMSP once every 3 cycles from 281 on.

    30 instructions at 0, 3, ..., 87; a load at 90, which leaves the four SMSPs at 91, 92, 93 and 94. Warp 3's takes 101
    wavefronts: at 94 - 1 + 23 + 2 * 100 = 316 its warp is the last to arrive. The unit takes 2 cycles, and 21 later, at
    339, all go on. CTA 1 has issued at 338 and will at 341, so the cycle is free; at 281 it must not have been issued
    ahead beyond 339, though no CTA can come before 383.
    """
    slow = lds(write=0)._replace(wavefronts=((1, 1, 1, 101),))
    half = instruction(PIPE, pipe="half", stall=3)
    code = assembly(([half] * 30, 1), ([slow, instruction(BAR, waits=(0,)), half._replace(joins=True)], 1), warps=4)
    chip = chip_of(code, figures_of(A100, 0, busy=False)._replace(constant_miss=0), core, ctas=2)
    chip.hand(0, 0, 0, 1)
    if busy:
        chip.hand(0, 1, 281, 0)
    while chip.run() >= 0:
        pass
    selected = [begin for warp, begin, _, reason in spans_of(chip) if (warp, reason) == (0, SELECTED)]

    assert selected[-3:] == [113, 339, 342]


def test_the_line_after_a_barrier_is_asked_for_when_the_barrier_lets_go(core):
    """
    One warp: it arrives at 0, is let go at 23, and only then misses line 5, which takes 208 cycles: 231.

    Had it asked on arrival, the line would be there at 1 + 208 = 209.
    """
    code = [instruction(BAR), instruction(PIPE, line=5, gated=True, joins=True)]
    ran = execute(core, (code, 1), figures=figures_of(A100, 0, busy=False)._replace(constant_miss=0))

    assert ran.warps[0, 0].spans[:3] == [(0, 1, "selected"), (1, 231, "no_instruction"), (231, 232, "selected")]


def test_the_barrier_unit_takes_one_arrival_each_2_cycles():
    """Arrivals at 0, 0, 10: the unit is free at 2, 4, 12, and 22 cycles later all go. Then it begins afresh."""
    chip = quiet(figures=figures_of(H200, 0, busy=False)._replace(constant_miss=0))
    chip.hand(0, 0, 0, 0)
    chip.warps.launch(0, 0)
    warps, log = [number * WARP_WIDTH for number in range(3)], []
    for times in ((0, 0, 10), (50, 50, 50)):
        for warp, at in zip(warps, times, strict=True):
            chip.warps.barred[warp] = NEVER
            chip.barriers.arrive(warp, at)
            log.append([chip.warps.barred[warp] for warp in warps])

    assert log[:3] == [[NEVER, 0, 0], [NEVER, NEVER, 0], [34] * 3]
    assert log[3:] == [[NEVER, 34, 34], [NEVER, NEVER, 34], [78] * 3]
