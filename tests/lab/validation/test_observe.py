"""What a kernel is grouped by, and which two differ in the length of the sum alone."""

from dataclasses import replace

import pytest

from gpusim.families.registry import load_scenario
from gpusim.lab.validation.observe import Measured, alike, bound_of, k_tiles, observe
from gpusim.machine import load_machine
from gpusim.results.trust import kind_of
from gpusim.scenario.catalogue import find_scenario

ELAPSED = "sm__cycles_elapsed.max"


def resolved(name, **problem):
    scenario = load_scenario(find_scenario(name), tuple(f"problem.{key}={value}" for key, value in problem.items()))
    return scenario.resolved()


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("gemm_4096", "gemm"),
        ("gemm_nt_pipelined", "gemm, pipelined"),
        ("gemm_split_k_parallel_pipelined", "gemm, pipelined, split-K parallel"),
        ("conv_9_k_tiles", "conv2d_fprop"),
        ("attention_64x64", "attention"),
        ("flash_128x64", "attention, flash"),
    ],
)
def test_a_kind_is_the_problem_s_with_what_is_unusual(name, kind):
    assert kind_of(resolved(name)) == kind


def test_the_busiest_resource_is_the_bound_if_it_is_busy():
    """In a thousand cycles the L2 delivers 1000 * bytes_per_cycle: 60 % of that is busier than 50 % of HMMA."""
    machine = load_machine("h200")
    hmma = {"sm__pipe_tensor_op_hmma_cycles_active.avg.pct_of_peak_sustained_active": 50.0}
    sectors = 0.6 * 1000 * machine.l2.bytes_per_cycle / 32
    dram = 0.7 * machine.dram.bytes_per_kilocycle

    assert bound_of({ELAPSED: 1000.0, **hmma}, machine) == "tensor core"
    assert bound_of({ELAPSED: 1000.0, **hmma, "lts__t_sectors_op_read.sum": sectors}, machine) == "L2"
    assert bound_of({ELAPSED: 1000.0, **hmma, "dram__bytes_write.sum": dram}, machine) == "DRAM"
    assert bound_of({ELAPSED: 2000.0, "dram__bytes_read.sum": dram}, machine) == "latency"
    assert bound_of({}, machine) == "unknown"


@pytest.mark.parametrize(
    ("name", "key", "values", "tiles"),
    [
        ("gemm_4096", "k", (1024, 4096), (16, 64)),
        ("gemm_nt", "k", (512, 1024), (8, 16)),
        ("gemm_split_k", "k", (3072, 6144), (16, 32)),
        ("conv_9_k_tiles", "c", (64, 128), (9, 18)),
        ("dgrad_3x3", "k", (64, 128), (18, 36)),
        ("flash_128x64", "keys", (512, 1024), (8, 16)),
    ],
)
def test_only_the_length_of_the_sum_differs(name, key, values, tiles):
    pair = [resolved(name, **{key: value}) for value in values]

    assert alike(pair[0]) == alike(pair[1])
    assert tuple(k_tiles(one) for one in pair) == tiles


def test_another_extent_or_a_padded_leading_dimension_is_another_kernel():
    plain = alike(resolved("gemm_4096"))

    assert alike(resolved("gemm_4096", m=2048)) != plain
    assert alike(resolved("gemm_4096", lda=4160)) != plain


def test_causal_and_ragged_attention_have_no_neighbour_in_the_sum():
    assert alike(resolved("flash_d64_1024_causal")) == ""
    assert alike(resolved("flash_ragged_bottom_right")) == ""


def test_processes_answer_as_one_does():
    measured = [Measured("conv", resolved("conv_9_k_tiles"), {ELAPSED: 1e4, "dram__bytes_read.sum": 1e6}, 132)]
    options = {"exact": False, "say": print}

    (alone,) = observe(measured, ["estimated"], jobs=1, **options)
    (beside,) = observe(measured, ["estimated"], jobs=2, **options)

    assert alone == beside
    assert alone.figures.keys() == {"elapsed", "DRAM bytes"}
    assert replace(alone, name="x") != alone
