"""SMSPs fed with instructions by hand: which warp issues when, what pipes cost, and why a warp waits."""

from collections import Counter

import numpy as np
import pytest
from doubles.by_hand import (
    A100,
    Memory,
    Traced,
    assembly,
    chip_of,
    execute,
    instruction,
    lds,
    load,
    notes_of,
    quiet,
    spans_of,
    traced_store,
)
from doubles.figures import with_figures

from gpusim.sim.core.constants import BAR, FENCE, PASSES, PIPE
from gpusim.sim.figures import figures_of
from gpusim.sim.stall_reasons import REASONS, SELECTED


@pytest.mark.parametrize(
    ("stall", "expected"),
    [(1, [0, 8, 16, 24]), (25, [0, 25, 50, 75])],
    ids=["independent", "dependent"],
)
def test_mma_sync_issues_at_its_interval_or_its_latency(core, stall, expected):
    """m16n8k16 on A100: one every 8 cycles; a dependent one 25 cycles after. Source: Sun et al. 2022, table 3."""
    mma = instruction(PIPE, pipe="tensor core", stall=stall)

    ran = execute(core, ([mma] * 4, 1))

    assert ran.warps[0, 0].issues[:-1] == expected


@pytest.mark.parametrize(("percent", "second"), [(0, 8), (50, 9), (70, 9), (100, 10)])
def test_arithmetic_takes_time_of_an_mma_that_is_being_fed(core, percent, second):
    """
    An mma.sync at 0 keeps A100's tensor core until 8. Two instructions that read registers, at 1 and 3, cost it whole
    cycles: of twice 50 or 70 per cent one, of twice 100 two. One of the uniform pipe costs none.
    """
    assert A100.tensor["m16n8k16.f16.f32"].interval == 8
    mma, busy = instruction(PIPE, pipe="tensor core"), instruction(PIPE, pipe="alu", mma_hundredths=percent)
    figures = figures_of(A100, 0, busy=False)._replace(constant_miss=0)
    ran = execute(core, ([mma, busy, busy, instruction(PIPE, pipe="uniform"), mma], 1), figures=figures)

    assert ran.warps[0, 0].selected[4] == second


def test_a_warp_waiting_for_the_tensor_core_is_throttled_by_the_pipe(core):
    """
    Two warps of one SMSP, three MMAs each: the pipe takes one every 8 cycles, and one warp keeps it while it can.

    Warp 0 issues at 0, then both are ready when the pipe frees at 8: the greedy one goes on, at 8 and at 16. Warp 4
    waits until 24: at 0, 8 and 16 it could have been issued and was not selected, in between the pipe was busy.
    """
    ran = execute(core, ([instruction(PIPE, pipe="tensor core")] * 3, 1), warps=5)
    first, second = ran.warps[0, 0], ran.warps[0, 4]
    start = second.launched + A100.constant_cache.miss_latency

    assert first.issues == [0, 8, 16, 17]
    assert [at - start for at in second.selected] == [24, 32, 40, 41]
    waits = [
        (0, 1, "not_selected"),
        (1, 8, "math_pipe_throttle"),
        (8, 9, "not_selected"),
        (9, 16, "math_pipe_throttle"),
    ]
    waits += [(16, 17, "not_selected"), (17, 24, "math_pipe_throttle")]
    assert second.spans[1:7] == [(start + begin, start + end, reason) for begin, end, reason in waits]


def test_a_warp_waits_for_its_own_instruction_in_a_pipe_as_for_a_fixed_latency(core):
    """
    One warp, three MMAs: 0, 8 and 16. Nobody throttles it: on an H200 the HMMA of a lone warp of an SMSP has next to
    no sample of math_pipe_throttle where another warp's would (reports/measured/h200/samples).
    """
    (warp,) = execute(core, ([instruction(PIPE, pipe="tensor core")] * 3, 1)).warps.values()

    assert warp.issues == [0, 8, 16, 17]
    assert {reason for _, _, reason in warp.spans} >= {"wait", "selected"}
    assert "math_pipe_throttle" not in {reason for _, _, reason in warp.spans}


def test_a_warp_that_is_stalled_leaves_the_pipe_to_another(core):
    """
    Warps 0 and 4 share SMSP 0. ALU instructions hold the pipe for 2 cycles and stall the warp for 3.

    0 issues at 0. At 2 the pipe is free, warp 0 is stalled until 3: warp 4. At 4 the pipe is free: warp 0 (from 3),
    for warp 4 is stalled until 5. And so on, in turns.
    """
    ran = execute(core, ([instruction(PIPE, stall=3)] * 3, 1), warps=5)
    start = A100.constant_cache.miss_latency
    log = sorted((at - start, warp) for (_, warp), one in ran.warps.items() if warp in (0, 4) for at in one.selected)

    assert log == [(0, 0), (2, 4), (4, 0), (6, 4), (8, 0), (10, 4), (11, 0), (13, 4)]


def test_warps_that_compete_for_a_pipe_take_turns_at_runs_and_none_starves(core):
    """
    Warps 0, 4 and 8 share SMSP 0's tensor core, which takes an MMA every 8 cycles; a warp stalls for 9 after two.

    Warp 0's first goes at 0, its second at 8: it issued last. At 16 it is stalled, until 17: of the other two, which
    have not issued yet, the older one, 4, goes on, at 16 and 24. At 32 warp 0 last issued at 8, but warp 8 never did:
    that one, at 32 and 40. At 48 warp 0 waits since 8, and 4 since 24; and so on. Were the oldest chosen, warp 8 would
    wait until warp 0 is done.
    """
    mma = instruction(PIPE, pipe="tensor core")
    figures = figures_of(A100, 0, busy=False)._replace(constant_miss=0)
    ran = execute(core, ([mma, mma._replace(stall=9)], 3), warps=9, figures=figures)
    log = sorted((at, warp) for (_, warp), one in ran.warps.items() if warp in (0, 4, 8) for at in one.selected)

    assert log[:12] == list(zip(range(0, 96, 8), (0, 0, 4, 4, 8, 8) * 2, strict=True))


def test_one_that_has_issued_elsewhere_since_is_the_last(core):
    """
    As above, in two rounds: warp 0 ends at 65, between the MMAs of warp 4 at 64 and 72.

    So the last one is warp 0; of those that go on, warp 8 waits since 40 and warp 4 since 64: 8 has 72 and 80.
    """
    mma = instruction(PIPE, pipe="tensor core")
    figures = figures_of(A100, 0, busy=False)._replace(constant_miss=0)
    ran = execute(core, ([mma, mma._replace(stall=9)], 2), warps=9, figures=figures)

    assert [ran.warps[0, warp].selected[2:] for warp in (0, 4, 8)] == [[48, 56, 65], [64, 88, 97], [72, 80, 89]]


def three_ctas(core, first, second):
    """Issues of warp 0 of three CTAs with a warp on each SMSP: two rounds of two MMAs, 8 cycles each."""
    figures = figures_of(A100, 0, busy=False)._replace(constant_miss=0)
    ran = execute(core, ([first, second], 2), warps=4, ctas=3, figures=figures)
    return [ran.warps[cta, 0].selected[:4] for cta in range(3)]


def test_of_ctas_whose_warps_wait_for_no_scoreboard_the_first_goes_before_the_others(core):
    """
    A stall for 9 after two MMAs, as above. CTA 0's at 0 and 8; stalled until 17, so CTA 1's at 16. At 24 CTA 1 could
    go on, but CTA 0 came first and is ready since 17: at 24 and 32, its last two. CTA 1 goes on at 40, and is stalled
    until 49, so CTA 2's at 48; at 56 and 64 CTA 1's last two, and then CTA 2's at 72, 81 and 89.
    """
    mma = instruction(PIPE, pipe="tensor core")

    assert three_ctas(core, mma, mma._replace(stall=9)) == [[0, 8, 24, 32], [16, 40, 56, 64], [48, 72, 81, 89]]


def test_a_scoreboard_that_is_free_when_it_is_named_puts_no_warp_behind_others(core):
    """As above, though the first of each two MMAs names one that nothing holds."""
    mma = instruction(PIPE, pipe="tensor core")
    naming = instruction(PIPE, pipe="tensor core", waits=(0,))

    assert three_ctas(core, naming, mma._replace(stall=9)) == three_ctas(core, mma, mma._replace(stall=9))


def test_a_warp_that_has_waited_for_a_scoreboard_comes_after_those_that_have_not(core):
    """
    A load, whose value is there after 23, and five MMAs, of which the first waits for it. CTA 0's load is at 0, its
    MMAs at 23 and every 8 until 55; stalled for 9, its next load is at 64. CTA 1's first MMA has waited, too, and comes
    at 63. At 95, its last one's turn, CTA 0 came first and is ready since 64 + 23 = 87, but has waited: it goes on at
    103. With a free scoreboard it would have been its turn, as above.
    """
    mma = instruction(PIPE, pipe="tensor core")
    run = [lds(write=0, stall=1), mma._replace(waits=(0,), gated=True), *[mma] * 3, mma._replace(stall=9)]
    figures = figures_of(A100, 0, busy=False)._replace(constant_miss=0)
    ran = execute(core, (run, 2), warps=4, ctas=2, figures=figures)

    assert ran.warps[0, 0].selected[:8] == [0, 23, 31, 39, 47, 55, 64, 103]
    assert ran.warps[1, 0].selected[:7] == [1, 63, 71, 79, 87, 95, 104]


def test_an_idle_issue_slot_that_another_warp_took_counts_as_not_selected(core):
    """Stall 1, the pipe free each cycle (half, interval 1): warp 0 keeps the slot for 4 cycles, warp 4 looks on."""
    ran = execute(core, ([instruction(PIPE, pipe="half")] * 4, 1), warps=5)
    waiting = ran.warps[0, 4]
    start = A100.constant_cache.miss_latency

    # The exit of warp 0 takes the slot at 4.
    looks_on = [(start + cycle, start + cycle + 1, "not_selected") for cycle in range(5)]
    assert waiting.spans[1:7] == [*looks_on, (start + 5, start + 6, "selected")]


def test_after_a_mufu_its_smsp_issues_nothing_for_some_cycles(core):
    """
    Warps 0 and 4 share SMSP 0; a MUFU holds its dispatch for 3 cycles, besides its own.

    Warp 0's at 0. The next cycle in which anything issues is 4: warp 0 goes on, at 4 and, with its exit, at 5. Warp 4's
    MUFU waits for the pipe until 8, and what follows it until 12. Warp 1, on another SMSP, shares none of that.
    """
    mufu = instruction(PIPE, pipe="mufu", dispatches=True)
    figures = with_figures(figures_of(A100, 0, busy=False), {"dispatch.mufu": 3}, constant_miss=0)
    ran = execute(core, ([mufu, instruction(PIPE, pipe="half")], 1), warps=5, figures=figures)

    assert A100.pipes["mufu"].interval == 8
    assert [ran.warps[0, warp].selected for warp in (0, 1, 4)] == [[0, 4, 5], [0, 4, 5], [8, 12, 13]]
    assert ran.warps[0, 0].spans[1] == (1, 4, "dispatch_stall")
    assert ran.warps[0, 4].spans[-3] == (9, 12, "dispatch_stall")


def test_of_warps_that_go_on_together_the_last_one_goes_first_then_the_one_that_waits_longest(core):
    """
    Warps 0, 4 and 8 share SMSP 0, and wait for the same data, which passes the data stage a line a cycle: they have it
    in turn, and go on to the barrier. When that lets all go, the last one was 8; of the others, 0 arrived before 4.
    """
    half = instruction(PIPE, pipe="half")
    asked = load(0, write=0)._replace(wavefronts=((0,) * 32,))
    waiting, joining = half._replace(waits=(0,), gated=True), half._replace(joins=True)
    code = [asked, waiting, instruction(BAR), joining, half]
    ran = execute(core, (code, 1), warps=9, memory=Memory([(1, ((0, 1),))]))

    def order(place):
        return sorted((0, 4, 8), key=lambda warp: ran.warps[0, warp].selected[place])

    assert [order(place) for place in range(4)] == [[0, 4, 8], [0, 4, 8], [0, 4, 8], [8, 0, 4]]


@pytest.mark.parametrize(("blocked", "cycle"), [(0, 1000 + 102), (1, 1000 + 22 + 2)], ids=["a CTA", "a warp"])
def test_nobody_comes_to_an_smsp_sooner_than_a_launch_or_a_barrier_takes(blocked, cycle):
    """A CTA that replaces another: 2 + 100 cycles. A warp at a barrier: the last arrival now, 2 cycles, and 22."""
    chip = quiet()
    chip.warps.blocked[0] = blocked

    assert chip.smsp.horizon(0, 1000) == cycle


def test_one_smsp_issues_at_most_one_instruction_a_cycle(core):
    code = [lds(), instruction(PIPE), instruction(PIPE, pipe="half"), instruction(BAR)]
    ran = execute(core, (code, 20), warps=8, ctas=2)
    slots = Counter((warp.smsp, at) for warp in ran.warps.values() for at in warp.selected)

    assert set(slots.values()) == {1}


def asked(*lines):
    """The request of some (line, sector mask)."""
    return sum(mask.bit_count() for _, mask in lines), lines


def test_smsps_that_are_woken_in_one_cycle_go_in_their_order_and_those_that_arrived_last_behind_them(core):
    """
    Six warps at a barrier. 4 and 5 arrive last, in one cycle, on SMSPs 0 and 1, which look again when that is over.

    Warps 2 and 3 wake SMSPs 2 and 3: at the release these issue before 0 and 1. Of two warps of an SMSP the last one
    goes first: 2, 3, 4, 5, then 0 and 1.
    """
    figures = with_figures(
        figures_of(A100, 0, busy=False), {"mio.sm_interval": 1, "mio.smsp_interval": 2}, constant_miss=0
    )
    ran = execute(core, ([instruction(BAR), lds(activity=0)], 1), warps=6, figures=figures)
    landed = {warp: ran.warps[0, warp].notes[0][1] for warp in range(6)}

    assert sorted(landed, key=landed.__getitem__) == [2, 3, 4, 5, 0, 1]


def test_a_warp_that_has_left_a_barrier_counts_no_more_among_those_that_wait_there(core):
    """A CTA of one warp passes a barrier and ends. The next one finds all SMSPs empty, and takes the first again."""
    code = assembly(([instruction(BAR)], 1), warps=1)
    chip = chip_of(code, figures_of(A100, 0, busy=False), core, ctas=2, slots=1)
    smsps = []
    for cta in range(2):
        chip.hand(0, cta, 1000 * cta, 1)
        while chip.run() >= 0:
            smsps.append(notes_of(chip)[-1][2])

    assert smsps == [0, 0]


def test_an_smsp_issues_ahead_no_further_than_the_launch_of_a_cta_that_is_announced(core):
    """
    CTA 0 issues on every SMSP at 0, 3, 6 and so on. CTA 1 is to come at 10, before one that replaces another could.

    It finds cycle 10 free, for CTA 0 has issued at 9 and will at 12.
    """
    half = instruction(PIPE, pipe="half", stall=3)
    code = assembly(([half] * 30, 1), warps=4)
    chip = chip_of(code, figures_of(A100, 0, busy=False)._replace(constant_miss=0), core, ctas=2)
    chip.hand(0, 0, 0, 0)
    chip.hand(0, 1, 10, 1)
    while chip.run() >= 0:
        pass
    selected = [begin for warp, begin, _, reason in spans_of(chip) if (warp, reason) == (0, SELECTED)]

    assert selected[:4] == [10, 13, 16, 19]


def test_lanes_that_differ_take_further_passes_of_a_pipe(core):
    """
    A traced instruction of the ALU, whose interval is 2 and latency 4 cycles: of one distinct value, then of five. The
    second keeps the pipe for 5 * 2 cycles, until 12, and its result is 4 * 3 cycles later than alone: 2 + 4 + 12 = 18.
    """
    figures = with_figures(figures_of(A100, 0, busy=False), {"constant_cache.indexed.further": 3}, constant_miss=0)
    match = instruction(PIPE, traced=True, write=0)._replace(kind=PASSES)
    follows = instruction(PIPE, stall=1)
    memory = Memory(trace=[Traced(wavefronts=1), Traced(wavefronts=5)])
    code = [match._replace(write=1), match, follows, instruction(PIPE, pipe="half", waits=(0,))]
    ran = execute(core, (code, 1), figures=figures, memory=memory)

    assert ran.warps[0, 0].selected == [0, 2, 12, 18, 19]


def test_cycles_are_counted_at_the_instruction_that_is_issued_next(core):
    """
    Eight warps, two additions each, of a kernel with traces: every cycle of a warp is counted once, at the instruction
    before which it passes, the wait for the kernel's parameters at the first.
    """
    memory = Memory(trace=[Traced()])
    ran = execute(core, ([instruction(PIPE)] * 2, 1), warps=8, memory=memory)
    counted = np.array(ran.chip.by_instruction).reshape(-1, len(REASONS))

    assert counted[:, SELECTED].tolist() == [8, 8, 8]
    assert counted.sum(axis=0).tolist() == list(ran.chip.stalls)


def test_a_fence_waits_for_what_its_warp_has_stored(core):
    """
    A fence of 20 cycles, with nothing stored: it issues at 0, and the next instruction at 20. Behind a store it waits
    for the acknowledgement of the L2 first.
    """
    fence = instruction(PIPE, pipe="branch", latency=20)._replace(kind=FENCE)
    half = instruction(PIPE, pipe="half")
    figures = figures_of(A100, 0, busy=False)._replace(constant_miss=0)
    alone, behind = (
        execute(core, (code, 1), figures=figures, memory=Memory(trace=[Traced(((0, 0b1111),))]))
        for code in ((fence, half), (traced_store(), fence, half))
    )

    assert alone.warps[0, 0].selected[:2] == [0, 20]
    assert behind.warps[0, 0].selected[2] == behind.chip.stores.acknowledged + 20
    assert behind.warps[0, 0].stalled("membar") > 20
