"""``gpusim machine`` lists the machines that ship, and shows one: figures by kind, unit and source, and its records."""

import json
from dataclasses import asdict
from importlib import resources

import pytest

from gpusim.machine import load_machine, machine_names
from gpusim.machine.figure import FIGURE_KINDS


def test_the_machines_are_listed_with_their_figures_and_records(gpusim):
    header, *rows = gpusim("machine").out.splitlines()

    assert header.split() == ["machine", "GPU", "SMs", "MHz", *FIGURE_KINDS, "records"]
    assert [row.split()[0] for row in rows] == list(machine_names())
    assert [row.split()[0] for row in rows if row.split()[-1] != "none"] == ["h200"]


def test_the_list_is_data_too(gpusim):
    listed = json.loads(gpusim("machine", "--json").out)

    assert [row["name"] for row in listed] == list(machine_names())
    assert all(sum(row["counts"].values()) == len(load_machine(row["name"]).figures) for row in listed)


@pytest.mark.parametrize("name", machine_names())
def test_a_machine_is_shown_figure_by_figure(gpusim, name):
    machine, shown = load_machine(name), gpusim("machine", name).out

    assert shown.startswith(f"{machine.title} ({name}): {machine.sms} SMs")
    for figure in machine.figures:
        assert any(line.startswith(f"{figure.key} ") and f" {figure.unit} " in line for line in shown.splitlines())
    assert all(f"\n{kind}\n" in shown for kind, count in machine.figure_counts().items() if count)


def test_a_list_of_values_is_shown_with_commas(gpusim):
    (line,) = (line for line in gpusim("machine", "h200").out.splitlines() if line.startswith("launch.units.others "))

    assert " 8, 16, 16, 16, 16, 16, 18, 18  SMs " in line


def test_a_list_of_values_is_data_too(gpusim):
    shown = {figure["key"]: figure for figure in json.loads(gpusim("machine", "h200", "--json").out)["figures"]}

    assert shown["launch.units.others"]["value"] == [8, 16, 16, 16, 16, 16, 18, 18]


def test_a_machine_is_data_too(gpusim):
    shown = json.loads(gpusim("machine", "l40s", "--json").out)

    assert shown["figures"] == [json.loads(json.dumps(asdict(figure))) for figure in load_machine("l40s").figures]
    assert shown["digest"] == load_machine("l40s").digest()
    assert shown["records"] == 0


def test_a_machine_without_records_is_said_to_be_unvalidated(gpusim):
    assert "records    none of this machine: nothing that is predicted" in gpusim("machine", "h100_sxm").out
    assert "`gpusim validate --gpu h200`" in gpusim("machine", "h200").out


def test_a_file_of_ones_own_is_shown(gpusim, tmp_path, monkeypatch):
    """It has no records, even under the name of a machine that has."""
    monkeypatch.chdir(tmp_path)
    source = resources.files("gpusim.machine").joinpath("h200.toml")
    (tmp_path / "h200.toml").write_text(source.read_text(encoding="utf-8"), encoding="utf-8")
    shown = json.loads(gpusim("machine", "h200.toml", "--json").out)

    assert (shown["name"], shown["records"]) == ("h200", 0)


def test_a_machine_with_other_figures_is_shown_with_those_of_the_user(gpusim):
    shown = gpusim("machine", "t4 with sms = 20").out

    assert shown.startswith("NVIDIA T4 16 GB (t4 with sms = 20): 20 SMs")
    assert ", 1 user; digest" in shown
    assert "\nuser\n" in shown
    assert "in place of 40" in shown


def test_of_several_machines_the_figures_that_differ_are_shown(gpusim):
    text = gpusim("machine", "rtx3060", "rtx3090").out
    data = json.loads(gpusim("machine", "rtx3060", "rtx3090", "--json").out)

    assert text.startswith(f"{len(data['figures'])} of {len(load_machine('rtx3060').figures)} figures differ\n")
    assert "sms, SMs" in text
    assert {"key": "sms", "unit": "SMs", "values": [28, 82], "kinds": ["documented"] * 2} in data["figures"]
    assert [one["name"] for one in data["machines"]] == ["rtx3060", "rtx3090"]


def test_a_machine_that_is_not_there_is_refused_with_those_that_ship(gpusim):
    for name in ("h300", "nowhere.toml"):
        answer = gpusim("machine", name)

        assert answer.code == 2
        assert all(shipped in answer.err for shipped in machine_names())
