"""The measured figures of h200.toml, derived anew from the committed CSV files of the microbenchmarks."""

from functools import cache
from pathlib import Path

import pytest

from gpusim.lab.calibrate.derive import NOT_THE_FIGURE, derive
from gpusim.lab.calibrate.own.derive_own import OWN_TABLES
from gpusim.machine import load_machine

SOURCE = "microbench-h200"
FIGURES = {figure.key: figure for figure in load_machine("h200").figures}
MEASURED = [key for key, figure in FIGURES.items() if figure.source == SOURCE]
MICROBENCH = Path(__file__).parents[3] / "reports" / "measured" / "h200" / "microbench"

NO_TIME = {
    "tensor.m16n8k64.s4.s32.interval": "ptxas emulates the instruction (D27)",
    "tensor.m16n8k64.s4.s32.latency": "ptxas emulates the instruction (D27)",
    "pipes.half.latency": "nothing waits for it",
    **dict.fromkeys(
        ("dram.latency", "dram.latency_late", "dram.latency_later", "dram.latency_most"),
        "dram.late says when misses come",
    ),
}
"""What the CSV files tell and the machine file has no place for, with the reason."""


@cache
def derived():
    return derive(MICROBENCH)


def test_the_chip_s_figures_are_among_those_that_are_measured():
    for key in (
        "dram.latency_least",
        *("l2.write_bytes_per_cycle", "l2.write_bytes_per_cycle_per_sm", "l2.write_latency", "l2.write_buffer"),
        *("l2.merging.most", "l2.merging.window", "instruction_cache.line_interval", "launch.overhead"),
        *("launch.ctas_on_every_gpc", "launch.idle_clock_percent", "launch.cta_setup"),
        *("launch.units.ahead", "launch.units.others", "launch.units.between"),
    ):
        assert key in MEASURED


def test_the_queues_of_the_mio_and_the_pace_of_copies_are_among_them():
    for key in (
        *(
            "mio.queue_depth",
            "mio.sm_depth",
            "async_copy.queue_percent",
            "async_copy.look_ups",
            "async_copy.apart",
            "async_copy.source_release",
        ),
        *("async_copy.pace.interval", "async_copy.pace.outstanding", "async_copy.pace.outstanding_through"),
        *("async_copy.pace.fill_bytes", "l2.reach.cycles"),
    ):
        assert key in MEASURED


def test_every_measured_figure_is_derived_from_the_csv_files():
    """A figure of another reading would not fail if it were changed. That of a branch is derived in test_main_loops."""
    measured = {key for key, figure in FIGURES.items() if figure.kind == "measured"}

    assert measured - set(MEASURED) == {"pipes.branch.latency"}


def test_the_queues_hold_the_loads_that_wait():
    """60 loads wait: 14 in the queue of the SM, and 11.5 in each SMSP's, which is taken as 12."""
    queue, sm = FIGURES["mio.queue_depth"].value, FIGURES["mio.sm_depth"].value

    assert (queue, sm) == (12, 14)
    assert abs(4 * queue + sm - 60) <= 2


@pytest.mark.parametrize("key", MEASURED)
def test_a_measured_figure_is_what_its_csv_file_says(key):
    figure = FIGURES[key]

    assert figure.kind == "measured"
    assert (figure.value, figure.at) == (derived()[key].value, derived()[key].at)


def test_what_is_derived_and_not_taken_over_has_a_reason():
    """The file leaves such a figure assumed or fits it to something else, or has none."""
    told = {key for key in derived() if not key.startswith(OWN_TABLES)}

    assert told - set(MEASURED) == set(NOT_THE_FIGURE) | set(NO_TIME)
    assert {FIGURES[key].kind for key in NOT_THE_FIGURE} == {"assumed", "fitted"}
    assert not set(NO_TIME) & set(FIGURES)
