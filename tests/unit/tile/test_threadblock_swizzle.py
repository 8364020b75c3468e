"""Every tile has exactly one CTA, whatever the swizzle."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusim.families.gemm.gemm import GemmProblem
from gpusim.scenario.gemm import GemmScenario
from gpusim.scenario.kernel import Kernel
from gpusim.tile.threadblock_swizzle import threadblock_swizzle

NAMES = st.sampled_from([*(f"identity<{width}>" for width in (1, 2, 4, 8)), "horizontal"])


def gemm(m, n, slices, swizzle):
    problem = GemmProblem(m=m, n=n, k=64, split_k_slices=slices)
    return GemmScenario(machine="h200", problem=problem, kernel=Kernel(threadblock_swizzle=swizzle))


@given(m=st.integers(1, 2000), n=st.integers(1, 3000), slices=st.integers(1, 3), swizzle=NAMES)
def test_every_tile_and_slice_has_exactly_one_cta(m, n, slices, swizzle):
    scenario = gemm(m, n, slices, swizzle)
    tiles = scenario.grid.cta_tiles()
    with_work = tiles[(tiles >= 0).all(axis=1)]
    wanted = np.indices(scenario.grid.tiled).reshape(3, -1).T

    assert len(tiles) == np.prod(scenario.grid.dim)
    assert sorted(map(tuple, with_work.tolist())) == sorted(map(tuple, wanted.tolist()))
    assert (tiles[(tiles < 0).any(axis=1)] == -1).all()


def test_launch_order_walks_the_log_tile_along_n_then_m():
    tiles = gemm(256, 384, 1, "identity<2>").grid.cta_tiles()

    assert tiles.tolist() == [
        *([0, 0, 0], [0, 1, 0], [1, 0, 0], [1, 1, 0]),
        *([0, 2, 0], [-1, -1, -1], [1, 2, 0], [-1, -1, -1]),
    ]


def test_block_indices_broadcast():
    scenario = gemm(384, 256, 2, "identity<1>")

    assert scenario.grid.tile_of_block(np.arange(3)[:, None], np.arange(2), 1).shape == (3, 2, 3)


@pytest.mark.parametrize("name", ["identity<3>", "identity", "stream_k"])
def test_an_unknown_swizzle_is_refused(name):
    with pytest.raises(ValueError, match=f"^threadblock_swizzle must be .* or horizontal, got '{name}'$"):
        threadblock_swizzle(name)
