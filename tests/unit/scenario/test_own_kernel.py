"""Scenarios of a kernel of the user's own: what a file says, and how a wrong one is refused."""

import tomllib

import pytest

from gpusim.errors import BadInput
from gpusim.families.registry import load_question, load_scenario
from gpusim.scenario.own_kernel import KernelQuestion
from gpusim.scenario.text import write_toml

TEXT = """\
kind = "kernel"
machine = "a100"
file = "saxpy.cu"
entry = "saxpy"
grid = 8
block = [128]

[arguments]
x = "random:f32[1000]"
y = "y.npy"
n = 1000
"""


@pytest.fixture
def scenario(tmp_path):
    """Writes the scenario with other lines, beside its kernel, and returns its path."""
    (tmp_path / "saxpy.cu").write_text("")

    def write(*changes):
        text = TEXT
        for old, new in changes:
            assert old in text
            text = text.replace(old, new)
        path = tmp_path / "mine.toml"
        path.write_text(text)
        return path

    return write


def test_a_file_states_launch_arguments_and_machine(scenario, tmp_path):
    found = load_question(scenario())

    assert isinstance(found, KernelQuestion)
    assert (found.name, found.machine, found.entry) == ("mine", "a100", "saxpy")
    assert found.file == tmp_path / "saxpy.cu"
    assert (found.grid, found.block, found.shared_bytes) == ((8,), (128,), 0)
    assert list(found.arguments.items()) == [("x", "random:f32[1000]"), ("y", "y.npy"), ("n", 1000)]


def test_settings_change_a_key_and_keep_the_order_of_arguments(scenario):
    found = load_question(scenario(), ("grid=[4,2]", "arguments.x=f32[8]", "defines.TILE=16", "machine.sms=20"))

    assert (found.grid, found.defines, found.machine) == ((4, 2), {"TILE": 16}, "a100 with sms = 20")
    assert list(found.arguments) == ["x", "y", "n"]
    assert found.arguments["x"] == "f32[8]"


def test_the_resolved_scenario_is_the_same_wherever_it_is_read(scenario, tmp_path):
    found = load_question(scenario())
    other = tmp_path / "elsewhere" / "mine.toml"
    other.parent.mkdir()
    other.write_text(write_toml(found.resolved()))

    assert load_question(other).resolved() == found.resolved() == tomllib.loads(other.read_text())
    assert load_question(other).digest == found.digest


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("machine =", "machines ="), 'unknown key "machines", did you mean "machine"? (WHERE: machines)'),
        (('machine = "a100"\n', ""), "machine must be given, got nothing (WHERE: machine)"),
        (('kind = "kernel"', 'kind = "gemm"'), 'kind must be "kernel", or left out, got "gemm" (WHERE: kind)'),
        (("saxpy.cu", "saxpy.c"), 'file must be a file that ends in .cu, .ptx, .cubin, got "saxpy.c" (WHERE: file)'),
        (
            ("saxpy.cu", "none.cu"),
            'file must be there, got "none.cu", which is not at FOLDER/none.cu (WHERE: file)',
        ),
        (("grid = 8", "grid = []"), "grid must be one to three integers of at least 1, got [] (WHERE: grid)"),
        (("[128]", "[128, 0]"), "block must be one to three integers of at least 1, got [128, 0] (WHERE: block)"),
        (("n = 1000", "n = [1]"), "n must be a number or text, got [1] (WHERE: arguments.n)"),
        (("n = 1000", "n = true"), "n must be a number or text, got true (WHERE: arguments.n)"),
    ],
)
def test_a_wrong_key_or_value_is_refused_with_its_place(scenario, tmp_path, change, message):
    path = scenario(change)

    with pytest.raises(BadInput) as refused:
        load_question(path)

    assert str(refused.value) == message.replace("WHERE", str(path)).replace("FOLDER", str(tmp_path))


def test_a_reader_of_families_refuses_it_by_name(scenario):
    path = scenario()

    with pytest.raises(BadInput) as refused:
        load_scenario(path)

    assert str(refused.value) == (
        f'{path} is a scenario of a kernel of your own (kind = "kernel"), which only gpusim run, compare, explain, '
        "sweep and check-perf take"
    )
