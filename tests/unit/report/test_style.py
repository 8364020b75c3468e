"""Every picture is drawn, is a PNG of the stated size, and is the same bytes twice."""

from itertools import combinations

import matplotlib as mpl
import numpy as np
import pytest
from doubles.eyes import EYES, contrast_of, deuteranopia, greyscale, structure
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from gpusim.layout.bank_map import describe_layout
from gpusim.machine.load import load_machine
from gpusim.report.bank_grid import BankPicture
from gpusim.report.captions import Words
from gpusim.report.comparison import RUN_HATCHES
from gpusim.report.conflicts import conflict_picture
from gpusim.report.layout_map import BANK_COLOURS, layout_map
from gpusim.report.overlap import overlap_chart
from gpusim.report.roofline import LEVEL_STYLES, roofline
from gpusim.report.stalls import STALL_LOOKS, stall_chart
from gpusim.report.style import (
    CONFLICT,
    HATCH,
    IDEAL,
    INK,
    LINE_SIZE,
    MUTED,
    PAPER,
    TILE_COLOURS,
    TITLE_SIZE,
    WAIT,
    contrast,
    save,
    sheet,
    text_on,
    tint,
    title_block,
    wrapped,
)
from gpusim.report.style import LANE as LANE_COLOUR

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


@pytest.mark.parametrize("drawn_by", ["gpusim", "the caller"])
def test_text_is_literal_and_printable_wherever_it_stands(tmp_path, drawn_by):
    """As title, as label of a tick, in a legend: a formula that is none would stop matplotlib."""
    name, path = "$\\bad{$ \x1b[31m\udcff", tmp_path / "drawn.svg"
    canvas = path if drawn_by == "gpusim" else Figure()
    with sheet(canvas, 4, 3) as figure:
        axes = figure.add_axes((0.4, 0.2, 0.5, 0.5))
        axes.plot([0, 1], label=f"legend {name}")
        axes.set_yticks([0, 1], [f"tick {name}", "other"])
        axes.legend()
        title_block(figure, f"title {name}", [], "")
    if drawn_by == "the caller":
        save(canvas, path)

    written = path.read_text(encoding="utf-8")
    for place in ("legend", "tick", "title"):
        assert f"<!-- {place} $\\bad{{$ \\x1b[31m\\xff -->" in written


@pytest.mark.parametrize("colour", [CONFLICT, IDEAL, *TILE_COLOURS, PAPER])
def test_text_has_a_contrast_of_4_5_to_1(colour):
    assert contrast(text_on(colour), colour) >= 4.5


def test_text_on_the_bank_map_and_beside_it_is_legible():
    assert min(contrast(INK, tint(colour, 0.45)) for colour in BANK_COLOURS) >= 4.5
    assert contrast(MUTED, PAPER) >= 4.5


def swatch(colour, hatch, edge):
    """A patch as pictures have it, in pixels."""
    figure = Figure(figsize=(0.6, 0.6), dpi=120)
    FigureCanvasAgg(figure)
    with mpl.rc_context({"hatch.linewidth": 0.8}):
        figure.add_artist(Rectangle((-0.1, -0.1), 1.2, 1.2, facecolor=colour, hatch=hatch, edgecolor=edge))
        figure.canvas.draw()
    return np.asarray(figure.canvas.buffer_rgba())[..., :3] / 255


LOOKS = {
    "stalls": [(look.colour, look.hatch, PAPER) for look in STALL_LOOKS.values()],
    "conflicts": [(IDEAL, "", PAPER), (CONFLICT, HATCH, PAPER)],
    "overlap": [(TILE_COLOURS[0], "", PAPER), (tint(TILE_COLOURS[0], 0.28), HATCH, TILE_COLOURS[0])],
    "overlap, used": [(TILE_COLOURS[1], "", PAPER), (tint(TILE_COLOURS[1], 0.28), "", PAPER)],
    "overlap, waits": [(WAIT, "", PAPER), (LANE_COLOUR, "", PAPER)],
    "comparison": [(colour, hatch, PAPER) for colour, hatch in zip(TILE_COLOURS, RUN_HATCHES, strict=True)],
}
PAIRS = [(name, *pair) for name, looks in LOOKS.items() for pair in combinations(looks, 2)]


@pytest.mark.parametrize("eye", EYES.values(), ids=EYES.keys())
@pytest.mark.parametrize(("_picture", "one", "other"), PAIRS)
def test_what_a_picture_tells_apart_is_told_apart_without_colour(_picture, one, other, eye):
    """By luminance (1.25:1), or by hatches."""
    seen = [eye(swatch(*look)) for look in (one, other)]
    hatches = np.abs(structure(seen[0]) - structure(seen[1])).max()

    assert contrast_of(*seen) >= 1.25 or hatches >= 0.02


def test_the_eyes_see_what_they_should():
    red_and_green = np.array([[[0.8, 0.2, 0.1]], [[0.4, 0.42, 0.05]]])
    seen = deuteranopia(red_and_green)

    assert np.ptp(greyscale(red_and_green), axis=-1).max() == 0
    assert np.abs(seen[0] - seen[1]).max() < 0.5 * np.abs(red_and_green[0] - red_and_green[1]).max()
    assert structure(np.ones((4, 4, 3))).max() == 0


def test_memories_of_the_roofline_differ_in_line_and_marker():
    assert len({str(line) for _, line, _ in LEVEL_STYLES}) == len({mark for *_, mark in LEVEL_STYLES}) == 3


def test_contrast_is_that_of_the_guideline():
    assert (contrast("#000000", "#ffffff"), contrast("#777777", "#777777")) == (21, 1)
    assert contrast("#ffffff", "#767676") == pytest.approx(4.54, abs=0.01)


TITLES = ("Short", "The limit is the tensor core, busy for 91 % of the time", "A title that goes on and on " * 12)


def drawn(draw, run, title):
    """A picture of a run whose words are as long as a title, drawn into a figure."""
    figure = Figure(dpi=72)
    FigureCanvasAgg(figure)
    words = Words(f"a problem, {title}", f"its kernel, {title}", name="run", verdict=title)
    draw(run, words, figure)
    figure.canvas.draw()
    return figure


OF_RUNS = {
    "overlap": lambda run, words, figure: overlap_chart(run.result, words, run.timeline, figure),
    "stalls": lambda run, words, figure: stall_chart(run.result, words, figure),
    "conflicts": lambda run, words, figure: conflict_picture(run.result, words, [ROW_MAJOR, SWIZZLED], figure),
    "roofline": lambda run, words, figure: roofline(run.result, words, load_machine("h200"), figure),
}


@pytest.mark.parametrize("draw", OF_RUNS.values(), ids=OF_RUNS.keys())
def test_titles_are_of_one_size_and_so_are_the_lines_below(run, draw):
    for title in TITLES:
        texts = drawn(draw, run, title).texts

        assert {text.get_fontsize() for text in texts if text.get_text().startswith("run: ")} == {TITLE_SIZE}
        assert {text.get_fontsize() for text in texts if "problem" in text.get_text()} == {LINE_SIZE}


@pytest.mark.parametrize("draw", OF_RUNS.values(), ids=OF_RUNS.keys())
def test_a_long_title_makes_room_for_itself(run, draw):
    """All of it is in the picture, none of it lies on what is below, and that keeps its size."""
    short, long = (drawn(draw, run, title) for title in (TITLES[0], TITLES[-1]))

    assert long.get_size_inches()[1] > short.get_size_inches()[1]
    for one, other in zip(short.axes, long.axes, strict=True):
        assert one.get_window_extent().size == pytest.approx(other.get_window_extent().size, abs=0.01)
        assert one.get_window_extent().y0 == pytest.approx(other.get_window_extent().y0, abs=0.01)
    written = [text.get_window_extent() for text in long.texts]
    for box in written:
        assert long.bbox.y0 <= box.y0
        assert box.y1 <= long.bbox.y1
        assert box.x1 <= long.bbox.x1
    for one, other in combinations([*written, *(axes.get_window_extent() for axes in long.axes)], 2):
        assert not one.overlaps(other)


def test_no_word_is_lost_where_a_title_goes_on_in_another_line():
    lines = wrapped(TITLES[-1], TITLE_SIZE, 14.0)

    assert " ".join(lines) == TITLES[-1].strip()
    assert len(lines) > 1
    assert wrapped("", TITLE_SIZE, 14.0) == [""]
