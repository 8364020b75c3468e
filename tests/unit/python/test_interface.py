"""What ``import gpusim`` offers: which names, how fast, how often, and with whose defaults and numbers."""

import ast
import doctest
import json
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

import pytest

import gpusim
import gpusim.commands

PACKAGE = Path(gpusim.__file__).parent
HOMES = vars(gpusim)["_HOMES"]
SLOW = ("numpy", "pydantic", "matplotlib", "rich", "pandas", "typer", "simpy")

# Modules of the public names whose docstrings have examples.
WITH_EXAMPLES = (
    "gpusim.python.compare",
    pytest.param("gpusim.python.explain", marks=pytest.mark.slow),
    "gpusim.python.simulate",
    "gpusim.python.verify",
    "gpusim.scenario.models",
    "gpusim.verbs.load",
    "gpusim.verbs.sweep",
    "gpusim.verbs.tune",
)


def in_a_new_process(code):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def timeless(data):
    """A result without what differs from run to run: the simulation's seconds, and the time of day."""
    data = json.loads(json.dumps(data))
    for key in ("seconds", "total_seconds"):
        del data["simulated"][key]
    data["provenance"] = {key: value for key, value in data["provenance"].items() if key != "time"}
    return data


def test_importing_gpusim_imports_nothing_slow():
    imported = in_a_new_process("import gpusim, json, sys; print(json.dumps(sorted(sys.modules)))")

    assert "gpusim" in imported
    assert set(SLOW).isdisjoint(imported)
    assert [name for name in imported if name.startswith("gpusim.")] == []


def test_every_name_is_what_its_home_defines():
    for name, home in HOMES.items():
        assert getattr(gpusim, name) is getattr(import_module(home), name)
        assert getattr(gpusim, name) is getattr(gpusim, name)


def test_every_name_is_listed():
    assert set(HOMES) <= set(dir(gpusim))


def test_type_checkers_are_told_the_same_names():
    stub = ast.parse((PACKAGE / "__init__.pyi").read_text(encoding="utf-8"))
    told = {
        alias.asname: node.module for node in ast.walk(stub) if isinstance(node, ast.ImportFrom) for alias in node.names
    }

    assert told == HOMES


def test_a_name_that_is_not_there_is_an_attribute_error():
    with pytest.raises(AttributeError, match=r"^module 'gpusim' has no attribute 'simulat'$"):
        _ = gpusim.simulat


def test_each_name_is_there_after_every_command_was_imported():
    commands = [f"gpusim.commands.{module.name}" for module in iter_modules(gpusim.commands.__path__)]
    code = (
        "import gpusim, importlib, json\n"
        f"first = [getattr(gpusim, name) for name in {list(HOMES)}]\n"
        f"for command in {commands}: importlib.import_module(command)\n"
        f"again = [getattr(gpusim, name) for name in {list(HOMES)}]\n"
        "print(json.dumps([len(first), all(a is b and callable(b) for a, b in zip(first, again))]))"
    )

    assert in_a_new_process(code) == [len(HOMES), True]


def test_each_name_is_there_if_every_command_was_imported_first():
    commands = [f"gpusim.commands.{module.name}" for module in iter_modules(gpusim.commands.__path__)]
    code = (
        "import gpusim, importlib, json\n"
        f"for command in {commands}: importlib.import_module(command)\n"
        f"print(json.dumps([callable(getattr(gpusim, name)) for name in {list(HOMES)}]))"
    )

    assert in_a_new_process(code) == [True] * len(HOMES)


@pytest.mark.parametrize("module", WITH_EXAMPLES)
def test_the_examples_in_docstrings_hold(module):
    failed, tried = doctest.testmod(import_module(module))

    assert tried
    assert not failed


@pytest.mark.parametrize("name", ["gemm_ragged", "turing_int4_conv", "attention_d64_v160", "gemm_split_k_parallel"])
def test_simulate_answers_what_the_command_line_prints(name, gpusim_json, tmp_path):
    printed = gpusim_json("run", name, "--no-figures", "--json", "--out", tmp_path / "run")

    assert timeless(gpusim.simulate(name).to_dict()) == timeless(printed)


def test_verify_answers_what_the_command_line_prints(gpusim_json):
    assert gpusim.verify("gemm_ragged").to_dict() == gpusim_json("verify", "gemm_ragged", "--json")


def test_verify_breaks_a_schedule_on_request():
    report = gpusim.verify("gemm_ragged", mutate="missing_barrier")

    assert not report.ok
    assert report.mutation == "missing_barrier"


def test_a_mutation_that_is_not_there_is_refused_with_those_that_are():
    with pytest.raises(gpusim.GpusimError, match=r"^mutate must be one of .*missing_barrier.*, got 'lax'$"):
        gpusim.verify("gemm_ragged", mutate="lax")


def test_the_interpreted_core_gives_the_same_numbers():
    small = gpusim.load("gemm_ragged").replace(problem={"m": 64, "n": 64, "k": 128})
    first, second = gpusim.simulate(small, engine="interpreted"), gpusim.simulate(small)

    assert first.simulated.engine == "interpreted"
    assert timeless(first.to_dict()) | {"simulated": {}} == timeless(second.to_dict()) | {"simulated": {}}


def test_an_engine_that_is_not_there_is_refused():
    with pytest.raises(gpusim.GpusimError, match=r"^engine must be one of auto, compiled, interpreted, got 'fast'$"):
        gpusim.simulate("gemm_ragged", engine="fast")
