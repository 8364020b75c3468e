"""Stores: their way into the L2, when their warp may leave, when they are acknowledged, and what DRAM has of them."""

import pytest
from doubles.by_hand import Memory, execute, lds, quiet, store
from doubles.published import H200

from gpusim.sim.figures import figures_of
from gpusim.sim.footprint import IN_L2

SIMPLE = figures_of(H200, 0, busy=False)._replace(
    constant_miss=0,
    l2_far_percent=0,
    l2_bytes=128,
    l2_write_bytes=64,
    l2_store_port_bytes=32,
    l2_write_latency=500,
    l2_write_buffer=0,
    dram_bytes_per_kilocycle=64_000,
)
"""The L2 takes 128 bytes of reads in a cycle, or 64 of stores; an SM stores 32, and DRAM transfers 64."""


def acknowledged(chip, *stores):
    """Cycle at which the last of the stores up to each one, of four sectors at cycle 0 by an SM, is acknowledged."""
    log = []
    for sm in stores:
        chip.store(sm, 0, 0, 4)
        log.append(chip.acknowledged)
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
    assert (chip.stored_bytes, chip.dram_written) == (256, 0)


def test_a_read_waits_for_stores_before_it():
    """A store of 128 bytes keeps the L2 for 2 cycles: the other SM's read is accepted at 2 and hits 258 later."""
    chip = quiet(figures=SIMPLE, sms=2)
    chip.store(0, 0, 0, 4)

    assert chip.read_known(1, 0, 0, 1, IN_L2.slow, IN_L2.missed) == 260


def test_stores_are_taken_one_after_another():
    chip = quiet(figures=SIMPLE)

    assert [chip.store(0, 0, 0, 4) for _ in range(4)] == [0, 4, 8, 12]


@pytest.mark.parametrize(("buffer", "lands"), [(0, 69), (128, 9), (64, 37)])
def test_a_store_that_cannot_leave_holds_what_is_behind_it(core, buffer, lands):
    """
    Two stores of 128 bytes; a port of 2 bytes a cycle sends them at 1 and 65.

    The second waits in its queue until it has room, at 65, or 64 or 32 cycles before that where a buffer keeps as much
    of what waits; with room for all it leaves at 5. A load of shared memory behind it is taken 4 cycles later.
    """
    figures = SIMPLE._replace(l2_store_port_bytes=2, store_buffer=buffer)
    ran = execute(
        core, ([store(0), store(0), lds(activity=0)], 1), figures=figures, memory=Memory(outputs=[(4, IN_L2)])
    )

    assert ran.warps[0, 0].notes == [(2, lands + 22)]


def test_the_port_passes_what_the_l2_takes_within_the_time_of_its_buffers():
    """
    128 bytes of three SMs, of which the L2 takes one in 20 cycles: at 0, 20 and 40, the buffers hold 30 of them.

    The third SM's port is free 10 cycles after its store, which leaves then; the first two when they have sent theirs.
    """
    chip = quiet(figures=SIMPLE._replace(l2_write_buffer=30), sms=3, share=10, memory=Memory(simulates_l2=False))
    for sm in range(3):
        chip.store(sm, 0, 0, 4)

    assert [chip.room_of_port(sm) + SIMPLE.store_buffer // SIMPLE.l2_store_port_bytes for sm in range(3)] == [4, 4, 10]


@pytest.mark.parametrize(("buffer", "leaves"), [(0, 129), (100, 29)])
def test_a_warp_drains_before_it_leaves(core, buffer, leaves):
    """
    Three stores issue at 0, 1 and 2, and leave the queue at 1, 5 and 9.

    A port of 2 bytes a cycle takes 64 cycles for each: they go at 1, 65 and 129. The warp is ready to leave at 3, and
    leaves when the last has gone, or lies in the buffer.
    """
    figures = SIMPLE._replace(l2_store_port_bytes=2, l2_write_buffer=buffer)
    ran = execute(core, ([store(0)] * 3, 1), figures=figures, memory=Memory(outputs=[(4, IN_L2)]))

    assert ran.warps[0, 0].spans[-2:] == [(3, leaves, "drain"), (leaves, leaves + 1, "selected")]
    assert ran.chip.acknowledged == 629


def test_a_store_of_no_sectors_is_waited_for_by_nobody(core):
    ran = execute(core, ([store(0)] * 3, 1), figures=SIMPLE, memory=Memory(outputs=[(0, IN_L2)]))

    assert (ran.chip.acknowledged, ran.chip.stored_bytes) == (0, 0)
    assert ran.lives[0].finished == 10


@pytest.mark.parametrize(("stores", "written"), [(3, 0), (4, 128), (5, 128), (6, 256)])
def test_lines_that_stores_have_filled_are_written_when_others_need_the_room(stores, written):
    """Room for one line. Two stores of two sectors fill one: the second line, after four, drives the first out."""
    chip = quiet(figures=SIMPLE._replace(l2_lines=1))
    for _ in range(stores):
        chip.store(0, 0, 0, 2)

    assert chip.dram_written == written


def test_only_modified_lines_are_written():
    """Room for one line: a stored one, which the first read drives out; the second drives out one that was read."""
    chip = quiet(figures=SIMPLE._replace(l2_lines=1))
    chip.store(0, 0, 0, 4)
    written = []
    for line in (1, 2):
        chip.fill(0, chip.l2.used(line), 1, 0, 0)
        written.append(chip.dram_written)

    assert written == [128, 128]


def test_what_is_written_keeps_dram_from_reading():
    """128 bytes at 64 a cycle: DRAM begins to read at 2."""
    chip = quiet(figures=SIMPLE._replace(l2_lines=1))
    chip.store(0, 0, 0, 4)
    idle = chip.dram_free[0]
    chip.store(0, 0, 0, 4)

    assert (idle, chip.dram(0, 0, 0, 32, 0)) == (0, 2 + H200.dram.latency)
