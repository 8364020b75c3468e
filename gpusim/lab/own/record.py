"""``python -m gpusim.lab.own.record OUT``: own kernels on the current GPU, beside their oracles and under ncu."""

import argparse
import json
import re
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from gpusim.cuda.compiler import find_compiler
from gpusim.errors import CannotRun, GpusimError
from gpusim.gpu import counters, device, ncu
from gpusim.lab.calibrate.runner import MeasuredRow, say, write_rows
from gpusim.lab.own.kernel import OWN_SIZES, OwnKernel, Size
from gpusim.lab.own.machine_code import code_made_by, frameworks_folder
from gpusim.lab.own.split import half_of
from gpusim.lab.own.table import FRAMEWORK_KERNELS, OWN_KERNELS, own_kernel
from gpusim.measure.measure import RecordOrigin

TOGETHER: Final = 15
"""Kernels of one run of ncu. With fewer, a failure loses less; with more, less time goes to starting Python."""

OWN_KERNEL_METRICS: Final = (
    *counters.METRICS,
    *("sm__inst_executed_pipe_fp64.sum", "sm__inst_executed_pipe_fmalite.sum"),
    *("smsp__thread_inst_executed.sum", "smsp__warps_launched.sum"),
    *(f"smsp__inst_executed_op_{op}.sum" for op in ("shared_atom", "global_atom", "global_red")),
    *(f"l1tex__t_{what}_pipe_lsu_mem_global_op_{op}.sum" for what in ("sectors", "requests") for op in ("atom", "red")),
    *(f"l1tex__t_{what}_pipe_lsu_mem_local_op_{op}.sum" for what in ("sectors", "requests") for op in ("ld", "st")),
    *("l1tex__t_sectors_pipe_lsu_mem_global_op_ld_lookup_hit.sum", "l1tex__data_pipe_lsu_wavefronts.sum"),
    *("l1tex__data_pipe_lsu_wavefronts_mem_shared_op_atom.sum", "lts__t_sectors_srcunit_tex.sum", "lts__t_sectors.sum"),
)
"""Metrics of an own kernel, as far as the GPU has them."""

_SECONDS_EACH: Final = 20
_SECONDS_BEFORE: Final = 120


@dataclass(frozen=True, slots=True)
class OwnRun:
    """
    Kernels that are measured together.

    Attributes:
        kernels: The kernels, in launch order.
        size: Which launch of each.
        reports: Folder of ncu's own files, and of the launches' logs.
    """

    kernels: tuple[OwnKernel, ...]
    size: Size
    reports: Path

    @property
    def log(self) -> Path:
        """File that the launching process writes."""
        return self.reports / f"{self.kernels[0].name}_{self.size}.json"

    @property
    def seconds(self) -> int:
        """Longest time of the run."""
        return _SECONDS_BEFORE + _SECONDS_EACH * len(self.kernels)

    def command(self, *options: str) -> list[str]:
        """Return the command that launches the kernels."""
        names = [kernel.name for kernel in self.kernels]
        fixed = ["-m", "gpusim.lab.own.launch", "--size", self.size, "--log", str(self.log)]
        return [sys.executable, *fixed, *options, *names]


def checked(run: OwnRun) -> list[MeasuredRow]:
    """
    Launch kernels without a profiler, and compare what they write with their oracles.

    Returns:
        A row for each kernel: name, size, elements, wrong, error, tolerance, and why it failed, or nothing.

    Raises:
        CannotRun: The launching process ends without a log, or does not end.
    """
    done = _launched(run)
    rows: list[MeasuredRow] = []
    for kernel in run.kernels:
        row: MeasuredRow = {"name": kernel.name, "size": run.size}
        agreement = done["launched"].get(kernel.name)
        if agreement:
            row |= agreement | {"error": f"{agreement['error']:.2e}"}
        why = "" if agreement else "not launched: a kernel before it broke the CUDA context"
        rows.append(row | {"tolerance": f"{kernel.tolerance:.2e}", "failed": done["failed"].get(kernel.name, why)})
    return rows


def _launched(run: OwnRun) -> Any:
    run.reports.mkdir(parents=True, exist_ok=True)
    run.log.unlink(missing_ok=True)
    try:
        ended = subprocess.run(  # noqa: S603 # the command is built here, never by a shell
            run.command("--check"), capture_output=True, text=True, check=False, timeout=run.seconds
        )
    except subprocess.TimeoutExpired as error:
        raise CannotRun(f"the launches of {run.log.stem} did not end within {run.seconds} s") from error
    if not run.log.is_file():
        raise CannotRun(f"the launches of {run.log.stem} left no log: {ended.stderr.strip()[-300:]}")
    return json.loads(run.log.read_text(encoding="utf-8"))


def profiled(run: OwnRun, selection: Sequence[str]) -> tuple[list[MeasuredRow], list[MeasuredRow]]:
    """
    Launch kernels once under ncu, with cold caches and clocks not locked.

    The report is kept: its source page has counts and stalls of each instruction.

    Args:
        run: The kernels.
        selection: ncu's options from ``counters.select_metrics``.

    Returns:
        A row for each kernel with its counters, and a row for each of its opcodes. A kernel that failed has none.

    Raises:
        CannotRun: ncu is missing or may not profile here, or the profiled launches are not those that were made.
    """
    run.reports.mkdir(parents=True, exist_ok=True)
    report = run.log.with_suffix(".ncu-rep")
    run.log.unlink(missing_ok=True)
    text = counters.profile_into(report, selection, run.command(), run.seconds, entries_of(run.kernels))
    if not report.is_file() or not run.log.is_file():
        raise CannotRun(f"ncu wrote no report of {run.log.stem}: {counters.ncu_says(text)}")
    launched = json.loads(run.log.read_text(encoding="utf-8"))["launched"]
    kernels = [kernel for kernel in run.kernels if kernel.name in launched]
    profiles = counters.read_profiles(report, OWN_KERNEL_METRICS)
    seen = ncu.read_report(report.with_suffix(".csv"))  # the report's raw page, which has names
    if [(_function_of(launch.name), launch.grid) for launch in seen] != [
        (kernel.function, kernel.launch(run.size).grid) for kernel in kernels
    ]:
        raise CannotRun(f"ncu profiled {len(seen)} launches, which are not the {len(kernels)} of {run.log.stem}")
    rows, opcodes = list[MeasuredRow](), list[MeasuredRow]()
    for kernel, profile in zip(kernels, profiles, strict=True):
        rows.append({**_described(kernel, run.size), **profile.counters})
        for opcode, figures in sorted(profile.opcodes.items()):
            opcodes.append({"name": kernel.name, "size": run.size, "opcode": opcode, **figures})
    return rows, opcodes


def entries_of(kernels: Sequence[OwnKernel]) -> str:
    """Return the regular expression of the kernels' functions, and of no other that CuPy launches."""
    return f"^({'|'.join(dict.fromkeys(kernel.function for kernel in kernels))})$"


def _function_of(shown: str) -> str:
    """Return the function of a kernel that ncu shows with the type it returns, template arguments and parameters."""
    return re.split(r"[(<]", shown.removeprefix("void "), maxsplit=1)[0]


def _described(kernel: OwnKernel, size: Size) -> MeasuredRow:
    launch = kernel.launch(size)
    return {
        "name": kernel.name,
        "source": kernel.source,
        "entry": kernel.entry,
        "bound": kernel.bound,
        "size": size,
        "grid": "x".join(map(str, launch.grid)),
        "block": "x".join(map(str, launch.block)),
        "dynamic_shared_bytes": launch.shared_bytes,
    }


@dataclass(frozen=True, slots=True)
class _Files:
    """The files of a session: numerics, and counters and opcodes of each half."""

    folder: Path
    provenance: dict[str, str]

    def write(self, what: str, rows: Sequence[MeasuredRow]) -> None:
        """Write rows: numerics into one file, others into a file for each half, so that one can be read alone."""
        if what == "numerics":
            write_rows(self.folder / "numerics.csv", rows, self.provenance)
            return
        for half in ("development", "held-out"):
            of_half = [row for row in rows if half_of(own_kernel(str(row["name"]))) == half]
            if of_half:
                write_rows(self.folder / f"{half.replace('-', '_')}_{what}.csv", of_half, self.provenance)


def record(runs: Sequence[OwnRun], files: _Files, *, profile: bool, seconds: float) -> int:
    """
    Measure runs one after the other, and write all rows after each, so that a session that is cut loses little.

    Args:
        runs: The runs.
        files: Where rows go.
        profile: Whether ncu profiles; otherwise kernels are only compared with their oracles.
        seconds: Nothing new is started after so many.

    Returns:
        The exit code of the last error, or 0.
    """
    started, code = time.monotonic(), 0
    selection: list[str] = []
    rows: dict[str, list[MeasuredRow]] = {"numerics": [], "counters": [], "opcodes": []}
    for number, run in enumerate(runs):
        if time.monotonic() - started > seconds:
            say(f"{len(runs) - number} runs were not begun")
            break
        try:
            rows["numerics"] += checked(run)
            files.write("numerics", rows["numerics"])
            if profile:
                first = OwnRun(run.kernels[:1], "small", run.reports)
                selection = selection or counters.select_metrics(
                    OWN_KERNEL_METRICS, first.command(), run.reports, say, entries_of(first.kernels)
                )
                found, opcodes = profiled(run, selection)
                rows["counters"] += found
                rows["opcodes"] += opcodes
                files.write("counters", rows["counters"])
                files.write("opcodes", rows["opcodes"])
        except GpusimError as error:
            say(str(error))
            code = error.exit_code
        say(f"{run.log.stem} and {len(run.kernels) - 1} more: {time.monotonic() - started:.0f} s since the begin")
    bad = [f"{row['name']} {row['size']}" for row in rows["numerics"] if row["failed"] or row.get("wrong")]
    if bad:
        say(f"failed or wrong: {', '.join(bad)}")
    return code or bool(bad)


def _compiler() -> str:
    compiler = find_compiler()
    return f"{compiler.name} {compiler.version}"


def main(argv: Sequence[str] | None = None) -> int:
    """Measure all own kernels, or all of frameworks, or those named, in both sizes; return an exit code."""
    parser = argparse.ArgumentParser(prog="python -m gpusim.lab.own.record", description=__doc__)
    parser.add_argument("out", type=Path, help="folder of the measurements; files of the same name are replaced")
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--frameworks", action="store_true", help="kernels of Triton and CuPy, from kept machine code")
    parser.add_argument("--half", choices=("development", "held-out"), help="measure only this half")
    parser.add_argument("--size", choices=OWN_SIZES, help="measure only this size")
    parser.add_argument("--no-ncu", action="store_true", help="only compare with the oracles")
    parser.add_argument("--commit", help="commit of the source tree, where it is no clone")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="nothing new is started after so many")
    arguments = parser.parse_args(argv)
    table, options = (FRAMEWORK_KERNELS, ["--frameworks"]) if arguments.frameworks else (OWN_KERNELS, [])
    try:
        chosen = [own_kernel(name, table) for name in arguments.names] or list(table)
        origin = RecordOrigin.here(("python", "-m", "gpusim.lab.own.record", "OUT", *options), arguments.commit)
        made_by = code_made_by(frameworks_folder()) if arguments.frameworks else _compiler()
        out = arguments.out / device.gpu_slug(origin.environment["gpu"])
        folder = out / (frameworks_folder().name if arguments.frameworks else "own")
        folder.mkdir(parents=True, exist_ok=True)
    except GpusimError as error:
        say(str(error))
        return error.exit_code
    provenance = {key: str(value) for key, value in origin.environment.items()} | {
        "compiler": made_by,
        "commit": str(origin.commit),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": " ".join(origin.command),
    }
    capability = int(origin.environment["compute_capability"].replace(".", ""))
    chosen = [kernel for kernel in chosen if kernel.needs <= capability and arguments.half in {None, half_of(kernel)}]
    runs = [
        OwnRun(tuple(chosen[first : first + TOGETHER]), size, arguments.out / "ncu")
        for size in OWN_SIZES
        if arguments.size in {None, size}
        for first in range(0, len(chosen), TOGETHER)
    ]
    return record(runs, _Files(folder, provenance), profile=not arguments.no_ncu, seconds=arguments.seconds)


if __name__ == "__main__":
    sys.exit(main())
