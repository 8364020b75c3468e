"""
``gpusim check-perf``: a kernel that goes from 64 to 72 registers, its exit codes, its baseline, and what it refuses.

Both kernels are of one source, ``docs/examples/own-kernels-perf/smooth.cu``. An SM has 65,536 registers: two CTAs of
512 threads fit with 64 registers per thread, and one with 72.
"""

import json
import shutil
import tomllib
from pathlib import Path

import pytest

from gpusim.errors import CannotRun, Interrupted

EXAMPLES = Path(__file__).parents[4] / "docs" / "examples" / "own-kernels-perf"
LAUNCH = (
    *("--machine", "a100 with sms = 2", "--grid", "4", "--block", "512"),
    *("--arg", "in=f32[2,48,2048]", "--arg", "out=f32[48,2048]", "--arg", "rows=2"),
)
SCENARIO = """\
kind = "kernel"
machine = "a100 with sms = 2"
file = "smooth.cubin"
grid = 4
block = 512
arguments = { in = "f32[2,48,2048]", out = "f32[48,2048]", rows = 2 }
"""
SLOWER = ("--set", "file=smooth_unbounded.cubin")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("smooth.cubin", "smooth_unbounded.cubin"):
        shutil.copy(EXAMPLES / name, name)
    Path("smooth.toml").write_text(SCENARIO)
    return tmp_path


@pytest.fixture
def baseline(gpusim, folder):
    assert gpusim("check-perf", "smooth.toml", "--write-baseline").code == 0
    return folder / "gpusim-perf.toml"


@pytest.mark.usefixtures("baseline")
def test_the_same_kernel_is_within_its_thresholds(gpusim):
    answer = gpusim("check-perf")

    assert answer.code == 0
    assert answer.out.splitlines()[0] == "### gpusim: 0 of 1 kernel beyond a threshold"
    assert "| smooth | all | | | | | equal |" in answer.out


@pytest.mark.usefixtures("baseline")
def test_a_kernel_that_loses_half_of_its_ctas_by_registers_exits_with_3(gpusim):
    answer = gpusim("check-perf", *SLOWER)

    assert answer.code == 3
    lines = answer.out.splitlines()
    assert lines[0] == "### gpusim: 1 of 1 kernel beyond a threshold"
    assert "| smooth | registers per thread | 64 | 72 | +12.5 % | +10 % | **beyond** |" in lines
    assert "| smooth | CTAs per SM | 2 | 1 | -50.0 % | 0 % | **beyond** |" in lines
    assert "- smooth: CTAs per SM: 1, 2 in the baseline, limited by registers (72 per thread)" in lines
    assert any(line.startswith("| smooth | cycles | ") and line.endswith("| **beyond** |") for line in lines)


@pytest.mark.usefixtures("baseline")
def test_json_has_every_metric(gpusim):
    found = json.loads(gpusim("check-perf", *SLOWER, "--json").out)

    (kernel,) = found["kernels"]
    assert found["schema"] == "gpusim.check_perf/1"
    assert kernel["beyond"]
    verdicts = {one["metric"]: one["verdict"] for one in kernel["metrics"]}
    assert verdicts == {
        "cycles": "beyond",
        "registers": "beyond",
        "ctas_per_sm": "beyond",
        "conflicts": "equal",
        "sectors": "equal",
        "instructions": "better",
    }


@pytest.mark.usefixtures("baseline")
def test_the_table_is_written_for_a_comment_and_replaced_by_force(gpusim):
    call = ("check-perf", *SLOWER, "--markdown", "perf.md")

    out = gpusim(*call).out

    assert Path("perf.md").read_text() == out
    assert gpusim(*call).code == 2
    assert gpusim(*call, "--force").code == 3


def test_thresholds_come_from_option_and_baseline(gpusim, baseline):
    """inf switches a metric off. Of 64 registers, 12.5 % more are 72."""
    loose = ("--threshold", "cycles=inf", "--threshold", "ctas_per_sm=50")

    assert gpusim("check-perf", *SLOWER, *loose, "--threshold", "registers=12.5").code == 0
    assert gpusim("check-perf", *SLOWER, *loose).code == 3

    assert gpusim("check-perf", "--write-baseline", *loose, "--threshold", "registers=20").code == 0
    assert tomllib.loads(baseline.read_text())["thresholds"]["registers"] == 20
    assert gpusim("check-perf", *SLOWER).code == 0
    assert gpusim("check-perf", *SLOWER, "--threshold", "cycles=1").code == 3


def test_a_launch_of_options_is_kept_and_asked_again_without_them(gpusim, baseline):
    written = gpusim("check-perf", "smooth_unbounded.cubin", *LAUNCH, "--write-baseline")

    assert written.out.startswith("smooth_unbounded: cycles ")
    kernels = tomllib.loads(baseline.read_text())["kernels"]
    assert list(kernels) == ["smooth", "smooth_unbounded"]
    assert kernels["smooth_unbounded"]["launch"]["grid"] == [4]
    for kernel in ((), ("smooth_unbounded.cubin",), ("smooth_unbounded.cubin", *LAUNCH)):
        assert gpusim("check-perf", *kernel).code == 0
    shutil.copy("smooth.cubin", "smooth_unbounded.cubin")
    out = gpusim("check-perf").out
    assert "| smooth_unbounded | registers per thread | 72 | 64 | -11.1 % | +10 % | better |" in out


def test_a_baseline_in_another_folder_finds_its_kernels(gpusim, folder, monkeypatch):
    (folder / "ci").mkdir()
    call = ("check-perf", "--baseline", str(Path("ci", "perf.toml")))
    assert gpusim(*call, "smooth.toml", "--write-baseline").code == 0
    assert gpusim(*call, "smooth_unbounded.cubin", *LAUNCH, "--write-baseline").code == 0

    monkeypatch.chdir("ci")

    assert gpusim("check-perf", "--baseline", "perf.toml").code == 0


@pytest.mark.usefixtures("baseline")
def test_a_kernel_that_fails_has_a_row_and_the_others_are_compared(gpusim):
    Path("second.toml").write_text(SCENARIO)
    assert gpusim("check-perf", "second.toml", "--write-baseline").code == 0
    Path("smooth.toml").unlink()

    answer = gpusim("check-perf")

    assert answer.code == 2
    assert answer.out.startswith("### gpusim: 0 of 2 kernels beyond a threshold, 1 failed\n")
    assert "| second | all | | | | | equal |" in answer.out
    assert "gpusim: smooth: " in answer.err


@pytest.mark.usefixtures("baseline")
@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ((), 0),
        (SLOWER, 3),
        (("--set", "file=none.cubin"), 125),
        (("--set", "entry=none"), 125),
        (("--set", "grid=5"), 125),
        (("--baseline", "none.toml"), 128),
        (("none.toml",), 128),
        (("--threshold", "speed=3"), 128),
        (("--write-baseline",), 128),
    ],
    ids=["good", "bad", "no file", "no kernel", "it fails", "no baseline", "not in it", "no threshold", "writes"],
)
def test_exit_codes_for_git_bisect(gpusim, arguments, code):
    """A grid of 5 CTAs reads past the end of the arrays, whose check fails: such a commit is skipped, too."""
    assert gpusim("check-perf", "--bisect", *arguments).code == code


@pytest.mark.usefixtures("baseline")
def test_a_commit_that_does_not_compile_is_skipped(gpusim, monkeypatch):
    def answer(*_, **__):
        raise CannotRun("nvcc rejects smooth.cu")

    monkeypatch.setattr("gpusim.commands.own.check_perf.answer", answer)

    assert gpusim("check-perf").code == 1
    assert gpusim("check-perf", "--bisect").code == 125


@pytest.mark.usefixtures("baseline")
def test_an_interrupt_ends_a_bisection(gpusim, monkeypatch):
    def answer(*_, **__):
        raise Interrupted("interrupted")

    monkeypatch.setattr("gpusim.commands.own.check_perf.answer", answer)

    assert gpusim("check-perf", "--bisect").code == 130


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "gpusim-perf.toml: the baseline cannot be read (No such file or directory); --write-baseline makes one"),
        (("--write-baseline",), "--write-baseline needs a FILE, since there is no gpusim-perf.toml that names kernels"),
        (("smooth.toml", "--write-baseline", *SLOWER), "--write-baseline keeps kernels as their files state them: it"),
        (("smooth.toml", "--write-baseline", "--markdown", "a.md"), "--write-baseline compares nothing: it goes"),
        (("smooth.toml", "--write-baseline", "--grid", "4"), "--grid is of a kernel's file (.cu, .ptx, .cubin); a "),
        (
            ("smooth.cubin", "smooth.toml", "--write-baseline", *LAUNCH),
            "the options of a launch are of one kernel, got",
        ),
        (("smooth.toml", "smooth.toml", "--write-baseline"), "two kernels have the name smooth, by which a baseline"),
        (("gemm_ragged", "--write-baseline"), "gemm_ragged is no scenario of a kernel of your own, which has kind"),
        (("smooth.cubin", "--write-baseline"), "smooth.cubin is a kernel, whose launch needs --machine, --grid"),
    ],
)
def test_what_contradicts_itself_is_refused_before_anything_is_written(gpusim, arguments, message):
    answer = gpusim("check-perf", *arguments)

    assert answer.code == 2
    assert answer.err.splitlines()[-1].startswith(f"gpusim: {message}")
    assert not Path("gpusim-perf.toml").exists()


def test_a_file_that_is_no_baseline_is_never_replaced(gpusim):
    Path("gpusim-perf.toml").write_text("mine = 1\n")

    assert gpusim("check-perf", "smooth.toml", "--write-baseline").code == 2
    assert Path("gpusim-perf.toml").read_text() == "mine = 1\n"


def test_a_kernel_that_the_baseline_has_not_is_named(gpusim, baseline):
    baseline.rename("other.toml")
    shutil.copy("smooth.toml", "second.toml")

    answer = gpusim("check-perf", "second.toml", "--baseline", "other.toml")

    assert answer.err == "gpusim: other.toml: has smooth, and not second; --write-baseline adds it\n"
