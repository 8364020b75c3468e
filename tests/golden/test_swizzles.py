"""Grids and blockIdx to tile equal CUTLASS's, block by block."""

import json
from pathlib import Path

import numpy as np
import pytest

from gpusim.tile.extents import ConvShape, GemmExtents, implicit_gemm_extents
from gpusim.tile.k_walk import implicit_gemm_walk
from gpusim.tile.threadblock_swizzle import threadblock_swizzle, tile_counts

DATA = Path(__file__).parent / "data"
FILES = {
    **{f"swizzle_identity{width}.json": f"identity<{width}>" for width in (1, 2, 4, 8)},
    "swizzle_splitk_identity1_k3.json": "identity<1>",
    "swizzle_horizontal.json": "horizontal",
}
CONV = json.loads((DATA / "swizzle_conv_tiled_shapes.json").read_text())["cases"]


@pytest.mark.parametrize(("name", "swizzle"), FILES.items(), ids=FILES)
def test_grid_and_tile_of_every_block(name, swizzle):
    recorded = json.loads((DATA / name).read_text())
    header = recorded["header"]
    rows = np.array(recorded["rows"])
    for case, problem in enumerate(header["problems"]):
        tiled = tile_counts(GemmExtents(*problem["problem_MNK"]), header["tile_MNK"], header["split_k_slices"])
        rule = threadblock_swizzle(swizzle)
        assert list(tiled) == problem["tiled_shape"]
        assert list(rule.grid(tiled)) == problem["grid"]
        assert rule.log_tile(tiled) == problem["log_tile"]
        _, bx, by, bz, m, n, k, in_range = rows[rows[:, 0] == case].T
        tile_m, tile_n, slice_ = rule.tile_of_block(tiled, bx, by, bz)
        assert len(bx) == np.prod(problem["grid"])
        assert (tile_m == m).all()
        assert (tile_n == n).all()
        assert (slice_ == k).all()
        assert (((tile_m < tiled.m) & (tile_n < tiled.n)) == in_range).all()


@pytest.mark.parametrize("case", CONV, ids=[f"{case['operator']}-{case['problem']['C']}" for case in CONV])
def test_tiled_shape_of_a_convolution(case):
    problem = case["problem"]
    shape = ConvShape(
        **{name.lower(): problem[name] for name in "NHWCKRSPQ"},
        padding=(problem["pad_h"], problem["pad_w"]),
        stride=(problem["stride_h"], problem["stride_w"]),
        dilation=(problem["dilation_h"], problem["dilation_w"]),
        split_k_slices=problem["split_k_slices"],
    )
    extents = implicit_gemm_extents(shape, case["operator"])
    tiled = tile_counts(extents, (128, 128, 32), shape.split_k_slices)
    swizzle = threadblock_swizzle("identity<4>")

    assert list(extents) == case["implicit_gemm_MNK"]
    assert list(tiled) == case["tiled_shape"]
    assert swizzle.log_tile(tiled) == case["log_tile"]
    assert list(swizzle.grid(tiled)) == case["grid"]
    assert implicit_gemm_walk(shape, case["operator"], 32).k_tiles == case["gemm_k_iterations"]
