"""``gpusim run``: what it prints, what it writes, and what a failure leaves behind."""

import json
import re
import resource
import subprocess
import sys
import tomllib
from dataclasses import fields, replace
from pathlib import Path

import pytest

from gpusim.compiled import choice
from gpusim.errors import BadInput, CannotRun
from gpusim.families.registry import load_scenario
from gpusim.results.result import Result
from gpusim.scenario.catalogue import find_scenario
from gpusim.sim.core import engine
from gpusim.verbs.simulate import simulate

SCENARIO = "conv_9_k_tiles"
MALFORMED = Path(__file__).parents[1] / "scenario" / "malformed" / "unknown_key.toml"
FIELDS = {field.name for field in fields(Result)}

pytestmark = pytest.mark.usefixtures("in_a_folder_of_its_own")


def entries(directory):
    return sorted(path.name for path in directory.iterdir())


def test_a_run_directory_holds_all_that_is_needed(finished_run):
    assert entries(finished_run) == [
        "conflicts.png",
        "manifest.json",
        "overlap.png",
        "result.json",
        "roofline.png",
        "scenario.resolved.toml",
        "stalls.png",
        "timeline.json",
        "trace.pftrace",
    ]


def test_the_pictures_are_pictures(finished_run):
    pictures = [finished_run / f"{kind}.png" for kind in ("overlap", "conflicts", "stalls", "roofline")]

    assert all(picture.read_bytes().startswith(b"\x89PNG") for picture in pictures)


def test_the_resolved_scenario_runs_as_the_scenario_does(finished_run):
    resolved = finished_run / "scenario.resolved.toml"

    assert load_scenario(resolved).resolved() == load_scenario(find_scenario(SCENARIO)).resolved()
    assert tomllib.loads(resolved.read_text()) == json.loads((finished_run / "result.json").read_text())["scenario"]


def test_the_manifest_repeats_the_run(finished_run):
    manifest = json.loads((finished_run / "manifest.json").read_text())

    assert manifest["command"] == ["gpusim", "run", SCENARIO, "--stream", "compiled"]
    assert {"version", "commit", "scenario_sha256", "machine_sha256", "time"} <= set(manifest)


def test_json_is_result_json_and_nothing_else_is_on_stdout(gpusim):
    answer = gpusim("run", SCENARIO, "--json", "--no-figures", "--out", "run")

    assert set(json.loads(answer.out)) == FIELDS
    assert answer.out == Path("run/result.json").read_text()
    assert answer.err.splitlines()[-1] == f"{SCENARIO}: written to run"


def test_the_summary_names_grid_cycles_conflicts_and_stalls(gpusim):
    out = gpusim("run", SCENARIO, "--no-figures").out

    assert [
        word for word in ("grid", "occupancy", "cycles", "first bound", "ldmatrix", "Stalls") if word not in out
    ] == []


def test_a_run_is_named_for_its_scenario_and_never_written_twice(gpusim):
    for _ in range(2):
        assert gpusim("run", SCENARIO, "--no-figures").code == 0
    gpusim("run", SCENARIO, "--no-figures", "--set", "problem.c=128")

    first, second, other = sorted(entries(Path("runs")), key=lambda name: Path("runs", name).stat().st_ctime_ns)

    assert first.startswith(f"{SCENARIO}-")
    assert second == f"{first}-2"
    assert other.removesuffix(other[-8:]) == f"{SCENARIO}-"


def test_force_replaces_the_run(gpusim, own_run):
    (own_run / "result.json").write_text('{"ctas": 5, "schema": "gpusim.result/1"}')

    assert gpusim("run", SCENARIO, "--no-figures", "--out", own_run, "--force").code == 0
    assert entries(own_run) == ["manifest.json", "result.json", "scenario.resolved.toml", "timeline.json"]
    assert json.loads((own_run / "result.json").read_text())["ctas"] == 1


def test_a_failing_file_does_not_lose_the_others(gpusim):
    answer = gpusim("run", MALFORMED, SCENARIO, "no_such_scenario", "--no-figures", "--json", "--out", "both")

    first, second, third = json.loads(answer.out)

    assert answer.code == 2
    assert (first["file"], first["exit_code"]) == (str(MALFORMED), 2)
    assert second["schema"].startswith("gpusim.result/")
    assert third["error"].startswith("no_such_scenario: no such file")
    assert len(entries(Path("both"))) == 1
    assert sum(line.startswith("gpusim: ") for line in answer.err.splitlines()) == 2


def test_every_file_is_read_before_the_first_is_simulated(gpusim, monkeypatch):
    said = []

    def simulate_and_tell(*arguments, **options):
        said.append("simulate")
        return simulate(*arguments, **options)

    monkeypatch.setattr("gpusim.commands.run.simulate", simulate_and_tell)
    monkeypatch.setattr("gpusim.commands.run.complain", lambda message: said.append(message.partition(":")[0]))

    assert gpusim("run", SCENARIO, "no_such_scenario", "--no-figures").code == 2
    assert said == ["no_such_scenario", "simulate"]


def test_no_memory_for_one_file_does_not_lose_the_others(gpusim, monkeypatch):
    def exhaust(*_arguments, **_options):
        raise MemoryError("Unable to allocate 8.00 TiB")

    monkeypatch.setattr("gpusim.commands.run.simulate", exhaust)

    answer = gpusim("run", SCENARIO, SCENARIO)

    assert answer.code == 1
    assert answer.err == f"gpusim: {SCENARIO}: out of memory (Unable to allocate 8.00 TiB)\n" * 2


def test_the_summary_says_how_fast_it_was_simulated(gpusim):
    told = " ".join(gpusim("run", SCENARIO, "--no-figures").out.split())

    assert re.search(r"warp instructions in [\d.]+ s, [\d,]+ a second; whole [\d.]+ s \(every CTA simulated, ", told)


def test_the_worst_exit_code_is_the_answer(gpusim, monkeypatch):
    def fail(*_arguments, **_options):
        raise CannotRun("no GPU")

    monkeypatch.setattr("gpusim.commands.run.simulate", fail)

    assert gpusim("run", SCENARIO).code == 1
    assert gpusim("run", SCENARIO, MALFORMED, SCENARIO).code == 2


def test_a_failed_simulation_leaves_no_directory(gpusim, monkeypatch):
    def fail(*_arguments, **_options):
        raise BadInput("a CTA must fit on an SM")

    monkeypatch.setattr("gpusim.commands.run.simulate", fail)

    assert gpusim("run", SCENARIO, "--out", "run").err == "gpusim: a CTA must fit on an SM\n"
    assert not Path("run").exists()


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (OSError(28, "No space left on device"), "No space left on device"),
        (CannotRun("nothing to show"), "nothing to show"),
        (ValueError("no such\nglyph"), "ValueError: no such glyph"),
        (MemoryError("of 9 GiB"), "MemoryError: of 9 GiB"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_failing_picture_does_not_lose_what_was_computed(gpusim, monkeypatch, error, words):
    def fail(*_arguments, **_options):
        raise error

    monkeypatch.setattr("gpusim.verbs.pictures.conflict_picture", fail)

    answer = gpusim("run", SCENARIO, "--out", "run")

    assert answer.code == 0
    assert answer.err.splitlines()[-2:] == [
        f"{SCENARIO}: warning: no conflicts.png, which cannot be made ({words})",
        f"{SCENARIO}: written to run",
    ]
    assert "ldmatrix" in answer.out
    assert set(entries(Path("run"))) >= {"result.json", "overlap.png", "stalls.png", "trace.pftrace"}


def test_an_interrupt_of_the_drawing_keeps_what_was_computed(gpusim, monkeypatch):
    def interrupt(*_arguments, **_options):
        raise KeyboardInterrupt

    monkeypatch.setattr("gpusim.verbs.pictures.conflict_picture", interrupt)

    answer = gpusim("run", SCENARIO, "gemm_ragged", "--out", "runs")

    (kept,) = Path("runs").iterdir()
    assert answer.code == 130
    assert answer.err.splitlines()[-1] == (
        f"gpusim: interrupted: {SCENARIO} is simulated, and kept in {kept} without pictures"
    )
    assert "result.json" in entries(kept)


def test_a_full_disk_leaves_no_run():
    """
    A limit on the size of files stands for it: the first file that passes it cannot be written.

    Python would leave a byte code file in the cache that ends at the limit, so it writes none.
    """
    command = [sys.executable, "-B", "-m", "gpusim", "run", SCENARIO, "--no-figures", "--out", "run"]

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))

    ended = subprocess.run(command, preexec_fn=limit, capture_output=True, text=True, check=False)  # no threads

    assert ended.returncode == 1
    assert ended.stderr.splitlines()[-1].startswith("gpusim: ")
    assert ended.stderr.splitlines()[-1].endswith("cannot be written (File too large)")
    assert entries(Path()) == []


def test_a_hazard_is_exit_3_and_the_run_is_kept(gpusim, monkeypatch):
    def simulate_with_hazard(*arguments, **options):
        result, timeline = simulate(*arguments, **options)
        return replace(result, hazards=({"name": "missing_barrier"},)), timeline

    monkeypatch.setattr("gpusim.commands.run.simulate", simulate_with_hazard)

    answer = gpusim("run", SCENARIO, "--no-figures", "--json", "--out", "run")

    assert answer.code == 3
    assert json.loads(answer.out)["hazards"] == [{"name": "missing_barrier"}]
    assert "1 hazards, the first: {'name': 'missing_barrier'}" in answer.err
    assert Path("run/result.json").is_file()


def test_a_run_that_multiplies_nothing_has_no_roofline(gpusim):
    """Speed 0 has no height on a logarithmic axis. No key is seen, so no CTA has a matrix instruction."""
    no_keys = ("batch=1", "heads=1", "queries=3", "keys=3", "key_lengths=[0]")
    overrides = [part for text in no_keys for part in ("--set", f"problem.{text}")]
    assert gpusim("run", "flash_128x64", *overrides, "--out", "run").code == 0

    answer = gpusim("plot", "run", "roofline")

    assert (answer.code, answer.out) == (1, "")
    assert (
        answer.err == "gpusim: the roofline needs a floating-point operation, and no CTA of the result executes one\n"
    )


def test_the_report_of_an_execution_keeps_its_lines_beside_json(gpusim):
    answer = gpusim("run", SCENARIO, "--reference-check", "--no-figures", "--json", "--out", "run")

    assert json.loads(answer.out)["schema"] == "gpusim.result/1"
    words = [line.split()[0] for line in answer.err.splitlines()[-4:]]
    assert words == ["elements", "error", "hazards", "passed"]


def test_the_execution_of_the_core_can_be_chosen(gpusim):
    answer = gpusim("run", SCENARIO, "--no-figures", "--json", "--engine", "interpreted", "--out", "run")

    assert json.loads(answer.out)["simulated"]["engine"] == "interpreted"
    assert json.loads(Path("run/manifest.json").read_text())["command"][3:5] == ["--engine", "interpreted"]


def test_a_compiled_core_that_was_not_built_is_one_line_and_exit_1(gpusim, monkeypatch):
    missing = choice.Engine("interpreted", engine.chip, "the core was not compiled when gpusim was installed")
    monkeypatch.setattr(choice, "_compiled", lambda *_: missing)
    answer = gpusim("run", SCENARIO, "--no-figures", "--engine", "compiled", "--out", "run")

    assert answer.code == 1
    assert answer.err.splitlines()[-1] == (
        "gpusim: the compiled core was asked for, but the core was not compiled when gpusim was installed"
    )
