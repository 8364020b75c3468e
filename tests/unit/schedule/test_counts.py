"""What the grid executes: closed totals against a brute-force walk of every CTA, warp and lane."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from problems.gemm import random_scenario

from gpusim.families.conv.fprop.problem import Conv2dFpropProblem
from gpusim.families.gemm.gemm import GemmProblem
from gpusim.families.gemm.program import program
from gpusim.families.gemm.schedule import TileKernel, kernels
from gpusim.layout.banks import access_ideal, access_wavefronts
from gpusim.scenario.gemm import GemmScenario
from gpusim.scenario.kernel import Kernel, SharedLayouts
from gpusim.scenario.models import DTypes
from gpusim.schedule.counts import CountedKernel, GridProgram, count, count_all
from gpusim.schedule.ops import CopyAsync
from gpusim.tile.shared_store import store_offsets

F16_OUT = DTypes(ab="f16", accumulator="f32", output="f16")


def gemm(shared=("crosswise", "crosswise"), kernel=None, **problem):
    a, b = shared
    extents = {"m": 256, "n": 128, "k": 320}
    return GemmScenario(
        machine="h200",
        problem=GemmProblem(**(extents | problem)),
        kernel=Kernel(**(kernel or {}), shared=SharedLayouts(a=a, b=b)),
    )


def convolution(**problem):
    extents = {"n": 1, "h": 12, "w": 12, "c": 64, "k": 64, "r": 3, "s": 3, "padding": (1, 1)}
    return GemmScenario(machine="h200", problem=Conv2dFpropProblem(**(extents | problem)))


def executed(scenario):
    return count(TileKernel(scenario))


def executed_in_all(scenario):
    return count_all(kernels(scenario))


def rows(scenario):
    return {(row.op, row.operand): row for row in executed(scenario).bank_conflicts}


def test_a_gemm_counted_by_hand():
    """
    2 x 1 CTAs of 4 warps, 5 k tiles of 4 k groups, 16 copies and 8 ldmatrix per k group, 32 mma.

    Copies: 5 k tiles and 2 overrun fetches. Fragments: 5 * 4 k groups and one past the last. Barriers: prologue, one
    per k tile, tail, and two in each of the 8 epilogue steps. Waits: prologue, k tiles, tail; commits: 2 + 5 + 1.
    """
    counts = executed(gemm())
    warps = 2 * 4

    assert (counts.ctas, counts.warps) == (2, 4)
    assert counts.instructions["LDG"] == 0
    assert {opcode: number for opcode, number in counts.instructions.items() if number} == {
        "HMMA": 5 * 4 * 32 * warps,
        "LDSM": (5 * 4 + 1) * 8 * warps,
        "LDGSTS": 7 * 16 * warps,
        "LDGDEPBAR": 8 * warps,
        "DEPBAR": 7 * warps,
        "BAR": (7 + 16) * warps,
        "STS": 64 * warps,
        "LDS": 32 * warps,
        "STG": 32 * warps,
    }


def test_a_convolution_issues_one_share_more():
    """
    The first share of the fetch after the last is issued in the last k group: 4 of the 16 copies.
    """
    counts = executed(convolution())
    assert counts.instructions["LDGSTS"] == ((9 + 2) * 16 + 4) * 4 * counts.ctas


@pytest.mark.parametrize(
    ("layout", "wavefronts"),
    [("crosswise", 4), ("row_major", 32), ("padded<8>", 4), ("Swizzle<3,3,3>", 4)],
)
def test_wavefronts_of_each_ldmatrix_x4(layout, wavefronts):
    """
    Rows of 64 fp16 span all banks: unswizzled, the 8 rows of a matrix share 4 of them.
    """
    found = rows(gemm(shared=(layout, layout)))
    for operand in ("a", "b"):
        row = found["ldmatrix", operand]
        assert row.wavefronts == wavefronts * row.requests
        assert row.ideal_wavefronts == 4 * row.requests
        assert row.conflicts == row.wavefronts - row.ideal_wavefronts


def test_the_epilogue_has_no_conflict_in_either_output_type():
    for dtype in (DTypes(), F16_OUT):
        found = rows(gemm(dtype=dtype))
        sts, lds = found["sts", "accumulator"], found["lds", "accumulator"]
        assert (sts.conflicts, lds.conflicts) == (0, 0)
        assert (sts.wavefronts, lds.wavefronts) == (2 * sts.requests, 4 * lds.requests)


def ldgsts_of_every_lane(scenario, operand):
    """Requests, wavefronts and ideal wavefronts of one operand's copies, one CTA and one op at a time."""
    problem, stages = scenario.problem, scenario.kernel.stages
    width = 2 * (problem.access(operand))
    stores = [store_offsets(scenario.operand(operand), stage) * 2 for stage in range(stages)]
    totals = Counter()
    for tile_m, tile_n, slice_ in scenario.grid.cta_tiles().tolist():
        if tile_m < 0:
            continue
        k_iterations = scenario.k_iterations(slice_)
        iterator = scenario.operand(operand).iterator(tile_m if operand == "a" else tile_n, slice_)
        valid = [iterator.fetch(number).valid for number in range(k_iterations + stages)]
        for op in program(scenario, k_iterations, slice_).mainloop_ops():
            if isinstance(op, CopyAsync) and op.operand == operand:
                addresses = stores[op.stage][:, op.access, op.vec].reshape(-1, 32)
                lanes = valid[op.fetch][:, op.access, op.vec].reshape(-1, 32) | op.zfill
                totals["requests"] += len(addresses)
                totals["wavefronts"] += int(access_wavefronts(addresses, width, lanes).sum())
                totals["ideal"] += int(access_ideal(width, lanes).sum())
    return totals["requests"], totals["wavefronts"], totals["ideal"]


@pytest.mark.parametrize(
    "scenario",
    [
        gemm(m=200, n=136, k=328),
        gemm(m=200, n=136, k=328, shared=("row_major", "padded<8>")),
        gemm(m=100, n=36, k=1000, split_k_slices=3),
        gemm(m=130, n=70, k=388),
        gemm(m=64, n=64, k=64, kernel={"stages": 5}),
        convolution(c=72, k=40),
        convolution(c=128, split_k_slices=2, stride=(2, 1)),
    ],
    ids=["ragged", "ragged-linear", "split-k", "8-byte copies", "fewer k tiles than stages", "conv", "conv-split-k"],
)
@pytest.mark.parametrize("operand", ["a", "b"])
def test_copies_write_the_wavefronts_of_their_lanes(scenario, operand):
    row = rows(scenario)["ldgsts", operand]
    assert (row.requests, row.wavefronts, row.ideal_wavefronts) == ldgsts_of_every_lane(scenario, operand)


def test_gemm_copies_past_the_last_k_tile_are_issued_and_write_nothing():
    row = rows(gemm())["ldgsts", "a"]
    assert row.requests == 2 * 4 * 7 * 8
    assert row.wavefronts == 2 * 4 * 5 * 8 * 4


def test_source_loads_request_what_the_stores_store():
    plain, sourced = executed(gemm(m=200)), executed(gemm(m=200, beta=1.0))
    assert plain.load_sectors["source"] == 0
    assert sourced.load_sectors["source"] == sourced.store_sectors == plain.store_sectors
    assert sourced.instructions["LDG"] == sourced.instructions["STG"]
    loads = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"
    assert sourced.counters()[loads] == plain.counters()[loads] + plain.store_sectors


def test_later_slices_of_a_serial_split_read_the_partial_output():
    whole, split = executed(gemm(k=640)), executed(gemm(k=640, split_k_slices=3))
    assert split.ctas == 3 * whole.ctas
    assert split.store_sectors == 3 * whole.store_sectors
    assert split.load_sectors["source"] == 2 * whole.store_sectors
    assert split.instructions["HMMA"] == whole.instructions["HMMA"]


@pytest.mark.parametrize(("ab", "accumulator", "opcode"), [("f16", "f32", "HMMA"), ("s8", "s32", "IMMA")])
def test_the_reduction_of_a_parallel_split_adds_no_mma(ab, accumulator, opcode):
    types = DTypes(ab=ab, accumulator=accumulator, output=accumulator)
    kernel = {"instruction": (16, 8, 16 if ab == "f16" else 32)}
    scenario = gemm(kernel=kernel, k=640, split_k_slices=3, split_k="parallel", dtype=types)
    assert executed_in_all(scenario).instructions[opcode] == executed(scenario).instructions[opcode] > 0
    assert executed_in_all(scenario).instructions["STG"] > executed(scenario).instructions["STG"]


def test_two_lanes_share_a_word_where_16_bit_accumulators_are_read_one_by_one():
    types = DTypes(ab="f16", accumulator="f16", output="f16")
    row = rows(gemm(alignment_c=1, dtype=types))["lds", "accumulator"]
    assert row.wavefronts == row.ideal_wavefronts == row.requests > 0


def test_counts_are_integers():
    assert all(
        isinstance(value, int) and not isinstance(value, np.generic) for value in executed(gemm()).counters().values()
    )


class WholePrograms(TileKernel):
    """A kernel whose programs are counted op by op."""

    executions = CountedKernel.executions

    def programs(self):
        tiled = self.scenario.grid.tiled
        return [GridProgram(own.ops(), tiled.m * tiled.n * len(slices)) for own, slices in self.slice_programs]


@given(seed=st.integers(0, 1 << 32))
@settings(deadline=None, max_examples=30)
def test_iterations_of_one_ring_slot_count_alike(seed):
    scenario = random_scenario(seed)

    assert count(TileKernel(scenario)) == count(WholePrograms(scenario))
