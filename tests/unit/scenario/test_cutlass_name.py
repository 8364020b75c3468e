"""CUTLASS kernel names: real ones read and written back, what they imply, and what is refused in one line."""

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusim.element_types import element_bits
from gpusim.errors import BadInput
from gpusim.families.conv.fprop.problem import Conv2dFpropProblem
from gpusim.families.gemm.gemm import GemmProblem
from gpusim.families.registry import named_scenario, parse_scenario
from gpusim.scenario import cutlass_library as library
from gpusim.scenario.cutlass_name import format_name, parse_name
from gpusim.scenario.gemm import GemmScenario
from gpusim.scenario.kernel import Kernel
from gpusim.scenario.text import Origin
from gpusim.verbs.verify import verify

DATA = json.loads((Path(__file__).parent / "data" / "cutlass_names.json").read_text())
NAMES = [row["name"] for row in DATA["names"]]
WITH_WARPS = [row for row in DATA["names"] if "warps" in row]
EXTENTS = {
    "gemm": {"m": 512, "n": 256, "k": 256},
    "conv2d_fprop": {"n": 1, "h": 16, "w": 16, "c": 256, "k": 128, "r": 3, "s": 3, "padding": [1, 1]},
}
TN = "cutlass_tensorop_f16_s16816gemm_f16_128x128_32x4_tn_align8"
CONV = "cutlass_tensorop_s16816fprop_analytic_f16_128x128_64x3_nhwc_align8"
ORIGIN = Origin("x.toml")

# Rounding float operands to tf32, tf32 outputs, and a k tile shared by warps; and what is not simulated besides them.
NO_SCENARIO = r"s1688tf32gemm|_tf32_s1688|s1688gemm_f16_64x128_64x2"
NOT_SIMULATED = rf"{NO_SCENARIO}|_h16816|_h1688"


def unchecked(name):
    """The scenario of a name as the models hold it, whether or not its kernel is simulated yet."""
    data = parse_name(name)
    data["problem"] |= EXTENTS[data["problem"]["kind"]]
    return modelled(data)


def changed(name, table, **values):
    data = parse_name(name)
    data["problem"] |= EXTENTS[data["problem"]["kind"]]
    data[table] |= values
    return modelled(data)


def modelled(data):
    model = GemmProblem if data["problem"]["kind"] == "gemm" else Conv2dFpropProblem
    return GemmScenario(machine=data["machine"], problem=model(**data["problem"]), kernel=Kernel(**data["kernel"]))


def test_the_real_names_are_thirty_at_least_and_each_has_its_source():
    assert len(set(NAMES)) == len(NAMES) >= 30
    assert all(row["source"] for rows in DATA.values() for row in rows if "what" not in row)


@pytest.mark.parametrize("name", NAMES)
def test_a_real_name_is_written_back_as_it_was(name):
    assert format_name(unchecked(name), ORIGIN) == name


@pytest.mark.parametrize("row", WITH_WARPS, ids=lambda row: row["name"])
def test_the_warps_are_those_listed_beside_the_name(row):
    assert list(unchecked(row["name"]).kernel.warps) == row["warps"]


def overrides_of(name):
    """Extents of a problem small enough to compute, ragged where the alignment lets it be."""
    extents = {"n": 1, "h": 9, "w": 8, "c": 128, "k": 64, "r": 2, "s": 2} if "fprop" in name else {}
    return [f"problem.{key}={value}" for key, value in (extents or {"m": 160, "n": 192, "k": 192}).items()]


@pytest.mark.parametrize("name", [name for name in NAMES if not re.search(NOT_SIMULATED, name)])
def test_the_kernel_of_a_real_name_computes_the_right_numbers(name):
    report = verify(named_scenario(name, overrides_of(name)), 1)

    assert report.wrong_elements == 0
    assert report.hazards == ()


@pytest.mark.parametrize("name", [name for name in NAMES if re.search(NO_SCENARIO, name)])
def test_a_kernel_with_a_name_and_without_a_scenario_is_refused_by_its_key(name):
    with pytest.raises(BadInput, match=r"(dtype.ab|dtype.output|warp) must be .* \(other values|sliced K"):
        named_scenario(name, overrides_of(name))


@pytest.mark.parametrize("row", DATA["without_alignment"], ids=lambda row: row["name"])
def test_an_old_convolution_without_alignment_has_the_widest(row):
    scenario = unchecked(row["name"])
    widest = 128 // element_bits(scenario.problem.dtype.ab)

    assert scenario.problem.alignment_a == widest
    assert format_name(scenario, ORIGIN) == f"{row['name']}_align{widest}"


@pytest.mark.parametrize("row", DATA["outside"], ids=lambda row: row["name"])
def test_a_kernel_outside_says_what_is_not_supported_in_one_line(row):
    with pytest.raises(BadInput, match=r"not supported") as refusal:
        parse_name(row["name"])

    assert row["what"] in str(refusal.value)
    assert row["name"] in str(refusal.value)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("cutlass_tensorop_", "a CUTLASS name must read like"),
        (TN.replace("tn", "nhwc"), "a CUTLASS name must read like"),
        (CONV.replace("nhwc", "tn"), "a CUTLASS name must read like"),
        (TN.removesuffix("_align8"), "a CUTLASS name must end in _align"),
        (TN.replace("s16816", "s16817"), "the instruction of a CUTLASS name must be one of 16816, 1688, 16832"),
        (TN.replace("gemm_f16", "gemm_s8"), "the types of a 16816 kernel must be one of f16 with f32, f16 with f16"),
        (TN.replace("gemm_f16", "tf32gemm"), "the types of a 16816 kernel must be one of"),
        (TN.replace("f16_s16816gemm_f16", "h16816gemm_f16"), "the types of a 16816 kernel must be one of"),
        (TN.replace("f16_s", "f32_s"), "a CUTLASS name must leave out the output's type"),
        (TN.replace("128x128_32", "96x96_32"), "the library's 16816 kernels have no 96x96 tile"),
    ],
)
def test_a_wrong_name_is_refused(name, message):
    with pytest.raises(BadInput, match=message):
        parse_name(name)


@pytest.mark.parametrize(
    ("letters", "layouts", "shared"),
    [
        ("tn", ("row", "column"), ("crosswise", "crosswise")),
        ("nt", ("column", "row"), ("congruous", "congruous")),
        ("nn", ("row", "row"), ("crosswise", "congruous")),
        ("tt", ("column", "column"), ("congruous", "crosswise")),
    ],
)
def test_layout_letters_are_of_the_transposed_problem(letters, layouts, shared):
    """
    The profiler's nn is A and B column-major with a column-major C; transposed, C^T = B^T A^T is row-major throughout,
    which is how CUTLASS's example 47 writes the kernel it calls nn.
    """
    data = parse_name(TN.replace("tn", letters))

    assert (data["problem"]["layout_a"], data["problem"]["layout_b"]) == layouts
    assert (data["kernel"]["shared"]["a"], data["kernel"]["shared"]["b"]) == shared


def test_what_a_name_implies():
    data = parse_name(TN)

    assert data == {
        "machine": "a100",
        "problem": {
            "kind": "gemm",
            "layout_a": "row",
            "layout_b": "column",
            "alignment_a": 8,
            "alignment_b": 8,
            "alignment_c": 8,
            "dtype": {"ab": "f16", "accumulator": "f32", "output": "f16"},
        },
        "kernel": {
            "mainloop": "multistage",
            "threadblock": [128, 128, 32],
            "warp": [64, 64, 32],
            "instruction": [16, 8, 16],
            "stages": 4,
            "threadblock_swizzle": "identity<8>",
            "shared": {"a": "crosswise", "b": "crosswise"},
        },
    }
    assert parse_name(CONV)["kernel"]["threadblock_swizzle"] == "identity<4>"
    assert parse_name(CONV)["kernel"]["iterator"] == "analytic"


def test_two_stages_are_pipelined_and_turing_s_instructions_are_for_the_t4():
    turing = parse_name("cutlass_tensorop_s8_i8816gemm_s8_256x128_64x2_tn_align16")

    assert (turing["machine"], turing["kernel"]["mainloop"]) == ("t4", "pipelined")
    assert turing["kernel"]["instruction"] == [8, 8, 16]
    assert parse_name("cutlass_tensorop_s1688gemm_tf32_256x128_16x3_tt_align4")["machine"] == "a100"


@pytest.mark.parametrize(
    ("name", "elements"),
    [
        ("cutlass_tensorop_s16816gemm_f16_128x128_32x3_nn_align8", 4),
        ("cutlass_tensorop_f16_s16816gemm_f16_128x128_32x3_nn_align4", 4),
        ("cutlass_tensorop_s8_i16832gemm_s8_256x128_64x3_tn_align16", 16),
        ("cutlass_tensorop_s8_i16832gemm_s8_256x64_64x4_tn_align16", 8),
        ("cutlass_tensorop_u8_i16832gemm_u8_32x256_128x4_tn_align16", 8),
        ("cutlass_tensorop_s8_i8816gemm_s8_32x256_64x2_tn_align16", 16),
        ("cutlass_tensorop_i8832gemm_s4_256x128_128x2_tn_align32", 4),
    ],
)
def test_the_output_s_alignment_follows_the_generator(name, elements):
    assert parse_name(name)["problem"]["alignment_c"] == elements


@pytest.mark.parametrize(
    ("scenario", "message"),
    [
        (changed(TN, "kernel", shared={"a": "padded<8>", "b": "crosswise"}), 'shared.a must be "crosswise", as in'),
        (changed(TN, "kernel", warp=[32, 64, 32]), r"warp must be \[64, 64, 32\], as in"),
        (changed(TN, "kernel", threadblock=[96, 128, 32]), "threadblock must be a tile of CUTLASS's 16816 kernels"),
        (changed(TN, "kernel", mainloop="pipelined"), 'mainloop must be "multistage", as in'),
        (changed(TN, "problem", alignment_b=4), "alignment_b must be 8, as in"),
        (changed(TN, "problem", alignment_c=2), "alignment_c must be 8, as in"),
        (
            changed(TN, "problem", dtype={"ab": "s8", "accumulator": "s32", "output": "s8"}),
            "dtype must be one of f16 with f32, f16 with f16, bf16 with f32 for m16n8k16 in a name",
        ),
        (
            changed(TN, "problem", dtype={"ab": "f64", "accumulator": "f64", "output": "f64"}),
            'got "f64 with f64"',
        ),
    ],
)
def test_a_kernel_without_a_name_says_which_key_stands_in_the_way(scenario, message):
    with pytest.raises(BadInput, match=message) as refusal:
        format_name(scenario, ORIGIN)

    assert "x.toml: " in str(refusal.value)


@st.composite
def names(draw):
    digits = draw(st.sampled_from(sorted(library.INSTRUCTION_SHAPES)))
    ab, accumulator = draw(st.sampled_from(library.OPERANDS[digits]))
    depth = library.INSTRUCTION_SHAPES[digits][2] * draw(st.sampled_from((2, 4, 8)))
    m, n = draw(st.sampled_from(((256, 128), (128, 256), (128, 128), (64, 256), (256, 64), (64, 128), (64, 64))))
    output = draw(st.sampled_from((accumulator, ab)))
    letter = {"f16": "h", "f32": "s", "s32": "i"}[accumulator]
    widest = 128 // element_bits(ab)
    alignment = draw(st.sampled_from([1 << power for power in range(widest.bit_length())]))
    rounded = "tf32" if ab == "f32" else ""
    prefix = f"{output}_" if output != accumulator else ""
    suffix = f"_{ab}" if ab != accumulator else ""
    kind, layout = draw(
        st.sampled_from(
            [*(("gemm", letters) for letters in ("nn", "nt", "tn", "tt"))]
            + [(f"fprop_{iterator}", "nhwc") for iterator in ("analytic", "optimized")]
        )
    )
    tile = f"{m}x{n}_{depth}x{draw(st.integers(2, 10))}"
    return f"cutlass_tensorop_{prefix}{letter}{digits}{rounded}{kind}{suffix}_{tile}_{layout}_align{alignment}"


@given(name=names())
def test_a_legal_name_is_written_back_as_it_was(name):
    assert format_name(unchecked(name), ORIGIN) == name


@given(
    tile=st.sampled_from(("128x128_32x4", "128x128_64x3", "64x64_64x5", "256x128_32x3", "128x256_32x3", "64x64_32x6")),
    output=st.sampled_from(("f16_", "")),
    conv=st.booleans(),
    extents=st.lists(st.integers(1, 20), min_size=3, max_size=3),
    machine=st.sampled_from(("a100", "h200")),
)
def test_a_scenario_s_name_gives_the_scenario_back(tile, output, conv, extents, machine):
    kind, layout = ("fprop_analytic", "nhwc") if conv else ("gemm", "tn")
    given_name = f"cutlass_tensorop_{output}s16816{kind}_f16_{tile}_{layout}_align8"
    keys = ("h", "k", "c") if conv else ("m", "n", "k")
    values = dict(zip(keys, (8 * extent for extent in extents), strict=True))
    values |= {"n": 1, "w": 5, "r": 2, "s": 1} if conv else {}
    overrides = [f"problem.{key}={value}" for key, value in values.items()] + [f"machine={machine}"]
    scenario = named_scenario(given_name, overrides)

    again = named_scenario(format_name(scenario, ORIGIN), overrides)

    assert again == scenario
    written_out = parse_scenario(scenario.resolved(), "again.toml")
    assert format_name(written_out, ORIGIN) == given_name
