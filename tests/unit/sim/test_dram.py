"""DRAM, one channel of the chip's bandwidth: hand-worked times of its requests."""

from dataclasses import replace

from doubles.published import H200
from gpusim.sim.dram import Dram
from hypothesis import given
from hypothesis import strategies as st

KILOCYCLE = replace(H200.dram, bandwidth_gb_s=64, achievable_percent=100, clock_mhz=1000)
"""64 bytes a cycle."""


def test_dram_serves_one_request_after_the_other():
    """At 64 bytes a cycle, 128 bytes take 2 cycles: asked at 10, 10 and 11, served from 10, 12 and 14."""
    dram = Dram(KILOCYCLE, share=1)
    log = [dram.read(at * 1000, 128, issued=at) - KILOCYCLE.latency for at in (10, 10, 11)]

    assert log == [10, 12, 14]
    assert dram.bytes == 384


def test_dram_stands_for_all_sms_that_a_simulated_one_stands_for():
    """32 bytes for each of 10 SMs are 320 bytes: 5 cycles."""
    dram = Dram(KILOCYCLE, share=10)
    log = [dram.read(0, 32, issued=0) - KILOCYCLE.latency for _ in range(3)]

    assert log == [0, 5, 10]
    assert dram.bytes == 960


def test_an_idle_dram_does_not_save_its_bandwidth_up():
    dram = Dram(KILOCYCLE, share=1)
    dram.read(0, 64, issued=0)

    assert [dram.read(500_000, 6400, issued=500), dram.read(500_000, 64, issued=500)] == [
        500 + KILOCYCLE.latency,
        600 + KILOCYCLE.latency,
    ]


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(1, 64)), min_size=1, max_size=40))
def test_dram_never_exceeds_its_bandwidth(requests):
    """All bytes asked for up to some time are served no sooner than the bandwidth allows."""
    dram = Dram(KILOCYCLE, share=1)
    now = 0
    for gap, sectors in requests:
        now += gap
        begins = dram.read(now * 1000, sectors * 32, issued=now) - KILOCYCLE.latency
        assert begins >= now
    served_until = begins + requests[-1][1] * 32 // 64

    assert served_until * 64 + 64 >= sum(sectors for _, sectors in requests) * 32
