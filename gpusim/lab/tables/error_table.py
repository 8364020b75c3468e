"""``python -m gpusim.lab.tables.error_table``: compares simulated with measured cycles over all records."""

import argparse
import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

from gpusim.errors import GpusimError
from gpusim.families.registry import parse_scenario
from gpusim.lab.tables.markdown_page import put_page, table_row
from gpusim.records.check import active_cycles
from gpusim.records.check_table import number, percent
from gpusim.records.halves import shown_records
from gpusim.records.pipeline import steady_k_tile
from gpusim.records.record import Record, load_record, measured_folder
from gpusim.results.result import Result, StreamOrigin
from gpusim.scenario.models import Scenario
from gpusim.verbs.simulate import simulate

STREAM_ORIGINS: tuple[str, ...] = get_args(StreamOrigin)
COMPARED_FIGURES = ("elapsed", "active", "k tile", "instructions")


@dataclass(frozen=True, slots=True)
class ErrorRow:
    """
    The measured and simulated figures of one record. Unknown figures are absent.

    Attributes:
        name: Name of the scenario.
        measured: Cycles (or warp instructions) by figure (``FIGURES``).
        simulated: The same figures from simulation, by stream origin (``ORIGINS``).
    """

    name: str
    measured: Mapping[str, float]
    simulated: Mapping[str, Mapping[str, float]]

    def error(self, origin: str, figure: str) -> float | None:
        """Return (simulated - measured) / measured, or None if either is missing."""
        simulated, measured = self.simulated.get(origin, {}).get(figure), self.measured.get(figure)
        return (simulated - measured) / measured if simulated is not None and measured else None


def error_row(record: Record, results: Mapping[str, Result]) -> ErrorRow:
    """Return the figures of a record and of its simulated results, which are given by stream origin."""
    ctas = next(iter(results.values())).ctas
    measured = {
        "elapsed": record.counters.get("sm__cycles_elapsed.max"),
        "active": active_cycles(record.counters, ctas, int(record.environment["sms"])),
        "k tile": steady_k_tile(record.pipeline.rows) if record.pipeline is not None else None,
        "instructions": record.counters.get("smsp__inst_executed.sum"),
    }
    return ErrorRow(
        name=record.name,
        measured=_known(measured),
        simulated={
            origin: _known(
                {
                    "elapsed": result.cycles.elapsed,
                    "active": result.cycles.active,
                    "k tile": steady_k_tile(result.pipeline),
                    "instructions": result.counters["smsp__inst_executed.sum"],
                }
            )
            for origin, result in results.items()
        },
    )


def error_table(rows: Sequence[ErrorRow], title: str) -> str:
    """Return the table as markdown: a summary of the errors first, then every record."""
    lines = [f"# {title}", "", *_preamble(), "", *_summary(rows), ""]
    heads = ["scenario"]
    for figure in COMPARED_FIGURES[:3]:
        heads += [figure, *(f"{origin}" for origin in STREAM_ORIGINS)]
    lines += [table_row(*heads), "|---" + "|---:" * (len(heads) - 1) + "|"]
    for row in sorted(rows, key=lambda row: row.name):
        cells = [row.name]
        for figure in COMPARED_FIGURES[:3]:
            cells.append(number(row.measured.get(figure)))
            cells += [percent(row.error(origin, figure)) or "-" for origin in STREAM_ORIGINS]
        lines.append(table_row(*cells))
    return "\n".join(lines) + "\n"


def _preamble() -> Iterator[str]:
    yield (
        "Measured cycles, and the error of the simulation in percent of them, for the estimated and the compiled"
        " instruction stream. *elapsed* is ncu's `sm__cycles_elapsed.max` of a cold launch, the median of several,"
        " *active* the mean active span of the SMs that had work, *k tile* the median distance between the first"
        " MMAs of neighbouring k tiles"
        " of warp 0 of CTA 0, which is measured by the stamped kernel and so is longer than the plain kernel's."
    )


def _summary(rows: Sequence[ErrorRow]) -> Iterator[str]:
    yield "| | stream | records | simulated / measured, geometric mean | mean of abs. error | worst |"
    yield "|---|---|---:|---:|---:|---|"
    for figure in COMPARED_FIGURES:
        for origin in STREAM_ORIGINS:
            errors = {row.name: error for row in rows if (error := row.error(origin, figure)) is not None}
            if errors:
                factor = math.exp(sum(math.log(1 + error) for error in errors.values()) / len(errors))
                mean = sum(map(abs, errors.values())) / len(errors)
                worst = max(errors, key=lambda name: abs(errors[name]))
                yield (
                    f"| {figure} | {origin} | {len(errors)} | {factor:.3f} | {100 * mean:.1f} % "
                    f"| {worst} {percent(errors[worst])} |"
                )


def _known(figures: Mapping[str, float | None]) -> dict[str, float]:
    return {name: value for name, value in figures.items() if value is not None}


def _results(scenario: Scenario) -> dict[str, Result]:
    results = {}
    for origin in STREAM_ORIGINS:
        try:
            results[origin], _ = simulate(scenario, stream=origin)
        except GpusimError as error:
            sys.stderr.write(f"no {origin} stream: {error}\n")
    return results


def main(argv: Sequence[str] | None = None) -> int:
    """Simulate the scenario of every record, and write the table. Return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m gpusim.lab.tables.error_table", description=__doc__)
    parser.add_argument("gpu", nargs="?", default="h200", help="folder of reports/measured")
    parser.add_argument("--out", type=Path, help="default: standard output")
    arguments = parser.parse_args(argv)
    folder, rows = measured_folder() / arguments.gpu, []
    try:
        for path in shown_records(folder):
            record = load_record(path)
            scenario = parse_scenario(record.scenario, str(path))
            if results := _results(scenario):  # empty if the mma.sync is emulated (D27)
                rows.append(error_row(record, results))
            sys.stderr.write(f"{record.name}\n")
    except GpusimError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_code
    if not rows:
        sys.stderr.write(f"no records in {folder}\n")
        return 1
    text = error_table(rows, f"Simulated against measured cycles, {arguments.gpu}")
    put_page(text, arguments.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
