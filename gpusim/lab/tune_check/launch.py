"""``python -m gpusim.lab.tune_check.launch PROBLEM``: launches every configuration, for a profiler to see."""

import argparse
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from gpusim.cuda.specialise import Specialisation
from gpusim.errors import GpusimError
from gpusim.families.gemm.device import GemmOnDevice, upload
from gpusim.families.gemm.specialise import specialise_any_extents
from gpusim.families.registry import family_of
from gpusim.gpu import device, run
from gpusim.gpu.module import LoadedKernel, load_kernels
from gpusim.lab.tune_check.problems import TuneProblem, problem_named
from gpusim.measure.measure import context_is_lost
from gpusim.numerics.tensors import fresh_workspace
from gpusim.scenario.gemm import GemmScenario

SEED = 2026
"""Seed of the inputs."""


def builds_of(scenario: GemmScenario) -> tuple[Specialisation, ...]:
    """
    Return the kernels of a configuration in launch order.

    One build with run-time extents serves all problems of a GEMM's configuration. Convolutions and a parallel split-K
    have builds of their own.
    """
    shared = specialise_any_extents(scenario)
    return (shared,) if shared is not None else family_of(scenario).cuda.specialisations(scenario, "plain")


class ProblemOnDevice:
    """The configurations of one problem on the GPU, with common tensors."""

    def __init__(self, cupy: Any, problem: TuneProblem) -> None:
        self.cupy = cupy
        self.scenarios = [problem.scenario(one) for one in problem.settings()]
        self._shared = upload(cupy, self.scenarios[0], SEED)

    def load(self, number: int) -> tuple[LoadedKernel, ...]:
        """Return the kernels of a configuration, loaded."""
        return load_kernels(self.cupy, builds_of(self.scenarios[number]))

    def tensors(self, number: int, kernels: Sequence[LoadedKernel]) -> GemmOnDevice:
        """Return the problem's tensors with the semaphore and the workspace of a configuration."""
        scenario = self.scenarios[number]
        flags = max(1, kernels[0].specialisation.semaphores)
        return replace(
            self._shared,
            scenario=scenario,
            semaphore=self.cupy.zeros(flags, np.int32),
            partial=self.cupy.asarray(fresh_workspace(scenario)),
        )


def launch_all(problem: TuneProblem, repeats: int, seconds: float) -> dict[str, Any]:
    """
    Launch every configuration once, then all of them again, up to ``repeats`` launches or the time limit.

    Returns:
        ``launched``: the configuration's number and the number of its kernels for every launch, in order. ``failed``:
        the reason by the configuration's number. ``kernels``: registers and stack of each configuration's first kernel.

    Raises:
        CannotRun: CuPy or a GPU is missing.
    """
    begun, on_device = time.monotonic(), ProblemOnDevice(device.import_cupy(), problem)
    launched: list[tuple[int, int]] = []
    failed, facts, ready = dict[int, str](), dict[int, Any](), dict[int, Any]()
    for repeat in range(repeats):
        for number in range(len(on_device.scenarios)):
            if time.monotonic() - begun > seconds:
                break
            if number in failed:
                continue
            try:
                if repeat == 0:
                    kernels = on_device.load(number)
                    ready[number] = kernels, on_device.tensors(number, kernels)
                    facts[number] = {"registers": kernels[0].registers, "local_bytes": kernels[0].local_bytes}
                elif number not in ready:
                    continue
                run.launch_once(*ready[number])
            except (GpusimError, RuntimeError) as error:  # CuPy's errors are RuntimeErrors
                failed[number] = " ".join(str(error).split())
                if context_is_lost(on_device.cupy):
                    return {"launched": launched, "failed": failed, "kernels": facts}
            else:
                launched.append((number, len(ready[number][0])))
    return {"launched": launched, "failed": failed, "kernels": facts}


def check_all(problem: TuneProblem, seconds: float) -> dict[str, Any]:
    """
    Compare the output of every configuration with the float64 reference, until the time is up.

    Returns:
        ``wrong``: number of wrong elements by the configuration's number; ``failed`` as in ``launch_all``.

    Raises:
        CannotRun: CuPy or a GPU is missing.
    """
    begun, on_device = time.monotonic(), ProblemOnDevice(device.import_cupy(), problem)
    wrong, failed = dict[int, int](), dict[int, str]()
    for number in range(len(on_device.scenarios)):
        if time.monotonic() - begun > seconds:
            break
        try:
            kernels = on_device.load(number)
            wrong[number] = run.check_numerics(kernels, on_device.tensors(number, kernels)).wrong_elements
        except (GpusimError, RuntimeError) as error:
            failed[number] = " ".join(str(error).split())
            if context_is_lost(on_device.cupy):
                break
        on_device.cupy.get_default_memory_pool().free_all_blocks()
    return {"wrong": wrong, "failed": failed}


def main(argv: Sequence[str] | None = None) -> int:
    """Launch or check one problem's configurations, and write the outcome as JSON. Return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m gpusim.lab.tune_check.launch", description=__doc__)
    parser.add_argument("problem")
    parser.add_argument("--log", type=Path, required=True)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=60.0, help="begin nothing new after this long")
    parser.add_argument("--check", action="store_true", help="compare outputs with the reference instead")
    arguments = parser.parse_args(argv)
    try:
        problem = problem_named(arguments.problem)
        if arguments.check:
            done = check_all(problem, arguments.seconds)
        else:
            done = launch_all(problem, arguments.repeats, arguments.seconds)
    except GpusimError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_code
    arguments.log.write_text(json.dumps(done) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
