"""A scenario file: defaults, derived values, overrides, and the way back to TOML."""

import tomllib
from math import sqrt
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusim.element_types import element_bits
from gpusim.errors import BadInput
from gpusim.families.attention.problem import AttentionProblem
from gpusim.families.gemm.conv2d import Conv2dFpropProblem
from gpusim.families.gemm.gemm import GemmProblem
from gpusim.families.registry import load_scenario, parse_scenario, scenario_schema
from gpusim.layout.named import shared_layout
from gpusim.machine import machine_names
from gpusim.scenario.checks import shared_operand_bytes
from gpusim.scenario.text import write_toml
from gpusim.tile.ldmatrix import fragment_loads

SCENARIOS = Path(__file__).parents[2] / "scenarios"
FILES = sorted(SCENARIOS.glob("*.toml"))
GEMM = {"machine": "h200", "problem": {"kind": "gemm", "m": 100, "n": 36, "k": 44}}


def conv(**changes):
    problem = {"kind": "conv2d_fprop", "n": 1, "h": 8, "w": 9, "c": 16, "k": 24, "r": 3, "s": 3}
    return parse_scenario({"machine": "h200", "problem": problem | changes}, "x.toml").problem


def gemm(**changes):
    return parse_scenario(GEMM | {"problem": GEMM["problem"] | changes}, "x.toml").problem


def refusal(data):
    """The message of a refused scenario, or nothing."""
    try:
        parse_scenario(data, "x.toml")
    except BadInput as refused:
        return str(refused)
    return ""


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_shipped_scenarios_load_and_open_with_their_question(path):
    first = path.read_text().splitlines()[0]

    assert first.startswith("# ")
    assert first.endswith("?")
    assert load_scenario(path).machine in machine_names()


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_resolved_scenario_loads_back_as_itself(path, tmp_path):
    scenario = load_scenario(path)
    copy = tmp_path / "scenario.resolved.toml"
    copy.write_text(write_toml(scenario.resolved()))

    again = load_scenario(copy)

    assert again.resolved() == scenario.resolved()
    assert again.digest() == scenario.digest()


def test_equal_questions_have_equal_digests_and_different_ones_do_not():
    written_out = {"lda": 44, "ldb": 44, "ldc": 36, "alignment_a": 4, "alpha": 1}

    assert parse_scenario(GEMM, "a.toml").digest() == (
        parse_scenario(GEMM | {"problem": GEMM["problem"] | written_out}, "b.toml").digest()
    )
    assert parse_scenario(GEMM, "a.toml").digest() != (
        parse_scenario(GEMM | {"problem": GEMM["problem"] | {"beta": 1.0}}, "a.toml").digest()
    )


def test_a_gemm_is_packed_unless_leading_dimensions_are_given():
    assert (gemm().leading_a, gemm().leading_b, gemm().leading_c) == (44, 44, 36)
    assert gemm(lda=48).leading_a == 48


@pytest.mark.parametrize(
    ("changes", "accesses"),
    [
        ({"k": 64}, (8, 8, 4)),
        ({"k": 44}, (4, 4, 4)),
        ({"k": 42, "n": 35}, (2, 2, 1)),
        ({"k": 64, "lda": 68}, (4, 8, 4)),
        ({"k": 64, "n": 36, "ldc": 38}, (8, 8, 2)),
        ({"k": 64, "dtype": {"output": "f16"}, "n": 40}, (8, 8, 8)),
        ({"k": 64, "alignment_b": 2}, (8, 2, 4)),
    ],
)
def test_the_default_access_is_the_widest_that_divides_extent_and_leading_dimension(changes, accesses):
    problem = gemm(**changes)

    assert (problem.access("a"), problem.access("b"), problem.access_c) == accesses


def test_a_convolution_accesses_channels():
    problem = conv(c=12, k=18)

    assert (problem.access("a"), problem.access("b"), problem.access_c) == (4, 4, 2)


@given(
    h=st.integers(1, 40),
    r=st.integers(1, 7),
    pad=st.integers(0, 4),
    stride=st.integers(1, 3),
    dilation=st.integers(1, 3),
)
def test_the_output_height_counts_the_places_where_the_filter_fits(h, r, pad, stride, dilation):
    problem = Conv2dFpropProblem(
        n=1, h=h, w=1, c=8, k=8, r=r, s=1, padding=(pad, 0), stride=(stride, 1), dilation=(dilation, 1)
    )
    last_row = np.arange(0, h + 2 * pad, stride) + dilation * (r - 1)

    assert max(0, problem.output_p) == np.count_nonzero(last_row < h + 2 * pad)


def test_a_given_output_extent_holds():
    problem = conv(p=5, q=6)

    assert (problem.output_p, problem.output_q) == (5, 6)
    assert (conv().output_p, conv().output_q) == (6, 7)


def test_a_filter_that_does_not_fit_passes_with_a_given_output_extent():
    assert conv(r=9, p=1).output_p == 1


def test_the_kernel_derives_warps_threads_and_k_groups():
    kernel = parse_scenario(
        GEMM | {"kernel": {"threadblock": [128, 256, 32], "warp": [64, 64, 32]}},
        "x.toml",
    ).kernel

    assert kernel.warps == (2, 4, 1)
    assert kernel.threads == 256
    assert kernel.k_groups == 2


def test_overrides_take_toml_values_and_bare_words():
    scenario = load_scenario(
        SCENARIOS / "conv_s6_crosswise.toml",
        [
            "problem.c=64",
            "problem.c = 256",
            "problem.padding=[2, 0]",
            "problem.alpha=0.5",
            "machine=a100",
            "kernel.shared.b=padded<8>",
            'problem.dtype={ output = "f16" }',
            "problem.mode=convolution",
        ],
    )
    problem = scenario.problem

    assert isinstance(problem, Conv2dFpropProblem)
    assert (problem.c, problem.padding, problem.alpha, problem.mode) == (256, (2, 0), 0.5, "convolution")
    assert (scenario.machine, scenario.kernel.shared.b, problem.dtype.output) == ("a100", "padded<8>", "f16")


def test_an_override_may_name_a_table_the_file_left_out():
    scenario = load_scenario(SCENARIOS / "gemm_ragged.toml", ["kernel.shared.a=row_major"])

    assert [scenario.shared_layout(operand) for operand in ("a", "b")] == ["row_major", "crosswise"]


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("problem.cc=256", 'unknown key "cc", did you mean "c"? ({file}: problem.cc, by --set problem.cc=256)'),
        ("kernel.stages=1", "stages must be 3..10, got 1 ({file}: kernel.stages, by --set kernel.stages=1)"),
        ("problem.c=-1", "c must be at least 1, got -1 ({file}: problem.c, by --set problem.c=-1)"),
        ("problem.c.d=1", "problem.c must be a table, got 128 ({file}: problem.c.d, by --set problem.c.d=1)"),
        ("problem.c", '--set must be KEY=VALUE with a dotted key, got "problem.c"'),
        ("=3", '--set must be KEY=VALUE with a dotted key, got "=3"'),
        ("kernel.stages=x", 'stages must be an integer, got "x" ({file}: kernel.stages, by --set kernel.stages=x)'),
        ("problem.c=1\nd=2", '--set must be KEY=VALUE with a dotted key, got "problem.c=1\\nd=2"'),
    ],
)
def test_a_bad_override_is_named_in_the_message(override, message):
    with pytest.raises(BadInput) as refused:
        load_scenario(SCENARIOS / "conv_s6_crosswise.toml", [override])

    assert str(refused.value) == message.format(file=SCENARIOS / "conv_s6_crosswise.toml")


@pytest.mark.parametrize(
    ("scenario", "overrides", "message"),
    [
        (
            "gemm_4096",
            ["problem.n=16777216", "problem.m=128"],
            (
                "n must be small enough that gridDim.y is at most 65535, not 131072, got 16777216 ({file}: problem.n, "
                "by --set problem.n=16777216)"
            ),
        ),
        (
            "gemm_4096",
            ["problem.m=16777216", "problem.n=128", "kernel.threadblock_swizzle=horizontal"],
            (
                "m must be small enough that gridDim.y is at most 65535, not 131072, got 16777216 ({file}: problem.m, "
                "by --set problem.m=16777216)"
            ),
        ),
        (
            "gemm_4096",
            ["problem.m=2147483647", "problem.n=256", "problem.k=64"],
            (
                "m must be small enough that the grid has at most 16777216 CTAs, not 33554432, got 2147483647 "
                "({file}: problem.m, by --set problem.m=2147483647)"
            ),
        ),
        (
            "gemm_4096",
            ["problem.k=2147483640", "problem.m=8", "problem.n=8"],
            (
                "k must be small enough that a CTA has at most 2097152 k tiles, not 33554432, got 2147483640 "
                "({file}: problem.k, by --set problem.k=2147483640)"
            ),
        ),
        (
            "gemm_4096",
            ["problem.lda=2000000000"],
            (
                "lda must be small enough that A has at most 1099511627776 elements, not 8192000000000, got 2000000000 "
                "({file}: problem.lda, by --set problem.lda=2000000000)"
            ),
        ),
        (
            "gemm_4096",
            ["problem.split_k_slices=70000", "problem.k=4480000", "problem.m=8", "problem.n=8"],
            (
                "split_k_slices must be such that gridDim.z is at most 65535, not 70000, got 70000 "
                "({file}: problem.split_k_slices, by --set problem.split_k_slices=70000)"
            ),
        ),
        (
            "conv_s6_crosswise",
            ["problem.h=2147483647"],
            (
                "h must be small enough that the activation has at most 1099511627776 elements, not {elements}, "
                "got 2147483647 ({file}: problem.h, by --set problem.h=2147483647)"
            ),
        ),
        (
            "gemm_4096",
            ["problem.k=2147483648"],
            "k must be at most 2147483647, got 2147483648 ({file}: problem.k, by --set problem.k=2147483648)",
        ),
    ],
    ids=["grid-y", "grid-y-horizontal", "ctas", "k-tiles", "elements", "grid-z", "activation", "extent"],
)
def test_sizes_beyond_a_launch_or_the_simulation_are_refused(scenario, overrides, message):
    path = SCENARIOS / f"{scenario}.toml"
    with pytest.raises(BadInput) as refused:
        load_scenario(path, overrides)

    shape = load_scenario(path).problem
    elements = 2147483647 * shape.n * shape.w * shape.c if isinstance(shape, Conv2dFpropProblem) else 0
    assert str(refused.value) == message.format(file=path, elements=elements)


@pytest.mark.parametrize(
    ("wrong", "near"),
    [
        ("problem.C=4", "c"),
        ("problem.pading=[1,1]", "padding"),
        ("kernel.acc=4", None),
        ("kernel.swizzle=1", "threadblock_swizzle"),
    ],
)
def test_a_misspelt_key_is_answered_with_the_nearest(wrong, near):
    with pytest.raises(BadInput) as refused:
        load_scenario(SCENARIOS / "conv_s6_crosswise.toml", [wrong])

    key = wrong.partition("=")[0]
    hint = (
        f'did you mean "{near}"?'
        if near
        else f"allowed: {', '.join(type(load_scenario(SCENARIOS / 'conv_s6_crosswise.toml').kernel).model_fields)}"
    )
    name = key.rpartition(".")[2]
    file = SCENARIOS / "conv_s6_crosswise.toml"
    assert str(refused.value) == f'unknown key "{name}", {hint} ({file}: {key}, by --set {wrong})'


@pytest.mark.parametrize("text", ["m = " + "9" * 5000, "m = " + "[" * 5000], ids=["digits", "brackets"])
def test_text_that_breaks_the_toml_reader_is_bad_input(tmp_path, text):
    path = tmp_path / "x.toml"
    path.write_text(text)

    with pytest.raises(BadInput, match=r"^scenario must be TOML: .* \(.*x.toml\)$"):
        load_scenario(path)


def test_a_missing_file_is_bad_input():
    with pytest.raises(BadInput) as refused:
        load_scenario("nowhere/x.toml")

    assert str(refused.value) == ('scenario must be a readable file, got "nowhere/x.toml" (No such file or directory)')


def test_bytes_that_are_no_text_are_bad_input(tmp_path):
    path = tmp_path / "x.toml"
    path.write_bytes(b"machine = '\xff'")

    with pytest.raises(BadInput, match=r"^scenario must be UTF-8 text: invalid start byte at byte 11 \("):
        load_scenario(path)


def test_a_machine_path_is_relative_to_the_scenario_and_kept_whole(tmp_path):
    shipped = Path(__file__).parents[2] / "gpusim" / "machine" / "h200.toml"
    (tmp_path / "mine.toml").write_text(shipped.read_text())
    (tmp_path / "x.toml").write_text('machine = "mine.toml"\n[problem]\nkind = "gemm"\nm = 8\nn = 8\nk = 8\n')

    assert load_scenario(tmp_path / "x.toml").machine == str(tmp_path / "mine.toml")


def test_the_schema_lists_every_key_and_what_works_today():
    schema = scenario_schema()
    kernel, problem = schema["$defs"]["Kernel"], schema["$defs"]["GemmProblem"]

    assert schema["additionalProperties"] is False
    assert kernel["properties"]["mainloop"]["supported"] == ["multistage", "pipelined"]
    assert set(problem["properties"]) == set(GemmProblem.model_fields)
    assert {"m", "n", "k"} <= set(problem["required"])
    assert set(schema["properties"]) == {"machine", "problem", "kernel"}
    assert set(schema["$defs"]["AttentionProblem"]["properties"]) == set(AttentionProblem.model_fields)
    assert set(schema["properties"]["problem"]["discriminator"]["mapping"]) == {"gemm", "conv2d_fprop", "attention"}


def test_an_attention_scenario_resolves_to_one_that_resolves_to_itself():
    """What is left out is written out: CUTLASS's blocks, or flash's; equal questions have equal digests."""
    problem = {
        "kind": "attention",
        "batch": 2,
        "heads": 3,
        "queries": 100,
        "keys": 70,
        "head_dim": 96,
        "head_dim_v": 64,
    }
    for kernel in ({"mainloop": "attention"}, {"mainloop": "flash"}, {"keys_per_block": 128}):
        given = problem | {"query_lengths": [100, 7]}
        scenario = parse_scenario({"machine": "h200", "problem": given, "kernel": kernel}, "x.toml")
        written = tomllib.loads(write_toml(scenario.resolved()))
        again = parse_scenario(written, "x.toml")
        assert again.resolved() == scenario.resolved()
        assert again.digest() == scenario.digest()
        assert "key_lengths" not in scenario.resolved()["problem"]
        assert scenario.resolved()["problem"]["scale"] == 1 / sqrt(96)


def test_element_bits_of_every_type_of_the_contract():
    names = ("f16", "bf16", "tf32", "f32", "f64", "s8", "u8", "s4", "u4", "s32")

    assert [element_bits(name) for name in names] == [16, 16, 32, 32, 64, 8, 8, 4, 4, 32]


@pytest.mark.parametrize("name", ["crosswise", "row_major", "padded<8>", "padded<24>", "Swizzle<3,3,3>"])
@pytest.mark.parametrize("operand", ["a", "b"])
def test_shared_bytes_are_those_of_the_layout(name, operand):
    kernel = {"threadblock": [64, 128, 64], "warp": [32, 32, 64], "stages": 4, "shared": {"a": name, "b": name}}
    scenario = parse_scenario(GEMM | {"kernel": kernel}, "x.toml")
    rows = kernel["threadblock"]["ab".index(operand)]
    layout = shared_layout(name, 16, 64, rows, 4)
    last = max(int(layout.offset(63, np.arange(rows), stage).max()) for stage in range(4))

    assert shared_operand_bytes(scenario, operand) == 2 * layout.elements
    assert 2 * last < 2 * layout.elements


@given(
    threadblock=st.tuples(*[st.sampled_from([16, 32, 48, 64, 96, 128, 192, 256])] * 2, st.sampled_from([32, 64])),
    warp=st.tuples(*[st.sampled_from([16, 32, 48, 64])] * 2),
    n=st.sampled_from([33, 34, 36, 40]),
    output=st.sampled_from(["f16", "f32"]),
)
def test_an_accepted_kernel_has_all_its_iterators(threadblock, warp, n, output):
    data = {
        "machine": "h200",
        "problem": GEMM["problem"] | {"n": n, "dtype": {"output": output}},
        "kernel": {"threadblock": list(threadblock), "warp": [*warp, threadblock[2]]},
    }
    try:
        scenario = parse_scenario(data, "x.toml")
    except BadInput:
        return

    for operand in ("a", "b"):
        assert scenario.operand(operand).thread_map.threads == scenario.kernel.threads
        assert fragment_loads(scenario.operand(operand)).instructions >= 1
    assert scenario.epilogue.threadblock == threadblock


plain = st.recursive(
    st.booleans() | st.integers(-(2**60), 2**60) | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(), plain, max_size=4))
def test_written_toml_reads_back_equal(data):
    assert tomllib.loads(write_toml(data)) == data


WRITTEN_OUT = load_scenario(SCENARIOS / "conv_s6_crosswise.toml").resolved()
KEYS = [
    *[(key,) for key in WRITTEN_OUT],
    *[(table, key) for table in ("problem", "kernel") for key in WRITTEN_OUT[table]],
    *[("problem", "dtype", key) for key in WRITTEN_OUT["problem"]["dtype"]],
    *[("kernel", "shared", key) for key in "ab"],
]


@given(path=st.sampled_from(KEYS), value=plain | st.integers(-2, 70) | st.lists(st.integers(-1, 200), max_size=4))
def test_whatever_stands_at_a_key_the_answer_is_a_scenario_or_one_line(path, value):
    data = tomllib.loads(write_toml(WRITTEN_OUT))
    table = data
    for key in path[:-1]:
        table = table[key]
    table[path[-1]] = value

    message = refusal(data)

    assert "\n" not in message
    assert not message or message.endswith(")")


def test_odd_names_stay_on_one_line():
    assert refusal(GEMM | {"a\nb": 1}) == ('unknown key "a\\nb", allowed: machine, problem, kernel (x.toml: "a\\nb")')
    assert "\n" not in refusal(GEMM | {"machine": "a\nb"})
    assert refusal(GEMM | {"machine": "a\0/b"}).startswith("machine file must be readable")
