"""
Exact runs to the cycle, as they were frozen: every CTA's life, every stall, every sector and span.

What freezes them, tests/frozen/lives.py, says what a row is.
"""

import pytest
from frozen.lives import frozen, rows_of
from slow import one_in

from gpusim.sim.core.engine import engine

FROZEN = frozen()

INTERPRETED_AT_MOST = 300_000
"""Warp instructions that an interpreted core executes in a second or two."""

RUNS = {
    name: rows
    for name, rows in FROZEN.items()
    if engine().name == "compiled" or sum(row["instructions"] for row in rows) <= INTERPRETED_AT_MOST
}


def test_the_frozen_scenarios_are_of_every_kind():
    assert len(FROZEN) >= 100
    assert len(RUNS) >= 20
    for part in ("gemm_", "conv_", "dgrad_", "attention_", "flash_", "pipelined", "split_k", "bias", "alignment2"):
        assert any(part in name for name in FROZEN), part


@pytest.mark.parametrize("name", one_in(10, RUNS))
def test_an_exact_run_is_as_frozen_to_the_cycle(name):
    assert rows_of(name) == FROZEN[name]
