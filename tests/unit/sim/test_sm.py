"""One SM fed with instructions by hand: when each warp issues, against published tables and arithmetic on paper."""

from collections import Counter
from dataclasses import replace
from itertools import pairwise

import pytest
import simpy
from gpusim.sim.l1 import L1
from gpusim.sim.l2 import SimulatedL2
from gpusim.sim.sm import Sm

from gpusim.machine import load_machine
from gpusim.machine.spec import MioSpec
from gpusim.sim.code import (
    BAR,
    COMMIT,
    DEPBAR,
    EXIT,
    LDGSTS,
    PIPE,
    SHARED,
    THROTTLES,
    Assembly,
    Decoded,
    DecodedSegment,
    pipe_names,
)
from gpusim.sim.footprint import Footprint
from gpusim.sim.observer import Observer
from gpusim.sim.stall_reasons import REASONS
from gpusim.sim.timed_kernel import UNWATCHED

A100 = load_machine("a100")
H200 = load_machine("h200")
PIPES = pipe_names(A100)
WARPS = 32


def instruction(kind, *, pipe="alu", stall=1, waits=(), **fields):
    """One instruction; what it leaves unsaid is nothing."""
    figures = {"interval": 0, "latency": 0}
    port = len(PIPES) + (kind not in THROTTLES)
    if kind == PIPE:
        port = PIPES.index(pipe)
        known = A100.tensor["m16n8k16.f16.f32"] if pipe == "tensor core" else A100.pipes[pipe]
        figures = {"interval": known.interval, "latency": known.latency}
    gated = {"gated": bool(waits) or kind in (DEPBAR, EXIT)}
    throttle = THROTTLES.get(kind, 0)
    return Decoded(kind, port, throttle, stall=stall, waits=waits, **(gated | figures | fields))


def ldmatrix(matrices, board, wavefronts=None, **fields):
    """An ldmatrix on a chain of its own: it waits for the one before it on the same scoreboard."""
    return instruction(
        SHARED,
        latency=A100.shared.ldmatrix_latency_x1,
        waits=(board,),
        write=board,
        bytes=128 * matrices,
        wavefronts=((wavefronts or matrices,) * WARPS,),
        is_load=True,
        **fields,
    )


def lds(**fields):
    """A 4-byte load that nobody waits for."""
    latency = A100.shared.load_latency
    return instruction(SHARED, latency=latency, bytes=128, wavefronts=((1,) * WARPS,), is_load=True, **fields)


def copy(fetch, **fields):
    """One cp.async of operand a."""
    return instruction(LDGSTS, wavefronts=((4,) * WARPS,), target=(0, fetch, 0, 0), zero_fills=True, **fields)


def footprint(copies=()):
    """``copies``: the request of every fetch, the same for all warps."""
    return Footprint(copies=([[[[request] * WARPS]] for request in copies], []), outputs=[], found=(), status=())


def execute(*segments, warps=1, ctas=1, machine=A100, copies=()):
    """
    Run CTAs that are all launched at cycle 0 and all observed.

    Args:
        segments: (instructions, trips); an exit is appended.

    Returns:
        The SM, and the retired warps by (CTA, warp).
    """
    env = simpy.Environment()
    code = [DecodedSegment("mainloop", tuple(body), trips, 1) for body, trips in segments]
    code.append(DecodedSegment("epilogue", (instruction(EXIT),), 1, 0))
    assembly = Assembly(tuple(code), warps, 0)
    done = env.event()
    l1 = L1(machine, SimulatedL2(machine, 1), 0, 0)

    def finished(sm, _cta):
        if len(sm.lives) == ctas:
            done.succeed()

    sm = Sm(env, machine, l1, assembly=lambda _: assembly, finished=finished, observer=Observer(UNWATCHED))
    for index in range(ctas):
        sm.expect(0)
        sm.launch(index, footprint(copies), 0, observed=True)
    env.run(until=done)
    return sm, {(warp.cta.index, warp.index): warp for warp in sm.observer.retired}


def issues(warp):
    """Cycles of a warp's issues, counted from its first."""
    cycles = [begin for begin, _, reason in warp.spans if REASONS[reason] == "selected"]
    return [cycle - cycles[0] for cycle in cycles]


def period(retired, trips):
    """Cycles of one trip, where ``trips`` lie between the first issue of any warp and the last."""
    cycles = [begin for warp in retired.values() for begin, _, reason in warp.spans if REASONS[reason] == "selected"]
    return (max(cycles) - min(cycles)) / trips


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
def test_ldmatrix_x4_throughput_is_the_published_one(warps, chains):
    """
    T = max(29, 8 ILP, 4 ILP W): latency, a warp's return path of 64 bytes a cycle, the SM's data stage.

    The latency is 23 + 2 * 3 further wavefronts. T is taken over all warps, for the oldest of an SMSP go first (D4).
    The published numbers are within 5 % (the largest difference is 33.6 against 32).
    """
    _, retired = execute(([ldmatrix(4, board) for board in range(chains)], 60), warps=warps)

    assert period(retired, 59) == pytest.approx(LDMATRIX_X4[warps][chains - 1], rel=0.05)


@pytest.mark.parametrize(
    ("matrices", "warps", "chains", "published"),
    [(1, 1, 1, 23.1), (2, 1, 1, 25.1), (4, 1, 1, 29.3), (2, 4, 4, 32.1), (2, 8, 2, 32.1), (4, 4, 2, 32.2)],
)
def test_ldmatrix_latency_and_saturation_are_the_published_ones(matrices, warps, chains, published):
    """Source: Sun et al. 2022, table 9, A100."""
    _, retired = execute(([ldmatrix(matrices, board) for board in range(chains)], 60), warps=warps)

    assert period(retired, 59) == pytest.approx(published, rel=0.02)


@pytest.mark.parametrize("interval", [1, 2])
def test_ldmatrix_x1_needs_an_sm_that_takes_an_instruction_each_cycle(interval):
    """
    8 warps * 4 chains of one wavefront are 32 wavefronts: 32.1 cycles in table 9, and 64 with one every 2 cycles.
    """
    machine = replace(A100, mio=replace(A100.mio, sm_interval=interval))

    _, retired = execute(([ldmatrix(1, board) for board in range(4)], 60), warps=8, machine=machine)

    assert period(retired, 59) == pytest.approx(32 * interval, rel=0.02)


def test_conflicts_stretch_ldmatrix():
    """Row-major: 32 wavefronts each. Four of them keep the data stage for 128 cycles a trip; free of conflicts, 32."""
    periods = {}
    for wavefronts in (4, 32):
        code = [ldmatrix(4, board, wavefronts) for board in range(4)]
        _, retired = execute((code, 60), warps=1)
        periods[wavefronts] = period(retired, 59)

    assert periods == {4: pytest.approx(32, rel=0.02), 32: pytest.approx(128, rel=0.02)}


def test_conflicts_are_waited_for_as_mio_throttle_and_short_scoreboard():
    _, clean = execute(([ldmatrix(4, board) for board in range(4)], 60), warps=8)
    _, conflicting = execute(([ldmatrix(4, board, 32) for board in range(4)], 60), warps=8)

    def stalled(retired, *reasons):
        return sum(retired[0, 0].stalls[REASONS.index(reason)] for reason in reasons)

    assert stalled(conflicting, "mio_throttle", "short_scoreboard") > 6 * stalled(
        clean, "mio_throttle", "short_scoreboard"
    )


# --- tensor core and other pipes ---


@pytest.mark.parametrize(
    ("stall", "expected"),
    [(1, [0, 8, 16, 24]), (25, [0, 25, 50, 75])],
    ids=["independent", "dependent"],
)
def test_mma_sync_issues_at_its_interval_or_its_latency(stall, expected):
    """m16n8k16 on A100: one every 8 cycles; a dependent one 25 cycles after. Source: Sun et al. 2022, table 3."""
    mma = instruction(PIPE, pipe="tensor core", stall=stall)

    _, retired = execute(([mma] * 4, 1))

    assert issues(retired[0, 0])[:-1] == expected


def test_a_warp_waiting_for_the_tensor_core_is_throttled_by_the_pipe():
    """
    Two warps of one SMSP, three MMAs each: the pipe takes one every 8 cycles, and one warp keeps it while it can.

    Warp 0 issues at 0, then both are ready when the pipe frees at 8: the greedy one goes on, at 8 and at 16. Warp 4
    waits until 24.
    """
    _, retired = execute(([instruction(PIPE, pipe="tensor core")] * 3, 1), warps=5)
    first, second = retired[0, 0], retired[0, 4]
    start = second.launched + A100.constant_cache.miss_latency

    assert issues(first) == [0, 8, 16, 17]
    assert [begin - start for begin, _, reason in second.spans if REASONS[reason] == "selected"] == [24, 32, 40, 41]
    assert second.spans[1] == (start, start + 24, REASONS.index("math_pipe_throttle"))


def test_the_issue_slot_goes_to_the_last_warp_then_to_the_oldest():
    """
    Warps 0 and 4 share SMSP 0. ALU instructions hold the pipe for 2 cycles and stall the warp for 3.

    0 issues at 0. At 2 the pipe is free, warp 0 is stalled until 3: warp 4. At 4 the pipe is free: warp 0 (from 3),
    for warp 4 is stalled until 5. And so on, in turns.
    """
    _, retired = execute(([instruction(PIPE, stall=3)] * 3, 1), warps=5)
    start = A100.constant_cache.miss_latency
    log = sorted(
        (begin - start, warp)
        for (_, warp), one in retired.items()
        for begin, _, reason in one.spans
        if warp in (0, 4) and REASONS[reason] == "selected"
    )

    assert log == [(0, 0), (2, 4), (4, 0), (6, 4), (8, 0), (10, 4), (11, 0), (13, 4)]


def test_an_idle_issue_slot_that_another_warp_took_counts_as_not_selected():
    """Stall 1, the pipe free each cycle (half, interval 1): warp 0 keeps the slot for 4 cycles, warp 4 looks on."""
    _, retired = execute(([instruction(PIPE, pipe="half")] * 4, 1), warps=5)
    waiting = retired[0, 4]
    start = A100.constant_cache.miss_latency

    # Until 4 the pipe was taken by the other warp's last issue; the exit of warp 0 takes the slot at 4.
    assert waiting.spans[1:4] == [
        (start, start + 4, REASONS.index("math_pipe_throttle")),
        (start + 4, start + 5, REASONS.index("not_selected")),
        (start + 5, start + 6, REASONS.index("selected")),
    ]


# --- barrier ---


@pytest.mark.parametrize(("warps", "cost"), [(1, 23), (2, 25), (4, 29), (8, 37), (16, 53), (32, 85)])
def test_bar_sync_costs_21_and_2_for_each_warp(warps, cost):
    """One barrier after the other: cycles of a round. Source: SyncPerformance, A100: 23, 25, 29, 37, 53, 85."""
    _, retired = execute(([instruction(BAR)], 60), warps=warps)

    assert period(retired, 60) == pytest.approx(cost, rel=0.01)


def test_one_barrier_of_four_warps():
    """All issue at 0; the unit takes them at 2, 4, 6, 8, and 21 cycles after the last lets all go: 29."""
    _, retired = execute(([instruction(BAR), instruction(PIPE)], 1), warps=4)

    assert [issues(warp) for warp in retired.values()] == [[0, 29, 30]] * 4


@pytest.mark.parametrize(("warps", "published"), [(16, 64), (32, 122.7)])
def test_two_ctas_share_the_barrier_unit(warps, published):
    """2 cycles for each warp of the SM: 64 and 128 cycles a round. Source: SyncPerformance, A100: 64 and 122.7."""
    _, retired = execute(([instruction(BAR)], 60), warps=warps, ctas=2)

    assert period(retired, 60) == pytest.approx(published, rel=0.05)


def test_a_barrier_frees_nobody_before_the_last_arrival():
    """Warp 1's last word before the barrier takes 100 cycles: all issue 2 + 21 cycles after its arrival or later."""
    slow = instruction(PIPE, pipe="tensor core", stall=100)
    _, retired = execute(([slow, instruction(BAR), instruction(PIPE)], 1), warps=4)
    arrivals = [issues(warp)[1] for warp in retired.values()]
    released = [issues(warp)[2] for warp in retired.values()]

    assert min(released) >= max(arrivals) + A100.barrier.base + A100.barrier.per_warp


# --- the MIO queue ---

GA10X = MioSpec(queue_depth=4, smsp_interval=4, sm_interval=2)


def test_back_to_back_loads_of_one_smsp():
    """
    Huerta, table 1, one sub-core: issues at 2, 3, 4, 5, 6, then 13, 17, 21.

    Here the queue of 4 empties at 1, 5, 9, 13, ...: the sixth issues when the second leaves, at 5, and from there one
    every 4 cycles as published. The way to the address unit, which holds the sixth back until 11, is not modelled (D8).
    """
    _, retired = execute(([lds()] * 9, 1), machine=replace(A100, mio=GA10X))

    assert issues(retired[0, 0])[:9] == [0, 1, 2, 3, 4, 5, 9, 13, 17]


def test_back_to_back_loads_of_four_smsps():
    """Huerta, table 1, four sub-cores: each issues every 8 cycles, for the SM takes one instruction every 2."""
    _, retired = execute(([lds()] * 30, 1), warps=4, machine=replace(A100, mio=GA10X))

    for warp in retired.values():
        assert {after - before for before, after in pairwise(issues(warp)[10:-1])} == {8}


def test_never_more_instructions_wait_than_the_queue_holds():
    """Of the loads that have issued, at most 4 have not left: the (i+4)-th issues when the i-th has left."""
    sm, retired = execute(([lds()] * 20, 1), machine=replace(A100, mio=GA10X))
    leaves = [1 + 4 * number for number in range(20)]

    assert all(at >= left for at, left in zip(issues(retired[0, 0])[4:20], leaves, strict=False))
    assert sm.shared_memory.wavefronts == 20


# --- cp.async groups ---


def test_wait_group_waits_for_the_groups_before_the_last_n():
    """
    Group 0 zero-fills: it is there 39 cycles after it left the queue. Group 1 comes from DRAM.

    LDGSTS at 0 leaves at 1, lands at 40. COMMIT at 1, next issue at 2: LDGSTS leaves at 5 (4 cycles after the first).
    COMMIT at 3. wait_group(1) may issue when group 0 is there: 40. wait_group(0) when group 1 is: it leaves at 5, the
    L2 takes it up at 5, DRAM brings it 566 cycles later, and a copy takes 39 - 33 = 6 more than a load: 577.
    """
    code = [copy(0), instruction(COMMIT), copy(1), instruction(COMMIT)]
    code += [instruction(DEPBAR, pending=1), instruction(DEPBAR, pending=0), instruction(PIPE)]
    one_sector = (1, ((0, 1),))

    _, retired = execute((code, 1), copies=[(0, ()), one_sector])

    assert issues(retired[0, 0]) == [0, 1, 2, 3, 40, 577, 578, 579]
    waits = Counter({REASONS[reason]: end - begin for begin, end, reason in retired[0, 0].spans if end - begin > 1})
    assert waits["long_scoreboard"] == 577 - 41


def test_an_empty_group_completes_with_the_one_before_it():
    """Copies complete in the order of their groups: the empty group 1 is there when group 0 is, at 40."""
    code = [copy(0), instruction(COMMIT), instruction(COMMIT), instruction(DEPBAR, pending=0)]

    _, retired = execute((code, 1), copies=[(0, ())])

    assert issues(retired[0, 0])[:4] == [0, 1, 2, 40]


def test_wait_group_with_fewer_groups_than_n_waits_for_nothing():
    _, retired = execute(([copy(0), instruction(COMMIT), instruction(DEPBAR, pending=1)], 1), copies=[(0, ())])

    assert issues(retired[0, 0])[:3] == [0, 1, 2]


def test_a_copy_whose_lanes_are_all_predicated_off_takes_no_data_stage():
    """Zero-filling copies write all the same: 4 wavefronts each."""
    filled, _ = execute(([copy(0)], 1), copies=[(0, ())])
    off, _ = execute(([copy(0)._replace(zero_fills=False)], 1), copies=[(0, ())])

    assert (filled.shared_memory.wavefronts, off.shared_memory.wavefronts) == (4, 0)


# --- instructions and launch ---


def test_first_instructions_come_from_beyond_and_the_stream_buffer_runs_ahead():
    """
    The first line is wanted when the parameters have come, at 79, and is there one L2 trip later.

    The same miss brings 16 more lines, so that the second line is there when it is wanted.
    """
    lines = [instruction(PIPE, line=number // 8 if number % 8 == 0 else -1, gated=True) for number in range(16)]
    _, retired = execute((lines, 1))
    spans = [(begin, end, REASONS[reason]) for begin, end, reason in retired[0, 0].spans]
    fetched = 79 + A100.instruction_cache.l1_miss_latency

    assert spans[:3] == [(0, 79, "imc_miss"), (79, fetched, "no_instruction"), (fetched, fetched + 1, "selected")]
    assert Counter(reason for _, _, reason in spans)["no_instruction"] == 1


def test_after_a_branch_the_next_instruction_waits_for_its_target():
    branch = instruction(PIPE, pipe="branch", stall=5, is_branch=True)

    _, retired = execute(([instruction(PIPE), branch], 2))

    assert issues(retired[0, 0]) == [0, 1, 9, 10, 18]


@pytest.mark.parametrize("warps", [1, 2, 3, 4, 5, 8, 12])
def test_warps_of_ctas_spread_evenly_over_the_smsps(warps):
    _, retired = execute(([instruction(PIPE)], 1), warps=warps, ctas=2)
    load = Counter(warp.smsp for warp in retired.values())

    assert max(load.values()) <= -(-warps // 4) * 2
    if warps <= 2:
        assert set(load.values()) == {1}


@pytest.mark.parametrize("machine", [A100, H200], ids=["a100", "h200"])
@pytest.mark.parametrize(("warps", "ctas"), [(1, 1), (4, 2), (5, 1), (8, 3)])
def test_spans_of_every_warp_tile_its_lifetime(machine, warps, ctas):
    """Every cycle of every warp has one reason, and the SM's stalls are the sum of all lifetimes."""
    code = [copy(0), instruction(COMMIT), *(ldmatrix(4, board, 8) for board in range(3))]
    code += [instruction(PIPE, pipe="tensor core", waits=(0, 1, 2)), instruction(DEPBAR), instruction(BAR)]
    requests = [(16, tuple((fetch * 4 + line, 15) for line in range(4))) for fetch in range(5)]

    sm, retired = execute((code, 5), warps=warps, ctas=ctas, machine=machine, copies=requests)

    assert len(retired) == warps * ctas
    for warp in retired.values():
        assert warp.spans[0][0] == warp.launched
        assert all(before[1] == after[0] for before, after in pairwise(warp.spans))
        assert sum(warp.stalls) == warp.spans[-1][1] - warp.launched
        assert warp.stalls[REASONS.index("selected")] == 5 * len(code) + 1
    assert sum(sm.stalls) == sum(sum(warp.stalls) for warp in retired.values())
    assert max(life.finished for life in sm.lives) == max(warp.spans[-1][1] for warp in retired.values())
    again, repeated = execute((code, 5), warps=warps, ctas=ctas, machine=machine, copies=requests)
    assert {key: warp.spans for key, warp in repeated.items()} == {key: warp.spans for key, warp in retired.items()}
    assert again.lives == sm.lives


def test_one_smsp_issues_at_most_one_instruction_a_cycle():
    code = [lds(), instruction(PIPE), instruction(PIPE, pipe="half"), instruction(BAR)]
    _, retired = execute((code, 20), warps=8, ctas=2)
    slots = Counter(
        (warp.smsp, begin)
        for warp in retired.values()
        for begin, _, reason in warp.spans
        if REASONS[reason] == "selected"
    )

    assert set(slots.values()) == {1}
