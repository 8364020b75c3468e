"""
Times what comes before a simulation, on problems that have much to prepare and little to simulate.

``python -m gpusim.lab.bench.preparation`` prints a table, and exits with 3 where a preparation takes more than
``MOST_SECONDS`` of the processor's time. Each problem runs in a process of its own, which knows nothing of another.
"""

import argparse
import json
import multiprocessing
import resource
import sys
import time
from types import SimpleNamespace
from typing import Any, Final, NamedTuple
from unittest import mock

from gpusim.families.registry import scenario_of
from gpusim.scenario.models import Scenario
from gpusim.sim import run
from gpusim.verbs.simulate import simulate

MOST_SECONDS: Final = 3.0
"""Most CPU seconds of a preparation, without the core's own execution."""

_HALVES = {"ab": "f16", "accumulator": "f32", "output": "f16"}
_TILE = {"threadblock": [128, 128, 32], "warp": [64, 64, 32], "instruction": [16, 8, 16]}

CASES: Final[dict[str, dict[str, Any]]] = {
    "four channels, stride 4": {
        "machine": "t4",
        "problem": {"kind": "conv2d_fprop", "n": 7, "h": 1208, "w": 1920, "c": 4, "k": 16, "r": 4, "s": 4}
        | {"stride": [4, 4], "dtype": _HALVES},
        "kernel": _TILE | {"mainloop": "pipelined", "instruction": [16, 8, 8], "stages": 2},
    },
    "384 channels, 3 x 3": {
        "machine": "rtx4090",
        "problem": {"kind": "conv2d_fprop", "n": 1, "h": 512, "w": 512, "c": 384, "k": 512, "r": 3, "s": 3}
        | {"padding": [1, 1], "dtype": _HALVES},
        "kernel": _TILE | {"mainloop": "multistage", "iterator": "optimized", "stages": 3},
    },
    "16384 x 16384 x 16384": {
        "machine": "rtx3090",
        "problem": {"kind": "gemm", "m": 16384, "n": 16384, "k": 16384, "dtype": _HALVES},
        "kernel": _TILE | {"mainloop": "multistage", "stages": 4},
    },
    "16 x 16 x 16777216, 2048 slices": {
        "machine": "a100",
        "problem": {"kind": "gemm", "m": 16, "n": 16, "k": 16777216, "split_k_slices": 2048, "dtype": _HALVES},
        "kernel": _TILE | {"mainloop": "multistage", "threadblock": [64, 64, 32], "warp": [32, 32, 32], "stages": 4},
    },
    "16 x 16 x 1048576, 16384 slices": {
        "machine": "a100",
        "problem": {"kind": "gemm", "m": 16, "n": 16, "k": 1048576, "split_k_slices": 16384, "dtype": _HALVES},
        "kernel": _TILE | {"mainloop": "multistage", "threadblock": [64, 64, 32], "warp": [32, 32, 32], "stages": 4},
    },
    "attention of 65535 sequences": {
        "machine": "h200",
        "problem": {"kind": "attention", "batch": 65535, "heads": 1, "queries": 64, "keys": 64}
        | {"head_dim": 64, "head_dim_v": 64, "dtype": {"ab": "f16", "output": "f16"}},
        "kernel": {"mainloop": "attention"},
    },
}
"""Problems by name."""


class Prepared(NamedTuple):
    """
    The cost of a simulation.

    Attributes:
        preparation: CPU seconds outside the core.
        core: CPU seconds in the core.
        megabytes: Largest memory of the process.
    """

    preparation: float
    core: float
    megabytes: int


def prepared(scenario: Scenario, **how: Any) -> Prepared:
    """
    Simulate a scenario with an estimated stream, and return the cost.

    Args:
        scenario: The scenario.
        how: Further arguments of ``simulate``.
    """
    # CPU time does not count the work of other processes.
    with mock.patch.object(run, "time", SimpleNamespace(perf_counter=time.process_time)):
        began = time.process_time()
        result, _ = simulate(scenario, stream="estimated", **how)
        whole = time.process_time() - began
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    return Prepared(whole - result.simulated.seconds, result.simulated.seconds, memory)


def _of_case(name: str) -> Prepared:
    return prepared(scenario_of(json.loads(json.dumps(CASES[name]))))


def main(arguments: list[str] | None = None) -> int:
    """Time all problems, or the named ones; return the exit code."""
    parser = argparse.ArgumentParser(description="Times what comes before a simulation.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(CASES)}; by default all")
    names = parser.parse_args(arguments).names or list(CASES)
    unknown = [name for name in names if name not in CASES]
    if unknown:
        parser.error(f"no problem {unknown[0]!r}")
    processes = multiprocessing.get_context("spawn")
    worst = 0.0
    print(f"{'problem':34} {'preparation':>12} {'core':>8} {'memory':>9}")  # noqa: T201 - a report
    for name in names:
        with processes.Pool(1) as pool:
            taken = pool.apply(_of_case, (name,))
        worst = max(worst, taken.preparation)
        print(  # noqa: T201 - a report
            f"{name:34} {taken.preparation:10.2f} s {taken.core:6.2f} s {taken.megabytes:6} MB"
        )
    return 0 if worst <= MOST_SECONDS else 3


if __name__ == "__main__":
    sys.exit(main())
