"""What a watched CTA's log says, read row by row and as columns."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpusim.results.timeline import KTileSpan, Spans, WarpSpan
from gpusim.sim.code import BAR, DEPBAR, PIPE, Decoded
from gpusim.sim.core.chip import NOTED, RELEASED, RETIRED, SPENT
from gpusim.sim.observer import Observer
from gpusim.sim.stall_reasons import REASONS
from gpusim.sim.timed_kernel import Watch

NUMBERED = Watch(
    ("copy", "ldmatrix", "mma"), "copy", "mma", "mma", frozenset({"copy", "ldmatrix", "mma"}), numbers_waits=True
)
NAMED = Watch(("copy_k", "qk", "pv"), "copy_k", "qk", "pv", frozenset({"copy_k"}), numbers_waits=False)
WARPS, STAGES, LAUNCHED = 3, 2, 50


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
            log.append((RELEASED, warp, at))
        log.append((SPENT, warp, at, at + 1, draw(st.integers(0, len(REASONS) - 1))))
    return code, [*log, *((RETIRED, warp, 99, warp % 2) for warp in range(WARPS))]


def read_row_by_row(watch, code, log):
    """The activities and the waits of every warp, as (warp, k tile, k group, name, begin, end)."""
    windows, waits, waiting = {}, {}, set()
    for kind, warp, *row in log:
        if kind == RELEASED and warp in waiting:
            waits[warp][-1][-1] = row[0]
            waiting.discard(warp)
        if kind != NOTED:
            continue
        place, tiles, at, landed, stalled = row
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


@pytest.mark.parametrize("watch", [NUMBERED, NAMED], ids=["waits numbered", "waits named"])
@given(watched=watched_logs())
@settings(deadline=None, max_examples=60)
def test_a_log_reads_the_same_as_columns_and_row_by_row(watch, watched):
    code, log = watched
    timeline = Observer(watch, code, 7, LAUNCHED, log).timeline(STAGES)
    expected = [
        KTileSpan(7, warp, k_tile, k_group, k_tile % STAGES, name, begin - LAUNCHED, end - LAUNCHED)
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


def test_a_pipeline_row_has_the_first_copy_the_first_wait_and_all_mmas():
    """Copies at 50 and 52, a wait from 53 that the barrier ends at 60, MMAs at 61 and 63 of 8 cycles."""
    code = [
        Decoded(PIPE, 0, activity=0),
        Decoded(DEPBAR, 0, activity=2, opens_wait=True),
        Decoded(PIPE, 0, activity=2),
    ]
    log = [
        *((NOTED, 0, 0, 0, at, at + 5, at) for at in (50, 52)),
        (NOTED, 0, 1, 0, 53, 53, 53),
        (RELEASED, 0, 60),
        *((NOTED, 0, 2, 0, at, at + 8, at) for at in (61, 63)),
    ]
    (row,) = Observer(NUMBERED, code, 0, LAUNCHED, log).pipeline(1, STAGES)

    assert (row.copy_issue, row.copy_done) == (0, 7)
    assert (row.wait_begin, row.wait_end) == (3, 10)
    assert (row.mma_begin, row.mma_end) == (11, 21)


def test_spans_kept_as_columns_are_the_spans():
    spans = Spans(WarpSpan, lambda: [[0, 0], [0, 1], [0, 1], [4, 5], [5, 9], ["selected", "wait"]])
    objects = (WarpSpan(0, 0, 0, 4, 5, "selected"), WarpSpan(0, 1, 1, 5, 9, "wait"))

    assert spans == objects
    assert objects == spans
    assert (spans[1], len(spans), spans[:1]) == (objects[1], 2, objects[:1])
    assert spans != objects[:1]
    assert [before.warp < after.warp for before, after in pairwise(spans)] == [True]
