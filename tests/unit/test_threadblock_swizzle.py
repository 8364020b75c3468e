"""Every tile has exactly one CTA, whatever the swizzle."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusim.scenario.models import Scenario
from gpusim.tile.threadblock_swizzle import cta_tiles, grid, threadblock_swizzle, tile_of_block, tiled_shape

NAMES = st.sampled_from([*(f"identity<{width}>" for width in (1, 2, 4, 8)), "horizontal"])


def gemm(m, n, slices, swizzle):
    return Scenario.model_validate(
        {
            "machine": "h200",
            "problem": {"kind": "gemm", "m": m, "n": n, "k": 64, "split_k_slices": slices},
            "kernel": {"threadblock_swizzle": swizzle},
        }
    )


@given(m=st.integers(1, 2000), n=st.integers(1, 3000), slices=st.integers(1, 3), swizzle=NAMES)
def test_every_tile_and_slice_has_exactly_one_cta(m, n, slices, swizzle):
    scenario = gemm(m, n, slices, swizzle)
    tiles = cta_tiles(scenario)
    with_work = tiles[(tiles >= 0).all(axis=1)]
    wanted = np.indices(tiled_shape(scenario)).reshape(3, -1).T

    assert len(tiles) == np.prod(grid(scenario))
    assert sorted(map(tuple, with_work.tolist())) == sorted(map(tuple, wanted.tolist()))
    assert (tiles[(tiles < 0).any(axis=1)] == -1).all()


def test_launch_order_walks_the_log_tile_along_n_then_m():
    tiles = cta_tiles(gemm(256, 384, 1, "identity<2>"))

    assert tiles.tolist() == [
        *([0, 0, 0], [0, 1, 0], [1, 0, 0], [1, 1, 0]),
        *([0, 2, 0], [-1, -1, -1], [1, 2, 0], [-1, -1, -1]),
    ]


def test_block_indices_broadcast():
    scenario = gemm(384, 256, 2, "identity<1>")

    assert tile_of_block(scenario, np.arange(3)[:, None], np.arange(2), 1).shape == (3, 2, 3)


@pytest.mark.parametrize("name", ["identity<3>", "identity", "stream_k"])
def test_an_unknown_swizzle_is_refused(name):
    with pytest.raises(ValueError, match=f"^threadblock_swizzle must be .* or horizontal, got '{name}'$"):
        threadblock_swizzle(name)
