"""``gpusim explain`` of a kernel of one's own, by its scenario and by its run."""

import json

import pytest

pytestmark = pytest.mark.usefixtures("folder_of_kernels")


def test_a_scenario_and_its_run_are_explained_alike(gpusim):
    gpusim("run", "transpose_tile.toml", "--out", "run")

    by_scenario, by_run = gpusim("explain", "transpose_tile.toml"), gpusim("explain", "run")

    assert by_scenario.code == by_run.code == 0
    assert by_scenario.out == by_run.out
    assert (
        "lanes lie 128 bytes apart: with 132 or with Swizzle<5, 2, 5> of byte addresses there is no conflict"
        in by_run.out
    )


def test_a_padded_tile_has_no_conflict_to_explain(gpusim):
    found = json.loads(gpusim("explain", "transpose_padded.toml", "--json").out)

    assert (found["conflicting"], found["conflicts"]) == ([], [])


def test_settings_change_a_scenario_and_no_run(gpusim):
    gpusim("run", "transpose_tile.toml", "--out", "run")

    assert gpusim("explain", "transpose_tile.toml", "--set", "machine=rtx3090").code == 2
    assert gpusim("explain", "run", "--set", "grid=3").err.startswith(
        "gpusim: --set changes a scenario; a run directory"
    )


def test_a_command_that_needs_a_schedule_refuses_the_run_by_name(gpusim):
    gpusim("run", "transpose_tile.toml", "--out", "run")

    refused = gpusim("plot", "run", "stalls").err

    assert refused.startswith("gpusim: run: a run of a kernel of your own, which only gpusim compare, explain, ")


def test_the_stalls_of_a_run_are_explained(gpusim):
    result = json.loads(gpusim("run", "transpose_tile.toml", "--out", "run", "--json").out)

    told = json.loads(gpusim("stalls", "run", "--json").out)

    assert [one["reason"] for one in told] == list(result["stalls"])
    assert sum(one["share"] for one in told) == pytest.approx(1)
