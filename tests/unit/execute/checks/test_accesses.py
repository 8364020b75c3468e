"""A CTA's accesses of shared memory as they are taken from a trace of a few steps."""

import numpy as np

from gpusim.execute.checks.accesses import CtaAccesses
from gpusim.execute.checks.instructions import AWAITS, COMMITS, MEETS, NO_ACCESS, NOTHING, SharedInstructions
from gpusim.execute.checks.pairs import granules_of, lanes_of, rows_of_entries
from gpusim.execute.core import constants as core
from gpusim.execute.run import ExecutedSteps
from gpusim.schedule.happens_before import NEVER_COMPLETE
from gpusim.schedule.warp_events import Effect, Sync

STORE, COPY, COMMIT, WAIT, BARRIER, LOAD = range(6)
KERNEL = SharedInstructions(
    effect=np.array([Effect.WRITE, Effect.ASYNC_WRITE, *[NO_ACCESS] * 3, Effect.READ]),
    size=np.array([8, 4, 0, 0, 0, 4]),
    matrix=np.zeros(6, np.bool_),
    lanes=np.full(6, core.ALL),
    generic=np.array([False] * 5 + [True]),
    copies=np.array([False, True] + [False] * 4),
    role=np.array([NOTHING, NOTHING, COMMITS, AWAITS, MEETS, NOTHING]),
    pending=np.array([0, 0, 0, 1, 0, 0]),
    barriers={BARRIER: Sync(0)},
    granule=4,
)
NONE = np.zeros((0, 32), np.int64)


def piece(steps, lanes, warps, accesses=(), addresses=NONE):
    arrays = (np.array(one, np.int64) for one in (steps, lanes, warps, accesses, addresses))
    return ExecutedSteps(0, *arrays, lowest=np.zeros(len(accesses), np.int64), hashes=np.zeros(len(accesses), np.int64))


def at(*addresses):
    """A row of addresses of the first lanes."""
    return [*addresses, *[0] * (32 - len(addresses))]


def entries(taken):
    found = np.sort(taken.entries())
    return list(
        zip(granules_of(found).tolist(), rows_of_entries(found).tolist(), lanes_of(found).tolist(), strict=True)
    )


def test_each_granule_that_a_lane_accesses_is_an_entry():
    taken = CtaAccesses(KERNEL, 1)

    taken.take(piece([STORE, STORE], [0b11, 0b10], [0, 0], [0, 1], [at(0, 8), at(0, 16)]))

    assert entries(taken) == [(0, 0, 0), (1, 0, 0), (2, 0, 1), (3, 0, 1), (4, 1, 1), (5, 1, 1)]


def test_a_copy_is_where_it_writes_and_a_generic_load_where_its_window_is_that_of_shared_memory():
    taken, window = CtaAccesses(KERNEL, 1), core.SHARED_WINDOW << 32

    taken.take(
        piece([COPY, LOAD], [1, 0b11], [0, 0], [0, 0, 1], [at(0x7F4000000000), at(4), at(window + 12, 0x7F4000000000)])
    )

    assert entries(taken) == [(1, 0, 0), (3, 1, 0)]


def test_a_copy_is_complete_with_the_wait_that_leaves_only_later_groups():
    """Two groups, and waits that leave one in flight: the first is complete with the first wait behind the second."""
    taken = CtaAccesses(KERNEL, 1)
    steps = [COPY, COMMIT, WAIT, COPY, COMMIT, BARRIER, WAIT]

    taken.take(piece(steps[:3], [1] * 3, [0] * 3, [0, 0], [at(0), at(0)]))
    taken.take(piece(steps[3:], [1] * 4, [0] * 4, [0, 0], [at(0), at(4)]))

    rows = taken.rows()
    assert taken.ends(rows).tolist() == [6, NEVER_COMPLETE]
    assert taken.segments(rows.warp, taken.ends(rows)).tolist() == [1, 1]


def test_segments_are_counted_for_each_warp_and_barriers_without_lanes_are_not_met():
    taken = CtaAccesses(KERNEL, 2)

    taken.take(
        piece([BARRIER, BARRIER, STORE, BARRIER, STORE], [1, 0, 1, 1, 1], [0, 0, 0, 1, 1], [2, 4], [at(0), at(0)])
    )

    rows = taken.rows()
    assert taken.segments(rows.warp, rows.step).tolist() == [1, 1]
    assert taken.barriers()[1] == [[Sync(0)], [Sync(0)]]


def test_what_is_kept_has_rows_of_its_own():
    taken = CtaAccesses(KERNEL, 1)
    taken.take(piece([STORE] * 3, [1] * 3, [0] * 3, [0, 1, 2], [at(0), at(8), at(16)]))
    wanted = taken.entries()

    taken.keep(wanted[rows_of_entries(wanted) == 2])

    assert entries(taken) == [(4, 0, 0), (5, 0, 0)]
    assert taken.rows().step.tolist() == [2]
    assert (taken.examined, taken.row_count) == (1, 1)


def test_accesses_have_one_fingerprint_whatever_lanes_that_take_no_part_hold():
    one, same, other = CtaAccesses(KERNEL, 1), CtaAccesses(KERNEL, 1), CtaAccesses(KERNEL, 1)

    one.take(piece([STORE], [1], [0], [0], [at(8)]))
    same.take(piece([STORE], [1], [0], [0], [at(8, 16)]))
    other.take(piece([STORE], [0b11], [0], [0], [at(8, 16)]))

    assert one.fingerprint() == same.fingerprint() != other.fingerprint()
