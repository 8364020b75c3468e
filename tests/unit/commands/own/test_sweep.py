"""``gpusim sweep`` of a kernel of one's own: its points, its table, and what it refuses."""

import csv
import json
from pathlib import Path

import pytest

from gpusim.commands.own.sweep import KERNEL_FIGURES, kernel_point

pytestmark = pytest.mark.usefixtures("folder_of_kernels")

AXES = ("--over", "block=[32,8],[32,4],[64,32]", "--jobs", "1", "--table", "csv")


def test_points_are_ranked_by_cycles_and_kept_in_a_table(gpusim):
    out = gpusim("sweep", "transpose_tile.toml", *AXES, "--out", "swept").out

    lines = out.splitlines()
    assert lines[0] == "swept/points.csv: 3 points, 1 refused"
    assert lines[3].split()[:3] == ["block", "cycles", "time_us"]
    cycles = [int(line.split("]")[1].split()[0].replace(",", "")) for line in lines[4:6]]
    assert cycles == sorted(cycles)
    assert lines[-1].startswith("the first refusal: a CTA has at most 1024 threads")
    rows = list(csv.DictReader(Path("swept/points.csv").read_text().splitlines()))
    assert list(rows[0]) == ["block", *KERNEL_FIGURES]
    assert [row["block"] for row in rows] == ["[32, 8]", "[32, 4]", "[64, 32]"]


def test_a_table_is_replaced_by_force_alone_and_only_if_gpusim_has_made_it(gpusim):
    sweep = (
        "sweep",
        "transpose_tile.toml",
        "--over",
        "machine.sms=1",
        "--jobs",
        "1",
        "--table",
        "csv",
        "--out",
        "swept",
    )
    assert gpusim(*sweep).code == 0

    assert gpusim(*sweep).err == "gpusim: swept/points.csv: is there already; --force replaces it\n"
    assert gpusim(*sweep, "--force").code == 0
    Path("swept/points.csv").write_text("mine")
    assert gpusim(*sweep, "--force").code == 2
    assert Path("swept/points.csv").read_text() == "mine"


def test_json_has_every_point_in_the_order_of_the_axes(gpusim):
    """The kernel takes every eighth row from each of its threads' rows: with 4 rows of threads it takes half of all."""
    found = json.loads(gpusim("sweep", "transpose_tile.toml", *AXES, "--json").out)

    assert found["points"] == 3
    assert [row.get("conflicts") for row in found["rows"]] == [3968, 1984, None]


def test_a_point_is_an_answer_with_settings():
    point = kernel_point("transpose_padded.toml", ("machine.sms=1",))

    assert point["conflicts"] == 0
    assert point["waves"] == 0.5
    assert kernel_point("transpose_padded.toml", ("machine=none",))["error"].startswith("machine must be")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--over", "grid=[2,2]", "--exact"), "--exact is not for a kernel of your own, which transpose_tile.toml is"),
        (("--over", "block=[64,32]"), "every point was refused, the first: a CTA has at most 1024 threads, block"),
        (("--over", "gird=[2,2]"), "gird is no key of a scenario, so its values must be tables of keys (--over)"),
    ],
)
def test_a_wrong_sweep_is_refused(gpusim, arguments, message):
    answer = gpusim("sweep", "transpose_tile.toml", *arguments, "--jobs", "1")

    assert answer.code == 2
    assert answer.err.splitlines()[-1].startswith(f"gpusim: {message}")
