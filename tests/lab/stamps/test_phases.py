"""Phases of a stamped warp: between which stamps they lie."""

import numpy as np
import pytest

from gpusim.cuda.timeline_format import NOT_STAMPED, WarpTimeline
from gpusim.lab.stamps.phases import PHASES, TIMES, phases_of, times_of
from gpusim.schedule.kernel import Stamped


def warp_of(k_tiles):
    """
    A warp of one k group: k tile t is waited for from 100 t + 50 to 100 t + 60, and multiplied from there + 5 to + 80.
    """
    tile = 100 * np.arange(k_tiles, dtype=np.int64)
    return WarpTimeline(
        slot=0, warp=0, block=0, sm=0, globaltimer=0, k_tiles=k_tiles, begin=0,
        prologue_end=62, tail_end=1000, end=1100,
        copy_issue=tile + 40, wait_begin=tile + 50, wait_end=tile + 60,
        ldmatrix=tile[:, None] + 61, mma_begin=tile[:, None] + 65, mma_end=tile[:, None] + 140,
    )  # fmt: skip


@pytest.mark.parametrize(("k_tiles", "stages", "drained"), [(5, 3, 3), (5, 2, 4), (2, 4, 0)])
def test_the_drain_has_the_last_k_tiles_one_less_than_stages(k_tiles, stages, drained):
    times = times_of(warp_of(k_tiles), Stamped(0, 4, 1, stages, beyond=stages))

    assert tuple(times) == TIMES
    assert times["wait_end"] == 60
    assert times["drain_begin"] == 100 * drained + 65
    assert times["mma_end"] == 100 * (k_tiles - 1) + 140


def test_phases_follow_one_another():
    """
    Of five k tiles in three stages: 60 cycles of prologue; k tile 3 begins at 365, 305 later; k tile 4 ends at 540.
    """
    found = phases_of(times_of(warp_of(5), Stamped(0, 4, 1, 3, beyond=3)))

    assert tuple(found) == (*PHASES, "whole")
    assert list(found.values()) == [60, 305, 175, 540]


def test_a_kernel_that_does_not_stamp_its_first_mma_begins_to_multiply_with_its_fragment_loads():
    warp = warp_of(3)
    warp.mma_begin[:] = NOT_STAMPED

    assert times_of(warp, Stamped(0, 4, 1, 2, beyond=2))["mma_begin"] == 61
