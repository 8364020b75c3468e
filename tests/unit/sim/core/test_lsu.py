"""Memory instructions of one warp: when their registers are free, when their data is written, and how they follow."""

from dataclasses import replace

import pytest
from doubles.by_hand import (
    A100,
    Memory,
    Traced,
    copy,
    execute,
    instruction,
    ldmatrix,
    lds,
    load,
    queue,
    quiet,
    store,
    traced_load,
    traced_store,
)
from doubles.figures import with_figures
from doubles.published import H200

from gpusim.sim.core.constants import ATOMIC, BAR, COPY_WRITES, PIPE, SHARED
from gpusim.sim.figures import figures_of
from gpusim.sim.footprint import IN_L2

FIGURES = with_figures(
    figures_of(A100, 0, busy=False),
    {
        "mio.smsp_interval": 3,
        "mio.sm_interval": 1,
        "mio.register_interval": 2,
        "mio.source_release": 4,
        "async_copy.queue_percent": 100,
        "async_copy.stage": 1,
        "mio.gaps.copy_registers": 0,
        "async_copy.look_ups": 8,
        "async_copy.commit_stage": 1,
        "async_copy.source_release": 13,
        "barrier.base": 20,
        "barrier.per_warp": 2,
        "l1.hit_latency": 33,
        "l1.lines.interval": 0,
        "async_copy.l1_latency": 40,
    },
    constant_miss=0,
)
"""
An SMSP's instructions leave 3 cycles apart. A copy takes a cycle of the data stage and its registers are free 13
cycles after that took it; those of others 4 after they were read, which takes 2 cycles for each.
"""

HALF = instruction(PIPE, pipe="half")


def issues(core, *code, figures=FIGURES, memory=None):
    memory = memory or Memory([(0, ())], outputs=[(4, IN_L2)])
    return execute(core, (code, 1), figures=figures, memory=memory).warps[0, 0].selected[: len(code)]


def landed(core, *code, figures=FIGURES):
    ran = execute(core, (code, 1), figures=figures, memory=Memory([(0, ())], outputs=[(4, IN_L2)]))
    return [at for _, at in ran.warps[0, 0].notes]


def test_a_copy_holds_its_address_until_it_is_read(core):
    """It issues at 0, leaves at 1, and has read its registers at 1 + 13."""
    assert issues(core, copy(0, read=1), instruction(PIPE, pipe="half", waits=(1,))) == [0, 14]


@pytest.mark.parametrize("registers", [1, 2, 5])
@pytest.mark.parametrize("made", [lds, lambda **read: load(0, **read), lambda **read: store(0, **read)])
def test_other_instructions_hold_their_registers_until_they_are_read_and_4_cycles_more(core, made, registers):
    """Behind an LDS, which leaves its SMSP at 1, the second instruction leaves at 4; its registers are read then."""
    read = made(read=1, registers=registers)

    assert issues(core, lds(), read, instruction(PIPE, pipe="half", waits=(1,))) == [0, 1, 4 + 2 * registers + 4]


def test_a_pipe_s_result_may_be_waited_for_by_a_scoreboard(core):
    """Written at 0 + 17."""
    slow = instruction(PIPE, pipe="mufu", write=2)._replace(latency=17)

    assert issues(core, slow, instruction(PIPE, pipe="half", waits=(2,))) == [0, 17]


def sts(wavefronts, **fields):
    return instruction(SHARED, wavefronts=((wavefronts,) * 32,), fills=True, **fields)


@pytest.mark.parametrize(("rate", "wavefronts", "served"), [(1, 40, 41), (2, 80, 41), (2, 7, 24), (1, 1, 24)])
def test_a_load_behind_a_barrier_is_served_after_what_was_stored_before_it_and_the_barrier_does_not_wait(
    core, rate, wavefronts, served
):
    """
    The barrier issues at 1 and takes 22 cycles, whatever the store takes from 1 on.

    The load issues at 23 and is in the SM's queue at 24. Served then, or behind the store, it is there 22 cycles later.
    """
    figures = with_figures(FIGURES, {"shared.wavefronts_per_cycle": rate})
    code = (sts(wavefronts), instruction(BAR), lds(activity=0))

    assert issues(core, *code, figures=figures) == [0, 1, 23]
    assert landed(core, *code, figures=figures) == [served + 22]


def test_a_barrier_waits_for_no_store_that_waits_for_the_sm_s_queue(core):
    """
    A queue of two, stores of 20 wavefronts, which leave it at 1, 21, 41 and 61.

    The barrier issues behind them, at 4, and takes 22 cycles. A load behind it waits until the
    last store has had its wavefronts, at 81, and is there 22 cycles later.
    """
    figures = with_figures(FIGURES, {"mio.sm_depth": 2, "shared.wavefront_latency": 1})
    stores = [sts(20)] * 4

    assert issues(core, *stores, instruction(BAR), HALF._replace(joins=True), figures=figures) == [0, 1, 2, 3, 4, 26]
    assert landed(core, *stores, instruction(BAR), lds(activity=0), figures=figures) == [81 + 22]


def test_a_store_without_room_at_the_sm_s_port_holds_its_own_smsp_alone_but_for_what_is_behind_a_barrier():
    """
    SMSP 1's store waits for room until 65, in its queue: what it issues at 5 leaves 3 cycles behind it, at 68.

    SMSP 0's instruction of cycle 5 passes, at 6. Behind a barrier it waits until all that were issued have left, at 68,
    and takes the data stage behind that.
    """
    chip = quiet(figures=FIGURES)

    assert queue(chip.mio, chip.width, 0, cycles=1, port_room=65) == 65
    assert queue(chip.mio, chip.width, 5, cycles=1) == 68
    assert queue(chip.mio, 0, 5, cycles=1) == 6
    chip.lsu.fence(0)
    assert queue(chip.mio, 2 * chip.width, 10, cycles=1) == 69


def test_a_store_without_room_holds_no_store_of_another_smsp():
    """SMSP 0's, with a way of 7 cycles, leaves at 65; SMSP 1's to shared memory leaves at 6, and its load at 9."""
    chip = quiet(figures=FIGURES)
    written, own = COPY_WRITES * chip.sms, chip.width

    assert queue(chip.mio, 0, 0, cycles=1, port_room=65, copy_writes=written, port_path_cycles=7) == 65
    assert queue(chip.mio, own, 5, cycles=1, copy_writes=written) == 6
    assert queue(chip.mio, 2 * own, 8, cycles=1) == 9


def test_a_store_s_result_is_there_when_it_is_written(core):
    """Leaving at 1, eight wavefronts: at 9."""
    assert landed(core, sts(8, activity=0)) == [9]


def test_a_store_waits_for_its_warp_s_store_before_it_and_what_is_behind_waits_with_it(core):
    """
    Of eight wavefronts, two cycles for each: the first leaves at 1 and is written at 9, the second leaves at 1 + 16.

    That is written at 25. The load behind it is served then, and there 22 cycles later.
    """
    assert landed(core, sts(8, activity=0), sts(8, activity=0), lds(activity=0)) == [9, 25, 47]


def test_stores_of_two_warps_by_turns_take_a_cycle_a_wavefront(core):
    """The warps' first stores leave at 1 and 9, the second ones at 1 + 16 and 9 + 16."""
    twice = (sts(8, activity=0), sts(8, activity=0))
    ran = execute(core, (twice, 1), warps=2, figures=FIGURES, memory=Memory([(0, ())]))

    assert sorted(at for warp in ran.warps.values() for _, at in warp.notes) == [9, 17, 25, 33]


@pytest.mark.parametrize("before", [store(0), store(1), lds()])
def test_a_barrier_waits_for_nothing_that_is_stored_to_global_memory_or_loaded(core, before):
    """It issues at 1 and takes 22 cycles, behind a store of 16 sectors or of none, or a load."""
    memory = Memory(outputs=[(16, IN_L2), (0, IN_L2)])

    assert issues(core, before, instruction(BAR), HALF._replace(joins=True), memory=memory) == [0, 1, 23]


def test_copies_of_no_lane_write_their_zeros_one_after_another(core):
    """
    Four wavefronts each: they have 1 to 4, 5 to 8 and 9 to 12.

    They have hit 40 cycles after the last of those. An LDS before one holds it up for 3 cycles.
    """
    none = {"zero_fills": True, "activity": 0}

    assert landed(core, copy(0, **none), copy(0, **none), copy(0, **none)) == [44, 48, 52]
    assert landed(core, lds(), copy(0, **none)) == [47]


def test_an_lds_behind_a_copy_of_zeros_waits_for_the_data_stage(core):
    """Its four wavefronts have 1 to 4: it leaves at 5, and is there 22 cycles after."""
    assert landed(core, copy(0), lds(activity=0)) == [5 + 22]


def test_a_wavefront_more_than_the_data_stage_serves_takes_another_cycle(core):
    """Two warps of two SMSPs: nine wavefronts at four a cycle keep the data stage for 3 cycles, from 1 to 4."""
    nine = lds(activity=0)._replace(wavefronts=((9, 9),))
    ran = execute(core, ((nine,), 1), figures=with_figures(FIGURES, {"shared.wavefronts_per_cycle": 4}), warps=2)
    first, second = (ran.warps[0, warp].notes[0][1] for warp in range(2))

    assert second - first == 3


def test_a_load_of_no_lane_is_there_after_a_hit(core):
    """It leaves at 1: 1 + 33. An epilogue's load of no sector takes a copy's hit: 1 + 40."""
    assert landed(core, load(0, activity=0)) == [34]


def test_a_load_that_finds_the_queue_full_waits_until_an_entry_is_free(core):
    """A queue of two: loads leave at 1, 4, 7 and 10. The third issues at 2, for the first has left; the fourth at 4."""
    figures = with_figures(FIGURES, {"mio.queue_depth": 2})

    assert issues(core, lds(), lds(), lds(), lds(), figures=figures) == [0, 1, 2, 4]


# --- shared memory ---


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


def requests_of(core, *code, warps=1, trips=1, **memory):
    """A run of traced instructions on an H200 whose caches are cold."""
    figures = with_figures(figures_of(H200, 0, busy=False), constant_miss=0)
    return execute(core, (code, trips), warps=warps, figures=figures, machine=H200, memory=Memory(**memory))


def test_a_traced_load_takes_the_next_request_of_its_warp(core):
    """One load in a loop of three trips: a sector of line 0, then the four of line 1, then line 0 again, a hit."""
    trace = [Traced(((0, 0b0001),)), Traced(((1, 0b1111),)), Traced(((0, 0b0001),))]
    ran = requests_of(core, traced_load(stall=2000), trips=3, trace=trace)

    assert (sum(ran.chip.l1.sectors), ran.chip.l2.sectors, ran.chip.dram.read_bytes) == (6, 5, 256)


def test_warps_have_traces_of_their_own(core):
    """Two warps, each with a sector of its own line."""
    ran = requests_of(core, traced_load(), warps=2, trace=[Traced(((0, 0b0001),))], apart=4)

    assert (ran.chip.l2.sectors, ran.chip.dram.read_bytes) == (2, 256)


@pytest.mark.parametrize(("sectors", "brought"), [(1, 32), (2, 64), (4, 128)])
def test_a_traced_miss_brings_what_its_instruction_asks_for(core, sectors, brought):
    """A plain load 64 bytes, one with a hint of 128 the line."""
    ran = requests_of(core, traced_load(fetch_sectors=sectors), trace=[Traced(((0, 0b0001),))])

    assert ran.chip.dram.read_bytes == brought


def test_loads_stores_and_atomics_take_their_requests_in_order(core):
    """
    A load of line 0, a store of line 1 and an atomic on line 2 that returns: the load and the atomic read their lines,
    the store has whole sectors. The exit waits for both results.
    """
    code = [traced_load(write=0), traced_store(), traced_store(ATOMIC, is_load=True, write=1)]
    waits = instruction(PIPE, waits=(0, 1))
    trace = [Traced(((0, 0b1111),)), Traced(((1, 0b0001),)), Traced(((2, 0b0001),), passes=1)]
    ran = requests_of(core, *code, waits, trace=trace)

    assert ran.chip.dram.read_bytes == 256
    assert ran.chip.stores.stored_bytes == 64
    assert ran.warps[0, 0].stalled("long_scoreboard") > H200.l2.hit_latency


def test_traced_shared_accesses_have_the_wavefronts_of_their_entries(core):
    """Two loads, of one wavefront and of 32."""
    loads = lds(traced=True, stall=100)
    ran = requests_of(core, loads, loads, trace=[Traced(wavefronts=1), Traced(wavefronts=32)])

    assert ran.chip.data_stage.wavefronts == 33
