"""``gpusim validate`` and every other command before held-out records: shown only when asked for, and noted then."""

import json
from dataclasses import replace

import pytest
from doubles.record import SMALLEST, record_of

from gpusim.commands import check as check_command
from gpusim.commands import validate as validate_command
from gpusim.lab.tables import error_table
from gpusim.lab.validation import trust
from gpusim.lab.validation import validate as validation
from gpusim.records import halves, held_out_log
from gpusim.records import record as records
from gpusim.records.record import write_record

OPEN, SECRET = "open", "secret"
FAST = ("--stream", "estimated", "--jobs", "1")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Two records, of which one is held out, with a log and a list of halves of their own."""
    for name, cycles in ((OPEN, 50000.0), (SECRET, 77777.0)):
        write_record(replace(record_of(SMALLEST, cycles), name=name), tmp_path / "h200")
    (tmp_path / "halves.toml").write_text(f'seen = ["{OPEN}"]\ndevelopment = []\nheld_out = ["{SECRET}"]\n')
    monkeypatch.setattr(halves, "halves_file", lambda: tmp_path / "halves.toml")
    monkeypatch.setattr(held_out_log, "halves_file", lambda: tmp_path / "halves.toml")
    for module in (validation, records, error_table):
        monkeypatch.setattr(module, "measured_folder", lambda: tmp_path)
    return tmp_path


def looks(folder):
    path = folder / "held_out_log.md"
    return path.read_text().splitlines()[6:] if path.is_file() else []


def test_without_a_flag_the_development_half_is_shown_and_no_look_is_noted(gpusim, folder):
    answer = gpusim("validate", *FAST, "--only", "*")

    assert answer.code == 0
    assert "| open | estimated |" in answer.out
    assert "secret" not in answer.out + answer.err
    assert looks(folder) == []


def test_the_page_its_data_and_the_picture_are_written(gpusim, folder):
    out = folder / "out"

    assert gpusim("validate", *FAST, "--only", "*", "--out", out).code == 0

    assert sorted(path.name for path in out.iterdir()) == ["development.json", "development.md", "development.png"]
    data = json.loads((out / "development.json").read_text())
    assert (data["half"], data["records"], data["rows"][0]["figures"]["elapsed"][0]) == ("development", 1, 50000.0)
    assert (out / "development.png").read_bytes().startswith(b"\x89PNG")


def test_aggregates_of_the_held_out_half_are_noted_and_show_no_row(gpusim, folder):
    out = folder / "out"

    answer = gpusim("validate", *FAST, "--held-out", "--json", "--out", out)

    assert answer.code == 0
    assert json.loads(answer.out)["rows"] == []
    assert sorted(path.name for path in out.iterdir()) == ["held_out.json", "held_out.md"]
    assert "secret" not in answer.out + answer.err + "".join(path.read_text() for path in out.iterdir())
    (look,) = looks(folder)
    assert look.endswith("| `gpusim validate --gpu h200 --held-out` | aggregates of 1 records |")


def test_rows_of_the_held_out_half_are_shown_by_their_flag_alone(gpusim, folder):
    answer = gpusim("validate", *FAST, "--held-out-rows", "--only", "sec*")

    assert "| secret | estimated |" in answer.out
    (look,) = looks(folder)
    assert look.endswith("| `gpusim validate --gpu h200 --only sec* --held-out-rows` | rows of 1 records |")


def test_a_pattern_cannot_single_out_held_out_records(gpusim, folder):
    answer = gpusim("validate", "--held-out", "--only", "sec*")

    assert (answer.code, answer.out) == (2, "")
    assert answer.err == (
        "gpusim: --only would single out held-out records: it goes with --held-out-rows, not with --held-out\n"
    )
    assert looks(folder) == []


def test_check_refuses_a_held_out_record_under_any_name_unless_its_rows_are_asked_for(gpusim, folder):
    """The scenario's file has another name than the record, which is found by its digest."""
    own = folder / "other.toml"
    scenario = record_of(SMALLEST, 1.0).scenario
    own.write_text(check_command.write_toml(scenario))
    (folder / "h200" / "open.json").unlink()

    refused = gpusim("check", own, "--recorded")
    asked = gpusim("check", own, "--recorded", "--held-out-rows")

    assert refused.code == 2
    assert refused.out == ""
    assert refused.err.endswith(
        "secret: is held out, and judges what was never looked at; --held-out-rows shows it, and notes so\n"
    )
    assert "77,777" in asked.out
    (look,) = looks(folder)
    assert look.endswith("| `gpusim check secret --held-out-rows` | rows of 1 record |")


def test_check_of_everything_leaves_the_held_out_half_out(gpusim, folder, monkeypatch):
    paths = [folder / f"{name}.toml" for name in (OPEN, SECRET)]
    for path in paths:
        path.write_text(check_command.write_toml(record_of(SMALLEST, 1.0).scenario))
    monkeypatch.setattr(check_command, "recordable_scenarios", lambda: tuple(paths))

    answer = gpusim("check", "--recorded")

    assert "open: " in answer.out
    assert "secret" not in answer.out + answer.err


@pytest.mark.usefixtures("folder")
def test_the_error_table_has_no_held_out_record(capsys):
    assert error_table.main(["h200"]) == 0

    told = capsys.readouterr()
    assert "| open | 50,000 |" in told.out
    assert "secret" not in told.out + told.err


def test_reports_beside_the_list_of_halves_renew_the_errors_that_ship(gpusim, folder, monkeypatch):
    """Anywhere else they do not."""
    shipped = folder / "shipped" / "h200.json"
    monkeypatch.setattr(validate_command, "halves_file", lambda: folder / "halves.toml")
    monkeypatch.setattr(trust, "trust_file", lambda _: shipped)

    gpusim("validate", *FAST, "--only", "*", "--out", folder / "out")
    assert not shipped.exists()

    gpusim("validate", *FAST, "--only", "*", "--out", folder)
    (row, *_) = json.loads(shipped.read_text())["rows"]
    assert (row["half"], row["kind"], row["kernels"]) == ("development", "conv2d_fprop", 1)
