"""Requested global sectors and grids equal what an H200 counted for CUTLASS's own kernels."""

import json
from pathlib import Path

import pytest

from gpusim.report.speed_table import scenario_of
from gpusim.schedule.counts import executed
from gpusim.tile.threadblock_swizzle import grid

DATA = Path(__file__).parent / "data"
FILES = ("cutlass_h200_tn_multistage", "cutlass_h200_pipelined")
ROWS = [row for name in FILES for row in json.loads((DATA / f"{name}.json").read_text())["rows"]]
REQUESTED = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"


def test_the_measured_rows_are_here():
    assert sorted(row["kind"] for row in ROWS) == ["conv2d_fprop"] * 21 + ["gemm"] * 20


@pytest.mark.parametrize("row", ROWS, ids=[f"{row['name']}-{index}" for index, row in enumerate(ROWS)])
def test_sectors_and_grid_equal_the_measured_ones(row):
    scenario = scenario_of(row)

    assert sum(executed(scenario).load_sectors.values()) == row["counters"][REQUESTED]
    assert list(grid(scenario)) == row["grid"]
