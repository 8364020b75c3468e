"""``gpusim check`` on a machine without GPU, CuPy and ncu: what it compares, and what it says is missing."""

import json
import sys
from dataclasses import replace

import pytest

from gpusim.commands import check as check_command
from gpusim.commands.check import simulated
from gpusim.cuda.trace import expected_records, stream_digest
from gpusim.families.gemm.schedule import TileKernel
from gpusim.families.registry import load_scenario
from gpusim.records.check import exact_counters
from gpusim.records.record import MeasuredPipeline, Record, TraceCheck, write_record
from gpusim.results import provenance
from gpusim.scenario.catalogue import find_scenario
from gpusim.schedule.counts import count
from gpusim.verbs.simulate import simulate

NAME = "conv_9_k_tiles"
NO_CUPY = "CuPy is not installed: pip install 'gpusim[cuda13]', or 'gpusim[cuda12]' for a driver of CUDA 12"


@pytest.fixture(scope="module")
def perfect():
    """A record of a GPU that does exactly what the schedule says, in the simulated number of cycles."""
    scenario = load_scenario(find_scenario(NAME))
    result, _ = simulate(scenario)
    kernel = TileKernel(scenario)
    blocks = kernel.traced_blocks
    digest = stream_digest(expected_records(kernel, blocks))
    counters = {name: float(value) for name, value in exact_counters(count(kernel)).items()}
    counters |= {"sm__cycles_elapsed.max": 25000.0, "sm__cycles_active.avg": 150.0, "smsp__inst_executed.sum": 12000.0}
    return Record(
        name=NAME,
        scenario=scenario.resolved(),
        scenario_sha256=scenario.digest(),
        environment={"gpu": "NVIDIA H200", "sms": 132, "driver": "580", "cuda_driver": "13.0"},
        kernel={"registers": 200},
        numerics=None,
        trace=TraceCheck(blocks, 100, digest, equal=True, first_difference=None),
        time_us=None,
        pipeline=MeasuredPipeline(result.pipeline, 20.0, 1.05, 9000),
        counters=counters,
        opcodes={},
        missing={},
        commit=None,
        date="2026-11-21",
        command=(),
    )


@pytest.mark.usefixtures("no_cupy")
@pytest.mark.parametrize("arguments", [["check", NAME], ["check", NAME, "--record"], ["calibrate"]], ids=" ".join)
def test_without_cupy_a_command_that_needs_it_says_what_to_install(gpusim, arguments):
    answer = gpusim(*arguments)

    assert (answer.code, answer.out, answer.err) == (1, "", f"gpusim: {NO_CUPY}\n")


def test_without_a_gpu_the_driver_s_reason_is_shown(gpusim, monkeypatch):
    class NoDevice(RuntimeError):
        pass

    def count():
        raise NoDevice("cudaErrorNoDevice: no CUDA-capable device is detected")

    class Runtime:
        CUDARuntimeError = NoDevice
        getDeviceCount = staticmethod(count)  # noqa: N815 # CuPy's name

    monkeypatch.setitem(sys.modules, "cupy", type("Cupy", (), {"cuda": type("Cuda", (), {"runtime": Runtime})}))

    assert gpusim("check", NAME).err == (
        "gpusim: no GPU can be used: cudaErrorNoDevice: no CUDA-capable device is detected; install NVIDIA's driver,"
        " and see `gpusim doctor`\n"
    )


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["check"], "check needs a FILE; without one, --recorded compares everything that is recorded"),
        (["check", NAME, "--record", "--recorded"], "--recorded compares with what was measured before"),
        (["check", NAME, "--record", "--set", "problem.c=128"], "--record keeps scenarios as their files state them"),
        (["check", "no-such-scenario"], "no-such-scenario: no such file"),
        (["compare", "no-such-run", "report.csv"], "no-such-run: no such file, and no shipped scenario of that name"),
    ],
)
def test_bad_usage_is_one_line_and_exit_2(gpusim, arguments, words):
    answer = gpusim(*arguments)

    assert (answer.code, answer.out) == (2, "")
    assert answer.err.startswith(f"gpusim: {words}")
    assert answer.err.count("\n") == 1


def test_a_record_that_agrees_is_exit_0(gpusim, folder, perfect):
    write_record(perfect, folder / "h200")

    answer = gpusim("check", NAME, "--recorded", "--json")

    assert answer.code == 0
    data = json.loads(answer.out)
    assert data["holds"]
    assert data["environment"]["gpu"] == "NVIDIA H200"
    assert {row["verdict"] for row in data["rows"]} <= {"exact", "approximate"}
    assert {"sm__cycles_elapsed.max", "timeline build", "trace build"} <= {row["source"] for row in data["rows"]}


def test_what_was_measured_is_compared_with_the_stream_of_its_own_build(monkeypatch):
    asked = []
    monkeypatch.setattr(check_command, "simulate", lambda _, **options: asked.append(options) or ("result", None))
    check_command.simulated(load_scenario(find_scenario(NAME)))

    assert asked == [{"stream": "estimated"}, {"stream": "compiled", "own_build": True}]


def test_a_record_that_disagrees_is_exit_3_and_names_the_row(gpusim, folder, perfect):
    wrong = {"smsp__inst_executed_op_ldgsts.sum": 1.0}
    write_record(replace(perfect, counters=perfect.counters | wrong), folder / "h200")

    answer = gpusim("check", NAME, "--recorded")

    assert answer.code == 3
    (line,) = [line for line in answer.out.splitlines() if "DIFFERS" in line]
    assert line.startswith("smsp__inst_executed_op_ldgsts.sum")


def test_a_stream_that_today_s_schedule_no_longer_has_is_exit_3(gpusim, folder, perfect):
    write_record(replace(perfect, trace=replace(perfect.trace, sha256="0" * 64)), folder / "h200")

    assert gpusim("check", NAME, "--recorded").code == 3


def test_a_scenario_without_a_record_is_exit_1(gpusim, folder):
    answer = gpusim("check", NAME, "--recorded")

    assert answer.code == 1
    assert answer.err == (
        f"gpusim: {NAME}: no record under {folder}; measure it on a GPU with `gpusim check {NAME} --record`\n"
    )


def test_an_override_asks_another_question_than_the_record(gpusim, folder, perfect):
    path = write_record(perfect, folder / "h200")

    answer = gpusim("check", NAME, "--recorded", "--set", "problem.k=64")

    assert answer.code == 1
    assert answer.err.startswith(f"gpusim: {path}: records another scenario of this name")


def test_everything_recorded_is_compared_without_a_file(gpusim, folder, perfect, monkeypatch):
    write_record(perfect, folder / "h200")
    monkeypatch.setattr(check_command, "recordable_scenarios", lambda: (find_scenario(NAME),))

    answer = gpusim("check", "--recorded")

    assert answer.code == 0
    assert "rows equal" in answer.out


def test_the_overlay_is_a_picture(gpusim, folder, perfect, tmp_path):
    write_record(perfect, folder / "h200")

    assert gpusim("check", NAME, "--recorded", "--overlay", tmp_path / "overlay.png").code == 0
    assert (tmp_path / "overlay.png").read_bytes().startswith(b"\x89PNG")


def test_an_overlay_needs_a_measured_pipeline(gpusim, folder, perfect, tmp_path):
    write_record(replace(perfect, pipeline=None, missing={"pipeline": "it hung"}), folder / "h200")

    answer = gpusim("check", NAME, "--recorded", "--overlay", tmp_path / "overlay.png")

    assert answer.code == 1
    assert answer.err.endswith(f"gpusim: {NAME}: no pipeline was measured (it hung)\n")


@pytest.mark.parametrize("gpu", ["", "../h200", "nope"])
def test_a_gpu_without_records_is_refused_with_those_that_have_some(gpusim, gpu):
    answer = gpusim("check", NAME, "--recorded", "--gpu", gpu)

    assert (answer.code, answer.out) == (2, "")
    assert answer.err == f"gpusim: --gpu must be one of h200, the folders of records, got {gpu!r}\n"


def test_a_folder_of_microbenchmarks_alone_is_no_gpu_with_records(gpusim, folder, perfect):
    write_record(perfect, folder / "h200")
    (folder / "h100" / "parts").mkdir(parents=True)

    assert "must be one of h200, the" in gpusim("check", NAME, "--recorded", "--gpu", "h100").err


MISSING = "conv_stride2_5x5"
"""A shipped scenario without a record in the folder."""


def test_several_scenarios_are_a_line_of_json_each(gpusim, folder, perfect):
    write_record(perfect, folder / "h200")

    answer = gpusim("check", NAME, MISSING, "--recorded", "--json")
    first, second = map(json.loads, answer.out.splitlines())

    assert answer.code == 1
    assert first["holds"]
    assert second["error"].startswith(f"{MISSING}: no record under")


@pytest.fixture
def simulations(monkeypatch):
    """The names of scenarios, as often as each is simulated, in a source tree without changes."""
    found = []

    def simulated_and_told(scenario):
        found.append(scenario.kind)
        return simulated(scenario)

    monkeypatch.setattr(check_command, "simulated", simulated_and_told)
    monkeypatch.setattr(provenance, "commit", lambda: "0123abcd")
    return found


def test_what_was_checked_is_kept_and_not_checked_again(gpusim, folder, perfect, simulations):
    write_record(perfect, folder / "h200")
    asked = ("check", NAME, MISSING, "--recorded", "--json", "--out", folder / "answers.jsonl")

    before, after = gpusim(*asked), gpusim(*asked)

    assert len(simulations) == 1
    assert (after.code, after.out) == (before.code, before.out)
    assert len((folder / "answers.jsonl").read_text().splitlines()) == 1


@pytest.mark.parametrize("other", [("--seed", "1"), ("--set", "kernel.stages=4")], ids=" ".join)
def test_what_was_asked_otherwise_is_checked_again(gpusim, folder, perfect, simulations, other):
    write_record(perfect, folder / "h200")
    asked = ("check", NAME, "--recorded", "--out", folder / "answers.jsonl")

    gpusim(*asked)
    gpusim(*asked, *other)

    assert len(simulations) == (2 if "--seed" in other else 1)
    assert len((folder / "answers.jsonl").read_text().splitlines()) == len(simulations)


def test_of_a_changed_source_tree_nothing_is_taken_from_the_file(gpusim, folder, perfect, simulations, monkeypatch):
    monkeypatch.setattr(provenance, "commit", lambda: "0123abcd-dirty")
    write_record(perfect, folder / "h200")

    for _ in range(2):
        answer = gpusim("check", NAME, "--recorded", "--out", folder / "answers.jsonl")

    assert len(simulations) == 2
    assert "the source tree has changes" in answer.err


def test_where_there_are_no_records_it_is_said_where_they_are(gpusim, monkeypatch, tmp_path):
    monkeypatch.setattr("gpusim.records.record.measured_folder", lambda: tmp_path / "reports" / "measured")

    assert gpusim("check", NAME, "--recorded").err == (
        f"gpusim: {NAME}: there are no records in {tmp_path}/reports/measured; they come with gpusim's source tree, not"
        " with a wheel: run this in a folder that has its reports/measured\n"
    )


def test_an_earlier_record_is_replaced_by_force_alone(gpusim, folder, perfect, monkeypatch):
    origin = check_command.measure.RecordOrigin(perfect.environment, (), None)
    monkeypatch.setattr(check_command, "measured_folder", lambda: folder)
    monkeypatch.setattr(check_command.measure.RecordOrigin, "here", lambda _: origin)
    monkeypatch.setattr(check_command.measure, "measure", lambda *_, **__: perfect)
    monkeypatch.setattr(check_command, "_counted", lambda record, *_: record)
    path = folder / "nvidia_h200" / f"{NAME}.json"
    monkeypatch.setattr(check_command, "gpu_slug", lambda _: "nvidia_h200")
    assert gpusim("check", NAME, "--record").code == 0
    written = path.read_bytes()
    path.write_text('{"schema": "gpusim.earlier/1"}')

    refused = gpusim("check", NAME, "--record")

    assert (refused.code, refused.err) == (2, f"gpusim: {path}: is there already; --force replaces it\n")
    assert gpusim("check", NAME, "--record", "--force").code == 0
    assert path.read_bytes() == written
