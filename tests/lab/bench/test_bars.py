"""The bars of speed: which figure is held to which, and when a bar is met."""

from dataclasses import replace

import pytest
from doubles.bench import REPORT, RUN

from gpusim.lab.bench.bars import Bar, bars, ratio_of


@pytest.mark.parametrize(
    ("measured", "at_least", "met"),
    [(9.0, False, True), (9.1, False, False), (9.0, True, True), (8.9, True, False), (None, True, None)],
)
def test_a_bar_is_met_when_it_is_just_reached(measured, at_least, met):
    assert Bar("what", "wanted", measured, 9.0, at_least=at_least).met is met


def held(report):
    return {bar.what: (bar.measured, bar.met) for bar in bars(report)}


def test_every_bar_has_the_figure_of_its_row():
    """333 instructions a second are too few, 25 times the other core's enough; 15 s of verify are, 600.5 MB not."""
    found = held(REPORT)

    assert found["gemm_4096, exact, warp instructions a second"] == (RUN.rate, False)
    assert found["gemm_4096, exact, compiled over interpreted"] == (pytest.approx(25), True)
    assert found["gemm_4096, exact, user s"] == (4.5, True)
    assert found["gemm_4096, exact, MB"] == (150.0, True)
    assert found["`gpusim verify gemm_4096`, all CTAs, user s"] == (15.0, True)
    assert found["`gpusim verify gemm_4096`, all CTAs, MB"] == (600.5, False)
    assert found["1024 x 1024 x 1024 in a loop, sampled, points a second and core"] == (40.0, True)
    assert sum(met is not None for _, met in found.values()) == 7


def test_what_was_not_measured_meets_no_bar():
    found = held(replace(REPORT, runs=(), others=(), loops=()))

    assert len(found) == 19
    assert set(found.values()) == {(None, None)}


def test_a_ratio_needs_both_cores():
    assert ratio_of(replace(REPORT, runs=(RUN,)), "gemm_4096") is None
