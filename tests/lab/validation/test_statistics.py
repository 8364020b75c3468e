"""Means, percentiles and pairs, worked by hand on kernels of a few cycles."""

from dataclasses import replace

import pytest

from gpusim.lab.validation.observe import FigurePair, Observation
from gpusim.lab.validation.statistics import (
    best_of_each,
    grouped,
    k_tile_pairs,
    stall_summary,
    summarise,
    summary_of,
)

PLAIN = Observation(
    name="one",
    stream="compiled",
    groups={"kind": "gemm"},
    figures={"elapsed": FigurePair(1000, 900), "active": FigurePair(800, 840)},
    stalls={},
    alike="a kernel",
    k_tiles=4,
    waves=0.5,
)


def test_a_summary_is_of_absolute_errors_but_for_worst_and_signed_mean():
    """Absolute errors 0.1, 0.2, 0.4, 0.5: mean 0.3, median 0.3; the 90th percentile lies 0.7 from 0.4 to 0.5."""
    found = summarise({"a": 0.1, "b": -0.2, "c": 0.4, "d": -0.5})

    assert (found.kernels, found.worst, found.worst_name) == (4, -0.5, "d")
    assert (found.mean, found.median) == (pytest.approx(0.3), pytest.approx(0.3))
    assert found.p90 == pytest.approx(0.47)
    assert found.signed == pytest.approx(-0.05)
    assert found.unnamed().worst_name == ""
    assert found.unnamed().worst == -0.5


def test_an_error_is_relative_to_what_was_measured_and_a_kernel_without_the_figure_does_not_count():
    other = replace(PLAIN, name="two", figures={})

    assert summary_of([PLAIN, other], "elapsed") == summarise({"one": -0.1})
    assert summary_of([other], "elapsed") is None


def test_kernels_are_grouped_in_alphabetical_order():
    later = replace(PLAIN, name="two", groups={"kind": "attention"})

    assert grouped([PLAIN, later], "kind") == {"attention": [later], "gemm": [PLAIN]}


def test_stalls_differ_in_points_over_reasons_that_count():
    """
    Five shares are at least a hundredth. They differ by 0, 0.10 and 0.06 in the first kernel, whose drain does not
    count, and by 0.20 and 0 in the second. Issuing is no reason: the first kernel's largest are wait and wait, the
    second's wait and barrier.
    """
    first = {
        "selected": FigurePair(0.50, 0.50),
        "wait": FigurePair(0.30, 0.40),
        "barrier": FigurePair(0.16, 0.10),
        "drain": FigurePair(0.009, 0.0),
    }
    second = {"wait": FigurePair(0.5, 0.3), "barrier": FigurePair(0.4, 0.4)}

    found = stall_summary([replace(PLAIN, stalls=first), replace(PLAIN, stalls=second), PLAIN])

    assert found is not None
    assert found.kernels == 2
    assert found.points == pytest.approx(100 * (0.0 + 0.10 + 0.06 + 0.20 + 0.0) / 5)
    assert found.largest_right == 0.5
    assert found.reasons.keys() == {"selected", "wait", "barrier"}
    assert found.reasons["wait"] == (pytest.approx(0.4), pytest.approx(0.35), pytest.approx(0.15))
    assert stall_summary([PLAIN]) is None


def test_two_kernels_that_differ_in_the_sum_alone_give_the_steady_k_tile():
    """Eight k tiles more on each of two waves take 1,600 cycles measured, 100 each, and 1,280 simulated, 80 each."""
    short = replace(PLAIN, waves=1.5)
    deep = replace(
        short,
        name="deep",
        k_tiles=12,
        figures={"elapsed": FigurePair(2600, 2180), "active": FigurePair(2400, 2120)},
    )

    (pair,) = k_tile_pairs([deep, short])

    assert (pair.names, pair.tiles) == (("one", "deep"), 16)
    assert pair.figures["elapsed"] == (100.0, 80.0)
    assert pair.figures["active"].error == pytest.approx(-0.2)


@pytest.mark.parametrize(
    "change",
    [
        {"alike": "another kernel", "k_tiles": 12},
        {"stream": "estimated", "k_tiles": 12},
        {"k_tiles": 4},
        {"k_tiles": 12, "figures": {"elapsed": FigurePair(900, 2000), "active": FigurePair(900, 2000)}},
        {"k_tiles": 12, "figures": {"elapsed": FigurePair(2000, 2000)}},
    ],
    ids=["another kernel", "another stream", "as long", "faster though longer", "no active cycles"],
)
def test_what_is_no_pair_gives_no_k_tile(change):
    assert k_tile_pairs([PLAIN, replace(PLAIN, name="two", **change)]) == ()


def test_the_predicted_best_is_compared_with_the_true_best_of_its_problem():
    """Of problem p the predicted best takes 110 cycles, the true best 100; problem q has one kernel only."""
    cycles = {"a": FigurePair(100, 90), "b": FigurePair(110, 80), "c": FigurePair(50, 50)}
    kernels = [replace(PLAIN, name=name, figures={"elapsed": both}) for name, both in cycles.items()]

    assert best_of_each(kernels, {"a": "p", "b": "p", "c": "q"}) == [pytest.approx(0.1)]
