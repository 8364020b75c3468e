"""Says in one line why one configuration is faster than another, from the figures of both."""

from collections.abc import Mapping
from typing import Any

from gpusim.verbs.sweeping.point import STALL_COLUMNS

_ALIKE = 0.005
_NOTABLE = 0.01

_WAITS = {
    "wait": "for fixed latencies",
    "short_scoreboard": "for shared memory",
    "long_scoreboard": "for global memory",
    "barrier": "at barriers",
    "math_pipe_throttle": "for busy tensor cores",
    "mio_throttle": "for the queue to shared memory",
    "lg_throttle": "for the queue to L1",
    "not_selected": "for their turn to issue",
    "no_instruction": "for instructions",
    "imc_miss": "for constants",
    "branch_resolving": "for branches",
    "drain": "for stores to drain",
    "sleeping": "asleep",
}


def why_faster(
    first: Mapping[str, Any], second: Mapping[str, Any], least: tuple[Mapping[str, int], Mapping[str, int]]
) -> str:
    """
    Return one line with a configuration's lead over another, and the largest reason.

    Args:
        first: Figures of the faster configuration (``point.figures_of``).
        second: Figures of the slower configuration.
        least: The fewest cycles of each resource, for both configurations.
    """
    gain = second["cycles"] / first["cycles"] - 1
    if gain < _ALIKE:
        return f"as fast as the next, within {100 * gain:.1f} %"
    return f"{100 * gain:.1f} % faster than the next: {_explanation(first, second, least)}"


def _explanation(
    first: Mapping[str, Any], second: Mapping[str, Any], least: tuple[Mapping[str, int], Mapping[str, int]]
) -> str:
    saved = second["cycles"] - first["cycles"]
    work = least[1]["tensor core"] - least[0]["tensor core"]
    found = [(float(work), _work(first, second, least))] if work > 0 else []
    for reason, column in STALL_COLUMNS.items():
        if reason in _WAITS:
            mine, others = (row[column] * row["active_cycles"] for row in (first, second))
            shares = f"{100 * first[column]:.0f} % of their cycles, not {100 * second[column]:.0f} %"
            found.append((others - mine, f"its warps wait less {_WAITS[reason]} ({shares})"))
    largest, words = max(found)
    if largest < _NOTABLE * saved:
        words = f"it spends {first['active_cycles']:,} cycles on the SMs, not {second['active_cycles']:,}"
    if first["ctas_per_sm"] != second["ctas_per_sm"]:
        words += f"; {_ctas(first['ctas_per_sm'])} on an SM, not {second['ctas_per_sm']}"
    return words


def _work(
    first: Mapping[str, Any], second: Mapping[str, Any], least: tuple[Mapping[str, int], Mapping[str, int]]
) -> str:
    mine, others = (one["tensor core"] for one in least)
    waves = f" in {first['waves']:g} waves, not {second['waves']:g}" if first["waves"] != second["waves"] else ""
    return f"the SM with most CTAs multiplies for {mine:,} cycles at least, not {others:,}{waves}"


def _ctas(number: int) -> str:
    return "1 CTA" if number == 1 else f"{number} CTAs"
