"""What a grid executes, derived without running it, against what an H200's counters saw."""

import json
from pathlib import Path

import pytest

from gpusim.families.gemm.schedule import TileKernel
from gpusim.lab.tables.speed_table import scenario_of
from gpusim.schedule.counts import count

ROWS = json.loads((Path(__file__).parent / "data" / "cutlass_h200.json").read_text())["rows"]

EXACT = (
    "smsp__inst_executed_op_ldsm.sum",
    "smsp__inst_executed_op_ldgsts.sum",
    "smsp__inst_executed_op_shared_st.sum",
    "smsp__inst_executed_op_global_ld.sum",
    "smsp__inst_executed_op_global_st.sum",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
    "sm__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ldsm.sum",
    "sm__sass_l1tex_data_bank_conflicts_pipe_lsu_mem_shared_op_ldsm.sum",
)


def name_of(row):
    extents = "NHWCKRS" if row["kind"] == "conv2d_fprop" else "MNK"
    return f"{row['name']}-{'x'.join(str(row[extent]) for extent in extents)}"


def conflicts(counts, op):
    return [row for row in counts.bank_conflicts if row.op == op]


def test_the_measured_rows_are_28_gemms_and_21_convolutions():
    kinds = [
        (row["kind"], row["mainloop"], row.get("iterator") or row["layout_a"] + row["layout_b"], row["dtype_ab"])
        for row in ROWS
    ]
    assert kinds.count(("gemm", "multistage", "rowcolumn", "f16")) == 16
    assert kinds.count(("gemm", "multistage", "rowrow", "f16")) == 4
    assert kinds.count(("gemm", "multistage", "rowcolumn", "s8")) == 4
    assert kinds.count(("conv2d_fprop", "multistage", "analytic", "f16")) == 7
    assert kinds.count(("conv2d_fprop", "multistage", "optimized", "f16")) == 14
    assert kinds.count(("gemm", "pipelined", "rowcolumn", "f16")) == 4
    assert len(kinds) == 49


@pytest.mark.parametrize("row", ROWS, ids=name_of)
def test_the_grid_is_cutlass_s(row):
    assert list(scenario_of(row).grid.dim) == row["grid"]


@pytest.mark.parametrize("row", ROWS, ids=name_of)
def test_named_instructions_ldmatrix_wavefronts_and_requested_sectors_equal_the_counters(row):
    predicted = count(TileKernel(scenario_of(row))).counters()
    exact = (*EXACT, f"sm__inst_executed_pipe_tensor_op_{'imma' if row['dtype_ab'] == 's8' else 'hmma'}.sum")

    assert {name: predicted[name] for name in exact} == {name: row["counters"][name] for name in exact}


@pytest.mark.parametrize("row", ROWS, ids=name_of)
def test_lds_and_sts_patterns_account_for_the_counters_less_their_arbitration(row):
    """
    ncu's shared-memory wavefronts of LDS and LDSM together, and of STS, less the conflicts it reports for each.
    """
    counts = count(TileKernel(scenario_of(row)))
    counters = row["counters"]
    prefix = "l1tex__data_pipe_lsu_wavefronts_mem_shared"
    noise = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared"

    for op, kinds in (("ld", ("ldmatrix", "lds")), ("st", ("sts",))):
        rows = [entry for kind in kinds for entry in conflicts(counts, kind)]
        assert sum(entry.conflicts for entry in rows) == 0
        measured = counters[f"{prefix}_op_{op}.sum"] - counters[f"{noise}_op_{op}.sum"]
        assert sum(entry.wavefronts for entry in rows) == measured


@pytest.mark.parametrize("row", [row for row in ROWS if row["kind"] == "conv2d_fprop"], ids=name_of)
def test_ldgsts_of_convolutions_take_four_wavefronts_each(row):
    """
    They zero-fill, so every lane writes its 16 bytes: the address pattern is all there is.
    """
    rows = conflicts(count(TileKernel(scenario_of(row))), "ldgsts")
    measured = row["counters"]["sm__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ldgsts.sum"]

    assert sum(entry.wavefronts for entry in rows) == measured
    assert sum(entry.requests for entry in rows) * 4 == measured
