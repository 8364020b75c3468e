"""The figures that the core executes with: each from its place in the machine file, and those that are computed."""

from dataclasses import replace

import pytest
from doubles.published import H200

from gpusim.machine import load_machine, machine_names
from gpusim.machine.spec import CopyPaceSpec, DispatchSpec, DramBanksSpec, DramLateSpec, L2ClockSpec, L2ReachSpec
from gpusim.sim.figures import Figures, figures_of


def test_the_figures_of_an_h200_are_those_of_its_file():
    """
    Two CTAs of 49152 bytes and 1024 reserved ones leave 262144 - 100352 = 161792 bytes to the L1: 1264 lines of 128.

    One of two partitions of 62914560 bytes holds 245760 lines of 128. A CTA follows another after 2 + 100 cycles. DRAM
    brings 85 % of 4813 GB/s: 4091.05e9 bytes in 1.98e9 cycles, 2066186.9 in a thousand. Ports: seven pipes, the tensor
    core, the queue, and the one that is always free. The instruction cache holds 32768 bytes in lines of 128. Of the
    pace of copies nothing is known: they leave as other instructions do, one every 2 cycles. Nor of how far the L2 is:
    it is as far from all SMs.
    """
    machine = replace(H200, dispatch=DispatchSpec(mufu=3, tensor_percent=70, memory=None))

    assert figures_of(machine, carve_out=2 * (49152 + 1024), busy=False) == Figures(
        smsps=4,
        ports=10,
        queue_depth=4,
        sm_depth=28,
        store_buffer=8704,
        sm_interval=2,
        smsp_interval=4,
        wavefronts_per_cycle=1,
        wavefront_latency=2,
        warp_return_bytes=64,
        register_interval=2,
        registers_an_mma=0,
        source_release=4,
        copy_release=13,
        copy_queue=129,
        copy_stage=2,
        copy_registers=0,
        look_ups=7,
        load_look_ups=0,
        outstanding=0,
        outstanding_through=0,
        fill_bytes=0,
        stores_apart=0,
        commit_stage=3,
        copy_interval=2,
        load_hit=32,
        l1_line_interval=0,
        l1_store_bytes=0,
        copy_hit=39,
        barrier_base=22,
        barrier_per_warp=2,
        mufu_dispatch=3,
        constant_miss=79,
        launch_delay=102,
        fetch_miss=258,
        stream_lines=16,
        fetch_interval=19,
        cache_lines=256,
        l2_port_bytes=64,
        l2_bytes=4974,
        l2_near=258,
        l2_far=414,
        l2_far_percent=50,
        l2_reach=(0,),
        l2_write_bytes=2387,
        l2_store_port_bytes=32,
        l2_write_latency=516,
        l2_waiting=282,
        l2_read_percent=0,
        l2_fill_percent=0,
        semaphore=1800,
        most_merged=1,
        merge_window=0,
        l2_crossing=0,
        home_bits=-1,
        gpcs=(),
        sides=(),
        placed_sms=0,
        small_cpcs=(),
        tpcs_beside=0,
        cpc_percent=100,
        dram_least=690,
        dram_latency=690,
        dram_late=690,
        dram_later=690,
        dram_most=690,
        dram_on_time=0,
        dram_late_cycles=0,
        dram_late_period=0,
        dram_late_lines=0,
        dram_late_masks=(),
        dram_bytes_per_kilocycle=2066186,
        dram_channels=1,
        dram_banks=1,
        dram_bank_busy=0,
        dram_write_percent=100,
        dram_lost=0,
        dram_gathered=1684668,
        dram_meanwhile=0,
        l1_lines=1264,
        l2_lines=245760,
    )


@pytest.mark.parametrize(
    ("carve_out", "lines"), [(0, 2048), (127, 2047), (128, 2047), (262144 - 128, 1), (262144, 0), (300_000, 0)]
)
def test_the_l1_has_the_whole_lines_that_shared_memory_leaves(carve_out, lines):
    """262144 bytes are 2048 lines; shared memory that is larger than the L1 leaves none."""
    assert figures_of(H200, carve_out, busy=False).l1_lines == lines


def test_without_cp_async_a_copy_takes_what_a_load_takes():
    """A T4 has no cp.async: no registers to release, no queue to fill, and a hit takes what a load's takes."""
    figures = figures_of(load_machine("t4"), 0, busy=False)

    assert (figures.copy_release, figures.copy_queue, figures.copy_stage) == (0, 0, 1)
    assert figures.copy_hit == figures.load_hit == 32


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
    assert (calm.dram_late_lines, calm.dram_late_masks) == (busy.dram_late_lines, busy.dram_late_masks) == (512, (3, 4))


def test_a_bank_is_busy_for_its_time_at_the_sm_s_clock():
    """
    10 ns at 1980 MHz are 19.8 cycles. While tensor cores slow the SM's clock down to 4 / 5, they are 15.84.
    """
    banks = DramBanksSpec(channels=6, per_channel=4, busy_ns=10)
    launch = replace(H200.launch, idle_clock_percent=125)
    machine = replace(H200, dram=replace(H200.dram, banks=banks), launch=launch, clock_mhz=1980)
    calm, busy = (figures_of(machine, 0, busy=busy) for busy in (False, True))

    assert (calm.dram_channels, calm.dram_banks) == (6, 4)
    assert (calm.dram_bank_busy, busy.dram_bank_busy) == (19_800, 15_840)


def test_an_instruction_cache_holds_what_one_miss_brings():
    """A cache of four lines, where one miss brings the line and the sixteen after it: 17."""
    small = replace(H200, instruction_cache=replace(H200.instruction_cache, l0_bytes=512))

    assert figures_of(small, 0, busy=False).cache_lines == 17


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
    figures = figures_of(machine, 0, busy=False)

    assert (figures.copy_interval, figures.outstanding, figures.outstanding_through) == (3, 900, 300)
    assert figures.fill_bytes == 32


def test_the_reach_of_sms_is_counted_from_the_mean_one():
    """Near and far latencies are the mean SM's: of SMs 0, 4, 9 and 23 cycles from the nearest, that of 36 / 4 = 9."""
    machine = replace(H200, l2=replace(H200.l2, reach=L2ReachSpec(cycles=(0, 4, 9, 23))))

    assert figures_of(machine, 0, busy=False).l2_reach == (-9, -5, 0, 14)


@pytest.mark.parametrize("name", machine_names())
def test_every_figure_is_an_integer_or_some(name):
    """The core's columns are integers of 64 bits: a float would be cut off by one execution and not by the other."""
    figures = figures_of(load_machine(name), 65536, busy=False)
    several = {key: value for key, value in figures._asdict().items() if not isinstance(value, int)}

    assert set(several) == {"l2_reach", "gpcs", "sides", "small_cpcs", "dram_late_masks"}
    assert {type(figure) for key, figure in figures._asdict().items() if key not in several} == {int}
    assert {type(one) for figure in several.values() for one in figure} == {int}


def test_a_copy_counts_as_five_registers_beside_other_warps_mma_sync_of_an_h200():
    figures = figures_of(load_machine("h200"), 0, busy=False)

    assert (figures.copy_registers, figures.copy_stage) == (5, 2)


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
