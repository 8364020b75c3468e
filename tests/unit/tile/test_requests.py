"""Requested sectors: a brute-force twin counts them lane by lane."""

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gpusim.families.conv.fprop.problem import Conv2dFpropProblem
from gpusim.families.gemm.gemm import GemmProblem
from gpusim.layout.global_lines import returning_wavefronts
from gpusim.scenario.gemm import GemmScenario
from gpusim.scenario.kernel import Kernel
from gpusim.tile.requests import (
    bypassing_sectors,
    distinct_sectors,
    grid_requests,
)
from gpusim.tile.shared_store import store_offsets

KERNEL = {"threadblock": [64, 32, 32], "warp": [32, 16, 32], "stages": 3}


@st.composite
def gemms(draw):
    vec = draw(st.sampled_from([2, 4, 8]))
    k = draw(st.integers(1, 100 // vec)) * vec
    return {
        "kind": "gemm",
        "m": draw(st.integers(1, 150)),
        "n": draw(st.integers(1, 80)),
        "k": k,
        "lda": k + draw(st.integers(0, 2)) * vec,
        "ldb": k + draw(st.integers(0, 2)) * vec,
        "split_k_slices": draw(st.integers(1, 3)),
    }


@st.composite
def convolutions(draw):
    size = st.integers(3, 9)
    pair = st.tuples(st.integers(1, 2), st.integers(1, 2)).map(list)
    return {
        "kind": "conv2d_fprop",
        "n": draw(st.integers(1, 3)),
        "h": draw(size),
        "w": draw(size),
        "c": draw(st.integers(1, 30)) * 2,
        "k": draw(st.integers(1, 40)),
        "r": draw(st.integers(1, 2)),
        "s": draw(st.integers(1, 2)),
        "padding": list(draw(st.tuples(st.integers(0, 2), st.integers(0, 2)))),
        "stride": draw(pair),
        "dilation": draw(pair),
        "mode": draw(st.sampled_from(["cross_correlation", "convolution"])),
        "split_k_slices": draw(st.integers(1, 2)),
    }


def lane_by_lane(scenario, operand, tile, slice_, number, *, around_l1):
    """
    Sectors of each warp instruction of one fetch, with sets: {(access, vec, warp): sectors}.

    Around L1 these are pairs of the line that is read and the 32 bytes that are written, in the fetch's own slot.
    """
    target = (store_offsets(scenario.operand(operand), number % scenario.kernel.stages) * 2 // 32).tolist()
    access = scenario.operand(operand).iterator(tile, slice_).fetch(number)
    threads, accesses, vecs = access.offset.shape
    offset, valid = access.offset.tolist(), access.valid.tolist()
    counts = np.zeros((accesses, vecs, threads // 32), dtype=int)
    for i, v, w in np.ndindex(counts.shape):
        lanes = range(w * 32, w * 32 + 32)
        bytes_of = {lane: offset[lane][i][v] * 2 for lane in lanes if valid[lane][i][v]}
        asked = {(place // 128, target[lane][i][v]) if around_l1 else place // 32 for lane, place in bytes_of.items()}
        counts[i, v, w] = len(asked)
    return counts


RESIDUE_SHIFTS_ONE_SLICE = {"kind": "gemm", "m": 64, "n": 32, "k": 134, "lda": 144, "ldb": 144, "split_k_slices": 2}
IMAGES_START_WITHIN_A_SECTOR = {"kind": "conv2d_fprop", "n": 2, "h": 3, "w": 33, "c": 4, "k": 32, "r": 2, "s": 2}


@settings(deadline=None, max_examples=25)
@example(problem=RESIDUE_SHIFTS_ONE_SLICE, around_l1=False, layout="crosswise")
@example(problem=RESIDUE_SHIFTS_ONE_SLICE, around_l1=True, layout="padded<8>")
@example(problem=IMAGES_START_WITHIN_A_SECTOR, around_l1=False, layout="crosswise")
@given(
    problem=st.one_of(gemms(), convolutions()),
    around_l1=st.booleans(),
    layout=st.sampled_from(["crosswise", "row_major", "padded<8>"]),
)
def test_sectors_equal_a_count_lane_by_lane(problem, around_l1, layout):
    kernel = {**KERNEL, "shared": {"a": layout, "b": layout}}
    model = GemmProblem if problem["kind"] == "gemm" else Conv2dFpropProblem
    scenario = GemmScenario(machine="h200", problem=model(**problem), kernel=Kernel(**kernel))
    tiled = scenario.grid.tiled
    totals = {"a": 0, "b": 0}
    for operand, tiles, repeats in (("a", tiled.m, tiled.n), ("b", tiled.n, tiled.m)):
        for tile, slice_ in np.ndindex(tiles, tiled.slices):
            fetches = scenario.k_iterations(slice_) + 2
            expected = [lane_by_lane(scenario, operand, tile, slice_, f, around_l1=around_l1) for f in range(fetches)]
            totals[operand] += int(np.stack(expected).sum()) * repeats

    longest = scenario.k_iterations()
    for side, operand in scenario.operands.items():
        assert grid_requests(operand, tiled, longest, around_l1=around_l1).sectors == totals[side]


def test_lanes_that_share_a_sector_request_it_once():
    offset = np.arange(32) * 8
    valid = np.ones(32, dtype=bool)

    assert distinct_sectors(offset, valid, bits=16) == 32 * 16 // 32
    assert distinct_sectors(np.zeros(32, dtype=np.int64), valid, bits=16) == 1


def test_lanes_without_predicate_request_nothing():
    offset = np.arange(32) * 16 - 64

    assert distinct_sectors(offset, np.zeros(32, dtype=bool), bits=16) == 0
    assert distinct_sectors(offset, offset >= 0, bits=16) == 28


ROW = np.arange(8) + 8 * np.arange(4)[:, None] * 100
"""Vectors of four rows of 128 bytes, each a line of global memory."""


def rows_at(pitch):
    """The same rows in shared memory, ``pitch`` vectors apart."""
    return (np.arange(4)[:, None] * pitch + np.arange(8)).reshape(32)


def test_odd_padded_rows_ask_for_a_sector_more():
    """
    Rows 144 bytes apart: rows 1 and 3 begin in the middle of 32 bytes, so that each fills 5 such pieces: 2 x 4 + 2 x 5.
    """
    source, valid = ROW.reshape(32) * 8, np.ones(32, dtype=bool)

    assert bypassing_sectors(source, rows_at(8) * 8, valid, bits=16) == 16
    assert bypassing_sectors(source, rows_at(9) * 8, valid, bits=16) == 18
    assert distinct_sectors(source, valid, bits=16) == 16


def test_a_row_that_begins_within_a_sector_asks_for_what_it_writes():
    """
    Eight rows of 64 bytes, each 16 bytes into a line: three sectors are touched, two pieces of 32 bytes are written.
    From 80 bytes into a line, three vectors lie in one line and one in the next: 2 + 1.
    """
    row, vector = np.divmod(np.arange(32), 4)
    valid = np.ones(32, dtype=bool)
    target = np.arange(32) * 8
    for begin, asked in ((1, 2), (5, 3)):
        source = (row * 800 + begin + vector) * 8
        assert distinct_sectors(source, valid, bits=16) == 8 * 3
        assert bypassing_sectors(source, target, valid, bits=16) == 8 * asked


def test_every_line_returns_by_itself():
    """
    Four rows of 128 bytes return in 4 wavefronts, eight of 64 in 8; a padded row whose first and last 32 bytes share
    banks takes two: 1 + 2 + 1 + 2.
    """
    valid = np.ones(32, dtype=bool)
    row, vector = np.divmod(np.arange(32), 4)

    assert returning_wavefronts(ROW.reshape(32) * 8, rows_at(8) * 8, valid, bits=16) == 4
    assert returning_wavefronts((row * 800 + vector) * 8, np.arange(32) * 8, valid, bits=16) == 8
    assert returning_wavefronts(ROW.reshape(32) * 8, rows_at(9) * 8, valid, bits=16) == 6
    assert returning_wavefronts(ROW.reshape(32) * 8, rows_at(9) * 8, ~valid, bits=16) == 0
