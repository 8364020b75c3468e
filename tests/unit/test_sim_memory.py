"""Queues and caches of the timing executor, one component at a time, with the arithmetic on paper."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusim.machine import load_machine
from gpusim.sim.barrier import BarrierUnit
from gpusim.sim.cta import Cta
from gpusim.sim.dram import Dram
from gpusim.sim.footprint import FROM_DRAM, IN_L2, L2Status
from gpusim.sim.instruction_cache import InstructionCache
from gpusim.sim.l1 import L1
from gpusim.sim.l2 import L2Read, SampledL2, SimulatedL2
from gpusim.sim.l2_walk import LruGranules
from gpusim.sim.shared_memory import SharedMemory
from gpusim.sim.timed_kernel import Touch

# Hand-worked arithmetic stands on figures that no measurement moves.
H200 = load_machine(str(Path(__file__).parent / "data" / "h200_published.toml"))
NEAR_ONLY = replace(H200, l2=replace(H200.l2, far_fraction_percent=0))
KILOCYCLE = replace(H200.dram, bandwidth_gb_s=64, achievable_percent=100, clock_mhz=1000)
"""64 bytes a cycle."""


def read(at, sectors, lines=(), *, port=0, issued=None, asked=None, status=None):
    return L2Read(port, at, at if issued is None else issued, sectors, asked or sectors, lines, status)


# --- DRAM ---


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


# --- L2 ---


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


# --- L1 ---


def l1_of(lines, l2=None):
    """An L1 with room for ``lines`` lines."""
    machine = NEAR_ONLY
    carve_out = machine.l1.bytes - lines * machine.l1.line_bytes
    return L1(machine, l2 or SimulatedL2(machine, ports=1), 0, carve_out)


def copied(l1, at, *lines, cached=True):
    """Cycles that a copy of some (line, mask) takes."""
    sectors = sum(mask.bit_count() for _, mask in lines)
    return l1.copy(at, (sectors, lines), issued=at, cached=cached, status=None) - at


HIT = H200.async_copy.l1_latency
BEYOND = H200.async_copy.l1_latency - H200.l1.hit_latency
"""What a copy takes beyond a load."""
L2_HIT = H200.l2.hit_latency + BEYOND
MISS = H200.dram.latency + BEYOND


def test_a_ca_copy_hits_the_sectors_that_an_earlier_one_brought():
    """Sectors 0 and 1 of line 5, then 1 and 2: sector 2 alone goes to the L2, and from there to DRAM."""
    l1 = l1_of(8)
    log = [copied(l1, 5000 * number, (5, mask)) for number, mask in enumerate((0b0011, 0b0011, 0b0110, 0b0110))]

    assert log == [MISS, HIT, MISS, HIT]


def test_a_cg_copy_goes_around_the_l1():
    l1 = l1_of(8)
    log = [copied(l1, 5000 * number, (5, 1), cached=False) for number in range(3)]

    assert log == [MISS, L2_HIT, L2_HIT]


def test_who_asks_for_a_sector_that_is_coming_waits_for_it():
    l1 = l1_of(8)

    assert [copied(l1, 0, (5, 1)), copied(l1, 100, (5, 1))] == [MISS, MISS - 100]


def test_the_l1_forgets_the_least_recently_used_line():
    """Room for two lines. What it forgot is in the L2."""
    l1 = l1_of(2)
    log = [(line, copied(l1, 5000 * number, (line, 1))) for number, line in enumerate((1, 2, 1, 3, 1, 2))]

    assert log == [(1, MISS), (2, MISS), (1, HIT), (3, MISS), (1, HIT), (2, L2_HIT)]


def test_without_room_the_l1_holds_nothing():
    l1 = l1_of(0)

    assert [copied(l1, 5000 * number, (1, 1)) for number in range(2)] == [MISS, L2_HIT]


def test_a_copy_of_nothing_asks_nobody():
    l2 = SimulatedL2(NEAR_ONLY, ports=1)

    assert copied(l1_of(2, l2), 10) == HIT
    assert l2.sectors_read == 0


# --- the walk's content ---


def test_the_walk_misses_once_then_hits_until_it_is_driven_out():
    """Room for 1000 bytes; granules of 400: a, b, a, then c drives b out."""
    held = LruGranules(1000)
    log = [(name, held.touch(Touch((0, name, 0, 0), 1, 400))) for name in (1, 2, 1, 3, 1, 2)]

    assert log == [(1, 1), (2, 1), (1, 0), (3, 1), (1, 0), (2, 1)]


def test_the_walk_misses_only_the_pixels_that_are_new():
    held = LruGranules(1 << 20)
    log = [held.touch(Touch((0, 0, 0, 0), parts, 128)) for parts in (0b0011, 0b0110, 0b0111)]

    assert log == [0b0011, 0b0100, 0]


# --- the MIO and its data stage ---


def test_the_data_stage_serves_one_wavefront_a_cycle():
    """Four SMSPs, 8 wavefronts each, at 0: they leave at 1, 9, 17, 25. What needs no stage leaves 2 cycles later."""
    memory = SharedMemory(H200)
    log = [memory.dispatch(smsp, 0, 8) for smsp in range(4)]

    assert log == [1, 9, 17, 25]
    assert memory.dispatch(0, 0, 0) == 25 + H200.mio.sm_interval
    assert memory.wavefronts == 32


def test_instructions_of_one_smsp_leave_in_order_and_at_its_interval():
    memory = SharedMemory(H200)

    assert [memory.dispatch(0, at, wavefronts) for at, wavefronts in ((0, 1), (1, 0), (2, 1))] == [1, 5, 9]


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 6), st.integers(0, 32)), min_size=1, max_size=60))
def test_the_data_stage_is_never_in_two_places(requests):
    """Whatever the order: each access has its wavefronts to itself, and each SMSP keeps its order."""
    memory = SharedMemory(H200)
    now, taken, last = 0, 0, [0] * 4
    for smsp, gap, wavefronts in requests:
        now += gap
        leaves = memory.dispatch(smsp, now, wavefronts)
        assert leaves > now
        assert leaves > last[smsp]
        last[smsp] = leaves
        if wavefronts:
            assert leaves >= taken
            taken = leaves + wavefronts


def test_a_load_returns_64_bytes_a_cycle_to_its_smsp():
    """ldmatrix.x4, 512 bytes: 8 cycles each. Dispatched at 0, 1, 2 they leave at 1, 5, 9 and land at 29, 37, 45."""
    memory = SharedMemory(H200)
    log = []
    for at in range(3):
        leaves = memory.dispatch(0, at, 4)
        log.append((leaves, memory.returned(0, leaves, 4, 512, 23)))

    assert log == [(1, 29), (5, 37), (9, 45)]


def test_each_further_wavefront_adds_its_latency():
    """23, 25, 29, 37 for 1, 2, 4, 8 ways. Source: Sun et al. 2022, table 10, A100."""
    log = []
    for ways in (1, 2, 4, 8):
        memory = SharedMemory(load_machine("a100"))
        log.append(memory.returned(0, memory.dispatch(0, 0, ways), ways, 128, 23))

    assert log == [23, 25, 29, 37]


@pytest.mark.parametrize(("name", "cycles"), [("a100", 32), ("rtx3090", 63), ("rtx4090", 63)])
def test_an_sm_of_ga100_takes_a_memory_instruction_each_cycle_one_of_ga10x_every_other(name, cycles):
    """
    8 warps with 4 ldmatrix.x1 each, of one wavefront: 32.1 cycles on A100 (Sun et al. 2022, table 9).

    On GA10x four busy sub-cores send one each every 8 cycles (Huerta et al. 2025, table 1): 1 + 2 * 31.
    """
    memory = SharedMemory(load_machine(name))

    assert max(memory.dispatch(smsp, 0, 1) for _ in range(8) for smsp in range(4)) == cycles


# --- barrier, instruction cache ---


def test_the_barrier_unit_takes_one_arrival_each_2_cycles():
    """Arrivals at 0, 0, 10: the unit is free at 2, 4, 12, and 22 cycles later all go. Then it begins afresh."""
    unit = BarrierUnit(H200.barrier)
    cta = Cta(0, None, warps=3, remaining=3, launched=0)

    assert [unit.arrive(cta, at) for at in (0, 0, 10)] == [None, None, 34]
    assert [unit.arrive(cta, at) for at in (50, 50, 50)] == [None, None, 78]


def test_the_stream_buffer_hides_all_lines_but_the_first_and_those_it_is_late_for():
    """
    Line 0 misses at 0 and brings lines 1 to 16 along: all are there at 258.

    Line 1, wanted at 260, asks for line 17, there at 518: who wants it at 300 waits; line 2 has asked for 18 at 270.
    """
    cache = InstructionCache(H200.instruction_cache)

    assert [cache.fetched(line, at) for line, at in ((0, 0), (1, 260), (2, 270), (17, 300), (18, 600), (0, 700))] == [
        258,
        260,
        270,
        518,
        600,
        700,
    ]


@pytest.mark.parametrize("name", ["h200", "a100"])
def test_every_line_ahead_is_in_reach(name):
    """Walking all lines in order, however fast: no line is missed twice."""
    cache = InstructionCache(load_machine(name).instruction_cache)
    for line in range(200):
        cache.fetched(line, line)

    assert [cache.fetched(line, 10_000) for line in range(200)] == [10_000] * 200
