"""Grids, tiles and work units of every CTA equal those of CUTLASS's own schedulers for sm_90."""

import json
from pathlib import Path

import numpy as np
import pytest

from gpusim.tile.scheduler.cluster_tiles import ClusterTiles
from gpusim.tile.scheduler.persistent import PersistentScheduler
from gpusim.tile.scheduler.stream_k import StreamKScheduler

DATA = Path(__file__).parent / "data" / "hopper"
DECOMPOSITIONS = {
    "Heuristic": "heuristic",
    "DataParallel": "data_parallel",
    "SplitK": "split_k",
    "StreamK": "stream_k",
}


def rows(name):
    return json.loads((DATA / name).read_text())["rows"]


def name_of(row):
    choices = [row.get(key) for key in ("max_swizzle", "raster_order", "decomposition_mode", "splits")]
    words = [*row["problem_MNKL"], *row["cluster"], *(choice for choice in choices if choice is not None)]
    return "-".join(map(str, [*words, row["sm_count"]]))


PERSISTENT = rows("scheduler_persistent.json")
STREAM_K = rows("scheduler_streamk.json")


def tiles_of(row):
    return ClusterTiles(
        problem=tuple(row["problem_MNKL"]),
        tile=tuple(row["tile_MNK"]),
        cluster=tuple(row["cluster"]),
        max_swizzle=row.get("max_swizzle", 1),
        raster_order=row.get("raster_order", "heuristic"),
    )


def lists(work, columns):
    """As the files have them: block, then rows."""
    starts = np.split(work.rows[:, :columns], work.first[1:-1])
    return [[block, *rows.tolist()] for block, rows in zip(work.blocks()[:, :2].tolist(), starts, strict=True)]


@pytest.mark.parametrize("row", PERSISTENT, ids=map(name_of, PERSISTENT))
def test_tiles_of_every_cta(row):
    tiles = tiles_of(row)
    scheduler = PersistentScheduler(tiles, row["sm_count"])
    work = scheduler.work()

    assert list(scheduler.grid) == row["grid"]
    assert tiles.raster == row["chosen_raster"]
    assert tiles.log_swizzle == row["log_swizzle"]
    assert list(tiles.tiles) == row["tiles_mnl"]
    assert int((~tiles.inside(work.rows)).sum()) == row["tiles_outside_problem"]
    assert lists(work, 3) == row["ctas"]


@pytest.mark.parametrize("row", STREAM_K, ids=map(name_of, STREAM_K))
def test_work_units_of_every_cta(row):
    tiles = tiles_of(row)
    scheduler = StreamKScheduler(
        tiles,
        row["sm_count"],
        splits=row["splits"],
        decomposition=DECOMPOSITIONS[row["decomposition_mode"]],
        reduction=row["reduction_mode"].lower(),
    )
    work = scheduler.work()

    assert list(scheduler.grid) == row["grid"]
    assert [*tiles.tiles[:2], tiles.k_tiles, tiles.tiles.l] == row["tiles_mnkl"]
    assert work.rows[:, 6].sum() == row["epilogues"]
    assert work.rows[:, 5].sum() == row["separate_reduction_units"]
    assert lists(work, 8) == row["ctas"]
