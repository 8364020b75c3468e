"""Barriers whose warps go on: which instruction waits for the release, and what it is charged (D32)."""

import pytest
from doubles.by_hand import (
    A100,
    Memory,
    Warp,
    assembly,
    chip_of,
    copy,
    execute,
    instruction,
    lds,
    load,
    quiet,
    roles,
    run,
    spans_of,
    store,
    watched_warps,
)
from doubles.figures import with_figures
from doubles.published import H200

from gpusim.sim.core.constants import ARRIVES, BAR, COMMIT, DEPBAR, NEVER, PIPE, WAITS, WARP_WIDTH
from gpusim.sim.figures import figures_of
from gpusim.sim.footprint import IN_L2
from gpusim.sim.stall_reasons import SELECTED

FIGURES = with_figures(figures_of(A100, 0, busy=False), {"barrier.base": 20, "barrier.per_warp": 2}, constant_miss=0)
"""A warp alone that arrives at 0 is let go at 2 + 20 = 22."""

HALF = instruction(PIPE, pipe="half")
JOINING = HALF._replace(joins=True)
BARRIER = instruction(BAR)


def first_warp(core, *code, warps=1, **more):
    memory = Memory([(0, ())], outputs=[(4, IN_L2)])
    return execute(core, (code, 1), warps=warps, figures=with_figures(FIGURES, **more), memory=memory).warps[0, 0]


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
    warp = first_warp(core, asked, BARRIER, JOINING._replace(waits=(0,), gated=True), **{"barrier.base": base})

    assert (warp.selected[2], warp.stalled(reason)) == (30, 28)


def test_an_instruction_that_does_not_join_asks_for_its_line_at_once(core):
    """The line is asked for at 1, and there 200 cycles later: the barrier's release at 22 lies before."""
    own = HALF._replace(line=5, gated=True)

    assert first_warp(core, BARRIER, own, **{"instruction_cache.l1_miss_latency": 200}).selected[1] == 201
    assert (
        first_warp(core, BARRIER, own._replace(joins=True), **{"instruction_cache.l1_miss_latency": 200}).selected[1]
        == 222
    )


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
            chip.warps.release_at[warp] = NEVER
            chip.barriers.issue(warp, at)
            log.append([chip.warps.release_at[warp] for warp in warps])

    assert log[:3] == [[NEVER, 0, 0], [NEVER, NEVER, 0], [34] * 3]
    assert log[3:] == [[NEVER, 34, 34], [NEVER, NEVER, 34], [78] * 3]


# --- barriers by number, count and bytes: warps of one CTA with programs of their own ---


def busy(cycles):
    """An instruction whose warp issues the next one so many cycles later."""
    return HALF._replace(stall=cycles)


def sync(number, count):
    """BAR.SYNC of a named barrier."""
    return instruction(BAR, barrier=number, arrivals=count)


def arrive(number, count, **more):
    """BAR.ARV of a named barrier."""
    return sync(number, count)._replace(meets=ARRIVES, **more)


def await_phase(number):
    """A test of a phase, which the warp has to pass before it goes on."""
    return sync(number, 0)._replace(meets=WAITS)


def test_two_warps_of_different_programs_meet_at_a_named_barrier(core):
    """
    Barrier 1, of two warps. Each has an SMSP of its own.

    ====== ========================================= ============================================
    cycle  warp 0: 5 cycles, BAR.SYNC 1, half, joins  warp 1: 3 times 10 cycles, BAR.SYNC 1, joins
    ====== ========================================= ============================================
    0      busy(5)                                   busy(10)
    5      BAR.SYNC 1: the unit takes it until 7
    6      half, which does not join
    7      joins: at the barrier
    10, 20                                           busy(10)
    30                                               BAR.SYNC 1: the unit takes it until 32
    31                                               joins: at the barrier
    52     32 + 20: the instruction that joins       the instruction that joins
    53     exit                                      exit
    ====== ========================================= ============================================

    A third warp, which is at no barrier, exits at 4.
    """
    code = roles(([busy(5), sync(1, 2), HALF, JOINING], 1), ([*[busy(10)] * 3, sync(1, 2), JOINING], 1), ([busy(4)], 1))
    ran = run(core, code, figures=FIGURES)

    assert [ran.warps[0, number].selected for number in range(3)] == [
        [0, 5, 6, 52, 53],
        [0, 10, 20, 30, 52, 53],
        [0, 4],
    ]
    assert [ran.warps[0, number].stalled("barrier") for number in range(2)] == [52 - 7, 52 - 31]
    assert ran.lives[0].finished == 54


def test_a_producer_arrives_and_goes_on_while_consumers_wait(core):
    """
    Barrier 1, of three warps: a producer that only arrives, and two consumers.

    ====== ============================== ============================ =============================
    cycle  producer: BAR.ARV 1            consumer: BAR.SYNC 1         consumer: BAR.SYNC 1
    ====== ============================== ============================ =============================
    0      busy(40)                       taken until 2                taken behind the other, until 4
    1                                     joins: at the barrier        joins: at the barrier
    40     BAR.ARV 1: taken until 42
    41     joins no barrier
    42     exit
    62     42 + 20                        the instruction that joins   the instruction that joins
    63                                    exit                         exit
    ====== ============================== ============================ =============================
    """
    code = roles(([busy(40), arrive(1, 3), JOINING], 1), ([sync(1, 3), JOINING], 2))
    ran = run(core, code, figures=FIGURES)

    assert [ran.warps[0, number].selected for number in range(3)] == [[0, 40, 41, 42], [0, 62, 63], [0, 62, 63]]
    assert [ran.warps[0, number].stalled("barrier") for number in range(3)] == [0, 61, 61]


def test_a_consumer_waits_for_one_phase_after_the_other(core):
    """
    Barrier 1 expects one arrival. The producer arrives at 0 and at 101.

    The unit takes the arrivals until 2 and 103, and warps are released at 22 and 123. The consumer waits for the first
    phase at 0, for the second at 23. Another one comes at 60, finds the first phase complete, and goes on at once.
    """
    producer = [arrive(1, 1), busy(100), arrive(1, 1)]
    code = roles((producer, 1), ([await_phase(1), JOINING] * 2, 1), ([busy(60), *[await_phase(1), JOINING] * 2], 1))
    ran = run(core, code, figures=FIGURES)

    assert [ran.warps[0, number].selected for number in range(3)] == [
        [0, 1, 101, 102],
        [0, 22, 23, 123, 124],
        [0, 60, 61, 62, 123, 124],
    ]


@pytest.mark.parametrize(("late", "joins"), [(0, 22), (15, 22), (21, 23), (50, 52)])
def test_to_wait_after_an_arrival_is_to_wait_for_its_phase(core, late, joins):
    """BAR.ARV at 0 and a test of the phase ``late`` + 1 cycles later: released at 22, or by then already."""
    warp = execute(core, ([arrive(1, 1), busy(max(1, late)), await_phase(1), JOINING], 1), figures=FIGURES).warps[0, 0]

    assert warp.selected[3] == max(22, max(1, late) + 2) == joins


def test_barriers_of_a_cta_are_apart_and_share_the_unit(core):
    """
    Warps 0 and 1 meet at barrier 1, warps 2 and 3 at barrier 2, all at 0: the unit takes them until 2, 4, 6 and 8.

    Barrier 1 releases its warps at 24, barrier 2 at 28.
    """
    code = roles(([sync(1, 2), JOINING], 2), ([sync(2, 2), JOINING], 2))
    ran = run(core, code, figures=FIGURES)

    assert [ran.warps[0, number].selected[1] for number in range(4)] == [24, 24, 28, 28]


def test_the_barrier_of_the_cta_is_number_0_of_all_its_warps(core):
    body = [busy(3), instruction(BAR), JOINING]
    all_warps, counted = (
        execute(
            core,
            ([one if one.kind != BAR else one._replace(arrivals=count) for one in body], 1),
            warps=3,
            figures=FIGURES,
        )
        for count in (0, 3)
    )

    assert instruction(BAR).barrier == 0
    assert all_warps.warps == counted.warps


def chip_that_expects(core, *consumers):
    """A chip whose first warp arrives at barrier 1 at 0, which expects 1,024 bytes then; run until all others wait."""
    code = roles(([arrive(1, 1, expects=1024)], 1), *((body, 1) for body in consumers))
    chip = chip_of(code, FIGURES, core)
    chip.hand(0, 0, 0, 1)
    assert chip.run() == -1
    return chip


def test_a_barrier_waits_for_bytes(core):
    """
    The only arrival is taken at 2. Half of the bytes come at 100, the others at 300: the unit takes these until 302.

    The consumer waits from 1 to 322, then joins, and exits at 323.
    """
    chip = chip_that_expects(core, [await_phase(1), JOINING])

    assert not chip.barriers.complete_bytes(0, 1, 512, 100)
    assert chip.run() == -1
    assert chip.barriers.complete_bytes(0, 1, 512, 300)
    assert chip.run() == 0
    consumer: Warp = watched_warps(chip, 0)[1]
    assert consumer.selected == [0, 322, 323]
    assert consumer.stalled("barrier") == 321
    assert chip.ended_at == 324


def test_bytes_may_come_before_they_are_expected():
    """512 come at 0 and are taken until 2. The arrival that expects them at 10 is taken at 12: released at 32."""
    chip = quiet(arrive(0, 1, expects=512), figures=FIGURES)
    chip.hand(0, 0, 0, 0)
    chip.warps.launch(0, 0)

    assert not chip.barriers.complete_bytes(0, 0, 512, 0)
    assert chip.barriers.issue(0, 10)
    assert (chip.barriers.phase[0], chip.barriers.pending[0], chip.barriers.released[0]) == (1, 0, 32)


def test_bytes_alone_complete_no_phase():
    chip = quiet(arrive(0, 1), figures=FIGURES)

    assert not chip.barriers.complete_bytes(0, 0, 0, 5)
    assert chip.barriers.phase[0] == 0


def test_a_cta_begins_with_the_first_phase_of_its_barriers(core):
    """
    Barrier 1 expects two arrivals and sees three, at 0, 30 and 101: one is left over when the CTA ends.

    The CTA behind it, in the same slot, takes as long: its first arrival completes no phase.
    """
    code = roles(
        ([arrive(1, 2), busy(100), arrive(1, 2)], 1), ([busy(30), sync(1, 2), busy(200)._replace(joins=True)], 1)
    )
    chip = chip_of(code, FIGURES, core, ctas=2, slots=1)
    spans = []
    for cta in range(2):
        chip.hand(0, cta, 1000 * cta, 0)
        assert chip.run() == cta
        spans.append(chip.ended_at - chip.ended_launched)

    assert spans == [32 + 20 + 200 + 1] * 2


def test_an_exit_completes_a_barrier_that_waits_for_nobody_else(core):
    """
    Two of three warps arrive at 0, which the unit processes at 2 and 4. The third warp exits at 3 without a barrier.
    Nobody is missing then: the release is 20 cycles behind the last arrival, at 24.
    """
    code = roles(([BARRIER, JOINING], 2), ([HALF] * 3, 1))
    ran = run(core, code, figures=FIGURES)

    assert [ran.warps[0, warp].selected for warp in range(3)] == [[0, 24, 25], [0, 24, 25], [0, 1, 2, 3]]


def test_an_exit_completes_no_barrier_of_a_stated_count(core):
    """A barrier of three warps waits for a third arrival. The warp that exits was never expected: there is none."""
    code = roles(([BARRIER._replace(arrivals=3), JOINING], 2), ([HALF] * 3, 1))
    chip = chip_of(code, FIGURES, core)
    chip.hand(0, 0, 0, 0)

    assert chip.run() < 0
    assert chip.barriers.awaited_phases() == [(0, 0, 2, 3, 0, [0, 1])]
