"""Draws a metric of a sweep's points: as lines over one axis, or as a heat map over two."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from gpusim.errors import BadInput
from gpusim.report.style import FAINT, INK, LANE, MUTED, TILE_COLOURS, Canvas, sheet, title_block

SWEEP_METRICS: Final = {
    "tflops": "TFLOP/s",
    "cycles": "elapsed cycles",
    "active_cycles": "active cycles",
    "time_us": "time, us",
    "occupancy": "occupancy, share of warps",
    "bank_conflicts": "bank conflicts, wavefronts beyond the ideal",
    "bound_utilisation": "use of the busiest resource, share",
}
"""Metrics that can be drawn, and their labels."""

GREATER_IS_BETTER: Final = frozenset({"tflops", "occupancy", "bound_utilisation"})

MOST_LINES: Final = 15
"""Most lines of one chart. With more points, a line shows the best value over the other axes."""

_STYLES = ("-", "--", ":")
_SIZE = (8.6, 5.4)
_MOST_WRITTEN = 260


@dataclass(frozen=True, slots=True)
class SweptAxis:
    """
    An axis of a chart.

    Attributes:
        name: Name of the axis.
        keys: The keys that it sets, which are columns of the rows.
        values: The values of the keys at each position.
    """

    name: str
    keys: tuple[str, ...]
    values: tuple[tuple[Any, ...], ...]

    def position(self, row: Mapping[str, Any]) -> int:
        """Return the position of a row on the axis."""
        return self.values.index(tuple(row[key] for key in self.keys))

    @property
    def labels(self) -> list[str]:
        """The positions as text."""
        return [" ".join(str(value).replace(", ", "x").strip("[]") for value in values) for values in self.values]

    @property
    def numbers(self) -> list[float] | None:
        """The positions as numbers, if the axis has one key of numbers."""
        if len(self.keys) > 1 or not all(type(values[0]) in (int, float) for values in self.values):
            return None
        return [float(values[0]) for values in self.values]


def sweep_lines(
    axes: Sequence[SweptAxis], rows: Sequence[Mapping[str, Any]], metric: str, title: str, canvas: Canvas
) -> Canvas:
    """
    Draw a metric over the longest axis of numbers, with a line for each point of the other axes.

    If the other axes have more than ``MOST_LINES`` points, there is a line for each position of the first of them: the
    best over the rest.

    Args:
        axes: The axes of the sweep.
        rows: Points of the sweep, by column. A point without the metric is a gap.
        metric: A key of ``SWEEP_METRICS``.
        title: Title of the picture.
        canvas: The PNG or SVG file to write, or the figure to draw into.

    Raises:
        BadInput: There is no such metric, or no point has it.
    """
    _require(metric, rows)
    along = max(axes, key=lambda axis: (axis.numbers is not None, len(axis.values)))
    others = [axis for axis in axes if axis is not along]
    shown = others if np.prod([len(axis.values) for axis in others]) <= MOST_LINES else others[:1]
    lines = _best(rows, [*shown, along], metric)
    with sheet(canvas, *_SIZE) as figure:
        area = figure.add_axes((0.10, 0.13, 0.62 if shown else 0.86, 0.69))
        numbers = along.numbers or [float(at) for at in range(len(along.values))]
        order = np.argsort(numbers)
        for number, place in enumerate(sorted({key[:-1] for key in lines})):
            heights = np.array([lines.get((*place, at), np.nan) for at in range(len(numbers))])
            area.plot(
                np.array(numbers)[order],
                heights[order],
                marker="o",
                markersize=3.5,
                linewidth=1.5,
                linestyle=_STYLES[number // len(TILE_COLOURS) % len(_STYLES)],
                color=TILE_COLOURS[number % len(TILE_COLOURS)],
                label=", ".join(axis.labels[at] for axis, at in zip(shown, place, strict=True)),
            )
        if along.numbers is None:
            area.set_xticks(range(len(along.values)), along.labels, rotation=20, ha="right")
        else:
            area.xaxis.set_major_locator(MaxNLocator(integer=all(number.is_integer() for number in numbers)))
        area.set_ylim(bottom=0)
        _label(area, along.name, SWEEP_METRICS[metric])
        area.grid(visible=True, axis="y", color=FAINT, linewidth=0.5)
        if shown:
            area.legend(
                loc="upper left",
                bbox_to_anchor=(1.02, 1.0),
                fontsize=8,
                frameon=False,
                title=", ".join(axis.name for axis in shown),
                title_fontsize=8,
            )
        _describe(figure, title, rows, metric, [axis for axis in others if axis not in shown])
    return canvas


def sweep_map(
    axes: Sequence[SweptAxis], rows: Sequence[Mapping[str, Any]], metric: str, title: str, canvas: Canvas
) -> Canvas:
    """
    Draw a metric over the two longest axes as a heat map. Each cell has the best value over the other axes.

    Args:
        axes: The axes of the sweep.
        rows: Points of the sweep, by column. A cell is empty if all its points were refused.
        metric: A key of ``SWEEP_METRICS``.
        title: Title of the picture.
        canvas: The PNG or SVG file to write, or the figure to draw into.

    Raises:
        BadInput: The sweep has one axis, there is no such metric, or no point has it.
    """
    _require(metric, rows)
    if len(axes) < 2:
        raise BadInput(f"a heat map needs two axes, and the sweep has {axes[0].name} alone; draw its lines")
    ranked = sorted(axes, key=lambda axis: -len(axis.values))
    across, down = ranked[0], ranked[1]
    best = _best(rows, [down, across], metric)
    cells = np.full((len(down.values), len(across.values)), np.nan)
    for (row, column), value in best.items():
        cells[row, column] = value
    with sheet(canvas, *_SIZE) as figure:
        area = figure.add_axes((0.16, 0.16, 0.70, 0.66))
        area.set_facecolor(LANE)
        colours = "viridis" if metric in GREATER_IS_BETTER else "viridis_r"
        image = area.imshow(cells, aspect="auto", cmap=colours)
        area.set_xticks(range(len(across.values)), across.labels, rotation=20, ha="right")
        area.set_yticks(range(len(down.values)), down.labels)
        _label(area, across.name, down.name)
        if cells.size <= _MOST_WRITTEN:
            _write_cells(area, cells, metric)
        bar = figure.colorbar(image, cax=figure.add_axes((0.88, 0.16, 0.02, 0.66)))
        bar.set_label(SWEEP_METRICS[metric], fontsize=8.5, color=INK)
        bar.ax.tick_params(labelsize=8, labelcolor=MUTED, color=FAINT)
        _describe(figure, title, rows, metric, ranked[2:])
    return canvas


def _write_cells(area: Axes, cells: Any, metric: str) -> None:
    low, high = float(np.nanmin(cells)), float(np.nanmax(cells))
    for (row, column), value in np.ndenumerate(cells):
        if np.isnan(value):
            continue
        bright = (value - low) / ((high - low) or 1.0)
        light = bright > 0.55 if metric in GREATER_IS_BETTER else bright < 0.45
        text = f"{value:,.3g}" if value < 1000 else f"{value:,.0f}"
        area.text(column, row, text, ha="center", va="center", fontsize=7.5, color=INK if light else "white")


def _require(metric: str, rows: Sequence[Mapping[str, Any]]) -> None:
    if metric not in SWEEP_METRICS:
        raise BadInput(f"--metric must be one of {', '.join(SWEEP_METRICS)}, got {metric!r}")
    if all(row.get(metric) is None for row in rows):
        raise BadInput(f"no point has {metric} to draw: all {len(rows)} were refused")


def _best(rows: Sequence[Mapping[str, Any]], axes: Sequence[SweptAxis], metric: str) -> dict[tuple[int, ...], float]:
    """Return the best value over the other axes, at each position on ``axes``."""
    better = max if metric in GREATER_IS_BETTER else min
    found: dict[tuple[int, ...], float] = {}
    for row in rows:
        value = row.get(metric)
        if value is not None:
            place = tuple(axis.position(row) for axis in axes)
            found[place] = better(found.get(place, float(value)), float(value))
    return found


def _label(area: Axes, x: str, y: str) -> None:
    area.set_xlabel(x, fontsize=9.5, color=INK)
    area.set_ylabel(y, fontsize=9.5, color=INK)
    area.tick_params(labelsize=8, color=FAINT, labelcolor=MUTED)
    for side in ("top", "right"):
        area.spines[side].set_visible(False)


def _describe(
    figure: Figure, title: str, rows: Sequence[Mapping[str, Any]], metric: str, hidden: Sequence[SweptAxis]
) -> None:
    refused = sum(row.get(metric) is None for row in rows)
    caption = f"{len(rows)} points, {refused} refused"
    lines = [SWEEP_METRICS[metric]]
    if hidden:
        lines.append(f"the best over {', '.join(axis.name for axis in hidden)}")
    title_block(figure, title, lines, caption)
