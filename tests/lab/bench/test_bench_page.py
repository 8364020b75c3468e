"""The page of a report on speed, and that the committed page is that of the committed figures."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
from doubles.bench import REPORT, RUN

from gpusim.lab.bench.bars import bars
from gpusim.lab.bench.bench_page import RUN_COLUMNS, bench_page
from gpusim.lab.bench.cases import BY_CTAS, BY_K, BY_SMS, SCENARIOS
from gpusim.lab.bench.peers import PEERS
from gpusim.lab.bench.rows import load_bench

REPORTS = Path(__file__).parents[3] / "reports"


def cells(page, first):
    """The cells of the line that begins with a cell."""
    (line,) = re.findall(rf"^\| {re.escape(first)} \|.*\|$", page, re.MULTILINE)
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_a_run_fills_every_column():
    page = bench_page(replace(REPORT, runs=(RUN,)))

    assert cells(page, "run") == list(RUN_COLUMNS)
    assert cells(page, "gemm_4096") == [
        *("gemm_4096", "exact", "compiled", "5", "4.50", "150", "0.001", "3.000", "0.00", "1.5", "2,000,000"),
        "compiled",
    ]


@pytest.mark.parametrize(
    ("what", "measured", "met"),
    [
        ("gemm_4096, exact, user s", "4.50", "met"),
        ("`gpusim verify gemm_4096`, all CTAs, MB", "600", "**not met**"),
        ("conv_s6_crosswise, exact, user s", "-", "not measured"),
    ],
)
def test_a_bar_says_what_was_measured_and_whether_it_is_met(what, measured, met):
    assert cells(bench_page(REPORT), what)[2:] == [measured, met]


def test_the_page_names_machine_commit_and_day():
    page = bench_page(REPORT)

    assert "Measured on 2026-01-31 at commit `0123456789ab` with changes:\nA CPU, 2 cores, Linux x86_64," in page
    assert "compiler: none.\n\n" in page


def test_a_note_stands_with_them():
    assert "compiler: none.\nThe CPU was hot.\n\n" in bench_page(replace(REPORT, note="The CPU was hot."))


def test_every_peer_stands_beside_it_with_its_source():
    page = bench_page(REPORT)

    assert all(f"| {peer.name} | {peer.speed} | {peer.error} | {peer.source} |" in page for peer in PEERS)
    assert all(re.search(r"arXiv|ISCA|MICRO", peer.source) for peer in PEERS)


# --- what is committed ---


@pytest.mark.reports
def test_the_committed_page_is_that_of_the_committed_figures():
    assert (REPORTS / "bench.md").read_text() == bench_page(load_bench(REPORTS / "bench.json"))


@pytest.mark.reports
def test_the_committed_report_measures_every_bar_or_says_that_it_is_in_part():
    report = load_bench(REPORTS / "bench.json")
    missing = [bar.what for bar in bars(report) if bar.met is None]
    tables = {row.table for row in report.runs}

    assert tables
    assert "in part" in report.note or (missing, tables) == ([], {SCENARIOS, BY_K, BY_CTAS, BY_SMS})


def test_the_committed_report_says_what_it_was_measured_on():
    host = load_bench(REPORTS / "bench.json").host

    assert host.cpu
    assert host.cores >= 1
    assert host.compiler
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", host.date)
    assert re.fullmatch(r"[0-9a-f]{40}(-dirty)?", host.commit)
    assert all(re.match(r"\d+\.\d+", version) for version in (host.python, host.numpy, host.cython))
