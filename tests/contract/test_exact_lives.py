"""
Exact runs to the cycle, as the engine before this one had them: every CTA's life, every stall, every sector and span.

tests/frozen/lives.json was written by an engine of objects and SimPy processes, for every scenario of at most three
million warp instructions: number of CTAs, last end, stalls, instructions, sectors and DRAM bytes in full, lives and
spans as digests.
"""

import hashlib
import json
from pathlib import Path

import pytest

from gpusim.families.registry import load_scenario
from gpusim.scenario.catalogue import find_scenario
from gpusim.sim import launch as launches
from gpusim.sim.core.engine import engine
from gpusim.verbs.simulate import simulate

FROZEN = json.loads((Path(__file__).parents[1] / "frozen" / "lives.json").read_text())

INTERPRETED_AT_MOST = 300_000
"""Warp instructions that an interpreted core executes in a second or two."""

RUNS = {
    name: rows
    for name, rows in FROZEN.items()
    if engine().name == "compiled" or sum(row["instructions"] for row in rows) <= INTERPRETED_AT_MOST
}


def digest(rows):
    return hashlib.sha256(json.dumps(rows, separators=(",", ":")).encode()).hexdigest()[:16]


def row_of(ran, *, exact):
    spans = ran.observer.spans if ran.observer else {}
    return {
        "exact": exact,
        "ctas": len(ran.lives),
        "ends": max(life.finished for life in ran.lives),
        "lives": digest(sorted([life.cta, life.sm, life.launched, life.finished] for life in ran.lives)),
        "stalls": list(ran.stalls),
        "instructions": ran.instructions,
        "l2_sectors": ran.l2_sectors,
        "dram_bytes": ran.dram_bytes,
        "spans": digest(sorted([warp, *span] for warp, own in spans.items() for span in own)),
    }


def test_the_frozen_scenarios_are_of_every_kind():
    assert len(FROZEN) >= 100
    assert len(RUNS) >= 20
    for part in ("gemm_", "conv_", "dgrad_", "attention_", "flash_", "pipelined", "split_k", "bias", "alignment2"):
        assert any(part in name for name in FROZEN), part


@pytest.mark.parametrize("name", RUNS)
def test_an_exact_run_is_as_frozen_to_the_cycle(name, monkeypatch):
    rows = []
    run = launches.run_sms

    def kept(resident, queue, **keywords):
        ran = run(resident, queue, **keywords)
        rows.append(row_of(ran, exact=keywords["walk"] is None))
        return ran

    monkeypatch.setattr(launches, "run_sms", kept)
    simulate(load_scenario(find_scenario(name)), exact=True, stream="auto")

    assert rows == FROZEN[name]
