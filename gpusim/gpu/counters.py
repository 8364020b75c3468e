"""Collects Nsight Compute's counters for the kernels of many scenarios, by profiling ``gpusim.measure.launch``."""

import csv
import importlib
import json
import re
import shutil
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpusim.errors import BadInput, CannotRun
from gpusim.gpu import ncu
from gpusim.records.record import Opcodes

SECONDS_PER_LAUNCH = 30
"""Time allowed for one launch under ncu, with all its passes, before the run is aborted."""

STALLS = (
    *("barrier", "branch_resolving", "dispatch_stall", "drain", "imc_miss", "lg_throttle", "long_scoreboard"),
    *("math_pipe_throttle", "membar", "mio_throttle", "no_instruction", "not_selected", "selected"),
    *("short_scoreboard", "sleeping", "tex_throttle", "wait"),
)

SASS_OPERATIONS = ("ld", "ldgsts", "ldsm", "st")
"""Operations that the SASS-level shared-memory metrics distinguish. There is none for LDS alone."""

METRICS = (
    *("sm__cycles_elapsed.max", "sm__cycles_active.avg", "sm__cycles_active.max", "sm__cycles_active.min"),
    *("gpc__cycles_elapsed.max", "gpu__time_duration.sum"),
    "smsp__inst_executed.sum",
    *(f"sm__inst_executed_pipe_tensor_op_{kind}.sum" for kind in ("hmma", "imma")),
    *(
        f"smsp__inst_executed_op_{op}.sum"
        for op in ("ldsm", "ldgsts", "shared_ld", "shared_st", "global_ld", "global_st", "local_ld", "local_st")
    ),
    *(
        f"sm__inst_executed_pipe_{pipe}.sum"
        for pipe in ("alu", "fma", "fmaheavy", "lsu", "uniform", "xu", "adu", "cbu", "ipa", "fp16")
    ),
    *(f"sm__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_{op}.sum" for op in SASS_OPERATIONS),
    *(f"sm__sass_l1tex_data_bank_conflicts_pipe_lsu_mem_shared_op_{op}.sum" for op in SASS_OPERATIONS),
    "sm__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared.sum",
    "sm__sass_l1tex_data_bank_conflicts_pipe_lsu_mem_shared.sum",
    *(f"l1tex__data_pipe_lsu_wavefronts_mem_shared{op}.sum" for op in ("", "_op_ld", "_op_st")),
    *(f"l1tex__data_bank_conflicts_pipe_lsu_mem_shared{op}.sum" for op in ("", "_op_ld", "_op_ldgsts", "_op_st")),
    *("l1tex__data_bank_conflicts_type_arbitration.sum", "l1tex__data_bank_reads.sum", "l1tex__data_bank_writes.sum"),
    *(f"l1tex__t_{what}_pipe_lsu_mem_global_op_{op}.sum" for what in ("sectors", "requests") for op in ("ld", "st")),
    *("lts__t_sectors_op_read.sum", "lts__t_sectors_op_read_lookup_hit.sum", "lts__t_sectors_op_write.sum"),
    *("dram__bytes_read.sum", "dram__bytes_write.sum"),
    *(f"sm__pipe_tensor_op_{kind}_cycles_active.avg.pct_of_peak_sustained_active" for kind in ("hmma", "imma")),
    *("sm__warps_active.avg.pct_of_peak_sustained_active", "smsp__issue_active.avg.pct_of_peak_sustained_active"),
    *(f"smsp__average_warps_issue_stalled_{reason}_per_issue_active.ratio" for reason in STALLS),
)
"""Metrics collected for every launch, as far as the GPU has them."""

KERNELS = r"^gpusim_\w+$"
"""Filter of the kernels that ncu profiles: gpusim's, not CuPy's."""

BY_OPCODE = "sass__inst_executed_per_opcode"
BY_INSTRUCTION = {
    "executed": "inst_executed",
    "wavefronts": "memory_l1_wavefronts_shared",
    "ideal": "memory_l1_wavefronts_shared_ideal",
}
"""ncu's metric for each figure of ``record.Opcodes``. It has a value for each instruction of the kernel."""

_MISSING = re.compile(r"[Ff]ailed to find metric|[Uu]nknown metric|metrics? not found")
_OPCODE = re.compile(r"\s*(?:@!?U?P[T\d]+\s+)?([A-Z][A-Z0-9_]*)")
_INSTANCE = re.compile(r"([A-Za-z_][\w.]*): *([\d,]+(?:\.\d+)?)")


@dataclass(frozen=True, slots=True)
class Profile:
    """
    The counters that ncu measured for one launch.

    Attributes:
        grid, block: gridDim and blockDim of the launch.
        counters: Values in base units by full metric name.
        opcodes: Figures by SASS opcode.
    """

    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    counters: dict[str, float]
    opcodes: Opcodes


def profile_scenarios(
    files: Sequence[Path], folder: Path, selection: Sequence[str], options: Sequence[str] = ()
) -> dict[str, Profile]:
    """
    Launch each scenario's plain kernels once under ncu, with cold caches and clocks not locked.

    Args:
        files: Scenario files. Their stems must differ.
        folder: Folder in which the report (``.ncu-rep``) and its raw page (``.csv``) are kept.
        selection: ncu's options from ``settle``.
        options: Further options of ``gpusim.measure.launch``.

    Returns:
        Counters by the stem of the scenario's file, summed over its launches. Scenarios whose launch failed are absent.

    Raises:
        CannotRun: ncu is missing or may not profile here, or the profiled launches are not those that were made.
    """
    by_name = defaultdict[str, list[Profile]](list)
    for name, profile in profile_launches(files, folder, selection, options):
        by_name[name].append(profile)
    return {name: together(launches) for name, launches in by_name.items()}


def profile_launches(
    files: Sequence[Path], folder: Path, selection: Sequence[str], options: Sequence[str] = ()
) -> list[tuple[str, Profile]]:
    """
    Launch each scenario's plain kernels under ncu, with cold caches and clocks not locked.

    Arguments and errors are those of ``profile_scenarios``.

    Returns:
        The stem of the scenario's file and the counters of every launch, in order.
    """
    report, log = folder / "launches.ncu-rep", folder / "launches.json"
    folder.mkdir(parents=True, exist_ok=True)
    log.unlink(missing_ok=True)
    text = profile_into(report, selection, _launch(log, options, files), SECONDS_PER_LAUNCH * (2 + len(files)))
    if not report.is_file() or not log.is_file():
        raise CannotRun(f"ncu wrote no report: {ncu_says(text)}")
    launched = json.loads(log.read_text(encoding="utf-8"))["launched"]
    profiles = read_profiles(report)
    if len(profiles) != len(launched):
        raise CannotRun(f"ncu counted {len(profiles)} launches, but {len(launched)} were made ({report})")
    return list(zip(launched, profiles, strict=True))


def together(launches: Sequence[Profile]) -> Profile:
    """
    Combine the counters of successive launches into one profile. Counts and cycles are added.

    Ratios per issued instruction are averaged with executed instructions as weights, percentages of peak with active
    cycles as weights. Grid and block are those of the first launch.
    """
    first = launches[0]
    if len(launches) == 1:
        return first
    opcodes = defaultdict[str, dict[str, float]](dict)
    for opcode, figures in (item for launch in launches for item in launch.opcodes.items()):
        opcodes[opcode] = {name: opcodes[opcode].get(name, 0) + value for name, value in figures.items()}
    counters = {name: _together(name, launches) for name in first.counters}
    return Profile(first.grid, first.block, counters, dict(opcodes))


def _together(name: str, launches: Sequence[Profile]) -> float:
    values = [launch.counters.get(name, 0.0) for launch in launches]
    if name.endswith((".ratio", ".pct_of_peak_sustained_active")):
        weight = "smsp__inst_executed.sum" if name.endswith(".ratio") else "sm__cycles_active.avg"
        weights = [launch.counters.get(weight, 0.0) for launch in launches]
        weighted = sum(value * weight for value, weight in zip(values, weights, strict=True))
        return weighted / (sum(weights) or 1)
    return sum(values)


def settle(
    file: Path, folder: Path, say: Callable[[str], None] = lambda _: None, options: Sequence[str] = ()
) -> list[str]:
    """
    Return the options of ncu that select ``METRICS``, found by profiling one scenario; see ``select_metrics``.

    Args:
        file: Scenario to profile.
        folder: Folder in which the report is kept.
        say: Called with a line about what is left out.
        options: Further options of ``gpusim.measure.launch``.

    Raises:
        CannotRun: ncu is missing or may not profile here.
    """
    return select_metrics(METRICS, _launch(folder / "first.json", options, [file]), folder, say)


def select_metrics(
    metrics: Sequence[str],
    launch: Sequence[str],
    folder: Path,
    say: Callable[[str], None] = lambda _: None,
    kernels: str = KERNELS,
) -> list[str]:
    """
    Return the options of ncu that select metrics, found by profiling a command.

    If ncu does not know a metric, it writes no report. So unknown metrics are left out; if that does not help, the
    figures for single instructions are left out, too.

    Args:
        metrics: Full names of the metrics.
        launch: Command that launches at least one kernel.
        folder: Folder in which the report is kept.
        say: Called with a line about what is left out.
        kernels: Regular expression of the kernels to profile.

    Raises:
        CannotRun: ncu is missing or may not profile here.
    """
    folder.mkdir(parents=True, exist_ok=True)
    wanted, absent = ncu.existing(metrics, _available(say))
    if len(absent) > len(wanted):  # a list without most of these metrics is not reliable
        wanted, absent = list(metrics), []
    sections, by_opcode = ["--section", "SourceCounters"], [BY_OPCODE]
    report = folder / "first.ncu-rep"
    while True:
        selection = [*sections, "--metrics", ",".join([*wanted, *by_opcode])]
        text = profile_into(report, selection, launch, 6 * SECONDS_PER_LAUNCH, kernels)
        if report.is_file():
            if absent:
                say(f"ncu does not offer here: {', '.join(absent)}")
            return selection
        unknown = [name for name in wanted if _MISSING.search(text) and re.search(rf"\b{re.escape(name)}", text)]
        if unknown and len(unknown) < len(wanted):
            absent += unknown
            wanted = [name for name in wanted if name not in unknown]
        elif sections:
            say(f"ncu wrote no report ({ncu_says(text)}); once more, without figures for single instructions")
            sections, by_opcode = [], []
        else:
            raise CannotRun(f"ncu wrote no report: {ncu_says(text)}")


def _launch(log: Path, options: Sequence[str], files: Iterable[Path]) -> list[str]:
    return [sys.executable, "-m", "gpusim.measure.launch", "--log", str(log), *options, *map(str, files)]


def profile_into(
    report: Path, selection: Sequence[str], launch: Sequence[str], seconds: int, kernels: str = KERNELS
) -> str:
    """
    Run ncu with cold caches and clocks not locked, and return its output. There may be no report.

    Args:
        report: Report to write (``.ncu-rep``). The output is kept beside it in a ``.log`` file.
        selection: ncu's options from ``select_metrics``.
        launch: Command to profile.
        seconds: Longest time that ncu may take.
        kernels: Regular expression of the kernels to profile.

    Raises:
        CannotRun: ncu is missing, or takes longer.
    """
    report.unlink(missing_ok=True)
    command = [ncu.find_ncu(), "--force-overwrite", "--export", str(report), "--target-processes", "all"]
    command += [
        "--clock-control",
        "none",
        "--cache-control",
        "all",
        "--kernel-name",
        f"regex:{kernels}",
        *selection,
        *launch,
    ]
    text = _run(command, seconds)
    report.with_suffix(".log").write_text(text, encoding="utf-8")
    return text


def read_profiles(report: Path, metrics: Sequence[str] = METRICS) -> list[Profile]:
    """
    Read the launches of a report with ncu's Python module; if it cannot be imported, from the report's raw page as CSV.

    The CSV is always written beside the report, for readers without ncu. It has no figures for single instructions.
    Only ``metrics`` are counters of a profile; other metrics of the report are properties of device or launch.

    Raises:
        CannotRun: ncu is missing, or cannot read the report.
    """
    text = _raw_page(report)
    report.with_suffix(".csv").write_text(text, encoding="utf-8")
    module = import_ncu_report()
    by_csv = from_csv(text, str(report), metrics)
    if module is None:
        return by_csv
    try:
        by_module = from_module(module, report, metrics)
    except (AttributeError, RuntimeError, TypeError, ValueError):  # a version of the module with another interface
        return by_csv
    if len(by_module) != len(by_csv):
        return by_csv
    return [own if own.opcodes else other for own, other in zip(by_module, by_csv, strict=True)]


def from_csv(text: str, where: str, metrics: Sequence[str] = METRICS) -> list[Profile]:
    """Read the launches in the CSV of a raw page, with counts by opcode if the metric's instances were printed."""
    launches = ncu.parse_csv(text, where)
    by_opcode = _instances(text)
    if len(by_opcode) != len(launches):
        by_opcode = [{} for _ in launches]
    return [
        Profile(
            launch.grid,
            launch.block,
            {name: value for name, value in launch.metrics.items() if name in metrics},
            {opcode: {"executed": count} for opcode, count in counts.items()},
        )
        for launch, counts in zip(launches, by_opcode, strict=True)
    ]


def from_module(module: Any, report: Path, metrics: Sequence[str] = METRICS) -> list[Profile]:
    """Read the launches of a report with ``ncu_report``, the Python module that comes with Nsight Compute."""
    context = module.load_report(str(report))
    actions = [
        context.range_by_idx(number).action_by_idx(index)
        for number in range(context.num_ranges())
        for index in range(context.range_by_idx(number).num_actions())
    ]
    return [_profile(action, metrics) for action in actions]


def import_ncu_report() -> Any | None:
    """Import ``ncu_report`` from ncu's installation; return None if it is absent or cannot be imported."""
    for folder in _module_folders():
        if (folder / "ncu_report.py").is_file():
            sys.path.append(str(folder))
            try:
                return importlib.import_module("ncu_report")
            except (ImportError, OSError):
                continue
            finally:
                sys.path.remove(str(folder))
    return None


def opcode_of(sass: str) -> str:
    """Return the opcode of SASS text: LDGSTS for ``@P0 LDGSTS.E.BYPASS [R1], ...``; empty without an instruction."""
    match = _OPCODE.match(sass)
    return match[1] if match else ""


def ncu_says(text: str) -> str:
    """Return the last line of ncu's output that reports an error, or else its last line."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    complaints = [line for line in lines if "==ERROR==" in line or "ERR_NVGPUCTRPERM" in line]
    return (complaints or lines or ["it printed nothing"])[-1]


def _profile(action: Any, metrics: Sequence[str]) -> Profile:
    counters, opcodes = {}, defaultdict[str, dict[str, float]](dict)
    names = set(action.metric_names())
    for name in sorted(names):
        if name in metrics:
            counters[name] = _value(action.metric_by_name(name))
    for figure, metric in BY_INSTRUCTION.items():
        if metric in names:
            for opcode, value in _sums_by_opcode(action, metric).items():
                opcodes[opcode][figure] = value
    if BY_OPCODE in names:
        metric = action.metric_by_name(BY_OPCODE)
        keys = metric.correlation_ids()
        for index in range(metric.num_instances()):
            opcodes[keys.as_string(index)]["executed"] = _value(metric, index)
    grid, block = (_extent(action, what, names) for what in ("grid", "block"))
    return Profile(grid, block, counters, dict(opcodes))


def _sums_by_opcode(action: Any, name: str) -> Mapping[str, float]:
    sums = defaultdict[str, float](float)
    metric = action.metric_by_name(name)
    if metric.num_instances() and metric.has_correlation_ids():
        addresses = metric.correlation_ids()
        for index in range(metric.num_instances()):
            opcode = opcode_of(action.sass_by_pc(addresses.as_uint64(index)) or "")
            if opcode:
                sums[opcode] += _value(metric, index)
    return sums


def _value(metric: Any, *index: int) -> float:
    """Return a metric's value, or that of one instance, as a float."""
    return float(metric.value(*index))


def _extent(action: Any, what: str, names: set[str]) -> tuple[int, int, int]:
    metrics = [f"launch__{what}_dim_{axis}" for axis in "xyz"]
    x, y, z = (int(action.metric_by_name(name).as_uint64()) if name in names else 0 for name in metrics)
    return x, y, z


def _instances(text: str) -> list[dict[str, float]]:
    """Return counts by opcode for each launch, from cells such as ``1,234 (HMMA: 1,000; LDSM: 234)``."""
    lines = text.splitlines()
    start = next((number for number, line in enumerate(lines) if line.startswith(('"ID",', "ID,"))), None)
    if start is None:
        return []
    rows = [row for row in csv.reader(line for line in lines[start:] if not line.startswith("==")) if row]
    header, body = rows[0], [row for row in rows[1:] if row[0]]
    if BY_OPCODE not in header:
        return []
    column = header.index(BY_OPCODE)
    return [{opcode: float(count.replace(",", "")) for opcode, count in _INSTANCE.findall(row[column])} for row in body]


def _raw_page(report: Path) -> str:
    base = [ncu.find_ncu(), "--import", str(report), "--csv", "--page", "raw", "--print-units", "base"]
    text = _run([*base, "--print-metric-instances", "details"], 300)
    if "Kernel Name" not in text:
        text = _run(base, 300)
    if "Kernel Name" not in text:
        raise CannotRun(f"{report}: ncu cannot read it ({ncu_says(text)})")
    return text


def _available(say: Callable[[str], None]) -> frozenset[str]:
    try:
        return ncu.available_metrics()
    except (CannotRun, BadInput) as error:
        say(f"ncu lists no metrics ({error}); all are asked for")
        return frozenset()


def _module_folders() -> Iterable[Path]:
    executable = shutil.which("ncu")
    if executable:
        yield from (parent / "extras" / "python" for parent in Path(executable).resolve().parents)
    for root, pattern in (("/opt/nvidia/nsight-compute", "*"), ("/usr/local", "cuda*/nsight-compute-*")):
        yield from (folder / "extras" / "python" for folder in sorted(Path(root).glob(pattern), reverse=True))


def _run(command: Sequence[str], seconds: int) -> str:
    try:
        done = subprocess.run(  # noqa: S603 # the command is built here, never by a shell
            command, capture_output=True, text=True, check=False, timeout=seconds
        )
    except subprocess.TimeoutExpired as error:
        raise CannotRun(f"ncu did not end within {seconds} s") from error
    except OSError as error:
        raise CannotRun(f"{command[0]}: cannot be started ({error})") from error
    return done.stdout + done.stderr
