"""Shared memory shows data no earlier than the memory model promises: hand-worked on two warps of 32 threads."""

import numpy as np
import pytest

from gpusim.functional.shared_memory import CopyQueue, SharedArray

WARPS = 2
THREADS = 64
MINE = np.arange(THREADS)[:, None]
SWAPPED = MINE[::-1]
VALUES = np.arange(THREADS, dtype=np.float32)[None, :, None]


@pytest.fixture
def shared():
    return SharedArray(ctas=1, elements=THREADS, warps=WARPS, dtype=np.float32)


def test_starts_as_nan(shared):
    assert np.isnan(shared.load(MINE)).all()


def test_store_is_seen_by_its_own_warp_at_once_and_by_others_after_a_barrier(shared):
    assert not shared.store(MINE, VALUES)
    assert np.array_equal(shared.load(MINE), VALUES)
    assert np.isnan(shared.load(SWAPPED)).all()
    shared.barrier()
    assert np.array_equal(shared.load(SWAPPED), VALUES[:, ::-1])


def test_overwriting_what_another_warp_read_needs_a_barrier(shared):
    shared.store(MINE, VALUES)
    shared.barrier()
    shared.load(SWAPPED)
    assert shared.store(MINE, VALUES)
    shared.barrier()
    assert not shared.store(MINE, VALUES)


def test_overwriting_what_the_own_warp_read_needs_none(shared):
    shared.store(MINE, VALUES)
    shared.load(MINE)
    assert not shared.store(MINE, VALUES)


def test_copy_lands_at_the_wait_that_covers_its_group(shared):
    queue = CopyQueue()
    queue.issue(shared, MINE[:, :0].reshape(THREADS, 0), VALUES[..., :0], None)
    queue.commit()
    queue.issue(shared, MINE, VALUES, None)
    queue.commit()
    queue.wait(1)
    shared.barrier()
    assert np.isnan(shared.load(MINE)).all()
    queue.wait(0)
    assert np.array_equal(shared.load(MINE), VALUES)


def test_uncommitted_copy_is_covered_by_no_wait(shared):
    queue = CopyQueue()
    queue.issue(shared, MINE, VALUES, None)
    queue.wait(0)
    assert np.isnan(shared.load(MINE)).all()
    queue.commit()
    queue.wait(0)
    assert np.array_equal(shared.load(MINE), VALUES)


def test_landed_copy_is_seen_by_other_warps_only_after_a_barrier(shared):
    queue = CopyQueue()
    queue.issue(shared, MINE, VALUES, None)
    queue.commit()
    queue.wait(0)
    assert np.isnan(shared.load(SWAPPED)).all()
    shared.barrier()
    assert np.array_equal(shared.load(SWAPPED), VALUES[:, ::-1])


def test_slot_of_a_copy_in_flight_holds_nothing(shared):
    shared.store(MINE, VALUES)
    shared.barrier()
    CopyQueue().issue(shared, MINE, VALUES, None)
    assert np.isnan(shared.load(MINE)).all()


def test_issue_into_a_slot_that_another_warp_still_reads_is_told(shared):
    shared.store(MINE, VALUES)
    shared.barrier()
    shared.load(SWAPPED)
    assert CopyQueue().issue(shared, MINE, VALUES, None)


def test_element_that_no_copy_writes_is_nan(shared):
    """Predicated off without zero-fill: an earlier tile's value must not be taken for this one's."""
    shared.store(MINE, VALUES)
    shared.barrier()
    queue = CopyQueue()
    odd = (VALUES % 2).astype(bool)
    queue.issue(shared, MINE, VALUES + 100, odd)
    queue.commit()
    queue.wait(0)
    loaded = shared.load(MINE)
    assert np.array_equal(loaded[odd], VALUES[odd] + 100)
    assert np.isnan(loaded[~odd]).all()


def test_ctas_do_not_share():
    shared = SharedArray(ctas=2, elements=THREADS, warps=WARPS, dtype=np.float32)
    both = np.concatenate([VALUES, VALUES + 1000])
    shared.store(MINE, both)
    assert np.array_equal(shared.load(MINE), both)
