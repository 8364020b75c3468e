"""Which CTAs of a launch are of the first wave, and what is counted of a sampled one."""

from types import SimpleNamespace

import pytest
from doubles.published import H200
from problems.small import small_gemm

from gpusim.families.gemm.timed import TimedTileKernel
from gpusim.sim import launch as sim_launch
from gpusim.sim.cta_scheduler import CtaLife
from gpusim.sim.doubt import SampleDoubt, written_bytes
from gpusim.sim.launch import (
    Launch,
    _first_of_chains,
    _outcome,
    left_to_chance,
    simulate_launch,
    watched_cta,
)
from gpusim.sim.run import Ran
from gpusim.sim.stall_reasons import REASONS


def test_the_first_wave_ends_where_every_sm_is_full(monkeypatch):
    kernel, waves = TimedTileKernel(small_gemm(64 * 20, 64 * 20, 64), H200), []
    found = kernel.found
    monkeypatch.setattr(
        kernel, "found", lambda cta, *, first_wave: waves.append(first_wave) or found(cta, first_wave=first_wave)
    )
    launch = Launch(kernel, {0: kernel.stream(0, "estimated")}, 2)
    launch.run((0, 2 * 132 - 1, 2 * 132), sms=1, share=1, walk=None, watched=0)

    assert waves == [True, True, False]


def test_the_cta_to_watch_has_most_work_and_is_the_first_of_several():
    work = {0: 3, 1: 5, 2: 5, 3: 4}
    launch = SimpleNamespace(kernel=SimpleNamespace(work=work.__getitem__))

    assert watched_cta(launch, [3, 2, 1, 0]) == 1
    assert watched_cta(launch, [0, 3]) == 3


def outcome_of(share, ctas, acknowledged):
    """What is gathered of three CTAs on two SMs: 100 to 400 on one, 150 to 250 and 250 to 500 on the other."""
    kernel = SimpleNamespace(k_tiles=lambda cta: 10 + cta)
    lives = (CtaLife(0, 0, 100, 400), CtaLife(1, 1, 150, 250), CtaLife(2, 1, 250, 500))
    stalls = tuple(7 * (reason == "wait") for reason in REASONS)
    ran = Ran(
        lives=lives,
        stalls=stalls,
        instructions=1000,
        asked_sectors=60,
        l2_sectors=50,
        dram_bytes=1,
        looked_up=40,
        dram_written=2,
        stored_bytes=3,
        acknowledged=acknowledged,
        seconds=0.5,
        observer=None,
    )
    launch = SimpleNamespace(kernel=kernel, ctas=ctas, instructions=333 * ctas)
    return _outcome(launch, ran, share, dram_bytes=8, dram_written=9)


def test_a_launch_lasts_until_its_last_span_or_its_last_store():
    """Spans of 300 and 350 cycles, 325 in the mean. A store acknowledged at 600 is 500 after the first launch."""
    assert (outcome_of(1, 3, 0).active, outcome_of(1, 3, 0).longest) == (325, 350)
    assert outcome_of(1, 3, 440).longest == 350
    assert outcome_of(1, 3, 600).longest == 500


def test_a_simulated_sm_counts_as_many_times_as_it_stands_for():
    """
    Of stalls, not of instructions and k tiles, which are those simulated. Of sectors, 40 of 1000 instructions are 399
    of the launch's 9990.
    """
    ten, one = outcome_of(10, 30, 0), outcome_of(1, 3, 0)

    assert (one.stalls, ten.stalls) == ({"wait": 7}, {"wait": 70})
    assert (one.l2_sectors, ten.l2_sectors) == (40, 399)
    assert (ten.instructions, ten.k_tiles, ten.ctas) == (1000, 10 + 11 + 12, 3)
    assert (ten.dram_bytes, ten.dram_written) == (8, 9)
    assert (one.sampled, ten.sampled) == (False, True)


GEMM = SimpleNamespace(alternates=False)


def test_ctas_that_use_several_pipes_by_turns_are_left_to_chance_where_an_sm_has_two():
    """Those of attention: on an RTX 3060 some SMs run them 6 % slower than others, as they fall into step."""
    attention = SimpleNamespace(alternates=True)
    launches = [
        SimpleNamespace(kernel=kernel, instructions=10**8, ctas=10_000, working=132, ctas_per_sm=slots, is_even=True)
        for kernel in (GEMM, attention)
        for slots in (1, 2)
    ]

    assert [bool(left_to_chance(launch)) for launch in launches] == [False, False, False, True]


def stub(monkeypatch, doubts=""):
    """Let an exact run's outcome be True, and a sample's False, with what is in doubt."""
    doubt = SampleDoubt(
        dram_bytes=0, dram_written=0, time="time" * ("time" in doubts), bytes="bytes" * ("bytes" in doubts)
    )
    monkeypatch.setattr(sim_launch, "_exact", lambda *_: True)
    monkeypatch.setattr(sim_launch, "simulate_sample", lambda *_: (False, doubt))


@pytest.mark.parametrize(
    ("instructions", "exact", "doubts", "whole"),
    [
        (60_000_000, None, "", False),
        (60_000_000, None, "time", True),
        (60_000_000, False, "time", True),
        (60_000_000, None, "bytes", True),
        (60_000_000, False, "bytes", False),
        (400_000_000, None, "time bytes", True),
        (400_000_001, None, "time bytes", False),
    ],
)
def test_what_a_sample_cannot_tell_is_simulated_whole(monkeypatch, instructions, exact, doubts, whole):
    """Up to 400 million warp instructions; whoever asks for a sample gets bytes in doubt, and no time in doubt."""
    stub(monkeypatch, doubts)
    launch = SimpleNamespace(
        instructions=instructions, kernel=GEMM, ctas=10_000, working=132, ctas_per_sm=1, is_even=True
    )

    assert simulate_launch(launch, exact=exact, progress=lambda _: None) is whole


@pytest.mark.parametrize(("instructions", "exact", "whole"), [(50_000_000, None, True), (50_000_001, None, False)])
def test_fifty_million_warp_instructions_are_simulated_exactly(monkeypatch, instructions, exact, whole):
    stub(monkeypatch)
    launch = SimpleNamespace(
        instructions=instructions, kernel=GEMM, ctas=10_000, working=132, ctas_per_sm=1, is_even=True
    )

    assert simulate_launch(launch, exact=exact, progress=print) is whole


def test_whoever_asks_for_either_gets_it(monkeypatch):
    """Unless the launch hangs on a few CTAs: 133 on 132 SMs."""
    stub(monkeypatch)
    large = SimpleNamespace(instructions=10**9, kernel=GEMM, ctas=10_000, working=132, ctas_per_sm=1, is_even=True)
    few = SimpleNamespace(instructions=10**6, kernel=GEMM, ctas=133, working=132, ctas_per_sm=1, is_even=True)

    assert simulate_launch(large, exact=True, progress=print) is True
    assert simulate_launch(large, exact=False, progress=print) is False
    assert simulate_launch(few, exact=False, progress=print) is True


def test_the_first_of_a_chain_is_the_one_that_waits_for_nobody():
    """0, then 1 after 0 and 3 after 1; 2 alone, and 4 after 2."""
    before = {0: -1, 1: 0, 2: -1, 3: 1, 4: 2}

    assert _first_of_chains(SimpleNamespace(follows=before.__getitem__), 5) == [0, 0, 2, 0, 2]


@pytest.mark.parametrize(("ctas", "working"), [(1, 1), (132, 132), (133, 132)])
def test_as_many_sms_work_as_there_are_ctas_for(ctas, working):
    kernel = SimpleNamespace(launched=range(ctas), machine=SimpleNamespace(sms=132))

    assert Launch(kernel, {}, 1).working == working


@pytest.mark.parametrize(("work", "is_even"), [((5, 5, 5), True), ((5, 5, 4), False), ((1, 2, 3), False)])
def test_a_launch_is_even_where_all_ctas_have_the_same_work(work, is_even):
    kernel = SimpleNamespace(launched=range(3), work=work.__getitem__)

    assert Launch(kernel, {}, 1).is_even is is_even


@pytest.mark.parametrize(("instructions", "whole"), [(50_000_000, True), (50_000_001, False)])
def test_a_small_launch_of_unequal_ctas_is_not_sampled(monkeypatch, instructions, whole):
    stub(monkeypatch)
    launch = SimpleNamespace(
        instructions=instructions, kernel=GEMM, ctas=10_000, working=132, ctas_per_sm=1, is_even=False
    )

    assert simulate_launch(launch, exact=False, progress=print) is whole


HELD = 31_457_280
"""Bytes that one partition of the L2 holds."""


@pytest.mark.parametrize(
    ("read", "stored", "written"),
    [
        (0, 0, 0),
        (HELD, 0, 0),
        (HELD // 4, HELD // 2, 0),
        (0, 3 * HELD, 2 * HELD),
        (HELD, HELD, HELD // 2),
        (3 * HELD, HELD, 3 * HELD // 4),
    ],
)
def test_what_the_l2_cannot_hold_of_what_was_stored_is_written(read, stored, written):
    """It ends with as much of what was read and of what was stored as their proportion says."""
    assert written_bytes(H200, read, stored) == written
