"""The two queues of the MIO and the data stage behind them: places, registers, copies, and data that comes later."""

from dataclasses import replace
from functools import partial
from itertools import pairwise

import pytest
from doubles.by_hand import (
    A100,
    Memory,
    copy,
    execute,
    instruction,
    lds,
    load,
    queue,
    queue_copy,
    quiet,
    store,
)
from doubles.figures import with_figures
from doubles.published import H200
from hypothesis import given, settings
from hypothesis import strategies as st

from gpusim.machine import load_machine
from gpusim.machine.spec.mio import MioSpec
from gpusim.sim.core.constants import BAR, COMMIT, COPY_WRITES, LINE_BITS, PIPE, PORT_WIDTH, SHARED
from gpusim.sim.figures import figures_of
from gpusim.sim.footprint import IN_L2, L2Status

FIGURES = with_figures(
    figures_of(A100, 0, busy=False),
    {
        "mio.queue_depth": 8,
        "mio.sm_depth": 28,
        "mio.sm_interval": 1,
        "mio.smsp_interval": 2,
        "mio.register_interval": 2,
        "mio.source_release": 4,
        "async_copy.queue_percent": 150,
        "async_copy.stage": 1,
        "mio.gaps.copy_registers": 0,
        "async_copy.look_ups": 8,
        "async_copy.commit_stage": 1,
        "async_copy.source_release": 11,
        "async_copy.pace.interval": 1,
        "shared.wavefronts_per_cycle": 1,
        "l1.hit_latency": 33,
        "l1.lines.interval": 0,
        "async_copy.l1_latency": 39,
        "l2.far_fraction_percent": 0,
    },
    constant_miss=0,
    l2_near=200,
    dram_least=600,
    dram_latency=600,
    dram_late=600,
    dram_later=600,
    dram_most=600,
)

HALF = instruction(PIPE, pipe="half")
LINE = (4, ((0, 15),))
"""A request of one line, which comes from DRAM 600 cycles after the L2 has taken it up."""


def issues(core, *code, memory=None, **figures):
    own = with_figures(FIGURES, figures)
    memory = memory or Memory([(0, ())], outputs=[(4, IN_L2)])
    return execute(core, (code, 1), figures=own, memory=memory).warps[0, 0].selected[: len(code)]


def landed(core, *code, memory=None, **figures):
    own = with_figures(FIGURES, figures)
    ran = execute(core, (code, 1), figures=own, memory=memory or Memory([(0, ())]))
    return [at for _, at in ran.warps[0, 0].notes]


def slow(wavefronts, **fields):
    """An LDS of so many wavefronts."""
    return lds(**fields)._replace(wavefronts=((wavefronts,) * 32,))


def idle_copy(**fields):
    """A copy that asks for nothing and writes nothing: it has its places, and its cycles of the data stage."""
    return copy(0, zero_fills=False, **fields)


def lines_of(count):
    """A request of so many lines, a sector of each."""
    return count, tuple((line, 1) for line in range(count))


# --- places ---


def test_loads_wait_in_the_queue_of_the_sm_and_then_in_that_of_their_smsp(core):
    """
    An SMSP's queue of 3 and an SM's of 2; loads of 32 wavefronts: the data stage takes them at 1, 33, 65, 97, ...

    The SM's queue takes them at 1, 3 and 5, two cycles apart; then its places are those of the second, free at 33, of
    the third, free at 65, and so on. A load issues when the third one before has left its SMSP, and one cycle after the
    one before at least: 0 to 5 for the first six, then 33 and 65.
    """
    assert issues(core, *[slow(32)] * 8, **{"mio.queue_depth": 3, "mio.sm_depth": 2}) == [0, 1, 2, 3, 4, 5, 33, 65]


def test_sixty_loads_of_four_smsps_wait_before_the_next_can_issue(core):
    """
    Queues of 8 for each SMSP and of 28 for the SM; 24 loads of 32 wavefronts by each of four warps.

    The data stage takes the k-th at 1 + 32 (k - 1). When the last of the 96 issues, at 1121, it just takes the 36th.
    """
    ran = execute(core, ([slow(32)] * 24, 1), warps=4, figures=FIGURES)
    last = max(warp.selected[23] for warp in ran.warps.values())

    assert last == 1 + 32 * 35
    assert 96 - 36 == 4 * 8 + 28


# --- registers ---


def sts(registers, **fields):
    return instruction(SHARED, wavefronts=((1,) * 32,), fills=True, registers=registers, **fields)


@pytest.mark.parametrize(("registers", "apart"), [(0, 2), (1, 2), (2, 4), (3, 6), (5, 10)])
def test_a_register_is_read_in_two_cycles(core, registers, apart):
    """
    With a queue of one, a store issues when the one before has left its SMSP: the first does at 1.

    Each leaves when the registers of the one before have been read, and 2 cycles after it at least.
    """
    assert issues(core, *[sts(registers)] * 4, **{"mio.queue_depth": 1}) == [0, 1, 1 + apart, 1 + 2 * apart]


@pytest.mark.parametrize(("registers", "free"), [(2, 9), (3, 11), (5, 15)])
def test_a_register_may_be_overwritten_some_cycles_after_the_last_was_read(core, registers, free):
    """One cycle to the queue, two for each register, 4 more: what was measured of stores of 4, 8 and 16 bytes."""
    assert issues(core, sts(registers, read=0), HALF._replace(waits=(0,), gated=True)) == [0, free]


@pytest.mark.parametrize("made", [lambda: sts(2, read=0), lambda: store(0, registers=2, read=0)], ids=["STS", "STG"])
def test_what_is_stored_is_held_until_the_data_stage_takes_it(core, made):
    """
    A load of 100 wavefronts keeps the data stage from 1 to 100. A store behind it leaves its SMSP at 3, and is taken at
    101: two registers are read in 4 cycles, and free 4 later, at 109.
    """
    assert issues(core, slow(100), made(), HALF._replace(waits=(0,), gated=True)) == [0, 1, 109]


@pytest.mark.parametrize("made", [lds, lambda **fields: load(0, **fields)], ids=["LDS", "LDG"])
def test_the_address_of_a_load_does_not_wait_for_the_data_stage(core, made):
    """As above: it comes to the SM's queue at 3, and waits there; its two registers are free at 3 + 4 + 4 = 11."""
    assert issues(core, slow(100), made(registers=2, read=0), HALF._replace(waits=(0,), gated=True)) == [0, 1, 11]


def test_the_address_of_a_load_waits_for_a_place_in_the_queue_of_the_sm(core):
    """
    A queue of 2: loads of 32 wavefronts come there at 1 and 3. The third one waits for the second to be taken.

    The first leaves the queue at once, at 1, so the third, at 5, has its place; the second is taken at 33, and its
    place is that of the fourth: free at 33 + 4.
    """
    waiting = HALF._replace(waits=(0,), gated=True)
    loads = [slow(32), slow(32), slow(32, read=0)]

    assert issues(core, *loads, waiting, **{"mio.sm_depth": 2})[-1] == 5 + 4
    assert issues(core, slow(32), *loads, waiting, **{"mio.sm_depth": 2})[-1] == 33 + 4


def test_those_of_a_copy_are_read_on_the_way_to_the_queue_of_the_sm(core):
    """A copy comes to the SM's queue at 3: its registers are free at 14, though the data stage takes it at 101."""
    code = [slow(100), copy(0, read=0, registers=3), HALF._replace(waits=(0,), gated=True)]

    assert issues(core, *code) == [0, 1, 14]


@pytest.mark.parametrize(("depth", "free"), [(5, 51), (6, 51), (7, 5), (14, 5)])
def test_a_copy_lets_go_of_its_registers_when_the_queue_of_the_sm_has_as_many_places_again(core, depth, free):
    """
    Two loads of 50 wavefronts leave at 1 and 51; a copy behind them comes to the SM's queue at 5, with three places.

    The sixth from its first one, or the last where there are 5, is the second load's, and free at 51. On an H200 copies
    behind four ldmatrix.x4 of each of four SMSPs hold their registers for 39 to 64 cycles longer than without them, 12
    cycles from one to the next: three places of 4 wavefronts (held.csv).
    """
    code = [slow(50), slow(50), copy(0, read=0, registers=3), HALF._replace(waits=(0,), gated=True)]
    memory = Memory([lines_of(1)])

    assert issues(core, *code, memory=memory, **{"mio.sm_depth": depth}) == [0, 1, 2, free + 11]


@pytest.mark.parametrize(
    ("made", "reason"), [(lambda: copy(0, read=0), "long_scoreboard"), (lambda: sts(2, read=0), "short_scoreboard")]
)
def test_waiting_for_a_copy_s_registers_is_a_long_scoreboard(core, made, reason):
    code = [slow(100), made(), HALF._replace(waits=(0,), gated=True)]
    warp = execute(core, (code, 1), figures=FIGURES, memory=Memory([(0, ())])).warps[0, 0]

    assert warp.stalled("long_scoreboard", "short_scoreboard") == warp.stalled(reason) > 0


# --- copies ---


MULTIPLY = instruction(PIPE, pipe="tensor core")


@pytest.mark.parametrize(("stage", "apart", "leaves"), [(1, 0, 3), (2, 0, 3), (3, 0, 4), (3, 1, 5)])
def test_a_copy_takes_its_cycles_of_the_data_stage_and_more_where_it_fills_lines_of_one_class(
    core, stage, apart, leaves
):
    """It comes at 1; a load behind it comes at 3, 2 cycles later, and leaves when the data stage is free."""
    columns = copy(0, lookup_penalty=apart)
    found = landed(core, columns, lds(activity=0), memory=Memory([lines_of(1)]), **{"async_copy.stage": stage})

    assert found == [leaves - 1 + 23]


def test_a_copy_looks_up_its_lines_whatever_keeps_the_data_stage_busy(core):
    """Behind a load of 100 wavefronts, which keeps it until 101, it comes at 3, alone at 1: its data is there then."""
    memory = Memory([lines_of(1)], statuses=[IN_L2], simulates_l2=False)
    (came,) = landed(core, slow(100), copy(0, activity=0), memory=memory)
    (alone,) = landed(core, copy(0, activity=0), memory=memory)

    assert came == alone + 2


# --- registers beside mma.sync ---

BETWEEN = {"mio.gaps.registers": 1, "mio.gaps.copy_registers": 5}
SPACED = instruction(PIPE, pipe="tensor core", interval=8, stall=2)


def freed(core, *code, **figures):
    """When a scoreboard is free that the last but one instruction waits for."""
    return issues(core, *code, HALF._replace(waits=(0,), gated=True), memory=Memory([lines_of(1)]), **figures)[-1]


@pytest.mark.parametrize(("behind", "read"), [(0, 13), (1, 19), (2, 25)])
def test_a_copy_s_registers_are_read_between_its_own_warp_s_mma_sync_that_follow(core, behind, read):
    """
    An mma.sync issues at 0, a copy at 2. The first register is read with that mma.sync, until 9, the others in 2 cycles
    each, until 13. Where another issues at 8, the second is read with that, until 17, and where a third issues at 16,
    the last with it, until 25. The copy's way goes on 6 cycles before, as if they were read one behind the other.
    """
    code = [SPACED, copy(0, read=0, registers=3), *[SPACED] * behind]

    assert freed(core, *code, **BETWEEN) == read - 6 + 11


def test_a_copy_behind_a_store_without_room_waits_for_no_place_of_the_queue():
    """What waits in the SMSP's queue has none in the SM's, however long those before it keep theirs."""
    chip = quiet(figures=with_figures(FIGURES, {"mio.sm_depth": 6}), memory=Memory([lines_of(1)]))
    for _ in range(6):
        queue(chip.mio, chip.width, 0, cycles=100)
    queue(chip.mio, 0, 0, cycles=1, port_room=10)
    queue_copy(chip.mio, 0, 1, cycles=1, registers=3, leaves_early=1)

    assert chip.mio.free_for_next == 0


def test_mma_sync_of_a_warp_that_is_elsewhere_now_hold_nothing():
    """Its slot was that of a warp of this SMSP, which has left."""
    chip = quiet(SPACED, figures=with_figures(FIGURES, BETWEEN))
    collector = chip.mio.collector
    collector.port_user[collector.tensor], collector.port_free[collector.tensor] = 0, 30
    waits = [collector.delay_by_predicted_mma(0, 0, 5, 3, 5)]
    chip.warps.home[0] = chip.width
    waits.append(chip.mio.collector.delay_by_predicted_mma(0, 0, 5, 3, 5))

    assert waits[0] > waits[1] == 0


def step_by_step(chip, code, at, registers):
    """What ``delay_by_predicted_mma`` says of a memory instruction ahead of ``code``, one instruction after another."""
    collector = chip.mio.collector
    tensor, port = collector.tensor, collector.tensor // PORT_WIDTH
    start, interval = max(at + 1, collector.collector_free[0]), collector.interval
    read, left, free, time = start, registers, collector.port_free[tensor], at + collector.stall[0]
    if free > start:
        read, left = free + 1, left - collector.registers_an_mma
    for one in code:
        if left <= 0 or read + left * interval <= time:
            break
        time = max([time, *(chip.warps.board[board] for board in one.waits)])
        if one.port == port:
            time = max(time, free)
            while left > 0 and read + interval <= time:
                read, left = read + interval, left - 1
            free = time + one.interval
            if left > 0 and read <= free:
                read, left = free + 1, left - collector.registers_an_mma
        time += one.stall
    return max(0, read + (max(0, left) - registers) * interval - start)


AHEAD = st.one_of(
    st.builds(partial(instruction, PIPE), stall=st.integers(1, 12), waits=st.sampled_from([(), (), (1,), (0, 2)])),
    st.builds(
        partial(instruction, PIPE, pipe="tensor core"),
        interval=st.sampled_from([4, 8, 8, 16]),
        stall=st.integers(1, 12),
        waits=st.sampled_from([(), (), (), (1,)]),
    ),
)


@settings(deadline=None)
@given(
    code=st.lists(AHEAD, min_size=1, max_size=40),
    boards=st.lists(st.integers(0, 200), min_size=3, max_size=3),
    busy=st.tuples(st.integers(0, 60), st.integers(0, 250)),
    registers=st.integers(1, 6),
)
def test_mma_sync_that_are_passed_at_once_are_foreseen_as_one_after_another(code, boards, busy, registers):
    """Of an instruction at 5, whatever is ahead of it, when the tensor core and the queue's registers are free."""
    chip = quiet(instruction(SHARED, stall=2), *code, figures=with_figures(FIGURES, BETWEEN))
    collector = chip.mio.collector
    tensor = collector.tensor
    collector.port_user[tensor], collector.port_free[tensor], collector.collector_free[0] = 0, *busy
    for board, free in enumerate(boards):
        chip.warps.board[board] = free

    assert chip.mio.collector.delay_by_predicted_mma(0, 0, 5, registers, 5) == step_by_step(chip, code, 5, registers)


def test_an_instruction_s_registers_are_read_as_fast_as_without_where_no_mma_sync_follows(core):
    """Those of a copy behind a half instruction, and those of one whose machine has no figure for it."""
    code = [SPACED, copy(0, read=0, registers=3), SPACED]

    assert freed(core, HALF, copy(0, read=0, registers=3), **BETWEEN) == 2 + 11
    assert freed(core, *code, **{"mio.gaps.registers": 0}) == 3 + 11


@pytest.mark.parametrize(("wavefronts", "leaves"), [(0, 3), (4, 5), (32, 33)])
def test_a_copy_that_writes_zeros_takes_their_wavefronts(core, wavefronts, leaves):
    """It leaves at 1; a load behind it comes at 3, and leaves when the data stage is free, at 1 + 4 or 1 + 32."""
    zeros = copy(0)._replace(wavefronts=((wavefronts,),))

    assert landed(core, zeros, lds(activity=0)) == [leaves - 1 + 23]


@pytest.mark.parametrize(("through_l1", "leaves"), [(False, 608), (True, 609)])
def test_only_what_comes_through_the_l1_passes_the_data_stage(core, through_l1, leaves):
    """
    A copy of a line leaves at 1 and is taken up there; DRAM has it 600 cycles later, and 39 - 33 more is a copy's: 607.

    A load right behind it leaves at 3: it is there after 3 - 1 + 23 cycles. One that comes at 608 finds, where the copy
    goes through the L1, its 8 wavefronts in the data stage, from 607 on: it lets one pass, and takes the next cycle.
    """
    far = copy(0, through_l1=through_l1)._replace(wavefronts=((8,),))
    waiting = HALF._replace(stall=605)
    code = [far, lds(activity=0), waiting, lds(activity=0)]

    assert landed(core, *code, memory=Memory([LINE])) == [25, leaves - 1 + 23]


def test_a_store_passes_again_where_a_copy_is_written_and_goes_first_then():
    """
    Two writes at 10 and 11. A store of two wavefronts, there at 10, passes in vain, then at 11 for the second write.

    That finds 12, where the second wavefront passes in vain; it passes at 13. A load's two have 20 and 21.
    """
    chip = quiet()
    written = COPY_WRITES * chip.sms
    chip.data_stage.return_data(written, 10, 2)
    chip.data_stage.return_data(written, 20, 2)

    assert (chip.data_stage.reserve(0, 10, 2, written), chip.data_stage.last) == (11, 13)
    assert (chip.data_stage.reserve(0, 20, 2, 0), chip.data_stage.last) == (20, 21)


@pytest.mark.parametrize(("fill_bytes", "longer"), [(0, 0), (128, 1), (64, 2), (32, 4)])
@pytest.mark.parametrize("is_load", [False, True], ids=["store", "load"])
def test_a_store_takes_a_cycle_longer_for_each_write_of_a_line_that_comes_and_a_load_does_not(
    core, fill_bytes, longer, is_load
):
    """
    A copy's line of 128 bytes, from the L2, is there when a store of 16 wavefronts passes: of 128 bytes a write it is
    one, of 64 two, of 32 four.
    """
    memory = Memory([LINE], statuses=[IN_L2], simulates_l2=False)
    (comes,) = landed(core, copy(0, activity=0), memory=memory)
    access = slow(16, activity=0) if is_load else sts(2, activity=0)._replace(wavefronts=((16,) * 32,))
    code = [copy(0), instruction(PIPE, stall=comes - 4), access]

    (taken,) = landed(core, *code, memory=memory, **{"async_copy.pace.fill_bytes": fill_bytes})
    (alone,) = landed(core, *code, memory=memory, **{"async_copy.pace.fill_bytes": 0})
    assert taken - alone == (0 if is_load else longer)


def test_zeros_are_written_in_the_turn_of_look_ups_and_not_while_lines_come():
    """
    Look-ups are over at 10; lines come at 8, 11 and, in two halves, 13. Four wavefronts of zeros have 10, 12, 14, 15.

    The next copy's look-up, or its zeros, begin at 16. A load that is there at 12 finds 13, and then 16: zeros have 17
    to 20.
    """
    chip = quiet(figures=with_figures(FIGURES, {"async_copy.pace.fill_bytes": 64}))
    chip.lsu.tag_free[0] = 10
    for at, sectors in ((8, 4), (11, 4), (13, 2), (13, 2)):
        chip.data_stage.to_write[chip.data_stage.writes_next[0]] = at << LINE_BITS | sectors
        chip.data_stage.writes_next[0] += 1

    assert chip.lsu.write_zeros(0, 3, 0, 4) == 15
    assert (chip.lsu.tag_free[0], chip.lsu.copies_waiting[0], chip.lsu.last_look_up[0]) == (16, 10, 10)
    assert (chip.data_stage.reserve(0, 12, 2, 0), chip.data_stage.last) == (13, 16)
    assert chip.lsu.write_zeros(0, 3, 0, 4) == 20


def test_what_has_come_when_a_copy_of_zeros_issues_holds_it_no_longer():
    """Of lines at 8 and 11, and an issue at 9, the second alone: zeros from 8 on have 8, 9, 10 and 12."""
    chip = quiet(figures=with_figures(FIGURES, {"async_copy.pace.fill_bytes": 64}))
    for number, at in enumerate((8, 11)):
        chip.data_stage.to_write[number] = at << LINE_BITS | 4
    chip.data_stage.writes_next[0] = 2

    assert chip.lsu.write_zeros(0, 8, 9, 4) == 12


def test_a_copy_of_zeros_waits_for_a_place_among_those_that_wait_for_look_ups(core):
    """
    Places for one: four copies of 32 wavefronts begin at 1, 33, 65 and 97, and the load behind waits with the last.

    The second is the first that waits, from 3 to 33; the fourth has room at 65, when the third begins, and so has the
    load, which the data stage takes behind its zeros, at 129.
    """
    zeros = copy(0)._replace(wavefronts=((32,),))

    assert landed(core, *[zeros] * 4, lds(activity=0), **{"async_copy.look_ups": 1}) == [129 - 1 + 23]


def test_what_is_stored_next_waits_for_a_store_s_way_to_the_port_and_a_load_does_not():
    """
    Stores of a wavefront with a way of 7 cycles: one leaves at 5, the next at 12, and one to shared memory at 19.

    A load that comes behind them leaves at 20; one right behind the first leaves at 6.
    """
    chip, own = quiet(figures=FIGURES), quiet().width
    written = COPY_WRITES * chip.sms

    assert queue(chip.mio, 0, 4, cycles=1, copy_writes=written, port_path_cycles=7) == 5
    assert queue(chip.mio, own, 5, cycles=1) == 6
    assert queue(chip.mio, own, 6, cycles=1, copy_writes=written, port_path_cycles=7) == 12
    assert queue(chip.mio, 0, 7, cycles=1, copy_writes=written) == 19
    assert queue(chip.mio, own, 8, cycles=1) == 20


@pytest.mark.parametrize(("sectors", "written"), [(16, 9), (8, 6), (4, 4), (1, 4)])
def test_a_store_s_way_takes_its_bytes(core, sectors, written):
    """
    At 72 bytes a cycle, to the nearest cycle: of 512, 256, 128 and 32 bytes 7, 4, 2 and none.

    The store to global memory leaves at 1; one of a wavefront to shared memory is there at 3, and leaves when the way
    is free, at 8, 5 and 3: it is written a cycle later. Where no way is known it leaves when the data stage is free.
    """
    memory = Memory(outputs=[(sectors, IN_L2)])
    code = [store(0), sts(1, activity=0)]

    assert landed(core, *code, memory=memory, **{"l1.stores.bytes_per_cycle": 72}) == [written]
    assert landed(core, *code, memory=memory, **{"l1.stores.bytes_per_cycle": 0}) == [max(3, 1 + sectors // 4) + 1]


def test_data_that_comes_and_instructions_take_the_data_stage_in_turn():
    """
    Four wavefronts come at 10. An instruction of two, there at 10, too, has 11 and 13; the data goes on at 14 and 15.

    The next instruction, at 14, has 15, and the data 16.
    """
    chip = quiet()
    chip.data_stage.return_data(0, 10, 4)

    assert (chip.data_stage.reserve(0, 10, 2, 0), chip.data_stage.last) == (11, 13)
    assert (chip.data_stage.reserve(0, 14, 1, 0), chip.data_stage.last) == (15, 15)
    chip.data_stage.return_data(0, 14, 1)
    assert chip.data_stage.last == 17


@pytest.mark.parametrize(("depth", "collected"), [(3, 107), (4, 101), (5, 11)])
def test_a_copy_has_a_place_in_the_queue_of_the_sm_for_each_register_of_its_addresses(core, depth, collected):
    """
    Two loads of 100 wavefronts are taken at 1 and 101. A copy of 3 registers comes at 5, a load behind it at 11.

    Where there are three places the copy needs the second load's, and comes at 101, the load 6 cycles later. Where
    there are four that is the place of the load behind it, and where there are five nobody's. Its address is free 4
    cycles after it has come.
    """
    code = [slow(100), slow(100), copy(0, registers=3), lds(read=0), HALF._replace(waits=(0,), gated=True)]

    assert issues(core, *code, **{"mio.sm_depth": depth}, memory=Memory([lines_of(1)]))[-1] == collected + 4


@pytest.mark.parametrize(("depth", "collected"), [(1, 101), (2, 5)])
def test_a_copy_without_lanes_has_one_place(core, depth, collected):
    """As above, but it reads no registers: it comes at 3, and the load 2 cycles later where there is another place."""
    code = [slow(100), idle_copy(registers=3), lds(read=0), HALF._replace(waits=(0,), gated=True)]

    assert issues(core, *code, **{"mio.sm_depth": depth})[-1] == collected + 4


def test_every_second_copy_has_two_places_in_the_queue_of_its_smsp(core):
    """
    A queue of 2, which copies leave at 1, 3, 5 and 7. The first has one place, the second both others until 3.

    The third has one from then on, and the fourth, at 4, the other, which it has with that of the third until 7.
    """
    assert issues(core, *[idle_copy()] * 5, **{"mio.queue_depth": 2}) == [0, 1, 3, 4, 7]


@pytest.mark.parametrize("wavefronts", [4, 32])
def test_zeros_that_a_copy_writes_have_no_places(core, wavefronts):
    """They take the data stage as long as they have wavefronts; the places are those of a copy that writes nothing."""
    zeros = copy(0)._replace(wavefronts=((wavefronts,),))

    assert issues(core, *[zeros] * 5, **{"mio.queue_depth": 2}) == [0, 1, 3, 4, 7]


@pytest.mark.parametrize(("interval", "leaves"), [(1, [5, 6, 7, 8]), (3, [13, 14, 15, 16])])
@pytest.mark.parametrize(
    "made", [copy(0), copy(0, through_l1=True), idle_copy()], ids=["around the L1", "through it", "of nothing"]
)
def test_what_follows_a_copy_leaves_any_smsp_some_cycles_later(core, made, interval, leaves):
    """
    Four warps, an SMSP each, with a copy and a load. The copies leave at 1, 2, 3 and 4, or at 1, 4, 7 and 10.

    A copy takes one cycle of the data stage. An SMSP's load may leave 2 cycles after its copy, the first of all an
    interval after the last copy: at 5, or at 13; the others follow one cycle apart, for no copy comes before them.
    """
    figures = with_figures(FIGURES, {"async_copy.pace.interval": interval})
    ran = execute(core, ([made, lds(activity=0)], 1), warps=4, figures=figures, memory=Memory([lines_of(1)]))

    assert [ran.warps[0, warp].notes[0][1] - 23 + 1 for warp in range(4)] == leaves


@pytest.mark.parametrize(
    ("look_ups", "copies", "leaves"), [(1, 1, 3), (1, 2, 5), (1, 3, 10), (1, 4, 18), (2, 3, 7), (2, 4, 10), (2, 5, 18)]
)
def test_a_copy_waits_for_room_among_those_not_looked_up_and_holds_what_is_behind_it(core, look_ups, copies, leaves):
    """
    Copies of 8 lines come to the SM's queue at 1, 3, 5 and 7; their look-ups begin at 1, 9, 17 and 25.

    Where one may wait for that, the third copy leaves at 9, when the second one's begins, and the fourth at 17; where
    two may, the fourth at 9 and the fifth at 17. A load behind them leaves in the next cycle. With room for all, the
    load comes 2 cycles after the last copy.
    """
    code = [*[copy(0)] * copies, lds(activity=0)]

    assert landed(core, *code, memory=Memory([lines_of(8)]), **{"async_copy.look_ups": look_ups}) == [leaves - 1 + 23]


def test_a_copy_whose_lines_are_of_one_class_is_looked_up_a_cycle_longer_and_so_is_the_end_of_its_group(core):
    """
    Look-ups of 8 lines begin 8 cycles apart, or 9, and a group's end between two takes one more: the data is there as
    much later. fills.csv has 8 cycles a copy, and 9.25 for groups of four, 9.5 for two.
    """
    requests = [(8, tuple((8 * fetch + line, 1) for line in range(8))) for fetch in range(4)]
    memory = Memory(requests, statuses=[IN_L2] * 4, simulates_l2=False)

    def begins(apart, copies_of_groups):
        number, code = 0, []
        for copies in copies_of_groups:
            code += [copy(fetch, lookup_penalty=apart, activity=0) for fetch in range(number, number + copies)]
            code.append(instruction(COMMIT))
            number += copies
        found = landed(core, *code, memory=memory)
        return [at - found[0] for at in found]

    assert begins(0, [4]) == begins(0, [2, 2]) == [0, 8, 16, 24]
    assert begins(1, [4]) == [0, 9, 18, 27]
    assert begins(1, [2, 2]) == begins(1, [2, 0, 0, 2]) == [0, 9, 19, 28]


def halves(fetch):
    """A request of two sectors of each of 8 lines, which are its own."""
    return 16, tuple((8 * fetch + line, 3) for line in range(8))


def test_a_copy_is_looked_up_when_the_requests_before_it_leave_it_room(core):
    """
    Copies of 8 requests are looked up from 1, 9, 17 and 25 on, and come a time after that.

    Where 16 requests may be on their way, the third begins when the first has come, and the fourth 8 cycles later, with
    the second. Where 8 may, and where fewer may than it has, each begins when the one before has come.
    """
    memory = Memory([halves(fetch) for fetch in range(4)], statuses=[IN_L2] * 4, simulates_l2=False)
    code = [copy(fetch, activity=0) for fetch in range(4)]

    def comes(outstanding):
        return landed(core, *code, memory=memory, **{"async_copy.pace.outstanding": outstanding})

    first = comes(0)[0]
    time = first - 1
    assert comes(0) == comes(32) == [1 + time, 9 + time, 17 + time, 25 + time]
    assert comes(16) == [1 + time, 9 + time, 1 + 2 * time, 9 + 2 * time]
    assert comes(8) == comes(4) == [1 + time, 1 + 2 * time, 1 + 3 * time, 1 + 4 * time]


def test_requests_of_a_sector_count_twice(core):
    """8 of a sector take the places of 16: of two copies the second one begins when the first has come."""
    requests = [(8, tuple((8 * fetch + line, 1) for line in range(8))) for fetch in range(2)]
    memory = Memory(requests, statuses=[IN_L2] * 2, simulates_l2=False)
    code = [copy(fetch, activity=0) for fetch in range(2)]
    first, second = landed(core, *code, memory=memory, **{"async_copy.pace.outstanding": 31})

    assert landed(core, *code, memory=memory, **{"async_copy.pace.outstanding": 32}) == [first, first + 8]
    assert second == first + (first - 1)


def test_what_has_come_keeps_its_place_behind_what_has_not(core):
    """The first copy comes from DRAM, the second from the L2, before it. The third begins when the first has come."""
    statuses = [L2Status(slow=1000, missed=1000), IN_L2, IN_L2]
    memory = Memory([halves(fetch) for fetch in range(3)], statuses=statuses, simulates_l2=False)
    code = [copy(fetch, activity=0) for fetch in range(3)]
    far, near, last = landed(core, *code, memory=memory, **{"async_copy.pace.outstanding": 16})

    assert near < far
    assert last == far + (near - 9)


def test_a_copy_through_the_l1_waits_in_the_queue_until_the_lines_before_it_leave_it_room(core):
    """
    Copies of 8 lines that the L1 lacks leave at 1, and their data is there from 207 on, each for 8 cycles.

    Where 16 lines may be on their way, the third copy waits until 207, when the first has come. Data takes that cycle,
    so it leaves at 208 and comes 206 later. A load behind it leaves with it, at the next cycle that data leaves free.
    """
    memory = Memory([halves(fetch) for fetch in range(4)], statuses=[IN_L2] * 4, simulates_l2=False)
    code = [*(copy(fetch, activity=0, through_l1=True) for fetch in range(4)), lds(activity=0)]

    def comes(most):
        return landed(core, *code, memory=memory, **{"async_copy.pace.outstanding_through": most})

    assert comes(0) == comes(32) == [207, 215, 223, 231, 31]
    assert comes(24)[:4] == [207, 215, 223, 208 + 206]
    assert comes(24)[4] == 208 + 23
    assert comes(16)[:4] == [207, 215, 208 + 206, 208 + 206 + 8]
    assert comes(8)[:4] == comes(4)[:4] == [207, 414, 621, 828]


def test_what_the_l1_has_takes_no_place_among_the_lines_on_their_way(core):
    """The second copy is of the same lines: they are on their way once, and it waits for none."""
    memory = Memory([halves(0), halves(1)], statuses=[IN_L2] * 2, simulates_l2=False)
    code = [copy(fetch, activity=0, through_l1=True) for fetch in (0, 0, 1)]

    assert landed(core, *code, memory=memory, **{"async_copy.pace.outstanding_through": 16}) == [207, 215, 223]


@pytest.mark.parametrize("lines", [0, 1, 8])
def test_a_copy_that_waits_for_the_data_stage_leaves_its_smsp_to_what_is_behind_it(core, lines):
    """
    A load of 100 wavefronts keeps the data stage until 101. A copy behind it comes to the SM's queue at 3.

    Whatever it looks up, a load behind it comes at 5: its address is free 4 cycles later.
    """
    behind = copy(0) if lines else idle_copy()
    code = [slow(100), behind, lds(read=0), HALF._replace(waits=(0,), gated=True)]

    assert issues(core, *code, memory=Memory([lines_of(lines)]))[-1] == 5 + 4


def test_a_copy_that_waits_holds_loads_of_every_smsp():
    """As above, with room for one: the third copy of SMSP 0 leaves at 9, and a load of SMSP 1, issued at 5, at 10."""
    chip = quiet(figures=with_figures(FIGURES, {"async_copy.look_ups": 1}), memory=Memory([lines_of(8)]))
    chip.lsu.coalescer.request = 0
    begins = []
    for at in range(3):
        leaves = queue_copy(chip.mio, 0, at, cycles=1, until=begins[-1] if begins else 0, leaves_early=1)
        begins.append(chip.lsu.reserve_lookup(0, leaves, chip.lsu.coalescer.lookup_cycles()))

    assert begins == [1, 9, 17]
    assert queue(chip.mio, chip.width, 5, cycles=1) == 10


def test_loads_that_may_not_wait_to_be_looked_up_hold_what_is_behind_them(core):
    """
    Of 16 wavefronts each, one every 2 cycles: they leave at 1, 3 and 5, and a load from shared memory at 7. Where one
    may wait the third leaves when the second is looked up, at 17, and what is behind it then.
    """
    code = [*[load(0)] * 3, lds(activity=0)]
    any_number, one, two = (
        landed(core, *code, memory=Memory([lines_of(16)]), **{"l1.lines.look_ups": look_ups}) for look_ups in range(3)
    )

    assert one[0] - any_number[0] == 17 - 7
    assert two == any_number


def test_a_load_takes_the_data_stage_when_it_comes_and_not_before(core):
    """What only passes leaves at 1, and cycle 1 is free; a wavefront is counted when the data comes."""
    chip = quiet(figures=FIGURES)

    assert queue(chip.mio, 0, 0, cycles=0) == 1
    assert chip.data_stage.reserve(0, 1, 1, 0) == 1
    assert queue(chip.mio, chip.width, 0, cycles=0) == 2
    assert execute(core, ([load(0)], 1), figures=FIGURES, memory=Memory([lines_of(1)])).chip.data_stage.wavefronts == 1


def test_stores_that_wait_apart_hold_nothing_behind_them(core):
    """
    Stores of 32 wavefronts, two cycles each for the next one of the warp: they begin at 1, 65 and 129. Without a place
    apart a load behind them leaves at 161; with two it leaves in cycles that they left, at 33. Where there is one the
    third has it when the second begins, at 65, and what is behind leaves at 97.
    """
    store_of_32 = sts(0)._replace(wavefronts=((32,) * 32,))
    code = [*[store_of_32] * 3, lds(activity=0)]
    nowhere, one, two = (
        landed(core, *code, **{"shared.stores.apart": apart, "shared.wavefront_latency": 2}) for apart in range(3)
    )

    assert nowhere[0] - two[0] == 161 - 33
    assert one[0] - two[0] == 97 - 33


@pytest.mark.parametrize(("ends", "apart", "last"), [(False, 0, 41), (True, 0, 49), (True, 1, 56)])
def test_a_barrier_waits_for_no_copy_and_a_load_behind_it_until_the_last_one_comes_to_its_look_up(
    core, ends, apart, last
):
    """
    Six copies of 8 lines, from 1 on, are looked up at 1, 9 and so on, the last from 41 to 49; the end of their group
    waits for that. Where their lines are of one class each takes 9 cycles, and the end one: until 1 + 6 * 9 + 1 = 56.

    The barrier issues behind them, at 6 or 7, and takes 22 cycles. A load that issues then has its address read, which
    is free 5 cycles later, and leaves when the last copy comes to its look-up, or the end of the group has been there.
    """
    code = [copy(number, lookup_penalty=apart) for number in range(6)] + [instruction(COMMIT)] * ends
    requests = [(8, tuple((8 * fetch + line, 1) for line in range(8))) for fetch in range(6)]
    memory = Memory(requests, statuses=[IN_L2] * 6, simulates_l2=False)
    barrier = {"barrier.base": 20, "barrier.per_warp": 2}
    behind = [lds(read=0, activity=0), HALF._replace(waits=(0,), gated=True)]
    ran = issues(core, *code, instruction(BAR), *behind, memory=memory, **barrier)
    (loaded,) = landed(core, *code, instruction(BAR), lds(activity=0), memory=memory, **barrier)

    issued = len(code) + 22
    assert ran[-2:] == [issued, issued + 5]
    assert loaded == last - 1 + 23


@pytest.mark.parametrize(("cycles", "leaves"), [(1, 3), (3, 4), (7, 8)])
def test_the_end_of_a_group_takes_its_cycles_of_the_data_stage(core, cycles, leaves):
    """It is taken at 1; a load behind it comes at 3, and leaves when the data stage is free."""
    code = [instruction(COMMIT), lds(activity=0)]

    assert landed(core, *code, **{"async_copy.commit_stage": cycles}) == [leaves - 1 + 23]


# --- what they cost mma.sync ---

SIX = MULTIPLY._replace(interval=6, latency=33)


@pytest.mark.parametrize(
    ("behind", "issued"), [((SIX, SIX), [0, 1, 7, 13]), ((HALF._replace(stall=20), SIX, SIX), [0, 1, 2, 22, 28])]
)
def test_a_memory_instruction_delays_the_mma_sync_behind_one_that_is_fed_when_its_registers_are_read(
    core, behind, issued
):
    """
    It takes 100 hundredths, and is collected at 2, while the first mma.sync of 6 cycles is fed: the next one issues at
    7. Where the tensor core rests in between, later ones are as far apart as ever.
    """
    assert issues(core, SIX, lds(mma_hundredths=100), *behind) == issued


def test_a_memory_instruction_delays_the_mma_sync_that_issues_before_its_registers_are_read_and_is_fed_then(core):
    """
    Two loads that read 5 registers each: the second is collected at 1 + 10 = 11. An mma.sync that issues at 8 is fed
    until 14, so that the next one comes at 15, and the one behind it 6 later; without loads that take any, at 14.
    """
    wide = lds(registers=5)

    def found(takes):
        code = [wide, wide._replace(mma_hundredths=takes, stall=7), SIX, SIX, SIX]
        return issues(core, *code)

    assert found(0) == [0, 1, 8, 14, 20]
    assert found(100) == [0, 1, 8, 15, 21]


def test_more_memory_instructions_than_are_remembered_cost_no_more_than_those_that_are(core):
    """Of 80 loads before the first mma.sync none is read beside it: it and the next one are 6 cycles apart."""
    found = issues(core, *[lds(mma_hundredths=100)] * 80, HALF._replace(stall=300), SIX, SIX)

    assert found[-1] - found[-2] == 6


@pytest.mark.parametrize("made", [lambda: instruction(COMMIT), lds, lambda: load(0)], ids=["LDGDEPBAR", "LDS", "LDG"])
def test_every_other_memory_instruction_has_one_place(core, made):
    """A queue of 2, which one leaves every 2 cycles, at 1, 3 and 5."""
    assert issues(core, *[made() for _ in range(4)], **{"mio.queue_depth": 2}) == [0, 1, 2, 3]


# --- loads of global memory ---


def test_a_load_waits_for_the_wavefronts_before_its_own(core):
    """
    It leaves at 1; the line is there at 601, and passes the data stage in the last cycle of the latency.

    A second load of the line, which leaves at 3, has its data at 601, too, and its wavefront after that one: 602. The
    registers of its warp take 128 bytes in two cycles: 603. Those of another warp, on another SMSP, at once.
    """
    own = load(0, activity=0)

    assert landed(core, own, own, memory=Memory([LINE])) == [601, 603]
    ran = execute(core, ([own], 1), figures=FIGURES, memory=Memory([LINE]), warps=2)
    assert [warp.notes[0][1] for warp in ran.warps.values()] == [601, 602]


# --- what only has a place ---


def test_a_commit_has_a_place_in_the_queue(core):
    """A queue of 1, from which one leaves every 2 cycles, at 1, 3 and 5."""
    assert issues(core, *[instruction(COMMIT)] * 4, **{"mio.queue_depth": 1}) == [0, 1, 3, 5]
    warp = execute(core, ([instruction(COMMIT)] * 4, 1), figures=with_figures(FIGURES, {"mio.queue_depth": 1})).warps[
        0, 0
    ]
    assert warp.stalled("mio_throttle") == 2


def test_an_empty_load_has_a_place_and_takes_no_wavefront(core):
    """``@!PT LDS RZ, [RZ]``: it keeps a load behind it for 2 cycles, and the data stage for one."""
    empty = instruction(SHARED)
    ran = execute(core, ([empty, empty, lds(activity=0)], 1), figures=FIGURES)

    assert ran.warps[0, 0].notes == [(2, 5 - 1 + 23)]
    assert ran.chip.data_stage.wavefronts == 1


def test_what_takes_none_of_the_data_stage_passes_in_its_first_free_cycle():
    """Cycles 1, 3, 4 and 5 are taken: what comes at 1 passes at 2, what comes at 3 at 6."""
    chip = quiet()
    chip.data_stage.reserve(0, 1, 1, 0)
    chip.data_stage.reserve(0, 3, 3, 0)

    assert (chip.data_stage.next_free(0, 1), chip.data_stage.next_free(0, 3)) == (2, 6)


# --- the queues, by hand ---


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
        chip.smsp.log_take(tensor, at)
    chip.mio.collector.port_user[tensor] = 1

    assert chip.mio.collector.delay_by_issued_mma(0, 2, 100 + since, 3) == waits
    assert chip.mio.collector.delay_by_issued_mma(0, 2, 100 + since, 0) == 0
    assert chip.mio.collector.delay_by_issued_mma(0, 1, 100 + since, 3) == 0, (
        "its own mma.sync do not hold a warp's registers up"
    )


def test_a_machine_whose_gaps_are_not_known_reads_registers_as_without_mma_sync():
    chip = quiet(instruction(PIPE, pipe="tensor core", interval=6), machine=A100)
    tensor = chip.mio.collector.tensor
    for at in (100, 106):
        chip.smsp.log_take(tensor, at)
    chip.mio.collector.port_user[tensor] = 1

    assert chip.mio.collector.delay_by_issued_mma(0, 2, 112, 3) == 0


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
        assert chip.mio.smsp_exit > max(now, last[smsp])
        last[smsp] = chip.mio.smsp_exit
        free = [
            cycle for cycle in range(chip.mio.smsp_exit, chip.mio.smsp_exit + 33 + len(taken)) if cycle not in taken
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


NEAR_ONLY = replace(H200, l2=replace(H200.l2, far_fraction_percent=0))


def taken(core, requests, *, cached=True, stall=5000, l1_lines=8, machine=NEAR_ONLY, **memory):
    """Cycles that copies of requests take, from when they leave the MIO, one every so many cycles; and the chip."""
    code = [copy(fetch, stall=stall, activity=0, through_l1=cached) for fetch in range(len(requests))]
    figures = figures_of(machine, 0, busy=False)._replace(l1_lines=l1_lines)
    ran = execute(core, (code, 1), figures=figures, machine=machine, memory=Memory(requests, **memory))
    return [landed - at - 1 for at, landed in ran.warps[0, 0].notes], ran.chip
