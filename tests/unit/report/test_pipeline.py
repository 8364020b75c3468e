"""What the overlap chart shows, as numbers: phases, windows, and what is left out."""

from dataclasses import replace

import pytest

from gpusim.report.pipeline import EDGE_TILES, from_rows, from_timeline, tensor_use
from gpusim.results.timeline import KTileSpan, Timeline, WarpSpan


def test_the_prologue_ends_with_the_first_wait_and_the_drain_is_the_last_stages_minus_one_tiles(run):
    pipeline = from_timeline(run.timeline, run.result.pipeline)

    phases = pipeline.phases(stages=3)

    assert phases.mainloop == run.result.pipeline[0].wait_end
    assert phases.drain == run.result.pipeline[7].mma_begin
    assert phases.end == run.result.pipeline[8].mma_end


def test_a_mainloop_no_longer_than_the_ring_is_all_drain(make_run):
    run = make_run(k_tiles=2)

    phases = from_rows(run.result.pipeline).phases(stages=3)

    assert phases.drain == run.result.pipeline[0].mma_begin


def test_k_tiles_fill_the_slots_in_turn(run):
    fills = from_timeline(run.timeline, run.result.pipeline).fills

    assert [(fill.k_tile, fill.stage) for fill in fills] == [(tile, tile % 3) for tile in range(9)]
    assert all(fill.issue < fill.landed <= fill.read_begin < fill.read_end for fill in fills)


def test_the_rows_alone_give_the_same_fills_waits_and_mma(run):
    from_spans, from_table = from_timeline(run.timeline, run.result.pipeline), from_rows(run.result.pipeline)

    assert from_spans.waits == from_table.waits
    assert from_spans.tile_extents() == from_table.tile_extents()
    assert [fill.landed for fill in from_spans.fills] == [fill.landed for fill in from_table.fills]
    assert len(from_spans.loads) == 36
    assert from_table.loads == ()


def test_what_is_copied_or_loaded_past_the_last_k_tile_is_not_shown(run):
    past = KTileSpan(cta=0, warp=0, k_tile=9, k_group=0, stage=0, activity="ldmatrix", begin=7000, end=7040)
    timeline = replace(run.timeline, k_tiles=(*run.timeline.k_tiles, past))

    assert from_timeline(timeline, run.result.pipeline) == from_timeline(run.timeline, run.result.pipeline)


def test_bursts_apart_by_a_wait_are_two_runs(run):
    """
    k tile 1 waits 380 cycles before its last k group; k tile 0 waits 12.
    """
    pipeline = from_timeline(run.timeline, run.result.pipeline)

    runs = pipeline.mma_runs(gap=20)

    assert len(runs[0]) == 1
    assert len(runs[1]) == 2
    assert runs[1][1][0] - runs[1][0][1] == 384


@pytest.mark.parametrize("k_tiles", [1, 9, 14])
def test_a_short_mainloop_is_one_window(make_run, k_tiles):
    pipeline = from_rows(make_run(k_tiles).result.pipeline)

    assert pipeline.windows(limit=14) == ((0, pipeline.mma[-1].end),)


def test_a_long_mainloop_shows_both_ends(make_run):
    rows = make_run(64).result.pipeline
    head, tail = EDGE_TILES

    assert from_rows(rows).windows(limit=14) == (
        (0, rows[head - 1].mma_end),
        (rows[64 - tail].mma_begin, rows[-1].mma_end),
    )


def test_the_steady_interval_is_the_median_from_one_k_tile_to_the_next(make_run):
    """
    Without a wait to the next k tile 4 x 130 + 12 cycles, with the long one 4 x 130 + 380: both 4 times in 9 tiles.
    """
    assert from_rows(make_run(9).result.pipeline).steady_interval() == (532 + 900) // 2
    assert from_rows(make_run(1).result.pipeline).steady_interval() == 0


def test_the_tensor_core_is_used_for_as_long_as_its_mmas_take():
    """Two warps of one SMSP, two bursts of 40 cycles' work in 100 cycles each; a third warp lives elsewhere."""
    lives = tuple(WarpSpan(0, warp, warp % 2, 0, 100, "selected") for warp in range(4))
    bursts = tuple(KTileSpan(0, warp, 0, 0, 0, "mma", 0, 100) for warp in (0, 1, 2))
    use = tensor_use(Timeline(lives, bursts), {"mma": 40})

    assert use.share(0, 100) == pytest.approx(0.8)
    assert use.share(50, 150) == pytest.approx(0.4)
    assert use.share(100, 200) == 0


def test_an_activity_in_two_stretches_has_its_mmas_in_both():
    lives = (WarpSpan(0, 0, 0, 0, 100, "selected"),)
    parts = (KTileSpan(0, 0, 0, -1, 0, "qk", 0, 30), KTileSpan(0, 0, 0, -1, 0, "qk", 60, 70))
    use = tensor_use(Timeline(lives, parts), {"qk": 20})

    assert use.share(0, 30) == pytest.approx(0.5)
    assert use.share(60, 70) == pytest.approx(0.5)
