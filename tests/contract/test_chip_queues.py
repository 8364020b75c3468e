"""The two queues of the MIO and the data stage behind them: places, registers, copies, and data that comes later."""

import pytest
from doubles.by_hand import A100, Memory, copy, execute, instruction, lds, load, quiet

from gpusim.sim.code import COMMIT, PIPE, SHARED
from gpusim.sim.figures import figures_of

FIGURES = figures_of(A100, 0, busy=False)._replace(
    constant_miss=0,
    queue_depth=8,
    sm_depth=28,
    sm_interval=1,
    smsp_interval=2,
    register_interval=2,
    source_release=4,
    copy_stage=3,
    copy_release=11,
    wavefronts_per_cycle=1,
    load_hit=33,
    copy_hit=39,
    l2_far_percent=0,
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
    own = FIGURES._replace(**figures)
    return execute(core, (code, 1), figures=own, memory=memory or Memory([(0, ())])).warps[0, 0].selected[: len(code)]


def landed(core, *code, memory=None, **figures):
    own = FIGURES._replace(**figures)
    ran = execute(core, (code, 1), figures=own, memory=memory or Memory([(0, ())]))
    return [at for _, at in ran.warps[0, 0].notes]


def slow(wavefronts, **fields):
    """An LDS of so many wavefronts."""
    return lds(**fields)._replace(wavefronts=((wavefronts,) * 32,))


# --- places ---


def test_loads_wait_in_the_queue_of_the_sm_and_then_in_that_of_their_smsp(core):
    """
    An SMSP's queue of 3 and an SM's of 2; loads of 32 wavefronts: the data stage takes them at 1, 33, 65, 97, ...

    The SM's queue takes them at 1, 3 and 5, two cycles apart; then its places are those of the second, free at 33, of
    the third, free at 65, and so on. A load issues when the third one before has left its SMSP, and one cycle after the
    one before at least: 0 to 5 for the first six, then 33 and 65.
    """
    assert issues(core, *[slow(32)] * 8, queue_depth=3, sm_depth=2) == [0, 1, 2, 3, 4, 5, 33, 65]


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
    assert issues(core, *[sts(registers)] * 4, queue_depth=1) == [0, 1, 1 + apart, 1 + 2 * apart]


@pytest.mark.parametrize(("registers", "free"), [(2, 9), (3, 11), (5, 15)])
def test_a_register_may_be_overwritten_some_cycles_after_the_last_was_read(core, registers, free):
    """One cycle to the queue, two for each register, 4 more: what was measured of stores of 4, 8 and 16 bytes."""
    assert issues(core, sts(registers, read=0), HALF._replace(waits=(0,), gated=True)) == [0, free]


def test_registers_do_not_wait_for_the_data_stage(core):
    """A load of 100 wavefronts keeps it until 101. A store behind it leaves its SMSP at 3, and has read 2 at 7: 11."""
    assert issues(core, slow(100), sts(2, read=0), HALF._replace(waits=(0,), gated=True)) == [0, 1, 11]


def test_those_of_a_copy_do(core):
    """A copy comes to the SM's queue at 3, and is taken at 101, when the load has been served: free at 112."""
    code = [slow(100), copy(0, read=0, registers=3), HALF._replace(waits=(0,), gated=True)]

    assert issues(core, *code) == [0, 1, 112]


@pytest.mark.parametrize(
    ("made", "reason"), [(lambda: copy(0, read=0), "long_scoreboard"), (lambda: sts(2, read=0), "short_scoreboard")]
)
def test_waiting_for_a_copy_s_registers_is_a_long_scoreboard(core, made, reason):
    code = [slow(100), made(), HALF._replace(waits=(0,), gated=True)]
    warp = execute(core, (code, 1), figures=FIGURES, memory=Memory([(0, ())])).warps[0, 0]

    assert warp.stalled("long_scoreboard", "short_scoreboard") == warp.stalled(reason) > 0


# --- copies ---


def test_two_copies_take_three_cycles_of_the_data_stage_when_they_are_issued():
    """3 half cycles each: one whole cycle and two by turns, for the half that is left is the next copy's."""
    chip = quiet(figures=FIGURES._replace(smsp_interval=1))
    log = [(chip.dispatch(0, 0, 0, 0, 3), chip.data_free[0]) for _ in range(4)]

    assert log == [(1, 2), (2, 4), (4, 5), (5, 7)]


def test_the_wavefronts_of_a_copy_are_taken_when_its_data_has_come(core):
    """
    A copy of a line leaves at 1 and is taken up there; DRAM has it 600 cycles later, and 39 - 33 more is a copy's: 607.

    A load right behind it leaves at 3: it is there after 3 - 1 + 23 cycles. One that leaves at 608 finds the data stage
    busy with the copy's 8 wavefronts, from 607 to 615.
    """
    far = copy(0)._replace(wavefronts=((8,),))
    waiting = HALF._replace(stall=605)
    code = [far, lds(activity=0), waiting, lds(activity=0)]

    assert landed(core, *code, memory=Memory([LINE])) == [25, 615 - 1 + 23]


def test_data_takes_the_stage_in_the_order_in_which_it_comes(core):
    """
    A copy from DRAM comes at 607; one behind it, whose line the L2 has from a copy long before, at 3 + 200 + 6 = 209.

    A load that leaves at 207 finds the stage free; one that leaves at 209 waits for 8 wavefronts, until 217.
    """
    memory = Memory([(4, ((1, 15),)), LINE])
    far, near = (copy(fetch)._replace(wavefronts=((8,),)) for fetch in (1, 0))
    code = [near, HALF._replace(stall=4999), far, near]
    early = [*code, HALF._replace(stall=204), lds(activity=0), HALF._replace(stall=1), lds(activity=0)]

    first, second = landed(core, *early, memory=memory)
    assert (first - 5000, second - 5000) == (207 - 1 + 23, 217 - 1 + 23)


def test_a_copy_has_two_places_in_both_queues(core):
    """
    A queue of 2: a copy fills it. The next issues when the first has left, at 1, the third when the second has, at 3.

    Loads of shared memory have one place each: the fourth issues when the second has left, at 3.
    """
    assert issues(core, copy(0), copy(0), copy(0), queue_depth=2) == [0, 1, 3]
    assert issues(core, lds(), lds(), lds(), lds(), queue_depth=2) == [0, 1, 2, 3]


# --- loads of global memory ---


def test_a_load_waits_for_its_wavefronts_when_its_data_has_come(core):
    """
    It leaves at 1; the line is there at 601. A wavefront writes the L1's line and one goes to the registers: 603.

    A second load of the line, which leaves at 3, has its data at 601, too, and its own wavefront after those two: 604.
    """
    own = load(0, activity=0)

    assert landed(core, own, own, memory=Memory([LINE])) == [603, 604]


def test_a_load_has_two_places_and_takes_a_cycle_of_the_data_stage(core):
    """Like a copy with 2 half cycles: the second load issues when the first has left, at 1, the third at 3."""
    assert issues(core, load(0), load(0), load(0), queue_depth=2, memory=Memory([LINE])) == [0, 1, 3]


# --- what only has a place ---


def test_a_commit_has_a_place_in_the_queue(core):
    """A queue of 1, from which one leaves every 2 cycles, at 1, 3 and 5."""
    assert issues(core, *[instruction(COMMIT)] * 4, queue_depth=1) == [0, 1, 3, 5]
    warp = execute(core, ([instruction(COMMIT)] * 4, 1), figures=FIGURES._replace(queue_depth=1)).warps[0, 0]
    assert warp.stalled("mio_throttle") == 2


def test_an_empty_load_has_a_place_and_takes_no_wavefront(core):
    """``@!PT LDS RZ, [RZ]``: it keeps a load behind it for 2 cycles, and the data stage for none."""
    empty = instruction(SHARED)
    ran = execute(core, ([empty, empty, lds(activity=0)], 1), figures=FIGURES)

    assert ran.warps[0, 0].notes == [(2, 5 - 1 + 23)]
    assert ran.chip.wavefronts == 1
