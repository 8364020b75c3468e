"""
Own kernels without one of their barriers: races are found in exactly those in which two warps meet in a byte.

The judge knows only barriers of the whole CTA. With these, two accesses are ordered if their warps have met different
numbers of barriers before them.
"""

from collections import defaultdict
from itertools import combinations

import numpy as np
import pytest
from own.traced import execution

from gpusim.execute.core import constants as core
from gpusim.execute.watch import LaunchWatch

KERNELS = (
    *("sgemm_shared", "transpose_tile", "stencil_line", "conv2d_shared", "scan_hillis_steele", "scan_blelloch"),
    *("reduce_strided_float", "reduce_shuffle_int", "histogram_private", "compact", "align_sequences", "nbody", "fft"),
)
"""Kernels whose barriers are those of the whole CTA, and which copy nothing asynchronously."""


def barriers_of(name):
    return [at for at, sass in enumerate(execution(name).code) if sass is not None and sass.name == "BAR"]


def accesses(pieces, table):
    """Yield CTA, barriers met before, byte, warp and instruction of each byte that a lane accesses in shared memory."""
    met = defaultdict(int)
    for piece in pieces:
        rows = dict(zip(piece.accesses.tolist(), piece.addresses, strict=True))
        steps = zip(piece.steps.tolist(), piece.lanes.tolist(), piece.warps.tolist(), strict=True)
        for step, (number, lanes, warp) in enumerate(steps):
            cells = table[number]
            met[piece.cta, warp] += cells[core.KIND] == core.MEET_BARRIER and lanes != 0
            if cells[core.SPACE] == core.SHARED_SPACE and step in rows:
                active = rows[step][lanes >> np.arange(32) & 1 == 1]
                for byte in np.unique(active[:, None] + np.arange(cells[core.SIZE])).tolist():
                    yield (piece.cta, met[piece.cta, warp], byte), (warp, number)


def races(pieces, table):
    """Return the pairs of instructions that race by the judge's rule."""
    touched = defaultdict(set)
    for place, access in accesses(pieces, table):
        touched[place].add(access)
    kinds = {at: table[at, core.KIND] for at in range(len(table))}
    return {
        frozenset((number, second))
        for together in touched.values()
        for (warp, number), (other, second) in combinations(together, 2)
        if warp != other and (kinds[number] != kinds[second] or kinds[number] == core.STORE_WORDS)
    }


@pytest.mark.slow
@pytest.mark.compiled
@pytest.mark.parametrize("name", KERNELS)
def test_races_without_a_barrier_are_those_of_warps_that_meet_in_a_byte(name):
    counted = 0
    for removed in [None, *barriers_of(name)[:3]]:
        made = execution(name)
        table = made.rows.reshape(-1, core.ROW)
        if removed is not None:
            table[removed, core.KIND] = core.NO_EFFECT
        watch = LaunchWatch(made, every_cta=True)
        pieces = list(watch.watch(made.run()))

        expected = races(pieces, table)

        found = {frozenset((one.first.address // 16, one.second.address // 16)) for one in watch.findings().races}
        assert found <= expected
        assert bool(found) == bool(expected)
        counted += len(found)
    assert counted > 0
