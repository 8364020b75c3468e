"""Tracks: no span overlaps another, no cycle is lost, and packed columns are what they were."""

from itertools import accumulate, pairwise

from gpusim.report.html.tracks import Track, TrackSpan, column, run_tracks
from gpusim.results.timeline import KTileSpan, Timeline, WarpSpan


def unpacked(track, words):
    """What a page's unpackTrack does."""
    count = track["count"]
    columns = {
        name: [track[name]] * count if isinstance(track[name], int) else track[name]
        for name in ("gap", "length", "what", "tile", "step", "stage")
    }
    moves = [step for pair in zip(columns["gap"], columns["length"], strict=True) for step in pair]
    cycles = list(accumulate(moves))
    whats = (words[place] for place in columns["what"])
    return [
        TrackSpan(*span)
        for span in zip(
            cycles[::2], cycles[1::2], whats, columns["tile"], columns["step"], columns["stage"], strict=True
        )
    ]


def test_packed_columns_are_the_spans_they_came_from(run):
    words = []
    for track in run_tracks(run.timeline, run.result.pipeline, run.result.pipeline):
        assert unpacked(track.packed(words), words) == list(track.spans)


def test_no_span_of_a_track_overlaps_another(run):
    for track in run_tracks(run.timeline, run.result.pipeline, run.result.pipeline):
        assert all(before.end <= after.begin for before, after in pairwise(track.spans))


def test_the_warps_tracks_have_every_cycle_of_the_timeline(run):
    stalls = [track for track in run_tracks(run.timeline, run.result.pipeline) if track.kind == "stall"]

    assert sum(span.end - span.begin for track in stalls for span in track.spans) == sum(
        span.end - span.begin for span in run.timeline.warps
    )


def test_too_many_spans_are_joined():
    warp = [WarpSpan(0, 0, 0, at, at + 1, "selected" if at % 2 else "wait") for at in range(100)]
    (track,) = run_tracks(Timeline(tuple(warp), ()), (), most=99)

    assert [span.what for span in track.spans] == ["selected, wait"]
    assert "selected and wait are joined" in track.group


def test_key_blocks_have_the_tracks_of_attention():
    activities = ("copy_q", "copy_k", "wait_qk", "qk", "softmax", "pv", "output")
    spans = [KTileSpan(0, 0, 0, -1, 0, name, 10 * at, 10 * at + 10) for at, name in enumerate(activities)]
    tracks = run_tracks(Timeline((), tuple(spans)), ())

    assert [track.name for track in tracks] == [
        *("copies of Q and K", "S = Q·Kᵀ", "softmax", "O += P·V", "output", "waits")
    ]
    assert {track.unit for track in tracks} == {"key block"}


def test_measured_tracks_come_first_and_say_that_no_landing_was_seen(run):
    tracks = run_tracks(run.timeline, run.result.pipeline, run.result.pipeline)
    measured = [track for track in tracks if track.group == "measured on a GPU"]

    assert tracks[: len(measured)] == measured
    assert {span.what for track in measured for span in track.spans} == {
        "copy (landing not seen)",
        "wait",
        "mma (issue)",
    }


def test_a_column_of_equal_integers_is_one_integer():
    assert column([3, 3, 3]) == 3
    assert column([3, 4]) == [3, 4]
    assert column([]) == []


def test_an_empty_track_is_packed():
    assert Track("group", "name", "stall", ()).packed([])["count"] == 0
