"""Which division of output tiles stream-K chooses."""

import pytest

from gpusim.tile.scheduler.cluster_tiles import ClusterTiles
from gpusim.tile.scheduler.decomposition import Decomposition, check_decomposition, decompose


def tiles(m, n, k_tiles, cluster=(1, 1)):
    return ClusterTiles((128 * m, 128 * n, 64 * k_tiles, 1), (128, 128, 64), cluster)


@pytest.mark.parametrize(
    ("output", "wave", "option", "expected"),
    [
        (tiles(6, 2, 64), 12, "stream_k", Decomposition(12)),
        (tiles(6, 2, 8), 10, "stream_k", Decomposition(12)),
        (tiles(6, 2, 64), 8, "heuristic", Decomposition(12)),
        (tiles(6, 2, 64), 8, "stream_k", Decomposition(12, 1, 12, 8, 2)),
        (tiles(7, 2, 64), 5, "stream_k", Decomposition(14, 1, 9, 5, 1)),
        (tiles(1, 1, 64), 132, "heuristic", Decomposition(1, splits=8)),
        (tiles(1, 1, 64), 132, "stream_k", Decomposition(1, 1, 1, 8, 1)),
        (tiles(2, 1, 12), 132, "heuristic", Decomposition(2, 1, 2, 3, 1)),
        (tiles(8, 8, 32), 132, "heuristic", Decomposition(64, 1, 64, 132, 4)),
        (tiles(8, 9, 16, (2, 1)), 24, "data_parallel", Decomposition(72)),
        (tiles(6, 7, 64, (2, 1)), 20, "heuristic", Decomposition(42, 1, 22, 20, 2)),
    ],
    ids=[
        "full waves",
        "too few k tiles to share",
        "half of the last wave is full",
        "that wave shared all the same",
        "one whole wave beside",
        "split-K",
        "stream-K asked for",
        "units of eight k tiles",
        "four groups",
        "whole tiles asked for",
        "groups that divide units only",
    ],
)
def test_division(output, wave, option, expected):
    """
    Shared tiles are those of the last wave and of the one before; 64 k tiles are enough for eight units.

    The last case: 42 tiles are two waves of 20 and two tiles, so 22 are shared, 11 clusters of them by ten clusters of
    units. No number of groups from 2 to 3, the clusters along M, divides eleven, and two divides ten.
    """
    assert decompose(output, wave, wave, option) == expected


@pytest.mark.parametrize(("splits", "sms", "expected"), [(1, 20, 1), (3, 20, 3), (16, 20, 15), (16, 4, 4)], ids=str)
def test_splits_are_at_most_the_k_tiles_and_the_sms(splits, sms, expected):
    assert decompose(tiles(6, 5, 15), sms, sms, "split_k", splits) == Decomposition(30, splits=expected)


def test_the_heuristic_takes_the_splits_asked_for():
    assert decompose(tiles(4, 4, 64), 132, 132, splits=4) == Decomposition(16, splits=4)


@pytest.mark.parametrize(
    ("parts", "kind", "units"),
    [
        (Decomposition(30), "data_parallel", 30),
        (Decomposition(30, splits=3), "split_k", 90),
        (Decomposition(30, 1, 25, 20, 5), "stream_k", 25),
    ],
    ids=["whole tiles", "split-K", "stream-K"],
)
def test_kind_and_number_of_units(parts, kind, units):
    assert (parts.kind, parts.units) == (kind, units)


@pytest.mark.parametrize(
    ("option", "splits", "message"),
    [
        ("streamk", 1, "decomposition must be heuristic, data_parallel, split_k, stream_k, got 'streamk'"),
        ("split_k", 0, "splits must be at least 1, got 0"),
        ("stream_k", 2, "splits must be 1 unless decomposition is heuristic or split_k, got 2"),
        ("data_parallel", 2, "splits must be 1 unless decomposition is heuristic or split_k, got 2"),
    ],
)
def test_what_cutlass_cannot_implement_is_refused(option, splits, message):
    with pytest.raises(ValueError, match="must") as refused:
        check_decomposition(option, splits)

    assert str(refused.value) == message
