"""Every padded tile has one number, a cluster's tiles have neighbouring ones, and the order is the raster's."""

import numpy as np
import pytest
from hypothesis import given
from problems.cluster_tiles import drawn_tiles

from gpusim.tile.scheduler.cluster_tiles import ClusterTiles

TILE = (128, 128, 64)


def tiles(m, n, **choices):
    return ClusterTiles(problem=(128 * m, 128 * n, 64, 1), tile=TILE, **choices)


@given(drawn=drawn_tiles())
def test_every_padded_tile_has_one_number(drawn):
    found = drawn.tiles_of(np.arange(drawn.numbered.total))
    wanted = np.indices(drawn.numbered).reshape(3, -1).T

    assert sorted(map(tuple, found.tolist())) == sorted(map(tuple, wanted.tolist()))
    assert drawn.inside(found).sum() == drawn.tiles.total


@given(drawn=drawn_tiles())
def test_a_clusters_tiles_have_neighbouring_numbers(drawn):
    found = drawn.tiles_of(np.arange(drawn.numbered.total)).reshape(-1, drawn.cluster_size, 3)
    clusters = found // [*drawn.cluster, 1]

    assert (clusters == clusters[:, :1]).all()


@given(drawn=drawn_tiles())
def test_padding_is_of_whole_swizzles_of_whole_clusters_and_no_more(drawn):
    for side, cluster, needed in zip(drawn.numbered, drawn.cluster, drawn.tiles, strict=False):
        step = cluster << drawn.log_swizzle
        assert side % step == 0
        assert 0 <= side - needed < step


@pytest.mark.parametrize(
    ("choices", "expected"),
    [
        ({"raster_order": "along_n"}, [(0, 0), (0, 1), (1, 0), (1, 1), (2, 0), (2, 1), (3, 0), (3, 1)]),
        ({"raster_order": "along_m"}, [(0, 0), (1, 0), (2, 0), (3, 0), (0, 1), (1, 1), (2, 1), (3, 1)]),
        ({"max_swizzle": 2}, [(0, 0), (1, 0), (0, 1), (1, 1), (2, 0), (3, 0), (2, 1), (3, 1)]),
        ({"cluster": (2, 1)}, [(0, 0), (1, 0), (0, 1), (1, 1), (2, 0), (3, 0), (2, 1), (3, 1)]),
        ({"cluster": (1, 2)}, [(0, 0), (0, 1), (1, 0), (1, 1), (2, 0), (2, 1), (3, 0), (3, 1)]),
    ],
    ids=["along N", "along M", "swizzle of 2", "cluster 2x1", "cluster 1x2"],
)
def test_order_of_four_by_two_tiles(choices, expected):
    """Four tiles along M, two along N: the heuristic walks N, a swizzle of two takes two tiles along M at each step."""
    found = tiles(4, 2, **choices).tiles_of(np.arange(8))

    assert [tuple(tile) for tile in found.tolist()] == [(m, n, 0) for m, n in expected]


def test_numbers_run_through_one_batch_after_the_other():
    drawn = ClusterTiles(problem=(256, 128, 64, 2), tile=TILE)

    assert drawn.tiles_of(np.arange(4)).tolist() == [[0, 0, 0], [1, 0, 0], [0, 0, 1], [1, 0, 1]]


@pytest.mark.parametrize(
    ("m", "n", "max_swizzle", "expected"),
    [(6, 9, 8, 3), (5, 9, 8, 2), (2, 9, 8, 1), (1, 9, 8, 0), (9, 9, 1, 0), (9, 9, 3, 1), (9, 9, 0, 0), (9, 9, 16, 3)],
)
def test_the_swizzle_is_the_widest_that_is_allowed_and_fits(m, n, max_swizzle, expected):
    assert tiles(m, n, max_swizzle=max_swizzle).log_swizzle == expected


@pytest.mark.parametrize(
    ("m", "n", "choices", "expected"),
    [
        (3, 4, {}, "along_m"),
        (4, 4, {}, "along_n"),
        (3, 4, {"cluster": (2, 1)}, "along_n"),
        (3, 4, {"cluster": (4, 1), "raster_order": "along_m"}, "along_m"),
    ],
    ids=["fewer along M", "equal", "equal when padded", "asked for"],
)
def test_the_raster_is_asked_for_or_walks_the_shorter_padded_side(m, n, choices, expected):
    assert tiles(m, n, **choices).raster == expected


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        ({"problem": (1, 1, 0, 1)}, "problem must be positive along M, N, K and L, got (1, 1, 0, 1)"),
        ({"tile": (128, 0, 64)}, "tile must be positive along M, N and K, got (128, 0, 64)"),
        ({"cluster": (3, 1)}, "cluster must be powers of two of at most 16 CTAs, got (3, 1)"),
        ({"cluster": (0, 1)}, "cluster must be powers of two of at most 16 CTAs, got (0, 1)"),
        ({"cluster": (8, 4)}, "cluster must be powers of two of at most 16 CTAs, got (8, 4)"),
        ({"max_swizzle": -1}, "max_swizzle must not be negative, got -1"),
        ({"raster_order": "m"}, "raster_order must be heuristic, along_m, along_n, got 'm'"),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else "",
)
def test_what_sm_90_has_not_is_refused(choices, message):
    with pytest.raises(ValueError, match="must") as refused:
        ClusterTiles(**{"problem": (1, 1, 1, 1), "tile": TILE} | choices)

    assert str(refused.value) == message
