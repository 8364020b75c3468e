"""Draws simulated over measured cycles of many kernels, on two logarithmic axes, a point for each kernel."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes

from gpusim.report.style import FAINT, INK, MUTED, TILE_COLOURS, sheet, title_block

_SIZE = 7.4
_MARKERS = "os^Dv"
_BAND = 0.1


class CorrelationPoint(NamedTuple):
    """One kernel: its group in the legend, and its cycles, measured and simulated."""

    group: str
    measured: float
    simulated: float


def correlation(points: Sequence[CorrelationPoint], title: str, lines: Sequence[str], path: Path) -> Path:
    """
    Draw the points as PNG, with the line of equality and a band of ten percent on either side.

    Args:
        points: Kernels, at least one. Cycles are above 0.
        title: Title of the picture.
        lines: Further lines below it.
        path: The file.
    """
    cycles = [value for point in points for value in point[1:]]
    low, high = min(cycles) / 1.4, max(cycles) * 1.4
    with sheet(path, _SIZE, _SIZE) as figure:
        axes = figure.add_axes((0.13, 0.11, 0.83, 0.76))
        _prepare(axes, low, high)
        for number, (group, own) in enumerate(_by_group(points).items()):
            axes.scatter(
                [point.measured for point in own],
                [point.simulated for point in own],
                s=22,
                marker=_MARKERS[number // len(TILE_COLOURS) % len(_MARKERS)],
                color=TILE_COLOURS[number % len(TILE_COLOURS)],
                edgecolors="white",
                linewidths=0.4,
                label=f"{group} ({len(own)})",
                zorder=3,
            )
        axes.legend(loc="upper left", fontsize=8.5, frameon=False)
        logs = np.log([[point.measured, point.simulated] for point in points])
        mean = float(np.mean(np.abs(np.expm1(logs[:, 1] - logs[:, 0]))))
        title_block(figure, title, lines, f"{len(points)} kernels; mean absolute error {100 * mean:.1f} %; band 10 %")
    return path


def _by_group(points: Sequence[CorrelationPoint]) -> Mapping[str, list[CorrelationPoint]]:
    groups: dict[str, list[CorrelationPoint]] = {}
    for point in sorted(points):
        groups.setdefault(point.group, []).append(point)
    return groups


def _prepare(axes: Axes, low: float, high: float) -> None:
    ends = np.array([low, high])
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlim(low, high)
    axes.set_ylim(low, high)
    axes.fill_between(ends, ends * (1 - _BAND), ends * (1 + _BAND), color=FAINT, alpha=0.45, linewidth=0, zorder=1)
    axes.plot(ends, ends, color=INK, linewidth=1, zorder=2)
    axes.set_xlabel("measured cycles", fontsize=10, color=INK)
    axes.set_ylabel("simulated cycles", fontsize=10, color=INK)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes.tick_params(which="both", labelsize=8.5, color=FAINT, labelcolor=MUTED)
    axes.grid(visible=True, which="major", color=FAINT, linewidth=0.5)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
