"""Every picture is drawn, is a PNG of the stated size, and is the same bytes twice."""

import numpy as np
import pytest

from gpusim.layout.bank_map import describe_layout
from gpusim.machine.load import load_machine
from gpusim.report.bank_grid import BankPicture
from gpusim.report.captions import Words
from gpusim.report.conflicts import conflict_picture
from gpusim.report.layout_map import layout_map
from gpusim.report.overlap import overlap_chart
from gpusim.report.roofline import roofline
from gpusim.report.stalls import stall_chart

WORDS = Words("a problem", "its kernel")
LANE = np.arange(32)
ROW_MAJOR = BankPicture("ldmatrix, 64 fp16 a row", LANE % 16 * 128 + LANE // 16 * 16, 16)
SWIZZLED = BankPicture("ldmatrix, swizzled", LANE % 16 * 128 + ((LANE // 16) ^ (LANE % 8)) * 16, 16)
DRAWN = {
    "overlap": lambda run, path: overlap_chart(run.result, WORDS, run.timeline, path),
    "overlap-rows-only": lambda run, path: overlap_chart(run.result, WORDS, None, path),
    "conflicts": lambda run, path: conflict_picture(run.result, WORDS, [ROW_MAJOR, SWIZZLED], path),
    "stalls": lambda run, path: stall_chart(run.result, WORDS, path),
    "roofline": lambda run, path: roofline(run.result, WORDS, load_machine("h200"), path),
    "layout": lambda _, path: layout_map(
        describe_layout("crosswise", 16, 64, 64, 3, accesses=[("ldmatrix", "x4"), ("store", "16B")]), path
    ),
}


@pytest.mark.parametrize("draw", DRAWN.values(), ids=DRAWN.keys())
def test_a_picture_is_the_same_bytes_twice(run, png_size, tmp_path, draw):
    first, second = draw(run, tmp_path / "first.png"), draw(run, tmp_path / "second.png")

    width, height = png_size(first)
    assert width in (1200, 1680)
    assert 300 <= height <= 1500
    assert first.read_bytes() == second.read_bytes()
