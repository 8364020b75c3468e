"""``python -m gpusim.lab.bench [NAME...]``: measures gpusim's own speed, and writes it as JSON and markdown."""

import argparse
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from gpusim.errors import GpusimError
from gpusim.lab.bench.bench_page import bench_page
from gpusim.lab.bench.cases import all_scenario_cases, growth_cases, scenario_cases
from gpusim.lab.bench.commands import (
    LOOPS,
    OTHERS,
    measure_case,
    measure_loop,
    measure_other,
    measure_verify,
    say_on_stderr,
)
from gpusim.lab.bench.rows import BenchReport, load_bench, merged, other_host, write_bench
from gpusim.lab.host import Host, host_of_today
from gpusim.results.provenance import changed_files, clean, is_dirty

REPEATS = 5

PARTS = ("scenarios", "growth", "loops", "others", "verify")
"""Parts of the bench, each of which can be measured alone."""

FIGURES, PAGE = "bench.json", "bench.md"
"""Names of the files of a report."""


def measure_bench(host: Host, names: Sequence[str], parts: Sequence[str], repeats: int) -> Iterator[BenchReport]:
    """
    Measure, and yield the figures of each case, loop or command when it ends.

    Args:
        host: This host, with the commit.
        names: Scenarios; empty for all reported ones.
        parts: Parts, of ``PARTS``.
        repeats: Processes of each figure.

    Raises:
        CannotRun: A process failed.
        CheckFailed: A result has another mode or execution than requested.
    """
    with tempfile.TemporaryDirectory() as work:
        folder, say = Path(work), say_on_stderr
        named = [case for name in names for case in scenario_cases(name)]
        cases = [*(named or all_scenario_cases())] if "scenarios" in parts else []
        if "growth" in parts:
            cases += growth_cases(folder)
        for case in cases:
            yield BenchReport(host, runs=tuple(measure_case(case, repeats, folder, say)))
        for size, points in LOOPS.items() if "loops" in parts else ():
            yield BenchReport(host, loops=(measure_loop(size, points, repeats, say),))
        for name, command in OTHERS.items() if "others" in parts else ():
            yield BenchReport(host, others=(measure_other(name, command, repeats, folder, say),))
        if "verify" in parts:
            yield BenchReport(host, others=(measure_verify(repeats, folder, say),))


def without_own_changes(host: Host, folder: Path | None) -> Host:
    """Return a host whose commit counts as unchanged if only a folder's report differs from it."""
    if folder is None or not is_dirty(host.commit):
        return host
    own = {(folder / name).resolve() for name in (FIGURES, PAGE)}
    changed = set(changed_files())
    # Without git the changed files are not known.
    return replace(host, commit=clean(host.commit)) if changed and changed <= own else host


def kept_report(folder: Path | None, host: Host) -> BenchReport:
    """
    Return the report of a folder, to which new figures are added; an empty one if it is of another host.

    Args:
        folder: Folder of bench.json; None if no report is kept.
        host: This host, with the commit.

    Raises:
        BadInput: The report is of another schema.
    """
    if folder is None or not (folder / FIGURES).exists():
        return BenchReport(host)
    kept = load_bench(folder / FIGURES)
    differs = other_host(kept.host, host)
    why = f"another {', '.join(differs)}" if differs else "changes that are not committed"
    if differs or is_dirty(host.commit):
        say_on_stderr(f"{folder / FIGURES} is replaced, not added to: it was measured with {why}")
        return BenchReport(host)
    return kept


def write_report(report: BenchReport, folder: Path) -> None:
    """Write the figures and the page of a report."""
    write_bench(report, folder / FIGURES)
    (folder / PAGE).write_text(bench_page(report), encoding="utf-8")


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, and write bench.json and bench.md. Return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m gpusim.lab.bench", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="scenarios in place of those that are reported")
    parser.add_argument("--only", action="append", choices=PARTS, help="repeatable; default: everything")
    parser.add_argument(
        "--quick", action="store_true", help=f"one process each, not {REPEATS}; none that takes minutes"
    )
    parser.add_argument("--note", default="", help="a sentence that the report repeats")
    parser.add_argument(
        "--page", type=Path, metavar="FOLDER", help="measure nothing: write bench.md of its bench.json anew, and a note"
    )
    parser.add_argument(
        "--out",
        type=Path,
        help="folder of bench.json and bench.md, written after each figure; those of the same machine and commit are "
        "added to. Default: standard output",
    )
    arguments = parser.parse_args(argv)
    repeats = 1 if arguments.quick else REPEATS
    folder: Path | None = arguments.out
    try:
        if arguments.page:
            kept = load_bench(arguments.page / FIGURES)
            write_report(replace(kept, note=arguments.note or kept.note), arguments.page)
            return 0
        host = without_own_changes(host_of_today(), folder)
        report = kept_report(folder, host)
        report = replace(report, host=host, note=arguments.note or report.note)
        for found in measure_bench(host, arguments.names, arguments.only or PARTS, repeats):
            report = merged(report, found)
            if folder is not None:
                write_report(report, folder)
    except GpusimError as error:
        sys.stderr.write(f"error: {error}\n")
        return error.exit_code
    if folder is None:
        sys.stdout.write(bench_page(report))
    return 0


if __name__ == "__main__":
    sys.exit(main())
