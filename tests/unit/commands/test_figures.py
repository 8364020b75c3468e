"""``gpusim plot``, ``trace`` and ``report``: drawn and written again from runs' directories alone."""

import json
from pathlib import Path
from typing import get_args, get_type_hints

import pytest

from gpusim.commands.options.figures import PlotOptions, TraceOptions
from gpusim.commands.sweep import CHARTS
from gpusim.results import run_directory

EARLIER = '{"schema": "gpusim.earlier/1"}'
"""What counts as a file that gpusim has made."""

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


@pytest.mark.parametrize(("suffix", "begin"), [(".svg", b"<?xml"), (".pdf", b"%PDF"), (".png", b"\x89PNG")])
def test_a_pictures_format_is_that_of_its_suffix(gpusim, finished_run, tmp_path, suffix, begin):
    assert gpusim("plot", finished_run, "stalls", "--out", tmp_path / f"stalls{suffix}").code == 0
    assert (tmp_path / f"stalls{suffix}").read_bytes().startswith(begin)


def test_a_picture_has_the_name_of_its_scenario(gpusim, finished_run, tmp_path):
    assert gpusim("plot", finished_run, "roofline", "--out", tmp_path / "roofline.svg").code == 0
    assert "<!-- conv_9_k_tiles: " in (tmp_path / "roofline.svg").read_text(encoding="utf-8")


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
    path.write_text(EARLIER)
    answer = report()

    assert (answer.code, answer.err) == (2, f"gpusim: {path}: is there already; --force replaces it\n")
    assert path.read_text() == EARLIER
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


@pytest.mark.parametrize("command", [("plot", "overlap"), ("trace", "--format=perfetto")], ids=" ".join)
def test_a_link_in_a_run_directory_is_replaced_and_never_written_through(gpusim, own_run, tmp_path, command):
    """A run that someone else has made may hold one."""
    precious = tmp_path / "precious"
    precious.write_text("mine")
    name = "overlap.png" if command[0] == "plot" else "trace.pftrace"
    (own_run / name).unlink()
    (own_run / name).symlink_to(precious)

    assert gpusim(command[0], own_run, *command[1:]).code == 2
    assert (own_run / name).is_symlink()

    assert gpusim(command[0], own_run, *command[1:], "--force").code == 0

    assert precious.read_text() == "mine"
    assert not (own_run / name).is_symlink()


@pytest.mark.parametrize("table", ["machine", "scenario", "bound"])
@pytest.mark.parametrize("command", [("report", "--out", "page.html"), ("plot", "stalls"), ("explain",)], ids=" ".join)
def test_a_result_whose_table_is_empty_is_one_line(gpusim, own_run, table, command):
    result = json.loads((own_run / "result.json").read_text())
    (own_run / "result.json").write_text(json.dumps(result | {table: {}}))

    answer = gpusim(command[0], own_run, *command[1:])

    assert answer.is_refusal
    assert f"result.json: damaged: {table}." in answer.err


def test_every_picture_and_trace_that_there_is_can_be_asked_for():
    kinds, formats = (
        get_args(get_type_hints(options)[name])
        for options, name in ((PlotOptions, "kind"), (TraceOptions, "trace_format"))
    )

    assert kinds == (*run_directory.FIGURES, *CHARTS)
    assert formats == (*run_directory.TRACES,)
