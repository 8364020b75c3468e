"""The journal of a sweep: lines that survive, a torn last line, and folders of others."""

import json
import subprocess
import sys

import pytest

from gpusim.errors import BadInput, CannotRun
from gpusim.verbs.sweeping.journal import DEFINITION, JOURNAL, Journal, read_definition
from gpusim.verbs.sweeping.point import STALL_COLUMNS

SETTINGS = [{"kernel.stages": stages} for stages in range(2, 8)]
SWEPT = {"axes": [{"name": "kernel.stages", "settings": SETTINGS}], "base": {"k": 3}}


def kept(folder, *numbers):
    with Journal(folder, SWEPT) as journal:
        for number in numbers:
            journal.add(number, {"error": f"refused {number}"})


def test_what_was_added_is_there_when_it_is_opened_again(tmp_path):
    kept(tmp_path / "new" / "folder", 4, 2)

    with Journal(tmp_path / "new" / "folder", SWEPT) as journal:
        assert journal.rows == {4: {"error": "refused 4"}, 2: {"error": "refused 2"}}


@pytest.mark.parametrize("torn", [1, 5, 20])
def test_a_torn_last_line_is_dropped_and_the_next_goes_in_its_place(tmp_path, torn):
    kept(tmp_path, 0, 1)
    path = tmp_path / JOURNAL
    path.write_bytes(path.read_bytes()[:-torn])

    kept(tmp_path, 2)

    numbers = [json.loads(line)["point"] for line in path.read_text().splitlines()]
    assert numbers == [0, 2]


def test_another_sweeps_folder_is_refused_with_what_differs(tmp_path):
    kept(tmp_path, 0)
    with pytest.raises(BadInput) as caught:
        Journal(tmp_path, SWEPT | {"axes": [{"name": "kernel.stages", "settings": SETTINGS[:2]}]})
    assert (
        str(caught.value)
        == f"{tmp_path}: holds another sweep (axes differ); give --out another folder, or --force to replace it"
    )


def test_a_folder_in_use_for_something_else_is_refused(tmp_path):
    (tmp_path / "thesis.tex").write_text("text")
    with pytest.raises(BadInput, match="is in use, and holds no sweep"):
        Journal(tmp_path, SWEPT)
    with pytest.raises(BadInput, match="is a file; a sweep is written to a folder"):
        Journal(tmp_path / "thesis.tex", SWEPT)
    with pytest.raises(BadInput, match="holds no sweep"):
        read_definition(tmp_path)


def test_a_definition_cut_short_is_no_obstacle(tmp_path):
    (tmp_path / f"{DEFINITION}.part").write_text('{"sch')
    kept(tmp_path, 0)
    assert read_definition(tmp_path)["axes"] == SWEPT["axes"]


def test_a_damaged_line_in_the_middle_is_said(tmp_path):
    kept(tmp_path, 0, 1)
    path = tmp_path / JOURNAL
    path.write_bytes(b"x" + path.read_bytes())
    with pytest.raises(CannotRun, match=r"journal\.jsonl: line 1 is damaged: it is no JSON$"):
        Journal(tmp_path, SWEPT)


def test_two_processes_do_not_share_a_folder(tmp_path):
    code = (
        "import sys; from pathlib import Path; from gpusim.verbs.sweeping.journal import Journal\n"
        f"Journal(Path(sys.argv[1]), {SWEPT!r})"
    )
    with Journal(tmp_path, SWEPT):
        other = subprocess.run([sys.executable, "-c", code, tmp_path], capture_output=True, text=True, check=False)
    assert other.returncode == 1
    assert "another process sweeps into this folder" in other.stderr


def swept(*stages):
    return {"axes": [{"name": "kernel.stages", "settings": [{"kernel.stages": one} for one in stages]}]}


def test_a_sweep_that_is_there_is_replaced_where_that_is_asked_for(tmp_path):
    """Its points go, and nothing else; the other sweep then owns the folder, and may be begun anew, too."""
    with Journal(tmp_path, swept(3)) as journal:
        journal.add(0, {"error": "five"})
    (tmp_path / "notes.txt").write_text("not gpusim's")

    with Journal(tmp_path, swept(4), anew=True) as journal:
        assert journal.rows == {}
        journal.add(0, {"error": "seven"})

    assert read_definition(tmp_path)["axes"] == swept(4)["axes"]
    assert sorted(file.name for file in tmp_path.iterdir()) == ["journal.jsonl", "notes.txt", "sweep.json"]
    with Journal(tmp_path, swept(4)) as journal:
        assert journal.rows == {0: {"error": "seven"}}
    with Journal(tmp_path, swept(4), anew=True) as journal:
        assert journal.rows == {}


def test_a_folder_without_a_sweep_is_not_replaced(tmp_path):
    (tmp_path / "thesis.tex").write_text("years of work")

    with pytest.raises(BadInput, match="is in use, and holds no sweep"):
        Journal(tmp_path, swept(3), anew=True)
    assert [file.name for file in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_sweep_that_runs_is_not_replaced(tmp_path):
    with Journal(tmp_path, swept(3)) as journal:
        journal.add(0, {"error": "five"})
        with pytest.raises(CannotRun, match="another process sweeps into this folder"):
            Journal(tmp_path, swept(4), anew=True)

    with Journal(tmp_path, swept(3)) as journal:
        assert journal.rows == {0: {"error": "five"}}


FIGURES = {
    "cycles": 5,
    "active_cycles": 4,
    "time_us": 0.1,
    "tflops": 1.0,
    "waves": 0.5,
    "ctas_per_sm": 1,
    "occupancy": 0.5,
    "registers": 32,
    "shared_bytes": 0,
    "bank_conflicts": 0,
    "bound": "DRAM",
    "bound_utilisation": 0.5,
    "stream": "estimated",
    "sampled": False,
    **dict.fromkeys(STALL_COLUMNS.values(), 0.0),
}


@pytest.mark.parametrize(
    ("line", "wrong"),
    [
        ({"point": -3, "row": FIGURES}, "point must be 0 to 5, got -3"),
        ({"point": 6, "row": FIGURES}, "point must be 0 to 5, got 6"),
        ({"point": True, "row": FIGURES}, "point must be 0 to 5, got True"),
        ({"point": 0, "row": {}}, "cycles: Field required"),
        ({"point": 0, "row": FIGURES | {"cycles": -5}}, "cycles: Input should be greater than or equal to 1"),
        ({"point": 0, "row": FIGURES | {"cycles": "5"}}, "cycles: Input should be a valid integer"),
        ({"point": 0, "row": FIGURES | {"time_us": 1e400}}, "time_us: Input should be a finite number"),
        ({"point": 0, "row": FIGURES | {"more": 1}}, "more: Extra inputs are not permitted"),
        ({"point": 0, "row": {"error": 5}}, "error: Input should be a valid string"),
        ({"point": 0}, "must have a point and its row"),
        ([], "must have a point and its row"),
    ],
    ids=range(11),
)
def test_a_row_that_no_sweep_has_written_is_said_and_never_shown(tmp_path, line, wrong):
    kept(tmp_path, 1)
    with (tmp_path / JOURNAL).open("a") as file:
        file.write(json.dumps(line) + "\n")

    with pytest.raises(CannotRun) as caught:
        Journal(tmp_path, SWEPT)

    assert str(caught.value) == f"{tmp_path / JOURNAL}: line 2 is damaged: {wrong}"


def test_a_row_of_figures_is_read(tmp_path):
    with Journal(tmp_path, SWEPT) as journal:
        journal.add(3, FIGURES)

    with Journal(tmp_path, SWEPT) as journal:
        assert journal.rows == {3: FIGURES}


@pytest.mark.parametrize(
    ("axes", "wrong"),
    [
        (None, "axes: damaged: : Input should be a valid list"),
        ([], "axes: damaged: : List should have at least 1 item after validation, not 0"),
        ([{"name": "a", "settings": []}], "axes: damaged: 0.settings: List should have at least 1 item after "),
        ([{"name": "a", "settings": [{"a": 1}, {"b": 1}]}], "axes: every position of an axis must set the same keys"),
    ],
    ids=range(4),
)
def test_a_definition_that_no_sweep_has_written_is_one_line(tmp_path, axes, wrong):
    (tmp_path / DEFINITION).write_text(json.dumps({"schema": "gpusim.sweep/1", "axes": axes}))

    with pytest.raises(BadInput) as caught:
        read_definition(tmp_path)

    assert str(caught.value).startswith(f"{tmp_path / DEFINITION}: {wrong}")
