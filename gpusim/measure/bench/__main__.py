"""``python -m gpusim.measure.bench [NAME...]``: measures gpusim's own speed, and writes it as JSON and markdown."""

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from gpusim.errors import GpusimError
from gpusim.measure.bench.cases import all_scenario_cases, growth_cases, scenario_cases
from gpusim.measure.bench.commands import (
    LOOPS,
    OTHERS,
    measure_case,
    measure_loop,
    measure_other,
    measure_verify,
    say_on_stderr,
)
from gpusim.measure.bench.page import bench_page
from gpusim.measure.bench.rows import BenchReport, load_bench, write_bench
from gpusim.measure.host import host_of_today

REPEATS = 5

PARTS = ("scenarios", "growth", "loops", "others", "verify")
"""What can be measured on its own."""


def measure_bench(names: Sequence[str], parts: Sequence[str], repeats: int, note: str = "") -> BenchReport:
    """
    Measure.

    Args:
        names: Scenarios; none stands for those that are reported.
        parts: Of ``PARTS``.
        repeats: Processes of each figure.
        note: What else is to be known of the measurement.

    Raises:
        CannotRun: A process failed.
        CheckFailed: A result is not of the mode or the execution that was asked for.
    """
    with tempfile.TemporaryDirectory() as work:
        folder, say = Path(work), say_on_stderr
        named = [case for name in names for case in scenario_cases(name)]
        cases = [*(named or all_scenario_cases())] if "scenarios" in parts else []
        if "growth" in parts:
            cases += growth_cases(folder)
        runs = [row for case in cases for row in measure_case(case, repeats, folder, say)]
        loops = [measure_loop(size, points, repeats, say) for size, points in LOOPS.items() if "loops" in parts]
        others = [
            measure_other(name, command, repeats, folder, say) for name, command in OTHERS.items() if "others" in parts
        ]
        if "verify" in parts:
            others.append(measure_verify(repeats, folder, say))
    return BenchReport(host_of_today(), tuple(runs), tuple(others), tuple(loops), note)


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, and write bench.json and bench.md. Return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m gpusim.measure.bench", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="scenarios in place of those that are reported")
    parser.add_argument("--only", action="append", choices=PARTS, help="repeatable; default: everything")
    parser.add_argument(
        "--quick", action="store_true", help=f"one process each, not {REPEATS}; none that takes minutes"
    )
    parser.add_argument("--note", default="", help="a sentence that the report repeats")
    parser.add_argument(
        "--page", type=Path, metavar="FOLDER", help="measure nothing: write bench.md of its bench.json anew"
    )
    parser.add_argument("--out", type=Path, help="folder of bench.json and bench.md; default: standard output")
    arguments = parser.parse_args(argv)
    repeats = 1 if arguments.quick else REPEATS
    folder: Path | None = arguments.page or arguments.out
    try:
        if arguments.page:
            report = load_bench(arguments.page / "bench.json")
        else:
            report = measure_bench(arguments.names, arguments.only or PARTS, repeats, arguments.note)
    except GpusimError as error:
        sys.stderr.write(f"error: {error}\n")
        return error.exit_code
    page = bench_page(report)
    if folder is None:
        sys.stdout.write(page)
        return 0
    write_bench(report, folder / "bench.json")
    (folder / "bench.md").write_text(page, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
