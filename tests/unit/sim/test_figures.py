"""The figures that the core executes with: each from its place in the machine file, and those that are computed."""

from dataclasses import replace

import pytest
from doubles.by_hand import quiet
from doubles.published import H200

from gpusim.machine import load_machine, machine_names
from gpusim.machine.spec import DramLateSpec
from gpusim.machine.spec.async_copy import CopyPaceSpec
from gpusim.machine.spec.dispatch import DispatchSpec
from gpusim.machine.spec.dram import DramBanksSpec
from gpusim.machine.spec.l2 import L2ClockSpec, L2ReachSpec
from gpusim.sim.core.dram import Dram
from gpusim.sim.core.icache import ICache
from gpusim.sim.figures import Figures, figures_of


def test_the_computed_figures_of_an_h200():
    """
    Two CTAs of 49152 bytes and 1024 reserved ones leave 262144 - 100352 = 161792 bytes to the L1: 1264 lines of 128.

    One of two partitions of 62914560 bytes holds 245760 lines of 128. DRAM brings 85 % of 4813 GB/s: 4091.05e9 bytes in
    1.98e9 cycles, 2066186.9 in a thousand. Ports: eight pipes, the tensor core, the queue, and the one that is always
    free. How far the L2 is, is unknown: it is as far from all SMs.
    """
    assert figures_of(H200, carve_out=2 * (49152 + 1024), busy=False) == Figures(
        machine=H200,
        ports=11,
        constant_miss=79,
        l1_lines=1264,
        l2_lines=245760,
        l2_bytes=4974,
        l2_write_bytes=2387,
        l2_near=258,
        l2_far=414,
        l2_reach=(0,),
        l2_write_latency=516,
        l2_waiting=282,
        l2_crossing=0,
        home_bits=-1,
        merge_window=0,
        dram_least=690,
        dram_latency=690,
        dram_late=690,
        dram_later=690,
        dram_most=690,
        dram_on_time=0,
        dram_late_cycles=0,
        dram_late_period=0,
        dram_bytes_per_kilocycle=2066186,
        dram_bank_busy=0,
        dram_gathered=1684668,
    )


def test_units_read_their_figures_in_the_file_of_an_h200():
    """
    A CTA follows another after 2 + 100 cycles. The instruction cache holds 32768 bytes in lines of 128.

    The published file has no pace of copies: they leave as other instructions do, one every 2 cycles, any number is in
    flight, and they delay no store. Nor has it gaps between mma.sync, returning lines of the L1, mixed traffic of the
    L2, requests that are merged, banks and turns of DRAM.
    """
    chip = quiet(machine=replace(H200, dispatch=DispatchSpec(mufu=3, tensor_percent=70, memory=None)))
    mio, lsu, l2, dram = chip.mio, chip.lsu, chip.l2, chip.dram

    assert (mio.smsps, mio.depth, mio.sm_depth, mio.sm_interval, mio.smsp_interval) == (4, 4, 28, 2, 4)
    assert (mio.register_interval, mio.collector.interval, lsu.register_interval, lsu.source_release) == (2, 2, 2, 4)
    assert (mio.copy_interval, mio.copy_queue, mio.copy_registers, mio.side_entries) == (2, 129, 0, 0)
    assert mio.collector.registers_an_mma == 0
    assert (lsu.look_ups, lsu.copy_stage, lsu.commit_stage, lsu.copy_release, lsu.copy_hit) == (7, 2, 3, 13, 39)
    assert (lsu.most_outstanding, lsu.most_through, lsu.load_look_ups, lsu.port_path_bytes) == (0, 0, 0, 0)
    assert (lsu.load_hit, chip.l1.load_hit, lsu.line_interval, chip.l1.line_interval) == (32, 32, 0, 0)
    assert (lsu.return_bytes, lsu.wavefront_latency) == (64, 2)
    assert (chip.data_stage.per_cycle, chip.data_stage.fill_bytes) == (1, 0)
    assert (chip.barriers.base, chip.barriers.each, chip.smsp.mufu_dispatch) == (22, 2, 3)
    assert (chip.warps.smsps, chip.warps.launch_delay, chip.warps.semaphore) == (4, 102, 1800)
    icache = chip.warps.icache
    assert (icache.miss, icache.interval, icache.stream_lines, icache.held_lines) == (258, 19, 16, 256)
    assert (chip.crossbar.port_bytes, chip.stores.port_bytes, chip.stores.store_buffer) == (64, 32, 8704)
    assert (l2.far_percent, l2.most_merged, l2.gpcs, list(l2.arbiter.small_cpc)) == (50, 1, 1, [0])
    assert (l2.arbiter.read_as_store, l2.arbiter.fill_time) == (0, 0)
    assert (dram.channels, dram.banks, dram.write_percent, dram.turnaround, dram.longest_wait) == (1, 1, 100, 0, 0)
    assert (dram.region_lines, dram.unit_bits) == (0, 0)


@pytest.mark.parametrize(
    ("carve_out", "lines"), [(0, 2048), (127, 2047), (128, 2047), (262144 - 128, 1), (262144, 0), (300_000, 0)]
)
def test_the_l1_has_the_whole_lines_that_shared_memory_leaves(carve_out, lines):
    """262144 bytes are 2048 lines; shared memory that is larger than the L1 leaves none."""
    assert figures_of(H200, carve_out, busy=False).l1_lines == lines


def test_without_cp_async_a_copy_takes_what_a_load_takes():
    """A T4 has no cp.async: no registers to release, no queue to fill, and a hit takes what a load's takes."""
    chip = quiet(machine=load_machine("t4"))

    assert (chip.lsu.copy_release, chip.mio.copy_queue, chip.lsu.copy_stage) == (0, 0, 1)
    assert chip.lsu.copy_hit == chip.lsu.load_hit == 32


def test_while_tensor_cores_slow_the_sms_dram_takes_fewer_of_their_cycles():
    """
    DRAM counts 125 cycles for 100 of a busy SM: 690 / 1.25 = 552, and 2066186 * 1.25 bytes in a thousand.

    The five quantiles of the latency are scaled alike: 500, 690, 800, 900 and 1000.
    """
    dram = replace(H200.dram, latency_least=500, latency_late=800, latency_later=900, latency_most=1000)
    slowed = replace(H200, dram=dram, launch=replace(H200.launch, idle_clock_percent=125))

    def latencies(figures):
        return (figures.dram_least, figures.dram_latency, figures.dram_late, figures.dram_later, figures.dram_most)

    calm, busy = (figures_of(slowed, 0, busy=busy) for busy in (False, True))
    assert latencies(calm) == (500, 690, 800, 900, 1000)
    assert latencies(busy) == (400, 552, 640, 720, 800)
    assert (calm.dram_bytes_per_kilocycle, busy.dram_bytes_per_kilocycle) == (2066186, 2582732)


def test_while_tensor_cores_slow_the_sms_the_l2_takes_fewer_of_their_cycles():
    """
    The L2 counts 125 cycles for 100 of a busy SM.

    4974 * 1.25 = 6217 bytes a cycle, and 2387 * 1.25 = 2983 stored. Of a hit's 258 cycles and a far one's 414, 100 are
    the L2's, and take 80; so do those of a store's 516. Of a miss's 690 cycles 400 are its and DRAM's, and take 320.
    """
    l2 = replace(H200.l2, clock=L2ClockSpec(of_hit=100, of_miss=400))
    machine = replace(H200, l2=l2, launch=replace(H200.launch, idle_clock_percent=125))

    busy = figures_of(machine, 0, busy=True)
    assert (busy.l2_bytes, busy.l2_write_bytes) == (6217, 2983)
    assert (busy.l2_near, busy.l2_far, busy.l2_write_latency) == (238, 394, 496)
    assert busy.dram_latency == 610
    calm = figures_of(machine, 0, busy=False)
    assert (calm.l2_bytes, calm.l2_near, calm.dram_latency) == (4974, 258, 690)


def test_a_part_of_dram_stands_still_for_fewer_cycles_of_a_slower_sm():
    """
    Cycles of 770, 510 and 3000, over 1.25, are 616, 408 and 2400.

    A region of 65536 bytes has 512 lines of 128.
    """
    late = DramLateSpec(on_time=770, cycles=510, period=3000, region_bytes=65536, part_masks=(3, 4))
    launch = replace(H200.launch, idle_clock_percent=125)
    machine = replace(H200, dram=replace(H200.dram, late=late), launch=launch)

    def found(figures):
        return (figures.dram_on_time, figures.dram_late_cycles, figures.dram_late_period)

    calm, busy = (figures_of(machine, 0, busy=busy) for busy in (False, True))
    assert (found(calm), found(busy)) == ((770, 510, 3000), (616, 408, 2400))
    dram = Dram(busy, 1)
    assert (dram.region_lines, list(dram.unit_masks)) == (512, [3, 4])


def test_a_bank_is_busy_for_its_time_at_the_sm_s_clock():
    """
    10 ns at 1980 MHz are 19.8 cycles. While tensor cores slow the SM's clock down to 4 / 5, they are 15.84.
    """
    banks = DramBanksSpec(channels=6, per_channel=4, busy_ns=10)
    launch = replace(H200.launch, idle_clock_percent=125)
    machine = replace(H200, dram=replace(H200.dram, banks=banks), launch=launch, clock_mhz=1980)
    calm, busy = (figures_of(machine, 0, busy=busy) for busy in (False, True))

    assert (Dram(calm, 1).channels, Dram(calm, 1).banks) == (6, 24)
    assert (calm.dram_bank_busy, busy.dram_bank_busy) == (19_800, 15_840)


def test_an_instruction_cache_holds_what_one_miss_brings():
    """A cache of four lines, where one miss brings the line and the sixteen after it: 17."""
    small = replace(H200, instruction_cache=replace(H200.instruction_cache, l0_bytes=512))

    assert ICache(small, lines=40, sms=1).held_lines == 17


def test_an_l2_of_one_partition_holds_all_its_bytes():
    whole = replace(H200, l2=replace(H200.l2, partitions=1))

    assert figures_of(whole, 0, busy=False).l2_lines == 2 * 245760


def test_the_pace_of_copies_is_that_of_the_machine():
    machine = replace(
        H200,
        async_copy=replace(
            H200.async_copy, pace=CopyPaceSpec(3, outstanding=900, outstanding_through=300, fill_bytes=32)
        ),
    )
    chip = quiet(machine=machine)

    assert (chip.mio.copy_interval, chip.lsu.most_outstanding, chip.lsu.most_through) == (3, 900, 300)
    assert chip.data_stage.fill_bytes == 32


def test_the_reach_of_sms_is_counted_from_the_mean_one():
    """Near and far latencies are the mean SM's: of SMs 0, 4, 9 and 23 cycles from the nearest, that of 36 / 4 = 9."""
    machine = replace(H200, l2=replace(H200.l2, reach=L2ReachSpec(cycles=(0, 4, 9, 23))))

    assert figures_of(machine, 0, busy=False).l2_reach == (-9, -5, 0, 14)


@pytest.mark.parametrize("name", machine_names())
def test_every_figure_is_an_integer_or_some(name):
    """The core's columns are integers of 64 bits: a float would be cut off by one execution and not by the other."""
    figures = figures_of(load_machine(name), 65536, busy=False)
    computed = {key: value for key, value in figures._asdict().items() if key != "machine"}

    assert {type(one) for one in computed.pop("l2_reach")} == {type(one) for one in computed.values()} == {int}


def test_a_copy_counts_as_five_registers_beside_other_warps_mma_sync_of_an_h200():
    chip = quiet(machine=load_machine("h200"))

    assert (chip.mio.copy_registers, chip.lsu.copy_stage) == (5, 2)


def test_each_further_line_of_parameters_takes_what_its_first_read_does():
    """59 cycles on an H200; where that is not known, nothing."""
    h200 = load_machine("h200")
    first, second, tenth = (
        figures_of(h200, 0, busy=False, parameter_lines=lines).constant_miss for lines in (1, 2, 10)
    )

    assert (first, second - first, tenth - first) == (h200.constant_cache.miss_latency, 59, 9 * 59)
    assert figures_of(H200, 0, busy=False, parameter_lines=10).constant_miss == H200.constant_cache.miss_latency


def test_a_channel_holds_its_part_of_dram_s_queue_of_writes():
    """Where DRAM has no turns: all of it where the channels are not known."""
    banked = replace(H200.dram, write_queue=3200, banks=DramBanksSpec(channels=32, per_channel=16, busy_ns=50))

    assert figures_of(H200, 0, busy=False).dram_gathered == H200.dram.write_queue
    assert figures_of(replace(H200, dram=banked), 0, busy=False).dram_gathered == 100
    assert figures_of(load_machine("h200"), 0, busy=False).dram_gathered == 8961
