"""``python -m gpusim.lab.hopper_device``: runs, checks, traces and times the kernels of kernels_cuda/hopper."""

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from threading import Timer
from typing import Any, Final

import gpusim
from gpusim.cuda.compiler import CompilerName, compile_cubin, find_compiler
from gpusim.cuda.specialise import Build, Specialisation
from gpusim.errors import CannotRun, GpusimError, exit_code_of
from gpusim.families.hopper.device import upload
from gpusim.families.hopper.on_gpu.specialise import HOPPER_TARGET, specialise
from gpusim.families.hopper.problem import HopperScenario
from gpusim.gpu.device import environment, import_cupy
from gpusim.gpu.module import LoadedKernel
from gpusim.gpu.run import launch_once
from gpusim.lab.hopper_device.cases import HOPPER_CASES, HopperCase
from gpusim.lab.hopper_device.timed import library_loop, loop, spans
from gpusim.lab.hopper_device.traced import compare_trace
from gpusim.results.provenance import commit

_SEED: Final = 2026
_SECONDS: Final = 120
"""Longest time of a case: a kernel that waits forever is ended with its process."""

_BUILDS: Final[tuple[Build, ...]] = ("plain", "trace", "timeline")


class Cubins:
    """The machine code of kernels: compiled here, or built before and read from a folder."""

    def __init__(self, folder: Path | None, compiler: CompilerName | None) -> None:
        self.folder, self._compiler = folder, compiler

    def path(self, kernel: Specialisation) -> Path:
        """Return the path of a kernel's cubin."""
        if self.folder is not None:
            prebuilt = self.folder / f"{kernel.digest[:32]}.cubin"
            if prebuilt.is_file():
                return prebuilt
        return compile_cubin(kernel, HOPPER_TARGET, find_compiler(self._compiler))

    def build(self, cases: Sequence[HopperCase], workers: int) -> Iterator[str]:
        """Compile all builds of some cases, put them into the folder if there is one, and yield what failed."""
        kernels = [specialise(one.small, build) for one in cases for build in _BUILDS]
        with ThreadPoolExecutor(workers) as pool:
            yield from filter(None, pool.map(self._built, kernels))

    def _built(self, kernel: Specialisation) -> str:
        try:
            code = self.path(kernel).read_bytes()
        except CannotRun as error:
            return str(error)
        if self.folder is not None:
            self.folder.mkdir(parents=True, exist_ok=True)
            (self.folder / f"{kernel.digest[:32]}.cubin").write_bytes(code)
        return ""


def run_case(cupy: Any, case: HopperCase, cubins: Cubins, *, timed: bool) -> dict[str, Any]:
    """Trace a case's small problem, check its numbers, and time its larger problems."""

    def load(scenario: HopperScenario, build: Build) -> LoadedKernel:
        kernel = specialise(scenario, build)
        return LoadedKernel(cupy, kernel, cubins.path(kernel))

    small = case.small
    problem = upload(cupy, small, _SEED)
    found: dict[str, Any] = {"name": case.name, "extents": [*case.traced, case.batches]}
    found["trace"] = compare_trace(cupy, load(small, "trace"), problem)
    found["traced_numerics"] = asdict(problem.numerics())
    if found["trace"]["stuck"]:
        return found
    plain = load(small, "plain")
    found |= {"registers": plain.registers, "local_bytes": plain.local_bytes}
    found["shared_bytes"] = plain.specialisation.shared_bytes
    problem.poison()
    launch_once((plain,), problem)
    found["numerics"] = asdict(problem.numerics())
    found["timed"] = [_timed(cupy, case.scenario(extents), load) for extents in case.timed] if timed else []
    return found


def _timed(cupy: Any, scenario: HopperScenario, load: Any) -> dict[str, Any]:
    """Check and time one problem."""
    problem, kernel = upload(cupy, scenario, _SEED), load(scenario, "plain")
    launch_once((kernel,), problem)
    does = scenario.problem
    return {
        "extents": [does.m, does.n, does.k],
        "grid": list(kernel.specialisation.grid),
        "numerics": asdict(problem.numerics()),
        "loop": loop(kernel, problem),
        "spans": spans(cupy, load(scenario, "timeline"), problem),
        "cublas_us": library_loop(cupy, problem),
    }


def worker(names: Sequence[str], cubins: Cubins, *, timed: bool) -> None:
    """Run cases one after another, and print a line of JSON for each."""
    cupy = import_cupy()
    for case in HOPPER_CASES:
        if case.name in names:
            print(json.dumps({"begin": case.name}), flush=True)  # noqa: T201 - read by the parent
            try:
                row = run_case(cupy, case, cubins, timed=timed)
            except GpusimError as error:
                row = {"name": case.name, "error": str(error)}
            print(json.dumps(row), flush=True)  # noqa: T201


def watched(names: Sequence[str], arguments: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Yield the rows of cases. Each is run in a worker, which is ended and started anew if a case takes too long."""
    left = list(names)
    while left:
        command = [sys.executable, "-m", "gpusim.lab.hopper_device", "--worker", *left]
        command += ["--cubins", str(arguments.cubins)] if arguments.cubins else []
        command += ["--compiler", arguments.compiler] if arguments.compiler else []
        command += ["--untimed"] if arguments.untimed else []
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:  # noqa: S603 # built here
            yield from _rows_of(process, left)


def _rows_of(process: subprocess.Popen[str], left: list[str]) -> Iterator[dict[str, Any]]:
    """Yield the rows of one worker, and take their names from ``left``; the case in which it ended is a row, too."""
    begun, seconds = left[0], float(_SECONDS)
    timer = Timer(seconds, process.kill)
    timer.start()
    since = time.monotonic()
    for line in process.stdout or ():
        if not line.startswith("{"):
            continue
        row = json.loads(line)
        timer.cancel()
        timer = Timer(seconds, process.kill)
        timer.start()
        if "begin" in row:
            begun, since = str(row["begin"]), time.monotonic()
            continue
        left.remove(row["name"])
        yield row | {"seconds": round(time.monotonic() - since, 2)}
    timer.cancel()
    said = (process.stderr.read() if process.stderr else "").strip()
    status = process.wait()
    if left:
        begun = begun if begun in left else left[0]
        left.remove(begun)
        yield {"name": begun, "error": f"the worker ended with status {status}: {said[-1500:]}"}


def summary(row: Mapping[str, Any], measured: Mapping[tuple[Any, ...], float]) -> Iterator[str]:
    """Yield a row in lines of words."""
    if "error" in row:
        yield f"{row['name']}: {row['error']}"
        return
    trace, numbers = row["trace"], row.get("numerics") or row["traced_numerics"]
    yield (
        f"{row['name']} {row['extents']}: {row.get('registers')} registers, {row.get('local_bytes')} local bytes;"
        f" wrong {numbers['wrong_elements']} of {numbers['elements']} (error/bound {numbers['max_error_over_bound']},"
        f" traced build wrong {row['traced_numerics']['wrong_elements']});"
        f" trace: {trace['rows']} rows of {trace['threads']} threads, {trace['different_threads']} threads differ,"
        f" {trace['stuck']} stuck; {row.get('seconds')} s"
    )
    yield from (f"    {one}" for one in trace["differences"])
    for one in row.get("timed", ()):
        wrong, time_us = one["numerics"]["wrong_elements"], one["loop"]["median"]
        theirs = measured.get((row["name"], *one["extents"]))
        ratio = f", CUTLASS {theirs} us: {theirs / time_us:.3f} of its speed" if theirs else ""
        yield (
            f"    {one['extents']}: wrong {wrong}, {time_us} us ({one['loop']['tflops']} TFLOP/s,"
            f" least {one['loop']['least']} us){ratio};"
            f" cuBLAS {one['cublas_us']} us; spans {one['spans']}"
        )


def measured_times(path: Path | None) -> dict[tuple[Any, ...], float]:
    """Return the microseconds of CUTLASS's kernels in a warm loop by name and extents, of a file of measurements."""
    if path is None:
        return {}
    rows = json.loads(path.read_text(encoding="utf-8"))["rows"]
    default = (1, "heuristic")
    return {
        (row["name"], row["M"], row["N"], row["K"]): float(row["loop_us_median"])
        for row in rows
        if (row["max_swizzle"], row["raster"]) == default
    }


def profile(names: Sequence[str], cubins: Cubins) -> None:
    """Launch every timed problem's plain kernel once, for a profiler to see, and print their order."""
    cupy = import_cupy()
    for case in HOPPER_CASES:
        for extents in case.timed if case.name in names else ():
            scenario = case.scenario(extents)
            problem, kernel = upload(cupy, scenario, _SEED), specialise(scenario)
            launch_once((LoadedKernel(cupy, kernel, cubins.path(kernel)),), problem)
            print(json.dumps({"name": case.name, "extents": list(extents)}), flush=True)  # noqa: T201


def main(argv: Sequence[str] | None = None) -> int:
    """Run what is asked for; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m gpusim.lab.hopper_device", description=__doc__)
    parser.add_argument("names", nargs="*", help="cases, by default all; a part of a name is enough")
    parser.add_argument("--out", type=Path, help="file of JSON to write")
    parser.add_argument("--cubins", type=Path, help="folder of cubins that were built before")
    parser.add_argument("--compiler", choices=("nvrtc", "nvcc"), help="compiler to use")
    parser.add_argument("--build", action="store_true", help="only compile, into the folder of cubins; needs no GPU")
    parser.add_argument("--jobs", type=int, default=2, help="compilers that run at a time")
    parser.add_argument("--untimed", action="store_true", help="time nothing")
    parser.add_argument("--profile", action="store_true", help="launch each timed problem once, for a profiler")
    parser.add_argument("--cutlass", type=Path, help="measurements of CUTLASS's kernels, to compare times with")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args(argv)
    chosen = [one for one in HOPPER_CASES if not arguments.names or any(name in one.name for name in arguments.names)]
    names = [one.name for one in chosen]
    cubins = Cubins(arguments.cubins, arguments.compiler)

    def work() -> None:
        if arguments.worker:
            worker(arguments.names, cubins, timed=not arguments.untimed)
            return
        for failed in cubins.build(chosen, arguments.jobs):
            print(failed, flush=True)  # noqa: T201 - the command's output
        if arguments.build:
            return
        if arguments.profile:
            profile(names, cubins)
            return
        measured, rows = measured_times(arguments.cutlass), []
        given = argv if argv is not None else sys.argv[1:]
        said = ["python -m gpusim.lab.hopper_device", *(Path(one).name for one in given)]
        where = environment() | {
            "gpusim": f"{gpusim.__version__}, commit {commit()}",
            "date": datetime.now(UTC).isoformat(timespec="seconds"),
            "command": " ".join(said),
        }
        for row in watched(names, arguments):
            rows.append(row)
            print("\n".join(summary(row, measured)), flush=True)  # noqa: T201
            if arguments.out is not None:
                document = {"environment": where, "rows": rows}
                arguments.out.write_text(json.dumps(document, indent=1), encoding="utf-8")

    return exit_code_of(work)


if __name__ == "__main__":
    sys.exit(main())
