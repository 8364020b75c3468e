"""``gpusim report``: one file, never over another one unless that is asked for."""

import json

import pytest


@pytest.fixture
def report(gpusim, finished_run, tmp_path):
    """Call ``gpusim report`` for the finished run, and return what it left behind."""
    return lambda *options, out="report.html": gpusim("report", finished_run, "--out", tmp_path / out, *options)


def test_a_report_is_one_file(report, tmp_path):
    answer = report("--json")

    assert answer.code == 0
    path = tmp_path / "report.html"
    assert json.loads(answer.out) == {"path": str(path), "bytes": path.stat().st_size}
    assert [one.name for one in tmp_path.iterdir()] == ["report.html"]


def test_a_file_that_is_there_is_replaced_by_force_only(report, tmp_path):
    path = tmp_path / "report.html"
    path.write_text("mine")
    answer = report()

    assert (answer.code, answer.err) == (2, f"gpusim: {path}: is there already; --force replaces it\n")
    assert path.read_text() == "mine"
    assert report("--force").code == 0
    assert path.read_text().startswith("<!DOCTYPE html>")


def test_a_folder_is_never_replaced(report, tmp_path):
    (tmp_path / "report.html").mkdir()
    answer = report("--force")

    assert answer.code == 2
    assert "is there already; --force replaces files only" in answer.err


def test_the_file_must_end_in_html(report):
    answer = report(out="report.pdf")

    assert answer.code == 2
    assert "--out must end in .html, got " in answer.err


def test_the_folder_of_the_file_is_never_made(report, tmp_path):
    answer = report(out="nowhere/report.html")

    assert answer.code == 1
    assert f"cannot be written ({tmp_path / 'nowhere'} is no folder)" in answer.err


def test_a_folder_that_is_no_run_is_refused(gpusim, tmp_path):
    answer = gpusim("report", tmp_path, "--out", tmp_path / "report.html")

    assert answer.code == 2
    assert "not a run directory" in answer.err
    assert list(tmp_path.iterdir()) == []
