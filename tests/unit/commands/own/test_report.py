"""``gpusim report`` of runs of kernels of one's own."""

from pathlib import Path

import pytest

pytestmark = pytest.mark.usefixtures("folder_of_kernels")


def test_a_report_shows_the_machine_code_of_runs(gpusim):
    gpusim("run", "transpose_tile.toml", "transpose_padded.toml", "--out", "runs")
    folders = sorted(str(path) for path in Path("runs").iterdir())

    answer = gpusim("report", *folders, "--out", "report.html")

    assert (answer.code, answer.out) == (0, "report.html\n")
    text = Path("report.html").read_text()
    assert "LDS" in text
    assert "transpose_tile · transpose_padded" in text or "transpose_padded · transpose_tile" in text
    assert gpusim("report", *folders, "--out", "report.html", "--force").code == 0


def test_runs_of_both_kinds_do_not_stand_on_one_page(gpusim, finished_run):
    gpusim("run", "transpose_tile.toml", "--out", "run")

    answer = gpusim("report", "run", str(finished_run), "--out", "report.html")

    assert answer.code == 2
    assert answer.err == (
        "gpusim: a report shows runs of kernels of your own, or of scenarios that gpusim schedules, got both\n"
    )
