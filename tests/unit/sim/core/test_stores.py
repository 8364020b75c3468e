"""Stores: their way into the L2, when their warp may leave, when they are acknowledged, and what DRAM has of them."""

import pytest
from doubles.by_hand import Memory, Traced, execute, lds, quiet, store, traced_store
from doubles.figures import with_figures
from doubles.published import H200

from gpusim.sim.columns import column
from gpusim.sim.core.constants import ATOMIC, CODE_WIDTH, FLOAT_ATOMIC, WAITING_STORES, WARP_WIDTH
from gpusim.sim.figures import figures_of
from gpusim.sim.footprint import IN_L2

SIMPLE = with_figures(
    figures_of(H200, 0, busy=False),
    {
        "l2.far_fraction_percent": 0,
        "l2.write_bytes_per_cycle_per_sm": 32,
        "l2.mixed.read_percent": 0,
        "l2.mixed.fill_percent": 0,
    },
    constant_miss=0,
    l2_bytes=128,
    l2_write_bytes=64,
    l2_write_latency=500,
    l2_waiting=1000,
    dram_gathered=0,
    dram_bytes_per_kilocycle=64_000,
)
"""The L2 takes 128 bytes of reads in a cycle, or 64 of stores; an SM stores 32, and DRAM transfers 64."""


def acknowledged(chip, *stores):
    """Cycle at which the last of the stores up to each one, of four sectors at cycle 0 by an SM, is acknowledged."""
    log = []
    for sm in stores:
        chip.stores.store(sm, 0, 0, 4)
        log.append(chip.stores.acknowledged)
    return log


def test_an_sm_stores_what_its_port_takes():
    """128 bytes at 32 a cycle: taken at 0, 4 and 8, and acknowledged 500 cycles later."""
    assert acknowledged(quiet(figures=SIMPLE), 0, 0, 0) == [500, 504, 508]


def test_all_sms_together_store_what_the_l2_takes():
    """128 bytes at 64 a cycle: three SMs' are taken at 0, 2 and 4."""
    assert acknowledged(quiet(figures=SIMPLE, sms=3), 0, 1, 2) == [500, 502, 504]


def test_a_simulated_sm_stores_for_all_that_it_stands_for():
    """The L2 takes 10 times 128 bytes in 20 cycles. The SM's own bytes are counted once."""
    chip = quiet(figures=SIMPLE, sms=2, share=10, memory=Memory(simulates_l2=False))

    assert acknowledged(chip, 0, 1) == [500, 520]
    assert (chip.stores.stored_bytes, chip.l2.written_back) == (256, 0)


def test_what_is_read_and_what_is_stored_go_ways_of_their_own():
    """A store of 128 bytes takes the L2 2 cycles: another SM's read at once is accepted at 0, and hits 258 later."""
    chip = quiet(figures=SIMPLE, sms=2)
    chip.stores.store(0, 0, 0, 4)

    assert chip.l2_sampled.read_known(1, 0, 0, 1, IN_L2.slow, IN_L2.missed) == 258


def test_a_read_leaves_its_sm_when_the_l2_has_come_to_what_that_stored():
    """128 bytes of three SMs are taken at 0, 2 and 4: what the third reads at once is accepted at 4."""
    chip = quiet(figures=SIMPLE, sms=3)
    for sm in range(3):
        chip.stores.store(sm, 0, 0, 4)

    assert chip.l2_sampled.read_known(2, 0, 0, 1, IN_L2.slow, IN_L2.missed) == 262


def test_what_is_read_takes_some_of_the_time_for_what_is_stored():
    """A quarter: 512 bytes that are read take as long as 128 that are stored, 2 cycles."""
    chip = quiet(figures=with_figures(SIMPLE, {"l2.mixed.read_percent": 25}), sms=2)
    chip.l2_sampled.read_known(1, 0, 0, 16, IN_L2.slow, IN_L2.missed)

    assert chip.stores.store(0, 0, 0, 4) == 2


def test_what_comes_from_dram_takes_its_turn_among_stores():
    """
    As long as half of what is stored. 64 KiB are stored until 1024: a line from DRAM, there at 690 else, comes then,
    and the next store is taken a cycle later.
    """
    chip = quiet(
        figures=with_figures(SIMPLE, {"l2.mixed.fill_percent": 50, "l2.write_bytes_per_cycle_per_sm": 1 << 16}), sms=2
    )
    for _ in range(512):
        chip.stores.store(0, 0, 0, 4)

    assert chip.l2.read(1, chip.l2.lines.touch(7), 15, 0, 0) == 1024
    assert chip.stores.store(0, 0, 0, 4) == 1025


@pytest.mark.parametrize("simulates_l2", [True, False])
def test_the_l2_stores_no_faster_than_dram_takes_what_makes_room(simulates_l2):
    """
    Room for one line in the L2, and for one in DRAM's queue, which takes 8 cycles for each. Stores drive lines out from
    the second on, which DRAM writes at 0, 8, 16 and so on, and has room for 8 cycles before: the fourth waits until 8.
    """
    figures = with_figures(
        SIMPLE, {"dram.banks.channels": 1}, l2_lines=1, dram_bytes_per_kilocycle=16_000, dram_gathered=128
    )
    figures = with_figures(
        figures, {"l2.write_bytes_per_cycle_per_sm": 128, "dram.banks.per_channel": 1}, dram_bank_busy=0
    )
    chip = quiet(figures=figures, memory=Memory(simulates_l2=simulates_l2))

    assert [chip.stores.store(0, 0, 0, 4) for _ in range(7)] == [0, 2, 4, 8, 16, 24, 32]


def test_stores_are_taken_one_after_another():
    chip = quiet(figures=SIMPLE)

    assert [chip.stores.store(0, 0, 0, 4) for _ in range(4)] == [0, 4, 8, 12]


@pytest.mark.parametrize(("buffer", "lands"), [(0, 69), (128, 9), (64, 37)])
def test_a_store_that_cannot_leave_holds_what_is_behind_it(core, buffer, lands):
    """
    Two stores of 128 bytes; a port of 2 bytes a cycle sends them at 1 and 65.

    The second waits in its queue until it has room, at 65, or 64 or 32 cycles before that where a buffer keeps as much
    of what waits; with room for all it leaves at 5. A load of shared memory behind it is taken 4 cycles later.
    """
    figures = with_figures(SIMPLE, {"l2.write_bytes_per_cycle_per_sm": 2, "l1.store_buffer_bytes": buffer})
    ran = execute(
        core, ([store(0), store(0), lds(activity=0)], 1), figures=figures, memory=Memory(outputs=[(4, IN_L2)])
    )

    assert ran.warps[0, 0].notes == [(2, lands + 22)]


def test_the_port_passes_what_finds_room_behind_it():
    """
    Of stores of four sectors at 0, 4 and 8 the L2 takes one in 20 cycles, at 0, 20 and 40; one that waits has room.

    The third passes when the second is taken, and the port with it.
    """
    chip = quiet(figures=SIMPLE._replace(l2_waiting=4), share=10, memory=Memory(simulates_l2=False))
    passed = []
    for _ in range(3):
        chip.stores.store(0, 0, 0, 4)
        passed.append((chip.stores.port_exit[0] // 1000, chip.stores.store_free[0] // 1000))

    assert passed == [(0, 4), (4, 8), (20, 20)]


def test_no_more_stores_wait_than_have_places():
    """Of stores of a sector, one in 5 cycles, 127 wait behind the first, and the next one until that is taken."""
    chip = quiet(
        figures=with_figures(SIMPLE, {"l2.write_bytes_per_cycle_per_sm": 1 << 16}),
        share=10,
        memory=Memory(simulates_l2=False),
    )
    passed = []
    for _ in range(WAITING_STORES + 1):
        chip.stores.store(0, 0, 0, 1)
        passed.append(chip.stores.port_exit[0] // 1000)

    assert passed == [0] * (WAITING_STORES) + [5]


def test_a_warp_leaves_when_its_stores_have_passed_the_port(core):
    """
    Three stores issue at 0, 1 and 2, and leave the queue at 1, 5 and 9.

    A port of 2 bytes a cycle takes 64 cycles for each: they go at 1, 65 and 129. The warp is ready to leave at 3, and
    leaves when the last has gone.
    """
    figures = with_figures(SIMPLE, {"l2.write_bytes_per_cycle_per_sm": 2})
    ran = execute(core, ([store(0)] * 3, 1), figures=figures, memory=Memory(outputs=[(4, IN_L2)]))

    assert ran.warps[0, 0].spans[-2:] == [(3, 129, "drain"), (129, 130, "selected")]
    assert ran.chip.stores.acknowledged == 629


def test_a_store_resolves_to_its_lines():
    """Of the third warp: five sectors, which are the first line and a sector of the next, in lines from the 40th on."""
    memory = Memory([(1, ((7, 1),))], outputs=[(4, IN_L2), (5, IN_L2)])
    chip = quiet(store(0), store(1), memory=memory)
    found = chip.lsu.coalescer
    found.output_line = column([0, 40])
    chip.hand(0, 0, 0, 0)
    chip.warps.launch(0, 0)
    found.resolve_output(2 * WARP_WIDTH, CODE_WIDTH)
    touched = range(found.touched[found.request], found.touched[found.request + 1])

    assert found.asked[found.request] == 5
    assert [(found.line[one] + found.base, found.sector_mask[one]) for one in touched] == [(40, 0b1111), (41, 0b0001)]


def test_a_store_of_no_sectors_is_waited_for_by_nobody(core):
    ran = execute(core, ([store(0)] * 3, 1), figures=SIMPLE, memory=Memory(outputs=[(0, IN_L2)]))

    assert (ran.chip.stores.acknowledged, ran.chip.stores.stored_bytes) == (0, 0)
    assert ran.lives[0].finished == 10


@pytest.mark.parametrize(("stores", "written"), [(3, 0), (4, 128), (5, 128), (6, 256)])
def test_lines_that_stores_have_filled_are_written_when_others_need_the_room(stores, written):
    """Room for one line. Two stores of two sectors fill one: the second line, after four, drives the first out."""
    chip = quiet(figures=SIMPLE._replace(l2_lines=1))
    for _ in range(stores):
        chip.stores.store(0, 0, 0, 2)

    assert chip.l2.written_back == written


def test_only_modified_lines_are_written():
    """Room for one line: a stored one, which the first read drives out; the second drives out one that was read."""
    chip = quiet(figures=SIMPLE._replace(l2_lines=1))
    chip.stores.store(0, 0, 0, 4)
    written = []
    for line in (1, 2):
        chip.l2.read(0, chip.l2.lines.touch(line), 1, 0, 0)
        written.append(chip.l2.written_back)

    assert written == [128, 128]


def test_what_is_written_keeps_dram_from_reading():
    """128 bytes at 64 a cycle: DRAM begins to read at 2."""
    chip = quiet(figures=SIMPLE._replace(l2_lines=1))
    chip.stores.store(0, 0, 0, 4)
    idle = chip.dram.channel_free[0]
    chip.stores.store(0, 0, 0, 4)

    assert (idle, chip.dram.read(0, 0, 0, 32, 0)) == (0, 2 + H200.dram.latency)


PARTS = with_figures(
    SIMPLE,
    {
        "l2.parts.read_bytes": 64,
        "l2.parts.store_bytes": 48,
        "l2.parts.mask_bytes": 32,
        "l2.atomics.bytes": 64,
        "l2.atomics.sector_percent": 100,
        "l2.atomics.lane_percent": 150,
        "l2.atomics.float_percent": 300,
        "l2.atomics.slices": 2,
        "l2.atomics.further": 9,
    },
    l2_bytes=1 << 20,
)
"""A line takes 48 bytes of the L2's 64 a cycle at least, and a mask of 32 if it is stored in part."""


def taken(*accesses, atomic=0):
    """When the L2 has taken each access, one of each SM at cycle 0, in thousandths of a cycle; and the chip."""
    chip = quiet(figures=PARTS, sms=len(accesses), memory=Memory(trace=accesses))
    touched, log = 0, []
    for sm, one in enumerate(accesses):
        chip.stores.store_lines(sm, 0, 0, touched, touched + len(one.lines), 0, atomic)
        touched += len(one.lines)
        log.append(chip.stores.stored_at[sm])
    return log, chip


@pytest.mark.parametrize(
    ("mask", "masked", "bytes_of_l2"),
    [(0b0001, False, 48), (0b0011, False, 64), (0b1111, False, 128), (0b0001, True, 64), (0b1111, True, 160)],
)
def test_a_line_of_a_store_takes_its_sectors_and_its_mask_and_no_less_than_a_part(mask, masked, bytes_of_l2):
    """The second of two SMs' stores is taken when the first has had its share of 64 bytes a cycle."""
    found, chip = taken(*(Traced(((line, mask),), masked) for line in (0, 8)))

    assert found == [0, bytes_of_l2 * 1000 // 64]
    assert chip.stores.stored_bytes == 2 * 32 * mask.bit_count()


def test_the_port_passes_sectors_and_masks():
    """Two lines of two sectors each in part: 2 * (64 + 32) bytes at 32 a cycle."""
    _, chip = taken(Traced(((0, 0b0011), (1, 0b0011)), masked=True))

    assert chip.stores.store_free[0] == 6000


def test_a_store_in_part_reads_its_sectors_from_dram_and_a_whole_one_does_not():
    _, chip = taken(Traced(((0, 0b0011),), masked=True), Traced(((1, 0b0011),)))

    assert chip.dram.read_bytes == 64


@pytest.mark.parametrize(
    ("mask", "passes", "atomic", "busy"),
    [
        (0b0001, 1, ATOMIC, 1000),
        (0b1111, 4, ATOMIC, 4000),
        (0b0001, 32, ATOMIC, 48_000),
        (0b0001, 32, FLOAT_ATOMIC, 96_000),
        (0b1111, 5, ATOMIC, 5000),
        (0b1111, 5, FLOAT_ATOMIC, 6000),
    ],
    ids=[
        "one sector",
        "four sectors",
        "32 lanes at a word",
        "32 floats at a word",
        "two of many lanes at a word",
        "two of many floats at a word",
    ],
)
def test_atomics_queue_at_their_slice_by_their_passes(mask, passes, atomic, busy):
    """
    Each pass takes a cycle, and lanes at one word 1.5 each, or 3 if they add floats. At 64 bytes a cycle the L2 gives
    each pass a cycle, so the second of two SMs waits for the slice, not for bandwidth.
    """
    accesses = [Traced(((0, mask),), passes=passes)] * 2
    same, _ = taken(*accesses, atomic=atomic)

    assert same == [0, busy]


def test_the_result_of_an_atomic_comes_later_than_a_hit():
    """The line is there from its miss on: a hit's 258 cycles, and 9."""
    chip = quiet(figures=PARTS, memory=Memory(trace=[Traced(((0, 1),), passes=1)]))
    chip.l2.read(0, chip.l2.lines.touch(0), 1, 0, 0)

    assert chip.stores.store_lines(0, 2000, 2000, 0, 1, 0, ATOMIC) == 2000 + 258 + 9


def test_a_warp_leaves_when_its_traced_store_has_passed_the_port(core):
    """Two stores of a line in part, 160 bytes: the second goes at 5 and has passed when the L2 has taken it."""
    trace = [Traced(((0, 0b1111),), masked=True), Traced(((1, 0b1111),), masked=True)]
    ran = execute(core, ([traced_store()] * 2, 1), figures=PARTS, memory=Memory(trace=trace))

    assert ran.warps[0, 0].selected[:2] == [0, 1]
    assert ran.chip.stores.stored_bytes == 256
    assert ran.chip.dram.read_bytes == 256
