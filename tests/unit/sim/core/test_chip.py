"""The chip fed with instructions by hand: when each warp issues, against published tables and arithmetic on paper."""

from collections import Counter
from dataclasses import replace
from itertools import pairwise

import pytest
from doubles.by_hand import (
    A100,
    Memory,
    assembly,
    chip_of,
    copy,
    epilogue_load,
    execute,
    instruction,
    ldmatrix,
    lds,
    load,
    queue,
    quiet,
    spans_of,
)
from doubles.published import H200
from hypothesis import given
from hypothesis import strategies as st

from gpusim.machine import load_machine
from gpusim.machine.spec import L2CrossingSpec, MioSpec
from gpusim.sim.core.constants import BAR, COMMIT, DEPBAR, NEVER, PIPE, WARP_WIDTH
from gpusim.sim.figures import figures_of
from gpusim.sim.footprint import FROM_DRAM, IN_L2, JUST_WRITTEN, L2Status
from gpusim.sim.stall_reasons import REASONS, SELECTED

# --- ldmatrix ---


LDMATRIX_X4 = {
    1: (29.1, 29.1, 29.3, 33.6, 40.1),
    2: (29.1, 29.1, 29.3, 32.5, 40.2),
    4: (29.1, 32.1, 48.1, 64.1, 80.1),
    6: (29.1, 48.1, 72.1, 96.0, 120.2),
    8: (32.1, 64.1, 96.1, 128.0, 160.1),
    12: (48.1, 95.9, 143.9, 192.1, 240.1),
}
"""Warps -> cycles per trip at 1 to 5 independent ldmatrix.x4. Source: Sun et al. 2022, figure 15, A100."""


@pytest.mark.parametrize("chains", range(1, 6))
@pytest.mark.parametrize("warps", LDMATRIX_X4)
def test_ldmatrix_x4_throughput_is_the_published_one(core, warps, chains):
    """
    T = max(29, 8 ILP, 4 ILP W): latency, a warp's return path of 64 bytes a cycle, the SM's data stage.

    The latency is 23 + 2 * 3 further wavefronts. T is taken over all warps.
    The published numbers are within 5 % (the largest difference is 33.6 against 32).
    """
    ran = execute(core, ([ldmatrix(4, board) for board in range(chains)], 60), warps=warps)

    assert ran.period(59) == pytest.approx(LDMATRIX_X4[warps][chains - 1], rel=0.05)


@pytest.mark.parametrize(
    ("matrices", "warps", "chains", "published"),
    [(1, 1, 1, 23.1), (2, 1, 1, 25.1), (4, 1, 1, 29.3), (2, 4, 4, 32.1), (2, 8, 2, 32.1), (4, 4, 2, 32.2)],
)
def test_ldmatrix_latency_and_saturation_are_the_published_ones(core, matrices, warps, chains, published):
    """Source: Sun et al. 2022, table 9, A100."""
    ran = execute(core, ([ldmatrix(matrices, board) for board in range(chains)], 60), warps=warps)

    assert ran.period(59) == pytest.approx(published, rel=0.02)


@pytest.mark.parametrize("interval", [1, 2])
def test_ldmatrix_x1_needs_an_sm_that_takes_an_instruction_each_cycle(core, interval):
    """
    8 warps * 4 chains of one wavefront are 32 wavefronts: 32.1 cycles in table 9, and 64 with one every 2 cycles.
    """
    machine = replace(A100, mio=replace(A100.mio, sm_interval=interval))

    ran = execute(core, ([ldmatrix(1, board) for board in range(4)], 60), warps=8, machine=machine)

    assert ran.period(59) == pytest.approx(32 * interval, rel=0.02)


def test_conflicts_stretch_ldmatrix(core):
    """
    Row-major: 32 wavefronts each. Four of them reach a lone warp in 2 * 128 cycles a trip; free of conflicts, in 32.

    So they do on an H200: in 256.3 and 32.3 (ldmatrix.csv).
    """
    periods = {}
    for wavefronts in (4, 32):
        code = [ldmatrix(4, board, wavefronts) for board in range(4)]
        ran = execute(core, (code, 60), warps=1)
        periods[wavefronts] = ran.period(59)

    assert periods == {4: pytest.approx(32, rel=0.02), 32: pytest.approx(256, rel=0.02)}


def test_conflicts_are_waited_for_as_mio_throttle_and_short_scoreboard(core):
    clean = execute(core, ([ldmatrix(4, board) for board in range(4)], 60), warps=8)
    conflicting = execute(core, ([ldmatrix(4, board, 32) for board in range(4)], 60), warps=8)
    waited = [ran.warps[0, 0].stalled("mio_throttle", "short_scoreboard") for ran in (clean, conflicting)]

    assert waited[1] > 6 * waited[0]


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


GA10X = MioSpec(
    queue_depth=4,
    smsp_interval=4,
    register_interval=2,
    source_release=6,
    sm_interval=2,
    sm_depth=17,
    gaps=None,
)


def test_back_to_back_loads_of_one_smsp(core):
    """
    Huerta, table 1, one sub-core: issues at 2, 3, 4, 5, 6, then 13, 17, 21.

    Here the queue of 4 empties at 1, 5, 9, 13, ...: the sixth issues when the second leaves, at 5, and from there one
    every 4 cycles as published. The way to the address unit, which holds the sixth back until 11, is not modelled (D8).
    """
    ran = execute(core, ([lds()] * 9, 1), machine=replace(A100, mio=GA10X))

    assert ran.warps[0, 0].issues[:9] == [0, 1, 2, 3, 4, 5, 9, 13, 17]


def test_back_to_back_loads_of_four_smsps(core):
    """Huerta, table 1, four sub-cores: each issues every 8 cycles, for the SM takes one instruction every 2."""
    ran = execute(core, ([lds()] * 30, 1), warps=4, machine=replace(A100, mio=GA10X))

    for warp in ran.warps.values():
        assert {after - before for before, after in pairwise(warp.issues[10:-1])} == {8}


def test_never_more_instructions_wait_than_the_queue_holds(core):
    """Of the loads that have issued, at most 4 have not left: the (i+4)-th issues when the i-th has left."""
    ran = execute(core, ([lds()] * 20, 1), machine=replace(A100, mio=GA10X))
    leaves = [1 + 4 * number for number in range(20)]

    assert all(at >= left for at, left in zip(ran.warps[0, 0].issues[4:20], leaves, strict=False))
    assert ran.chip.data_stage.wavefronts == 20


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


def test_a_copy_whose_lanes_are_all_predicated_off_takes_no_data_stage(core):
    """Zero-filling copies write all the same: 4 wavefronts each."""
    filled = execute(core, ([copy(0)], 1), memory=Memory([(0, ())]))
    off = execute(core, ([copy(0)._replace(zero_fills=False)], 1), memory=Memory([(0, ())]))

    assert (filled.chip.data_stage.wavefronts, off.chip.data_stage.wavefronts) == (4, 0)


def test_first_instructions_come_from_beyond_and_the_stream_buffer_runs_ahead(core):
    """
    The first line is wanted when the parameters have come, at 79, and is there one L2 trip later.

    The same miss brings 16 more lines, so that the second line is there when it is wanted, if all come at once.
    """
    lines = [instruction(PIPE, line=number // 8 if number % 8 == 0 else -1, gated=True) for number in range(16)]
    ran = execute(core, (lines, 1), figures=figures_of(A100, 0, busy=False)._replace(fetch_interval=0))
    spans = ran.warps[0, 0].spans
    fetched = 79 + A100.instruction_cache.l1_miss_latency

    assert spans[:3] == [(0, 79, "imc_miss"), (79, fetched, "no_instruction"), (fetched, fetched + 1, "selected")]
    assert Counter(reason for _, _, reason in spans)["no_instruction"] == 1


def test_after_a_branch_the_next_instruction_waits_for_its_target(core):
    branch = instruction(PIPE, pipe="branch", stall=5, is_branch=True)

    ran = execute(core, ([instruction(PIPE), branch], 2))

    assert ran.warps[0, 0].issues == [0, 1, 9, 10, 18]


@pytest.mark.parametrize("warps", [1, 2, 3, 4, 5, 8, 12])
def test_warps_of_ctas_spread_evenly_over_the_smsps(core, warps):
    ran = execute(core, ([instruction(PIPE)], 1), warps=warps, ctas=2)
    loads = Counter(warp.smsp for warp in ran.warps.values())

    assert max(loads.values()) <= -(-warps // 4) * 2
    if warps <= 2:
        assert set(loads.values()) == {1}


@pytest.mark.parametrize("machine", [A100, load_machine("h200")], ids=["a100", "h200"])
@pytest.mark.parametrize(("warps", "ctas"), [(1, 1), (4, 2), (5, 1), (8, 3)])
def test_spans_of_every_warp_tile_its_lifetime(core, machine, warps, ctas):
    """Every cycle of every warp has one reason, and the stalls of the SMSPs are the sum of all lifetimes."""
    code = [copy(0), instruction(COMMIT), *(ldmatrix(4, board, 8) for board in range(3))]
    code += [instruction(PIPE, pipe="tensor core", waits=(0, 1, 2)), instruction(DEPBAR), instruction(BAR)]
    memory = Memory([(16, tuple((fetch * 4 + line, 15) for line in range(4))) for fetch in range(5)])

    ran = execute(core, (code, 5), warps=warps, ctas=ctas, machine=machine, memory=memory)

    assert len(ran.warps) == warps * ctas
    for warp in ran.warps.values():
        assert warp.spans[0][0] == warp.launched
        assert all(before[1] == after[0] for before, after in pairwise(warp.spans))
        assert len(warp.selected) == 5 * len(code) + 1
    spans = [span for warp in ran.warps.values() for span in warp.spans]
    for number, reason in enumerate(REASONS):
        assert sum(ran.chip.stalls[number :: len(REASONS)]) == sum(
            end - begin for begin, end, why in spans if why == reason
        )
    assert ran.chip.smsp.instructions == len(ran.warps) * (5 * len(code) + 1)
    assert max(life.finished for life in ran.lives) == max(end for _, end, _ in spans)
    again = execute(core, (code, 5), warps=warps, ctas=ctas, machine=machine, memory=memory)
    assert (again.warps, again.lives) == (ran.warps, ran.lives)


def test_the_data_stage_serves_one_wavefront_a_cycle():
    """
    Four SMSPs, 8 wavefronts each, at 0: they come to the SM's queue at 1, 3, 5, 7, and leave it at 1, 9, 17, 25.

    What has no wavefront takes a cycle, too: the next one, 33.
    """
    chip = quiet()
    log = [queue(chip.mio, smsp * chip.width, 0, cycles=chip.data_stage.count_wavefronts(8)) for smsp in range(4)]

    assert log == [1, 9, 17, 25]
    assert queue(chip.mio, 0, 0, cycles=chip.data_stage.count_wavefronts(0)) == 33
    assert chip.data_stage.wavefronts == 32


def test_instructions_of_one_smsp_leave_in_order_and_at_its_interval():
    chip = quiet()

    assert [queue(chip.mio, 0, at, cycles=1) for at in range(3)] == [1, 5, 9]


@pytest.mark.parametrize(
    ("since", "waits"),
    [(12, 15), (14, 15), (16, 10), (20, 6), (34, 2), (200, 0)],
)
def test_registers_are_read_in_the_gaps_of_another_warps_mma_sync(since, waits):
    """
    Two mma.sync of 6 cycles, and one for the register that is read with each, take 14 cycles.

    Asked 12 to 14 cycles after the first of them began there is room for 2 registers, 7 cycles each: 3 take 21, where
    they take 6 without. Asked 20 cycles after there are 6 to spare, for 3 more: 20 cycles for 5, 12 for 3. After 34
    there was room for 12: 8 for 3.
    """
    chip = quiet(instruction(PIPE, pipe="tensor core", interval=6), machine=load_machine("h200"))
    tensor = chip.mio.collector.tensor
    for at in (100, 106):
        chip.smsp.take(tensor, at)
    chip.mio.collector.port_user[tensor] = 1

    assert chip.mio.collector.beside_issued(0, 2, 100 + since, 3) == waits
    assert chip.mio.collector.beside_issued(0, 2, 100 + since, 0) == 0
    assert chip.mio.collector.beside_issued(0, 1, 100 + since, 3) == 0, (
        "its own mma.sync do not hold a warp's registers up"
    )


def test_a_machine_whose_gaps_are_not_known_reads_registers_as_without_mma_sync():
    chip = quiet(instruction(PIPE, pipe="tensor core", interval=6), machine=A100)
    tensor = chip.mio.collector.tensor
    for at in (100, 106):
        chip.smsp.take(tensor, at)
    chip.mio.collector.port_user[tensor] = 1

    assert chip.mio.collector.beside_issued(0, 2, 112, 3) == 0


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 6), st.integers(0, 32)), min_size=1, max_size=60))
def test_the_data_stage_is_never_in_two_places(requests):
    """
    Whatever the order: each access takes the first cycles that no other has, from the one in which its SMSP has given
    it away; without wavefronts, one.
    """
    chip = quiet()
    now, taken, last = 0, set(), [0] * 4
    for smsp, gap, wavefronts in requests:
        now += gap
        leaves = queue(chip.mio, smsp * chip.width, now, cycles=max(1, wavefronts))
        assert chip.mio.collected > max(now, last[smsp])
        last[smsp] = chip.mio.collected
        free = [
            cycle for cycle in range(chip.mio.collected, chip.mio.collected + 33 + len(taken)) if cycle not in taken
        ]
        assert leaves == free[0]
        taken.update(free[: max(1, wavefronts)])


@pytest.mark.parametrize(("name", "cycles"), [("a100", 32), ("rtx3090", 63), ("rtx4090", 63)])
def test_an_sm_of_ga100_takes_a_memory_instruction_each_cycle_one_of_ga10x_every_other(name, cycles):
    """
    8 warps with 4 ldmatrix.x1 each, of one wavefront: 32.1 cycles on A100 (Sun et al. 2022, table 9).

    On GA10x four busy sub-cores send one each every 8 cycles (Huerta et al. 2025, table 1): 1 + 2 * 31.
    """
    chip = quiet(machine=load_machine(name))

    places = [smsp * chip.width for smsp in range(4)]

    assert max(queue(chip.mio, smsp, 0, cycles=1) for _ in range(8) for smsp in places) == cycles


def test_the_registers_of_a_warp_take_64_bytes_a_cycle(core):
    """
    ldmatrix.x4, 512 bytes: 8 cycles each. Issued at 0, 1, 2 they leave at 1, 5, 9 and land at 29, 37, 45.

    Those of another warp of the SMSP do not wait for them: measured on an H200, one warp has one in 8.1 cycles, two
    warps of an SMSP one in 4.05 (ldmatrix.csv, x4, 4 chains, 1 SMSP).
    """
    loads = [ldmatrix(4, 0, waits=(), activity=0, latency=23) for _ in range(3)]
    ran = execute(core, (loads, 1), machine=H200)
    start = H200.constant_cache.miss_latency

    assert [(at - start, landed - start) for at, landed in ran.warps[0, 0].notes] == [(0, 29), (1, 37), (2, 45)]


def test_two_warps_of_an_smsp_have_their_loads_at_the_rate_of_the_data_stage(core):
    """
    Warp 4's load leaves after those of warps 0 to 3, of 4 wavefronts each, and lands as much later.

    Of 2048 bytes, the registers of one warp take 32 cycles: it does not wait for those of warp 0.
    """
    one = ldmatrix(4, 0, waits=(), activity=0, latency=23, bytes=2048)
    ran = execute(core, ([one], 1), machine=H200, warps=5)
    first, second = (ran.warps[0, warp].notes[0][1] for warp in (0, 4))

    assert second - first == 4 * 4


def test_each_further_wavefront_adds_its_latency(core):
    """23, 25, 29, 37 for 1, 2, 4, 8 ways. Source: Sun et al. 2022, table 10, A100."""
    loads = [lds(activity=0, stall=100)._replace(wavefronts=((ways,),)) for ways in (1, 2, 4, 8)]
    ran = execute(core, (loads, 1))

    assert [landed - at for at, landed in ran.warps[0, 0].notes] == [23, 25, 29, 37]


def test_the_ring_slot_of_a_trip_has_wavefronts_of_its_own(core):
    """Two slots of 1 and 8 wavefronts by turns, from slot 1 on: 37, 23, 37 cycles on A100."""
    one = lds(activity=0, stall=100, stage=1)._replace(wavefronts=((1,), (8,)))
    ran = execute(core, ([one], 3))

    assert [landed - at for at, landed in ran.warps[0, 0].notes] == [37, 23, 37]
    assert ran.chip.data_stage.wavefronts == 17


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


NEAR_ONLY = replace(H200, l2=replace(H200.l2, far_fraction_percent=0))
BEYOND = H200.async_copy.l1_latency - H200.l1.hit_latency
"""What a copy takes beyond a load."""
L2_HIT = H200.l2.hit_latency + BEYOND
MISS = H200.dram.latency + BEYOND


def taken(core, requests, *, cached=True, stall=5000, l1_lines=8, machine=NEAR_ONLY, **memory):
    """Cycles that copies of requests take, from when they leave the MIO, one every so many cycles; and the chip."""
    code = [copy(fetch, stall=stall, activity=0, through_l1=cached) for fetch in range(len(requests))]
    figures = figures_of(machine, 0, busy=False)._replace(l1_lines=l1_lines)
    ran = execute(core, (code, 1), figures=figures, machine=machine, memory=Memory(requests, **memory))
    return [landed - at - 1 for at, landed in ran.warps[0, 0].notes], ran.chip


def asked(*lines):
    """The request of some (line, sector mask)."""
    return sum(mask.bit_count() for _, mask in lines), lines


def known(chip, at, sectors, *, sm=0, issued=None, status=IN_L2):
    """When some sectors arrive whose hits and misses are known."""
    return chip.l2_sampled.read_known(sm, at, at if issued is None else issued, sectors, status.slow, status.missed)


def test_an_sm_reads_64_bytes_a_cycle_from_the_l2():
    """16 sectors are 512 bytes: 8 cycles on the SM's port; the chip's 4974 bytes a cycle hold nobody up."""
    chip = quiet(machine=NEAR_ONLY)

    assert [known(chip, 100, 16) - NEAR_ONLY.l2.hit_latency for _ in range(3)] == [100, 108, 116]


def test_all_sms_together_are_held_up_by_the_bandwidth_of_the_chip():
    """132 SMs, 512 bytes each: 67584 bytes, 13.58 cycles at 4974 a cycle; rounded down to thousandths and cycles."""
    chip = quiet(machine=NEAR_ONLY, share=132)

    assert [known(chip, 0, 16) - NEAR_ONLY.l2.hit_latency for _ in range(4)] == [0, 13, 27, 40]


def test_a_request_that_waits_in_its_queue_holds_up_no_other_sm():
    """SM 0's instruction issues at 0 and reaches the L2 at 200; SM 1's issues and arrives at 1."""
    chip = quiet(machine=NEAR_ONLY, sms=2, ctas=2)
    log = [known(chip, at, 4, sm=sm, issued=sm) for sm, at in ((0, 200), (1, 1))]

    assert [at - NEAR_ONLY.l2.hit_latency for at in log] == [200, 1]


def test_near_and_far_come_by_turns(core):
    """Half of the lines are far; by turns, in the machine's proportion (D5)."""
    log, _ = taken(core, [asked((0, 1))] * 4, cached=False, machine=H200, simulates_l2=False)

    assert sorted(log) == [L2_HIT] * 2 + [H200.l2.far_latency + BEYOND] * 2
    assert log[0] != log[1]
    assert log[:2] == log[2:]


def test_first_touch_misses_and_later_ones_hit(core):
    """
    Line 7 comes from DRAM whole, for its first two sectors; who asks while it comes waits for it, not for DRAM again.
    """
    stalls, masks = (100, 4900, 1000, 1), (0b0011, 0b0011, 0b0011, 0b1111)
    code = [copy(fetch, stall=stall, activity=0) for fetch, stall in enumerate(stalls)]
    ran = execute(core, (code, 1), machine=NEAR_ONLY, memory=Memory([asked((7, mask)) for mask in masks]))

    assert [landed - at - 1 for at, landed in ran.warps[0, 0].notes] == [MISS, MISS - 100, L2_HIT, L2_HIT]
    assert ran.chip.dram.read_bytes == 4 * 32


def test_the_l2_forgets_the_least_recently_used_line(core):
    """Room for two lines: 1, 2, 1 again, then 3 drives 2 out. Line 1 hits, line 2 misses."""
    small = replace(NEAR_ONLY, l2=replace(NEAR_ONLY.l2, bytes=2 * 2 * 128))
    log, _ = taken(core, [asked((line, 1)) for line in (1, 2, 1, 3, 1, 2)], cached=False, machine=small)

    assert log == [MISS, MISS, L2_HIT, MISS, L2_HIT, MISS]


def test_a_sampled_sm_waits_for_dram_in_the_walks_proportion():
    """A quarter of 4 sectors is slow: one sector of every request waits. An eighth is missed: one of every second."""
    chip, log = quiet(machine=NEAR_ONLY), []
    for number in range(4):
        at, before = 5000 * number, chip.dram.read_bytes
        done = known(chip, at, 4, status=L2Status(slow=250, missed=125)) - at
        log.append((done, chip.dram.read_bytes - before))

    assert log == [(NEAR_ONLY.dram.latency, size) for size in (0, 32, 0, 32)]


def test_sectors_found_in_l1_still_count_in_the_walks_proportion(core):
    """The walk knows no L1: all 4 sectors asked for are missed, a line, though only 2, of a new line, go to the L2."""
    statuses = [IN_L2, L2Status(slow=500, missed=1000)]
    log, chip = taken(
        core, [asked((0, 0b0011)), asked((0, 0b0011), (1, 0b0011))], statuses=statuses, simulates_l2=False
    )

    assert log == [L2_HIT, MISS]
    assert (chip.l2.sectors, chip.dram.read_bytes) == (4, 128)


def test_an_epilogue_s_loads_wait_for_what_is_known_of_them_though_the_l2_is_simulated(core):
    """4 sectors that nobody has read come from DRAM; 4 that were just written are there."""
    code = [epilogue_load(output, stall=5000, activity=0) for output in range(2)]
    memory = Memory(outputs=[(4, FROM_DRAM), (4, IN_L2)])
    ran = execute(core, (code, 1), machine=NEAR_ONLY, memory=memory)

    log = [landed - at - 1 for at, landed in ran.warps[0, 0].notes]
    assert log == [NEAR_ONLY.dram.latency, NEAR_ONLY.l2.hit_latency]
    assert ran.chip.dram.read_bytes == 4 * 32


@pytest.mark.parametrize(
    ("sectors", "status", "cycles"), [(16, JUST_WRITTEN, 189), (16, IN_L2, 0), (16, FROM_DRAM, 189)]
)
def test_what_an_epilogue_reads_first_has_to_cross_the_chip(core, sectors, status, cycles):
    """Of four lines some are at home on the other side, 189 cycles away; what was read before is on both."""
    machine = replace(NEAR_ONLY, l2=replace(NEAR_ONLY.l2, crossing=L2CrossingSpec(first=189, home_bits=(5,))))
    code = [epilogue_load(0, stall=5000, activity=0)]
    own, crossed = (
        execute(core, (code, 1), machine=one, memory=Memory(outputs=[(sectors, status)]))
        for one in (NEAR_ONLY, machine)
    )

    landed = [ran.warps[0, 0].notes[0][1] for ran in (own, crossed)]
    assert landed[1] - landed[0] == cycles


def test_of_single_lines_that_an_epilogue_reads_first_every_second_one_crosses(core):
    """
    Near and far come by turns: of four loads of a line each the second and the fourth take 189 cycles longer.

    These two are looked up on both sides of the chip.
    """
    l2 = replace(
        H200.l2,
        far_fraction_percent=50,
        far_latency=H200.l2.hit_latency,
        crossing=L2CrossingSpec(first=189, home_bits=(5,)),
    )
    code = [epilogue_load(output, stall=5000, activity=0) for output in range(4)]
    memory = Memory(outputs=[(4, JUST_WRITTEN)] * 4)
    ran = execute(core, (code, 1), machine=replace(H200, l2=l2), memory=memory)

    taken = [landed - at - 1 - H200.l2.hit_latency for at, landed in ran.warps[0, 0].notes]
    assert sorted(taken) == [0, 0, 189, 189]
    assert taken[0] != taken[1]
    assert ran.chip.l2.looked_up == 4 * 4 + 2 * 4


def test_what_an_epilogue_reads_again_is_looked_up_on_its_side_alone(core):
    l2 = replace(H200.l2, far_fraction_percent=50, crossing=L2CrossingSpec(first=189, home_bits=(5,)))
    code = [epilogue_load(output, stall=5000, activity=0) for output in range(4)]
    ran = execute(core, (code, 1), machine=replace(H200, l2=l2), memory=Memory(outputs=[(4, IN_L2)] * 4))

    assert ran.chip.l2.looked_up == 4 * 4
