"""The errors that ship are those of the committed reports, by group, and tell no kernel apart."""

import json

import pytest

from gpusim.errors import CannotRun
from gpusim.lab.validation.trust import trust_file, validated_rows, write_trust
from gpusim.records.halves import halves_file
from gpusim.results.trust import Validated, validated_text


def summary(kernels, mean, p90):
    return {"elapsed": {"kernels": kernels, "mean": mean, "p90": p90}}


REPORT = {
    "half": "development",
    "streams": {
        "compiled": {
            "groups": {
                "kind": {"gemm": summary(9, 0.0514, 0.0888)},
                "kind and size": {"gemm: 1 wave": summary(5, 0.04, 0.06)},
            }
        }
    },
    "cutlass": {"errors": {"estimated": summary(99, 0.096, 0.2)}},
}


def test_what_ships_is_what_the_committed_reports_say():
    shipped = trust_file("h200").read_text()

    assert shipped == validated_text(tuple(validated_rows(halves_file().parent)))


def test_groups_become_rows(tmp_path):
    (tmp_path / "development.json").write_text(json.dumps(REPORT))

    assert list(validated_rows(tmp_path)) == [
        Validated("development", "compiled", "gemm", "", 9, 5.1, 8.9),
        Validated("development", "compiled", "gemm", "1 wave", 5, 4.0, 6.0),
        Validated("cutlass", "estimated", "", "", 99, 9.6, 20.0),
    ]


def test_a_report_that_is_none_cannot_be_read(tmp_path):
    (tmp_path / "held_out.json").write_text("{}")

    with pytest.raises(CannotRun, match=r"held_out\.json: not a report of a validation"):
        list(validated_rows(tmp_path))


def test_the_file_is_written_with_its_folder(tmp_path):
    (tmp_path / "development.json").write_text(json.dumps(REPORT))

    write_trust(tmp_path, tmp_path / "validated" / "h200.json")

    assert len(json.loads((tmp_path / "validated" / "h200.json").read_text())["rows"]) == 3
