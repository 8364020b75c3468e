"""A report: what a page is given of runs, of several beside each other, and of a table alone."""

import json

import pytest

from gpusim.errors import BadInput
from gpusim.machine import load_machine
from gpusim.results.run_directory import write_run
from gpusim.results.use import use_of
from gpusim.results.verdict import verdict
from gpusim.scenario.text import write_toml
from gpusim.verbs.load import load
from gpusim.verbs.report import ReportTable, report
from gpusim.verbs.simulate import simulate
from gpusim.verbs.sweep import sweep


def written(folder, name, overrides=()):
    scenario = load(name, overrides)
    result, timeline = simulate(scenario, stream="estimated")
    folder.mkdir(parents=True)
    write_run(folder, result, timeline, write_toml(scenario.resolved()), ["gpusim", "run", name])
    return result, timeline


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Two runs that differ in one key."""
    folder = tmp_path_factory.mktemp("runs")
    return {
        folder / name: written(folder / name, "gemm_ragged", [f"kernel.stages={stages}"])
        for name, stages in (("three", 3), ("four", 4))
    }


@pytest.fixture(scope="module")
def both(runs):
    return report(list(runs)).to_dict()


def test_a_run_says_what_its_summary_says(runs, both):
    result, _ = next(iter(runs.values()))
    first = both["runs"][0]

    assert first["name"] == "three"
    assert first["verdict"] == verdict(result, use_of(result, load_machine("h200")))
    assert dict(first["stalls"]) == {reason: share for reason, share in result.stalls.items() if share}
    assert dict(first["counters"]) == result.counters
    assert first["command"] == "gpusim run gemm_ragged"


def test_several_runs_are_compared_with_the_first(both):
    tables = {table["title"]: table for table in both["tables"]}

    assert tables["What differs"]["rows"] == (("kernel.stages", "3", "4"),)
    assert tables["What that did"]["columns"] == ("figure", "unit", "three", "four", "four / three")


def test_one_run_is_compared_with_none(runs):
    assert report([next(iter(runs))]).to_dict()["tables"] == []


def test_a_warps_instructions_are_as_many_as_it_issues(runs, both):
    result, timeline = next(iter(runs.values()))
    sass = both["runs"][0]["sass"]
    issued = sum(span.end - span.begin for span in timeline.warps if span.warp == 0 and span.reason == "selected")

    assert sass["warps"] == sorted({span.warp for span in timeline.warps})
    assert sum(len(part["text"]) * part["trips"] for part in sass["segments"]) == issued
    assert sass["opcodes"]["mma"][0].startswith("HMMA")
    assert sass["origin"] == result.stream == "estimated"


def test_equal_names_are_told_apart_by_their_folders(runs, tmp_path):
    (tmp_path / "three").symlink_to(next(iter(runs)))
    names = report([next(iter(runs)), tmp_path / "three"]).names

    assert len(set(names)) == 2


def test_a_table_stands_alone():
    table = ReportTable("A sweep", "Its points.", ("kernel.stages", "cycles"), ((3, 1200), (4, None)))
    found = report([], [table])

    assert found.to_dict()["tables"][0]["rows"] == ((3, 1200), (4, None))
    assert '"kernel.stages"' in found.to_html()


def test_a_sweep_is_a_table(tmp_path):
    found = sweep("gemm_ragged", {"kernel.stages": [3, 4]}, tmp_path / "stages", jobs=1, stream="estimated")
    (table,) = report([tmp_path / "stages"]).to_dict()["tables"]

    assert table["title"] == "Sweep stages"
    at = table["columns"].index("kernel.stages"), table["columns"].index("cycles")
    assert [(row[at[0]], row[at[1]]) for row in table["rows"]] == [
        (row["kernel.stages"], row["cycles"]) for row in found.rows
    ]


def test_nothing_is_no_report():
    with pytest.raises(BadInput, match="a report needs a run directory or more, got none"):
        report([])


def test_the_data_of_a_page_is_json(both):
    assert json.loads(json.dumps(both))["schema"] == "gpusim.report/1"
