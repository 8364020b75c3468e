"""Each output tile has one CTA, and the grid is what the device holds at once."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from problems.cluster_tiles import drawn_launches, drawn_tiles

from gpusim.tile.scheduler.cluster_tiles import ClusterTiles
from gpusim.tile.scheduler.persistent import OneTileScheduler, PersistentScheduler, resident_ctas

MANY = (128 * 64, 128 * 64, 64, 1)
TILE = (128, 128, 64)


def covered(work):
    return sorted(map(tuple, work.rows[:, :3].tolist()))


def all_tiles(grid):
    return sorted(map(tuple, np.indices(grid).reshape(3, -1).T.tolist()))


@given(tiles=drawn_tiles(), sms=st.integers(16, 150), clusters=st.integers(0, 80))
def test_every_numbered_tile_has_one_cta(tiles, sms, clusters):
    assert covered(PersistentScheduler(tiles, sms, clusters).work()) == all_tiles(tiles.numbered)


@given(launch=drawn_launches())
def test_ctas_differ_by_one_tile_at_most_and_none_is_idle(launch):
    scheduler = PersistentScheduler(*launch)
    counts = np.diff(scheduler.work().first)

    assert np.prod(scheduler.grid) == len(counts) <= scheduler.sm_count
    assert counts.min() >= 1
    assert counts.max() - counts.min() <= 1


@given(launch=drawn_launches())
def test_the_ctas_of_a_cluster_have_the_tiles_of_a_cluster(launch):
    tiles, sms = launch
    work = PersistentScheduler(tiles, sms).work()
    m, n = tiles.cluster
    for x, y, _ in work.blocks().tolist():
        of_first = [(unit.m, unit.n, unit.l) for unit in work.of(x - x % m, y - y % n)]

        assert [(unit.m, unit.n, unit.l) for unit in work.of(x, y)] == [
            (tile_m + x % m, tile_n + y % n, batch) for tile_m, tile_n, batch in of_first
        ]


@given(tiles=drawn_tiles())
def test_one_tile_a_cta_is_that_of_the_block(tiles):
    scheduler = OneTileScheduler(tiles)
    work = scheduler.work()

    assert work.rows[:, :3].tolist() == work.blocks().tolist()
    assert covered(work) == all_tiles(scheduler.grid)
    assert (work.rows[:, 3:] == [0, tiles.k_tiles, 0, 1, 0]).all()


def test_a_cta_steps_through_the_order_by_the_grid():
    """Three SMs, four tiles along M and two along N, walked along N: the CTA of 0 has 0, 3, 6, that of 2 has 2, 5."""
    work = PersistentScheduler(ClusterTiles((512, 256, 64, 1), TILE), 3).work()

    assert work.grid == (1, 3, 1)
    assert [unit[:2] for unit in work.of(0, 0)] == [(0, 0), (1, 1), (3, 0)]
    assert [unit[:2] for unit in work.of(0, 2)] == [(1, 0), (2, 1)]


@pytest.mark.parametrize(
    ("sms", "cluster_size", "expected"),
    [
        (132, 1, 132),
        (132, 2, 132),
        (132, 4, 116),
        (132, 8, 112),
        (132, 16, 112),
        (17, 4, 16),
        (10, 16, 10),
        (18, 8, 16),
    ],
)
def test_clusters_do_not_straddle_gpcs_of_eighteen(sms, cluster_size, expected):
    """132 SMs are seven GPCs of 18 and six SMs: clusters of four fill 7 * 16 + 4."""
    assert resident_ctas(sms, cluster_size) == expected


@pytest.mark.parametrize(
    ("cluster", "raster", "clusters", "expected"),
    [
        ((1, 1), "along_m", 0, (132, 1, 1)),
        ((2, 1), "along_n", 0, (2, 66, 1)),
        ((2, 1), "along_m", 0, (132, 1, 1)),
        ((2, 2), "along_n", 0, (2, 58, 1)),
        ((4, 2), "along_n", 15, (4, 30, 1)),
        ((4, 2), "along_m", 15, (60, 2, 1)),
        ((4, 2), "along_n", 17, (4, 28, 1)),
    ],
    ids=["alone", "2x1 along N", "2x1 along M", "2x2", "the driver's", "the driver's along M", "too many to be true"],
)
def test_grid_of_a_large_problem(cluster, raster, clusters, expected):
    tiles = ClusterTiles(MANY, TILE, cluster, raster_order=raster)

    assert PersistentScheduler(tiles, 132, clusters).grid == expected


@pytest.mark.parametrize(
    ("sms", "clusters", "message"),
    [
        (1, 0, "sm_count must be at least 2 for clusters of (2, 1), got 1"),
        (0, 0, "sm_count must be at least 2 for clusters of (2, 1), got 0"),
        (8, -1, "max_active_clusters must not be negative, got -1"),
    ],
)
def test_a_device_without_room_is_refused(sms, clusters, message):
    tiles = ClusterTiles(MANY, TILE, (2, 1))
    with pytest.raises(ValueError, match="must") as refused:
        PersistentScheduler(tiles, sms, clusters)

    assert str(refused.value) == message
