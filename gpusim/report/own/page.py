"""Writes answers about kernels of the user's own as one HTML page: their machine code with stall cycles and reasons."""

from collections.abc import Sequence
from typing import Any

from gpusim.report.html.page import KERNEL_SCRIPTS, page
from gpusim.report.html.run_data import stall_definitions
from gpusim.report.own.explanation import explain_kernel
from gpusim.report.own.tables import kernel_facts, kernel_verdict, stall_shares
from gpusim.results.kernel_result import SELECTED_REASON, KernelResult, KernelRow

KERNEL_REPORT_SCHEMA = "gpusim.kernel-report/1"


def kernel_page(runs: Sequence[tuple[str, KernelResult]]) -> str:
    """
    Return the text of the page: one file without network requests.

    Args:
        runs: Name and answer of each launch.
    """
    data = {
        "schema": KERNEL_REPORT_SCHEMA,
        "kernels": [_kernel(name, result) for name, result in runs],
        "stall_words": stall_definitions(),
    }
    return page(data, " · ".join(name for name, _ in runs), KERNEL_SCRIPTS)


def _kernel(name: str, result: KernelResult) -> dict[str, Any]:
    scenario = {key: value for key, value in result.scenario.items() if key not in ("arguments", "defines")}
    values = [*scenario.items(), *result.scenario.get("arguments", {}).items()]
    values += [(f"-D{macro}", value) for macro, value in result.scenario.get("defines", {}).items()]
    return {
        "name": name,
        "verdict": kernel_verdict(result),
        "facts": kernel_facts(result),
        "sentences": explain_kernel(result).sentences,
        "shares": stall_shares(result),
        "warp_cycles": result.warp_cycles,
        "rows": [_row(row) for row in result.rows],
        "lines": source_lines(result),
        "provenance": [(key, str(value)) for key, value in (*values, *result.provenance.items())],
    }


def _row(row: KernelRow) -> dict[str, Any]:
    return {
        "address": f"{row.address:#06x}",
        "text": row.text,
        "source": row.source,
        "stalled": row.stalled,
        "issues": row.issues,
        "lanes": row.lanes,
        "wavefronts": row.wavefronts,
        "ideal_wavefronts": row.ideal_wavefronts,
        "sectors": row.sectors,
        "ideal_sectors": row.ideal_sectors,
        "stalls": [(reason, cycles) for reason, cycles in row.stalls.items() if reason != SELECTED_REASON],
    }


def source_lines(result: KernelResult) -> list[tuple[str | int | float, ...]]:
    """
    Return a row for each source line, the most stalled first; none if no line is known.

    A row has the line, stalled cycles and their share of warp cycles in per cent, issues, wavefronts and those without
    conflicts, sectors and those that hold as many bytes.
    """
    found: dict[str, list[int]] = {}
    for row in result.rows:
        if row.source:
            line = found.setdefault(row.source, [0] * 6)
            values = (row.stalled, row.issues, row.wavefronts, row.ideal_wavefronts, row.sectors, row.ideal_sectors)
            found[row.source] = [one + more for one, more in zip(line, values, strict=True)]
    ranked = sorted(found.items(), key=lambda one: (-one[1][0], one[0]))
    return [
        (line, stalled, round(100 * stalled / result.warp_cycles, 1), *others) for line, (stalled, *others) in ranked
    ]
