"""The command line: what each command answers, and what it refuses in one line."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from gpusim import __version__
from gpusim.cli import main
from gpusim.errors import BadInput, CannotRun, CheckFailed

COMMANDS = [
    *("run", "verify", "addresses", "layout", "plot", "trace", "check", "sass", "name", "compare", "calibrate"),
    *("schema", "scenarios", "doctor", "version"),
]
MALFORMED = sorted((Path(__file__).parent / "malformed").glob("*.toml"))
SCENARIO = "conv_9_k_tiles"
LEFT_OUT = "{} must be left out for events, which are those of one --thread"


def process(*arguments, **options):
    return subprocess.run(
        [sys.executable, "-m", "gpusim", *arguments], capture_output=True, text=True, check=False, **options
    )


def assert_refused(answer, code=2):
    assert answer.code == code
    assert answer.out == ""
    assert answer.err.startswith("gpusim: ")
    assert answer.err.count("\n") == 1


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(gpusim, command):
    answer = gpusim(command, "--help")

    assert answer.code == 0
    assert answer.out.startswith(f"Usage: gpusim {command}")


def test_help_lists_every_command(gpusim):
    out = gpusim("--help").out

    assert [command for command in COMMANDS if f"\n  {command} " not in out] == []


def test_help_imports_no_room():
    """
    Numpy alone takes longer than --help may: commands import what they need when they run.
    """
    heavy = "{'numpy', 'matplotlib', 'simpy', 'pydantic', 'perfetto', 'gpusim.scenario.read', 'gpusim.verbs.simulate'}"
    code = f"import sys, gpusim.cli; gpusim.cli.main(['--help']); print(sorted({heavy} & set(sys.modules)))"

    imported = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert imported.stdout.splitlines()[-1] == "[]"


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

    assert_refused(gpusim(*arguments))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", [["run"], ["verify"], ["addresses", "gmem_a"]], ids=" ".join)
def test_a_scenario_that_is_not_there_is_one_line_and_exit_2(gpusim, command):
    name, *rest = command

    assert_refused(gpusim(name, "no/such/file.toml", *rest))


def test_a_misspelt_scenario_is_answered_with_the_nearest(gpusim):
    answer = gpusim("run", "conv_9_k_tile")

    assert answer.err == (
        "gpusim: conv_9_k_tile: no such file, and no shipped scenario of that name; did you mean 'conv_9_k_tiles'?\n"
    )


def test_a_folder_is_no_scenario(gpusim, tmp_path):
    assert gpusim("run", tmp_path).err == f"gpusim: {tmp_path}: is a folder, not a scenario file\n"


def test_the_malformed_scenarios_are_a_dozen_at_least():
    assert len(MALFORMED) >= 12


@pytest.mark.parametrize("path", MALFORMED, ids=lambda path: path.stem)
def test_a_malformed_scenario_is_one_line_that_names_the_file_and_exit_2(gpusim, tmp_path, monkeypatch, path):
    monkeypatch.chdir(tmp_path)

    answer = gpusim("run", path)

    assert_refused(answer)
    assert str(path) in answer.err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("path", MALFORMED[:2], ids=lambda path: path.stem)
def test_the_process_ends_a_malformed_scenario_the_same_way(tmp_path, path):
    ended = process("run", str(path), cwd=tmp_path)

    assert ended.returncode == 2
    assert ended.stdout == ""
    assert ended.stderr.count("\n") == 1
    assert "Traceback" not in ended.stderr


@pytest.mark.parametrize("override", ["problem.chanels=4", "problem.c", "problem.c=", "=4", "kernel.stages=many"])
def test_a_bad_override_is_one_line_and_exit_2(gpusim, override):
    assert_refused(gpusim("verify", SCENARIO, "--set", override))


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
        (["layout", "crosswise", "--png", "map.gif"], "--png must end in .png, got 'map.gif'"),
        (["plot", ".", "overlap", "--out", "map.svg"], "--out must end in .png, got 'map.svg'"),
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

    assert (answer.code, answer.err) == (code, "gpusim: first line and second\n")


def test_an_interrupt_ends_as_a_shell_expects(gpusim, monkeypatch):
    def interrupt():
        raise KeyboardInterrupt

    monkeypatch.setattr("gpusim.commands.about.shipped_scenarios", interrupt)

    answer = gpusim("scenarios")

    assert answer.code == 130
    assert answer.out == ""
    assert "Traceback" not in answer.err


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


def test_version(gpusim):
    assert gpusim("version").out.startswith(f"gpusim {__version__}")
    assert json.loads(gpusim("version", "--json").out)["version"] == __version__


def test_doctor_finds_what_it_runs_on(gpusim):
    answer = gpusim("doctor", "--json")

    findings = {finding["name"]: finding["found"] for finding in json.loads(answer.out)}

    assert answer.code == 0
    assert findings["Python"] == sys.version.split()[0]
    assert findings["numpy"]
    assert {"CuPy", "CUDA driver", "nvcc", "ncu"} <= set(findings)


def test_doctor_says_what_to_install(gpusim, monkeypatch):
    monkeypatch.setenv("PATH", "")

    assert "absent; needed for hardware counters (check): Nsight Compute" in gpusim("doctor").out


def test_every_shipped_scenario_asks_a_question(gpusim):
    listed = json.loads(gpusim("scenarios", "--json").out)

    assert {scenario["name"] for scenario in listed} >= {SCENARIO, "conv_s6_crosswise", "gemm_4096"}
    assert [scenario["name"] for scenario in listed if not scenario["question"].endswith("?")] == []
    assert all(scenario["question"] in gpusim("scenarios").out for scenario in listed)


def test_the_schema_is_a_json_schema(gpusim):
    schema = json.loads(gpusim("schema").out)

    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert {"machine", "problem", "kernel"} <= set(schema["properties"])


def test_layout_json_has_offsets_and_the_conflicts_asked_for(gpusim):
    answer = gpusim("layout", "row_major", "--tile", "64x8", "--json", "--ldmatrix", "x1", "--store", "16B")

    data = json.loads(answer.out)
    accesses = {access["access"]: access["conflicts"] for access in data["accesses"]}

    assert data["offsets"][7][63] == 7 * 64 + 63
    assert accesses == {"store 16B": 0, "ldmatrix.x1": 7}


def test_layout_draws_where_it_is_told(gpusim, tmp_path):
    picture = tmp_path / "map.png"

    answer = gpusim("layout", "crosswise", "--png", picture)

    assert answer.code == 0
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert str(picture) in answer.err


def test_a_picture_that_cannot_be_written_is_exit_1(gpusim, tmp_path):
    (tmp_path / "file").write_text("")

    answer = gpusim("layout", "crosswise", "--png", tmp_path / "file" / "map.png")

    assert answer.code == 1
    assert answer.err.startswith("gpusim: ")
    assert answer.err.count("\n") == 1


def test_addresses_json_is_columns_and_rows_of_integers(gpusim):
    answer = gpusim("addresses", SCENARIO, "gmem_a", "--threads", "0,5", "--k-tiles", "0-1", "--json")

    table = json.loads(answer.out)
    rows = [dict(zip(table["columns"], row, strict=True)) for row in table["rows"]]

    assert table["columns"][:4] == ["thread", "k_tile", "access", "vec"]
    assert {row["thread"] for row in rows} == {0, 5}
    assert {row["k_tile"] for row in rows} == {0, 1}


def test_addresses_text_is_the_same_table(gpusim):
    asked = ("addresses", SCENARIO, "ldmatrix_b", "--threads", "0-3", "--k-tiles", "0")

    table = json.loads(gpusim(*asked, "--json").out)
    header, *lines = gpusim(*asked).out.splitlines()

    assert header.split() == table["columns"]
    assert [[int(cell) for cell in line.split()] for line in lines] == table["rows"]


def test_a_short_ctaid_is_filled_with_zeros(gpusim):
    asked = ("addresses", SCENARIO, "smem_store_a", "--k-tiles", "0", "--threads", "0")

    assert gpusim(*asked, "--ctaid", "0").out == gpusim(*asked, "--ctaid", "0,0,0").out


def test_events_are_an_ordered_list(gpusim):
    answer = gpusim("addresses", SCENARIO, "events", "--thread", "5", "--json")

    events = json.loads(answer.out)

    assert events[0][0] == "cp_async_zfill"
    assert ["wait_group", 1] in events
    assert gpusim("addresses", SCENARIO, "events", "--thread", "5").out.count("\n") == len(events)


def test_verify_answers_that_all_is_well(gpusim):
    report = json.loads(gpusim("verify", SCENARIO, "--seed", "7", "--json").out)

    assert report["ok"] is True
    assert (report["seed"], report["wrong_elements"], report["hazards"]) == (7, 0, [])
    assert report["scenario"]["problem"]["kind"] == "conv2d_fprop"


def test_verify_of_a_broken_schedule_is_exit_3_and_names_the_hazard(gpusim):
    answer = gpusim("verify", SCENARIO, "--mutate", "lax_wait")

    assert answer.code == 3
    assert "read_before_group_complete" in answer.out
    assert answer.err.splitlines()[-1].startswith(f"gpusim: {SCENARIO}: ")


def test_hazards_that_are_alike_are_counted_and_json_has_all(gpusim):
    hazards = json.loads(gpusim("verify", SCENARIO, "--mutate", "lax_wait", "--json").out)["hazards"]
    alike = sum(hazard["name"] == "read_before_group_complete" for hazard in hazards)

    lines = [
        line
        for line in gpusim("verify", SCENARIO, "--mutate", "lax_wait").out.splitlines()
        if line.startswith("  read_before_group_complete: ")
    ]

    assert alike > 3
    assert len(lines) == 4
    assert lines[3] == f"  read_before_group_complete: and {alike - 3} more (--json has all)"


def test_a_mutation_that_was_caught_says_by_what(gpusim):
    out = gpusim("verify", SCENARIO, "--mutate", "lax_wait").out

    assert out.splitlines()[0].startswith("mutation   lax_wait: caught by ")


def test_a_mutation_that_changes_nothing_says_so_and_all_checks_held(gpusim):
    """
    With one k tile no slot is ever filled again, so nothing is lost without the mainloop's barrier.
    """
    one_k_tile = [f"problem.{extent}=64" for extent in "mnk"]
    overrides = [word for override in one_k_tile for word in ("--set", override)]

    answer = gpusim("verify", "gemm_4096", "--mutate", "missing_barrier", *overrides)

    assert answer.code == 0
    assert answer.out.splitlines()[0] == (
        "mutation   missing_barrier: not caught; harmless here: it causes no hazard and no wrong element"
    )


def test_main_takes_the_process_arguments(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["gpusim", "version"])

    assert main() == 0
    assert capsys.readouterr().out.startswith("gpusim ")


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

    assert_refused(answer)
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


def test_name_prints_the_profiler_s_name_and_what_it_does_not_state(gpusim):
    answer = gpusim("name", "conv_s6_crosswise")

    assert answer.code == 0
    assert answer.out == "cutlass_tensorop_s16816fprop_analytic_f16_128x128_64x3_nhwc_align8\n"
    assert "threadblock_swizzle identity<4>, the scenario identity<1>" in answer.err
    assert gpusim("name", "--cutlass", KERNEL, *KERNEL_EXTENTS).out == f"{KERNEL}\n"
    assert json.loads(gpusim("name", "gemm_4096", "--json").out)["threadblock_swizzle"] == "identity<8>"


def test_a_kernel_without_a_name_is_one_line_and_exit_2(gpusim):
    answer = gpusim("name", "conv_s6_padded")

    assert_refused(answer)
    assert 'shared.a must be "crosswise", as in cutlass_tensorop_s16816fprop' in answer.err


def test_an_output_beyond_its_type_is_not_called_a_nan(gpusim):
    """Sums of 96 products deviate by about 10, so alpha = 1e5 makes nearly all of them infinite in f16."""
    overrides = ("m=8", "n=8", "k=96", "alpha=1e5")
    answer = gpusim("verify", "gemm_ragged", *(part for text in overrides for part in ("--set", f"problem.{text}")))

    assert answer.code == 3
    assert "not finite (a NaN, or beyond the output's type), first at row 0, column 0" in answer.out
