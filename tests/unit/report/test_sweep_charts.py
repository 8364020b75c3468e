"""Charts of a sweep: which axis runs along, which points make a line, what a cell of the map holds."""

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.figure import Figure

from gpusim.errors import BadInput
from gpusim.report.sweep_charts import MOST_LINES, SweptAxis, sweep_lines, sweep_map

STAGES = SweptAxis("kernel.stages", ("kernel.stages",), ((2,), (3,), (4,)))
TILE = SweptAxis("tile", ("kernel.threadblock", "kernel.warp"), (("[128, 128, 32]", "w"), ("[64, 64, 32]", "w")))
ORDER = SweptAxis("order", ("order",), (("a",), ("b",)))


def point(stages, tile, order="a", **figures):
    keys = dict(zip(TILE.keys, TILE.values[tile], strict=True))
    return {"kernel.stages": stages, "order": order, **keys, **figures}


ROWS = [point(stages, tile, tflops=10.0 * stages + tile) for stages in (3, 4) for tile in (0, 1)]
ROWS += [point(2, tile, error="refused") for tile in (0, 1)]


def drawn(draw, axes, rows, metric="tflops"):
    with mpl.rc_context():
        return draw(axes, rows, metric, "Sweep", Figure())


def test_a_line_runs_along_the_axis_of_numbers_with_gaps_where_points_were_refused():
    (area,) = drawn(sweep_lines, [TILE, STAGES], ROWS).axes
    first, second = area.get_lines()

    assert area.get_xlabel() == "kernel.stages"
    assert first.get_xdata().tolist() == [2, 3, 4]
    np.testing.assert_array_equal(first.get_ydata(), [np.nan, 30.0, 40.0])
    np.testing.assert_array_equal(second.get_ydata(), [np.nan, 31.0, 41.0])
    assert [text.get_text() for text in area.get_legend().get_texts()] == ["128x128x32 w", "64x64x32 w"]


def test_an_axis_of_words_has_them_for_labels():
    rows = [point(3, 0, order=order, cycles=100) for order in "ab"]
    (area,) = drawn(sweep_lines, [ORDER], rows, "cycles").axes
    assert [label.get_text() for label in area.get_xticklabels()] == ["a", "b"]


def test_with_too_many_lines_one_is_the_best_over_the_other_axes():
    many = SweptAxis("n", ("n",), tuple((n,) for n in range(MOST_LINES)))
    numbers = SweptAxis("k", ("k",), tuple((k,) for k in range(20)))
    rows = [
        {"k": k, "order": order, "n": n, "cycles": 1000 + 10 * n + (order == "b")}
        for k in range(20)
        for order in "ab"
        for n in range(MOST_LINES)
    ]
    (area,) = drawn(sweep_lines, [ORDER, many, numbers], rows, "cycles").axes

    assert [line.get_ydata().tolist() for line in area.get_lines()] == [[1000] * 20, [1001] * 20]


def test_a_cell_of_the_map_is_the_best_and_an_empty_one_was_refused():
    rows = [*ROWS, point(3, 0, "b", tflops=99.0)]
    area, _ = drawn(sweep_map, [STAGES, TILE, ORDER], rows).axes
    (image,) = area.get_images()

    np.testing.assert_array_equal(image.get_array().filled(-1), [[-1, 99.0, 40.0], [-1, 31.0, 41.0]])
    assert {text.get_text() for text in area.texts} == {"99", "40", "31", "41"}


def test_fewer_cycles_are_better():
    rows = [point(3, 0, order, cycles=cycles) for order, cycles in (("a", 7), ("b", 5))] + [point(3, 1, cycles=9)]
    area, _ = drawn(sweep_map, [STAGES, TILE, ORDER], rows, "cycles").axes
    assert {text.get_text() for text in area.texts} == {"5", "9"}


@pytest.mark.parametrize(
    ("draw", "axes", "rows", "metric", "message"),
    [
        (sweep_map, [STAGES], ROWS, "tflops", r"^a heat map needs two axes, and the sweep has kernel\.stages alone"),
        (sweep_lines, [STAGES], ROWS, "joy", r"^--metric must be one of tflops, "),
        (sweep_lines, [STAGES], ROWS[4:], "tflops", r"^no point has tflops to draw: all 2 were refused$"),
    ],
)
def test_what_cannot_be_drawn_is_refused(draw, axes, rows, metric, message):
    with pytest.raises(BadInput, match=message):
        drawn(draw, axes, rows, metric)
