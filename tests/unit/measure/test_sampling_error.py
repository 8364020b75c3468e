"""Sampled launches beside exact ones: the committed list, and a few cheap problems of it."""

from pathlib import Path

from doubles import published

from gpusim.families.registry import parse_scenario
from gpusim.measure.sampling_error import PROBLEMS, main, sampling_error

PUBLISHED = str(Path(published.__file__).parent / "h200_published.toml")


def gemm(m, n, k):
    """A GEMM on the published H200, whose misses all take one time: of unequal ones a sample draws others (D14)."""
    tile = {"threadblock": [128, 128, 64], "warp": [64, 64, 64], "stages": 3}
    return parse_scenario(
        {"machine": PUBLISHED, "problem": {"kind": "gemm", "m": m, "n": n, "k": k}, "kernel": tile}, "test"
    )


def test_thirty_problems_are_compared():
    assert len(PROBLEMS) == 30
    assert {"attention, causal", "flash, causal", "deep K", "skinny", "split-K"} <= PROBLEMS.keys()


def test_a_quarter_of_a_wave_is_sampled_within_half_a_percent():
    row = sampling_error("a quarter of a wave", gemm(1024, 1024, 512), swings=(1,))

    assert row.sampled.ctas < row.ctas == row.exact.ctas
    assert abs(row.elapsed) <= 0.005
    assert abs(row.active) <= 0.005
    assert 0 <= row.swing < 0.02


def test_the_table_names_each_problem(tmp_path, monkeypatch):
    monkeypatch.setattr("gpusim.measure.sampling_error.PROBLEMS", {"small": "conv_s6_crosswise"})

    assert main(["--out", str(tmp_path / "table.md")]) == 0
    assert "| small | 0.12 | 32 | " in (tmp_path / "table.md").read_text()


def test_an_unknown_problem_is_refused(capsys):
    assert main(["nothing"]) == 1
    assert "nothing" in capsys.readouterr().err
