"""Barriers whose warps go on: which instruction waits for the release, and what it is charged (D32)."""

import pytest
from doubles.by_hand import A100, Memory, copy, execute, instruction, lds, load, store

from gpusim.sim.core.constants import BAR, COMMIT, DEPBAR, PIPE
from gpusim.sim.figures import figures_of
from gpusim.sim.footprint import IN_L2

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
