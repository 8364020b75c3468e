"""``python -m gpusim.lab.bench``: the quick bench of one small scenario, from command to committed form."""

from dataclasses import replace
from pathlib import Path

import pytest
from doubles.bench import HOST, REPORT, RUN

from gpusim.errors import CannotRun
from gpusim.lab.bench import __main__ as bench
from gpusim.lab.bench.bench_page import bench_page
from gpusim.lab.bench.rows import BenchReport, load_bench, write_bench


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
    assert bench.main(["--page", str(tmp_path), "--note", "Beside other work."]) == 0
    assert "\nBeside other work.\n" in (tmp_path / "bench.md").read_text()


@pytest.fixture
def host(monkeypatch):
    """A machine whose tree has no changes."""
    here = replace(HOST, commit="0123456789abcdef")
    monkeypatch.setattr(bench, "host_of_today", lambda: here)
    return here


def finds(monkeypatch, *found, error=None):
    """Let a bench find some reports, one after the other, and then fail."""

    def measured(*_):
        yield from found
        if error is not None:
            raise error

    monkeypatch.setattr(bench, "measure_bench", measured)


def test_what_was_measured_before_a_failure_is_kept(tmp_path, monkeypatch, host):
    finds(monkeypatch, BenchReport(host, runs=(RUN,)), error=CannotRun("it was cut"))

    assert bench.main(["--out", str(tmp_path)]) == 1
    assert load_bench(tmp_path / "bench.json").runs == (RUN,)
    assert (tmp_path / "bench.md").read_text() == bench_page(load_bench(tmp_path / "bench.json"))


def test_a_part_is_added_to_a_report_of_the_same_machine_and_commit(tmp_path, monkeypatch, capsys, host):
    write_bench(replace(REPORT, host=host), tmp_path / "bench.json")
    other = replace(REPORT.others[0], name="import gpusim")
    finds(monkeypatch, BenchReport(host, others=(other,)))

    assert bench.main(["--out", str(tmp_path)]) == 0
    assert load_bench(tmp_path / "bench.json") == replace(REPORT, host=host, others=(*REPORT.others, other))
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("kept", "why"),
    [
        ({"cpu": "Another"}, "another cpu"),
        ({"commit": "fedcba-dirty"}, "another commit"),
        ({}, "changes that are not committed"),
    ],
)
def test_a_report_of_another_text_or_machine_is_replaced(tmp_path, monkeypatch, capsys, kept, why):
    """HOST has changes that are not committed."""
    monkeypatch.setattr(bench, "host_of_today", lambda: HOST)
    monkeypatch.setattr(bench, "changed_files", lambda: [Path("/tree/text.py")])
    write_bench(replace(REPORT, host=replace(HOST, **kept)), tmp_path / "bench.json")
    finds(monkeypatch, BenchReport(HOST, runs=(RUN,)))

    assert bench.main(["--out", str(tmp_path)]) == 0
    assert load_bench(tmp_path / "bench.json") == BenchReport(HOST, runs=(RUN,))
    said = f"{tmp_path / 'bench.json'} is replaced, not added to: it was measured with {why}\n"
    assert capsys.readouterr().err == said


def test_a_tree_in_which_the_report_alone_differs_is_that_of_its_commit(tmp_path, monkeypatch, host):
    dirty = replace(host, commit=f"{host.commit}-dirty")
    own = [(tmp_path / name).resolve() for name in ("bench.json", "bench.md")]
    monkeypatch.setattr(bench, "changed_files", lambda: own)

    assert bench.without_own_changes(dirty, tmp_path) == host
    assert bench.without_own_changes(dirty, tmp_path / "other") == dirty
    assert bench.without_own_changes(dirty, None) == dirty


def test_a_process_that_fails_ends_the_bench_in_one_line(capsys):
    assert bench.main(["no_such_scenario", "--only", "scenarios", "--quick"]) == 1
    said = capsys.readouterr().err

    assert said.startswith("error: python -m gpusim run no_such_scenario --exact ")
    assert said.count("\n") == 1
    assert "no such file, and no shipped scenario of that name" in said
