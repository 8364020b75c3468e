"""Rows of a microbenchmark, written and read back; the span of all its warps."""

import numpy as np

from gpusim.lab.calibrate.runner import elapsed, read_rows, write_rows


def test_rows_come_back_as_they_were_written(tmp_path):
    rows = [{"what": "a, b", "cycles": 3}, {"what": "c", "interval": 6.25}]
    write_rows(tmp_path / "x.csv", rows, {"GPU": "NVIDIA H200", "date": "2026-01-01"})

    assert (tmp_path / "x.csv").read_text().splitlines()[:2] == ["# GPU: NVIDIA H200", "# date: 2026-01-01"]
    assert read_rows(tmp_path / "x.csv") == [
        {"what": "a, b", "cycles": "3", "interval": ""},
        {"what": "c", "cycles": "", "interval": "6.25"},
    ]


def test_elapsed_spans_all_warps():
    assert elapsed(np.array([[5, 20], [3, 18]])) == 17
