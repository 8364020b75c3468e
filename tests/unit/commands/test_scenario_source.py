"""How a command is given its scenario: a file, a shipped name, or a kernel's name; and what is none."""

import io
import json
import sys
from pathlib import Path

import pytest

from gpusim import machine
from gpusim.scenario.catalogue import find_scenario

SCENARIO = "conv_9_k_tiles"


@pytest.mark.parametrize("command", [["run"], ["verify"], ["addresses", "gmem_a"]], ids=" ".join)
def test_a_scenario_that_is_not_there_is_one_line_and_exit_2(gpusim, command):
    name, *rest = command

    assert gpusim(name, "no/such/file.toml", *rest).is_refusal


def test_a_misspelt_scenario_is_answered_with_the_nearest(gpusim):
    answer = gpusim("run", "conv_9_k_tile")

    assert answer.err == (
        "gpusim: conv_9_k_tile: no such file, and no shipped scenario of that name; did you mean 'conv_9_k_tiles'?\n"
    )


class Standard:
    """Standard input with some bytes."""

    def __init__(self, content):
        self.buffer = io.BytesIO(content)


def test_a_scenario_is_read_from_standard_input(gpusim, monkeypatch):
    text = find_scenario(SCENARIO).read_bytes()
    asked = ("gmem_a", "--threads", "0", "--json")

    monkeypatch.setattr(sys, "stdin", Standard(text))

    assert gpusim("addresses", "-", *asked).out == gpusim("addresses", SCENARIO, *asked).out


def test_a_run_of_standard_input_is_called_so_and_repeats_from_its_directory(gpusim, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "stdin", Standard(find_scenario(SCENARIO).read_bytes()))

    assert gpusim("run", "-", "--set", "problem.c=128", "--no-figures").code == 0
    (directory,) = Path("runs").iterdir()

    assert directory.name.startswith("stdin-")
    command = json.loads((directory / "manifest.json").read_text())["command"]
    assert command[:4] == ["gpusim", "run", "scenario.resolved.toml", "--stream"]


@pytest.mark.parametrize(
    ("content", "error"),
    [
        (b"", "machine must be given, got nothing (standard input: machine)"),
        (b"\xff", "scenario must be UTF-8 text: invalid start byte at byte 0 (standard input)"),
        (b"#" * 2_000_000, 'scenario must be a readable file: a scenario has at most 1048576 bytes ("standard input")'),
    ],
    ids=["empty", "no text", "endless"],
)
def test_standard_input_that_is_no_scenario_is_one_line(gpusim, monkeypatch, content, error):
    monkeypatch.setattr(sys, "stdin", Standard(content))

    assert gpusim("verify", "-").err == f"gpusim: {error}\n"


def test_no_standard_input_is_one_line(gpusim, monkeypatch):
    monkeypatch.setattr(sys, "stdin", None)

    assert gpusim("verify", "-").is_refusal


def test_a_byte_order_mark_is_read_over(gpusim, tmp_path):
    """As editors on Windows write it: before a scenario, and before a machine file."""
    for name, source in (
        ("scenario", find_scenario(SCENARIO)),
        ("machine", Path(machine.__file__).with_name("h200.toml")),
    ):
        (tmp_path / f"{name}.toml").write_bytes(b"\xef\xbb\xbf" + source.read_bytes().replace(b"\n", b"\r\n"))

    assert (
        gpusim("name", tmp_path / "scenario.toml", "--set", "machine=machine.toml").out == gpusim("name", SCENARIO).out
    )


def test_a_folder_is_no_scenario(gpusim, tmp_path):
    assert gpusim("run", tmp_path).err == f"gpusim: {tmp_path}: is a folder, not a scenario file\n"


@pytest.mark.parametrize("override", ["problem.chanels=4", "problem.c", "problem.c=", "=4", "kernel.stages=many"])
def test_a_bad_override_is_one_line_and_exit_2(gpusim, override):
    assert gpusim("verify", SCENARIO, "--set", override).is_refusal


KERNEL = "cutlass_tensorop_f16_s16816gemm_f16_64x64_32x4_tn_align8"
KERNEL_EXTENTS = ("--set", "problem.m=64", "--set", "problem.n=64", "--set", "problem.k=64")


def test_verify_and_addresses_take_a_kernel_s_name(gpusim):
    assert gpusim("verify", "--cutlass", KERNEL, *KERNEL_EXTENTS).code == 0
    narrowed = ("--threads", "0", "--k-tiles", "0", "--json")
    by_option = gpusim("addresses", "--cutlass", KERNEL, "gmem_a", *KERNEL_EXTENTS, *narrowed)
    as_file = gpusim("addresses", KERNEL, "gmem_a", *KERNEL_EXTENTS, *narrowed)

    assert by_option.code == as_file.code == 0
    assert json.loads(by_option.out) == json.loads(as_file.out)


def test_a_kernel_s_name_lacks_the_extents(gpusim):
    answer = gpusim("verify", "--cutlass", KERNEL, "--set", "problem.m=64")

    assert answer.is_refusal
    assert answer.err == f"gpusim: n must be given, got nothing ({KERNEL}: problem.n)\n"


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["verify"], "a scenario is missing: give a FILE, or a kernel's name with --cutlass"),
        (["run"], "a scenario is missing: give a FILE, or a kernel's name with --cutlass"),
        (
            ["sass", SCENARIO, "--cutlass", KERNEL],
            f"a scenario must be a FILE or a --cutlass name, got both: {SCENARIO} and {KERNEL}",
        ),
        (
            ["verify", "--cutlass", "sgemm"],
            "--cutlass must be a kernel's name, which begins with cutlass_, got 'sgemm'",
        ),
        (["addresses", "--cutlass", KERNEL], "addresses needs a STREAM (see `gpusim addresses --help`)"),
        (
            ["check", "--cutlass", KERNEL, *KERNEL_EXTENTS[:2], "--record"],
            "--record keeps scenarios as their files state them: it goes without --set",
        ),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_one_scenario_is_given_one_way(gpusim, arguments, error):
    assert gpusim(*arguments).err == f"gpusim: {error}\n"
