"""The README's commands do what it says they do."""

import re
import tomllib
from pathlib import Path

import pytest
from problems.recordable import recordable
from shown import blocks, compare, executed, run

from gpusim.families.registry import family_of, scenario_of
from gpusim.lab.ship_streams import EXAMPLES
from gpusim.lower.shipped import find_stream
from gpusim.machine import load_machine
from gpusim.records.record import measured_folder

README = Path(__file__).parents[2] / "README.md"
BLOCKS = re.findall(r"^```sh\n(.*?)^```", README.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
COMMANDS = [line for block in BLOCKS for line in block.splitlines() if line.startswith("gpusim ")]

WRITING = [line for line in COMMANDS if any(place in line for place in ("runs/", "--png", "--save-tensors"))]
"""Those that find something at the place where they write, if they are run twice."""


def test_the_readme_shows_every_command(gpusim):
    listed = {
        line.split()[0] for line in gpusim("--help").out.split("Commands:")[1].splitlines() if line.startswith("  ")
    }
    shown = {line.split()[1] for line in COMMANDS}

    assert shown >= {
        "run",
        "verify",
        "addresses",
        "layout",
        "plot",
        "trace",
        "schema",
        "scenarios",
        "doctor",
        "--version",
    }
    assert shown - {"--version"} <= listed


def test_the_readme_opens_with_two_commands():
    assert [line.split("#")[0].strip() for line in BLOCKS[0].splitlines()] == ["make demo", "make test"]


def test_the_readmes_examples_come_with_their_streams_and_print_the_same_without_a_compiler():
    (example,) = (block.text for block in blocks(README.read_text(encoding="utf-8")) if block.name == "my_gemm.toml")

    assert tomllib.loads(example) == EXAMPLES["my_gemm"]
    assert "--set kernel.stages=4" in README.read_text(encoding="utf-8")
    assert EXAMPLES["my_gemm_s4"] == {**EXAMPLES["my_gemm"], "kernel": {"stages": 4}}
    for data in EXAMPLES.values():
        scenario = scenario_of(data)
        machine = load_machine(scenario.machine)
        for kernel in family_of(scenario).timing.timed_kernels(scenario, machine):
            assert find_stream(kernel.specialisation, machine.compute_capability, 0) is not None


@pytest.mark.slow
def test_the_readmes_commands_print_what_it_shows_and_can_be_run_again(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    shown = list(executed(README.read_text(encoding="utf-8")))

    assert len(shown) == 3
    for each in shown:
        compare(each)
    for line in WRITING:
        run(line)
    assert (tmp_path / "row_major.png").is_file()


def test_the_readme_says_how_many_records_there_are():
    (said,) = re.findall(
        r"^(\d+) GEMMs and convolutions, .* and (\d+) attentions", README.read_text("utf-8"), re.MULTILINE
    )
    recorded = {path.stem for path in (measured_folder() / "h200").glob("*.json")}
    kinds = [scenario.kind for name, scenario in recordable().items() if name in recorded]

    attentions = kinds.count("attention")
    assert [int(number) for number in said] == [len(kinds) - attentions, attentions]


@pytest.mark.parametrize("path", re.findall(r"\]\(([^)#:]+)\)", README.read_text(encoding="utf-8")))
def test_the_readmes_links_lead_somewhere(path):
    assert (README.parent / path).exists()
