"""Where a compiler's code cannot be followed, every command answers from the estimate, and says so."""

import json

import pytest
from slow import one_in

from gpusim.cuda.compiled_kernel import CompiledKernel
from gpusim.errors import BadInput, CannotRun, CheckFailed, Unsupported
from gpusim.lower.compiled import CompilableKernel

SMALL = (
    *("gemm_ragged", "--set", "problem.m=128", "--set", "problem.n=128", "--set", "problem.k=64"),
    *("--set", "kernel.threadblock=[64,64,32]", "--set", "kernel.warp=[32,32,32]"),
)
WHY = "the machine code that nvcc 13.0.88 makes for sm_90 cannot be followed: 0x40 LDG has no op"
REFUSALS = {
    "not the schedule's": (CheckFailed("0x40 LDG has no op"), WHY),
    "not emulated": (Unsupported("0x40 LDG has no op"), WHY),
    "not compiled": (CannotRun("nvcc 13.0.88 refuses kernel.cu"), "nvcc 13.0.88 refuses kernel.cu"),
}


@pytest.fixture(params=one_in(3, REFUSALS))
def refused(request, monkeypatch):
    """Why the code of a compiler that is installed cannot be followed; a word of the answer."""
    error, why = REFUSALS[request.param]

    def fail(*_):
        raise error

    monkeypatch.setattr("gpusim.lower.compiled.compiler_at_hand", lambda: True)
    monkeypatch.setattr("gpusim.lower.compiled.compiler_name", lambda: "nvcc 13.0.88")
    if isinstance(error, CheckFailed | Unsupported):
        monkeypatch.setattr("gpusim.lower.compiled.compile_kernel", lambda own, _: CompiledKernel(b"", "nvcc", own))
        monkeypatch.setattr(CompilableKernel, "kept", fail)
    else:
        monkeypatch.setattr("gpusim.lower.compiled.compile_kernel", fail)
    return why


def test_run_answers_from_the_estimate_and_says_why(gpusim, refused, tmp_path):
    estimated = json.loads(gpusim("run", *SMALL, "--stream", "estimated", "--json", "--out", tmp_path / "e").out)
    answer = gpusim("run", *SMALL, "--json", "--out", tmp_path / "a")
    found = json.loads(answer.out)

    assert answer.code == 0
    assert (found["stream"], found["cycles"]) == ("estimated", estimated["cycles"])
    assert found["provenance"]["not_compiled"] == refused
    assert "not_compiled" not in estimated["provenance"]
    assert f"no compiled stream: {refused}\n" in answer.err


def test_the_text_of_a_run_has_a_row_for_it(gpusim, refused, tmp_path):
    answer = gpusim("run", *SMALL, "--out", tmp_path / "a", "--no-figures")

    rows = " ".join(answer.out.split())
    assert f"estimated stream not compiled {refused} grid" in rows


def test_a_compiled_stream_that_is_asked_for_is_refused_with_the_way_out(gpusim, refused, tmp_path):
    answer = gpusim("run", *SMALL, "--stream", "compiled", "--out", tmp_path / "a")

    assert (answer.code, answer.out) == (1, "")
    assert answer.err.endswith(f"gpusim: {refused}; --stream auto and --stream estimated answer without it\n")


ANSWERS = {
    "explain": (*SMALL, "--exact"),
    "compare": (*SMALL, "--set", "kernel.stages=4"),
    "sweep": (*SMALL, "--over", "kernel.stages=3,4", "--jobs", "1"),
    "tune": (*SMALL, "--jobs", "1", "--budget", "2"),
}


@pytest.mark.parametrize("refused", ["not the schedule's"], indirect=True)
@pytest.mark.parametrize("command", ANSWERS)
def test_other_commands_answer_from_it_too(command, gpusim, refused, tmp_path):
    out = ("--out", tmp_path / "out") if command == "sweep" else ()
    answer = gpusim(command, *ANSWERS[command], *out)

    assert answer.code == 0, answer.err
    assert "estimated" in answer.out + answer.err
    assert f" since {refused}" in " ".join(answer.out.split())


def test_sass_has_nothing_to_show(gpusim, refused):
    answer = gpusim("sass", *SMALL)

    assert (answer.code, answer.out) == (1, "")
    assert answer.err.endswith(f"gpusim: {refused}\n")


def test_what_a_scenario_asks_for_wrongly_is_still_bad_input(gpusim, monkeypatch):
    def fail(*_):
        raise BadInput("kernel.code must be another")

    monkeypatch.setattr("gpusim.lower.compiled.compiler_at_hand", lambda: True)
    monkeypatch.setattr(CompilableKernel, "compiled", fail)

    assert gpusim("run", *SMALL, "--stream", "compiled").code == 2
