"""Draws the roofline: the machine's tensor, shared, L2 and DRAM roofs, that of the SMs in use, the run under each."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from gpusim.errors import CannotRun
from gpusim.machine.spec import Machine
from gpusim.report.captions import Words, footer, headline, rate_unit
from gpusim.report.style import FAINT, INK, PAPER, TILE_COLOURS, WAIT, Canvas, sheet, title_block
from gpusim.results.result import Result
from gpusim.results.use import Use, use_of
from gpusim.units import SECTOR_BYTES

_WIDTH, _HEIGHT = 10.0, 6.4
_LEFT, _RIGHT, _TOP, _BOTTOM = 0.85, 0.3, 1.35, 0.85
_ACROSS, _DOWN = _WIDTH - _LEFT - _RIGHT, _HEIGHT - _TOP - _BOTTOM
LEVEL_STYLES = ((TILE_COLOURS[0], "-", "o"), (TILE_COLOURS[2], (0, (6, 2)), "s"), (WAIT, (0, (1, 1.2)), "^"))
"""Colour, line and marker of each memory. Lines and markers tell them apart without colour."""

_IN_USE = (0, (4, 3))
_PLACES = tuple(place / 20 for place in range(5, 19))
"""Places along a slope where its name may stand: 0 at the lower end, 1 at the corner."""


@dataclass(frozen=True, slots=True)
class MemoryLevel:
    """
    One memory of the machine, and the bytes that the run moved through it.

    Attributes:
        name: Name of the memory.
        peak_gb_s: Bandwidth of the whole chip at the machine's clock, 10^9 bytes per second.
        of_sms: Whether each SM has its own, so that SMs without a CTA leave theirs unused.
        moved_bytes: Bytes that the whole grid moved; None if the result has no counter for them.
    """

    name: str
    peak_gb_s: float
    moved_bytes: int | None
    of_sms: bool = False

    def roof(self, intensity: float, top: float, share: float = 1.0) -> float:
        """
        Return the TFLOP/s attainable with ``intensity`` FLOP per byte of this memory.

        Args:
            intensity: Operations for each byte.
            top: Roof of the whole machine whatever the intensity.
            share: Share of the SMs that are used, 0 to 1.
        """
        return min(top * share, intensity * self.peak_gb_s / 1000 * (share if self.of_sms else 1.0))


def working_share(use: Use) -> float:
    """Return the share of a machine's SMs that have a CTA, which is that of their roof."""
    return use.working / use.sms


def memory_levels(result: Result, machine: Machine) -> tuple[MemoryLevel, ...]:
    """
    Return shared memory, L2 and DRAM, with bandwidths from the machine and moved bytes from the result's counters.

    Bytes of shared memory are wavefronts times the width of all banks, so bank conflicts lower the run's intensity.
    """
    gigahertz = machine.clock_mhz / 1000
    row_bytes = machine.shared.banks * machine.shared.bank_bytes
    wavefronts = sum(row.wavefronts for row in result.bank_conflicts)
    sectors = _counter(result, "lts__t_sectors_op_read.sum")
    if sectors is None:
        sectors = _counter(result, "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum")
    return (
        MemoryLevel(
            "shared memory",
            machine.sms * row_bytes * machine.shared.wavefronts_per_cycle * gigahertz,
            wavefronts * row_bytes or None,
            of_sms=True,
        ),
        MemoryLevel(
            "L2 reads", machine.l2.bytes_per_cycle * gigahertz, None if sectors is None else sectors * SECTOR_BYTES
        ),
        MemoryLevel("DRAM reads", machine.dram.bandwidth_gb_s, _counter(result, "dram__bytes_read.sum")),
    )


def roofline(result: Result, words: Words, machine: Machine, canvas: Canvas) -> Canvas:
    """
    Draw the roofs and the run on two logarithmic axes.

    The run has one speed, but a different arithmetic intensity for each memory. It is therefore one mark per memory, to
    be compared with the roof of the same marker. Memories without a counter have a roof but no mark. Where SMs have no
    CTA, the roof of those in use is dashed.

    Raises:
        CannotRun: The result has no floating-point operation, so it has no place on a logarithmic axis.
    """
    if not result.tflops:
        raise CannotRun("the roofline needs a floating-point operation, and no CTA of the result executes one")
    use, levels = use_of(result, machine), memory_levels(result, machine)
    share, peak = working_share(use), use.tensor_peak
    flop = result.tflops * result.time_us * 1e6
    points = [(flop / level.moved_bytes if level.moved_bytes else None) for level in levels]
    top = peak or 4 * result.tflops
    corners = [1000 * top / level.peak_gb_s for level in levels]
    xs = [*corners, *(point for point in points if point)]
    window = (min(xs) / 6, max(xs) * 6, min(result.tflops, top * share) / 8, top * 2.5)
    with sheet(canvas, _WIDTH, _HEIGHT) as figure:
        axes = figure.add_axes((_LEFT / _WIDTH, _BOTTOM / _HEIGHT, _ACROSS / _WIDTH, _DOWN / _HEIGHT))
        _prepare(axes, window, rate_unit(result))
        if peak:
            _draw_peak(axes, (min(corners), window[1]), peak, f"tensor peak {peak:,.0f} {rate_unit(result)}", "-")
            if use.idle_sms:
                used = f"{use.working} of {use.sms} SMs in use: {peak * share:,.0f} {rate_unit(result)}"
                _draw_peak(axes, (min(corners), window[1]), peak * share, used, _IN_USE)
        _draw_levels(axes, levels, points, result.tflops, (top, share))
        _name_levels(figure, levels, points, result.tflops, (top, share))
        title_block(
            figure,
            headline(words, _said(result, use)),
            [words.problem, words.kernel, words.verdict],
            footer(result),
        )
    return canvas


def _said(result: Result, use: Use) -> str:
    """Return the run's speed, as a share of the tensor peak and of that of the SMs in use."""
    rate = f"{result.tflops:,.1f} {rate_unit(result)}"
    if not use.tensor_peak:
        return rate
    shares = f"{100 * result.tflops / use.tensor_peak:.1f} % of the tensor peak"
    if use.idle_sms:
        in_use = result.tflops / use.tensor_peak / working_share(use)
        shares += f", {100 * in_use:.0f} % of that of the {use.working} SMs in use"
    return f"{rate}, {shares}"


def _counter(result: Result, name: str) -> int | None:
    value = result.counters.get(name)
    return int(value) if value else None


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


def _draw_peak(axes: Axes, span: tuple[float, float], peak: float, name: str, line: Any) -> None:
    axes.plot(span, [peak, peak], color=INK, linewidth=2 if line == "-" else 1.4, linestyle=line)
    axes.text(span[1] / 1.1, peak * 1.07, name, fontsize=9, fontweight="bold", ha="right", va="bottom")


def _draw_levels(
    axes: Axes,
    levels: Sequence[MemoryLevel],
    points: Sequence[float | None],
    tflops: float,
    roofs: tuple[float, float],
) -> None:
    """Draw each memory's slope up to the peak, and the run's mark under it, on top of all lines and names."""
    top, share = roofs
    marks = [(point, tflops) for point in points if point is not None]
    named: list[tuple[float, float]] = []
    for level, point, (colour, line, marker) in zip(levels, points, LEVEL_STYLES, strict=True):
        _draw_slope(axes, level, (colour, line), top, (marks, named))
        if level.of_sms and share < 1:
            _draw_line(axes, level.peak_gb_s / 1000 * share, top * share, colour, _IN_USE)
        if point is not None:
            roof = level.roof(point, top, share)
            axes.plot([point, point], [tflops, roof], color=colour, linewidth=1, linestyle=(0, (2, 2)))
            style: Any = {
                "markersize": 9,
                "markeredgecolor": PAPER,
                "markeredgewidth": 1.2,
                "zorder": 6,
                "clip_on": False,
            }
            axes.plot([point], [tflops], marker, color=colour, **style)


def _name_levels(
    figure: Figure,
    levels: Sequence[MemoryLevel],
    points: Sequence[float | None],
    tflops: float,
    roofs: tuple[float, float],
) -> None:
    """Write the numbers of each mark above the axes."""
    top, share = roofs
    for number, (level, point, (colour, _, marker)) in enumerate(zip(levels, points, LEVEL_STYLES, strict=True)):
        text = f"{level.name}: not counted"
        if point is not None:
            own = 100 * tflops / level.roof(point, top, share)
            roof = "dashed roof" if share < 1 else "roof"
            text = f"{level.name}: {point:,.0f} FLOP/B, {own:.0f} % of its {roof}"
        x, y = (_LEFT + 3.05 * number) / _WIDTH, 1 - (_TOP - 0.2) / _HEIGHT
        figure.add_artist(Line2D([x], [y], marker=marker, color=colour, markersize=7))
        figure.text(x + 0.12 / _WIDTH, y, text, fontsize=7.8, va="center_baseline")


def _draw_line(axes: Axes, slope: float, top: float, colour: str, line: Any) -> tuple[float, float]:
    """Draw a roof of ``slope`` up to ``top``, and return where it begins and where its corner is."""
    left, bottom = axes.get_xlim()[0], axes.get_ylim()[0]
    begin, corner = max(left, bottom / slope), top / slope
    axes.plot(
        [begin, corner], [begin * slope, top], color=colour, linewidth=1.2 if line == _IN_USE else 2, linestyle=line
    )
    return begin, corner


def _draw_slope(
    axes: Axes,
    level: MemoryLevel,
    style: tuple[str, Any],
    top: float,
    taken: tuple[list[tuple[float, float]], list[tuple[float, float]]],
) -> None:
    """Draw the slope of a memory with its name where it is farthest from marks and other names, which it adds to."""
    (left, right), (bottom, ceiling) = axes.get_xlim(), axes.get_ylim()
    per_x, per_y = _ACROSS / math.log(right / left), _DOWN / math.log(ceiling / bottom)
    slope = level.peak_gb_s / 1000
    begin, corner = _draw_line(axes, slope, top, *style)
    marks, named = taken

    def apart(at: float) -> float:
        return min(
            (math.hypot(math.log(x / at) * per_x, math.log(y / (at * slope)) * per_y) for x, y in (*marks, *named)),
            default=0.0,
        )

    at = max((begin ** (1 - place) * corner**place for place in _PLACES), key=apart)
    named.append((at, at * slope))
    axes.text(
        at,
        at * slope * 1.1,
        f"{level.name} {level.peak_gb_s:,.0f} GB/s",
        fontsize=8.5,
        color=INK,
        rotation=math.degrees(math.atan2(per_y, per_x)),
        rotation_mode="anchor",
        ha="center",
        bbox={"facecolor": PAPER, "edgecolor": "none", "pad": 0.6},
    )
