"""Cycles of own kernels from the machine code that was measured, and the errors of several."""

from pathlib import Path

import pytest

from gpusim.lab.own.counts.compared import read_counters
from gpusim.lab.own.cycles.compared import ComparedCycles, errors, time_measured
from gpusim.lab.own.table import own_kernel
from gpusim.results.result import ELAPSED

FOLDER = Path(__file__).parents[4] / "reports" / "measured" / "h200" / "own"

FEW = (
    *("pointer_chase", "copy_stride_32"),
    *(pytest.param(name, marks=pytest.mark.slow) for name in ("gather", "transpose_tile")),
)
"""Development kernels that are executed within seconds."""

MOST_PERCENT = 40
"""A difference that only a mistake makes."""


def compared(percent):
    return ComparedCycles("k", "memory", 100 + percent, 100, 1)


def test_errors_are_the_mean_a_percentile_and_the_mean_with_sign():
    """Of -10, 0, 10 and 40 per cent: 15; nine tenths of the way up, 30 per cent of the way from 10 to 40 short: 31."""
    found = errors([compared(percent) for percent in (-10, 0, 10, 40)])

    assert found == pytest.approx((15, 31, 10))


@pytest.mark.compiled
@pytest.mark.parametrize("name", FEW)
def test_a_development_kernel_takes_about_as_long_as_measured(name):
    measured = {row["name"]: round(float(row[ELAPSED])) for row in read_counters(FOLDER, "development")}
    kernel = own_kernel(name)

    found = time_measured(kernel, FOLDER, measured[name])

    assert (found.kernel, found.bound, found.measured) == (name, kernel.bound, measured[name])
    assert abs(found.percent) < MOST_PERCENT
