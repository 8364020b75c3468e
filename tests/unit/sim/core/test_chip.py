"""The chip as a whole, fed with instructions by hand: lifetimes of warps, and what L1, L2 and DRAM do together."""

from dataclasses import replace
from itertools import pairwise

import pytest
from doubles.by_hand import (
    A100,
    Memory,
    copy,
    execute,
    instruction,
    ldmatrix,
)
from doubles.published import H200

from gpusim.machine import load_machine
from gpusim.sim.core.constants import BAR, COMMIT, DEPBAR, PIPE
from gpusim.sim.figures import figures_of
from gpusim.sim.footprint import IN_L2, L2Status
from gpusim.sim.stall_reasons import REASONS


def test_a_copy_whose_lanes_are_all_predicated_off_takes_no_data_stage(core):
    """Zero-filling copies write all the same: 4 wavefronts each."""
    filled = execute(core, ([copy(0)], 1), memory=Memory([(0, ())]))
    off = execute(core, ([copy(0)._replace(zero_fills=False)], 1), memory=Memory([(0, ())]))

    assert (filled.chip.data_stage.wavefronts, off.chip.data_stage.wavefronts) == (4, 0)


@pytest.mark.parametrize("machine", [A100, load_machine("h200")], ids=["a100", "h200"])
@pytest.mark.parametrize(("warps", "ctas"), [(1, 1), (4, 2), (5, 1), (8, 3)])
def test_spans_of_every_warp_tile_its_lifetime(core, machine, warps, ctas):
    """Every cycle of every warp has one reason, and the stalls of the SMSPs are the sum of all lifetimes."""
    code = [copy(0), instruction(COMMIT), *(ldmatrix(4, board, 8) for board in range(3))]
    code += [instruction(PIPE, pipe="tensor core", waits=(0, 1, 2)), instruction(DEPBAR), instruction(BAR)]
    memory = Memory([(16, tuple((fetch * 4 + line, 15) for line in range(4))) for fetch in range(5)])

    ran = execute(core, (code, 5), warps=warps, ctas=ctas, machine=machine, memory=memory)

    assert len(ran.warps) == warps * ctas
    for warp in ran.warps.values():
        assert warp.spans[0][0] == warp.launched
        assert all(before[1] == after[0] for before, after in pairwise(warp.spans))
        assert len(warp.selected) == 5 * len(code) + 1
    spans = [span for warp in ran.warps.values() for span in warp.spans]
    for number, reason in enumerate(REASONS):
        assert sum(ran.chip.stalls[number :: len(REASONS)]) == sum(
            end - begin for begin, end, why in spans if why == reason
        )
    assert ran.chip.smsp.instructions == len(ran.warps) * (5 * len(code) + 1)
    assert max(life.finished for life in ran.lives) == max(end for _, end, _ in spans)
    again = execute(core, (code, 5), warps=warps, ctas=ctas, machine=machine, memory=memory)
    assert (again.warps, again.lives) == (ran.warps, ran.lives)


NEAR_ONLY = replace(H200, l2=replace(H200.l2, far_fraction_percent=0))
BEYOND = H200.async_copy.l1_latency - H200.l1.hit_latency
"""What a copy takes beyond a load."""
L2_HIT = H200.l2.hit_latency + BEYOND
MISS = H200.dram.latency + BEYOND


def taken(core, requests, *, cached=True, stall=5000, l1_lines=8, machine=NEAR_ONLY, **memory):
    """Cycles that copies of requests take, from when they leave the MIO, one every so many cycles; and the chip."""
    code = [copy(fetch, stall=stall, activity=0, through_l1=cached) for fetch in range(len(requests))]
    figures = figures_of(machine, 0, busy=False)._replace(l1_lines=l1_lines)
    ran = execute(core, (code, 1), figures=figures, machine=machine, memory=Memory(requests, **memory))
    return [landed - at - 1 for at, landed in ran.warps[0, 0].notes], ran.chip


def asked(*lines):
    """The request of some (line, sector mask)."""
    return sum(mask.bit_count() for _, mask in lines), lines


def test_near_and_far_come_by_turns(core):
    """Half of the lines are far; by turns, in the machine's proportion (D5)."""
    log, _ = taken(core, [asked((0, 1))] * 4, cached=False, machine=H200, simulates_l2=False)

    assert sorted(log) == [L2_HIT] * 2 + [H200.l2.far_latency + BEYOND] * 2
    assert log[0] != log[1]
    assert log[:2] == log[2:]


def test_first_touch_misses_and_later_ones_hit(core):
    """
    Line 7 comes from DRAM whole, for its first two sectors; who asks while it comes waits for it, not for DRAM again.
    """
    stalls, masks = (100, 4900, 1000, 1), (0b0011, 0b0011, 0b0011, 0b1111)
    code = [copy(fetch, stall=stall, activity=0) for fetch, stall in enumerate(stalls)]
    ran = execute(core, (code, 1), machine=NEAR_ONLY, memory=Memory([asked((7, mask)) for mask in masks]))

    assert [landed - at - 1 for at, landed in ran.warps[0, 0].notes] == [MISS, MISS - 100, L2_HIT, L2_HIT]
    assert ran.chip.dram.read_bytes == 4 * 32


def test_the_l2_forgets_the_least_recently_used_line(core):
    """Room for two lines: 1, 2, 1 again, then 3 drives 2 out. Line 1 hits, line 2 misses."""
    small = replace(NEAR_ONLY, l2=replace(NEAR_ONLY.l2, bytes=2 * 2 * 128))
    log, _ = taken(core, [asked((line, 1)) for line in (1, 2, 1, 3, 1, 2)], cached=False, machine=small)

    assert log == [MISS, MISS, L2_HIT, MISS, L2_HIT, MISS]


def test_sectors_found_in_l1_still_count_in_the_walks_proportion(core):
    """The walk knows no L1: all 4 sectors asked for are missed, a line, though only 2, of a new line, go to the L2."""
    statuses = [IN_L2, L2Status(slow=500, missed=1000)]
    log, chip = taken(
        core, [asked((0, 0b0011)), asked((0, 0b0011), (1, 0b0011))], statuses=statuses, simulates_l2=False
    )

    assert log == [L2_HIT, MISS]
    assert (chip.l2.sectors, chip.dram.read_bytes) == (4, 128)
