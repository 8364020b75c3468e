"""DRAM's channels and banks: what serves accesses beside one another, and what one after the other."""

from collections import Counter
from dataclasses import replace

import pytest
from doubles.figures import with_figures
from doubles.published import H200
from hypothesis import given
from hypothesis import strategies as st

from gpusim.machine.spec import DramLateSpec
from gpusim.sim.core.constants import TENSOR_STRIDE, WAVE_STRIDE
from gpusim.sim.core.dram import Dram
from gpusim.sim.figures import figures_of
from gpusim.units import LINE_BYTES

KILOCYCLE = replace(H200, dram=replace(H200.dram, bandwidth_gb_s=64, achievable_percent=100, clock_mhz=1000))
"""64 bytes a cycle."""

FIGURES = with_figures(
    figures_of(KILOCYCLE, 0, busy=False),
    {"dram.banks.channels": 2, "dram.banks.per_channel": 3},
    dram_bank_busy=10_000,
)
"""Two channels of 32 bytes a cycle with three banks each, which an access of a line takes for 10 cycles."""

LINE = 128
IN_ORDER = figures_of(KILOCYCLE, 0, busy=False)
"""One channel, whose banks are not known."""


def begun(dram, bank, at, size=LINE, writes=0):
    """Cycle at which an access to a bank, issued at a cycle, is transferred."""
    return dram.occupy(bank, at, size, writes) / 1000


def test_a_bank_serves_one_access_after_the_other():
    """The line takes its channel for 128 / 32 = 4 cycles, and its bank for 10."""
    dram = Dram(FIGURES, 1)

    assert [begun(dram, 0, at) for at in (5, 5, 5)] == [5, 15, 25]


def test_banks_of_a_channel_share_its_bandwidth():
    """Banks 0, 2 and 4 are of channel 0: one transfer every 4 cycles. Bank 1 is of the other channel."""
    dram = Dram(FIGURES, 1)

    assert [begun(dram, bank, 0) for bank in (0, 2, 4, 1)] == [0, 4, 8, 0]


def test_parts_of_a_line_take_their_part_of_the_bank():
    """A sector is a quarter of a line: 2.5 cycles of the bank, one of the channel."""
    dram = Dram(FIGURES, 1)

    assert [begun(dram, 0, 0, size=32) for _ in range(3)] == [0, 2.5, 5]


def test_a_machine_whose_banks_are_not_known_has_one_channel_that_never_waits_for_a_bank():
    dram = Dram(figures_of(KILOCYCLE, 0, busy=False), 1)

    assert [begun(dram, dram.bank_of(line), 0) for line in (1, 2, 3)] == [0, 2, 4]


@pytest.mark.parametrize("share", [1, 2, 3])
def test_a_part_of_the_chip_has_its_part_of_the_channels(share):
    """
    Six channels: 6 / share are left, each as fast as before. What a simulated access stands for, share of them, takes
    one channel of the part for share * 128 / (64 / (6 / share)) / share cycles: 12.
    """
    dram = Dram(with_figures(FIGURES, {"dram.banks.channels": 6}, dram_bank_busy=0), share)

    assert dram.channels == 6 // share
    assert [begun(dram, 0, 0), begun(dram, 0, 0)] == [0, 12]


TURNS = with_figures(
    FIGURES,
    {"dram.turns.write_percent": 100, "dram.turns.lost": 64, "dram.turns.meanwhile": 1280},
    dram_bank_busy=0,
    dram_gathered=256,
)
"""Both turns take 2 cycles; a channel gathers two lines of writes, or fewer for 40 cycles."""


def test_reads_wait_for_both_turns_behind_the_writes_that_a_channel_gathers():
    """Two lines are written until 8: the read begins at 10. Its channel writes no more then, and reads on at 14."""
    dram = Dram(TURNS, 1)

    assert [begun(dram, 0, 0, writes=1) for _ in range(2)] == [0, 4]
    assert [begun(dram, 0, 0) for _ in range(2)] == [10, 14]


def test_fewer_writes_wait_for_some_time():
    """One line is written until 4, between reads. The first of these 40 cycles later, at 50, waits for both turns."""
    dram = Dram(TURNS, 1)

    assert [begun(dram, 0, 0, writes=1), *(begun(dram, 0, at) for at in (0, 30, 50, 60))] == [0, 4, 30, 52, 60]


def test_each_channel_turns_round_by_itself():
    """Two lines are written to channel 0: a read of channel 1 waits for nothing."""
    dram = Dram(TURNS, 1)
    for _ in range(2):
        begun(dram, 0, 0, writes=1)

    assert begun(dram, 1, 0) == 0


def test_a_written_line_takes_longer():
    """Twice as long: 8 cycles of its channel for 4. What is gathered is counted as it is."""
    dram = Dram(with_figures(TURNS, {"dram.turns.write_percent": 200}), 1)

    assert [begun(dram, 0, 0, writes=1), begun(dram, 0, 0), begun(dram, 0, 0, writes=1)] == [0, 8, 12]


@pytest.mark.parametrize("stride", [1, 2, 16, 32, 64, 2048, 4097])
def test_lines_of_any_stride_are_spread_as_if_at_random(stride):
    """
    40 lines for each of 752 banks: a Poisson distribution has a standard deviation of 6.3.

    Within 10 %: of 752 draws, the standard deviation of that is 2.6 %.
    """
    dram = Dram(with_figures(FIGURES, {"dram.banks.channels": 188, "dram.banks.per_channel": 4}), 1)
    found = Counter(dram.bank_of(number * stride) for number in range(752 * 40))
    spread = sum((found[bank] - 40) ** 2 for bank in range(752)) / 752

    assert spread**0.5 == pytest.approx(40**0.5, rel=0.1)


@given(st.integers(0, (1 << 47) - 1), st.integers(1, 300), st.integers(1, 32))
def test_every_line_has_a_bank(line, channels, banks):
    dram = Dram(with_figures(FIGURES, {"dram.banks.channels": channels, "dram.banks.per_channel": banks}), 1)

    assert 0 <= dram.bank_of(line) < channels * banks


@pytest.mark.parametrize("stride", [1, 8, 16, 33, 128])
@pytest.mark.parametrize("apart", [TENSOR_STRIDE, 2 * TENSOR_STRIDE, WAVE_STRIDE])
def test_equal_lines_of_two_tensors_share_a_bank_no_more_often_than_others(stride, apart):
    """Of 752 banks one in 752 pairs would by chance, 5 of 4,096, and fewer than 20 nearly always."""
    dram = Dram(with_figures(FIGURES, {"dram.banks.channels": 47, "dram.banks.per_channel": 16}), 1)
    same = sum(dram.bank_of(number * stride) == dram.bank_of(number * stride + apart) for number in range(4096))

    assert dram.banks == 752
    assert same < 20


# --- reads ---


def served(dram, at, size):
    """Cycle at which DRAM begins to serve a request."""
    return dram.read(0, 0, at * 1000, size, at) - KILOCYCLE.dram.latency


def test_dram_serves_one_request_after_the_other():
    """At 64 bytes a cycle, 128 bytes take 2 cycles: asked at 10, 10 and 11, served from 10, 12 and 14."""
    dram = Dram(IN_ORDER, 1)

    assert [served(dram, at, 128) for at in (10, 10, 11)] == [10, 12, 14]
    assert dram.read_bytes == 384


def test_dram_stands_for_all_sms_that_a_simulated_one_stands_for():
    """32 bytes for each of 10 SMs are 320 bytes: 5 cycles."""
    dram = Dram(IN_ORDER, 10)

    assert [served(dram, 0, 32) for _ in range(3)] == [0, 5, 10]
    assert dram.read_bytes == 960


def test_an_idle_dram_does_not_save_its_bandwidth_up():
    dram = Dram(IN_ORDER, 1)
    served(dram, 0, 64)

    assert [served(dram, 500, 6400), served(dram, 500, 64)] == [500, 600]


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(1, 64)), min_size=1, max_size=40))
def test_dram_never_exceeds_its_bandwidth(requests):
    """All bytes asked for up to some time are served no sooner than the bandwidth allows."""
    dram, now = Dram(IN_ORDER, 1), 0
    for gap, sectors in requests:
        now += gap
        begins = served(dram, now, sectors * 32)
        assert begins >= now
    served_until = begins + requests[-1][1] * 32 // 64

    assert served_until * 64 + 64 >= sum(sectors for _, sectors in requests) * 32


# --- latencies, and refresh ---


NEAR_ONLY = with_figures(figures_of(H200, 0, busy=False), {"l2.far_fraction_percent": 0}, constant_miss=0)
"""A hit takes 258 cycles, a miss 690."""
STANDS = {"dram_least": 500, "dram_on_time": 500, "dram_late_cycles": 100, "dram_late_period": 1000}
"""Parts of DRAM that stand still for 100 cycles of every 1000; all loads that are on time take 500."""


def standing(lines=8, masks=(), **figures):
    late = DramLateSpec(on_time=500, cycles=100, period=1000, region_bytes=lines * LINE_BYTES, part_masks=masks)
    return Dram(with_figures(NEAR_ONLY, {"dram.late": late} | STANDS | figures), 1)


def test_a_part_of_dram_stands_still_once_in_a_period():
    """A load that comes when 30 of 100 cycles have passed waits for the other 70; one at any other time for none."""
    dram = standing()
    begin = next(at for at in range(1000) if dram.refresh_left(0, at) == 100)

    assert [dram.refresh_left(0, begin + after) for after in (0, 30, 99, 100, 999, 1000)] == [
        100,
        70,
        1,
        0,
        0,
        100,
    ]
    assert [dram.arrival(0, begin + after) - begin - after for after in (0, 30, 100)] == [600, 570, 500]


@pytest.mark.parametrize("masks", [(), (9,), (9, 18, 36)])
def test_lines_of_one_region_have_as_many_phases_as_it_has_parts(masks):
    """
    Sixty-four lines of a region: those for which the parities of all masks are the same have one phase, others another.
    Another region has others, and so has that of another tensor; another wave's is the same memory.
    """
    dram = standing(lines=64, masks=masks)

    def phase(line):
        return tuple(dram.refresh_left(line, at) for at in range(1000))

    def phases(first):
        return {phase(first + line) for line in range(64)}

    of = {}
    for line in range(64):
        of.setdefault(tuple((line & mask).bit_count() % 2 for mask in masks), set()).add(phase(line))
    assert {len(found) for found in of.values()} == {1}
    assert len(of) == len(phases(0)) == len(phases(64)) == len(phases(TENSOR_STRIDE)) == 2 ** len(masks)
    assert not phases(0) & phases(64)
    assert not phases(0) & phases(TENSOR_STRIDE)
    assert phases(64 + WAVE_STRIDE) == phases(64)


def test_a_load_of_any_region_at_any_time_is_late_as_often_as_a_part_stands_still():
    """100 of 1000 cycles: of 20,000 loads a tenth, within half of a hundredth."""
    dram = standing()
    late = sum(dram.refresh_left(8 * at, 7 * at) > 0 for at in range(20_000))

    assert late == pytest.approx(2_000, abs=100)


def test_loads_on_time_take_any_latency_as_far_above_their_median_as_the_least_is_below():
    """Of 10,000 from 500 to 900 about 700: the mean is 700, and no bound is passed. None stands still."""
    dram = standing(dram_on_time=700, dram_late_cycles=0)
    drawn = [dram.arrival(0, 0) for _ in range(10_000)]

    assert sum(drawn) / len(drawn) == pytest.approx(700, abs=5)
    assert (min(drawn), max(drawn)) == (500, 899)


def latencies(count, **figures):
    """The latencies of so many misses."""
    dram = Dram(with_figures(NEAR_ONLY, **figures), 1)
    return [dram.arrival(0, 0) for _ in range(count)]


SPREAD = {"dram_least": 1000, "dram_latency": 2000, "dram_late": 4000, "dram_later": 7000, "dram_most": 9000}


def test_the_latencies_of_misses_have_the_machine_s_quantiles():
    """Of 100,000: half are below 2000, nine in ten below 4000, 98 in a hundred below 7000, all from 1000 to 9000."""
    drawn = sorted(latencies(100_000, **SPREAD))

    below = [sum(one < bound for one in drawn) / 1000 for bound in (2000, 4000, 7000)]
    assert below == pytest.approx([50, 90, 98], abs=0.5)
    assert (drawn[0], drawn[-1]) == (1000, 8900)


@pytest.mark.parametrize(
    ("begin", "end", "middle"), [(0, 0.5, 1500), (0.5, 0.9, 3000), (0.9, 0.98, 5500), (0.98, 1, 8000)]
)
def test_between_two_quantiles_all_latencies_are_alike(begin, end, middle):
    drawn = sorted(latencies(100_000, **SPREAD))
    part = drawn[int(begin * 100_000) : int(end * 100_000)]

    assert sum(part) / len(part) == pytest.approx(middle, rel=0.02)


def test_the_first_two_latencies_are_those_of_the_generator():
    """
    12345 / 2^31 is 0 thousandths: the least. (12345 * 1103515245 + 12345) modulo 2^31 is 1,406,932,606: 655.

    2000 + 2000 * 155 / 400 = 2775. Every chip draws the same.
    """
    assert latencies(2, **SPREAD) == latencies(2, **SPREAD) == [1000, 2775]


def test_where_all_quantiles_are_equal_every_miss_takes_as_long():
    assert set(latencies(1000)) == {H200.dram.latency}
