"""Races among random accesses are those of a comparison of every pair; unwritten reads are those before every write."""

import numpy as np
import pytest

from gpusim.execute.checks.accesses import LANE_BITS, ROW_BITS
from gpusim.execute.checks.order import warp_order
from gpusim.execute.checks.pairs import AccessColumns, entries_to_keep, find_pairs, granules_of, rows_of_entries
from gpusim.schedule.happens_before import NEVER_COMPLETE
from gpusim.schedule.warp_events import Effect, Sync

WARPS, SEGMENTS, GRANULES = 3, 3, 4


def entry(granule, row, lane=0):
    return granule << ROW_BITS + LANE_BITS | row << LANE_BITS | lane


def drawn(seed, count=12):
    """Accesses of warps that meet at two barriers, in an order of execution that these allow."""
    draw = np.random.default_rng(seed)
    segment = np.sort(draw.integers(SEGMENTS, size=count))
    warp = draw.integers(WARPS, size=count)
    effect = draw.choice([*Effect], size=count, p=[0.5, 0.2, 0.15, 0.15])
    order = warp_order([[Sync(0)] * (SEGMENTS - 1)] * WARPS)
    step = np.arange(count)
    # A copy is complete some steps later, or never.
    late = np.minimum(step + draw.integers(6, size=count), count - 1)
    ends = draw.random(count) < 0.7
    copies = effect == Effect.ASYNC_WRITE
    end = np.where(copies, np.where(ends, late, NEVER_COMPLETE), step)
    end_segment = np.where(copies, np.where(ends, segment[late], NEVER_COMPLETE), segment)
    columns = AccessColumns(effect, warp, step, end, end_segment, order.rows(warp, segment), order.clocks)
    return columns, np.array([entry(int(draw.integers(GRANULES)), row) for row in range(count)])


def racing_granules(columns, entries):
    """The granules of which any two accesses race."""
    found = set()
    for first in range(len(entries)):
        for second in range(first + 1, len(entries)):
            effects = {int(columns.effect[first]), int(columns.effect[second])}
            harmless = effects in ({Effect.READ}, {Effect.ATOMIC})
            if granules_of(entries[first]) == granules_of(entries[second]) and not harmless:
                one, other = np.array([first]), np.array([second])
                if columns.race(one, other)[0]:
                    found.add(int(granules_of(entries[first])))
    return found


def unwritten(columns, entries):
    """Rows that read what nobody wrote before."""
    written, found = set(), set()
    for row, granule in enumerate(granules_of(entries).tolist()):
        if columns.effect[row] in (Effect.READ, Effect.ATOMIC) and granule not in written:
            found.add(row)
        if columns.effect[row] != Effect.READ:
            written.add(granule)
    return found


@pytest.mark.parametrize("seed", range(200))
def test_granules_with_races_are_those_of_a_comparison_of_every_pair(seed):
    columns, entries = drawn(seed)

    found = find_pairs(np.random.default_rng(seed).permutation(entries), columns)

    assert set(granules_of(found.first).tolist()) == racing_granules(columns, entries)
    assert columns.race(rows_of_entries(found.first), rows_of_entries(found.second)).all()


@pytest.mark.parametrize("seed", range(100))
def test_reads_before_every_write_are_unwritten(seed):
    columns, entries = drawn(seed)

    found = find_pairs(entries, columns)

    assert set(rows_of_entries(found.unwritten).tolist()) == unwritten(columns, entries)


@pytest.mark.parametrize("seed", range(100))
def test_what_is_kept_finds_the_races_of_later_accesses(seed):
    """The first half alone, then what is kept of it with the second half, find the granules that the whole has."""
    columns, entries = drawn(seed, 16)
    whole = set(granules_of(find_pairs(entries, columns).first).tolist())

    early = find_pairs(entries[:8], columns)
    kept = entries_to_keep(entries[:8], columns)
    late = find_pairs(np.concatenate([kept, entries[8:]]), columns)

    assert set(granules_of(early.first).tolist()) | set(granules_of(late.first).tolist()) == whole
    new = {row for row in rows_of_entries(late.unwritten).tolist() if row >= 8}
    assert new == {row for row in unwritten(columns, entries) if row >= 8}


def test_no_access_races_with_nothing():
    columns, entries = drawn(0)

    found = find_pairs(entries[:0], columns)

    assert [len(one) for one in found] == [0, 0, 0]
