"""On a GPU: a few scenarios measured anew, everything that must be equal equal."""

import pytest

from gpusim.commands.check import counts_of, latitude_of
from gpusim.families.registry import load_scenario
from gpusim.measure import measure
from gpusim.records.check import check_rows, holds
from gpusim.scenario.catalogue import find_scenario
from gpusim.verbs.simulate import simulate

pytestmark = pytest.mark.gpu

NAMES = (
    *("conv_9_k_tiles", "conv_s6_swizzle", "gemm_ragged_alignment2", "gemm_split_k_f16", "gemm_mixed_layouts"),
    *("conv_optimized_5x5", "gemm_pipelined_ragged", "gemm_nn_ragged_alignment4", "gemm_tf32_nt", "gemm_s8_output"),
    *("gemm_f16_accumulators", "gemm_bias_relu_source_ragged", "gemm_split_k_parallel_bias_relu"),
)


@pytest.fixture(scope="module")
def origin():
    return measure.RecordOrigin.here(("pytest", "-m", "gpu"))


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("name", NAMES)
def test_numbers_and_trace_are_the_schedule_s(origin, name, seed):
    scenario = load_scenario(find_scenario(name))
    record = measure.measure(name, scenario, origin, seed=seed)

    rows = check_rows(latitude_of(scenario), counts_of(scenario), {"estimated": simulate(scenario)[0]}, record)

    assert record.missing == {}
    assert [row for row in rows if row.verdict == "differs"] == []
    assert holds(rows)


def test_check_counts_with_ncu(gpusim):
    answer = gpusim("check", "conv_9_k_tiles")

    assert answer.code == 0, answer.out + answer.err
    assert "sm__inst_executed_pipe_tensor_op_hmma.sum" in answer.out


def test_doctor_finds_the_gpu(gpusim):
    lines = gpusim("doctor").out.splitlines()

    absent = [line for line in lines if line.startswith(("GPU ", "CUDA driver", "CuPy", "ncu ")) and "absent" in line]
    assert absent == []
