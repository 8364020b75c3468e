"""Each k tile of each output tile is accumulated once, and one unit of each tile has its epilogue."""

from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from problems.cluster_tiles import drawn_launches

from gpusim.tile.scheduler.cluster_tiles import ClusterTiles
from gpusim.tile.scheduler.decomposition import FEWEST_K_TILES
from gpusim.tile.scheduler.persistent import PersistentScheduler
from gpusim.tile.scheduler.stream_k import StreamKScheduler

DIVISIONS = st.one_of(
    st.tuples(st.sampled_from(["data_parallel", "stream_k"]), st.just(1)),
    st.tuples(st.sampled_from(["heuristic", "split_k"]), st.integers(1, 9)),
)


def scheduler_of(launch, division=("stream_k", 1)):
    tiles, sms = launch
    option, splits = division
    return StreamKScheduler(tiles, sms, splits=splits, decomposition=option)


def pieces(work):
    """Output tile to the rows of its units, by their first k tile."""
    found = defaultdict(list)
    for row in work.rows.tolist():
        found[tuple(row[:3])].append(row[3:])
    return {tile: sorted(rows) for tile, rows in found.items()}


def column(m_tiles, k_tiles, sms, **choices):
    """Output tiles below each other, each of as many k tiles."""
    return StreamKScheduler(ClusterTiles((128 * m_tiles, 128, 64 * k_tiles, 1), (128, 128, 64)), sms, **choices)


def k_ranges(work, y):
    return [(unit.m, unit.first_k_tile, unit.first_k_tile + unit.k_tiles) for unit in work.of(0, y)]


@given(launch=drawn_launches(), division=DIVISIONS)
def test_every_k_tile_of_every_tile_is_accumulated_once(launch, division):
    tiles, _ = launch
    found = pieces(scheduler_of(launch, division).work())

    assert sorted(found) == sorted(map(tuple, np.indices(tiles.numbered).reshape(3, -1).T.tolist()))
    for rows in found.values():
        starts, counts = (np.array([row[column] for row in rows]) for column in (0, 1))
        assert starts.tolist() == [0, *np.cumsum(counts)[:-1].tolist()]
        assert counts.sum() == tiles.k_tiles
        assert counts.min() >= 1


@given(launch=drawn_launches(), division=DIVISIONS)
def test_the_unit_with_the_last_k_tile_has_the_epilogue_and_sharers_meet(launch, division):
    for rows in pieces(scheduler_of(launch, division).work()).values():
        assert [epilogue for *_, epilogue, _ in rows] == [0] * (len(rows) - 1) + [1]
        assert {fixup for *_, fixup in rows} == {int(len(rows) > 1)}
        assert {separate for _, _, separate, _, _ in rows} == {0}


@given(launch=drawn_launches())
def test_a_stream_k_unit_has_enough_k_tiles_of_a_tile_it_shares(launch):
    work = scheduler_of(launch).work()

    assert (work.rows[work.rows[:, 7] == 1, 4] >= FEWEST_K_TILES).all()


@given(launch=drawn_launches(), division=DIVISIONS)
def test_the_ctas_of_a_cluster_share_their_k_tiles(launch, division):
    tiles, _ = launch
    work = scheduler_of(launch, division).work()
    m, n = tiles.cluster
    for x, y, _ in work.blocks().tolist():
        of_first = work.of(x - x % m, y - y % n)

        assert [(unit.m - x % m, unit.n - y % n, *unit[2:]) for unit in work.of(x, y)] == [
            tuple(unit) for unit in of_first
        ]


@given(launch=drawn_launches())
def test_whole_tiles_are_dealt_as_the_persistent_scheduler_deals_them(launch):
    """Its grid has no CTA without a tile, that of stream-K may."""
    tiles, sms = launch
    work = scheduler_of(launch, ("data_parallel", 1)).work()
    other = PersistentScheduler(tiles, sms).work()

    for x, y, _ in other.blocks().tolist():
        assert work.of(x, y) == other.of(x, y)
    assert len(work.rows) == len(other.rows)


def test_a_unit_works_from_its_last_tile_back():
    """Three tiles of 16 k tiles on two SMs: 24 k tiles each, the second tile shared in the middle."""
    work = column(3, 16, 2, decomposition="stream_k").work()

    assert k_ranges(work, 0) == [(1, 0, 8), (0, 0, 16)]
    assert k_ranges(work, 1) == [(2, 0, 16), (1, 8, 16)]


def test_a_short_end_moves_to_the_edge_of_the_tile():
    """Three tiles of nine k tiles on two SMs: 14 and 13, but five of the second tile are too few."""
    work = column(3, 9, 2, decomposition="stream_k").work()

    assert k_ranges(work, 0) == [(0, 0, 9)]
    assert k_ranges(work, 1) == [(2, 0, 9), (1, 0, 9)]


def test_a_unit_may_lose_all_its_k_tiles():
    """Two tiles of twelve k tiles make three units of eight. Both ends of the second move to the edge at twelve."""
    work = column(2, 12, 5).work()

    assert [k_ranges(work, y) for y in range(5)] == [[(0, 0, 12)], [], [(1, 0, 12)], [], []]


def test_whole_tiles_follow_shared_ones():
    """Five tiles on two SMs: two waves and one tile, so three tiles are shared and two are whole."""
    work = column(5, 16, 2, decomposition="stream_k").work()

    assert k_ranges(work, 0) == [(1, 0, 8), (0, 0, 16), (3, 0, 16)]
    assert k_ranges(work, 1) == [(2, 0, 16), (1, 8, 16), (4, 0, 16)]


def test_groups_take_tiles_in_turn():
    """
    Two rows of three tiles on four SMs, walked along M: two groups of two units, the tiles of one are 0, 2, 4.

    Three tiles of 16 k tiles in a group make 24 for each of its units.
    """
    tiles = ClusterTiles((256, 384, 1024, 1), (128, 128, 64))
    work = StreamKScheduler(tiles, 4, decomposition="stream_k").work()

    assert work.grid == (4, 1, 1)
    assert [[unit[:5] for unit in work.of(x)] for x in range(4)] == [
        [(0, 1, 0, 0, 8), (0, 0, 0, 0, 16)],
        [(1, 1, 0, 0, 8), (1, 0, 0, 0, 16)],
        [(0, 2, 0, 0, 16), (0, 1, 0, 8, 8)],
        [(1, 2, 0, 0, 16), (1, 1, 0, 8, 8)],
    ]


def test_split_k_deals_all_first_splits_before_the_second():
    """Two tiles of five k tiles in two splits: three k tiles and two."""
    work = column(2, 5, 3, splits=2).work()

    assert [k_ranges(work, y) for y in range(3)] == [[(0, 0, 3), (1, 3, 5)], [(1, 0, 3)], [(0, 3, 5)]]


@pytest.mark.parametrize(
    ("reduction", "expected"), [("deterministic", [0, 3, 6]), ("nondeterministic", [0, 1, 6])], ids=str
)
def test_what_a_unit_waits_for(reduction, expected):
    """Nine k tiles in three splits: a sum in order waits for all before, one in any order for a first."""
    scheduler = column(1, 9, 3, splits=3, reduction=reduction)

    assert scheduler.awaited(scheduler.work()).tolist() == expected


def test_an_unknown_reduction_is_refused():
    with pytest.raises(ValueError, match=r"^reduction must be deterministic or nondeterministic, got 'atomic'$"):
        column(1, 9, 3, reduction="atomic")
