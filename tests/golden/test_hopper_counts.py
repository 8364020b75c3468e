"""What sm_90 GEMMs of CUTLASS 3.x execute and move, as ncu counted on an H200: wgmma, TMA, sectors, stmatrix."""

import pytest
from problems.cutlass3 import measured

from gpusim.families.hopper.collective import collective_of
from gpusim.families.hopper.counts import grid_counts
from gpusim.families.hopper.work import work_of
from gpusim.lab.hopper_time import cutlass_scenario

SMS = 132
_SECTORS = "l1tex__m_xbar2l1tex_read_sectors_mem_global_op_tma_ld"
METRICS = {
    "wgmma": "sm__sass_inst_executed_op_shared_gmma.sum",
    "wgmma_wavefronts": "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_gmma.sum",
    "tma_loads": "sm__sass_inst_executed_op_tma_ld.sum",
    "tma_stores": "sm__sass_inst_executed_op_tma_st.sum",
    "load_sectors": f"{_SECTORS}.sum",
    "multicast_sectors": f"{_SECTORS}_dest_multicast.sum",
    "store_sectors": "l1tex__m_l1tex2xbar_write_sectors_mem_global_op_tma_st.sum",
    "stmatrix_wavefronts": "sm__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_stsm.sum",
}


ROWS = measured()
IDS = [f"{number}-{row['name']}-{row['M']}x{row['N']}x{row['K']}" for number, row in enumerate(ROWS)]


@pytest.mark.parametrize("row", ROWS, ids=IDS)
def test_counts_are_those_of_ncu(row):
    found = grid_counts(cutlass_scenario(row), SMS)

    assert {name: getattr(found, name) for name in METRICS} == {
        name: row["counters"][metric] for name, metric in METRICS.items()
    }


def test_rows_between_sectors_and_beyond_the_tensor_are_among_them():
    """2000 x 1000 x 712: rows of 1,424 bytes, and tiles that reach over all three extents."""
    assert sum((row["M"], row["N"], row["K"]) == (2000, 1000, 712) for row in ROWS) == 3


@pytest.mark.parametrize("row", ROWS, ids=IDS)
def test_cutlass_chose_the_same_stages_epilogue_and_grid(row):
    kernel = collective_of(cutlass_scenario(row))

    assert (kernel.stages, kernel.threads, kernel.shared_bytes) == (row["stages"], row["threads"], row["shared_bytes"])
    assert list(kernel.epilogue.tile if kernel.epilogue else (0, 0)) == row["epilogue_tile"]
    assert list(work_of(cutlass_scenario(row), SMS).grid) == row["grid"]
