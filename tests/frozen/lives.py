"""
Writes and reads lives.json, the exact runs of every scenario of at most three million warp instructions.

Of each launch: number of CTAs, last end, stalls, instructions, sectors and DRAM bytes in full, lives and spans of warps
as digests. ``python tests/frozen/lives.py`` runs the scenarios that the file names anew, and writes it: where the
machine or a mechanism has changed, not where the engine has.
"""

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final
from unittest import mock

from gpusim.families.registry import load_scenario
from gpusim.scenario.catalogue import find_scenario
from gpusim.sim import launch as launches
from gpusim.sim.run import Ran
from gpusim.verbs.simulate import simulate

PATH: Final = Path(__file__).parent / "lives.json"

REASONS_FROZEN: Final = 16
"""Stall reasons of a row: all but those of sm_90's roles, which no scenario here has."""


def frozen() -> dict[str, list[dict[str, Any]]]:
    """The rows of each scenario's launches, by its name."""
    rows: dict[str, list[dict[str, Any]]] = json.loads(PATH.read_text(encoding="utf-8"))
    return rows


def rows_of(name: str) -> list[dict[str, Any]]:
    """Run a scenario exactly; return the row of each launch."""
    rows = []
    run = launches.run_sms

    def kept(*arguments: Any, **keywords: Any) -> Ran:
        ran = run(*arguments, **keywords)
        rows.append(_row(ran, exact=keywords["walk"] is None))
        return ran

    with mock.patch.object(launches, "run_sms", kept):
        simulate(load_scenario(find_scenario(name)), exact=True, stream="auto")
    return rows


def _row(ran: Ran, *, exact: bool) -> dict[str, Any]:
    spans = ran.observer.spans if ran.observer else {}
    return {
        "exact": exact,
        "ctas": len(ran.lives),
        "ends": max(life.finished for life in ran.lives),
        "acknowledged": ran.acknowledged,
        "lives": _digest([life.cta, life.sm, life.launched, life.finished] for life in ran.lives),
        "stalls": list(ran.stalls[:REASONS_FROZEN]),
        "instructions": ran.instructions,
        "l2_sectors": ran.l2_sectors,
        "looked_up": ran.looked_up,
        "dram_bytes": ran.dram_bytes,
        "dram_written": ran.dram_written,
        "spans": _digest([warp, *span] for warp, own in spans.items() for span in own),
    }


def _digest(rows: Iterable[list[Any]]) -> str:
    return hashlib.sha256(json.dumps(sorted(rows), separators=(",", ":")).encode()).hexdigest()[:16]


def write() -> None:
    """Write the rows of every scenario that the file names anew."""
    lines = (f" {json.dumps(name)}: {json.dumps(rows_of(name), separators=(',', ':'))}" for name in frozen())
    PATH.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    write()
