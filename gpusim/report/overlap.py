"""Draws the stage-overlap chart: the filling and reading of ring slots over time, and the waits of a warp."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator, StrMethodFormatter

from gpusim.errors import CannotRun
from gpusim.report import style
from gpusim.report.captions import Words, footer, headline, stages
from gpusim.report.pipeline import TensorUse, WarpPipeline, from_rows, from_timeline, tensor_use
from gpusim.results.result import PipelineRow, Result
from gpusim.results.timeline import Timeline

WHOLE_LIMIT = 14
"""Largest number of k tiles drawn in one panel. A longer mainloop is drawn at both ends."""

WIDTH = 14.0
LEFT, RIGHT, TOP, BOTTOM, _GAP = 1.55, 0.25, 1.12, 0.72, 0.62
LINE = 0.19
_STRIP, _STAGE, _WAITS, _LOADS, _MMA, _SPACE, GROUP_GAP = 0.26, 0.50, 0.30, 0.60, 0.50, 0.10, 0.28


@dataclass(frozen=True, slots=True)
class ChartLane:
    """
    One row of the chart.

    Attributes:
        kind: Key of the row.
        name: Name beside the row.
        note: Second line of the name.
        top: Inches from the top of the axes to the row.
        height: Height of the row, inches.
    """

    kind: str
    name: str
    note: str
    top: float
    height: float

    @property
    def middle(self) -> float:
        """Inches from the top of the axes to the middle of the row."""
        return self.top + self.height / 2

    @property
    def bottom(self) -> float:
        """Inches from the top of the axes to the bottom of the row."""
        return self.top + self.height


@dataclass(frozen=True, slots=True)
class Panel:
    """Axes that show the cycles [begin, end). y counts inches downwards."""

    axes: Axes
    begin: int
    end: int
    cycles_per_inch: float

    def box(self, begin: int, end: int, top: float, height: float, colour: str, **look: Any) -> None:
        """Draw the part of a box inside the panel. x is in cycles, ``top`` and ``height`` are in inches."""
        if max(begin, self.begin) < min(end, self.end):
            self.axes.broken_barh([(begin, end - begin)], (top, height), facecolor=colour, **look)

    def label(
        self, span: tuple[int, int], y: float, words: Sequence[str], colour: str, *, size: float, **look: Any
    ) -> None:
        """Write the first of ``words`` that fits between two cycles, in the middle of the drawn part."""
        begin, end = max(span[0], self.begin), min(span[1], self.end)
        room = (end - begin) / self.cycles_per_inch
        for text in words:
            if style.fits(text, size, room):
                centre = (begin + end) / 2
                self.axes.text(centre, y, text, color=colour, fontsize=size, ha="center", va="center_baseline", **look)
                return


def overlap_chart(
    result: Result,
    words: Words,
    timeline: Timeline | None,
    canvas: style.Canvas,
    measured: Sequence[PipelineRow] | None = None,
    *,
    through_registers: bool = False,
    group_cycles: int | None = None,
) -> style.Canvas:
    """
    Draw the k tiles of warp 0 of CTA 0.

    The chart has one row for each slot of the shared-memory ring. A slot is hatched while copies are in flight (or a
    k tile passes through registers), a line once the data has landed, and solid while fragment loads read it. Below are
    the waits, the fragment loads by k group, and the MMA bursts by k tile. A k tile has the same colour and number in
    every row. The filled height of an MMA burst is the use of the tensor core in it. With more than ``WHOLE_LIMIT``
    k tiles, the first and the last ones are drawn in two panels of equal scale.

    Args:
        result: The run, which has the pipeline rows.
        words: Description of its scenario.
        timeline: Spans of the run; None draws from ``result.pipeline`` alone, without fragment loads.
        canvas: The file to write, or the figure to draw into.
        measured: Pipeline rows recorded on hardware, drawn above the simulated ones on the same axis.
        through_registers: Whether k tiles are copied by global loads and stores instead of cp.async.
        group_cycles: Cycles that the MMAs of one warp's k group occupy the tensor core; None fills all bursts.

    Raises:
        CannotRun: The result has no pipeline rows.
    """
    if not result.pipeline:
        raise CannotRun("the overlap chart needs pipeline rows, and the result has none")
    simulated = from_timeline(timeline, result.pipeline) if timeline else from_rows(result.pipeline)
    groups = [("simulated", simulated)]
    if measured:
        groups.insert(0, ("measured", from_rows(measured)))
    ring = stages(result)
    lanes, bottom = [], 0.0
    for _, pipeline in groups:
        lanes.append(
            _lanes(pipeline, ring, bottom, "stores + barrier" if through_registers else "wait_group + barrier")
        )
        bottom = lanes[-1][-1].bottom + GROUP_GAP
    body = bottom - GROUP_GAP
    windows = common_windows(pipeline.windows(WHOLE_LIMIT) for _, pipeline in groups)
    uses = {"simulated": tensor_use(timeline, {"mma": group_cycles})} if timeline and group_cycles else {}
    above = TOP + LINE * (len(groups) - 1)
    with style.sheet(canvas, WIDTH, above + body + BOTTOM) as figure:
        panels = panels_of(figure, windows, body, above)
        for (name, pipeline), rows in zip(groups, lanes, strict=True):
            for panel in panels:
                _draw(panel, pipeline, rows, ring, uses.get(name))
            name_lanes(panels[0], rows, name if measured else "")
        _break_note(figure, panels, simulated)
        unobserved = any(fill.landed is None for _, pipeline in groups for fill in pipeline.fills)
        filling = "global loads in flight, then stores" if through_registers else "copies in flight"
        _legend(figure, filling, loads=bool(simulated.loads), unobserved=unobserved)
        shown = f"{ring} stages, {simulated.k_tiles} k tiles, warp 0 of CTA 0"
        paces = [f"{name}: " * bool(measured) + _pace(pipeline, ring) for name, pipeline in groups]
        key = _key(shown, used=bool(uses), ticks=bool(simulated.loads))
        lines = [f"{words.problem}; {words.kernel}", *paces, key]
        style.title_block(figure, headline(words, words.verdict or f"Stage overlap: {shown}"), lines, footer(result))
    return canvas


def _lanes(pipeline: WarpPipeline, ring: int, top: float, waited_for: str) -> list[ChartLane]:
    kinds = [("phases", "", "", _STRIP)]
    kinds += [(f"stage {slot}", f"stage {slot}", "shared-memory slot", _STAGE) for slot in range(ring)]
    kinds.append(("waits", "waits", waited_for, _WAITS))
    if pipeline.loads:
        kinds.append(("loads", "fragment loads", "ldmatrix, by k group", _LOADS))
    kinds.append(("mma", "MMA", "by k tile" + (" and k group" if pipeline.loads else ""), _MMA))
    return stacked(kinds, top)


def stacked(kinds: Iterable[tuple[str, str, str, float]], top: float = 0.0) -> list[ChartLane]:
    """Return lanes one below the other, from ``top`` inches on. Each is given as kind, name, note and height."""
    lanes = []
    for kind, name, note, height in kinds:
        lanes.append(ChartLane(kind, name, note, top, height))
        top += height + _SPACE
    return lanes


def common_windows(windows: Iterable[Sequence[tuple[int, int]]]) -> list[tuple[int, int]]:
    """Return windows of cycles that contain the windows of every pipeline. Overlapping windows are joined."""
    joined: list[tuple[int, int]] = []
    for parts in zip(*windows, strict=True):
        begin, end = min(part[0] for part in parts), max(part[1] for part in parts)
        if joined and begin <= joined[-1][1]:
            begin = joined.pop()[0]
        joined.append((begin, end))
    return joined


def panels_of(figure: Figure, windows: Sequence[tuple[int, int]], body: float, above: float = TOP) -> list[Panel]:
    """
    Return axes side by side for windows of cycles, with one scale.

    Args:
        figure: The figure.
        windows: First cycle and one past the last of each.
        body: Height of the axes, inches.
        above: Inches above them.
    """
    room = WIDTH - LEFT - RIGHT - _GAP * (len(windows) - 1)
    scale = sum(end - begin for begin, end in windows) / room
    height = above + body + BOTTOM
    panels, left = [], LEFT
    for begin, end in windows:
        width = (end - begin) / scale
        axes = figure.add_axes((left / WIDTH, BOTTOM / height, width / WIDTH, body / height))
        axes.set_xlim(begin, end)
        axes.set_ylim(body, 0)
        axes.set_yticks([])
        for side in ("top", "left", "right"):
            axes.spines[side].set_visible(False)
        axes.tick_params(axis="x", length=3, labelsize=8, color=style.FAINT)
        axes.xaxis.set_major_locator(MaxNLocator(nbins=max(2, int(width * 1.1)), integer=True))
        axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
        panels.append(Panel(axes, begin, end, scale))
        left += width + _GAP
    figure.text(LEFT / WIDTH, 0.36 / height, "cycles from the start of the CTA", fontsize=8.5, va="center")
    return panels


def _draw(panel: Panel, pipeline: WarpPipeline, lanes: Sequence[ChartLane], ring: int, use: TensorUse | None) -> None:
    rows = {lane.kind: lane for lane in lanes}
    for lane in lanes[1:]:
        panel.box(panel.begin, panel.end, lane.top, lane.height, style.LANE, zorder=0)
    _draw_phases(panel, pipeline, rows["phases"], lanes[-1].bottom, ring)
    for wait in pipeline.waits:
        words = (f"{wait.end - wait.begin:,} cycles", f"{wait.end - wait.begin:,}")
        draw_wait(panel, (wait.begin, wait.end), words, rows["waits"], (rows["stage 0"].top, lanes[-1].bottom))
    _draw_stages(panel, pipeline, rows)
    _draw_loads(panel, pipeline, rows)
    _draw_mma(panel, pipeline, rows["mma"], use)


def draw_wait(
    panel: Panel, span: tuple[int, int], words: Sequence[str], lane: ChartLane, extent: tuple[float, float]
) -> None:
    """Draw a wait in its own lane, with the first of ``words`` that fits, and as a tint from a top to a bottom."""
    panel.box(*span, extent[0], extent[1] - extent[0], style.WAIT, alpha=0.13, zorder=0.5)
    panel.box(*span, lane.top, lane.height, style.WAIT, zorder=2)
    panel.label(
        span, lane.middle, words, style.INK, size=8, bbox={"facecolor": style.PAPER, "edgecolor": "none", "pad": 0.8}
    )


def _draw_mma(panel: Panel, pipeline: WarpPipeline, lane: ChartLane, use: TensorUse | None) -> None:
    """
    Draw the MMA bursts of each k tile, with a notch at each k group and the number on the longest burst.

    The filled height of a burst is the use of the tensor core in it; a label states it if it fits.
    """
    for k_tile, runs in pipeline.mma_runs(gap=round(0.06 * panel.cycles_per_inch)).items():
        for begin, end in runs:
            draw_used(panel, (begin, end), lane, style.tile_colour(k_tile), use)
        longest = max(runs, key=lambda run: min(run[1], panel.end) - max(run[0], panel.begin))
        name_used(panel, longest, lane, k_tile, use)
    notches = [burst.begin for burst in pipeline.mma if panel.begin < burst.begin < panel.end and burst.k_group >= 0]
    panel.axes.vlines(notches, lane.bottom - 0.14, lane.bottom, color=style.PAPER, linewidth=1.8, zorder=3)
    panel.axes.vlines(notches, lane.bottom - 0.14, lane.bottom, color=style.INK, linewidth=0.6, zorder=3.1)


def draw_used(panel: Panel, span: tuple[int, int], lane: ChartLane, colour: str, use: TensorUse | None) -> None:
    """Draw a box whose filled height is the use of the tensor core between two cycles; filled if that is unknown."""
    filled = 1.0 if use is None else use.share(*span)
    panel.box(*span, lane.top, lane.height, style.tint(colour, 0.28), edgecolor=style.PAPER, linewidth=0.7, zorder=2)
    panel.box(*span, lane.bottom - filled * lane.height, filled * lane.height, colour, zorder=2.1)


def name_used(panel: Panel, span: tuple[int, int], lane: ChartLane, tile: int, use: TensorUse | None) -> None:
    """Write the number of a k tile or key block into its box, with the use of the tensor core if it fits."""
    words = (str(tile),) if use is None else (f"{tile}: {100 * use.share(*span):.0f} %", str(tile))
    backing = {"facecolor": style.PAPER, "edgecolor": "none", "pad": 0.9}
    panel.label(span, lane.middle - 0.04, words, style.INK, size=9, fontweight="bold", bbox=backing, zorder=4)


def _draw_phases(panel: Panel, pipeline: WarpPipeline, lane: ChartLane, bottom: float, ring: int) -> None:
    phases = pipeline.phases(ring)
    spans = (
        ("prologue", 0, phases.mainloop),
        ("mainloop", phases.mainloop, phases.drain),
        ("drain", phases.drain, phases.end),
    )
    for number, (name, begin, end) in enumerate(spans):
        panel.box(begin, end, lane.top, lane.height, style.PHASE[number], edgecolor=style.PAPER, linewidth=1, zorder=1)
        panel.label((begin, end), lane.middle, (name,), style.INK, size=8.5, fontweight="bold")
        if number and panel.begin <= begin <= panel.end:
            panel.axes.plot(
                [begin, begin], [lane.top, bottom], color=style.INK, linewidth=0.9, linestyle=(0, (4, 3)), zorder=4
            )


def _draw_stages(panel: Panel, pipeline: WarpPipeline, rows: dict[str, ChartLane]) -> None:
    for fill in pipeline.fills:
        lane = rows[f"stage {fill.stage}"]
        colour = style.tile_colour(fill.k_tile)
        landed = fill.wait_end if fill.landed is None else fill.landed
        paper = style.tint(colour, 0.28)
        panel.box(
            *(fill.issue, landed, lane.top, lane.height, paper),
            edgecolor=colour,
            hatch="////",
            linewidth=0.8,
            linestyle="--" if fill.landed is None else "-",
            zorder=1.5,
        )
        panel.box(landed, fill.read_begin, lane.middle - 0.03, 0.06, colour, zorder=1.6)
        panel.box(fill.read_begin, fill.read_end, lane.top, lane.height, colour, zorder=2)
        name, bold = (str(fill.k_tile),), "bold"
        backing = {"facecolor": paper, "edgecolor": "none", "pad": 1.2}
        panel.label((fill.issue, landed), lane.middle, name, style.INK, size=10, fontweight=bold, bbox=backing)
        panel.label(
            (fill.read_begin, fill.read_end), lane.middle, name, style.text_on(colour), size=10, fontweight=bold
        )


def _draw_loads(panel: Panel, pipeline: WarpPipeline, rows: dict[str, ChartLane]) -> None:
    if not pipeline.loads:
        return
    lane = rows["loads"]
    groups = 1 + max(load.k_group for load in pipeline.loads)
    pitch = lane.height / groups
    for load in pipeline.loads:
        top = lane.top + max(load.k_group, 0) * pitch
        panel.box(load.begin, load.end, top + 0.01, pitch - 0.02, style.tile_colour(load.k_tile), zorder=2)


def name_lanes(panel: Panel, lanes: Sequence[ChartLane], group: str) -> None:
    """Write the names of the rows left of the first panel, and the name of their group, if any, at the far left."""
    per_inch = panel.cycles_per_inch
    for lane in lanes[1:]:
        x = panel.begin - 0.12 * per_inch
        panel.axes.text(x, lane.middle - 0.075, lane.name, fontsize=9, fontweight="bold", ha="right", va="center")
        panel.axes.text(x, lane.middle + 0.085, lane.note, fontsize=7, color=style.MUTED, ha="right", va="center")
    if group:
        x = panel.begin - (LEFT - 0.18) * per_inch
        panel.axes.text(x, lanes[0].middle, group, fontsize=10.5, fontweight="bold", ha="left", va="center")


def _break_note(figure: Figure, panels: Sequence[Panel], pipeline: WarpPipeline) -> None:
    """Write the omitted k tiles between two panels."""
    extents = pipeline.tile_extents()
    for before, after in pairwise(panels):
        hidden = [tile for tile, (begin, end) in extents.items() if begin >= before.end and end <= after.begin]
        break_note(figure, before, after, f"k tiles {hidden[0]} to {hidden[-1]} left out" if hidden else "left out")


def break_note(figure: Figure, before: Panel, after: Panel, text: str) -> None:
    """Write a text about the omitted part between two panels."""
    left, right = before.axes.get_position(), after.axes.get_position()
    x, y = (left.x1 + right.x0) / 2, (left.y0 + left.y1) / 2
    figure.text(x, y, f"⋯  {text}  ⋯", rotation=90, fontsize=8.5, color=style.MUTED, ha="center", va="center")


def _legend(figure: Figure, filling: str, *, loads: bool, unobserved: bool) -> None:
    sample = style.tile_colour(0)
    between: list[Artist] = [Line2D([], [], color=sample, linewidth=3, label="landed")]
    if unobserved:
        words = "landing not observed: drawn to the wait's end"
        between.insert(0, Patch(facecolor=style.tint(sample, 0.28), edgecolor=sample, linestyle="--", label=words))
    legend(figure, filling, "read by fragment loads" if loads else "read (MMA of the k tile)", between)


def legend(figure: Figure, hatched: str, solid: str, between: Sequence[Artist] = ()) -> None:
    """Explain hatched and solid boxes, other samples and waits: one line under the chart, at its right edge."""
    sample = style.tile_colour(0)
    handles: list[Artist] = [
        Patch(facecolor=style.tint(sample, 0.28), edgecolor=sample, hatch="////", label=hatched),
        *between,
        Patch(facecolor=sample, label=solid),
        Patch(facecolor=style.WAIT, label="the warp waits"),
    ]
    width, height = figure.get_size_inches()
    figure.legend(
        handles=handles,
        ncols=len(handles),
        loc="lower right",
        bbox_to_anchor=(1 - (RIGHT - 0.1) / width, 0.29 / height),
        frameon=False,
        fontsize=8,
        handlelength=2.2,
        borderpad=0,
        borderaxespad=0,
        columnspacing=1.6,
    )


def _pace(pipeline: WarpPipeline, ring: int) -> str:
    """Describe the chart: cycles of each phase, of a steady k tile, and of all waits."""
    phases = pipeline.phases(ring)
    waited = sum(wait.end - wait.begin for wait in pipeline.waits)
    return (
        f"prologue {phases.mainloop:,} cycles, mainloop {phases.drain - phases.mainloop:,}, drain "
        f"{phases.end - phases.drain:,}; {pipeline.steady_interval():,} cycles per k tile (median); "
        f"{waiting(waited, phases.end)}"
    )


def _key(shown: str, *, used: bool, ticks: bool) -> str:
    """Return the title's line that explains the picture, its boxes, fillings and ticks."""
    parts = [f"Shown are {shown}. Colour and number name the k tile."]
    if used:
        parts.append("MMA boxes are filled to the share of cycles in which the tensor core multiplies for the CTA.")
    if ticks:
        parts.append("Ticks in them: a k group begins.")
    return " ".join(parts)


def waiting(waited: int, cycles: int) -> str:
    """Return the length of the warp's waits, in words."""
    return f"the warp waits {waited:,} of {cycles:,} cycles ({100 * waited / cycles:.0f} %)."
