"""Writes reports/explain.md: how often ``explain`` is right about the bound and about gains, with every row."""

from collections.abc import Iterator, Sequence
from typing import Final

from gpusim.lab.explain_check.chosen import PAIR_KEYS, SAME_WITHIN
from gpusim.lab.explain_check.compared import WITHIN_POINTS, BoundRow, GainRow
from gpusim.lab.explain_check.truth import LEAST_PERCENT, STALL_RESOURCES, THROUGHPUTS

BOUND_BAR: Final = 90.0
SIGN_BAR: Final = 95.0
NEAR_BAR: Final = 80.0
"""Bars: least shares of right rows, per cent."""


def share(right: int, all_: int) -> float:
    """Return a share, per cent."""
    return 100 * right / all_ if all_ else 0.0


def page(bounds: Sequence[BoundRow], gains: Sequence[GainRow]) -> str:
    """Return the page as Markdown."""
    return "\n".join([*_head(bounds, gains), *_truth(), *_bound_table(bounds), *_gain_table(gains)]) + "\n"


def _head(bounds: Sequence[BoundRow], gains: Sequence[GainRow]) -> Iterator[str]:
    yield "# Is `gpusim explain` right?"
    yield ""
    yield "`python -m gpusim.lab.explain_check` wrote this page, from development records of the H200 alone."
    yield ""
    yield "| what | right | of | % | bar |"
    yield "|---|---:|---:|---:|---:|"
    for what, right, count, bar in (
        ("bound", sum(row.right for row in bounds), len(bounds), BOUND_BAR),
        ("sign of a gain", sum(row.sign_right for row in gains), len(gains), SIGN_BAR),
        (f"gain within {WITHIN_POINTS:.0f} points", sum(row.near for row in gains), len(gains), NEAR_BAR),
    ):
        yield f"| {what} | {right} | {count} | {share(right, count):.0f} | {bar:.0f} |"
    yield ""
    for what in PAIR_KEYS:
        own = [row for row in gains if row.what == what]
        signs, near = sum(row.sign_right for row in own), sum(row.near for row in own)
        yield f"- {what}: {len(own)} pairs, {signs} signs right, {near} within {WITHIN_POINTS:.0f} points"
    yield ""


def _truth() -> Iterator[str]:
    yield "## What is true"
    yield ""
    yield (
        f"The resource of the highest measured throughput if that is at least {LEAST_PERCENT:.0f} % of the peak, over "
        "all SMs and all elapsed cycles; else that of the largest stall reason. Both tables were committed before the "
        "first comparison (`gpusim/lab/explain_check/truth.py`). One rule was changed since: the L2's use is of "
        "the launch's time, as DRAM's, because its clock is its own (D25); before, it was of cycles at the SMs' full "
        "clock."
    )
    yield ""
    yield "| ncu's metric | resource |"
    yield "|---|---|"
    for resource, _, metrics in THROUGHPUTS:
        yield f"| {', '.join(f'`{metric}`' for metric in metrics)} | {resource} |"
    for reason, resource in STALL_RESOURCES.items():
        yield f"| stall `{reason}` | {resource} |"
    yield ""
    yield (
        "Gains are elapsed cycles saved, per cent of the slower one's: a pair has no direction of its own. Two "
        f"gains below {SAME_WITHIN:.0f} point either way have the same sign: neither."
    )
    yield ""


def _bound_table(bounds: Sequence[BoundRow]) -> Iterator[str]:
    yield "## Bounds"
    yield ""
    yield "| record | stream | measured | % | next | % | explained | % | |"
    yield "|---|---|---|---:|---|---:|---|---:|---|"
    for row in bounds:
        true, said = row.measured, row.simulated
        yield (
            f"| {row.name} | {row.stream} | {_named(true.resource, true.reason)} | {true.percent:.0f} | "
            f"{true.runner_up} | {true.runner_up_percent:.0f} | {_named(said.resource, said.reason)} | "
            f"{said.percent:.0f} | {'' if row.right else 'wrong'} |"
        )
    yield ""


def _gain_table(gains: Sequence[GainRow]) -> Iterator[str]:
    yield "## Gains"
    yield ""
    yield "| differ in | from | to | measured gain % | simulated gain % | |"
    yield "|---|---|---|---:|---:|---|"
    for row in gains:
        wrong = "" if row.sign_right and row.near else "sign wrong" if not row.sign_right else "far"
        yield f"| {row.what} | {row.before} | {row.after} | {row.measured:.1f} | {row.simulated:.1f} | {wrong} |"
    yield ""


def _named(resource: str, reason: str) -> str:
    return f"{resource} ({reason})" if reason else resource
