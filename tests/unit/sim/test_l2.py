"""The L2 as SMs see it: ports, bandwidth, near and far, and hits, with the arithmetic on paper."""

from dataclasses import replace

from doubles.published import H200
from gpusim.sim.l2 import L2Read, SampledL2, SimulatedL2

from gpusim.sim.footprint import FROM_DRAM, IN_L2, L2Status

NEAR_ONLY = replace(H200, l2=replace(H200.l2, far_fraction_percent=0))


def read(at, sectors, lines=(), *, port=0, issued=None, asked=None, status=None):
    return L2Read(port, at, at if issued is None else issued, sectors, asked or sectors, lines, status)


def test_an_sm_reads_64_bytes_a_cycle_from_the_l2():
    """16 sectors are 512 bytes: 8 cycles on the SM's port; the chip's 4974 bytes a cycle hold nobody up."""
    l2 = SampledL2(NEAR_ONLY, share=1)
    log = [l2.read(read(100, 16)) - NEAR_ONLY.l2.hit_latency for _ in range(3)]

    assert log == [100, 108, 116]


def test_all_sms_together_are_held_up_by_the_bandwidth_of_the_chip():
    """132 SMs, 512 bytes each: 67584 bytes, 13.58 cycles at 4974 a cycle; rounded down to thousandths and cycles."""
    l2 = SampledL2(NEAR_ONLY, share=132)
    log = [l2.read(read(0, 16)) - NEAR_ONLY.l2.hit_latency for _ in range(4)]

    assert log == [0, 13, 27, 40]


def test_a_request_that_waits_in_its_queue_holds_up_no_other_sm():
    """SM 0's instruction issues at 0 and reaches the L2 at 200; SM 1's issues and arrives at 1."""
    l2 = SimulatedL2(NEAR_ONLY, ports=2)
    log = [l2.read(read(at, 4, port=port, issued=port)) for port, at in ((0, 200), (1, 1))]

    assert [at - NEAR_ONLY.l2.hit_latency for at in log] == [200, 1]


def test_near_and_far_come_by_turns():
    """Half of the lines are far; by turns, in the machine's proportion (D5)."""
    l2 = SampledL2(H200, share=1)
    log = [l2.read(read(1000 * number, 1)) - 1000 * number for number in range(4)]

    assert sorted(log) == [H200.l2.hit_latency] * 2 + [H200.l2.far_latency] * 2
    assert log[0] != log[1]


def test_first_touch_misses_and_later_ones_hit():
    """Line 7's first two sectors come from DRAM; who asks while they come waits for them, not for DRAM again."""
    l2 = SimulatedL2(NEAR_ONLY, ports=1)
    hit, dram = NEAR_ONLY.l2.hit_latency, NEAR_ONLY.dram.latency
    log = [
        l2.read(read(0, 2, ((7, 0b0011),))),
        l2.read(read(100, 2, ((7, 0b0011),))) - 100,
        l2.read(read(5000, 2, ((7, 0b0011),))) - 5000,
        l2.read(read(6000, 4, ((7, 0b1111),))) - 6000,
    ]

    assert log == [dram, dram - 100, hit, dram]
    assert l2.dram.bytes == 4 * 32


def test_the_l2_forgets_the_least_recently_used_line():
    """Room for two lines: 1, 2, 1 again, then 3 drives 2 out. Line 1 hits, line 2 misses."""
    small = replace(NEAR_ONLY, l2=replace(NEAR_ONLY.l2, bytes=2 * 2 * 128))
    l2 = SimulatedL2(small, ports=1)
    log = []
    for number, line in enumerate((1, 2, 1, 3, 1, 2)):
        at = 5000 * number
        log.append((line, l2.read(read(at, 1, ((line, 1),))) - at == small.l2.hit_latency))

    assert log == [(1, False), (2, False), (1, True), (3, False), (1, True), (2, False)]


def test_a_sampled_sm_waits_for_dram_in_the_walks_proportion():
    """A quarter of 4 sectors is slow: one sector of every request waits. An eighth is missed: one of every second."""
    l2 = SampledL2(NEAR_ONLY, share=1)
    status = L2Status(slow=250, missed=125)
    log = []
    for number in range(4):
        at = 5000 * number
        before = l2.dram.bytes
        done = l2.read(read(at, 4, status=status)) - at
        log.append((done, l2.dram.bytes - before))

    assert log == [(NEAR_ONLY.dram.latency, size) for size in (0, 32, 0, 32)]


def test_sectors_found_in_l1_still_count_in_the_walks_proportion():
    """The walk knows no L1: half of the 4 sectors asked for are missed, though only 2 go to the L2."""
    l2 = SampledL2(NEAR_ONLY, share=1)
    l2.read(read(0, 2, asked=4, status=L2Status(slow=500, missed=500)))

    assert l2.dram.bytes == 64


def test_an_epilogue_s_loads_wait_for_what_is_known_of_them_though_the_l2_is_simulated():
    """4 sectors that nobody has read come from DRAM; 4 that were just written are there."""
    l2 = SimulatedL2(NEAR_ONLY, ports=1)
    log = [l2.read(read(0, 4, status=FROM_DRAM)), l2.read(read(5000, 4, status=IN_L2)) - 5000]

    assert log == [NEAR_ONLY.dram.latency, NEAR_ONLY.l2.hit_latency]
    assert l2.dram.bytes == 4 * 32
