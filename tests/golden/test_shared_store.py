"""Shared-memory store offsets against CUTLASS's own iterators."""

import json
from pathlib import Path

import numpy as np
import pytest

from gpusim.tile.shared_store import store_offsets, write_walk

DATA = Path(__file__).parent / "data"
FILES = sorted(DATA.glob("smem_write_*.json"))


def test_all_ten_configurations_are_here(configurations):
    assert [path.stem.removeprefix("smem_write_") for path in FILES] == configurations


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_offsets_of_every_thread_access_and_step(path, scenario_of):
    golden = json.loads(path.read_text())
    scenario = scenario_of(golden["header"]["template"])
    stages = scenario.kernel.stages
    walks = {
        operand: list(write_walk(scenario.operand(operand).thread_map, scenario.operand(operand).shared, stages + 1))
        for operand in ("a", "b")
    }
    for row in golden["data"]:
        operand, access = row["operand"].lower(), row["access"]
        assert row["stage_slot"] == row["step"] % stages
        offsets = store_offsets(scenario.operand(operand), row["stage_slot"])
        assert offsets.shape[2] == 1
        np.testing.assert_array_equal(offsets[:, access, 0], row["offsets"])
        np.testing.assert_array_equal(walks[operand][row["step"]][:, access], row["offsets"])
    accesses = [scenario.operand(operand).thread_map.accesses for operand in ("a", "b")]
    assert len(golden["data"]) == (stages + 1) * sum(accesses)
    for operand in ("a", "b"):
        elements = golden["header"][f"operand_{operand.upper()}_elements"]
        assert scenario.operand(operand).shared.elements == elements
