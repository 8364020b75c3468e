"""CUTLASS's own kernels, built from its headers: aligned with the schedule, and counted as an H200 counted them."""

import json
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from gpusim.cuda.compiler import find_compiler
from gpusim.errors import BadInput, CheckFailed
from gpusim.families.gemm.cutlass.structure import fitting_structure
from gpusim.families.registry import family_of
from gpusim.lab.cutlass_kernels import build, headers, source
from gpusim.lab.tables.speed_table import scenario_of
from gpusim.lower.sass.cubin import kernel_names
from gpusim.lower.user_kernel import UserKernel
from gpusim.machine.load import load_machine

ROWS = json.loads((Path(__file__).parent / "data" / "cutlass_h200.json").read_text())["rows"]
FIRST = {row["name"]: row for row in reversed(ROWS)}
"""A row of each of CUTLASS's kernels: the first one."""

EXECUTED = "smsp__inst_executed.sum"
SHORT = [row for row in ROWS if row["counters"][EXECUTED] < 4e6]
"""Rows whose warps are emulated fast; at least one of each kernel."""

SIZES = {
    "g_f16_128x128x32_s3": 368,
    "c_an_128x128x64_s3": 352,
    "c_op_128x128x64_s3": 448,
}
"""sizeof of the parameter structures of ``gemm::kernel::Gemm`` and ``ImplicitGemmConvolution`` under nvcc 13.0."""

OFFSETS = {
    "g_f16_128x128x32_s3": (
        "params_a 32 ref_a 64 params_b 80 ref_b 112 params_c 128 ref_c 192 params_d 208 ref_d 272 output_op 288"
        " semaphore 328 gemm_k_size 336 gather_a 344"
    ),
    "c_an_128x128x64_s3": (
        "grid_tiled_shape 72 swizzle_log_tile 96 gemm_k_iterations 100 iterator_a 108 ptr_a 120 iterator_b 128"
        " ptr_b 144 iterator_c 152 ptr_c 216 iterator_d 224 ptr_d 288 output_op 296 semaphore 336 split_k_mode 344"
    ),
    "c_op_128x128x64_s3": (
        "iterator_a 112 ptr_a 184 iterator_b 192 ptr_b 240 iterator_c 248 ptr_c 312 output_op 392 semaphore 432"
        " split_k_mode 440"
    ),
}
"""offsetof of their members."""


@cache
def kernel_of(name):
    """
    CUTLASS's kernel of a measured row, built once.
    """
    include = headers()
    if include is None:
        pytest.skip("needs nvidia-cutlass (requirements/cutlass.txt)")
    data = build(scenario_of(FIRST[name]), include, find_compiler())
    (entry,) = kernel_names(data, name)
    return UserKernel(f"{name}.cubin", data, entry, 90)


def timed(scenario):
    (kernel,) = family_of(scenario).timing.timed_kernels(scenario, load_machine("h200"))
    return kernel


def built(row):
    kernel = timed(scenario_of(row))
    kernel.user = kernel_of(row["name"])
    return kernel


def launch_structure(scenario, kernel, size):
    return fitting_structure(timed(scenario).launch_structures, scenario, kernel, size)


@pytest.mark.parametrize("name", SIZES)
def test_a_structure_lies_as_nvcc_lays_it_out(name):
    scenario = scenario_of(FIRST[name])
    fields = launch_structure(scenario, "", SIZES[name]).fields(scenario)
    words = OFFSETS[name].split()

    assert [fields.fields[member][1] for member in words[::2]] == [int(offset) for offset in words[1::2]]


def test_the_name_decides_between_structures_of_one_size():
    scenario = scenario_of(FIRST["g_f16_128x128x32_s3"])
    plain, universal = (
        launch_structure(scenario, f"_ZN7cutlass6KernelINS_4gemm6kernel{name}I", 368)
        for name in ("4Gemm", "13GemmUniversal")
    )

    assert (plain.fields(scenario).fields["output_op"][1], universal.fields(scenario).fields["output_op"][1]) == (
        288,
        248,
    )


def test_a_size_that_no_structure_has_is_refused():
    row = FIRST["g_f16_128x128x32_s3"]
    kernel = timed(scenario_of(row))

    with pytest.raises(BadInput, match=r"^mine takes 24 bytes of parameters, its launch has 128$"):
        kernel.packed("mine", 24, 32)


def test_division_is_replaced_as_cutlass_s_fast_math_replaces_it():
    """
    With p x q of 3136, 2**43 / 3136 rounded up, shifted right by 43 - 32 more than the upper word.
    """
    row = next(row for row in ROWS if row["name"] == "c_op_128x128x64_s3" and row["P"] == 56)
    scenario = scenario_of(row)
    structure = launch_structure(scenario, "", 448)
    packed = structure.pack(scenario, dict.fromkeys(("a", "b", "source", "output", "semaphore"), 0))
    (written,) = np.frombuffer(packed, dtype=structure.fields(scenario))

    assert written["iterator_a"]["pq_divmod"].tolist() == (3136, 2804876602, 11)


def test_kernels_with_a_bias_are_not_built():
    scenario = scenario_of(FIRST["g_f16_128x128x32_s3"])
    biased = scenario.model_copy(update={"problem": scenario.problem.model_copy(update={"bias": True})})

    with pytest.raises(BadInput, match=r"^CUTLASS's kernel is built of GEMMs and forward convolutions without bias"):
        source(biased)
    assert launch_structure(biased, "", 368) is None


def test_the_short_rows_are_of_every_kernel():
    assert {row["name"] for row in SHORT} == set(FIRST)


@pytest.mark.compiler("nvcc")
@pytest.mark.parametrize("row", SHORT, ids=lambda row: f"{row['name']}-{row['counters'][EXECUTED]:.0f}")
def test_executed_instructions_registers_and_shared_memory_are_the_measured_ones(row):
    """
    The analytic iterators branch around the padding, so warps differ. One stands for all, within 0.8 %.
    """
    kernel = built(row)
    stream = kernel.compiled().stream
    executed = stream.warp_instructions(kernel.lanes()) * len(kernel.launched)
    counted = row["counters"][EXECUTED]

    assert (stream.registers_per_thread, kernel.shared_bytes) == (row["registers_per_thread"], row["shared_bytes"])
    if row.get("iterator") == "analytic" and (row["R"], row["S"]) != (1, 1):
        assert abs(executed / counted - 1) < 0.008
    else:
        assert executed == counted


@pytest.mark.compiler("nvcc")
def test_a_kernel_of_another_tile_is_refused_where_it_departs():
    kernel = timed(scenario_of(FIRST["g_f16_128x128x64_s3"]))
    kernel.user = kernel_of("g_f16_128x128x32_s3")

    with pytest.raises(CheckFailed, match=r"^after barrier 0 the schedule has 32 LDGSTS, the kernel executes 16"):
        kernel.compiled()
