"""Logs written by hand and at random: the activities, waits and spans that an observer reads in them."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpusim.results.result import PipelineRow
from gpusim.results.timeline import KTileSpan, Spans, WarpSpan
from gpusim.sim.code import Decoded
from gpusim.sim.core.constants import BAR, DEPBAR, LDGSTS, NOTE_WIDTH, PIPE, RELEASED, RETIRED, SHARED, SPAN_WIDTH
from gpusim.sim.observer import Observer
from gpusim.sim.stall_reasons import BARRIER, REASONS, SELECTED, WAIT
from gpusim.sim.timed_kernel import Watch

TILES = Watch(("copy", "ldmatrix", "mma"), "copy", "mma", "mma", frozenset({"copy"}), numbers_waits=True)
"""As a GEMM is watched: the n-th wait is that of k tile n, and copies go on through it."""

BLOCKS = Watch(("copy_k", "qk", "pv"), "copy_k", "qk", "pv", frozenset(), numbers_waits=False)
"""As attention is watched: a wait is that of the activity that waits, and ends at the next instruction."""

COPY, LDMATRIX, MMA, DEP, BARRED = range(5)
CODE = [
    Decoded(LDGSTS, 0, activity=0, k_tile=0),
    Decoded(SHARED, 0, activity=1, k_tile=0, k_group=0),
    Decoded(PIPE, 0, activity=2, k_tile=0, k_group=0),
    Decoded(DEPBAR, 0, activity=1, k_tile=0, opens_wait=True),
    Decoded(BAR, 0, activity=1, k_tile=0, opens_wait=True),
]
"""One instruction of each kind; their places are the names above."""

LAUNCHED = 1000

NOTED, SPENT = range(2)
"""The log that a row is of: its first cell here."""


def note(place, at, landed, *, warp=0, tiles=0, stalled=None):
    return (NOTED, warp, place, tiles, at, landed, at if stalled is None else stalled)


def spent(warp, begin, end, reason):
    return (SPENT, warp, begin, end, reason)


def released(warp, at):
    return (NOTED, warp, RELEASED, 0, at, at, at)


def retired(warp, at, smsp):
    return (NOTED, warp, RETIRED, smsp, at, at, at)


def logs_of(log):
    """The notes and the spans among some rows, as arrays."""
    return (
        np.array([row[1:] for row in log if row[0] == kind], dtype=np.int64).reshape(-1, width)
        for kind, width in ((NOTED, NOTE_WIDTH), (SPENT, SPAN_WIDTH))
    )


def observed(*log, watch=TILES, cta=7):
    """What an observer reads in logs of cycles counted from the launch."""
    late = {NOTED: (4, 5, 6), SPENT: (2, 3)}
    rows = [tuple(cell + LAUNCHED * (place in late[row[0]]) for place, cell in enumerate(row)) for row in log]
    return Observer(watch, CODE, cta, LAUNCHED, *logs_of(rows))


def activities(*log, **named):
    """(warp, k tile, k group, activity, begin, end) of each stretch, in the order of the timeline."""
    return [
        (span.warp, span.k_tile, span.k_group, span.activity, span.begin, span.end)
        for span in observed(*log, **named).timeline(3).k_tiles
    ]


def test_an_activity_lasts_from_its_first_issue_to_its_last_result():
    """Two MMAs of k tile 0: issued at 5 and 9, done at 30 and 26; and one of k tile 1, a trip later."""
    log = [note(MMA, 5, 30), note(MMA, 9, 26), note(MMA, 40, 60, tiles=1)]

    assert activities(*log) == [(0, 0, 0, "mma", 5, 30), (0, 1, 0, "mma", 40, 60)]


def test_warps_have_activities_of_their_own_and_the_timeline_goes_warp_by_warp():
    log = [note(MMA, 5, 30, warp=1), note(MMA, 6, 31), note(LDMATRIX, 1, 4)]

    assert activities(*log) == [(0, 0, 0, "ldmatrix", 1, 4), (0, 0, 0, "mma", 6, 31), (1, 0, 0, "mma", 5, 30)]


def test_spans_of_a_timeline_count_from_the_launch_and_name_their_smsp():
    """Those that the observer keeps are of the chip's own cycles."""
    log = [spent(0, 0, 79, WAIT), spent(0, 79, 80, SELECTED), spent(1, 0, 90, BARRIER)]
    seen = observed(*log, retired(1, 90, 3), retired(0, 80, 2))

    assert seen.timeline(3).warps == (
        WarpSpan(7, 0, 2, 0, 79, "wait"),
        WarpSpan(7, 0, 2, 79, 80, "selected"),
        WarpSpan(7, 1, 3, 0, 90, "barrier"),
    )
    assert seen.spans[1] == [(1000, 1090, BARRIER)]


@pytest.mark.parametrize(("k_tile", "stage"), [(0, 0), (2, 2), (3, 0), (7, 1)])
def test_the_ring_s_slot_is_the_k_tile_modulo_its_stages(k_tile, stage):
    (span,) = observed(note(MMA, 5, 30, tiles=k_tile)).timeline(3).k_tiles

    assert span == KTileSpan(7, 0, k_tile, 0, stage, "mma", 5, 30)


# --- waits that are numbered ---


def test_the_nth_wait_is_of_k_tile_n_and_lasts_until_the_barrier_lets_go():
    """
    A wait_group that could have issued at 12 and did at 50; its barrier let go at 90. Another, at 120, without delay.

    The barrier's own row opens no second wait.
    """
    log = [note(DEP, 50, 50, stalled=12), note(BARRED, 51, 51), released(0, 90)]
    log += [note(DEP, 120, 120, stalled=120), note(BARRED, 121, 121), released(0, 150)]

    assert activities(*log) == [(0, 0, -1, "wait", 12, 90), (0, 1, -1, "wait", 120, 150)]


def test_a_barrier_alone_opens_its_wait_when_it_issues():
    """A pipelined mainloop waits for no group: its warp could have gone on at 12, but it waits from 50 on."""
    log = [note(BARRED, 50, 50, stalled=12), released(0, 90)]

    assert activities(*log) == [(0, 0, -1, "wait", 50, 90)]


def test_a_release_without_a_wait_ends_none():
    """The warp's second release belongs to a barrier that opened no wait."""
    log = [note(BARRED, 50, 50), released(0, 90), released(0, 200)]

    assert activities(*log) == [(0, 0, -1, "wait", 50, 90)]


def test_a_wait_cuts_an_activity_in_two_but_not_a_copy():
    """Copies and MMAs of k tile 0 before a wait, at 0 and 1, and after it, at 60 and 61."""
    log = [note(COPY, 0, 300), note(MMA, 1, 25), note(DEP, 30, 30), note(BARRED, 31, 31), released(0, 55)]
    log += [note(COPY, 60, 350), note(MMA, 61, 85)]

    assert activities(*log) == [
        (0, 0, -1, "copy", 0, 350),
        (0, 0, 0, "mma", 1, 25),
        (0, 0, -1, "wait", 30, 55),
        (0, 0, 0, "mma", 61, 85),
    ]


def test_issuing_ends_no_numbered_wait():
    """An ldmatrix between the wait_group and the release leaves the wait open; the release ends it, at 90."""
    log = [note(DEP, 50, 50), note(LDMATRIX, 60, 80), released(0, 90)]

    assert (0, 0, -1, "wait", 50, 90) in activities(*log)


# --- waits of the activity that waits ---


def test_a_wait_of_an_activity_has_its_name_and_ends_at_the_next_instruction():
    """The wait_group of qk in block 2 could have issued at 12 and did at 50: 12 to 51. At 70 it waits anew."""
    log = [note(DEP, 50, 50, stalled=12, tiles=2), note(LDMATRIX, 60, 66, tiles=2), note(DEP, 70, 70, tiles=2)]

    assert activities(*log, watch=BLOCKS) == [
        (0, 2, -1, "wait_qk", 12, 51),
        (0, 2, 0, "qk", 60, 66),
        (0, 2, -1, "wait_qk", 70, 71),
    ]


def test_a_barrier_right_after_a_wait_prolongs_it_to_the_release():
    log = [note(DEP, 50, 50, stalled=12), note(BARRED, 51, 51), released(0, 90), note(MMA, 90, 95)]

    assert activities(*log, watch=BLOCKS) == [(0, 0, -1, "wait_qk", 12, 90), (0, 0, 0, "pv", 90, 95)]


# --- the pipeline ---


def row(k_tile, stage, *cycles):
    return PipelineRow(k_tile, stage, *cycles)


def test_the_pipeline_has_a_row_for_each_k_tile_of_warp_0():
    """
    Copies of k tiles 0 and 1 at 0 and 4, there at 300 and 340; k tile 0 is waited for from 8 to 305, k tile 1 not.

    Its wait is empty, then, and lies at its first MMA. What warp 1 did, later, is in no row.
    """
    log = [note(COPY, 0, 300), note(COPY, 4, 340, tiles=1), note(DEP, 299, 299, stalled=8), released(0, 305)]
    log += [note(MMA, 310, 334), note(MMA, 316, 340), note(MMA, 400, 424, tiles=1)]
    log += [note(COPY, 500, 600, warp=1), note(MMA, 700, 800, warp=1)]

    assert observed(*log).pipeline(2, 3) == (
        row(0, 0, 0, 300, 8, 305, 310, 340),
        row(1, 1, 4, 340, 400, 400, 400, 424),
    )


def test_a_key_block_s_mmas_are_from_the_first_of_one_product_to_the_last_of_the_other():
    """qk of block 0 at 20, pv at 50 and, after a wait, at 70, done at 90: one row, from 20 to 90."""
    log = [note(COPY, 0, 10), note(LDMATRIX, 20, 30), note(MMA, 50, 60), note(DEP, 65, 65), note(MMA, 70, 90)]

    assert observed(*log, watch=BLOCKS).pipeline(1, 1) == (row(0, 0, 0, 10, 65, 66, 20, 90),)


def test_a_pipeline_row_has_all_copies_and_all_mmas_of_its_k_tile():
    """Copies at 0 and 2, a wait from 3 that the barrier ends at 10, MMAs at 11 and 13."""
    log = [note(COPY, 0, 5), note(COPY, 2, 7), note(DEP, 3, 3), released(0, 10), note(MMA, 11, 19), note(MMA, 13, 21)]

    assert observed(*log).pipeline(1, 2) == (row(0, 0, 0, 7, 3, 10, 11, 21),)


def test_of_several_waits_in_a_block_the_pipeline_shows_the_first():
    log = [note(COPY, 0, 10), note(DEP, 12, 12), note(LDMATRIX, 20, 30), note(DEP, 40, 40), note(MMA, 50, 60)]

    assert observed(*log, watch=BLOCKS).pipeline(1, 1) == (row(0, 0, 0, 10, 12, 13, 20, 60),)


# --- random logs ---

WARPS = 3


@st.composite
def watched_logs(draw):
    """Instructions, and a log whose rows are in the order of their cycles."""
    code = [
        Decoded(
            kind=kind,
            port=0,
            activity=draw(st.integers(0, 2)),
            k_tile=draw(st.integers(0, 3)),
            k_group=draw(st.integers(-1, 1)),
            opens_wait=draw(st.booleans()),
        )
        for kind in draw(st.lists(st.sampled_from([PIPE, PIPE, BAR, DEPBAR]), min_size=1, max_size=6))
    ]
    log = []
    for at in range(LAUNCHED, LAUNCHED + draw(st.integers(1, 40))):
        warp = draw(st.integers(0, WARPS - 1))
        if draw(st.integers(0, 3)):
            place, tiles, landed = draw(st.integers(0, len(code) - 1)), draw(st.integers(0, 2)), draw(st.integers(1, 9))
            log.append((NOTED, warp, place, tiles, at, at + landed, at - draw(st.integers(-2, 4))))
        else:
            log.append(released(warp, at))
        log.append(spent(warp, at, at + 1, draw(st.integers(0, len(REASONS) - 1))))
    return code, [*log, *(retired(warp, 99, warp % 2) for warp in range(WARPS))]


def read_row_by_row(watch, code, log):
    """The activities and the waits of every warp, as (warp, k tile, k group, name, begin, end)."""
    windows, waits, waiting = {}, {}, set()
    for kind, warp, *row in log:
        if kind != NOTED:
            continue
        place, tiles, at, landed, stalled = row
        if place == RELEASED and warp in waiting:
            waits[warp][-1][-1] = at
            waiting.discard(warp)
        if place < 0:
            continue
        one, k_tile = code[place], code[place].k_tile + tiles
        name, own = watch.activities[one.activity], waits.setdefault(warp, [])
        if one.kind not in (DEPBAR, BAR):
            if not watch.numbers_waits:
                waiting.discard(warp)
            stretch = 0 if name in watch.uncut else len(own)
            window = windows.setdefault((warp, k_tile, one.k_group, name, stretch), [at, landed])
            window[:] = min(window[0], at), max(window[1], landed)
        if one.opens_wait and warp not in waiting:
            begin = at if one.kind == BAR else min(at, stalled)
            wait = (
                (len(own), -1, "wait", begin, at)
                if watch.numbers_waits
                else (k_tile, -1, f"wait_{name}", begin, at + 1)
            )
            own.append([warp, *wait])
            waiting.add(warp)
    found = [(*key[:4], *window) for key, window in windows.items()]
    return found + [tuple(wait) for own in waits.values() for wait in own]


@pytest.mark.parametrize("watch", [TILES, BLOCKS], ids=["waits numbered", "waits named"])
@pytest.mark.parametrize("uncut", [(), ("copy", "copy_k"), (*TILES.activities, *BLOCKS.activities)])
@given(watched=watched_logs())
@settings(deadline=None, max_examples=40)
def test_a_log_reads_the_same_as_columns_and_row_by_row(watch, uncut, watched):
    (code, log), watch = watched, replace(watch, uncut=frozenset(uncut))
    timeline = Observer(watch, code, 7, LAUNCHED, *logs_of(log)).timeline(3)
    expected = [
        KTileSpan(7, warp, k_tile, k_group, k_tile % 3, name, begin - LAUNCHED, end - LAUNCHED)
        for warp, k_tile, k_group, name, begin, end in read_row_by_row(watch, code, log)
    ]

    assert list(timeline.k_tiles) == sorted(
        expected, key=lambda span: (span.warp, span.begin, span.k_tile, span.k_group, span.activity)
    )
    assert list(timeline.warps) == [
        WarpSpan(7, warp, warp % 2, row[2] - LAUNCHED, row[3] - LAUNCHED, REASONS[row[4]])
        for warp in range(WARPS)
        for row in log
        if row[0] == SPENT and row[1] == warp
    ]


def test_spans_kept_as_columns_are_the_spans():
    columns = np.array([[0, 0], [0, 1], [0, 1], [4, 5], [5, 9], [1, 0]])
    spans = Spans(WarpSpan, lambda: (2, lambda piece: list(columns[:, piece])), {"reason": ("wait", "selected")})
    objects = (WarpSpan(0, 0, 0, 4, 5, "selected"), WarpSpan(0, 1, 1, 5, 9, "wait"))

    assert spans == objects
    assert objects == spans
    assert (spans[1], spans[-1], len(spans), spans[:1]) == (objects[1], objects[1], 2, objects[:1])
    with pytest.raises(IndexError):
        spans[2]
    assert spans != objects[:1]
    assert [before.warp < after.warp for before, after in pairwise(spans)] == [True]
