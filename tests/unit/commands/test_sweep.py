"""``gpusim sweep``: axes from options and files, the table, the fastest points, pictures, an interrupt."""

import json

import pytest

import gpusim as package
from gpusim.commands import sweep as command

pytestmark = pytest.mark.usefixtures("in_a_folder_of_its_own")

OVER = ("--over", "kernel.stages=1,3,4", "--jobs", "1", "--set", "problem.k=128")


def test_the_table_the_fastest_points_and_the_first_refusal_are_printed(gpusim, tmp_path):
    answer = gpusim("sweep", "gemm_ragged", *OVER, "--out", "here", "--table", "csv")

    assert answer.code == 0
    head, _, intro, columns, first, *_ = answer.out.splitlines()
    assert head == "here/points.csv: 3 points, 1 refused"
    assert intro == "the fastest of them, by sm__cycles_elapsed.max and the clock:"
    assert columns.split()[:4] == ["kernel.stages", "cycles", "time_us", "tflops"]
    assert first.split()[0] in {"3", "4"}
    assert answer.out.splitlines()[-1].startswith("the first refusal: stages must be 2..10, got 1 ")
    assert len((tmp_path / "here" / "points.csv").read_text().splitlines()) == 4


def test_json_is_what_python_answers(gpusim):
    answer = gpusim("sweep", "gemm_ragged", *OVER, "--out", "here", "--json")
    found = package.sweep("gemm_ragged", {"kernel.stages": [1, 3, 4]}, jobs=1, overrides=["problem.k=128"]).to_dict()

    printed = json.loads(answer.out)
    assert printed | {"out": None, "table": None} == found
    assert printed["out"] == "here"
    assert (printed["points"], printed["refused"]) == (3, 1)


def test_axes_come_from_a_file_too(gpusim, tmp_path):
    (tmp_path / "axes.toml").write_text("problem.k = [128, 192]\n")

    answer = gpusim("sweep", "gemm_ragged", "--axes", "axes.toml", *OVER, "--out", "here", "--json")
    alone = gpusim("sweep", "gemm_ragged", "--axes", "axes.toml", "--jobs", "1", "--out", "there", "--json")
    twice = gpusim("sweep", "gemm_ragged", "--axes", "axes.toml", "--over", "problem.k=64", "--out", "where")

    assert [axis["name"] for axis in json.loads(answer.out)["axes"]] == ["problem.k", "kernel.stages"]
    assert json.loads(alone.out)["points"] == 2
    assert twice.is_refusal
    assert twice.err == "gpusim: problem.k must stand on one axis, got it in --over and --axes\n"


def test_without_an_axis_it_is_refused(gpusim):
    answer = gpusim("sweep", "gemm_ragged")
    assert answer.is_refusal
    assert "a sweep needs an axis: --over KEY=VALUE,VALUE,..." in answer.err


def test_the_folder_depends_on_scenario_and_axes(gpusim, tmp_path):
    for _ in range(2):
        assert gpusim("sweep", "gemm_ragged", *OVER).code == 0
    assert gpusim("sweep", "gemm_ragged", *OVER, "--over", "problem.m=128").code == 0

    assert [path.name.rpartition("-")[0] for path in (tmp_path / "sweeps").iterdir()] == ["gemm_ragged"] * 2


def test_another_sweeps_folder_is_refused(gpusim):
    assert gpusim("sweep", "gemm_ragged", *OVER, "--out", "here").code == 0
    answer = gpusim("sweep", "gemm_ragged", "--over", "kernel.stages=3", "--out", "here")
    assert answer.is_refusal
    rule = "give --out another folder, or --force to replace it"
    assert answer.err == f"gpusim: here: holds another sweep (data, axes differ); {rule}\n"


def test_an_interrupt_is_one_line_that_says_what_is_kept(gpusim, monkeypatch):
    def interrupted(*arguments, **options):  # noqa: ARG001
        raise KeyboardInterrupt

    assert gpusim("sweep", "gemm_ragged", *OVER, "--out", "here").code == 0
    monkeypatch.setattr(command, "sweep", interrupted)
    answer = gpusim("sweep", "gemm_ragged", *OVER, "--out", "here")

    assert answer.code == 130
    assert answer.err == "gpusim: interrupted: 3 points are kept in here; the same command goes on with the others\n"


@pytest.fixture
def swept(gpusim):
    assert gpusim("sweep", "gemm_ragged", *OVER, "--over", "problem.n=128,256", "--out", "here").code == 0
    return "here"


def test_pictures_are_drawn_while_it_sweeps_and_afterwards(gpusim, tmp_path, swept):
    again = gpusim(
        "sweep", "gemm_ragged", *OVER, "--over", "problem.n=128,256", "--out", swept, "--plot", "lines", "--plot", "map"
    )
    assert again.code == 0
    assert (tmp_path / "here" / "lines.png").read_bytes().startswith(b"\x89PNG")
    before = (tmp_path / "here" / "map.png").read_bytes()

    answer = gpusim("plot", swept, "sweep-map", "--json")

    assert json.loads(answer.out) == {"kind": "sweep-map", "path": "here/map.png"}
    assert (tmp_path / "here" / "map.png").read_bytes() == before


def test_a_picture_can_be_svg_and_of_another_metric(gpusim, tmp_path, swept):
    assert gpusim("plot", swept, "sweep", "--metric", "cycles", "--out", "x.svg").out == "x.svg\n"
    text = (tmp_path / "x.svg").read_text()
    assert gpusim("plot", swept, "sweep", "--metric", "cycles", "--out", "x.svg").code == 0
    assert (tmp_path / "x.svg").read_text() == text
    assert "<svg" in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("sweep", "--metric", "joy"), "gpusim: --metric must be one of tflops, cycles, active_cycles, "),
        (("sweep", "--out", "x.jpg"), "gpusim: --out must end in .png, .svg, .pdf, got 'x.jpg'"),
    ],
)
def test_a_wrong_picture_is_refused(gpusim, swept, arguments, message):
    answer = gpusim("plot", swept, *arguments)
    assert answer.is_refusal
    assert answer.err.startswith(message)


def test_a_folder_without_a_sweep_is_refused(gpusim, tmp_path):
    answer = gpusim("plot", tmp_path, "sweep")
    assert answer.is_refusal
    assert "holds no sweep" in answer.err


def test_force_begins_a_sweep_anew_and_keeps_what_is_not_its_own(gpusim, tmp_path):
    def swept(stages, *more):
        over = ("--over", f"kernel.stages={stages}", "--set", "problem.k=128", "--jobs", "1", "--table", "csv")
        over = (*over, "--plot", "lines")
        return gpusim("sweep", "gemm_ragged", *over, "--out", str(tmp_path / "here"), *more)

    assert swept("3").code == 0
    (tmp_path / "here" / "notes.txt").write_text("mine")

    refused = swept("4")
    assert (refused.code, "or --force to replace it" in refused.err) == (2, True)
    drawn = (tmp_path / "here" / "lines.png").read_bytes()
    assert swept("4", "--force").code == 0

    assert (tmp_path / "here" / "lines.png").read_bytes() != drawn
    assert (tmp_path / "here" / "notes.txt").read_text() == "mine"
    header, row = (tmp_path / "here" / "points.csv").read_text().splitlines()
    assert header.startswith("kernel.stages,")
    assert row.startswith("4,")


def test_a_sweep_of_which_every_point_is_refused_is_exit_2(gpusim, tmp_path):
    answer = gpusim("sweep", "gemm_ragged", "--over", "kernel.stages=0,1", "--jobs", "1", "--out", tmp_path / "s")

    assert answer.code == 2
    assert "2 points, 2 refused" in answer.out
    assert answer.err.splitlines()[-1].startswith("gpusim: every point was refused, the first: ")
