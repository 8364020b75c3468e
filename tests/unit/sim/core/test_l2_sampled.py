"""A chip that stands for a larger one: what it takes from the walk through the L2, and what it looks up itself."""

from dataclasses import replace

import pytest
from doubles.by_hand import (
    Memory,
    copy,
    epilogue_load,
    execute,
    quiet,
)
from doubles.figures import with_figures
from doubles.published import H200

from gpusim.machine.spec.l2 import L2CrossingSpec
from gpusim.sim.core.constants import READ
from gpusim.sim.figures import figures_of
from gpusim.sim.footprint import FROM_DRAM, IN_L2, JUST_WRITTEN, L2Status

FIGURES = with_figures(
    figures_of(H200, 0, busy=False), {"l2.far_fraction_percent": 0, "l2.merging.most": 4}, constant_miss=0
)
"""A hit takes 258 cycles, a miss 690."""


def sampled(*statuses, figures=FIGURES, **more):
    memory = Memory([(4, ((0, 15),))] * len(statuses), statuses=statuses, simulates_l2=False)
    return quiet(figures=figures, memory=memory, sms=4, **more)


def filled(chip, *requests, mask=15, status=0):
    """When each request, (SM, line, cycle), for the sectors of a mask has arrived."""
    chip.l2_sampled.status = status
    return [chip.l2_sampled.read(sm, chip.l2.lines.touch(line), mask, at * 1000, at) for sm, line, at in requests]


def test_what_the_walk_found_is_there_after_a_hit():
    chip = sampled(IN_L2)

    assert filled(chip, (0, 2, 0), (2, 4, 100)) == [258, 358]
    assert (chip.l2.looked_up, chip.dram.read_bytes) == (8, 0)


def test_what_the_walk_missed_comes_from_dram_for_all_that_ask_while_it_comes():
    """Who asks at 100 waits for the same data; who asks when it is there has a hit."""
    chip = sampled(FROM_DRAM)

    assert filled(chip, (0, 4, 0)) == [690]
    assert filled(chip, (1, 4, 100), (1, 4, 1000)) == [690, 1258]


def test_what_the_walk_missed_reaches_the_other_side_later():
    """Line 4 is at home with SM 2: it is there at 690, and 189 cycles later with SM 0. A hit crosses nothing."""
    figures = with_figures(FIGURES, {"l2.far_fraction_percent": 50}, l2_far=258, l2_crossing=189)
    chip = sampled(FROM_DRAM, IN_L2, figures=figures)

    assert filled(chip, (0, 4, 0), (2, 4, 0)) == [879, 690]
    assert filled(chip, (0, 8, 5000), status=1) == [5258]


@pytest.mark.parametrize("sm", [0, 1])
def test_an_sm_that_asks_again_for_what_is_on_its_way_looks_nothing_up(sm):
    chip = sampled(FROM_DRAM)
    filled(chip, (sm, 4, 0))
    before = chip.l2.looked_up

    assert filled(chip, (sm, 4, 100)) == [690]
    assert chip.l2.looked_up == before


def test_requests_of_a_copy_for_other_sectors_of_one_line_are_twins():
    """Of rows that lie askew a copy asks for a line once for the vectors at even places, and once for those at odd."""
    askew = ((0, 0b1000), (0, 0b1100), (1, 0b0001), (1, 0b0001), (2, 0b0111))
    chip = quiet(figures=FIGURES, memory=Memory([(9, askew)], statuses=[IN_L2], simulates_l2=False), sms=4)
    chip.lsu.coalescer.request = 0

    assert [chip.lsu.coalescer.splits_line(touched) for touched in range(5)] == [True, True, False, False, False]


def test_twins_are_looked_up_each_and_merged_with_none():
    """
    The walk has a quarter looked up of what four SMs ask for at once: three quarters of four sectors are 3,000.

    Of those that ask later a half wait, then 2 of 3 and 3 of 4: 1,500, 3,000 and 5,000 thousandths, so that the third
    request is merged for 4,000 of them; the fourth finds 1,000 + 2,250. Of twins none is merged.
    """
    chip = sampled(L2Status(slow=1000, missed=0, shared=4, looked=250))
    looked = []
    for chip.l2_sampled.splits_line in (False, True):
        for sm in range(4):
            before = chip.l2.looked_up
            filled(chip, (sm, 4 + 100 * chip.l2_sampled.splits_line, 9000 * chip.l2_sampled.splits_line + sm))
            looked.append(chip.l2.looked_up - before)

    assert looked == [4, 4, 0, 4, 4, 4, 4, 4]


def test_an_sm_looks_up_the_twin_of_a_request_that_is_on_its_way():
    """It waits for the same data, from DRAM, or for a hit of its own, where that is later."""
    chip = sampled(FROM_DRAM)
    filled(chip, (0, 4, 0))
    before, chip.l2_sampled.splits_line = chip.l2.looked_up, True

    assert filled(chip, (0, 4, 100), (0, 4, 600)) == [690, 858]
    assert chip.l2.looked_up == before + 8


@pytest.mark.parametrize(("lines", "looked"), [((0, 0), 4), ((0, 1), 0)], ids=["one line", "two lines"])
def test_a_copy_has_what_it_asks_twice_of_a_line_looked_up_twice(lines, looked):
    """All of it is merged with others', as the walk says, but not two requests for two sectors each of one line."""
    first, second = lines
    memory = Memory(
        [(4, ((first, 0b1100), (second, 0b0011)))], statuses=[L2Status(0, 0, shared=4, looked=0)], simulates_l2=False
    )
    chip = quiet(copy(0), figures=FIGURES, memory=memory, sms=4)
    chip.lsu.coalescer.request = chip.lsu.coalescer.base = chip.l2_sampled.status = 0
    chip.l2_sampled.merged_credit, chip.l2_sampled.later_mergeable = 4000, chip.l2_sampled.later
    chip.lsu.read_lines(0, 100, 100)

    assert chip.l2.looked_up == looked


def test_a_miss_begins_when_dram_is_free():
    """DRAM is busy until 500: 500 + 690."""
    chip = sampled(FROM_DRAM)
    chip.dram.channel_free[0] = 500_000

    assert filled(chip, (0, 4, 0)) == [1190]


def lines_read(chip, *requests):
    """Lines that DRAM transfers at each request, of all SMs that the chip stands for."""
    found = []
    for request in requests:
        before = chip.dram.read_bytes
        filled(chip, request)
        found.append((chip.dram.read_bytes - before) // (128 * chip.dram.share))
    return found


@pytest.mark.parametrize(("brought", "requests"), [(1000, 1), (250, 4), (125, 8)])
def test_dram_transfers_what_the_lines_that_a_sample_lacks_stand_for(brought, requests):
    """Where each stands for a quarter of a line, one is transferred for every four. All SMs' bytes are read."""
    chip = sampled(L2Status(slow=1000, missed=brought), share=10)

    assert lines_read(chip, *((0, 4 + 4 * number, 5000 * number) for number in range(requests))) == [
        *[0] * (requests - 1),
        1,
    ]


def test_dram_transfers_a_line_when_the_first_one_asks_and_nothing_for_others():
    """The first request takes the line's own bank; one that stands for two takes another one's, too."""
    figures = with_figures(FIGURES, {"dram.banks.channels": 8, "dram.banks.per_channel": 16}, dram_bank_busy=100_000)
    chip = sampled(FROM_DRAM, figures=figures)

    assert lines_read(chip, (0, 4, 0), (1, 4, 100), (2, 4, 5000)) == [1, 0, 0]
    assert [bank for bank in range(chip.dram.banks) if chip.dram.bank_free[bank]] == [chip.dram.bank_of(4)]

    chip = sampled(L2Status(slow=1000, missed=2000), figures=figures)

    assert lines_read(chip, (0, 4, 0)) == [2]
    assert sum(map(bool, chip.dram.bank_free)) == 2


def test_lines_that_one_asks_for_at_once_queue_behind_one_another():
    """DRAM of one bank that is busy for 100 cycles with each: the second line comes 100 later, the third 200."""
    figures = with_figures(FIGURES, {"dram.banks.channels": 1, "dram.banks.per_channel": 1}, dram_bank_busy=100_000)
    chip = sampled(FROM_DRAM, figures=figures)

    assert filled(chip, (0, 4, 0), (0, 8, 0), (0, 12, 0)) == [690, 790, 890]


def test_the_banks_of_a_part_of_the_chip_serve_its_part_of_the_accesses():
    """Of 188 channels a 33rd has six, 5 % more than its part: an access takes a bank 5 % longer."""
    figures = with_figures(FIGURES, {"dram.banks.channels": 188, "dram.banks.per_channel": 16}, dram_bank_busy=100_000)
    chip = sampled(IN_L2, figures=figures, share=33)

    assert (chip.dram.channels, chip.dram.banks) == (6, 96)
    assert chip.dram.bank_busy == 100_000 * 6 * 33 // 188


def test_of_lines_that_are_partly_slow_as_many_wait_as_the_walk_says():
    """Half of the sectors: of four lines of four sectors, the second and the fourth wait for DRAM."""
    chip = sampled(L2Status(slow=500, missed=0))

    assert [filled(chip, (0, 4 * line, 5000 * line))[0] - 5000 * line for line in range(4)] == [258, 690, 258, 690]


def test_what_could_not_be_spent_is_forgotten_beyond_a_request_of_all_lanes():
    """Lines that are there spend nothing: 32 lines of 4 sectors are 128 sectors, and no more is remembered."""
    chip = sampled(L2Status(slow=999, missed=0))
    filled(chip, *((number % 2, 4, 5000 * number) for number in range(100)))

    assert chip.l2_sampled.slow_credit == 128_000


@pytest.mark.parametrize(("looked", "sectors"), [(1000, 16), (500, 12), (0, 8)])
def test_requests_are_merged_as_the_walk_says_and_as_often_as_later_ones_wait(looked, sectors):
    """
    Before a later request has come, one of two is taken to wait.

    Of four requests for 4 sectors, of which half could be merged, a quarter is: one. Where all could be, two are.
    """
    chip = sampled(L2Status(slow=0, missed=0, looked=looked))
    filled(chip, *((0, 4 * number, 5000 * number) for number in range(4)))

    assert chip.l2.looked_up == sectors


def test_later_requests_that_wait_are_counted():
    """Two come while the line comes from DRAM: with the one of two that is taken to wait at first, three of four."""
    chip = sampled(L2Status(slow=1000, missed=0))
    filled(chip, (0, 4, 0), (1, 4, 100), (2, 4, 200))

    assert (chip.l2_sampled.later_mergeable, chip.l2_sampled.later) == (3, 4)


def test_later_requests_that_do_not_wait_are_counted_too():
    """The line is there at 690: who asks at 2000 does not wait. One of three."""
    chip = sampled(L2Status(slow=1000, missed=0, shared=4))
    filled(chip, (0, 4, 0), (1, 4, 2000))

    assert (chip.l2_sampled.later_mergeable, chip.l2_sampled.later) == (1, 3)


def test_a_merged_request_waits_its_turn_and_takes_none_of_the_l2_s_bandwidth():
    """An L2 of 1 byte a cycle, busy until 1000: all have a hit's latency after that; who is merged takes none of it."""
    chip = sampled(L2Status(slow=0, missed=0, looked=0), figures=FIGURES._replace(l2_bytes=1))
    chip.l2.arbiter.charge(READ, 0, 0, 1000)
    chip.l2_sampled.later_mergeable = chip.l2_sampled.later

    assert filled(chip, (0, 4, 0)) == [1258]
    assert (chip.l2.arbiter.done[READ], chip.l2.looked_up) == (1_000_000, 0)
    chip.l2_sampled.later_mergeable = 0

    assert filled(chip, (0, 8, 0)) == [1258]
    assert (chip.l2.arbiter.done[READ], chip.l2.looked_up) == (1_128_000, 4)


@pytest.mark.parametrize(("sm", "line", "shared", "looked"), [(0, 5, 1, 4), (0, 4, 1, 8), (2, 4, 1, 4), (0, 5, 5, 8)])
def test_what_is_brought_is_looked_up_in_both_partitions(sm, line, shared, looked):
    """
    That is where the line's home is on the other side, or more than four CTAs share it, which sit on both sides.

    Nothing waits, so nothing is merged: 4 sectors are looked up, and the 4 that are brought once more. Line 4 has an
    odd number of ones, and its home with SM 2.
    """
    chip = sampled(
        L2Status(slow=1000, missed=1000, shared=shared),
        figures=with_figures(FIGURES, {"l2.far_fraction_percent": 50}),
    )
    filled(chip, (sm, line, 0))

    assert chip.l2.looked_up == looked


def written(chip, sectors, *, stored=0, each=16):
    """Lines that are written to DRAM while so many sectors come, some at a time; each takes the next bank."""
    before = chip.dram.unnumbered
    for _ in range(sectors // each):
        chip.l2_sampled.displace(0, each, stored)
    return chip.dram.unnumbered - before


def test_stored_lines_are_written_as_what_comes_displaces_them():
    """
    An L2 of 16,384 lines finds room for 32,768 sectors that are stored, and as many that are read.

    The next 32,768 displace what was stored, 8,192 lines, but for two of its 256 parts; those behind it what was read.
    """
    chip = sampled(IN_L2, figures=FIGURES._replace(l2_lines=16384))

    assert (chip.l2_sampled.held_sectors, chip.l2_sampled.chunk_sectors) == (65536, 65536 // 256 + 1)
    assert written(chip, 32768, stored=1) + written(chip, 32768) == 0
    assert written(chip, 32768) == pytest.approx(8192, abs=2 * 257 // 4)
    assert written(chip, 32768 - 2 * 257) < 257 // 4


def test_what_is_written_waits_for_its_channel():
    """64 bytes a cycle: a line takes two. Of those that are displaced at once each waits for the one before."""
    figures = FIGURES._replace(l2_lines=16384, dram_bytes_per_kilocycle=64_000)
    chip = sampled(IN_L2, figures=figures)
    written(chip, 65536, stored=1)
    lines = written(chip, 160)

    assert lines == pytest.approx(160 // 4, abs=4)
    assert chip.dram.channel_free[0] == lines * 2000


def test_an_l2_that_stands_for_a_larger_one_is_full_sooner():
    """Each sector stands for those of ten SMs: 6,553 sectors fill the 65,536 of 16,384 lines."""
    chip = sampled(IN_L2, figures=FIGURES._replace(l2_lines=16384), share=10)

    assert written(chip, 6552, stored=1, each=4) == 0
    assert written(chip, 400, stored=1, each=4) == pytest.approx(100, abs=8)


# --- what is known of an epilogue ---


NEAR_ONLY = replace(H200, l2=replace(H200.l2, far_fraction_percent=0))


def taken(core, requests, *, cached=True, stall=5000, l1_lines=8, machine=NEAR_ONLY, **memory):
    """Cycles that copies of requests take, from when they leave the MIO, one every so many cycles; and the chip."""
    code = [copy(fetch, stall=stall, activity=0, through_l1=cached) for fetch in range(len(requests))]
    figures = figures_of(machine, 0, busy=False)._replace(l1_lines=l1_lines)
    ran = execute(core, (code, 1), figures=figures, machine=machine, memory=Memory(requests, **memory))
    return [landed - at - 1 for at, landed in ran.warps[0, 0].notes], ran.chip


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


def test_a_sampled_sm_waits_for_dram_in_the_walks_proportion():
    """A quarter of 4 sectors is slow: one sector of every request waits. An eighth is missed: one of every second."""
    chip, log = quiet(machine=NEAR_ONLY), []
    for number in range(4):
        at, before = 5000 * number, chip.dram.read_bytes
        done = known(chip, at, 4, status=L2Status(slow=250, missed=125)) - at
        log.append((done, chip.dram.read_bytes - before))

    assert log == [(NEAR_ONLY.dram.latency, size) for size in (0, 32, 0, 32)]


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
