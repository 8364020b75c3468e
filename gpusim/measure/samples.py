"""``python -m gpusim.measure.samples OUT FILE...``: at which instruction plain kernels' warps wait, sampled by ncu."""

import argparse
import csv
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpusim.errors import CannotRun, GpusimError
from gpusim.families.registry import load_scenario
from gpusim.gpu import counters, device, ncu
from gpusim.measure.measure import RecordOrigin

SAMPLES = "smsp__pcsamp_warps_issue_stalled_"
"""ncu's metric of samples, before the stall reason; each has a value for every instruction."""

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
        samples: Samples that found a warp at it, by stall reason.
    """

    address: int
    sass: str
    executed: int
    samples: Mapping[str, int]


def profile_samples(file: Path, folder: Path) -> list[SampledInstruction]:
    """
    Launch a scenario's plain kernel once under ncu, with caches flushed, and read the samples of its program counter.

    Args:
        file: Scenario file.
        folder: Folder in which the report is kept.

    Raises:
        CannotRun: ncu is missing or may not profile here, or has no Python module.
    """
    module = counters.import_ncu_report()
    if module is None:
        raise CannotRun("ncu_report cannot be imported: it comes with full installations of Nsight Compute")
    folder.mkdir(parents=True, exist_ok=True)
    report = folder / f"{file.stem}.ncu-rep"
    command = [ncu.find_ncu(), "--force-overwrite", "--export", str(report), "--target-processes", "all"]
    command += ["--clock-control", "none", "--cache-control", "all", "--kernel-name", counters.KERNELS]
    command += ["--section", "SourceCounters", "--warp-sampling-interval", "0", "--metrics", ",".join(_CYCLES)]
    command += [sys.executable, "-m", "gpusim.measure.launch", str(file)]
    ran = subprocess.run(  # noqa: S603 # ncu, and this package
        command, capture_output=True, text=True, check=False, timeout=_TIMEOUT_SECONDS
    )
    if not report.is_file():
        raise CannotRun(f"ncu wrote no report: {counters.ncu_says(ran.stdout + ran.stderr)}")
    return list(_instructions(module.load_report(str(report)).range_by_idx(0).action_by_idx(0)))


def _instructions(action: Any) -> Iterator[SampledInstruction]:
    """Yield the instructions of ncu's first launch, in the order of addresses."""
    found: dict[int, dict[str, int]] = {}
    for name in action.metric_names():
        if name == EXECUTED or (name.startswith(SAMPLES) and not name.endswith(_WITHOUT_ISSUE)):
            metric = action.metric_by_name(name)
            if metric.num_instances() and metric.has_correlation_ids():
                addresses = metric.correlation_ids()
                for index in range(metric.num_instances()):
                    own = found.setdefault(addresses.as_uint64(index), {})
                    own[name.removeprefix(SAMPLES)] = int(metric.value(index))
    first = min(found, default=0)
    for address in sorted(found):
        values = found[address]
        samples = {reason: count for reason, count in sorted(values.items()) if reason != EXECUTED and count}
        yield SampledInstruction(address - first, action.sass_by_pc(address).strip(), values.get(EXECUTED, 0), samples)


def write_samples(path: Path, instructions: Sequence[SampledInstruction], provenance: Sequence[str]) -> None:
    """
    Write samples as CSV: address, executed, a column for each stall reason that occurs, text.

    Args:
        path: File to write.
        instructions: Instructions; those that were never executed are left out.
        provenance: Lines of the comment at its head.
    """
    executed = [one for one in instructions if one.executed]
    reasons = sorted({reason for one in executed for reason in one.samples})
    with path.open("w", encoding="utf-8", newline="") as file:
        file.writelines(f"# {line}\n" for line in provenance)
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(["address", "executed", *reasons, "sass"])
        for one in executed:
            counts = [one.samples.get(reason, "") for reason in reasons]
            rows.writerow([f"{one.address:#x}", one.executed, *counts, one.sass])


def main(argv: Sequence[str] | None = None) -> int:
    """Sample every file's kernel; return the exit code of the first error, or 0."""
    parser = argparse.ArgumentParser(prog="python -m gpusim.measure.samples", description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("files", type=Path, nargs="+", metavar="FILE")
    parser.add_argument("--commit", help="commit of the source tree, where it is no clone")
    arguments = parser.parse_args(argv)
    try:
        origin = RecordOrigin.here(("python", "-m", "gpusim.measure.samples", "OUT", "FILE"), arguments.commit)
        folder = arguments.out / device.gpu_slug(origin.environment["gpu"])
        folder.mkdir(parents=True, exist_ok=True)
        for file in arguments.files:
            load_scenario(file)
            provenance = [*(f"{key}: {value}" for key, value in origin.environment.items())]
            provenance += [f"commit: {origin.commit}", f"command: {' '.join(origin.command)}"]
            write_samples(folder / f"{file.stem}.csv", profile_samples(file, arguments.out / "ncu"), provenance)
    except GpusimError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
