"""The page of stamped kernels: its errors are those of its rows, and its measured figures those that were committed."""

import re

import pytest

from gpusim.errors import CannotRun
from gpusim.lab.stamps import __main__ as room
from gpusim.lab.stamps.__main__ import StampedKernel, measured_launches, page
from gpusim.lab.stamps.phases import PHASES, TIMES
from gpusim.records.halves import load_halves
from gpusim.records.record import measured_folder, reports_folder


def times(*cycles):
    return dict(zip(TIMES, cycles, strict=True))


MEASURED = times(100, 150, 200, 240, 640, 900, 910, 1000)
"""A prologue of 200 cycles, a main loop of 440, a drain of 260."""


def test_errors_are_of_the_median_launch():
    """Prologues of 180, 200 and 260: simulated 220, 10 % more than 200. They differ from it by 0, 20 and 60 cycles."""
    launches = [MEASURED | {"wait_end": end} for end in (180, 200, 260)]
    one = StampedKernel("a", launches, MEASURED | {"wait_end": 220})

    assert one.error("prologue") == pytest.approx(0.1)
    assert one.error("mainloop") == pytest.approx(420 / 440 - 1)
    assert one.error("whole") == 0
    assert one.swing("prologue") == pytest.approx((0 + 20 + 60) / 3 / 200)


def test_a_page_sums_up_what_is_simulated_and_says_why_the_rest_is_not():
    """One is 10 % too slow in the prologue, one 20 % too fast; between wait and barrier by +20 and -40 cycles."""
    kernels = [
        StampedKernel("slow", [MEASURED], MEASURED | {"wait_end": 220}),
        StampedKernel("fast", [MEASURED], MEASURED | {"wait_end": 160}),
        StampedKernel("none", [MEASURED], {}, "problem.dtype.ab must be another"),
    ]
    text = page(kernels)

    assert "| prologue | 2 | 15.0 % | 15.0 % | 19.0 % | -20.0 % fast | -5.0 % |" in text
    assert "| wait_begin | wait_end | 50 | -10 | 30 |" in text
    assert "| slow | 200 | +10.0 % | 440 | -4.5 % | 260 | +0.0 % |" in text
    assert "| none |  |  |  |  |  | problem.dtype.ab must be another |" in text


def test_the_committed_page_has_what_was_measured_and_no_held_out_kernel():
    text = (reports_folder() / "validation" / "stamps.md").read_text(encoding="utf-8")
    launches = measured_launches(measured_folder() / "h200")
    rows = {cells[0]: cells[1:] for line in text.splitlines() if (cells := re.findall(r"[^|\s][^|]*?(?= \|)", line))}

    assert all(len(one) == 5 for one in launches.values())
    halves = load_halves()
    assert all(halves.half(name) == "development" for name in launches)
    for name, own in launches.items():
        if len(rows[name]) > 1:
            assert rows[name][0::2] == [f"{StampedKernel(name, own, {}).took(phase):,.0f}" for phase in PHASES]
    assert sum(len(rows[name]) > 1 for name in launches) == 103


def test_where_nothing_can_be_simulated_it_is_said(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(room, "measured_launches", lambda _: {"a": [MEASURED]})
    monkeypatch.setattr(room, "stamped_kernels", lambda _: [StampedKernel("a", [MEASURED], {}, "no compiler")])

    assert room.main(["--out", str(tmp_path / "page.md")]) == CannotRun.exit_code
    assert capsys.readouterr().err == "h200: no stamped kernel can be simulated: no compiler\n"
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name,launch\na,0\n", "row 0 must have name, copy_issue, "),
        (f"name,{','.join(TIMES)}\na{',1' * len(TIMES)}\nb{',?' * len(TIMES)}\n", "row 1 must have "),
        (f"name,{','.join(TIMES)}\n", "there must be rows, got none"),
    ],
)
def test_stamps_that_cannot_be_read_are_named_with_their_row(text, message, tmp_path):
    (tmp_path / "stamps.csv").write_text(text)

    with pytest.raises(CannotRun, match=message):
        measured_launches(tmp_path)
