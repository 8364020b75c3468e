"""What a kernel is compiled and launched with, and that nvcc takes it where there is one."""

import re
import subprocess
from typing import Any

import numpy as np
import pytest

from gpusim.cuda.specialise import PARAMS, kernels_folder
from gpusim.families.gemm.specialise import ldmatrix_walk, specialise, specialise_any_extents, store_pointers
from gpusim.families.registry import parse_scenario
from gpusim.scenario.gemm import GemmScenario

GEMM = {"kind": "gemm", "m": 256, "n": 384, "k": 200}
CONV = {"kind": "conv2d_fprop", "n": 2, "h": 8, "w": 6, "c": 64, "k": 40, "r": 3, "s": 3, "padding": [1, 0]}


def scenario(problem: dict[str, Any], **kernel: Any) -> GemmScenario:
    return parse_scenario({"machine": "h200", "problem": problem, "kernel": kernel}, "test")


def macros(asked: GemmScenario, build: Any = "plain") -> dict[str, str]:
    definitions = [option.removeprefix("-D") for option in specialise(asked, build).options if option.startswith("-D")]
    return dict(definition.split("=", 1) for definition in definitions)


def test_the_problem_and_the_tile_are_compiled_in():
    asked = scenario({**GEMM, "lda": 208, "beta": 0.5, "dtype": {"output": "f16"}}, stages=4)

    found = macros(asked)

    assert found["GPUSIM_CONVOLUTION"] == "0"
    assert [found[f"GPUSIM_{name}"] for name in ("EXTENT_M", "EXTENT_N", "GEMM_K", "GEMM_LDA", "GEMM_LDB", "LDC")] == [
        *("256", "384", "200"),
        *("208", "200", "384"),
    ]
    assert [found[f"GPUSIM_TILE_{axis}"] for axis in "MNK"] == ["128", "128", "64"]
    assert found["GPUSIM_STAGES"] == "4"
    assert found["GPUSIM_BETA_IS_ZERO"] == "0"
    assert found["GPUSIM_OUTPUT"] == "f16"


def test_a_convolution_says_its_padding_stride_and_dilation_by_axis():
    found = macros(scenario({**CONV, "stride": [2, 1], "mode": "convolution"}))

    assert found["GPUSIM_CONVOLUTION"] == "1"
    assert (found["GPUSIM_CONV_PAD_H"], found["GPUSIM_CONV_PAD_W"]) == ("1", "0")
    assert (found["GPUSIM_CONV_STRIDE_H"], found["GPUSIM_CONV_STRIDE_W"]) == ("2", "1")
    assert (found["GPUSIM_CONV_P"], found["GPUSIM_CONV_Q"]) == ("4", "4")
    assert found["GPUSIM_CONV_FLIP_FILTER"] == "1"


@pytest.mark.parametrize(
    ("layout", "family", "pointers", "walk"),
    [
        ("crosswise", {"LAYOUT": "Crosswise"}, (1, 2), "exclusive_or"),
        ("row_major", {"LAYOUT": "Padded<0>"}, (1, 1), "add"),
        ("padded<8>", {"LAYOUT": "Padded<8>"}, (1, 1), "add"),
        ("Swizzle<3,3,3>", {"SWIZZLE_BITS": "3", "SWIZZLE_BASE": "3", "SWIZZLE_SHIFT": "3"}, (1, 2), "exclusive_or"),
        ("Swizzle<3,3,5>", {"SWIZZLE_BITS": "3", "SWIZZLE_BASE": "3", "SWIZZLE_SHIFT": "5"}, (1, 8), "layout"),
    ],
)
def test_each_layout_is_walked_in_the_cheapest_way_that_holds(layout, family, pointers, walk):
    asked = scenario(GEMM, shared={"a": layout, "b": "crosswise"})
    found = macros(asked)

    assert {f"GPUSIM_{name}_A": value for name, value in family.items()}.items() <= found.items()
    assert ("GPUSIM_LAYOUT_A" in found) == ("LAYOUT" in family)
    assert store_pointers(asked, "a") == pointers
    assert ldmatrix_walk(asked, "a") == walk


@pytest.mark.parametrize(
    ("threadblock", "layout", "pointers", "walk"),
    [
        ([128, 128, 64], None, (1, 2), "exclusive_or"),
        ([256, 64, 64], None, (1, 2), "exclusive_or"),
        ([128, 128, 64], "row_major", (1, 1), "add"),
        ([128, 128, 64], "Swizzle<3,3,4>", (1, 2), "exclusive_or"),
        ([128, 128, 64], "Swizzle<3,4,4>", (2, 2), "exclusive_or"),
        ([128, 128, 64], "Swizzle<3,3,8>", (1, 1), "layout"),
    ],
)
def test_an_operand_contiguous_along_m_needs_no_more(threadblock, layout, pointers, walk):
    """
    Swizzle<3,3,4> of rows of 128 elements takes the XOR from the row, as congruous does; <3,4,4> moves lines too.
    """
    shared = {"a": layout} if layout else {}
    asked = scenario({**GEMM, "layout_a": "column"}, threadblock=threadblock, warp=[64, 32, 64], shared=shared)

    assert macros(asked)["GPUSIM_K_CONTIGUOUS_A"] == "0"
    assert store_pointers(asked, "a") == pointers
    assert ldmatrix_walk(asked, "a") == walk


def test_no_option_holds_a_comma():
    options = specialise(scenario(GEMM, shared={"a": "Swizzle<3,3,3>", "b": "Swizzle<2,4,-3>"}), "trace").options

    assert not [option for option in options if "," in option]


def test_alpha_and_a_nonzero_beta_stay_run_time_values():
    assert specialise(scenario({**GEMM, "alpha": 2.0})).digest == specialise(scenario(GEMM)).digest
    assert specialise(scenario({**GEMM, "beta": 2.0})).digest == specialise(scenario({**GEMM, "beta": 3.0})).digest
    assert specialise(scenario({**GEMM, "beta": 2.0})).digest != specialise(scenario(GEMM)).digest


def test_the_builds_differ_by_their_macros_alone():
    asked = scenario(GEMM)
    plain = macros(asked)

    assert macros(asked, "timeline") == plain | {"GPUSIM_TIMELINE": "1"}
    trace = macros(asked, "trace")
    assert {name: trace[name] for name in plain} == plain
    assert trace["GPUSIM_OP_COPY_ASYNC"] == "0"
    assert len({specialise(asked, build).digest for build in ("plain", "trace", "timeline")}) == 3


def test_the_launch_is_the_schedules():
    asked = scenario({**GEMM, "k": 640, "split_k_slices": 3}, threadblock_swizzle="identity<2>")
    kernel = specialise(asked)

    assert kernel.grid == (4, 2, 3)
    assert kernel.block_threads == 128
    assert kernel.shared_bytes == asked.shared_bytes
    assert kernel.k_iterations == 4
    assert kernel.semaphores == 6
    assert specialise(scenario(GEMM)).semaphores == 0


def test_one_build_serves_all_extents_and_its_launch_says_them():
    wide = {"split_k_slices": 3, **GEMM, "k": 640, "lda": 648}
    narrow = {"split_k_slices": 3, **GEMM, "m": 1000, "n": 8, "k": 320, "ldc": 16}
    one, other = (
        specialise_any_extents(scenario(asked, threadblock_swizzle="identity<2>")) for asked in (wide, narrow)
    )

    assert one.options == other.options
    assert one.digest == other.digest
    assert one.extents == (256, 384, 640, 648, 640, 384, 2, 3, 1, 256)
    assert other.extents == (1000, 8, 320, 320, 320, 16, 8, 1, 0, 128)
    assert (one.grid, one.semaphores) == ((4, 2, 3), 6)


def test_extents_are_passed_as_the_source_lays_them_out():
    source = (kernels_folder() / "extents.cuh").read_text(encoding="utf-8")
    body = source.partition("struct Extents {")[2].partition("};")[0]
    members = re.findall(r"\w+(?=[,;])", re.sub(r"//.*", "", body))

    assert members == [
        *("m", "n", "k", "leading_a", "leading_b", "leading_c"),
        *("tiles_m", "tiles_n", "log_tile", "slice_length"),
    ]


@pytest.mark.parametrize(
    "problem", [CONV, {**GEMM, "k": 640, "split_k_slices": 2, "split_k": "parallel"}], ids=["conv", "parallel split-K"]
)
def test_what_has_its_extents_compiled_in_has_no_such_build(problem):
    assert specialise_any_extents(scenario(problem)) is None


def test_params_are_packed_as_the_source_lays_them_out():
    # The order and types of struct Params; C++ puts each member at the next multiple of its size, as align=True does.
    source = (kernels_folder() / "params.cuh").read_text(encoding="utf-8")
    body = source.partition("struct Params {")[2].partition("};")[0]
    members = [line.partition(";")[0].split()[-1].partition("[")[0] for line in body.splitlines() if ";" in line]

    assert tuple(members) == PARAMS.names
    assert f"sizeof(Params) == {PARAMS.itemsize}" in source
    assert PARAMS.fields is not None
    assert PARAMS.fields["records"][1] == 48
    assert PARAMS.fields["k_iterations"][1] == 104
    assert PARAMS["recorded"] == np.dtype((np.int32, 8))


@pytest.mark.slow
@pytest.mark.compiler("nvcc")
@pytest.mark.parametrize("build", ["plain", "trace", "timeline"])
@pytest.mark.parametrize("problem", [GEMM, CONV, {**GEMM, "k": 640, "split_k_slices": 2, "dtype": {"output": "f16"}}])
def test_nvcc_compiles_every_build(problem, build, tmp_path):
    kernel = specialise(scenario(problem, shared={"a": "Swizzle<3,3,3>", "b": "crosswise"}), build)
    command = ["nvcc", "-arch=sm_90", "-cubin", "-Werror", "all-warnings", *kernel.options, str(kernel.source)]

    subprocess.run([*command, "-o", str(tmp_path / "kernel.cubin")], check=True, timeout=300)

    assert (tmp_path / "kernel.cubin").stat().st_size > 0


def test_every_python_file_that_a_cuda_source_mirrors_is_there():
    folder = kernels_folder()
    named = {
        name
        for source in folder.rglob("*.cu*")
        for name in re.findall(r"gpusim/[\w/]+\.py", source.read_text(encoding="utf-8"))
    }

    assert len(named) > 15
    assert [name for name in sorted(named) if not (folder.parent / name).is_file()] == []
