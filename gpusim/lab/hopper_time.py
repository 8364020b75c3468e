"""``python -m gpusim.lab.hopper_time``: sm_90 GEMMs in time beside launches that were measured on an H200."""

import argparse
import csv
import json
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import mean, median, quantiles
from typing import Any, Final, NamedTuple, cast

from gpusim.families.hopper.problem import HopperScenario
from gpusim.families.hopper.simulation.launch import time_of
from gpusim.families.registry import scenario_of
from gpusim.lab.hopper_device.cases import HOPPER_CASES
from gpusim.machine.load import load_machine
from gpusim.machine.spec import Machine

_SCHEDULES: Final = {
    "KernelTma": "non_specialized",
    "KernelTmaWarpSpecialized": "warp_specialized",
    "KernelTmaWarpSpecializedCooperative": "cooperative",
    "KernelTmaWarpSpecializedPingpong": "pingpong",
}
_SCHEDULERS: Final = {"none": "none", "PersistentScheduler": "persistent", "StreamKScheduler": "stream_k"}


class MeasuredLaunch(NamedTuple):
    """A launch on a GPU: its name, its scenario, and its elapsed and active cycles."""

    name: str
    scenario: HopperScenario
    elapsed: float
    active: float


def cutlass_rows(archive: Path) -> list[dict[str, Any]]:
    """Return the rows of launches of CUTLASS 3.x kernels, of an archive of one file of JSON."""
    with zipfile.ZipFile(archive) as opened:
        rows: list[dict[str, Any]] = json.loads(opened.read(opened.namelist()[0]))["rows"]
    return rows


def cutlass_scenario(row: dict[str, Any], *, code: str = "gpusim") -> HopperScenario:
    """Return the scenario of a launch of CUTLASS 3.x; ``code`` is whose machine code is estimated."""
    schedule = row["kernel_schedule"].replace("FP8FastAccum", "")
    problem = {
        "kind": "hopper_gemm",
        "m": row["M"],
        "n": row["N"],
        "k": row["K"],
        "beta": float(row["beta"]),
        **{key: row[key] for key in ("layout_a", "layout_b")},
        "dtype": {"ab": row["dtype_ab"], "accumulator": row["accumulator"], "output": row["dtype_d"]},
    }
    kernel = {
        "schedule": _SCHEDULES[schedule],
        "tile": row["tile"],
        "cluster": row["cluster"][:2],
        "stages": row["stages_requested"] or "auto",
        "raster": row["raster"],
        "max_swizzle": row["max_swizzle"],
        "fast_accumulation": schedule != row["kernel_schedule"],
        "scheduler": _SCHEDULERS[row["tile_scheduler"]],
        "code": code,
    }
    return cast("HopperScenario", scenario_of({"machine": "h200", "problem": problem, "kernel": kernel}))


def cutlass_launch(row: dict[str, Any]) -> MeasuredLaunch:
    """Return a launch of CUTLASS 3.x, with the medians of its three launches with caches flushed."""
    counters = row["counters"]
    return MeasuredLaunch(
        f"{row['name']} {row['M']}x{row['N']}x{row['K']}",
        cutlass_scenario(row, code="cutlass"),
        median([counters["gpc__cycles_elapsed.max"], *row["repeat_cycles_elapsed_max"]]),
        median([counters["sm__cycles_active.avg"], *row["repeat_cycles_active_avg"]]),
    )


def profiled(file: Path) -> list[tuple[dict[str, Any], dict[str, float]]]:
    """Return the launches of kernels_cuda/hopper that ncu profiled, each with its counters."""
    launches: list[dict[str, Any]] = []
    counters: dict[int, dict[str, float]] = {}
    for line in file.read_text(encoding="utf-8").splitlines():
        if line.startswith("{"):
            launches.append(json.loads(line))
        elif line[:1] == '"' and line[1].isdigit():
            row = next(csv.reader([line]))
            counters.setdefault(int(row[0]), {})[row[12]] = float(row[14].replace(",", ""))
    return [(one, counters[number]) for number, one in enumerate(launches)]


def own_launches(file: Path) -> Iterator[MeasuredLaunch]:
    """Yield the profiled launches of kernels_cuda/hopper."""
    cases = {case.name: case for case in HOPPER_CASES}
    for launch, counters in profiled(file):
        m, n, k = launch["extents"]
        yield MeasuredLaunch(
            f"{launch['name']} {m}x{n}x{k}",
            cases[launch["name"]].scenario((m, n, k)),
            counters["gpc__cycles_elapsed.max"],
            counters["sm__cycles_active.avg"],
        )


def constant_clock(machine: Machine) -> Machine:
    """Return a machine whose clock is that of launches with mma.sync, whatever wgmma and memory do."""
    return machine if machine.wgmma is None else replace(machine, wgmma=replace(machine.wgmma, clock=None))


def compare(launches: Sequence[MeasuredLaunch], machine: Machine) -> Iterator[str]:
    """Simulate launches; yield a line for each, and at last the errors over all."""
    elapsed, active = list[float](), list[float]()
    for one in launches:
        found = time_of(one.scenario, machine)
        # ncu's mean is over all SMs, idle ones included.
        of_all = found.active * min(1.0, found.ctas / machine.sms)
        elapsed.append(found.elapsed / one.elapsed - 1)
        active.append(of_all / one.active - 1)
        yield (
            f"{one.name:62} elapsed {found.elapsed:>7,} of {one.elapsed:>9,.0f} {100 * elapsed[-1]:6.1f} %  "
            f"active {of_all:>9,.0f} of {one.active:>9,.0f} {100 * active[-1]:6.1f} %"
        )
    for name, errors in (("elapsed", elapsed), ("active", active)):
        size = [abs(error) for error in errors]
        tenth = quantiles(size, n=10)[-1] if len(size) > 1 else size[0]
        yield f"{name}: {len(size)} launches, mean error {100 * mean(size):.1f} %, one in ten over {100 * tenth:.1f} %"


def main(argv: Sequence[str] | None = None) -> None:
    """Print the comparison."""
    parser = argparse.ArgumentParser(prog="python -m gpusim.lab.hopper_time", description=__doc__)
    parser.add_argument("file", type=Path, help="CUTLASS's launches (.zip), or ncu's table of our own (.csv)")
    parser.add_argument("--only", default="", help="a part of the names of launches to simulate")
    parser.add_argument("--constant-clock", action="store_true", help="simulate the clock of launches with mma.sync")
    arguments = parser.parse_args(argv)
    if not arguments.file.is_file():
        parser.error(f"{arguments.file} is not a file")
    machine = load_machine("h200")
    if arguments.constant_clock:
        machine = constant_clock(machine)
    launches = (
        map(cutlass_launch, cutlass_rows(arguments.file))
        if arguments.file.suffix == ".zip"
        else own_launches(arguments.file)
    )
    chosen = [one for one in launches if arguments.only in one.name]
    if not chosen:
        parser.error(f"{arguments.file} has no launch with {arguments.only!r} in its name")
    for line in compare(chosen, machine):
        print(line, flush=True)  # noqa: T201 - the command's output


if __name__ == "__main__":
    main()
