"""``gpusim plot`` and ``trace``: drawn and written again from a run's directory alone."""

import json
from pathlib import Path

import pytest

pytestmark = pytest.mark.usefixtures("in_a_folder_of_its_own")


@pytest.mark.parametrize("kind", ["overlap", "conflicts", "stalls", "roofline"])
def test_a_picture_can_be_drawn_again_from_the_directory_alone(gpusim, own_run, kind):
    (own_run / f"{kind}.png").unlink(missing_ok=True)

    answer = gpusim("plot", own_run, kind)

    assert (answer.code, answer.out) == (0, f"{own_run}/{kind}.png\n")
    assert (own_run / f"{kind}.png").read_bytes().startswith(b"\x89PNG")


def test_a_picture_goes_where_it_is_told(gpusim, finished_run):
    answer = gpusim("plot", finished_run, "stalls", "--out", "here.png", "--json")

    assert json.loads(answer.out) == {"kind": "stalls", "path": "here.png"}
    assert Path("here.png").is_file()


def test_a_trace_is_written_again_as_it_was(gpusim, finished_run):
    assert gpusim("trace", finished_run, "--out", "again.pftrace").code == 0
    assert Path("again.pftrace").read_bytes() == (finished_run / "trace.pftrace").read_bytes()


def test_a_kanata_log_lies_beside_the_trace(gpusim, own_run):
    answer = gpusim("trace", own_run, "--format", "kanata", "--json")

    assert json.loads(answer.out) == {"format": "kanata", "path": f"{own_run}/trace.kanata"}
    assert (own_run / "trace.kanata").read_text().startswith("Kanata\t0004\n")
