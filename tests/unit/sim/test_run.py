"""A queue of CTAs run to its end: when each began, how long SMs were busy, and what was counted on the way."""

from collections import Counter
from itertools import pairwise

import pytest
from doubles.by_hand import A100, assembly, chip_of, instruction, notes_of, spans_of
from doubles.published import H200
from problems.small import small_gemm

from gpusim.families.gemm.timed import TimedTileKernel
from gpusim.sim.core.constants import PIPE, RETIRED
from gpusim.sim.cta_scheduler import CtaLife
from gpusim.sim.decode import assemble
from gpusim.sim.figures import figures_of
from gpusim.sim.l2_walk import L2Walk
from gpusim.sim.run import Ran, Resident, columns_of, run_chip, run_sms
from gpusim.sim.stall_reasons import REASONS
from gpusim.sim.tables import code_of


def ran_of(*lives):
    return Ran(tuple(lives), (), 0, 0, 0, 0, 0, 0, 0, 0, 0.0, None)


def test_an_sm_s_span_is_from_its_first_launch_to_its_last_end():
    """SM 0: from 10 to 90, though CTA 2, launched second, ended first. SM 3: from 20 to 50."""
    lives = [CtaLife(2, 0, 40, 45), CtaLife(1, 3, 20, 50), CtaLife(0, 0, 10, 90)]

    assert ran_of(*lives).spans() == [80, 30]


def test_seconds_are_no_part_of_what_was_run():
    one, other = (Ran((), (), 0, 0, 0, 0, 0, 0, 0, 0, seconds, None) for seconds in (1.0, 2.0))

    assert one == other


def test_a_chip_runs_a_queue_in_launch_order(core):
    """
    One SM with room for one CTA: three of them, 5 instructions of 10 cycles and an exit.

    CTAs leave after all before them in the grid, one every 2 cycles: CTA 7 at 7 * 2 + 2 = 16, and starts 100 later, at
    116. The parameters take 79 cycles; issues at 195, ..., 235, exit at 245: it ends at 246. CTA 8 leaves when the exit
    has issued, at 245 + 2, starts 100 later, at 347, finds the parameters, and ends at 347 + 50 + 1. CTA 9 likewise.
    """
    code = assembly(([instruction(PIPE, stall=10)] * 5, 1), warps=1)
    chip = chip_of(code, figures_of(A100, 0, busy=False), core, ctas=10, slots=1)

    assert run_chip(chip, A100.launch, [7, 8, 9], None) == (
        CtaLife(7, 0, 116, 246),
        CtaLife(8, 0, 347, 398),
        CtaLife(9, 0, 499, 550),
    )
    assert not chip.notes.column
    assert not chip.spans.column


def test_a_chip_watches_the_cta_that_it_is_told_to(core):
    """CTA 8, whose one warp issues 5 instructions and an exit, and waits 9 cycles after each of the five."""
    code = assembly(([instruction(PIPE, stall=10)] * 5, 1), warps=1)
    chip = chip_of(code, figures_of(A100, 0, busy=False), core, ctas=10, slots=1)
    run_chip(chip, A100.launch, [7, 8, 9], 8)

    cycles = [347, *(cycle for at in range(348, 398, 10) for cycle in (at, at + 9)), 398]
    assert [(begin, end) for _, begin, end, _ in spans_of(chip)] == [*pairwise(cycles)]
    assert notes_of(chip) == [[0, RETIRED, 0, 398, 398, 398]]


# --- a whole kernel ---


def resident_of(kernel, slots):
    assemblies = {0: assemble(kernel.stream(0, "estimated"), kernel, 0)}
    return Resident(kernel, assemblies, code_of(assemblies, H200.instruction_cache.stream_lines), slots)


@pytest.fixture(scope="module")
def resident():
    """Six CTAs of a GEMM whose shared memory leaves room for the L1, two on an SM."""
    return resident_of(TimedTileKernel(small_gemm(192, 128, 128), H200), 2)


def test_shared_memory_of_all_slots_is_taken_from_the_l1(resident):
    kernel = resident.kernel
    lines = [columns_of(resident_of(kernel, slots), [0], None)[0].l1_lines for slots in (1, 2)]

    assert lines == [(262144 - slots * (kernel.shared_bytes + 1024)) // 128 for slots in (1, 2)]


def test_statuses_come_from_the_walk_where_there_is_one(resident):
    """
    Three tiles of A are read by two CTAs each, two of B by three: of all CTAs each line stands for itself.

    Of CTAs 0 and 1 alone, the two tiles of A that they lack stand for half each, the one of B for two thirds.
    """
    _, simulated = columns_of(resident, range(6), None)
    walk = L2Walk(resident.kernel, 2 * H200.sms, 1)
    _, walked = columns_of(resident, range(6), walk)
    _, part = columns_of(resident, range(2), walk)

    assert simulated.simulates_l2
    assert not walked.simulates_l2
    assert set(walked.slow) - {0} == set(walked.brought) == {1000}
    assert set(part.brought) == {500, 666}


def test_every_cycle_of_every_warp_has_a_reason(resident):
    """Six CTAs on three SMs. The warps of a CTA live from its launch to their exits, the last of which ends it."""
    ran = run_sms(resident, range(6), sms=3, share=1, walk=None, watched=4)
    warps = resident.kernel.lanes().warps
    lived = sum(life.finished - life.launched for life in ran.lives)

    assert sorted(life.cta for life in ran.lives) == list(range(6))
    assert Counter(life.sm for life in ran.lives) == {0: 2, 1: 2, 2: 2}
    assert len(ran.stalls) == len(REASONS)
    assert 0.99 * lived * warps < sum(ran.stalls) <= lived * warps
    assert ran.stalls[0] == ran.instructions
    assert ran.instructions == 6 * warps * sum(len(one.code) * one.trips for one in resident.assemblies[0].segments)
    assert ran.observer.cta == 4
    assert len(ran.spans()) == 3


def test_a_cta_that_is_not_run_is_not_watched(resident):
    assert run_sms(resident, [0], sms=1, share=1, walk=None, watched=5).observer is None


def test_dram_brings_what_ctas_share_once(resident):
    """A is 192 x 128 and B 128 x 128 halves (2 bytes each), whoever reads them first; nobody reads C."""
    ran = run_sms(resident, range(6), sms=3, share=1, walk=None, watched=0)

    assert ran.dram_bytes == 2 * 128 * (192 + 128)
    assert ran.l2_sectors == ran.asked_sectors == 6 * 2 * 128 * (64 + 64) // 32
