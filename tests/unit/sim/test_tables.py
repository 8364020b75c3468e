"""Columns of code and of what CTAs touch: what they say, and what they say once."""

import numpy as np
import pytest
from doubles.by_hand import assembly, instruction, lds
from doubles.published import H200
from hypothesis import given, settings
from hypothesis import strategies as st
from problems.attention import random_attention
from problems.dgrad import random_dgrad
from problems.gemm import random_scenario
from problems.small import small_gemm

from gpusim.families.gemm.timed import TimedTileKernel
from gpusim.families.registry import family_of
from gpusim.sim.columns import CODE_LINES
from gpusim.sim.core.constants import CODE_WIDTH, PIPE, TENSOR_STRIDE
from gpusim.sim.footprint import Patterns
from gpusim.sim.l2_walk import L2Walk
from gpusim.sim.tables import DataTables, code_of, decoded_of
from gpusim.tile.requests import distinct_sectors
from gpusim.tile.shared_tables import copy_table, over_warps
from gpusim.units import SECTOR_BYTES


def test_programs_follow_each_other_segment_by_segment():
    """A program of 2 and 1 instructions and its exit, 4 warps; and one of 3 and its exit, 2 warps."""
    add, multiply = instruction(PIPE, stall=2), instruction(PIPE, pipe="half", stall=3)
    programs = {"long": assembly(([add] * 2, 5), ([multiply], 1), warps=4), "short": assembly(([add] * 3, 7), warps=2)}
    code = code_of(programs, stream_lines=16)

    assert list(code.begins) == [0, 0, 0, 0, 3, 3, 0, 0]
    assert list(code.first) == [0, 2, 3, 4, 7]
    assert list(code.end) == [2, 3, 4, 7, 8]
    assert list(code.trips) == [5, 1, 1, 7, 1]
    assert list(code.tiles) == [1, 1, 0, 1, 0]
    assert list(code.warps_of) == [4, 2]
    assert code.warps == 4
    assert list(code.of["stall"]) == [one.stall for one in decoded_of(programs)] == [2, 2, 3, 1, 2, 2, 2, 1]


def test_columns_of_instructions_fit_lines_of_memory_and_are_there_once():
    names = [name for line in CODE_LINES for name in line]

    assert len(set(names)) == len(names)
    assert max(map(len, CODE_LINES)) <= CODE_WIDTH


def test_scoreboards_are_a_mask_and_lines_reach_as_far_as_is_fetched_ahead():
    code = code_of({0: assembly(([instruction(PIPE, waits=(0, 2, 5), line=7)], 1), warps=1)}, stream_lines=16)

    assert list(code.of["waits"]) == [0b100101, 0]
    assert list(code.of["icache_line"]) == [7, -1]
    assert code.lines == 7 + 16 + 1


def test_wavefronts_that_are_alike_are_there_once_for_each_ring_slot_and_warp():
    """Two slots of two warps, in a launch whose CTAs have up to three."""
    ring = lds()._replace(wavefronts=((1, 2), (3, 4)))
    programs = {0: assembly(([ring, instruction(PIPE), ring], 1), warps=2), 1: assembly(warps=3)}
    code = code_of(programs, stream_lines=0)

    assert code.of["first_wavefront"][0] == code.of["first_wavefront"][2] != code.of["first_wavefront"][1]
    assert code.of["wavefront_slots"][0] == 2
    assert list(code.wavefronts[code.of["first_wavefront"][0] :][:6]) == [1, 2, 0, 3, 4, 0]


def tables_of(kernel, *, walk=None):
    return DataTables(kernel, kernel.lanes().warps, walk, 2 * H200.sms)


def requests(data, first, count, base):
    """(sectors, lines) of requests, as the core resolves them with the line that theirs count from."""
    return [
        (
            data.asked[one],
            [
                (data.line[touched] + base, data.mask[touched])
                for touched in range(data.touched[one], data.touched[one + 1])
            ],
        )
        for one in range(first, first + count)
    ]


def from_line(first, made):
    """The same of requests whose lines count from one, which is None where nothing is touched."""
    return [(sectors, [((first or 0) + line, mask) for line, mask in lines]) for sectors, lines in made]


def check_every_access(kernel):
    """Every fetch and output of every CTA, evaluated by itself, is what the columns say."""
    lanes, ctas = kernel.lanes(), range(len(kernel.launched))
    data = tables_of(kernel).of(ctas, dict.fromkeys(map(kernel.behaviour, ctas), 0))
    for cta in ctas:
        block = int(kernel.launched[cta])
        if kernel.missing_work(block):
            continue
        own = lanes.cta(block)
        for row, fetches in enumerate(own.fetches()):
            around = not kernel.cached_in_l1(row)
            operand = lanes.operands[kernel.copied[kernel.tensor_of(row)]]
            filled, lane_bytes = copy_table(operand), operand.access_bytes
            for turn, number in enumerate(fetches.number.tolist()):
                access = own.fetched(row, number)
                first, pattern = Patterns().copies(access, filled, lane_bytes, around_l1=around)
                base = kernel.tensor_of(row) * TENSOR_STRIDE + (first or 0)
                made = [of_warp for vecs in pattern.requests for each_warp in vecs for of_warp in each_warp]
                fetch = data.row_fetch[cta * data.rows + row] + turn
                request = data.request[data.pattern[fetch]]
                assert requests(data, request, len(made), data.fetch_line[fetch]) == from_line(base, made)
                assert data.vecs[data.pattern[fetch]] == len(pattern.requests[0])
                wavefronts = [of_warp for vecs in pattern.wavefronts for each_warp in vecs for of_warp in each_warp]
                assert list(data.l1_wavefronts[request : request + len(wavefronts)]) == wavefronts
        for number, row in enumerate(own.outputs()):
            first, of_accesses = Patterns().output(row)
            made, output = [of_warp for warps in of_accesses for of_warp in warps], cta * data.outputs + number
            found = requests(data, data.row_output[output], len(made), data.output_line[output])
            assert found == from_line(first, made)
            if not row.kept:
                sectors = distinct_sectors(over_warps(row.offset), over_warps(row.valid), row.bits)
                wide = max(1, row.access_bytes // SECTOR_BYTES)
                assert [count for count, _ in found] == (sectors * wide).ravel().tolist()
            assert [count for count, _ in found] == [sum(mask.bit_count() for _, mask in lines) for _, lines in found]


@pytest.mark.parametrize("alignment", [8, 2])
def test_every_fetch_resolves_to_its_sectors_and_lines(alignment):
    """2 x 2 tiles of a ragged GEMM; each tensor's lines begin 2^40 after the one's before."""
    check_every_access(TimedTileKernel(small_gemm(100, 72, 200, alignment_a=alignment, alignment_b=alignment), H200))


@given(seed=st.integers(0, 1 << 32), draw=st.sampled_from([random_scenario, random_dgrad, random_attention]))
@settings(deadline=None, max_examples=40)
def test_tiles_that_are_evaluated_once_for_all_alike_have_the_accesses_of_each(seed, draw):
    """Random GEMMs and convolutions, their reductions, gradients and attentions of either mainloop."""
    scenario = draw(seed)
    for kernel in family_of(scenario).timing.timed_kernels(scenario, H200):
        check_every_access(kernel)


def test_a_tile_is_evaluated_once_for_all_ctas_that_fetch_it():
    """3 x 2 tiles: 3 of A, 2 of B, of 4 k tiles and the 3 after them that bring nothing. Equal patterns are one."""
    kernel = TimedTileKernel(small_gemm(192, 128, 256), H200)
    data = tables_of(kernel).of(range(6), {0: 0})
    of_row = np.array(data.row_fetch).reshape(6, 2)

    assert [len(set(of_row[:, row])) for row in range(2)] == [3, 2]
    assert len(data.pattern) == (3 + 2) * (4 + 3)
    assert len(set(data.pattern)) == len(data.request)


def test_a_walk_says_which_fetches_hit():
    """One wave of 4 CTAs: the walk's own figures, and lines as without a walk."""
    kernel = TimedTileKernel(small_gemm(128, 128, 128), H200)
    walk = L2Walk(kernel, resident=264, waves=1)
    data = tables_of(kernel, walk=walk).of(range(4), {0: 0})

    for cta in range(4):
        for row, status in enumerate(walk.status(cta)):
            first = data.row_status[cta * data.rows + row]
            found = zip(data.slow[first:], data.shared[first:], strict=False)
            assert [one for one, _ in zip(found, status, strict=False)] == [(one.slow, one.shared) for one in status]
    assert not data.simulates_l2
    assert list(data.line) == list(tables_of(kernel).of(range(4), {0: 0}).line)


def test_ctas_are_followed_by_their_place_in_the_queue():
    """
    Two tiles of three slices, CTAs 0 to 5: each follows the one two before. In a queue of 1, 3, 4 and 5, CTA 3 follows
    1 and 5 follows 3; CTA 4 follows nobody, for 2 is not simulated (D16).
    """
    kernel = TimedTileKernel(small_gemm(128, 64, 320, split_k="serial", split_k_slices=3), H200)
    programs = {behaviour: behaviour for behaviour in range(3)}
    whole, part = (tables_of(kernel).of(queue, programs) for queue in (range(6), (1, 3, 4, 5)))

    assert (list(whole.follows), list(whole.followed)) == ([-1, -1, 0, 1, 2, 3], [2, 3, 4, 5, -1, -1])
    assert (list(part.follows), list(part.followed)) == ([-1, 0, -1, 1], [1, 3, -1, -1])
