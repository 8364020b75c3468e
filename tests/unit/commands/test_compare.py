"""``gpusim compare``: a profile beside a run."""

import json

NAME = "conv_9_k_tiles"


def test_a_profile_is_compared_with_a_run(gpusim, tmp_path):
    run = tmp_path / "run"
    assert gpusim("run", NAME, "--out", run, "--no-figures").code == 0
    report = tmp_path / "report.csv"
    report.write_text(
        '"ID","Kernel Name","Block Size","Grid Size","sm__cycles_elapsed.max","launch__registers_per_thread"\n'
        '"","","","","cycle",""\n"0","mine","(128, 1, 1)","(1, 1, 1)","20,000","99"\n'
    )

    answer = gpusim("compare", run, report, "--json")

    assert answer.code == 0
    rows = {row["source"]: row["measured"] for row in json.loads(answer.out)["rows"]}
    assert rows == {"sm__cycles_elapsed.max": 20000.0, "launch__registers_per_thread": 99.0}
    assert gpusim("compare", run, report).out.startswith("mine, grid 1 x 1 x 1, ")


def test_one_side_and_a_setting_make_two(gpusim, tmp_path):
    answer = gpusim("compare", NAME, "--set", "kernel.stages=4", "--png", tmp_path / "both.png", "--json")
    data = json.loads(answer.out)

    assert answer.code == 0
    assert [side["name"] for side in data["sides"]] == [NAME, "kernel.stages=4"]
    assert [one["key"] for one in data["differences"]] == ["kernel.stages"]
    assert (tmp_path / "both.png").read_bytes().startswith(b"\x89PNG")


def test_figures_of_machines_that_differ_are_printed_those_of_the_user_first(gpusim):
    out = gpusim("compare", NAME, "--set", "machine.sms=66").out

    assert " 132 (documented) " in out
    assert " 66 (user)" in out
    several = gpusim("compare", NAME, "--set", "machine=a100", "--set", "machine.launch.overhead=5000").out
    _, _, table = several.partition("figure of the machine")
    assert table.splitlines()[2].startswith("launch.overhead, cycles ")
    assert " more figures of the machines differ: gpusim machine h200 'a100 with launch.overhead = 5000'" in several


def test_a_machine_that_is_gone_is_said_to_be(gpusim, own_run):
    data = json.loads((own_run / "result.json").read_text())
    data["machine"]["digest"] = "0" * 64
    (own_run / "result.json").write_text(json.dumps(data))

    out = gpusim("compare", own_run, NAME).out

    assert "own: the figures of its machine (000000000000) are no longer at hand" in out


def test_runs_and_scenarios_stand_in_one_table(gpusim, finished_run):
    out = gpusim("compare", finished_run, NAME, "conv_s6_crosswise").out

    assert "problem.h" in out
    assert "cycles elapsed, cycles" in out


def test_a_setting_of_two_sides_is_refused(gpusim):
    answer = gpusim("compare", NAME, NAME, "--set", "kernel.stages=4")

    assert answer.code == 2
    assert "--set makes the second side of one, got 2 sides" in answer.err


def test_one_side_alone_is_refused(gpusim):
    answer = gpusim("compare", NAME)

    assert answer.code == 2
    assert "needs two sides" in answer.err


def test_a_report_and_a_scenario_are_compared(gpusim, tmp_path):
    report = tmp_path / "report.csv"
    report.write_text(
        '"ID","Kernel Name","Block Size","Grid Size","sm__cycles_elapsed.max"\n'
        '"","","","","cycle"\n"0","mine","(128, 1, 1)","(1, 1, 1)","20,000"\n'
    )

    data = json.loads(gpusim("compare", report, NAME, "--json").out)

    assert [side["kind"] for side in data["sides"]] == ["ncu", "scenario"]
    assert data["metrics"][0]["values"][0] == 20000
