"""Measures processes: ``gpusim run`` of cases, imports, ``verify``, and loops over points."""

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from gpusim.errors import CheckFailed
from gpusim.lab.bench.cases import BenchCase
from gpusim.lab.bench.process import Cost, median_cost, run_python
from gpusim.lab.bench.rows import LoopRow, OtherRow, RunRow

VERIFY = "gpusim verify gemm_4096"

HELP = "gpusim --help"

OTHERS = {
    HELP: ("-m", "gpusim", "--help"),
    "import gpusim": ("-c", "import gpusim"),
    "import gpusim.verbs.simulate": ("-c", "import gpusim.verbs.simulate"),
    "import gpusim.verbs.verify": ("-c", "import gpusim.verbs.verify"),
    "gpusim run conv_9_k_tiles": ("-m", "gpusim", "run", "conv_9_k_tiles", "--no-figures", "--force", "--out", "{out}"),
}
"""Commands that a user waits for before any simulation, and the smallest run."""

LOOPS = {1024: 12, 2048: 12, 4096: 6}
"""M and N, and points of a loop after the first."""

_Say = Callable[[str], None]


def measure_case(case: BenchCase, repeats: int, folder: Path, say: _Say) -> Iterator[RunRow]:
    """
    Run a case on each of its executions in turn, repeatedly, so that the host's load affects all alike.

    Args:
        case: The case.
        repeats: Processes on each execution.
        folder: Folder for the runs.
        say: Called with a line about each process.

    Raises:
        CannotRun: A run failed.
        CheckFailed: The result has another mode or execution than requested.
    """
    found: dict[str, list[tuple[Cost, dict[str, Any]]]] = {engine: [] for engine in case.engines}
    for turn in range(repeats):
        for engine in case.engines:
            if turn < case.runs(engine, repeats):
                cost, answer = _run(case, engine, folder)
                found[engine].append((cost, answer))
                say(f"{case.name}, {case.mode}, {engine}: {cost.user_s:.2f} s, {cost.peak_mb:.0f} MB")
    for engine, processes in found.items():
        if processes:
            yield run_row(case, engine, processes)


def _run(case: BenchCase, engine: str, folder: Path) -> tuple[Cost, dict[str, Any]]:
    command = [
        "-m",
        "gpusim",
        "run",
        case.scenario,
        f"--{case.mode}",
        "--force",
        "--json",
        "--out",
        str(folder / "run"),
    ]
    for override in case.overrides:
        command += ["--set", override]
    if not case.figures:
        command.append("--no-figures")
    cost, said = run_python(command, {"GPUSIM_ENGINE": engine})
    return cost, json.loads(said)


def run_row(case: BenchCase, engine: str, processes: Sequence[tuple[Cost, dict[str, Any]]]) -> RunRow:
    """
    Return the row of a case on one execution, from the cost and the result.json of its processes.

    Raises:
        CheckFailed: The result has another mode or execution than requested.
    """
    cost = median_cost([cost for cost, _ in processes])
    results = [result for _, result in processes]
    simulated = [result["simulated"] for result in results]
    if simulated[0]["engine"] != engine or (case.mode == "exact" and simulated[0]["sampled"]):
        raise CheckFailed(f"{case.name}: asked for {case.mode} and {engine}, got {simulated[0]}")
    seconds = median(one["seconds"] for one in simulated)
    return RunRow(
        table=case.table,
        name=case.name,
        mode=case.mode,
        engine=engine,
        runs=len(processes),
        user_s=cost.user_s,
        peak_mb=cost.peak_mb,
        instructions=simulated[0]["instructions"],
        seconds=seconds,
        rate=median(one["instructions"] / one["seconds"] for one in simulated),
        gpu_us=results[0]["time_us"],
        slowdown=seconds / (results[0]["time_us"] * 1e-6),
        stream=results[0]["stream"],
    )


def measure_other(name: str, command: Sequence[str], repeats: int, folder: Path, say: _Say) -> OtherRow:
    """Return the cost of a command; ``{out}`` in it stands for a folder of its own."""
    arguments = [part.replace("{out}", str(folder / "other")) for part in command]
    cost = median_cost([run_python(arguments)[0] for _ in range(repeats)])
    say(f"{name}: {cost.user_s:.2f} s, {cost.peak_mb:.0f} MB")
    return OtherRow(name, repeats, cost.user_s, cost.wall_s, cost.peak_mb)


def measure_verify(repeats: int, folder: Path, say: _Say) -> OtherRow:
    """Return the cost of verifying gemm_4096, all CTAs of it."""
    return measure_other(VERIFY, ("-m", *VERIFY.split()), repeats, folder, say)


def measure_loop(size: int, points: int, repeats: int, say: _Say) -> LoopRow:
    """Return the points that one process simulates in a second."""
    said = [json.loads(run_python(["-m", "gpusim.lab.bench.loop", str(size), str(points)])[1]) for _ in range(repeats)]
    per_second = median(points / one["others_s"] for one in said)
    say(f"loop over {size}: {per_second:.1f} points a second")
    return LoopRow(size, repeats, points, median(one["first_s"] for one in said), per_second)


def say_on_stderr(line: str) -> None:
    """Print a line of progress."""
    sys.stderr.write(line + "\n")
    sys.stderr.flush()
