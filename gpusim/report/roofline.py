"""Draws the roofline: the roofs of tensor cores, shared memory, L2, DRAM and SMs in use, and the run under each."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from gpusim.errors import CannotRun
from gpusim.machine.spec import Machine
from gpusim.report.captions import Words, footer, headline, rate_unit
from gpusim.report.labels import Box, freest, text_size
from gpusim.report.style import FAINT, INK, PAPER, TILE_COLOURS, WAIT, Canvas, sheet, title_block
from gpusim.results.resources import DATA_STAGE, DRAM_BANDWIDTH, L2_BANDWIDTH, TENSOR_METRICS, resources_of
from gpusim.results.result import Result
from gpusim.results.use import Use, use_of

_WIDTH, _HEIGHT = 10.0, 6.4
_LEFT, _RIGHT, _TOP, _BOTTOM = 0.85, 0.3, 1.35, 0.85
_ACROSS, _DOWN = _WIDTH - _LEFT - _RIGHT, _HEIGHT - _TOP - _BOTTOM
LEVEL_STYLES = ((TILE_COLOURS[0], "-", "o"), (TILE_COLOURS[2], (0, (6, 2)), "s"), (WAIT, (0, (1, 1.2)), "^"))
"""Colour, line and marker of each memory. Lines and markers tell them apart without colour."""

_IN_USE = (0, (4, 3))
_PLACES = (0.5, 0.4, 0.6, 0.3, 0.7, 0.25, 0.75, 0.2, 0.8, 0.85, 0.9)
"""Places along a slope for its name, the best first: 0 is the lower end, 1 the corner."""

_PEAK_SIZE, _SLOPE_SIZE, _MARK_SIZE = 9.0, 8.5, 7.8
"""Sizes in points of the names of peaks and slopes, and of the numbers of marks."""

_MARK, _PAD, _LINE, _BESIDE = 0.16, 0.04, 0.02, 0.13
"""Side of a mark, margin of a name, width of a line, and distance from a line to its name's middle, inches."""


@dataclass(frozen=True, slots=True)
class MemoryLevel:
    """
    One memory of the machine, and the use that a run makes of it.

    Attributes:
        name: Name of the memory.
        gb_s: Bandwidth of the whole chip, 10^9 bytes per second; for DRAM, that of a stream.
        slope_gb_s: Bandwidth per cycle of the run, times the full clock of the SMs. Tensor work slows the SMs' clock,
            so a cycle is longer and more bytes arrive in it (D25).
        use: Share of this bandwidth that the run uses, from ``resources_of``; None if the result does not say.
        of_sms: Whether each SM has its own memory, which is unused if the SM has no CTA.
    """

    name: str
    gb_s: float
    slope_gb_s: float
    use: float | None
    of_sms: bool = False

    def intensity(self, rate: float) -> float | None:
        """Return the operations for each byte that the run moves here, at a rate in TFLOP/s; None if unknown."""
        return 1000 * rate / (self.use * self.slope_gb_s) if self.use else None

    def roof(self, intensity: float, top: float) -> float:
        """
        Return the TFLOP/s attainable with ``intensity`` FLOP per byte of this memory.

        Args:
            intensity: Operations for each byte.
            top: Roof of the whole machine whatever the intensity.
        """
        return min(top, intensity * self.slope_gb_s / 1000)


_LevelMark: TypeAlias = tuple[MemoryLevel, float | None, tuple[str, Any, str]]
"""A memory, the run's intensity under its roof if that is known, and colour, line and marker of both."""


def working_share(use: Use) -> float:
    """Return the share of a machine's SMs that have a CTA, which is also the share of their roof."""
    return use.working / use.sms


def memory_levels(result: Result, machine: Machine) -> tuple[MemoryLevel, ...]:
    """
    Return shared memory, the L2 and DRAM, with bandwidths from the machine and their use from the result.

    The bytes moved through shared memory are wavefronts times the width of all banks, so bank conflicts lower the run's
    intensity. The L2 and DRAM count reads and writes.
    """
    gigahertz = machine.clock_mhz / 1000
    busy = any(result.counters.get(metric) for metric in TENSOR_METRICS)
    shared = machine.sms * machine.shared.banks * machine.shared.bank_bytes * machine.shared.wavefronts_per_cycle
    used = {one.name: one.percent / 100 for one in resources_of(result)}
    return (
        MemoryLevel("shared memory", shared * gigahertz, shared * gigahertz, used.get(DATA_STAGE), of_sms=True),
        MemoryLevel(
            "L2",
            machine.l2.bytes_per_cycle * gigahertz,
            machine.l2_bytes_per_cycle(busy=busy) * gigahertz,
            used.get(L2_BANDWIDTH),
        ),
        MemoryLevel(
            "DRAM",
            machine.dram.bytes_per_kilocycle * gigahertz / 1000,
            machine.dram_bytes_per_kilocycle(busy=busy) * gigahertz / 1000,
            used.get(DRAM_BANDWIDTH),
        ),
    )


def roofline(result: Result, words: Words, machine: Machine, canvas: Canvas) -> Canvas:
    """
    Draw the roofs and the run on two logarithmic axes.

    The run has one speed, but a different arithmetic intensity for each memory. So there is one mark for each memory,
    to be compared with the roof of the same marker. A memory without a counter has a roof but no mark. If some SMs have
    no CTA, a dashed roof shows the SMs in use.

    Raises:
        CannotRun: The result has no floating-point operation, so it has no place on a logarithmic axis.
    """
    if not result.tflops:
        raise CannotRun("the roofline needs a floating-point operation, and no CTA of the result executes one")
    use, levels = use_of(result, machine), memory_levels(result, machine)
    share, peak = working_share(use), use.tensor_peak
    points = [level.intensity(result.tflops) for level in levels]
    top = peak or 4 * result.tflops
    corners = [1000 * top / level.slope_gb_s for level in levels]
    xs = [*corners, *(point for point in points if point)]
    window = (min(xs) / 6, max(xs) * 6, min(result.tflops, top * share) / 8, top * 2.5)
    with sheet(canvas, _WIDTH, _HEIGHT) as figure:
        axes = figure.add_axes((_LEFT / _WIDTH, _BOTTOM / _HEIGHT, _ACROSS / _WIDTH, _DOWN / _HEIGHT))
        _prepare(axes, window, rate_unit(result))
        names = _Names(axes, [(point, result.tflops) for point in points if point is not None])
        marks = list(zip(levels, points, LEVEL_STYLES, strict=True))
        _draw_levels(axes, names, marks, result.tflops, use)
        _draw_peaks(axes, names, use, min(corners), rate_unit(result))
        _name_slopes(axes, names, marks, top)
        _name_levels(figure, marks, _TOP)
        title_block(
            figure, headline(words, _said(result, use)), [words.problem, words.kernel, words.verdict], footer(result)
        )
    return canvas


def _said(result: Result, use: Use) -> str:
    """Return the run's speed, as a share of the tensor peak and of the peak of the SMs in use."""
    rate = f"{result.tflops:,.1f} {rate_unit(result)}"
    if not use.tensor_peak:
        return rate
    shares = f"{100 * result.tflops / use.tensor_peak:.1f} % of the tensor peak"
    if use.idle_sms:
        in_use = result.tflops / use.tensor_peak / working_share(use)
        shares += f", {100 * in_use:.0f} % of that of the {use.working} SMs in use"
    return f"{rate}, {shares}"


def _prepare(axes: Axes, window: tuple[float, float, float, float], unit: str) -> None:
    left, right, bottom, top = window
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlim(left, right)
    axes.set_ylim(bottom, top)
    axes.grid(visible=True, which="major", color=FAINT, linewidth=0.5)
    axes.set_axisbelow(True)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.10g}")
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.10g}")
    axes.set_xlabel("arithmetic intensity, FLOP per byte moved through that memory", fontsize=9)
    axes.set_ylabel(unit, fontsize=9)
    axes.tick_params(which="both", labelsize=8, color=FAINT)
    axes.minorticks_off()
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


class _Names:
    """Writes names where they hide no mark and no other name."""

    def __init__(self, axes: Axes, marks: Sequence[tuple[float, float]]) -> None:
        self._axes = axes
        (left, right), (bottom, top) = axes.get_xlim(), axes.get_ylim()
        self._left, self._bottom = left, bottom
        self.per_x, self.per_y = _ACROSS / math.log(right / left), _DOWN / math.log(top / bottom)
        self._taken = [Box(*self._inches(*mark), _MARK, _MARK) for mark in marks]

    def _inches(self, x: float, y: float) -> tuple[float, float]:
        """Return a place of the axes in inches from their lower left corner."""
        return math.log(x / self._left) * self.per_x, math.log(y / self._bottom) * self.per_y

    def keep_free(self, begin: tuple[float, float], end: tuple[float, float]) -> None:
        """Keep the line between two places free of names."""
        (x, y), (to_x, to_y) = self._inches(*begin), self._inches(*end)
        length, angle = math.hypot(to_x - x, to_y - y), math.degrees(math.atan2(to_y - y, to_x - x))
        self._taken.append(Box((x + to_x) / 2, (y + to_y) / 2, length, _LINE, angle))

    def write(
        self, text: str, places: Sequence[tuple[float, float, float]], size: float, weight: str = "normal"
    ) -> None:
        """
        Write a name at the first of the given places where it overlaps nothing.

        Args:
            text: The name.
            places: x and y of its middle on the line that it names, and its distance in inches above that line.
            size: Size of the letters, points.
            weight: Weight of the letters.
        """
        width, height = text_size(text, size, weight)
        angle = 0.0 if weight == "bold" else math.degrees(math.atan2(self.per_y, self.per_x))
        turn = math.radians(angle)
        boxes = []
        for x, y, above in places:
            across, up = self._inches(x, y)
            middle = min(max(across, width / 2 * math.cos(turn)), _ACROSS - width / 2 * math.cos(turn))
            boxes.append(
                Box(middle - above * math.sin(turn), up + above * math.cos(turn), width + _PAD, height + _PAD, angle)
            )
        box = boxes[freest(boxes, self._taken)]
        self._taken.append(box)
        self._axes.text(
            box.x / _ACROSS,
            box.y / _DOWN,
            text,
            transform=self._axes.transAxes,
            fontsize=size,
            fontweight=weight,
            color=INK,
            rotation=angle,
            rotation_mode="anchor",
            ha="center",
            va="center",
        )


def _draw_peaks(axes: Axes, names: _Names, use: Use, corner: float, unit: str) -> None:
    """Draw the tensor peak, and that of the SMs in use if others have no CTA, each named at its right end."""
    right, peak = axes.get_xlim()[1], use.tensor_peak
    if not peak:
        return
    peaks: list[tuple[float, str, Any, float, tuple[float, ...]]] = [
        (peak, f"tensor peak {peak:,.0f} {unit}", "-", 2.0, (_BESIDE,))
    ]
    if use.idle_sms:
        own = peak * working_share(use)
        name = f"{use.working} of {use.sms} SMs in use: {own:,.0f} {unit}"
        peaks.append((own, name, _IN_USE, 1.4, (-_BESIDE, _BESIDE)))
    for height, _, line, width, _ in peaks:
        axes.plot((corner, right), [height, height], color=INK, linewidth=width, linestyle=line)
        names.keep_free((corner, height), (right, height))
    for height, name, _, _, sides in peaks:
        half = text_size(name, _PEAK_SIZE, "bold")[0] / 2
        spots = [right * math.exp(-(half + back / 4) / names.per_x) for back in range(24)]
        names.write(name, [(x, height, above) for above in sides for x in spots], _PEAK_SIZE, "bold")


def _draw_levels(axes: Axes, names: _Names, marks: Sequence[_LevelMark], tflops: float, use: Use) -> None:
    """Draw each memory's slope up to the peak, and the run's mark under it, above all other artists."""
    top, share = use.tensor_peak or 4 * tflops, working_share(use)
    for level, point, (colour, line, marker) in marks:
        _draw_slope(axes, names, (level.slope_gb_s / 1000, top), (colour, line, 2.0))
        if level.of_sms and share < 1:
            _draw_slope(axes, names, (level.slope_gb_s / 1000 * share, top * share), (colour, _IN_USE, 1.2))
        if point is not None:
            roof = level.roof(point, top)
            axes.plot([point, point], [tflops, roof], color=colour, linewidth=1, linestyle=(0, (2, 2)))
            names.keep_free((point, tflops), (point, roof))
            style: Any = {
                "markersize": 9,
                "markeredgecolor": PAPER,
                "markeredgewidth": 1.2,
                "zorder": 6,
                "clip_on": False,
            }
            axes.plot([point], [tflops], marker, color=colour, **style)


def _draw_slope(axes: Axes, names: _Names, roof: tuple[float, float], style: tuple[str, Any, float]) -> None:
    """Draw a memory's roof, given as its slope and its top, in a colour, line and width."""
    (slope, top), (colour, line, width) = roof, style
    begin, corner = _ends(axes, slope, top)
    axes.plot([begin, corner], [begin * slope, top], color=colour, linewidth=width, linestyle=line)
    names.keep_free((begin, begin * slope), (corner, top))


def _name_slopes(axes: Axes, names: _Names, marks: Sequence[_LevelMark], top: float) -> None:
    """Write each memory's name and bandwidth along its slope."""
    for level, *_ in marks:
        slope = level.slope_gb_s / 1000
        begin, corner = _ends(axes, slope, top)
        spots = [begin ** (1 - place) * corner**place for place in _PLACES]
        places = [(x, x * slope, above) for above in (_BESIDE, -_BESIDE) for x in spots]
        names.write(f"{level.name} {level.gb_s:,.0f} GB/s", places, _SLOPE_SIZE)


def _name_levels(figure: Figure, marks: Sequence[_LevelMark], above: float) -> None:
    """Write the numbers of each mark above the axes, which begin ``above`` inches below the picture's top."""
    height, x = figure.get_size_inches()[1], _LEFT
    for level, point, (colour, _, marker) in marks:
        text = f"{level.name}: not counted"
        if point is not None and level.use is not None:
            text = f"{level.name}: {point:,.0f} FLOP/B, {100 * level.use:.0f} % of its peak"
        y = 1 - (above - 0.2) / height
        figure.add_artist(Line2D([x / _WIDTH], [y], marker=marker, color=colour, markersize=7))
        figure.text((x + 0.12) / _WIDTH, y, text, fontsize=_MARK_SIZE, va="center_baseline")
        x += text_size(text, _MARK_SIZE)[0] + 0.45


def _ends(axes: Axes, slope: float, top: float) -> tuple[float, float]:
    """Return where a roof of ``slope`` begins in the axes, and where its corner with ``top`` is."""
    return max(axes.get_xlim()[0], axes.get_ylim()[0] / slope), top / slope
