"""CUTLASS's own kernels, measured: reads rows of committed files as scenarios with counters."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from gpusim.errors import CannotRun
from gpusim.families.registry import parse_scenario
from gpusim.lab.tables.speed_table import scenario_of
from gpusim.lab.validation.observe import Measured
from gpusim.records.record import golden_folder

FUSED_ATTENTION = "fmha"
"""Kind of the rows of CUTLASS's fused attention."""


def committed_rows() -> tuple[Path, ...]:
    """Return the committed files of rows; none outside a source tree."""
    files = (golden_folder() / name for name in ("cutlass_h200.json", "cutlass_fmha_h200.json"))
    return tuple(path for path in files if path.is_file())


def rows_of(files: Sequence[Path]) -> tuple[Mapping[str, Any], ...]:
    """
    Return the measured rows of files.

    Args:
        files: JSON files with measured rows under ``rows``.

    Raises:
        CannotRun: A file cannot be read, or has no rows.
    """
    rows: list[Mapping[str, Any]] = []
    for path in files:
        try:
            rows += json.loads(path.read_text(encoding="utf-8"))["rows"]
        except (OSError, ValueError, KeyError) as error:
            raise CannotRun(f"{path}: no measured rows ({error})") from error
    return tuple(rows)


def cutlass_rows(files: Sequence[Path], sms: int) -> tuple[Measured, ...]:
    """
    Read CUTLASS's kernels, to be simulated with the estimated streams of CUTLASS's code.

    Args:
        files: JSON files with measured rows under ``rows``.
        sms: SMs of the GPU of the measurement.

    Raises:
        CannotRun: A file cannot be read, or has no rows.
    """
    return tuple(Measured(name_of(row), _resolved(row), row["counters"], sms) for row in rows_of(files))


def problem_of(one: Measured) -> str:
    """Return the problem of a row, without its kernel, as text."""
    problem = {key: value for key, value in one.scenario["problem"].items() if not key.startswith("alignment")}
    return json.dumps(problem, sort_keys=True)


def _resolved(row: Mapping[str, Any]) -> dict[str, Any]:
    if row["kind"] != FUSED_ATTENTION:
        resolved = scenario_of(row).resolved()
        return resolved | {"kernel": resolved["kernel"] | {"code": "cutlass"}}
    problem = {
        "kind": "attention",
        "batch": row["B"],
        "heads": row["H"],
        "queries": row["Sq"],
        "keys": row["Sk"],
        "head_dim": row["D"],
        "head_dim_v": row["D"],
        "mask": "causal_top_left" if row["causal"] else "none",
        "dtype": {"ab": row["dtype_ab"], "accumulator": row["accumulator"], "output": row["dtype_ab"]},
    }
    kernel = {
        "mainloop": "attention",
        "queries_per_block": row["queries_per_block"],
        "keys_per_block": row["keys_per_block"],
        "code": "cutlass",
    }
    return parse_scenario({"machine": "h200", "problem": problem, "kernel": kernel}, row["name"]).resolved()


def name_of(row: Mapping[str, Any]) -> str:
    """Return a unique name of a row: the kernel's name and the problem's extents."""
    extents = [row[key] for key in "MNK" if key in row] if row["kind"] == "gemm" else _extents(row)
    return f"{row['name']} {'x'.join(map(str, extents))}" + (" causal" if row.get("causal") else "")


def _extents(row: Mapping[str, Any]) -> list[int]:
    keys = ("B", "H", "Sq", "Sk", "D") if row["kind"] == FUSED_ATTENTION else tuple("NHWCKRS")
    return [row[key] for key in keys]
