"""Draws the roofline chart: the machine's tensor, shared, L2 and DRAM ceilings, and the run's place under each."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from gpusim.errors import CannotRun
from gpusim.machine.spec import Machine
from gpusim.report.captions import Words, bound_line, footer, rate_unit
from gpusim.report.style import FAINT, INK, PAPER, TILE_COLOURS, WAIT, Canvas, sheet, title_block
from gpusim.results.result import Result
from gpusim.results.use import tensor_peak_tflops
from gpusim.units import SECTOR_BYTES

_WIDTH, _HEIGHT = 10.0, 6.4
_LEFT, _RIGHT, _TOP, _BOTTOM = 0.85, 0.3, 1.35, 0.85
_ACROSS, _DOWN = _WIDTH - _LEFT - _RIGHT, _HEIGHT - _TOP - _BOTTOM
_LEVEL_COLOURS = (TILE_COLOURS[0], TILE_COLOURS[4], WAIT)


@dataclass(frozen=True, slots=True)
class MemoryLevel:
    """
    One memory of the machine, and the bytes that the run moved through it.

    Attributes:
        name: Name of the memory.
        peak_gb_s: Bandwidth of the whole chip at the machine's clock, 10^9 bytes per second.
        moved_bytes: Bytes that the whole grid moved; None if the result has no counter for them.
    """

    name: str
    peak_gb_s: float
    moved_bytes: int | None

    def roof(self, intensity: float, top: float) -> float:
        """Return the TFLOP/s attainable with ``intensity`` FLOP per byte of this memory, at most ``top``."""
        return min(top, intensity * self.peak_gb_s / 1000)


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
        ),
        MemoryLevel(
            "L2 reads", machine.l2.bytes_per_cycle * gigahertz, None if sectors is None else sectors * SECTOR_BYTES
        ),
        MemoryLevel("DRAM reads", machine.dram.bandwidth_gb_s, _counter(result, "dram__bytes_read.sum")),
    )


def roofline(result: Result, words: Words, machine: Machine, canvas: Canvas) -> Canvas:
    """
    Draw the ceilings and the run as PNG, on two logarithmic axes.

    The run has one speed, but a different arithmetic intensity for each memory. It is therefore one point per memory,
    to be compared with the ceiling of the same colour. Memories without a counter have a ceiling but no point.

    Raises:
        CannotRun: The result has no floating-point operation, so it has no place on a logarithmic axis.
    """
    if not result.tflops:
        raise CannotRun("the roofline needs a floating-point operation, and no CTA of the result executes one")
    peak, levels = tensor_peak_tflops(result, machine), memory_levels(result, machine)
    flop = result.tflops * result.time_us * 1e6
    points = [(flop / level.moved_bytes if level.moved_bytes else None) for level in levels]
    top = peak or 4 * result.tflops
    corners = [1000 * top / level.peak_gb_s for level in levels]
    xs = [*corners, *(point for point in points if point)]
    window = (min(xs) / 6, max(xs) * 6, min(result.tflops, top) / 8, top * 2.5)
    with sheet(canvas, _WIDTH, _HEIGHT) as figure:
        axes = figure.add_axes((_LEFT / _WIDTH, _BOTTOM / _HEIGHT, _ACROSS / _WIDTH, _DOWN / _HEIGHT))
        _prepare(axes, window, rate_unit(result))
        if peak:
            axes.plot([min(corners), window[1]], [peak, peak], color=INK, linewidth=2)
            label = f"tensor peak {peak:,.0f} {rate_unit(result)}"
            axes.text(window[1] / 1.1, peak * 1.07, label, fontsize=9, fontweight="bold", ha="right", va="bottom")
        _draw_levels(axes, levels, points, result.tflops, top)
        _name_levels(figure, levels, points, result.tflops, top)
        share = f" ({100 * result.tflops / peak:.1f} % of the tensor peak)" if peak else ""
        lines = [words.problem, words.kernel, f"first bound: {bound_line(result)}"]
        title_block(figure, f"Roofline: {result.tflops:,.1f} {rate_unit(result)}{share}", lines, footer(result))
    return canvas


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


def _draw_levels(
    axes: Axes, levels: Sequence[MemoryLevel], points: Sequence[float | None], tflops: float, top: float
) -> None:
    """Draw each memory's slope up to ``top``, and the run's point under it."""
    for level, point, colour in zip(levels, points, _LEVEL_COLOURS, strict=True):
        _draw_slope(axes, level, colour, top)
        if point is not None:
            roof = level.roof(point, top)
            axes.plot([point, point], [tflops, roof], color=colour, linewidth=1, linestyle=(0, (2, 2)))
            axes.plot([point], [tflops], "o", color=colour, markersize=9, markeredgecolor=PAPER, markeredgewidth=1.2)


def _name_levels(
    figure: Figure, levels: Sequence[MemoryLevel], points: Sequence[float | None], tflops: float, top: float
) -> None:
    """Write the numbers of each point above the axes."""
    for number, (level, point, colour) in enumerate(zip(levels, points, _LEVEL_COLOURS, strict=True)):
        text = f"{level.name}: not counted"
        if point is not None:
            text = f"{level.name}: {point:,.0f} FLOP/B, {100 * tflops / level.roof(point, top):.0f} % of its roof"
        x, y = _LEFT + 3.05 * number, 1 - (_TOP - 0.2) / _HEIGHT
        figure.text(x / _WIDTH, y, "●", fontsize=11, color=colour, va="center_baseline")
        figure.text((x + 0.18) / _WIDTH, y, text, fontsize=8.5, va="center_baseline")


def _draw_slope(axes: Axes, level: MemoryLevel, colour: str, top: float) -> None:
    (left, right), (bottom, ceiling) = axes.get_xlim(), axes.get_ylim()
    corner, begin = 1000 * top / level.peak_gb_s, max(left, 1000 * bottom / level.peak_gb_s)
    axes.plot([begin, corner], [begin * level.peak_gb_s / 1000, top], color=colour, linewidth=2)
    at = begin**0.42 * corner**0.58
    axes.text(
        at,
        at * level.peak_gb_s / 1000 * 1.1,
        f"{level.name} {level.peak_gb_s:,.0f} GB/s",
        fontsize=8.5,
        color=colour,
        rotation=math.degrees(math.atan2(_DOWN / math.log(ceiling / bottom), _ACROSS / math.log(right / left))),
        rotation_mode="anchor",
        ha="center",
        bbox={"facecolor": PAPER, "edgecolor": "none", "pad": 0.6},
    )
