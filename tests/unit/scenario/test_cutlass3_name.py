"""Names of CUTLASS 3.x's library: which kernel they name, and what gpusim has no kernel for."""

import pytest

from gpusim.errors import BadInput
from gpusim.families.registry import any_named_scenario
from gpusim.scenario.cutlass3_name import parse_3x_name

HEAD = "cutlass3x_sm90_tensorop_s64x128x16gemm_f16_f16_f32"
TILE = "128x128x64_2x1x1_0"
NAME = f"{HEAD}_f16_f16_{TILE}_tnt_align8_warpspecialized_cooperative_epi_tma"
EXTENTS = ("problem.m=512", "problem.n=512", "problem.k=512")


def test_a_name_states_types_tile_cluster_layouts_and_schedule():
    assert parse_3x_name(NAME) == {
        "machine": "h100_sxm",
        "problem": {
            "kind": "hopper_gemm",
            "layout_a": "row",
            "layout_b": "column",
            "dtype": {"ab": "f16", "accumulator": "f32", "output": "f16"},
        },
        "kernel": {
            "schedule": "cooperative",
            "tile": [128, 128, 64],
            "cluster": [2, 1],
            "stages": "auto",
            "void_c": False,
            "fast_accumulation": False,
        },
    }


@pytest.mark.parametrize(
    ("name", "path", "value"),
    [
        (f"{HEAD}_void_f32_{TILE}_tnt_align8_warpspecialized_pingpong_epi_tma", "kernel.void_c", True),
        (f"{HEAD}_void_f32_{TILE}_tnt_align8_warpspecialized_pingpong_epi_tma", "problem.dtype.output", "f32"),
        (f"{HEAD}_f16_f16_{TILE}_ntt_align8_warpspecialized_pingpong_epi_tma", "problem.layout_a", "column"),
        (f"{HEAD}_f16_f16_{TILE}_tnt_align8_warpspecialized_epi_tma", "kernel.schedule", "warp_specialized"),
        (f"{HEAD}_f16_f16_{TILE}_tnt_align8_epi_nosmem", "kernel.schedule", "non_specialized"),
        (
            f"{HEAD}_f16_f16_128x128x64_1x1x1_0_tnt_align8_stream_k_warpspecialized_cooperative_epi_tma",
            *("kernel.scheduler", "stream_k"),
        ),
        (
            ("cutlass3x_sm90_tensorop_s64x128x32gemm_e4m3_e4m3_f32_f16_f16_128x128x128_1x1x1_0_tnt_align16"
            "_warpspecialized_cooperative_fp8_fastaccum_epi_tma"),
            *("kernel.fast_accumulation", True),
        ),
        (
            ("cutlass3x_sm90_tensorop_s64x128x8tf32gemm_f32_f32_f32_f32_f32_128x128x32_1x1x1_0_tnt_align4"
            "_warpspecialized_cooperative_epi_tma"),
            *("problem.dtype.ab", "tf32"),
        ),
        (
            ("cutlass3x_sm90_tensorop_i64x128x32gemm_s8_s8_s32_s32_s32_64x128x128_1x1x1_4_tnt_align16"
            "_warpspecialized_pingpong_epi_tma"),
            *("kernel.stages", 4),
        ),
    ],
)  # fmt: skip
def test_names_of_all_schedules_and_types_are_scenarios(name, path, value):
    data = any_named_scenario(name, EXTENTS).resolved()
    for part in path.split("."):
        data = data[part]

    assert data == value


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (("_tnt_", "_tnn_"), "column-major outputs are not supported (layouts tnn, whose third letter must be t)"),
        (("_f16_f16_f32", "_f16_bf16_f32"), "kernels of two input types are not supported"),
        (("_f32_f16_f16_", "_f32_f32_f16_"), "kernels whose C has another type than D are not supported"),
        (("s64x128x16", "s64x999x16"), "the N of the instruction must be 128, got 999"),
        (("s64x128x16", "s64x128x8"), "the K of the instruction for f16 must be 16, got 8"),
        (("s64x", "h64x"), "the letter before 64x must be s for f32 accumulators"),
        (("align8", "align4"), "the alignment for f16, which TMA needs, must be 8, got 4"),
        (
            ("gemm_f16_f16", "gemm_f32_f32"),
            "a CUTLASS 3.x name must have tf32gemm for operands of f32 or tf32, and only for these",
        ),
        (("_epi_tma", "_epi_nosmem"), "the epilogue of cooperative must be epi_tma, got epi_nosmem"),
    ],
)
def test_what_gpusim_has_no_kernel_for_is_said(changed, message):
    name = NAME.replace(*changed, 1)

    with pytest.raises(BadInput) as error:
        parse_3x_name(name)
    assert str(error.value) == f"{message}: {name}"


def test_other_texts_are_no_names():
    with pytest.raises(BadInput, match=r"^a CUTLASS 3\.x name must read like cutlass3x_sm90_tensorop_s64x128x16gemm_"):
        parse_3x_name("cutlass3x_sm100_tensorop")
    with pytest.raises(BadInput, match=r"must be one of warpspecialized, .*got \"_ptr_array\" "):
        parse_3x_name(f"{HEAD}_f16_f16_{TILE}_tnt_align8_ptr_array_epi_tma".replace("_epi_tma", ""))
