"""Attention beside CUTLASS and PyTorch, and what flash gains, as markdown."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpusim.families.attention.bench import CTAS_PER_SM, DEFAULT_TILE
from gpusim.families.attention.problem import AttentionScenario
from gpusim.families.registry import parse_scenario
from gpusim.records.check_table import number, percent
from gpusim.records.record import Record
from gpusim.scenario.models import Scenario

BENCH = Path("attention") / "bench.json"
"""Under the folder of a GPU's records: what ``gpusim.families.attention.bench`` printed, and where it comes from."""

ELAPSED = "sm__cycles_elapsed.max"


@dataclass(frozen=True, slots=True)
class Gain:
    """
    One problem in both schedules.

    Attributes:
        name: Of the problem: the records' names less their schedule.
        measured: Elapsed cycles of ``attention`` over those of ``flash``, one cold launch each.
        simulated: The same, simulated.
        errors: (simulated - measured) / measured of the elapsed cycles of ``attention`` and of ``flash``.
    """

    name: str
    measured: float
    simulated: float
    errors: tuple[float, float]


def bench_tables(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Both tables of the bench as markdown lines: microseconds of a warm loop, all measured in one call."""
    lines = [
        "## `attention` beside CUTLASS's fused attention",
        "",
        "Speed is CUTLASS's time over ours: above 1, ours is faster.",
        "",
        "| batch | heads | queries | keys | head dim | causal | block | CUTLASS us | our us | speed |",
        "|---:|---:|---:|---:|---:|---|---|---:|---:|---:|",
    ]
    for row in rows:
        if row["schedule"] == "attention" and row["ctas_per_sm"] == CTAS_PER_SM:
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
    theirs = {_shape(row): row["us"] for row in rows if row["schedule"] == "torch flash"}
    for row in rows:
        if row["schedule"] == "flash" and row["tile"] == DEFAULT_TILE:
            lines.append(_line(row, "128x64", theirs[_shape(row)], row["us"], row["speed"]))
    return lines


def gains(records: Sequence[Record], elapsed: Callable[[Scenario], int]) -> Iterator[Gain]:
    """
    Every problem that is recorded in both schedules.

    Args:
        records: Of any scenarios.
        elapsed: Simulates a scenario's cycles.
    """
    by_problem: dict[str, dict[str, tuple[Record, AttentionScenario]]] = {}
    for record in records:
        scenario = parse_scenario(record.scenario, record.name)
        if isinstance(scenario, AttentionScenario):
            key = json.dumps(record.scenario["problem"], sort_keys=True)
            by_problem.setdefault(key, {}).setdefault(record.name, (record, scenario))
    for found in by_problem.values():
        flash = [pair for name, pair in found.items() if pair[1].flash]
        for record, scenario in (pair for pair in found.values() if not pair[1].flash):
            if flash and scenario.kernel.preload_v:
                yield _gain((record, scenario), flash[0], elapsed)


def _gain(
    attention: tuple[Record, AttentionScenario],
    flash: tuple[Record, AttentionScenario],
    elapsed: Callable[[Scenario], int],
) -> Gain:
    measured = [record.counters[ELAPSED] for record, _ in (attention, flash)]
    simulated = [elapsed(scenario) for _, scenario in (attention, flash)]
    first, second = ((ours - theirs) / theirs for ours, theirs in zip(simulated, measured, strict=True))
    name = attention[0].name.removeprefix("attention_")
    return Gain(name, measured[0] / measured[1], simulated[0] / simulated[1], (first, second))


def gain_table(rows: Sequence[Gain]) -> list[str]:
    """The table as markdown lines."""
    lines = [
        "## What FlashAttention-2's order gains",
        "",
        (
            f"Cycles of `attention` over those of `flash`, measured (ncu's `{ELAPSED}` of one cold launch) and"
            " simulated (estimated streams), and the error of the simulated cycles of each. Nothing is fitted."
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
    return "| " + " | ".join(cells) + " |"
