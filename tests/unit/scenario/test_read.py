"""A scenario file: overrides, digests, and what is refused in one line."""

import tomllib
from importlib import resources
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusim.errors import BadInput
from gpusim.families.conv.fprop.problem import Conv2dFpropProblem
from gpusim.families.registry import load_scenario, parse_scenario, scenario_of
from gpusim.machine import machine_names
from gpusim.scenario.text import write_toml

SCENARIOS = Path(__file__).parents[3] / "scenarios"
FILES = sorted(SCENARIOS.glob("*.toml"))
GEMM = {"machine": "h200", "problem": {"kind": "gemm", "m": 100, "n": 36, "k": 44}}


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
    "overrides",
    [
        ["machine.sms=20", "machine=l40s", "machine.l2.bytes=1048576"],
        ["machine=a100", "machine.l2.bytes=1048576", "machine.sms=10", "machine.sms=20", "machine=l40s"],
        ["machine=l40s with sms = 20, l2.bytes = 1048576"],
        ["machine=l40s with sms = 30, l2.bytes = 1048576", "machine.sms=20"],
    ],
)
def test_a_figure_of_the_machine_is_set_in_whatever_order_its_machine_is(overrides):
    scenario = load_scenario(SCENARIOS / "gemm_ragged.toml", overrides)

    assert scenario.machine == "l40s with l2.bytes = 1048576, sms = 20"
    assert scenario.resolved()["machine"] == scenario.machine


def test_a_machine_with_another_figure_is_another_question_and_with_the_same_one_is_not():
    plain, half, same = (
        load_scenario(SCENARIOS / "gemm_ragged.toml", overrides)
        for overrides in ([], ["machine.sms=66"], ["machine.sms=132"])
    )

    assert half.machine == "h200 with sms = 66"
    assert same.machine == plain.machine == "h200"
    assert same.digest() == plain.digest() != half.digest()
    assert half.replace(kernel={"stages": 4}).machine == half.machine


def test_a_figure_of_a_machine_file_beside_the_scenario_is_set(tmp_path):
    shipped = resources.files("gpusim.machine").joinpath("h200.toml").read_text(encoding="utf-8")
    (tmp_path / "mine.toml").write_text(shipped)
    (tmp_path / "x.toml").write_text(write_toml(GEMM | {"machine": "mine.toml"}))

    assert load_scenario(tmp_path / "x.toml", ["machine.sms=66"]).machine == f"{tmp_path / 'mine.toml'} with sms = 66"


@pytest.mark.parametrize(
    ("override", "message"),
    [
        (
            "machine.sms=0",
            "machine.sms must be an integer of 1 to 4096 (SMs), got 0 ({file}: machine.sms, by --set machine.sms=0)",
        ),
        (
            "machine.sms=many",
            (
                'machine.sms must be an integer of 1 to 4096 (SMs), got "many"'
                " ({file}: machine.sms, by --set machine.sms=many)"
            ),
        ),
        (
            "machine.smms=3",
            'unknown key "machine.smms", did you mean "machine.sms"? ({file}: machine.smms, by --set machine.smms=3)',
        ),
    ],
)
def test_a_figure_that_is_not_allowed_is_named_in_the_message(override, message):
    with pytest.raises(BadInput) as refused:
        load_scenario(SCENARIOS / "gemm_ragged.toml", [override])

    assert str(refused.value) == message.format(file=SCENARIOS / "gemm_ragged.toml")


def test_a_figure_needs_a_machine_that_has_it():
    with pytest.raises(BadInput, match=r"^machine must be a name or a path where machine.sms is set, got 5 \("):
        scenario_of({**GEMM, "machine": 5}, ["machine.sms=3"])


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("problem.cc=256", 'unknown key "cc", did you mean "c"? ({file}: problem.cc, by --set problem.cc=256)'),
        ("kernel.stages=1", "stages must be 2..10, got 1 ({file}: kernel.stages, by --set kernel.stages=1)"),
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
            ["problem.k=4194304", "problem.m=8", "problem.n=8"],
            (
                "k must be small enough that a simulation takes at most 8 GiB of memory, not 11.7 GiB, got 4194304 "
                "({file}: problem.k, by --set problem.k=4194304)"
            ),
        ),
        (
            "flash_128x64",
            ["problem.keys=16777216", "problem.queries=128"],
            (
                "keys must be small enough that a simulation takes at most 8 GiB of memory, not 46.9 GiB, got "
                "16777216 ({file}: problem.keys, by --set problem.keys=16777216)"
            ),
        ),
        (
            "conv_s6_crosswise",
            ["kernel.shared.a=padded<100000000>"],
            (
                'shared.a must be padded by at most 1024 elements, got "padded<100000000>" ({file}: kernel.shared.a, '
                "by --set kernel.shared.a=padded<100000000>)"
            ),
        ),
        (
            "conv_s6_crosswise",
            ["kernel.shared.a=Swizzle<0,900,0>"],
            (
                "shared.a must be Swizzle<B,M,S> with B + M + abs(S) at most 31, the bits of an offset, got "
                '"Swizzle<0,900,0>" ({file}: kernel.shared.a, by --set kernel.shared.a=Swizzle<0,900,0>)'
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
    ids=[
        "grid-y",
        "grid-y-horizontal",
        "ctas",
        "k-tiles",
        "memory",
        "memory-of-keys",
        "padding",
        "swizzle",
        "elements",
        "grid-z",
        "activation",
        "extent",
    ],
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
    shipped = Path(__file__).parents[3] / "gpusim" / "machine" / "h200.toml"
    (tmp_path / "mine.toml").write_text(shipped.read_text())
    (tmp_path / "x.toml").write_text('machine = "mine.toml"\n[problem]\nkind = "gemm"\nm = 8\nn = 8\nk = 8\n')

    assert load_scenario(tmp_path / "x.toml").machine == str(tmp_path / "mine.toml")


def machine_file(folder):
    folder.mkdir(exist_ok=True)
    shipped = Path(__file__).parents[3] / "gpusim" / "machine" / "h200.toml"
    return (folder / "mine.toml").write_text(shipped.read_text(encoding="utf-8"))


def test_a_machine_path_is_looked_for_beside_the_scenario_then_where_the_user_stands(tmp_path, monkeypatch):
    here, there = tmp_path / "here", tmp_path / "there"
    machine_file(here)
    there.mkdir()
    (there / "x.toml").write_text('machine = "mine.toml"\n[problem]\nkind = "gemm"\nm = 8\nn = 8\nk = 8\n')
    monkeypatch.chdir(here)

    assert load_scenario(there / "x.toml").machine == str(here / "mine.toml")
    machine_file(there)
    assert load_scenario(there / "x.toml").machine == str(there / "mine.toml")


def test_a_machine_path_by_an_override_is_looked_for_where_the_user_stands_first(tmp_path, monkeypatch):
    machine_file(tmp_path / "here")
    machine_file(tmp_path / "there")
    (tmp_path / "there" / "x.toml").write_text('machine = "h200"\n[problem]\nkind = "gemm"\nm = 8\nn = 8\nk = 8\n')
    monkeypatch.chdir(tmp_path / "here")
    machine = load_scenario(tmp_path / "there" / "x.toml", ["machine=mine.toml"]).machine

    assert machine == str(tmp_path / "here" / "mine.toml")


plain = st.recursive(
    st.booleans() | st.integers(-(2**60), 2**60) | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
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
