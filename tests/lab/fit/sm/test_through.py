"""Copies through the L1 beside loads (through.cu): cycles of the data stage, measured and by their rows' banks."""

from pathlib import Path

import numpy as np
import pytest

from gpusim.lab.calibrate.table import MeasuredTable
from gpusim.lab.calibrate.tiles import THROUGH_PITCH, THROUGH_SHAPES
from gpusim.layout.banks import access_wavefronts
from gpusim.sim.footprint import l1_wavefronts

THROUGH = MeasuredTable(Path(__file__).parents[4] / "reports" / "measured" / "h200" / "microbench", "through")
LANES = np.arange(32)
ACTIVE = np.ones(32, dtype=bool)
BESIDE = 1.1
"""Cycles of a copy beside those of its data: that of its own issue, and a part of its group's end."""


def taken(**row):
    """Cycles of the data stage that each copy takes from loads that keep it busy."""
    (alone,) = THROUGH.numbers("issued", bytes=0)
    issued, copied, cycles = (THROUGH.numbers(name, **row)[0] for name in ("issued", "copied", "cycles"))
    return (alone - issued) / alone * cycles / copied


def wavefronts(width, row_bytes, pitch, spread):
    """Wavefronts of a copy's rows in the banks of the L1, and of its target in those of shared memory."""
    lanes = row_bytes // width
    rows = LANES // lanes * pitch + LANES % lanes * width
    return int(l1_wavefronts(rows, ACTIVE, width)), int(access_wavefronts(LANES * width * spread, width, ACTIVE))


CASES = [
    (width, row_bytes, pitch, spread)
    for width, row_bytes in THROUGH_SHAPES
    for pitch in (THROUGH_PITCH, THROUGH_PITCH + row_bytes)
    for spread in ((1, 4) if width == 4 else (1,))
]


@pytest.mark.parametrize(("width", "row_bytes", "pitch", "spread"), CASES)
def test_what_the_l1_has_takes_the_more_of_both_wavefronts(width, row_bytes, pitch, spread):
    """Rows of 16 bytes in the same banks take 8 cycles, in others one, or the four of a target of four wavefronts."""
    row = {"bytes": width, "row_bytes": row_bytes, "pitch": pitch, "spread": spread, "along": 0}

    assert taken(**row) == pytest.approx(max(wavefronts(width, row_bytes, pitch, spread)) + BESIDE, abs=0.25)


@pytest.mark.parametrize(("width", "row_bytes", "pitch", "spread"), CASES)
def test_what_it_lacks_takes_up_to_a_cycle_for_each_line(width, row_bytes, pitch, spread):
    """
    A line each, but where those that come together lie in other banks: then fewer, which is not modelled.

    Every second group of rows of 16 bytes finds its sectors in the L1.
    """
    row = {"bytes": width, "row_bytes": row_bytes, "pitch": pitch, "spread": spread, "along": row_bytes}
    of_banks = max(wavefronts(width, row_bytes, pitch, spread))
    lines = 32 * width // row_bytes

    assert of_banks + 0.3 < taken(**row) < max(of_banks, lines) + BESIDE + 0.1
    if lines <= of_banks:
        assert taken(**row) == pytest.approx(of_banks + BESIDE, abs=0.65)
