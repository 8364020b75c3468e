"""Runs Nsight Compute as a subprocess, and reads its reports and CSV; knows no scenario."""

import csv
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from gpusim.errors import BadInput, CannotRun

_TIMEOUT_SECONDS = 540
_REFUSALS = {
    "ERR_NVGPUCTRPERM": (
        "the driver keeps the hardware counters for administrators (ERR_NVGPUCTRPERM): run as root, or set the kernel "
        "module option NVreg_RestrictProfilingToAdminUsers=0"
    ),
    "LibraryNotLoaded": "ncu cannot start its profiler here (LibraryNotLoaded): containers without the driver's "
    "profiling libraries, and gVisor, do this",
    "No kernels were profiled": "ncu saw no kernel that it was asked to profile",
}
_MISSING_METRIC = re.compile(r"Failed to find metric[s]?:? *(?:regex:)?\"?([\w.:^$]+)")
_SCALES = {"K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_TIMES = {
    "nsecond": 1,
    "usecond": 10**3,
    "msecond": 10**6,
    "second": 10**9,
    "ns": 1,
    "us": 10**3,
    "ms": 10**6,
    "s": 10**9,
}


@dataclass(frozen=True, slots=True)
class KernelCounters:
    """
    The counters that ncu measured for one launch.

    Attributes:
        name: Name of the kernel, as ncu prints it.
        grid: gridDim x, y, z.
        block: blockDim x, y, z.
        metrics: Values in base units (bytes, nanoseconds, cycles, counts) by full metric name with suffix.
    """

    name: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    metrics: dict[str, float]


def find_ncu() -> str:
    """
    Return the path of the ncu executable.

    Raises:
        CannotRun: ncu is not on the PATH.
    """
    found = shutil.which("ncu")
    if found is None:
        raise CannotRun("ncu is not on the PATH: install Nsight Compute, which is part of the CUDA toolkit")
    return found


def available_metrics() -> frozenset[str]:
    """
    Return the base names (without suffix) of the metrics that ncu lists for this machine's GPU; empty if it lists none.

    Raises:
        CannotRun: ncu is missing, or may not profile here.
    """
    finished = _finish([find_ncu(), "--query-metrics-mode", "base", "--query-metrics"], _TIMEOUT_SECONDS)
    _refuse(finished.stdout + finished.stderr)
    return frozenset(match[1] for match in re.finditer(r"^([a-z0-9]+__\w+)\b", finished.stdout, re.MULTILINE))


def existing(metrics: Iterable[str], available: frozenset[str]) -> tuple[list[str], list[str]]:
    """
    Split metrics into those that ncu can collect and the others.

    A metric can be collected if its base name is in ``available``. An empty ``available`` means that all can.
    """
    wanted = list(metrics)
    if not available:
        return wanted, []
    # Some versions of ncu do not list the metrics that they collect by patching the kernel: these are always kept.
    found = [name for name in wanted if name.split(".")[0] in available or "__sass_" in name]
    return found, [name for name in wanted if name not in found]


def profile(
    command: Sequence[str],
    metrics: Iterable[str],
    *,
    kernels: str | None = None,
    options: Sequence[str] = (),
    timeout_seconds: int = _TIMEOUT_SECONDS,
) -> tuple[list[KernelCounters], list[str]]:
    """
    Run a command under ncu, with caches flushed before each launch and clocks not locked.

    Args:
        command: Command to run. Its own output is discarded.
        metrics: Full metric names. If ncu does not know one, it is left out and ncu is started again.
        kernels: Regular expression of the kernels to profile; None profiles all.
        options: Further options of ncu.
        timeout_seconds: Longest time that one run of ncu may take.

    Returns:
        The counters of every launch in order, and the metrics that were left out.

    Raises:
        CannotRun: ncu is missing or may not profile here, or the command fails under it.
    """
    ncu, wanted, dropped = find_ncu(), list(metrics), list[str]()
    while True:
        with tempfile.TemporaryDirectory() as folder:
            log = Path(folder) / "ncu.csv"
            chosen = ["--kernel-name", f"regex:{kernels}"] if kernels else []
            arguments = [ncu, "--csv", "--page", "raw", "--print-units", "base", "--target-processes", "all"]
            arguments += ["--clock-control", "none", "--cache-control", "all", *chosen, "--log-file", str(log)]
            arguments += [*options, "--metrics", ",".join(wanted), *command]
            finished = _finish(arguments, timeout_seconds)
            text = log.read_text(errors="replace") if log.exists() else ""
        everything = text + finished.stdout + finished.stderr
        unknown = [name for name in wanted if _names_missing(everything, name)]
        if not unknown or len(unknown) == len(wanted):
            break
        dropped += unknown
        wanted = [name for name in wanted if name not in unknown]
    _refuse(everything)
    if finished.returncode != 0:
        raise CannotRun(f"ncu ended with {finished.returncode}: {_last_lines(everything)}")
    return parse_csv(text, "ncu's output"), dropped


def read_report(path: Path) -> list[KernelCounters]:
    """
    Read the launches of an ncu report (``.ncu-rep``) or of ncu's CSV (raw or details page).

    Raises:
        BadInput: The file is neither.
        CannotRun: The file cannot be read. A report is read by ncu, which may be missing or reject it.
    """
    if path.suffix == ".ncu-rep":
        if not path.is_file():
            raise CannotRun(f"{path}: no such report")
        arguments = [find_ncu(), "--import", str(path), "--csv", "--page", "raw", "--print-units", "base"]
        return parse_csv(_call(arguments), str(path))
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise CannotRun(f"{path}: cannot be read as ncu's CSV ({error})") from error
    return parse_csv(text, str(path))


def parse_csv(text: str, where: str) -> list[KernelCounters]:
    """
    Read the launches in ncu's CSV. Other output of ncu around it is skipped.

    There are two forms: the raw page, with a column for each metric and a row of units under the header, and the
    details page, with a row for each metric.

    Args:
        text: ncu's output.
        where: Name of the text in error messages.

    Raises:
        BadInput: The text has no header of ncu's CSV, or a row does not fit it.
    """
    lines = text.splitlines()
    start = next((number for number, line in enumerate(lines) if line.startswith(('"ID",', "ID,"))), None)
    if start is None:
        raise BadInput(f'{where}: is not CSV that ncu writes: no line starts with "ID"')
    rows = [row for row in csv.reader(line for line in lines[start:] if not line.startswith("==")) if row]
    header, body = rows[0], rows[1:]
    for name in ("Kernel Name", "Grid Size", "Block Size"):
        if name not in header:
            raise BadInput(f'{where}: ncu\'s CSV must have a column "{name}", got {", ".join(header[:12])}')
    for row in body:
        if len(row) != len(header):
            raise BadInput(f"{where}: a row has {len(row)} columns, the header {len(header)}: {','.join(row)[:80]}")
    return _details(header, body, where) if "Metric Name" in header else _raw(header, body, where)


def _raw(header: list[str], body: list[list[str]], where: str) -> list[KernelCounters]:
    units = [""] * len(header)
    if body and not body[0][0]:
        units, body = body[0], body[1:]
    columns = [index for index, name in enumerate(header) if "__" in name]
    launches = []
    for row in body:
        fields = dict(zip(header, row, strict=True))
        values = {header[index]: _number(row[index], units[index]) for index in columns}
        launches.append(_launch(fields, {name: value for name, value in values.items() if value is not None}, where))
    return launches


def _details(header: list[str], body: list[list[str]], where: str) -> list[KernelCounters]:
    launches: dict[str, tuple[dict[str, str], dict[str, float]]] = {}
    for row in body:
        fields = dict(zip(header, row, strict=True))
        _, metrics = launches.setdefault(fields["ID"], (fields, {}))
        value = _number(fields.get("Metric Value", ""), fields.get("Metric Unit", ""))
        if value is not None:
            metrics[fields["Metric Name"]] = value
    return [_launch(fields, metrics, where) for fields, metrics in launches.values()]


def _launch(fields: dict[str, str], metrics: dict[str, float], where: str) -> KernelCounters:
    grid, block = (_extent(fields[name], name, where) for name in ("Grid Size", "Block Size"))
    return KernelCounters(fields["Kernel Name"], grid, block, metrics)


def _extent(text: str, name: str, where: str) -> tuple[int, int, int]:
    numbers = [int(number) for number in re.findall(r"\d{1,10}", text.replace(",", " "))]
    if len(numbers) != 3:
        raise BadInput(f'{where}: {name} must be three numbers, got "{text[:60]}"')
    return numbers[0], numbers[1], numbers[2]


def _number(text: str, unit: str) -> float | None:
    """Return a value in base units; None if the text is not a number. A sum with a breakdown gives the sum."""
    found = re.match(r"\s*(-?[\d,]*\.?\d+(?:[eE][+-]?\d+)?)", text)
    return float(found[1].replace(",", "")) * _scale(unit) if found else None


def _scale(unit: str) -> int:
    first = unit.split("/", maxsplit=1)[0].strip()
    if first in _TIMES:
        return _TIMES[first]
    prefixed = re.fullmatch(r"([KMGT])(byte|inst|sector|cycle|request|hz|Hz)s?", first)
    return _SCALES[prefixed[1]] if prefixed else 1


def _names_missing(text: str, metric: str) -> bool:
    names = {metric, metric.partition(".")[0]}
    return any(found[1].strip("^$").partition(":")[0] in names for found in _MISSING_METRIC.finditer(text))


def _finish(arguments: Sequence[str], timeout_seconds: int) -> subprocess.CompletedProcess[str]:
    try:
        # A kernel's name, or a damaged report, may have bytes that are not UTF-8.
        return subprocess.run(  # noqa: S603 # the command is the caller's own, never a shell's
            arguments, capture_output=True, encoding="utf-8", errors="replace", check=False, timeout=timeout_seconds
        )
    except subprocess.TimeoutExpired as error:
        raise CannotRun(f"ncu did not end within {timeout_seconds} s") from error
    except OSError as error:
        raise CannotRun(f"ncu cannot be started ({error})") from error


def _call(arguments: Sequence[str]) -> str:
    finished = _finish(arguments, _TIMEOUT_SECONDS)
    everything = finished.stdout + finished.stderr
    if finished.returncode != 0:
        _refuse(everything)
        raise CannotRun(f"ncu ended with {finished.returncode}: {_last_lines(everything)}")
    return finished.stdout


def _refuse(text: str) -> None:
    for sign, message in _REFUSALS.items():
        if sign in text:
            raise CannotRun(message)


def _last_lines(text: str) -> str:
    return " | ".join(line for line in text.strip().splitlines()[-3:]) or "it printed nothing"
