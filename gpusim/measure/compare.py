"""Compares an ncu report of any kernel with a simulated run, in every figure that both have."""

import re
from collections.abc import Sequence
from pathlib import Path

from gpusim.errors import BadInput
from gpusim.gpu.ncu import KernelCounters, read_report
from gpusim.records.check import STALL_RATIO, CheckRow, active_cycles, stall_shares
from gpusim.results.result import Result
from gpusim.verbs.compare import ComparedSide, Profiled

_LEAST_SHARE = 0.01


def profiled_side(report: Path, like: Result | None, kernel: str | None, launch: int | None) -> ComparedSide:
    """
    Return a launch of a report as one side of a comparison.

    Args:
        report: An ncu report, or ncu's CSV.
        like: The run to compare with, whose grid chooses the launch; None if there is none.
        kernel, launch: As of ``choose_launch``.

    Raises:
        BadInput: The file is not a report, or has no launch that matches.
        CannotRun: The report cannot be read.
    """
    launches = read_report(report)
    if not launches:
        raise BadInput(f"{report}: ncu profiled no kernel in it")
    chosen = launches[choose_launch(launches, like, kernel, launch)]
    counters = chosen.metrics
    profiled = Profiled(chosen.name, chosen.grid, chosen.block, counters, stall_shares(counters))
    return ComparedSide(report.name, "ncu", profiled=profiled)


def choose_launch(
    launches: Sequence[KernelCounters], result: Result | None, kernel: str | None, launch: int | None
) -> int:
    """
    Choose the launch of a report to compare: the requested one, else the first with the run's grid, else the first.

    Args:
        launches: Launches of the report.
        result: The simulated run; None if there is none.
        kernel: Regular expression that must match within the kernel's name; None accepts all.
        launch: Number of the launch among those that match, from 0; None chooses one.

    Returns:
        Index into ``launches``.

    Raises:
        BadInput: No launch matches (the message lists the report's kernels), ``launch`` is too large, or ``kernel`` is
            not a regular expression.
    """
    try:
        named = [index for index, one in enumerate(launches) if kernel is None or re.search(kernel, one.name)]
    except re.error as error:
        raise BadInput(f"--kernel must be a regular expression, got {kernel!r} ({error})") from error
    if not named:
        names = ", ".join(sorted({one.name for one in launches})) or "none"
        raise BadInput(f"no kernel of the report matches {kernel!r}; it has {names}")
    if launch is not None:
        if not 0 <= launch < len(named):
            raise BadInput(f"--launch must be 0..{len(named) - 1}, got {launch}")
        return named[launch]
    alike = [] if result is None else [index for index in named if launches[index].grid == tuple(result.grid)]
    return (alike or named)[0]


def compare_rows(result: Result, measured: KernelCounters, sms: int) -> tuple[CheckRow, ...]:
    """
    Return a row for every figure that the run and the launch both have.

    No figure must be equal, because the launch may be of another kernel.

    Args:
        result: The simulated run.
        measured: Counters of the launch.
        sms: Number of SMs of the GPU that the report is from.
    """
    counters = measured.metrics
    rows = [
        _row(metric, metric, result.counters[metric], counters[metric])
        for metric in result.counters
        if metric in counters
    ]
    active = active_cycles(counters, result.ctas, sms)
    if active is not None:
        note = f"mean of the SMs that had work, of {sms}"
        rows.append(_row("cycles active", "sm__cycles_active.avg", result.cycles.active, active, note))
    for name, metric, simulated in (
        ("registers per thread", "launch__registers_per_thread", result.registers_per_thread),
        ("microseconds", "gpu__time_duration.sum", result.time_us),
    ):
        if metric in counters:
            scale = 1000 if metric.startswith("gpu__time") else 1
            rows.append(_row(name, metric, simulated, counters[metric] / scale))
    shares = stall_shares(counters)
    for reason in sorted(shares, key=lambda reason: -shares[reason]):
        simulated = result.stalls.get(reason, 0.0)
        if max(simulated, shares[reason]) >= _LEAST_SHARE:
            rows.append(_row(f"stall {reason}", STALL_RATIO.format(reason), simulated, shares[reason], "share"))
    return tuple(rows)


def _row(what: str, source: str, simulated: float, measured: float, note: str = "") -> CheckRow:
    return CheckRow(what, source, simulated, measured, "exact" if simulated == measured else "approximate", note)
