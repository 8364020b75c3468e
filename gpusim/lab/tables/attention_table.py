"""``python -m gpusim.lab.tables.attention_table``: compares attention with CUTLASS, PyTorch and its simulation."""

import argparse
import json
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from gpusim.errors import CannotRun, exit_code_of
from gpusim.families.attention.family import ATTENTION
from gpusim.families.registry import parse_scenario
from gpusim.lab.tables.markdown_page import put_page, table_row
from gpusim.records.check_table import number, percent
from gpusim.records.halves import shown_records
from gpusim.records.record import Record, load_record, measured_folder
from gpusim.results.result import ELAPSED
from gpusim.scenario.models import Scenario
from gpusim.verbs.simulate import simulate

BENCH = Path("attention") / "bench.json"
"""Output of ``tests/hardware/bench_attention.py`` with its origin, in the folder of a GPU's records."""

DEFAULT_TILE = "128x64 w32, 2 CTAs"
"""Configuration of ``flash`` in the bench's rows to use: the tile and the resident CTAs of the scenarios."""

COMPARED_CTAS_PER_SM = 4
"""CTAs per SM of ``attention`` in the bench's rows to use, as in CUTLASS's kernel."""

COMPARED_KINDS = tuple(kind.name for kind in ATTENTION.kinds)
"""Problem kinds of the records that are compared."""


@dataclass(frozen=True, slots=True)
class Gain:
    """
    The gain of mainloop ``flash`` over mainloop ``attention`` for one problem.

    Attributes:
        name: Name of the problem: the record's name without its mainloop.
        measured: Elapsed cycles of ``attention`` divided by those of ``flash``, medians of several cold launches.
        simulated: The same ratio from simulated cycles.
        errors: (simulated - measured) / measured of the elapsed cycles, for ``attention`` and for ``flash``.
    """

    name: str
    measured: float
    simulated: float
    errors: tuple[float, float]


def bench_tables(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return both tables of the bench as markdown lines. Times are microseconds in a warm loop, from one run."""
    lines = [
        "## `attention` beside CUTLASS's fused attention",
        "",
        "Speed is CUTLASS's time over ours: above 1, ours is faster.",
        "",
        "| batch | heads | queries | keys | head dim | causal | block | CUTLASS us | our us | speed |",
        "|---:|---:|---:|---:|---:|---|---|---:|---:|---:|",
    ]
    by_schedule: defaultdict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for row in rows:
        by_schedule[row["schedule"]].append(row)
    for row in by_schedule["attention"]:
        if row["ctas_per_sm"] == COMPARED_CTAS_PER_SM:
            block = f"{row['queries_per_block']}x{row['keys_per_block']}"
            lines.append(_line(row, block, row["cutlass_us"], row["us"], row["speed"]))
    lines += [
        "",
        "## `flash` beside PyTorch's FlashAttention-2",
        "",
        "`scaled_dot_product_attention` with its FLASH_ATTENTION back end, in the same call.",
        "",
        "| batch | heads | queries | keys | head dim | causal | block | PyTorch us | our us | speed |",
        "|---:|---:|---:|---:|---:|---|---|---:|---:|---:|",
    ]
    theirs = {_shape(row): row["us"] for row in by_schedule["torch flash"]}
    for row in by_schedule["flash"]:
        if row["tile"] == DEFAULT_TILE:
            lines.append(_line(row, "128x64", theirs[_shape(row)], row["us"], row["speed"]))
    return lines


def gains(records: Sequence[Record], elapsed: Callable[[Scenario], int]) -> Iterator[Gain]:
    """
    Yield the gain for every problem that is recorded with both mainloops.

    Args:
        records: Records of any scenarios.
        elapsed: Returns the simulated elapsed cycles of a scenario.
    """
    by_problem: dict[str, dict[str, list[Record]]] = {}
    for record in records:
        if record.scenario["problem"]["kind"] in COMPARED_KINDS:
            key = json.dumps(record.scenario["problem"], sort_keys=True)
            mainloop = record.scenario["kernel"]["mainloop"]
            by_problem.setdefault(key, {"attention": [], "flash": []})[mainloop].append(record)
    for found in by_problem.values():
        for record in found["attention"]:
            if found["flash"] and record.scenario["kernel"]["preload_v"]:
                yield _gain(record, found["flash"][0], elapsed)


def _gain(attention: Record, flash: Record, elapsed: Callable[[Scenario], int]) -> Gain:
    measured = [record.counters[ELAPSED] for record in (attention, flash)]
    simulated = [elapsed(parse_scenario(record.scenario, record.name)) for record in (attention, flash)]
    first, second = ((ours - theirs) / theirs for ours, theirs in zip(simulated, measured, strict=True))
    name = attention.name.removeprefix("attention_")
    return Gain(name, measured[0] / measured[1], simulated[0] / simulated[1], (first, second))


def gain_table(rows: Sequence[Gain]) -> list[str]:
    """Return the table of gains as markdown lines."""
    lines = [
        "## What FlashAttention-2's order gains",
        "",
        (
            f"Cycles of `attention` over those of `flash`, measured (ncu's `{ELAPSED}` of a cold launch, the median"
            " of several) and simulated (compiled streams), and the error of the simulated cycles of each."
            " Nothing is fitted."
        ),
        "",
        "| problem | measured | simulated | attention | flash |",
        "|---|---:|---:|---:|---:|",
    ]
    for row in rows:
        errors = " | ".join(percent(error) for error in row.errors)
        lines.append(f"| {row.name} | {row.measured:.2f} | {row.simulated:.2f} | {errors} |")
    mean = [sum(abs(row.errors[at]) for row in rows) / len(rows) for at in (0, 1)]
    ratio = sum(abs(row.simulated / row.measured - 1) for row in rows) / len(rows)
    return [
        *lines,
        "",
        (
            f"Mean absolute error: {100 * mean[0]:.1f} % of `attention`, {100 * mean[1]:.1f} % of `flash`,"
            f" {100 * ratio:.1f} % of the ratio."
        ),
    ]


def _shape(row: Mapping[str, Any]) -> tuple[int, ...]:
    return tuple(row[key] for key in ("B", "H", "Sq", "Sk", "D", "causal"))


def _line(row: Mapping[str, Any], block: str, theirs: float, ours: float, speed: float) -> str:
    *extents, causal = _shape(row)
    cells = [*map(str, extents), "yes" if causal else "no", block, number(theirs), number(ours), f"{speed:.2f}"]
    return table_row(*cells)


@cache
def elapsed(scenario: Scenario) -> int:
    """Return the simulated elapsed cycles of a scenario, with compiled streams."""
    return simulate(scenario, stream="compiled")[0].cycles.elapsed


def main(argv: Sequence[str] | None = None) -> int:
    """Read the bench and the records, simulate both mainloops of every problem, and write the tables."""
    parser = argparse.ArgumentParser(prog="python -m gpusim.lab.tables.attention_table", description=__doc__)
    parser.add_argument("gpu", nargs="?", default="h200", help="folder of reports/measured")
    parser.add_argument("--out", type=Path, help="default: standard output")
    arguments = parser.parse_args(argv)
    folder = measured_folder() / arguments.gpu

    def work() -> None:
        try:
            bench = json.loads((folder / BENCH).read_text(encoding="utf-8"))
            records = [load_record(path) for path in shown_records(folder)]
            lines = [f"# Fused attention, {arguments.gpu}", "", *bench_tables(bench["rows"])]
            text = "\n".join([*lines, "", *gain_table(list(gains(records, elapsed)))]) + "\n"
            put_page(text, arguments.out)
        except (OSError, ValueError, KeyError) as error:
            raise CannotRun(f"{folder / BENCH}: no measured rows ({error})") from error

    return exit_code_of(work)


if __name__ == "__main__":
    sys.exit(main())
