"""Draws simulated runs together: their pipelines on one axis of cycles, their stalls on one axis of shares."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from matplotlib.axes import Axes
from matplotlib.ticker import StrMethodFormatter

from gpusim.errors import CannotRun
from gpusim.report.captions import footer
from gpusim.report.stall_shares import percent
from gpusim.report.style import FAINT, HATCH, LANE, PAPER, TILE_COLOURS, WAIT, sheet, tile_colour, tint, title_block
from gpusim.results.result import Result

_WIDTH, _LEFT, _RIGHT, _TOP, _BOTTOM, _GAP = 14.0, 2.2, 0.9, 0.95, 0.45, 0.65
_LANE, _BETWEEN, _BAR = 0.24, 0.22, 0.17

LEAST_DRAWN: Final = 0.01
"""Least share of a stall reason, in any run, that is drawn."""

_ROOM: Final = 1.15
"""Extent of the axis of shares: all warp cycles, and space for a name beside the longest bar."""

_KEY: Final = (
    "Above, the k tiles of one CTA of each run: copies in flight (hatched), waits, MMA. "
    "Below, shares of all warp cycles."
)

RUN_HATCHES: Final = ("", "////", "xxxx", "....", "----")
"""Hatches of the runs, which are distinct without colour."""

_LANES: Final = ("copies", "waits", "MMA")


def comparison_chart(runs: Sequence[tuple[str, Result]], path: Path) -> Path:
    """
    Draw the k tiles of one CTA of each run over the same cycles, and the stall shares of all runs, as PNG.

    Args:
        runs: Name and result of each run.
        path: File to write.

    Raises:
        CannotRun: No run has a pipeline.
    """
    drawn = [(name, result) for name, result in runs if result.pipeline]
    if not drawn:
        raise CannotRun("no side has a simulated pipeline to draw")
    reasons = _reasons([result for _, result in runs])
    pipelines = len(drawn) * (len(_LANES) * _LANE + _BETWEEN)
    bars = len(reasons) * (len(runs) * _BAR + 0.5 * _BAR)
    height = _TOP + pipelines + _GAP + bars + _BOTTOM
    with sheet(path, _WIDTH, height) as figure:
        across = (_WIDTH - _LEFT - _RIGHT) / _WIDTH
        upper = figure.add_axes((_LEFT / _WIDTH, 1 - (_TOP + pipelines) / height, across, pipelines / height))
        lower = figure.add_axes((_LEFT / _WIDTH, _BOTTOM / height, across, bars / height))
        _draw_pipelines(upper, drawn)
        _draw_stalls(lower, runs, reasons)
        lines = ["  ·  ".join(f"{name}: {result.cycles.elapsed:,} cycles" for name, result in runs), _KEY]
        title_block(figure, _said(runs), lines, footer(runs[0][1]))
    return path


def _said(runs: Sequence[tuple[str, Result]]) -> str:
    """Return the fastest run and its lead, in words."""
    ranked = sorted(runs, key=lambda run: run[1].cycles.elapsed)
    (fast, first), (slow, last) = ranked[0], ranked[-1]
    times = last.cycles.elapsed / first.cycles.elapsed
    return f"{fast} is {times:.2f} times as fast as {slow}" if times > 1 else f"{fast} and {slow} take equally long"


def _draw_pipelines(axes: Axes, runs: Sequence[tuple[str, Result]]) -> None:
    ticks, labels = [], []
    top = 0.0
    for name, result in runs:
        for number, lane in enumerate(_LANES):
            y = top + number * _LANE
            ticks.append(y + _LANE / 2)
            labels.append(f"{name}  {lane}" if number == 0 else lane)
            for row in result.pipeline:
                begin, end = {
                    "copies": (row.copy_issue, row.wait_end if row.copy_done is None else row.copy_done),
                    "waits": (row.wait_begin, row.wait_end),
                    "MMA": (row.mma_begin, row.mma_end),
                }[lane]
                colour = WAIT if lane == "waits" else tile_colour(row.k_tile)
                face, hatch = (tint(colour, 0.28), HATCH) if lane == "copies" else (colour, None)
                edge = colour if hatch else "none" if lane == "waits" else PAPER
                span, across = (begin, max(1, end - begin)), (y + 0.02, _LANE - 0.04)
                axes.broken_barh([span], across, facecolor=face, hatch=hatch, edgecolor=edge, linewidth=0.5)
        top += len(_LANES) * _LANE + _BETWEEN
    axes.set_ylim(top, -_BETWEEN / 2)
    axes.set_xlim(0, max(row.mma_end for _, result in runs for row in result.pipeline) * 1.01)
    axes.set_yticks(ticks, labels)
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    axes.tick_params(axis="x", length=3, labelsize=8, color=FAINT)
    axes.set_xlabel("cycles from the CTA's start", fontsize=8.5)
    _plain(axes)


def _draw_stalls(axes: Axes, runs: Sequence[tuple[str, Result]], reasons: Sequence[str]) -> None:
    step = len(runs) * _BAR + 0.5 * _BAR
    for number, reason in enumerate(reasons):
        for place, (name, result) in enumerate(runs):
            share = result.stalls.get(reason, 0.0)
            y = number * step + place * _BAR
            axes.barh(y, 1, _BAR * 0.85, color=LANE, align="edge")
            colour, hatch = TILE_COLOURS[place % len(TILE_COLOURS)], RUN_HATCHES[place % len(RUN_HATCHES)]
            style: Any = {"color": colour, "hatch": hatch, "edgecolor": PAPER, "linewidth": 0}
            axes.barh(y, share, _BAR * 0.85, align="edge", **style)
            text = f"{percent(share)}  {name}"
            axes.text(share + 0.005, y + _BAR * 0.45, text, fontsize=7.5, va="center_baseline")
    axes.set_ylim(len(reasons) * step, -0.5 * _BAR)
    axes.set_xlim(0, _ROOM)
    axes.set_yticks([number * step + len(runs) * _BAR / 2 for number in range(len(reasons))], list(reasons))
    axes.set_xticks([])
    _plain(axes)


def _plain(axes: Axes) -> None:
    axes.tick_params(axis="y", length=0, labelsize=8.5)
    for side, spine in axes.spines.items():
        spine.set_visible(side == "left")
        spine.set_color(FAINT)


def _reasons(results: Sequence[Result]) -> list[str]:
    """Return the stall reasons that are drawn, the largest of any run first."""
    most: dict[str, float] = {}
    for result in results:
        for reason, share in result.stalls.items():
            most[reason] = max(share, most.get(reason, 0.0))
    return sorted(
        (reason for reason in most if most[reason] >= LEAST_DRAWN), key=lambda reason: (-most[reason], reason)
    )
