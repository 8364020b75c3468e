"""``gpusim run`` of a kernel of one's own: what it prints, writes and saves, and how wrong options are refused."""

import json
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

from gpusim.results.kernel_result import KernelResult

LAUNCH = (
    *("transpose_tile.cubin", "--machine", "a100", "--grid", "2,2", "--block", "32,8"),
    *("--arg", "in=random:f32[64,64]", "--arg", "out=f32[64,64]", "--arg", "rows=64", "--arg", "columns=64"),
)

pytestmark = pytest.mark.usefixtures("folder_of_kernels")


def test_the_summary_names_cycles_trust_stalls_wavefronts_and_sectors(gpusim):
    """
    128 stores into the tile take 1 wavefront each, 128 loads of its columns 32: 4,224.

    2 x 4,096 floats, 8 in a sector: 1,024.
    """
    answer = gpusim("run", *LAUNCH)

    assert answer.code == 0
    assert answer.out.startswith("transpose_tile: ")
    assert [line.split()[0] for line in answer.out.splitlines()[3:16] if line[:1].strip()][:4] == [
        *("machine", "kernel", "launch", "occupancy"),
    ]
    assert "unvalidated" in answer.out
    assert "4,224 wavefronts, 256 without bank conflicts" in answer.out
    assert "1,024 sectors, 1,024 without unused bytes" in answer.out
    assert "LDS" in answer.out.partition("Shared memory")[2]


def test_json_is_the_documented_result_and_that_of_the_run_directory(gpusim):
    answer = gpusim("run", *LAUNCH, "--json", "--out", "run")

    data = json.loads(answer.out)
    assert data["schema"] == "gpusim.kernel/1"
    assert set(data) == {field.name for field in fields(KernelResult)}
    assert answer.out == Path("run/result.json").read_text()
    assert sorted(path.name for path in Path("run").iterdir()) == [
        *("manifest.json", "result.json", "scenario.resolved.toml", "timeline.json"),
    ]


def test_a_run_is_repeated_by_its_manifest_and_by_its_scenario(gpusim):
    first = json.loads(gpusim("run", *LAUNCH, "--json", "--out", "run").out)

    command = json.loads(Path("run/manifest.json").read_text())["command"]
    again = json.loads(gpusim(*command[1:], "--json").out)
    resolved = json.loads(gpusim("run", "run/scenario.resolved.toml", "--json").out)

    assert again["cycles"] == resolved["cycles"] == first["cycles"]
    assert again["scenario"] == first["scenario"]


def test_a_scenario_and_the_options_of_a_launch_have_one_answer(gpusim):
    by_scenario = json.loads(gpusim("run", "transpose_tile.toml", "--json").out)
    by_options = json.loads(gpusim("run", *LAUNCH, "--json").out)

    assert by_scenario["rows"] == by_options["rows"]
    assert by_scenario["cycles"] == by_options["cycles"]


def test_a_saved_array_has_what_the_kernel_wrote(gpusim):
    answer = gpusim("run", *LAUNCH, "--save", "out=out.npy", "--save", "in=in.npy", "--json")

    assert json.loads(answer.out)["data"]["executed"] == "all"
    assert np.array_equal(np.load("out.npy"), np.load("in.npy").T)


@pytest.mark.parametrize("force", [(), ("--force",)])
def test_an_array_never_replaces_a_file(gpusim, force):
    """A .npy file has no place for a mark by which gpusim would know its own."""
    Path("out.npy").write_text("mine")

    answer = gpusim("run", *LAUNCH, "--save", "out=out.npy", "--out", "run", *force)

    assert (answer.code, Path("out.npy").read_text()) == (2, "mine")
    assert "gpusim: out.npy: is there already, and gpusim has not made it" in answer.err
    assert not Path("run").exists()


def test_several_scenarios_print_a_list(gpusim):
    answer = gpusim("run", "transpose_tile.toml", "transpose_padded.toml", "--json")

    slow, fast = json.loads(answer.out)
    assert (slow["kernel"], fast["kernel"]) == ("transpose_tile", "transpose_padded")
    assert slow["cycles"]["elapsed"] > fast["cycles"]["elapsed"]


def test_a_kernel_that_leaves_its_array_fails_with_exit_code_3(gpusim):
    answer = gpusim("run", "transpose_tile.toml", "--set", "arguments.in=f32[32,64]")

    assert answer.code == 3
    assert "out of bounds" in answer.err
    assert not Path("runs").exists() or not any(Path("runs").iterdir())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ("transpose_tile.cubin", "--grid", "2"),
            "transpose_tile.cubin is a kernel, whose launch needs --machine, --block, such as --machine a100 --grid",
        ),
        (("none.cu", *LAUNCH[1:]), "none.cu: no such file"),
        ((*LAUNCH, "--grid", "2,x"), "--grid must be one to three integers of at least 1, such as 32,32, got '2,x'"),
        ((*LAUNCH, "--arg", "n"), "--arg must be NAME=VALUE, such as x=random:f32[1024], got 'n'"),
        ((*LAUNCH, "--arg", "in=3"), "--arg gives in twice: 'random:f32[64,64]' and '3'"),
        (
            (*LAUNCH, "--arg", "n=3"),
            "transpose_tile takes 4 arguments, of 8, 8, 4, 4 bytes, got 5 (in, out, rows, columns, n); state",
        ),
        ((*LAUNCH, "--define", "T=3"), "defines are macros of a source (.cu), and "),
        ((*LAUNCH, "--exact"), "--exact is not for a kernel of your own, which transpose_tile.cubin is"),
        (
            ("transpose_tile.toml", "--seed", "3"),
            "--seed is not for a kernel of your own, which transpose_tile.toml is",
        ),
        (
            ("transpose_tile.toml", "--grid", "3"),
            "--grid is of a kernel's file (.cu, .ptx, .cubin); a scenario has such keys, which --set changes",
        ),
        (("gemm_ragged", "--save", "a=b.npy"), "--save is for a kernel of your own, which gemm_ragged is not"),
        ((*LAUNCH, "--save", "y=y.npy"), "--save must name an argument: in, out, rows, columns, got 'y'"),
        ((*LAUNCH, "--save", "out=y.csv"), "--save must write to a file.npy, got 'y.csv'"),
        ((*LAUNCH, "--save", "rows=y.npy"), "--save must name an array, and argument rows is 64"),
        ((*LAUNCH, "--set", "machine=h200"), "HERE/transpose_tile.cubin is machine code of sm_80, h200 executes that"),
        (
            ("transpose_tile.toml", "--set", "gird=3"),
            'unknown key "gird", did you mean "grid"? (transpose_tile.toml: gird',
        ),
    ],
    ids=range(16),
)
def test_a_wrong_option_is_refused_in_one_line(gpusim, options, message):
    answer = gpusim("run", *options)

    assert answer.code == (1 if options[0] == "none.cu" else 2)
    (line,) = [line for line in answer.err.splitlines() if line.startswith("gpusim: ")]
    assert line.startswith(f"gpusim: {message.replace('HERE', str(Path.cwd()))}")
    assert answer.out == ""
