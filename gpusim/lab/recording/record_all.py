"""``python -m gpusim.lab.recording.record_all OUT [NAME...]``: measures many scenarios, and goes on if some fail.

First it compiles every build in parallel. Then it measures in a worker process, which is restarted when a kernel breaks
its CUDA context or hangs. Last it profiles with ncu, a few scenarios at a time. Each record is written to
OUT/<gpu>/<name>.json as soon as it has any figures.
"""

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import get_args

from gpusim.cuda.compiler import compile_cubin
from gpusim.cuda.specialise import Build
from gpusim.errors import CannotRun, GpusimError
from gpusim.families.registry import family_of, load_scenario
from gpusim.gpu import counters, device
from gpusim.gpu.module import architecture
from gpusim.measure import measure
from gpusim.records.record import Record, load_record, write_record
from gpusim.scenario.catalogue import recordable_scenarios

CONTEXT_LOST = 75
"""Exit code of a worker whose CUDA context a kernel has broken. Another worker measures the remaining scenarios."""

SECONDS_PER_SCENARIO = 90
"""Time allowed for one scenario before its worker is killed."""

PROFILED_TOGETHER = 8
"""Number of scenarios in one run of ncu. It is small, so a failure loses little."""


@dataclass(frozen=True, slots=True)
class Session:
    """
    One run of this module.

    Attributes:
        out: Folder of the records and the log.
        started: ``time.monotonic()`` at the start.
        seconds: Seconds after which no new work is started.
    """

    out: Path
    started: float
    seconds: float

    def say(self, message: str) -> None:
        """Write a line to stderr and to the log, with the seconds since the start."""
        line = f"[{time.monotonic() - self.started:6.1f} s] {message}\n"
        sys.stderr.write(line)
        sys.stderr.flush()
        with (self.out / "record_all.log").open("a", encoding="utf-8") as log:
            log.write(line)

    @property
    def over(self) -> bool:
        """Whether ``seconds`` have passed since the start."""
        return time.monotonic() - self.started > self.seconds


def prebuild(file: Path, build: Build, architecture: str) -> str | None:
    """Compile one build of one scenario into the cache, in a process of its own. Return the error message, if any."""
    try:
        scenario = load_scenario(file)
        for one in family_of(scenario).cuda.specialisations(scenario, build):
            compile_cubin(one, architecture)
    except GpusimError as error:
        return f"{file.stem}, {build} build: {error}"
    return None


def prebuild_all(files: Sequence[Path], architecture: str, session: Session) -> None:
    """Compile every build of every scenario, on all cores."""
    with ProcessPoolExecutor(os.cpu_count(), mp_context=get_context("spawn")) as pool:
        jobs = [pool.submit(prebuild, file, build, architecture) for file in files for build in get_args(Build)]
        for job in jobs:
            complaint = job.result()
            if complaint:
                session.say(complaint)
    session.say(f"compiled {len(jobs)} kernels")


def prebuild_one(files: Sequence[Path], build: Build) -> None:
    """Compile one build of every scenario on all cores, so that ncu waits for none; say which fail."""
    chosen = architecture(device.import_cupy())
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        for job in [pool.submit(prebuild, file, build, chosen) for file in files]:
            complaint = job.result()
            if complaint:
                sys.stderr.write(f"{complaint}\n")


def measure_all(files: Sequence[Path], session: Session, options: Sequence[str]) -> None:
    """Measure scenarios in worker processes, until all have been tried or the time is up."""
    waiting = list(files)
    while waiting and not session.over:
        progress = session.out / "worker.log"
        progress.write_text("", encoding="utf-8")
        command = [sys.executable, "-m", "gpusim.lab.recording.record_all", str(session.out), "--worker", *options]
        command += ["--progress", str(progress), *map(str, waiting)]
        with subprocess.Popen(command) as worker:  # noqa: S603 # this very module, with files of its own
            code = _watch(worker, progress, session)
        begun = progress.read_text(encoding="utf-8").split()
        if code not in {0, CONTEXT_LOST}:
            session.say(f"the worker ended with {code}" + (f" at {begun[-1]}" if begun else " before it began"))
            if not begun:
                return
        waiting = waiting[len(begun) :]
    if waiting:
        session.say(f"out of time before {', '.join(file.stem for file in waiting)}")


def _watch(worker: subprocess.Popen[bytes], progress: Path, session: Session) -> int:
    """Wait for a worker, kill it if it makes no progress or outlives the session, and return its exit code."""
    size, since = 0, time.monotonic()
    while True:
        try:
            return worker.wait(timeout=0.5)
        except subprocess.TimeoutExpired:
            now = progress.stat().st_size
            if now != size:
                size, since = now, time.monotonic()
            if time.monotonic() - since > SECONDS_PER_SCENARIO or session.over:
                worker.kill()
                return worker.wait()


def work(files: Sequence[Path], session: Session, origin: measure.RecordOrigin, progress: Path, seed: int) -> int:
    """
    Measure scenarios one after the other in a worker process.

    Args:
        files: Scenario files.
        session: The run that this worker belongs to.
        origin: Origin of the figures.
        progress: File to which the name of each scenario is appended before it is measured.
        seed: Seed of the inputs.

    Returns:
        Exit code: 0 or ``CONTEXT_LOST``.
    """
    cupy = device.import_cupy()
    folder = session.out / device.gpu_slug(origin.environment["gpu"])
    for file in files:
        with progress.open("a", encoding="utf-8") as log:
            log.write(f"{file.stem}\n")
        begun = time.monotonic()
        try:
            record = measure.measure(file.stem, load_scenario(file), origin, seed=seed, say=session.say)
            write_record(record, folder)
            session.say(f"{file.stem}: {_in_short(record)} in {time.monotonic() - begun:.1f} s")
        except (GpusimError, RuntimeError, MemoryError) as error:  # CuPy's errors are RuntimeErrors
            session.say(f"{file.stem}: not measured: {error}")
        if measure.context_is_lost(cupy):
            return CONTEXT_LOST
        cupy.get_default_memory_pool().free_all_blocks()
    return 0


def count_all(files: Sequence[Path], session: Session, folder: Path) -> None:
    """Profile the scenarios that have a record, and write the counters into their records."""
    recorded = [file for file in files if (folder / f"{file.stem}.json").is_file()]
    if not recorded:
        return
    try:
        selection = counters.settle(recorded[0], session.out / "ncu", session.say)
    except GpusimError as error:
        session.say(f"no counters: {error}")
        for file in recorded:
            _put(folder, file.stem, None, str(error))
        return
    for number, batch in enumerate(_batches(recorded)):
        if session.over:
            session.say(f"out of time before the counters of {', '.join(file.stem for file in batch)}, ...")
            return
        try:
            profiles = counters.profile_scenarios(batch, session.out / "ncu" / str(number), selection)
            reason = "its launch failed under ncu"
        except GpusimError as error:
            profiles, reason = {}, str(error)
            session.say(f"no counters for {', '.join(file.stem for file in batch)}: {reason}")
        for file in batch:
            _put(folder, file.stem, profiles.get(file.stem), reason)
        session.say(f"counted {', '.join(profiles) or 'none'}")


def _put(folder: Path, name: str, profile: counters.Profile | None, why_not: str) -> None:
    record = load_record(folder / f"{name}.json")
    if profile is not None or not record.counters:
        write_record(measure.with_counters(record, profile, why_not), folder)


def _batches(files: Sequence[Path]) -> Iterator[Sequence[Path]]:
    for begin in range(0, len(files), PROFILED_TOGETHER):
        yield files[begin : begin + PROFILED_TOGETHER]


def _in_short(record: Record) -> str:
    numerics = "no numerics" if record.numerics is None else f"{record.numerics.wrong_elements} wrong"
    trace = "no trace" if record.trace is None else record.trace.first_difference or "trace equal"
    time_us = "no time" if record.time_us is None else f"{record.time_us.median} us"
    return f"{numerics}, {trace}, {time_us}"


def scenario_files(names: Sequence[str]) -> list[Path]:
    """
    Return the files of scenarios, given as paths or as names of recordable scenarios; without names, of all recordable.

    Raises:
        CannotRun: A name is neither a file nor a recordable scenario.
    """
    known = {path.stem: path for path in recordable_scenarios()}
    unknown = [name for name in names if name not in known and not Path(name).is_file()]
    if unknown:
        raise CannotRun(f"no such scenario: {', '.join(unknown)}")
    return [known.get(name) or Path(name) for name in names] if names else list(known.values())


def main(argv: Sequence[str] | None = None) -> int:
    """Measure the scenarios. Return 0 if every one has a complete record, otherwise 1 or the error's exit code."""
    parser = argparse.ArgumentParser(prog="python -m gpusim.lab.recording.record_all", description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("names", nargs="*", metavar="NAME", help="scenario files or names; all recordable ones without")
    parser.add_argument("--seed", type=int, default=2026)
    parser.add_argument("--seconds", type=float, default=3600.0, help="begin nothing new after this long")
    parser.add_argument("--commit", help="commit of the source tree, where it is no clone")
    parser.add_argument("--no-measure", action="store_true", help="counters only, for records that are there")
    parser.add_argument("--no-ncu", action="store_true", help="no counters")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--progress", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_intermixed_args(argv)
    command = ("python", "-m", "gpusim.lab.recording.record_all", "OUT", "--seed", str(arguments.seed))
    try:
        arguments.out.mkdir(parents=True, exist_ok=True)
        session = Session(arguments.out, time.monotonic(), arguments.seconds)
        files = scenario_files(arguments.names)
        origin = measure.RecordOrigin.here(command, arguments.commit)
        if arguments.worker:
            return work(files, session, origin, arguments.progress, arguments.seed)
        session.say(f"{len(files)} scenarios on {origin.environment['gpu']}")
        options = ["--seed", str(arguments.seed), *(["--commit", arguments.commit] if arguments.commit else [])]
        if not arguments.no_measure:
            prebuild_all(files, f"sm_{origin.environment['compute_capability'].replace('.', '')}", session)
            measure_all(files, session, options)
        folder = arguments.out / device.gpu_slug(origin.environment["gpu"])
        if not arguments.no_ncu:
            count_all(files, session, folder)
    except GpusimError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_code
    whole = [path for path in (folder / f"{file.stem}.json" for file in files) if path.is_file()]
    incomplete = [path.stem for path in whole if load_record(path).missing]
    session.say(
        f"{len(whole)} of {len(files)} records, {len(incomplete)} incomplete ({', '.join(incomplete) or 'none'})"
    )
    return int(len(whole) < len(files) or bool(incomplete))


if __name__ == "__main__":
    sys.exit(main())
