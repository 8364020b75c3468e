"""``python -m gpusim.measure.bench``: the quick bench of one small scenario, from command to committed form."""

import pytest
from doubles.bench import REPORT

from gpusim.measure.bench import __main__ as bench
from gpusim.measure.bench.page import bench_page
from gpusim.measure.bench.rows import load_bench, write_bench


@pytest.mark.compiled
def test_a_quick_bench_of_a_small_scenario_yields_all_columns(tmp_path):
    """conv_9_k_tiles, 16,180 warp instructions, exact and sampled, compiled and interpreted: one process each."""
    assert bench.main(["conv_9_k_tiles", "--only", "scenarios", "--quick", "--out", str(tmp_path)]) == 0
    report = load_bench(tmp_path / "bench.json")

    assert [(row.mode, row.engine) for row in report.runs] == [
        (mode, engine) for mode in ("exact", "sampled") for engine in ("compiled", "interpreted")
    ]
    for row in report.runs:
        assert (row.name, row.runs, row.instructions) == ("conv_9_k_tiles", 1, 16_180)
        assert row.rate == row.instructions / row.seconds
        assert row.slowdown == row.seconds / (row.gpu_us * 1e-6)
        assert row.user_s > row.seconds / 2
        assert row.peak_mb > 20
        assert row.stream == "compiled"
    assert (report.others, report.loops) == ((), ())
    assert (tmp_path / "bench.md").read_text() == bench_page(report)


def test_a_page_is_written_anew_from_its_figures(tmp_path):
    write_bench(REPORT, tmp_path / "bench.json")
    assert bench.main(["--page", str(tmp_path)]) == 0

    assert (tmp_path / "bench.md").read_text() == bench_page(REPORT)
    assert load_bench(tmp_path / "bench.json") == REPORT


def test_a_process_that_fails_ends_the_bench_in_one_line(capsys):
    assert bench.main(["no_such_scenario", "--only", "scenarios", "--quick"]) == 1
    said = capsys.readouterr().err

    assert said.startswith("error: python -m gpusim run no_such_scenario --exact ")
    assert said.count("\n") == 1
    assert "no such file, and no shipped scenario of that name" in said
