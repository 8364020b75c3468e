"""Every picture is drawn, is a PNG of the stated size, and is the same bytes twice."""

import numpy as np
import pytest

from gpusim.layout.bank_map import describe_layout
from gpusim.machine.load import load_machine
from gpusim.report.bank_grid import BankPicture
from gpusim.report.captions import Words
from gpusim.report.conflicts import conflict_picture
from gpusim.report.layout_map import BANK_COLOURS, layout_map
from gpusim.report.overlap import overlap_chart
from gpusim.report.roofline import roofline
from gpusim.report.stalls import stall_chart
from gpusim.report.style import CONFLICT, IDEAL, INK, MUTED, PAPER, TILE_COLOURS, contrast, text_on, tint

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


@pytest.mark.parametrize("suffix", [".png", ".svg", ".pdf"])
def test_the_suffix_says_the_format_and_no_date_is_in_it(tmp_path, suffix):
    report = describe_layout("crosswise", 16, 64, 64, accesses=[("ldmatrix", "x4")])
    first, second = (layout_map(report, tmp_path / f"{name}{suffix}").read_bytes() for name in ("one", "other"))

    assert first == second
    assert first.startswith({".png": b"\x89PNG", ".svg": b"<?xml", ".pdf": b"%PDF"}[suffix])


@pytest.mark.parametrize("colour", [CONFLICT, IDEAL, *TILE_COLOURS, PAPER])
def test_text_has_a_contrast_of_4_5_to_1(colour):
    assert contrast(text_on(colour), colour) >= 4.5


def test_text_on_the_bank_map_and_beside_it_is_legible():
    assert min(contrast(INK, tint(colour, 0.45)) for colour in BANK_COLOURS) >= 4.5
    assert contrast(MUTED, PAPER) >= 4.5


def test_contrast_is_that_of_the_guideline():
    assert (contrast("#000000", "#ffffff"), contrast("#777777", "#777777")) == (21, 1)
    assert contrast("#ffffff", "#767676") == pytest.approx(4.54, abs=0.01)
