"""Measures every configuration of the check's problems in Nsight Compute, and keeps the cycles, one file a problem."""

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any, Final

from gpusim.cuda.compiler import compile_cubin, find_compiler
from gpusim.cuda.specialise import Specialisation
from gpusim.errors import BadInput, CannotRun, GpusimError
from gpusim.gpu import counters, ncu
from gpusim.lab.tune_check.launch import builds_of
from gpusim.lab.tune_check.problems import Settings, TuneProblem
from gpusim.measure.measure import RecordOrigin, Say
from gpusim.records.record import measured_folder
from gpusim.results.result import ELAPSED
from gpusim.verbs.tuning.label import label

MEASURED_SCHEMA: Final = "gpusim.tune_check/1"

DURATION: Final = "gpu__time_duration.sum"

START_SECONDS: Final = 60
"""Time for ncu, Python and the tensors in addition to the launches, in seconds."""


@dataclass(frozen=True, slots=True)
class MeasuredConfiguration:
    """
    One measured configuration of a problem.

    Attributes:
        settings: Its keys and values.
        cycles: Elapsed cycles of each launch with cold caches; for a parallel split-K, of both kernels together.
        nanoseconds: Time of each launch.
        registers: Registers of a thread.
        local_bytes: Stack of a thread, bytes.
        wrong_elements: Elements of the output beyond their bound; None if it was not compared.
        failed: Why it was not measured; empty if it was.
    """

    settings: Settings
    cycles: tuple[int, ...]
    nanoseconds: tuple[int, ...]
    registers: int | None
    local_bytes: int | None
    wrong_elements: int | None
    failed: str = ""

    @property
    def elapsed(self) -> float:
        """Median of the launches' cycles."""
        return median(self.cycles)


@dataclass(frozen=True, slots=True)
class MeasuredProblem:
    """
    One measured problem with all its configurations.

    Attributes:
        name: Name of the problem.
        problem: The table ``[problem]`` that all configurations share.
        environment: GPU, driver and tools.
        compiler: Compiler of the kernels.
        commit, date, command: Origin of the figures.
        configurations: The stated set, in its order.
    """

    name: str
    problem: dict[str, Any]
    environment: dict[str, Any]
    compiler: str
    commit: str | None
    date: str
    command: tuple[str, ...]
    configurations: tuple[MeasuredConfiguration, ...]
    schema: str = MEASURED_SCHEMA


def measured_problems_folder(gpu: str = "h200") -> Path:
    """Return the folder of the committed measurements of the check."""
    return measured_folder() / gpu / "tune"


def write_problem(measured: MeasuredProblem, folder: Path) -> Path:
    """
    Write ``folder/NAME.json``, completely or not at all. Each configuration is one line.

    Raises:
        CannotRun: The file cannot be written.
    """
    data = asdict(measured)
    rows = ",\n".join(f"  {json.dumps(row)}" for row in data.pop("configurations"))
    head = re.sub(r"\n\}$", "", json.dumps(data, indent=1))
    path = folder / f"{measured.name}.json"
    beside = path.with_suffix(".part")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        beside.write_text(f'{head},\n "configurations": [\n{rows}\n ]\n}}\n', encoding="utf-8")
        beside.replace(path)
    except OSError as error:
        raise CannotRun(f"{path}: cannot be written ({error.strerror or error})") from error
    return path


def read_problem(path: Path) -> MeasuredProblem:
    """
    Read the measurements of one problem.

    Raises:
        BadInput: The file is missing or of another schema.
    """
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        if data["schema"] != MEASURED_SCHEMA:
            raise BadInput(f"{path}: schema must be {MEASURED_SCHEMA!r}, got {data['schema']!r}")
        rows = tuple(
            MeasuredConfiguration(**row | {"cycles": tuple(row["cycles"]), "nanoseconds": tuple(row["nanoseconds"])})
            for row in data["configurations"]
        )
        return MeasuredProblem(**data | {"configurations": rows, "command": tuple(data["command"])})
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BadInput(f"{path}: no measurements of the check ({error})") from error


def distinct_builds(problems: Sequence[TuneProblem]) -> list[Specialisation]:
    """Return the kernels of all configurations of all problems, each build once."""
    scenarios = [problem.scenario(one) for problem in problems for one in problem.settings()]
    return list({build.digest: build for scenario in scenarios for build in builds_of(scenario)}.values())


def build_all(problems: Sequence[TuneProblem], architecture: str, say: Say) -> int:
    """Compile every distinct build on all cores, and return their number. Call ``say`` for each that fails."""
    builds = distinct_builds(problems)
    with ProcessPoolExecutor(os.cpu_count(), mp_context=get_context("spawn")) as pool:
        for complaint in pool.map(_build, builds, [architecture] * len(builds), chunksize=4):
            if complaint:
                say(complaint)
    say(f"{len(builds)} kernels are compiled")
    return len(builds)


def _build(build: Specialisation, architecture: str) -> str:
    try:
        compile_cubin(build, architecture)
    except GpusimError as error:
        return str(error)
    return ""


def measure_problem(problem: TuneProblem, origin: RecordOrigin, *, repeats: int, seconds: float) -> MeasuredProblem:
    """
    Measure every configuration of a problem in one run of ncu, each launch with caches flushed.

    Args:
        problem: The problem.
        origin: Origin of the figures.
        repeats: Launches of each configuration. All are launched once before any is launched again.
        seconds: Time after which no launch begins.

    Raises:
        CannotRun: ncu is missing or may not profile here, or its launches are not those that were made.
    """
    with TemporaryDirectory() as folder:
        log = Path(folder) / "launched.json"
        command = [*_launch(problem, log, seconds), "--repeats", str(repeats)]
        profiles, dropped = ncu.profile(
            command,
            (ELAPSED, DURATION),
            kernels=counters.KERNELS,
            timeout_seconds=int(seconds) + START_SECONDS,
        )
        if ELAPSED in dropped or not log.is_file():
            raise CannotRun(f"{problem.name}: ncu counted nothing")
        launched = json.loads(log.read_text(encoding="utf-8"))
    return MeasuredProblem(
        name=problem.name,
        problem=problem.problem,
        environment=origin.environment,
        compiler="{0.name} {0.version}".format(find_compiler()),
        commit=origin.commit,
        date=datetime.now(tz=UTC).isoformat(timespec="seconds"),
        command=origin.command,
        configurations=configurations_of(problem, profiles, launched),
    )


def with_checked_outputs(measured: MeasuredProblem, problem: TuneProblem, seconds: float) -> MeasuredProblem:
    """
    Compare the output of every configuration with the reference, in a process of its own, and note the wrong elements.

    Raises:
        CannotRun: The process ended without an answer.
    """
    with TemporaryDirectory() as folder:
        log = Path(folder) / "checked.json"
        command = [*_launch(problem, log, seconds), "--check"]
        try:
            done = subprocess.run(  # noqa: S603 # this very room's module
                command, capture_output=True, text=True, check=False, timeout=seconds + START_SECONDS
            )
        except subprocess.TimeoutExpired as error:
            raise CannotRun(f"{problem.name}: the comparison did not end in time") from error
        if not log.is_file():
            raise CannotRun(f"{problem.name}: no comparison: {' '.join(done.stderr.split())[-200:]}")
        wrong = json.loads(log.read_text(encoding="utf-8"))["wrong"]
    rows = enumerate(measured.configurations)
    return replace(
        measured,
        configurations=tuple(replace(row, wrong_elements=wrong.get(str(number))) for number, row in rows),
    )


def _launch(problem: TuneProblem, log: Path, seconds: float) -> list[str]:
    words = [sys.executable, "-m", "gpusim.lab.tune_check.launch", problem.name, "--log", str(log)]
    return [*words, "--seconds", f"{seconds:.0f}"]


def configurations_of(
    problem: TuneProblem, profiles: Sequence[ncu.KernelCounters], launched: Mapping[str, Any]
) -> tuple[MeasuredConfiguration, ...]:
    """
    Assign ncu's counters to the launched configurations.

    Args:
        problem: The problem.
        profiles: ncu's kernels in order.
        launched: The answer of ``launch_all``, read from JSON.

    Raises:
        CannotRun: The profiled kernels are not the launched ones.
    """
    stated = problem.settings()
    cycles, times = ({number: list[int]() for number in range(len(stated))} for _ in range(2))
    kernels = sum(count for _, count in launched["launched"])
    if len(profiles) != kernels:
        raise CannotRun(f"{problem.name}: ncu counted {len(profiles)} kernels, but {kernels} were launched")
    ahead = iter(profiles)
    for number, count in launched["launched"]:
        own = [next(ahead).metrics for _ in range(count)]
        cycles[number].append(round(sum(one[ELAPSED] for one in own)))
        times[number].append(round(sum(one.get(DURATION, 0.0) for one in own)))
    failed, facts = launched["failed"], launched["kernels"]
    return tuple(
        MeasuredConfiguration(
            settings=settings,
            cycles=tuple(cycles[number]),
            nanoseconds=tuple(times[number]),
            registers=facts.get(str(number), {}).get("registers"),
            local_bytes=facts.get(str(number), {}).get("local_bytes"),
            wrong_elements=None,
            failed=failed.get(str(number), "" if cycles[number] else "the time was up before it was launched"),
        )
        for number, settings in enumerate(stated)
    )


def measure_all(
    problems: Sequence[TuneProblem], out: Path, origin: RecordOrigin, *, repeats: int, seconds: float, say: Say
) -> list[str]:
    """
    Build and measure the problems, and return the names of those that could not be measured.

    Args:
        problems: The problems. A problem with a file in ``out`` is left out.
        out: Folder of the files.
        origin: Origin of the figures.
        repeats: Launches of each configuration.
        seconds: Time after which no problem begins; each problem may take its share of the remaining time.
        say: Called with a line about each problem.
    """
    begun, failed = time.monotonic(), list[str]()
    ahead = [problem for problem in problems if not (out / f"{problem.name}.json").is_file()]
    build_all(ahead, f"sm_{origin.environment['compute_capability'].replace('.', '')}", say)
    for number, problem in enumerate(ahead):
        left = seconds - (time.monotonic() - begun)
        if left <= 0:
            say(f"out of time before {problem.name}")
            return [*failed, *(one.name for one in ahead[number:])]
        try:
            share = min(left, max(20.0, 2 * left / (len(ahead) - number)))
            measured = measure_problem(problem, origin, repeats=repeats, seconds=share)
        except GpusimError as error:
            say(f"{problem.name}: not measured: {error}")
            failed.append(problem.name)
            continue
        write_problem(measured, out)
        say(f"[{time.monotonic() - begun:.0f} s] {_in_short(measured)}")
    return failed


def check_all(problems: Sequence[TuneProblem], out: Path, *, seconds: float, say: Say) -> None:
    """
    Compare the outputs of measured problems with the reference, and note in their files how many elements are wrong.

    Args:
        problems: The problems. A problem without a file in ``out`` is left out.
        out: Folder of the files.
        seconds: Time after which no problem begins.
        say: Called with a line about each problem.
    """
    begun = time.monotonic()
    for problem in problems:
        left = seconds - (time.monotonic() - begun)
        if not (out / f"{problem.name}.json").is_file():
            continue
        if left <= 0:
            say(f"out of time before the outputs of {problem.name} were compared")
            return
        try:
            measured = read_problem(out / f"{problem.name}.json")
            checked = with_checked_outputs(measured, problem, left)
        except GpusimError as error:
            say(f"{error}")
            continue
        write_problem(checked, out)
        wrong = [one.wrong_elements for one in checked.configurations]
        compared = [one for one in wrong if one is not None]
        say(f"{problem.name}: {len(compared)} outputs compared, {sum(one > 0 for one in compared)} with wrong elements")


def _in_short(measured: MeasuredProblem) -> str:
    done = [one for one in measured.configurations if one.cycles]
    if not done:
        return f"{measured.name}: none of {len(measured.configurations)} configurations measured"
    best = min(done, key=lambda one: one.elapsed)
    launches = sum(len(one.cycles) for one in done)
    counted = f"{len(done)} of {len(measured.configurations)} configurations, {launches} launches"
    return f"{measured.name}: {counted}; best {label(best.settings)}: {best.elapsed:.0f} cycles"
