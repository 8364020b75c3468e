"""The metrics of a kernel of the user's own that a baseline keeps, and by how much each may become worse."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from gpusim.errors import BadInput, nearest
from gpusim.results.kernel_result import KernelResult
from gpusim.scenario.text import shown


@dataclass(frozen=True, slots=True)
class PerfMetric:
    """
    A metric of a launch.

    Attributes:
        title: Its name in a table.
        value: Its value in an answer.
        threshold: Percent by which it may be worse, if nobody states another.
        worse: Whether more or less of it is worse.
    """

    title: str
    value: Callable[[KernelResult], int]
    threshold: float
    worse: Literal["more", "less"] = "more"


PERF_METRICS: Final[Mapping[str, PerfMetric]] = {
    "cycles": PerfMetric("cycles", lambda one: one.cycles.elapsed, 3.0),
    "registers": PerfMetric("registers per thread", lambda one: one.registers_per_thread, 10.0),
    "ctas_per_sm": PerfMetric("CTAs per SM", lambda one: one.ctas_per_sm, 0.0, worse="less"),
    "conflicts": PerfMetric("bank conflicts, wavefronts", lambda one: one.total("conflicts"), 5.0),
    "sectors": PerfMetric("sectors of global memory", lambda one: one.total("sectors"), 5.0),
    "instructions": PerfMetric("warp instructions", lambda one: one.warp_instructions, 5.0),
}
"""Every metric by its name in a baseline. The help of ``--threshold`` and docs/own-kernels-perf.md state thresholds."""


def metrics_of(result: KernelResult) -> dict[str, int]:
    """Return every metric of an answer by name."""
    return {name: metric.value(result) for name, metric in PERF_METRICS.items()}


def threshold_of(name: str, value: Any, where: str) -> float:
    """
    Check a threshold, and return it in percent; infinity switches the metric off.

    Raises:
        BadInput: There is no such metric, or the value is no number of at least 0.
    """
    if name not in PERF_METRICS:
        near = nearest(name, PERF_METRICS)
        hint = f"did you mean {near}?" if near else f"allowed: {', '.join(PERF_METRICS)}"
        raise BadInput(f"unknown metric {name}, {hint} ({where})")
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or math.isnan(value) or value < 0:
        raise BadInput(f"a threshold must be a number of percent of at least 0, or inf, got {shown(value)} ({where})")
    return float(value)
