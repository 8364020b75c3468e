"""Launching every configuration of a problem on a double of the GPU."""

import json
from dataclasses import dataclass

import pytest
from doubles.cupy import Mistakes
from problems.ragged import GEMM, KERNEL, RAGGED, ragged

from gpusim.cuda.compiler import CACHE_VARIABLE, compile_cubin
from gpusim.families.gemm.specialise import specialise_any_extents
from gpusim.gpu.module import load_kernels
from gpusim.lab.tune_check import launch
from gpusim.lab.tune_check.launch import builds_of, check_all, launch_all
from gpusim.lab.tune_check.problems import TuneProblem

LAYOUTS = {"layout_a": "row", "layout_b": "column", "dtype": {"ab": "f16", "accumulator": "f32", "output": "f32"}}


@dataclass(frozen=True, slots=True)
class Small(TuneProblem):
    """The ragged GEMM with three numbers of stages."""

    def settings(self):
        common = {f"kernel.{key}": value for key, value in KERNEL.items()}
        return [common | {"kernel.stages": stages} for stages in (3, 4, 5)]


SMALL = Small("small", GEMM | LAYOUTS)


def test_a_gemm_has_one_build_for_all_extents_and_others_have_their_own():
    (shared,) = builds_of(RAGGED)
    first, reduction = builds_of(ragged(split_k_slices=2, split_k="parallel"))

    assert shared == specialise_any_extents(RAGGED)
    assert shared.extents[:3] == (72, 40, 104)
    assert (first.extents, reduction.extents) == ((), ())


def test_run_time_extents_follow_the_parameters_of_a_launch(gpu):
    cupy = gpu()
    (kernel,) = load_kernels(cupy, builds_of(RAGGED))
    tensors = launch.ProblemOnDevice(cupy, SMALL).tensors

    kernel.launch(tensors(0, (kernel,)).params(kernel.specialisation.k_iterations))

    assert cupy.extents == [kernel.specialisation.extents]


def test_all_are_launched_once_before_any_is_launched_again(gpu):
    cupy = gpu()

    done = launch_all(SMALL, repeats=2, seconds=60.0)

    assert done["launched"] == [(0, 1), (1, 1), (2, 1), (0, 1), (1, 1), (2, 1)]
    assert done["failed"] == {}
    assert done["kernels"][2] == {"registers": 128, "local_bytes": 0}
    assert len(cupy.launches) == 6


def test_nothing_is_launched_when_the_time_is_up(gpu):
    gpu()
    assert launch_all(SMALL, repeats=2, seconds=-1.0)["launched"] == []


def test_a_kernel_that_cannot_be_loaded_is_noted_and_the_others_go_on(gpu):
    gpu(mistakes=Mistakes(unloadable=("plain",)))

    done = launch_all(SMALL, repeats=2, seconds=60.0)

    assert done["launched"] == []
    assert set(done["failed"]) == {0, 1, 2}
    assert "the GPU does not load" in done["failed"][0]


def test_outputs_are_compared_with_the_reference(gpu):
    def spoil(output):
        output[3] = 1e9

    gpu(mistakes=Mistakes(output=spoil))

    assert check_all(SMALL, seconds=60.0)["wrong"].keys() == {0, 1, 2}
    assert set(check_all(SMALL, seconds=60.0)["wrong"].values()) != {0}


def test_what_was_launched_is_written_for_the_one_who_profiles(gpu, monkeypatch, tmp_path):
    gpu()
    monkeypatch.setattr(launch, "problem_named", lambda name: {"small": SMALL}[name])

    code = launch.main(["small", "--log", str(tmp_path / "log.json"), "--repeats", "1"])

    assert code == 0
    assert json.loads((tmp_path / "log.json").read_text())["launched"] == [[0, 1], [1, 1], [2, 1]]


@pytest.mark.usefixtures("no_cupy")
def test_without_a_gpu_it_says_what_to_install(tmp_path, capsys):
    assert launch.main(["f16_tn_2048x2048x2048", "--log", str(tmp_path / "log.json")]) == 1
    assert "CuPy is not installed" in capsys.readouterr().err


@pytest.mark.compiler("nvcc")
def test_a_build_of_the_set_compiles(tmp_path, monkeypatch):
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path))
    (build,) = builds_of(RAGGED)

    assert compile_cubin(build).stat().st_size > 1000
