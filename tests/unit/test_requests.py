"""Requested sectors: a brute-force twin counts them lane by lane."""

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gpusim.scenario_models import Scenario
from gpusim.tile.extents import gemm_k_iterations
from gpusim.tile.global_iterators import global_iterator
from gpusim.tile.requests import distinct_sectors, fetch_sectors, global_sectors
from gpusim.tile.threadblock_swizzle import tiled_shape

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


def lane_by_lane(scenario, operand, tile, slice_, number):
    """Sectors of each warp instruction of one fetch, with sets: {(access, vec, warp): sectors}."""
    access = global_iterator(scenario, operand, tile, slice_).fetch(number)
    threads, accesses, vecs = access.offset.shape
    offset, valid = access.offset.tolist(), access.valid.tolist()
    counts = np.zeros((accesses, vecs, threads // 32), dtype=int)
    for i, v, w in np.ndindex(counts.shape):
        lanes = range(w * 32, w * 32 + 32)
        counts[i, v, w] = len({offset[lane][i][v] * 2 // 32 for lane in lanes if valid[lane][i][v]})
    return counts


RESIDUE_SHIFTS_ONE_SLICE = {"kind": "gemm", "m": 64, "n": 32, "k": 134, "lda": 144, "ldb": 144, "split_k_slices": 2}
IMAGES_START_WITHIN_A_SECTOR = {"kind": "conv2d_fprop", "n": 2, "h": 3, "w": 33, "c": 4, "k": 32, "r": 2, "s": 2}


@settings(deadline=None, max_examples=25)
@example(RESIDUE_SHIFTS_ONE_SLICE)
@example(IMAGES_START_WITHIN_A_SECTOR)
@given(st.one_of(gemms(), convolutions()))
def test_sectors_equal_a_count_lane_by_lane(problem):
    scenario = Scenario.model_validate({"machine": "h200", "problem": problem, "kernel": KERNEL})
    tiled = tiled_shape(scenario)
    totals = {"a": 0, "b": 0}
    for operand, tiles, repeats in (("a", tiled.m, tiled.n), ("b", tiled.n, tiled.m)):
        for tile, slice_ in np.ndindex(tiles, tiled.slices):
            fetches = gemm_k_iterations(scenario, slice_) + 2
            expected = np.stack([lane_by_lane(scenario, operand, tile, slice_, f) for f in range(fetches)])
            assert (fetch_sectors(scenario, operand, tile, slice_) == expected).all()
            totals[operand] += int(expected.sum()) * repeats

    assert global_sectors(scenario) == totals


def test_lanes_that_share_a_sector_request_it_once():
    offset = np.arange(32) * 8
    valid = np.ones(32, dtype=bool)

    assert distinct_sectors(offset, valid, bits=16) == 32 * 16 // 32
    assert distinct_sectors(np.zeros(32, dtype=np.int64), valid, bits=16) == 1


def test_lanes_without_predicate_request_nothing():
    offset = np.arange(32) * 16 - 64

    assert distinct_sectors(offset, np.zeros(32, dtype=bool), bits=16) == 0
    assert distinct_sectors(offset, offset >= 0, bits=16) == 28
