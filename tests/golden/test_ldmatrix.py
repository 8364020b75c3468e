"""ldmatrix row addresses against CUTLASS's own warp iterators."""

import json
from pathlib import Path

import numpy as np
import pytest

from gpusim.tile.ldmatrix import fragment_loads, ldmatrix_offsets, xor_walk
from gpusim.tile.mma import mma_order

DATA = Path(__file__).parent / "data"
FILES = sorted(DATA.glob("warp_read_*.json"))


def test_all_ten_configurations_are_here(configurations):
    assert [path.stem.removeprefix("warp_read_") for path in FILES] == configurations


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
@pytest.mark.parametrize("operand", ["a", "b"])
def test_addresses_of_every_warp_step_and_k_group(path, operand, scenario_of):
    golden = json.loads(path.read_text())
    scenario = scenario_of(golden["header"]["template"])
    kernel = scenario.kernel
    loads = fragment_loads(scenario.operand(operand))
    expected = np.full(
        (kernel.stages + 1, np.prod(kernel.warps), kernel.k_groups, loads.instructions, 32), -1, dtype=np.int64
    )
    rows = [row for row in golden["data"] if row["op"].lower() == operand]
    for row in rows:
        assert row["kind"] == loads.kind
        expected[row["step"], row["warp"], row["kgroup"], row["i"]] = row["lanes"]
    assert len(rows) * 32 == expected.size
    from_layout = [
        ldmatrix_offsets(scenario.operand(operand), step % kernel.stages) for step in range(kernel.stages + 1)
    ]
    np.testing.assert_array_equal(np.stack(from_layout), expected)
    if scenario.problem.k_contiguous(operand):
        np.testing.assert_array_equal(xor_walk(scenario.operand(operand), kernel.stages + 1), expected)


TRACES = sorted(DATA.glob("trace_*.json"))


@pytest.mark.parametrize("path", TRACES, ids=lambda path: path.stem)
def test_mma_order_of_the_first_k_group(path):
    golden = json.loads(path.read_text())
    expected = golden["header"]["counts_first_thread"]["mma_order_first_group_m_n"]

    np.testing.assert_array_equal(mma_order(4, 8), expected)
