"""``python -m gpusim.lab.recording.samples OUT FILE...``: at which instruction kernels' warps wait, sampled by ncu."""

import csv
import json
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpusim.errors import CannotRun
from gpusim.gpu import counters, ncu
from gpusim.lab.recording.in_ncu_runs import NcuRun, profile_in_runs

SAMPLES = "smsp__pcsamp_warps_issue_stalled_"
"""Prefix of ncu's metrics of samples, before the stall reason. Each has a value for every instruction."""

SAMPLED = "group:smsp__pcsamp_warp_stall_reasons"
"""ncu's name for all metrics of samples."""

SAMPLED_TOGETHER = 20
"""Number of scenarios in one run of ncu."""

EXECUTED = "inst_executed"
_WITHOUT_ISSUE = "_not_issued"
_CYCLES = ("sm__cycles_elapsed.max", "sm__cycles_active.avg")
_TIMEOUT_SECONDS = 300


@dataclass(frozen=True, slots=True)
class SampledInstruction:
    """
    One instruction of a kernel.

    Attributes:
        address: Bytes from the kernel's first instruction.
        sass: Its text.
        executed: Warp instructions executed.
        samples: Samples of warps at it, by stall reason.
    """

    address: int
    sass: str
    executed: int
    samples: Mapping[str, int]


def profile_samples(files: Sequence[Path], folder: Path) -> dict[str, list[SampledInstruction]]:
    """
    Launch scenarios' plain kernels once under ncu, with caches flushed, and read the samples of their program counters.

    Args:
        files: Scenario files.
        folder: Folder in which the report is kept.

    Returns:
        Instructions of each scenario's first kernel, by the file's stem. Scenarios that failed to launch are left out.

    Raises:
        CannotRun: ncu is missing or may not profile here, or has no Python module.
    """
    module = counters.import_ncu_report()
    if module is None:
        raise CannotRun("ncu_report cannot be imported: it comes with full installations of Nsight Compute")
    folder.mkdir(parents=True, exist_ok=True)
    report, log = folder / f"{files[0].stem}.ncu-rep", folder / f"{files[0].stem}.json"
    command = [ncu.find_ncu(), "--force-overwrite", "--export", str(report), "--target-processes", "all"]
    command += ["--clock-control", "none", "--cache-control", "all", "--kernel-name", f"regex:{counters.KERNELS}"]
    command += ["--warp-sampling-interval", "0", "--metrics", ",".join((SAMPLED, EXECUTED, *_CYCLES))]
    command += [sys.executable, "-m", "gpusim.measure.launch", *map(str, files), "--log", str(log)]
    ran = subprocess.run(  # noqa: S603 # ncu, and this package
        command, capture_output=True, text=True, check=False, timeout=_TIMEOUT_SECONDS
    )
    if not report.is_file() or not log.is_file():
        raise CannotRun(f"ncu wrote no report: {counters.ncu_says(ran.stdout + ran.stderr)}")
    launched: list[str] = json.loads(log.read_text(encoding="utf-8"))["launched"]
    actions = module.load_report(str(report)).range_by_idx(0)
    if actions.num_actions() != len(launched):
        raise CannotRun(f"{report}: ncu profiled {actions.num_actions()} launches of {len(launched)}")
    found: dict[str, list[SampledInstruction]] = {}
    for number, name in enumerate(launched):
        found.setdefault(name, list(_instructions(actions.action_by_idx(number))))
    return found


def counts_by_address(action: Any) -> dict[int, dict[str, int]]:
    """Return ncu's counts at each address: samples by stall reason, and ``EXECUTED`` if that was measured."""
    found: dict[int, dict[str, int]] = {}
    for name in action.metric_names():
        if name == EXECUTED or (name.startswith(SAMPLES) and not name.endswith(_WITHOUT_ISSUE)):
            metric = action.metric_by_name(name)
            if metric.num_instances() and metric.has_correlation_ids():
                addresses = metric.correlation_ids()
                for index in range(metric.num_instances()):
                    own = found.setdefault(addresses.as_uint64(index), {})
                    own[name.removeprefix(SAMPLES)] = int(metric.value(index))
    return found


def _instructions(action: Any) -> Iterator[SampledInstruction]:
    """Yield the instructions of ncu's first launch, in the order of addresses."""
    found = counts_by_address(action)
    first = min(found, default=0)
    for address in sorted(found):
        values = found[address]
        samples = {reason: count for reason, count in sorted(values.items()) if reason != EXECUTED and count}
        yield SampledInstruction(address - first, action.sass_by_pc(address).strip(), values.get(EXECUTED, 0), samples)


def write_samples(path: Path, instructions: Sequence[SampledInstruction], provenance: Mapping[str, str]) -> None:
    """
    Write samples as CSV: address, executed, a column for each stall reason that occurs, text.

    Args:
        path: File to write.
        instructions: Instructions. Those that were never executed are left out.
        provenance: Origin of the samples, for the comment at its head.
    """
    executed = [one for one in instructions if one.executed]
    reasons = sorted({reason for one in executed for reason in one.samples})
    with path.open("w", encoding="utf-8", newline="") as file:
        file.writelines(f"# {key}: {value}\n" for key, value in provenance.items())
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(["address", "executed", *reasons, "sass"])
        for one in executed:
            counts = [one.samples.get(reason, "") for reason in reasons]
            rows.writerow([f"{one.address:#x}", one.executed, *counts, one.sass])


def main(argv: Sequence[str] | None = None) -> int:
    """Sample every file's kernel, some together; return the exit code of the last error, or 0."""

    def measure(run: NcuRun) -> None:
        for name, instructions in profile_samples(run.files, run.reports).items():
            write_samples(run.folder / f"{name}.csv", instructions, run.provenance)

    return profile_in_runs(argv, "gpusim.lab.recording.samples", __doc__, SAMPLED_TOGETHER, measure)


if __name__ == "__main__":
    sys.exit(main())
