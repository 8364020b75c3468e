"""Kernels of a user's cubin: which one is meant, what is refused, and that its machine code is what runs."""

import gzip
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from gpusim.cuda.compiler import CACHE_VARIABLE
from gpusim.errors import BadInput, CannotRun, Unsupported
from gpusim.families.gemm.timed import TimedTileKernel
from gpusim.families.registry import load_scenario
from gpusim.lower import compiled
from gpusim.lower.runner import KernelRunner
from gpusim.lower.sass.emulated import MODIFIERS
from gpusim.lower.user_kernel import read_user_kernel
from gpusim.machine.load import load_machine
from gpusim.verbs.simulate import simulate

FOLDER = Path(__file__).parent / "sass" / "data"
SCENARIOS = Path(__file__).parents[3] / "scenarios"


@pytest.fixture
def cubin(tmp_path):
    """
    A file of gpusim's own kernel of gemm_ragged, compiled for sm_90: a user's kernel as good as any.
    """
    path = tmp_path / "mine.cubin"
    path.write_bytes(gzip.decompress((FOLDER / "gemm_ragged_sm90.cubin.gz").read_bytes()))
    return path


def gemm_ragged(*overrides):
    return load_scenario(SCENARIOS / "gemm_ragged.toml", overrides)


@pytest.mark.parametrize("entry", ["gpusim_kernel", "kernel", ""])
def test_a_name_or_the_part_that_only_one_has_is_enough(cubin, entry):
    kernel = read_user_kernel(cubin, entry)

    assert (kernel.entry, kernel.architecture) == ("gpusim_kernel", 90)


def test_another_name_lists_the_kernels(cubin):
    with pytest.raises(BadInput) as refused:
        read_user_kernel(cubin, "sgemm")

    assert str(refused.value) == (
        f"--entry must name one kernel of {cubin}, or be a part of one name: gpusim_kernel; got 'sgemm'"
    )


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("", "k.cu has 3 kernels, of which entry must name one: scale, turn, return"),
        (
            "scael",
            "entry must name one kernel of k.cu, or be a part of one name: scale, turn, return; got 'scael'; did you",
        ),
        ("ur", "entry must name one kernel of k.cu, or be a part of one name: scale, turn, return; got 'ur', which 2"),
    ],
)
def test_of_several_kernels_one_must_be_named(cubin, monkeypatch, entry, message):
    monkeypatch.setattr("gpusim.lower.user_kernel.kernel_names", lambda *_: ["scale", "turn", "return"])

    with pytest.raises(BadInput) as refused:
        read_user_kernel(cubin, entry, source=Path("k.cu"), asked=("source", "entry"))

    assert str(refused.value).startswith(message)


def test_a_caller_names_what_it_was_given(cubin, tmp_path):
    """A kernel that was compiled from a source: the user knows no cubin."""
    with pytest.raises(BadInput) as refused:
        read_user_kernel(cubin, "sgemm", source=tmp_path / "k.cu", asked=("source", "entry"))
    assert str(refused.value).startswith(
        f"entry must name one kernel of {tmp_path / 'k.cu'}, or be a part of one name: "
    )

    with pytest.raises(CannotRun, match=r"^source: .*none\.cubin: No such file"):
        read_user_kernel(tmp_path / "none.cubin", "", asked=("source", "entry"))


def test_a_file_that_is_no_cubin_is_refused(tmp_path):
    path = tmp_path / "kernel.ptx"
    path.write_text(".version 8.8\n" * 20)

    with pytest.raises(BadInput) as refused:
        read_user_kernel(path, "")
    assert str(refused.value) == f"{path}: not a cubin: the ELF header must name machine 190 (CUDA)"


def test_a_cubin_cut_short_is_refused(cubin):
    cubin.write_bytes(cubin.read_bytes()[:3000])

    with pytest.raises(BadInput) as refused:
        read_user_kernel(cubin, "")
    assert str(refused.value) == f"{cubin}: not a readable cubin: its tables are cut short or damaged"


def test_a_missing_file_cannot_be_read(tmp_path):
    with pytest.raises(CannotRun) as refused:
        read_user_kernel(tmp_path / "none", "")
    assert str(refused.value) == f"--cubin: {tmp_path / 'none'}: No such file or directory"


def test_the_machine_must_be_the_cubin_s(cubin):
    kernel = read_user_kernel(cubin, "")

    with pytest.raises(BadInput) as refused:
        simulate(gemm_ragged('machine="a100"'), user=kernel)
    assert str(refused.value) == f"--cubin must be machine code of sm_80 (a100), {cubin} is of sm_90"


def test_a_second_kernel_is_refused(cubin):
    overrides = ("problem.split_k_slices=2", 'problem.split_k="parallel"')

    with pytest.raises(BadInput) as refused:
        simulate(gemm_ragged(*overrides), user=read_user_kernel(cubin, ""))
    assert str(refused.value) == '--cubin holds one kernel, and problem.split_k = "parallel" launches two'


def test_a_kernel_of_another_family_is_refused(cubin):
    with pytest.raises(BadInput) as refused:
        simulate(load_scenario(SCENARIOS / "attention_64x64.toml"), user=read_user_kernel(cubin, ""))
    assert str(refused.value) == "gpusim_kernel takes 128 bytes of parameters, its launch has 168"


def test_our_own_kernel_as_a_user_s_takes_as_long_as_the_shipped_one(cubin):
    scenario, kernel = gemm_ragged(), read_user_kernel(cubin, "")
    shipped, _ = simulate(scenario, stream="compiled")
    own, _ = simulate(scenario, user=kernel)

    assert own.provenance["cubin"] == kernel.provenance
    assert own.trust is None, "nothing like it was validated"
    assert replace(own, provenance={}, simulated=shipped.simulated) == replace(shipped, provenance={}, trust=None)


def test_a_user_s_kernel_is_lowered_once_for_each_launch(cubin, tmp_path, monkeypatch):
    """
    Parameters steer what a kernel executes, and the file is named by the stream.
    """
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path))
    lowered, own = [], compiled.lower
    monkeypatch.setattr(compiled, "lower", lambda *which, **how: lowered.append(which) or own(*which, **how))

    def stream(file, *overrides):
        kernel = TimedTileKernel(gemm_ragged(*overrides), load_machine("h200"))
        kernel.user = read_user_kernel(file, "")
        return kernel.compiled()

    first = stream(cubin)
    assert (stream(cubin), len(lowered)) == (first, 1)
    stream(cubin, "problem.alpha=2.0")
    assert len(lowered) == 2
    other = cubin.rename(tmp_path / "other.cubin")
    assert stream(other) == replace(first, compiler=str(other))
    assert len(lowered) == 3


def test_every_trip_of_a_user_s_kernel_is_executed(tmp_path, monkeypatch):
    """
    Any may depart from the schedule, where gpusim's own kernel of this K skips most.
    """
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path))
    file = tmp_path / "long.cubin"
    file.write_bytes(gzip.decompress((FOLDER.parent.parent / "data" / "gemm_long_k_sm90.cubin.gz").read_bytes()))
    kernel = TimedTileKernel(gemm_ragged("problem.k=3080"), load_machine("h200"))
    kernel.user = read_user_kernel(file, "")
    run, paths = KernelRunner.run, []
    monkeypatch.setattr(KernelRunner, "run", lambda *which: paths.append(run(*which)) or paths[-1])

    assert KernelRunner(kernel, kernel.user.compiled(kernel.specialisation)).loop(0) is not None
    kernel.compiled()
    assert paths
    assert not any(path.skips for path in paths)


def test_an_instruction_that_is_not_emulated_is_named_with_its_kernel(cubin, monkeypatch):
    monkeypatch.setitem(MODIFIERS, "IMAD", frozenset({"MOV"}))

    with pytest.raises(Unsupported) as refused:
        simulate(gemm_ragged(), user=read_user_kernel(cubin, ""))
    assert re.fullmatch(
        r"gpusim_kernel: text 0x[0-9a-f]{4} IMAD\.\S+ .+: modifier [A-Z0-9]+ is not emulated", str(refused.value)
    )


def test_the_command_writes_what_the_run_stands_on(gpusim, cubin, tmp_path):
    out = tmp_path / "run"
    answer = gpusim("run", "gemm_ragged", "--cubin", cubin, "--entry", "kernel", "--no-figures", "--out", out)
    result = json.loads((out / "result.json").read_text())
    manifest = json.loads((out / "manifest.json").read_text())

    assert (answer.code, result["stream"]) == (0, "compiled")
    assert result["provenance"]["cubin"]["entry"] == "gpusim_kernel"
    assert manifest["command"][3:] == ["--cubin", str(cubin), "--entry", "kernel", "--stream", "compiled"]


def test_a_stream_that_is_not_the_schedule_s_says_where(gpusim, cubin, tmp_path):
    answer = gpusim(
        *("run", "gemm_ragged", "--cubin", cubin, "--set", "kernel.stages=4", "--no-figures", "--out", tmp_path / "run")
    )

    assert answer.code == 3
    assert answer.err.endswith(
        "gpusim: 0x16d0 DEPBAR.LE SB0, 0x1 waits for 0x1 pending groups, the schedule for 2: WaitGroup(pending=2)\n"
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--entry", "kernel"), "--entry names a kernel of --cubin, which is missing, got 'kernel'"),
        (("--cubin", "x", "--stream", "estimated"), "--stream must be auto or compiled with --cubin, got estimated"),
        (("--cubin", ""), '--cubin must name a file, got ""'),
    ],
)
def test_options_that_contradict_each_other_are_refused(gpusim, arguments, message):
    answer = gpusim("run", "gemm_ragged", *arguments)

    assert answer.is_refusal
    assert answer.err == f"gpusim: {message}\n"
