"""The command line as a whole: help, exit codes, and one line for whatever is refused."""

import os
import signal
import subprocess
import sys
import time
from dataclasses import fields
from pathlib import Path
from typing import get_args, get_type_hints

import pytest

from gpusim.cli import COMMANDS, answer_of, main, options_of
from gpusim.errors import BadInput, CannotRun, CheckFailed, printable

MALFORMED = sorted((Path(__file__).parent / "scenario" / "malformed").glob("*.toml"))
SCENARIO = "conv_9_k_tiles"
LEFT_OUT = "{} must be left out for events, which are those of one --thread"


def process(*arguments, **options):
    return subprocess.run(
        [sys.executable, "-m", "gpusim", *arguments], capture_output=True, text=True, check=False, **options
    )


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(gpusim, command):
    answer = gpusim(command, "--help")

    assert answer.code == 0
    assert answer.out.startswith(f"Usage: gpusim {command}")


def test_help_lists_every_command(gpusim):
    out = gpusim("--help").out

    assert [command for command in COMMANDS if f"\n  {command} " not in out] == []


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_takes_its_own_options(command):
    (taken,) = (hint for name, hint in get_type_hints(answer_of(command)).items() if name != "return")

    assert taken is options_of(command)
    assert [option.name for option in fields(taken) if not hasattr(option.type, "__metadata__")] == []


def imported_by(*calls):
    """Libraries and rooms that are slow to import, of those that a process has after these commands."""
    heavy = "{'numpy', 'matplotlib', 'simpy', 'pydantic', 'perfetto', 'gpusim.scenario.read', 'gpusim.verbs.simulate'}"
    code = f"import sys, gpusim.cli; [gpusim.cli.main(call) for call in {calls}]; print(*{heavy} & set(sys.modules))"

    return set(subprocess.check_output([sys.executable, "-c", code], text=True).splitlines()[-1].split())


def test_help_imports_no_room():
    """
    Numpy alone takes longer than --help may: commands import what they need when they run.
    """
    assert imported_by(["--help"]) == set()


def test_help_of_a_command_and_a_refused_option_import_no_room():
    """
    Typer reads a command's options with pydantic.
    """
    calls = ([command, argument] for command in COMMANDS for argument in ("--help", "--nonsense"))

    assert imported_by(*calls) <= {"pydantic"}


def test_a_command_imports_the_options_of_no_other():
    code = (
        "import sys, gpusim.cli; gpusim.cli.main(['stalls', '--help'])\n"
        "print(*(name for name in sys.modules if name.startswith('gpusim.commands.options.')))"
    )

    imported = subprocess.check_output([sys.executable, "-c", code], text=True).splitlines()[-1].split()

    assert sorted(imported) == ["gpusim.commands.options.fields", "gpusim.commands.options.stalls"]


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["simulate"],
        ["run"],
        ["run", SCENARIO, "--fast"],
        ["run", SCENARIO, "--stream", "guessed"],
        ["verify", SCENARIO, "--seed", "-1"],
        ["verify", SCENARIO, "--seed", "one"],
        ["verify", SCENARIO, "--mutate", "two_stages_too_few"],
        ["addresses", SCENARIO],
        ["addresses", SCENARIO, "gmem_c"],
        ["addresses", SCENARIO, "gmem_a", "--ctaid", "0,0,0,0"],
        ["addresses", SCENARIO, "gmem_a", "--ctaid", "first"],
        ["addresses", SCENARIO, "gmem_a", "--ctaid", "900,0,0"],
        ["addresses", SCENARIO, "gmem_a", "--threads", "31-0"],
        ["addresses", SCENARIO, "gmem_a", "--k-tiles", "all"],
        ["addresses", SCENARIO, "gmem_a", "--threads", "0-99999999999"],
        ["addresses", SCENARIO, "events", "--thread", "4096"],
        ["layout", "diagonal"],
        ["layout", "crosswise", "--tile", "64"],
        ["layout", "crosswise", "--tile", "0x64"],
        ["layout", "crosswise", "--tile", "99999x99999"],
        ["layout", "crosswise", "--bits", "7"],
        ["layout", "crosswise", "--store", "3B"],
        ["layout", "crosswise", "--ldmatrix", "x3"],
        ["layout", "crosswise", "--access", "somewhere"],
        ["layout", "crosswise", "--stages", "0"],
        ["plot", "no-such-run", "overlap"],
        ["plot", ".", "overlap"],
        ["plot", ".", "doughnut"],
        ["trace", "no-such-run"],
        ["trace", ".", "--format", "vcd"],
    ],
    ids=" ".join,
)
def test_bad_usage_is_one_line_and_exit_2(gpusim, tmp_path, monkeypatch, arguments):
    monkeypatch.chdir(tmp_path)

    assert gpusim(*arguments).is_refusal
    assert list(tmp_path.iterdir()) == []


def test_the_malformed_scenarios_are_a_dozen_at_least():
    assert len(MALFORMED) >= 12


@pytest.mark.parametrize("path", MALFORMED, ids=lambda path: path.stem)
def test_a_malformed_scenario_is_one_line_that_names_the_file_and_exit_2(gpusim, tmp_path, monkeypatch, path):
    monkeypatch.chdir(tmp_path)

    answer = gpusim("run", path)

    assert answer.is_refusal
    assert str(path) in answer.err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("path", MALFORMED[:2], ids=lambda path: path.stem)
def test_the_process_ends_a_malformed_scenario_the_same_way(tmp_path, path):
    ended = process("run", str(path), cwd=tmp_path)

    assert ended.returncode == 2
    assert ended.stdout == ""
    assert ended.stderr.count("\n") == 1
    assert "Traceback" not in ended.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", ""], 'scenario must be a file or the name of a shipped one, got ""'),
        (["run", "/dev/null"], "/dev/null: is a device or a pipe, not a scenario file"),
        (["run", SCENARIO, "--out", ""], '--out must name a folder, got ""'),
        (["verify", SCENARIO, "--save-tensors", ""], '--save-tensors must name a folder, got ""'),
        (["addresses", SCENARIO, "events", "--threads", "0"], LEFT_OUT.format("--threads")),
        (["addresses", SCENARIO, "events", "--k-tiles", "0"], LEFT_OUT.format("--k-tiles")),
        (
            ["addresses", SCENARIO, "gmem_a", "--thread", "0"],
            "--thread must be left out for gmem_a, which --threads narrows",
        ),
        (
            ["addresses", SCENARIO, "gmem_a", "--threads", "4096"],
            "--threads must be 0..127 for gmem_a, got 4096",
        ),
        (
            ["layout", "crosswise", "--tile", "60x7"],
            "crosswise<16,60>: crosswise must be one of 8, 16, 32, 64, got 60 (layout crosswise, --tile 60x7)",
        ),
        (
            ["layout", "padded<1>", "--store", "4B", "--ldmatrix", "x4"],
            "lane 1: shared address 130 must be a multiple of 16, at least 0 (layout padded<1>, --ldmatrix x4)",
        ),
        (
            ["layout", "crosswise", "--stages", "1000000"],
            "--stages must be at most 128 for a tile of 64x128, got 1000000",
        ),
        (["layout", "crosswise", "--png", "map.gif"], "--png must end in .png, .svg, .pdf, got 'map.gif'"),
        (["plot", ".", "overlap", "--out", "map.gif"], "--out must end in .png, .svg, .pdf, got 'map.gif'"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_bad_usage_says_what_is_allowed(gpusim, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)

    answer = gpusim(*arguments)

    assert (answer.code, answer.out, answer.err) == (2, "", f"gpusim: {message}\n")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "arguments",
    [["layout", "crosswise", "--png"], ["plot", ".", "overlap", "--out"]],
    ids=" ".join,
)
def test_a_picture_in_a_folder_that_is_not_there_makes_none(gpusim, tmp_path, monkeypatch, arguments):
    monkeypatch.chdir(tmp_path)

    answer = gpusim(*arguments, "missing/map.png")

    assert (answer.code, answer.out) == (1, "")
    assert answer.err == "gpusim: missing/map.png: cannot be written (missing is no folder)\n"
    assert list(tmp_path.iterdir()) == []


def test_no_memory_is_one_line_and_exit_1(gpusim, monkeypatch):
    def exhaust():
        raise MemoryError("Unable to allocate 8.00 TiB for an array")

    monkeypatch.setattr("gpusim.commands.about.shipped_scenarios", exhaust)

    answer = gpusim("scenarios")

    assert (answer.code, answer.err) == (1, "gpusim: out of memory (Unable to allocate 8.00 TiB for an array)\n")


def test_a_terminal_of_ascii_gets_ascii(tmp_path):
    ended = process("run", SCENARIO, "--no-figures", cwd=tmp_path, env={**os.environ, "PYTHONIOENCODING": "ascii"})

    assert ended.returncode == 0
    assert "######" in ended.stdout
    assert "\n------" in ended.stdout
    assert ended.stdout.isascii()


@pytest.mark.parametrize(("error", "code"), [(CannotRun, 1), (BadInput, 2), (CheckFailed, 3)])
def test_an_error_says_its_exit_code(gpusim, monkeypatch, error, code):
    def fail():
        raise error("first line\n  and second")

    monkeypatch.setattr("gpusim.commands.about.shipped_scenarios", fail)

    answer = gpusim("scenarios")

    assert (answer.code, answer.err) == (code, "gpusim: first line\\n  and second\n")


def test_an_interrupt_ends_as_a_shell_expects(gpusim, monkeypatch):
    def interrupt():
        raise KeyboardInterrupt

    monkeypatch.setattr("gpusim.commands.about.shipped_scenarios", interrupt)

    answer = gpusim("scenarios")

    assert (answer.code, answer.out, answer.err) == (130, "", "gpusim: interrupted\n")


@pytest.mark.parametrize("delay", [0.02, 0.06, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6])
def test_an_interrupt_at_any_moment_is_one_line(tmp_path, delay):
    """A process that has just begun is Python's, until the command's module is there: it has a traceback of its own."""
    program = (
        "import sys; from gpusim.__main__ import main; print('begun', file=sys.stderr, flush=True); sys.exit(main())"
    )
    command = [sys.executable, "-c", program, "run", "gemm_4096", "--exact", "--no-figures", "--out", "run"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, cwd=tmp_path) as begun:
        assert begun.stderr.readline() == "begun\n"
        time.sleep(delay)
        begun.send_signal(signal.SIGINT)
        *before, last = begun.stderr.read().splitlines()

    assert (begun.returncode, last) == (130, "gpusim: interrupted")
    assert [line.split(": 72,658,944 ")[0] for line in before] in ([], PROGRESS[:1], PROGRESS)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(sys.platform == "win32", reason="sends a signal to a group of processes")
@pytest.mark.parametrize("delay", [0.9, 1.3, pytest.param(1.7, marks=pytest.mark.slow), 2.2])
def test_an_interrupt_of_processes_that_begin_is_one_line(tmp_path, delay):
    """A terminal sends it to the workers as well, which import their modules then."""
    over = ("--over", "kernel.stages=3,4,5,6", "--over", "problem.c=64,128", "--jobs", "2", "--out", "swept")
    command = [sys.executable, "-m", "gpusim", "sweep", SCENARIO, *over]
    with subprocess.Popen(
        command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, cwd=tmp_path, start_new_session=True
    ) as begun:
        time.sleep(delay)
        os.killpg(begun.pid, signal.SIGINT)
        told = begun.stderr.read().splitlines()

    assert begun.returncode in (0, 130)
    assert [line for line in told if "interrupted" in line] == (told[-1:] if begun.returncode else [])
    assert all("Traceback" not in line and "Error" not in line for line in told)


def test_an_interrupt_of_code_given_as_text_ends_as_a_shell_expects():
    """Dataclasses are made by such code. Python notes that an interrupt left it, and would end by the signal."""
    program = """
import signal, sys
import gpusim.cli
from gpusim.__main__ import main

gpusim.cli.main = lambda: exec("signal.raise_signal(signal.SIGINT)")
sys.exit(main())
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)

    assert (ended.returncode, ended.stderr) == (130, "gpusim: interrupted\n")


def test_an_interrupt_that_a_library_has_cleared_comes_again():
    """It is lost at first, as in C code that clears all errors, and ends what the command waits for then."""
    program = """
import signal, sys, time
import gpusim.cli
from gpusim.__main__ import main

def swallowing():
    try:
        signal.raise_signal(signal.SIGINT)
    except KeyboardInterrupt:
        pass
    time.sleep(60)
    return 0

gpusim.cli.main = swallowing
sys.exit(main())
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=30)

    assert (ended.returncode, ended.stderr) == (130, "gpusim: interrupted\n")


def test_a_command_that_cleans_up_behind_an_interrupt_is_not_interrupted_again():
    """What it does last takes longer than an interrupt is waited for."""
    program = """
import signal, sys, time
import gpusim.cli
from gpusim.__main__ import main

def cleaning_up():
    try:
        signal.raise_signal(signal.SIGINT)
    finally:
        time.sleep(0.6)
        print("clean")

gpusim.cli.main = cleaning_up
sys.exit(main())
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)

    assert (ended.returncode, ended.stdout, ended.stderr) == (130, "clean\n", "gpusim: interrupted\n")


PROGRESS = ["lowering the schedule", "simulating every CTA: 1,024, on 132 of 132 SMs"]


def test_the_version_is_an_option_too(gpusim):
    assert gpusim("--version").out == gpusim("version").out


def test_a_shell_is_offered_the_shipped_scenarios(monkeypatch, capsys):
    for name, value in {
        "_GPUSIM_COMPLETE": "complete_bash",
        "COMP_WORDS": "gpusim run conv_s6",
        "COMP_CWORD": "2",
    }.items():
        monkeypatch.setenv(name, value)

    assert main([]) == 0
    assert capsys.readouterr().out.split() == [
        "conv_s6_crosswise",
        "conv_s6_padded",
        "conv_s6_row_major",
        "conv_s6_swizzle",
    ]


def test_a_reader_that_leaves_early_is_no_traceback():
    """
    As ``gpusim addresses ... | head``: the pipe's other end is closed before anything is written.
    """
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as closed_pipe:
        ended = subprocess.run(
            [sys.executable, "-m", "gpusim", "addresses", SCENARIO, "gmem_a"],
            stdout=closed_pipe,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )

    assert ended.returncode == 1
    assert ended.stderr == ""


def test_every_number_of_an_option_is_bounded():
    hints = [
        (command, option.name, option.type)
        for command in COMMANDS
        for option in fields(options_of(command))
        if int in (option.type.__origin__, *get_args(option.type.__origin__))
    ]

    unbounded = [
        (command, name) for command, name, hint in hints if None in (hint.__metadata__[0].min, hint.__metadata__[0].max)
    ]
    assert len(hints) > 10
    assert unbounded == []


LONG = "9" * 21


@pytest.mark.parametrize(
    "arguments",
    [
        ("layout", "crosswise", "--base", LONG),
        ("layout", "crosswise", "--bits", LONG),
        ("layout", "crosswise", "--stages", LONG),
        ("layout", "crosswise", "--tile", f"{LONG}x1"),
        ("layout", "crosswise", "--load", f"16B@{LONG}:0"),
        ("layout", "crosswise", "--store", f"{LONG}B"),
        ("layout", "crosswise", "--cp-async", f"16B.cg:{LONG}"),
        ("layout", "crosswise", "--ldmatrix", f"x4@0:{LONG}"),
        ("layout", "crosswise", "--lds", f"m{LONG}n8k8.tf32.a"),
        ("layout", "crosswise", "--access", f"16B@{LONG}:0"),
        ("layout", f"padded<{LONG}>"),
        ("layout", f"Swizzle<{LONG},3,3>"),
        ("layout", f"(_{LONG},_8):(_1,_8)"),
        ("verify", SCENARIO, "--seed", LONG),
        ("addresses", SCENARIO, "events", "--thread", LONG),
        ("addresses", SCENARIO, "gmem_a", "--threads", LONG),
        ("run", SCENARIO, "--set", f"problem.c={LONG}"),
        ("run", SCENARIO, "--set", f"kernel.stages={LONG}"),
        ("sweep", SCENARIO, "--over", "kernel.stages=3", "--jobs", LONG),
        ("tune", SCENARIO, "--budget", LONG),
        ("tune", SCENARIO, "--top", LONG),
    ],
    ids=" ".join,
)
def test_a_number_of_21_digits_is_one_line_and_exit_2(gpusim, tmp_path, monkeypatch, arguments):
    monkeypatch.chdir(tmp_path)

    assert gpusim(*arguments).is_refusal
    assert list(tmp_path.iterdir()) == []


def redirected(how, *arguments, **options):
    """End a command whose streams a shell has redirected."""
    words = ["sh", "-c", f'exec "$@" {how}', "sh", sys.executable, "-m", "gpusim", *arguments]
    return subprocess.run(words, capture_output=True, text=True, check=False, **options)


@pytest.mark.skipif(sys.platform != "linux", reason="has no /dev/full")
@pytest.mark.parametrize(
    ("how", "code", "reason"),
    [
        (">&-", 1, "gpusim: the answer cannot be printed (stdout: Bad file descriptor)\n"),
        (">/dev/full", 1, "gpusim: the answer cannot be printed (stdout: No space left on device)\n"),
        (">&- 2>&-", 1, ""),
        ("<&- >&- 2>&-", 1, ""),
        ("2>&-", 0, ""),
        ("2>/dev/full", 0, ""),
    ],
)
def test_an_answer_that_cannot_be_printed_is_exit_1(how, code, reason):
    ended = redirected(how, "scenarios")

    assert (ended.returncode, ended.stderr) == (code, reason)


@pytest.mark.parametrize(("how", "code"), [(">&-", 1), (">&- 2>&-", 1), ("2>&-", 0)])
def test_a_run_that_cannot_be_printed_is_written(tmp_path, how, code):
    ended = redirected(how, "run", SCENARIO, "gemm_split_k", "--no-figures", "--out", "runs", cwd=tmp_path)

    assert ended.returncode == code
    assert "Traceback" not in ended.stderr
    written = sorted(path.parent.name for path in (tmp_path / "runs").glob("*/result.json"))
    assert [name.rpartition("-")[0] for name in written] == [SCENARIO, "gemm_split_k"]


NAMES = [b"$\\bad{$", b"\xff", b"\x1b[31mred\nred", b"[bold]:smile:", "\u202e漢".encode()]


@pytest.mark.skipif(sys.platform != "linux", reason="has names of any bytes")
@pytest.mark.parametrize("name", NAMES, ids=ascii)
def test_no_name_of_a_file_stops_a_command_or_reaches_the_terminal(gpusim, tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    file = os.fsdecode(name + b".toml")
    Path(file).write_text('machine = "h200"\n[problem]\nkind = "gemm"\nm = 64\nn = 64\nk = 64\n')

    answers = [
        gpusim("run", file, "--out", "run"),
        gpusim("compare", file, "run", "--png", "both.svg"),
        gpusim("report", "run", "--out", "page.html"),
        gpusim("run", file, "--set", "kernel.stages=1"),
        gpusim("run", f"{file}x"),
    ]

    assert [answer.code for answer in answers] == [0, 0, 0, 2, 2]
    assert "warning" not in answers[0].err
    assert {f"{kind}.png" for kind in ("overlap", "conflicts", "stalls")} <= {one.name for one in Path("run").iterdir()}
    for text in (part for answer in answers for part in (answer.out, answer.err)):
        assert all(line == printable(line) for line in text.split("\n"))
        assert "\n\n\n" not in text


def test_main_takes_the_process_arguments(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["gpusim", "version"])

    assert main() == 0
    assert capsys.readouterr().out.startswith("gpusim ")
