"""The overlap chart: measured rows, long mainloops, and a run that has none."""

from dataclasses import replace

import pytest

from gpusim.errors import CannotRun
from gpusim.report.captions import Words
from gpusim.report.overlap import overlap_chart

WORDS = Words("a problem", "its kernel")


def test_measured_rows_are_drawn_above_the_simulated_ones(run, png_size, tmp_path):
    measured = [replace(row, copy_done=None) for row in run.result.pipeline]

    alone = overlap_chart(run.result, WORDS, run.timeline, tmp_path / "alone.png")
    both = overlap_chart(run.result, WORDS, run.timeline, tmp_path / "both.png", measured=measured)

    assert png_size(both)[1] > 1.5 * png_size(alone)[1]


def test_a_long_mainloop_keeps_the_size_of_a_short_one(run, make_run, png_size, tmp_path):
    long = make_run(64)

    assert png_size(overlap_chart(long.result, WORDS, long.timeline, tmp_path / "long.png")) == png_size(
        overlap_chart(run.result, WORDS, run.timeline, tmp_path / "short.png")
    )


def test_an_overlap_chart_without_pipeline_rows_is_refused(run, tmp_path):
    with pytest.raises(CannotRun, match=r"^the overlap chart needs pipeline rows, and the result has none$"):
        overlap_chart(replace(run.result, pipeline=()), WORDS, None, tmp_path / "none.png")
