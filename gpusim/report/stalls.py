"""Draws the stall chart: the share of warp cycles of each of ncu's stall reasons."""

from gpusim.report.captions import Words, footer
from gpusim.report.stall_shares import percent, ranked_stalls
from gpusim.report.style import FAINT, IDEAL, LANE, TILE_COLOURS, WAIT, Canvas, sheet, title_block
from gpusim.results.result import Result

_WIDTH, _LEFT, _RIGHT, _TOP, _BOTTOM, _BAR = 10.0, 1.75, 1.0, 0.95, 0.40, 0.32

_MEMORY = frozenset({"long_scoreboard", "short_scoreboard", "mio_throttle", "lg_throttle", "membar", "drain"})
_SYNCHRONISATION = frozenset({"barrier", "sleeping"})


def stall_chart(result: Result, words: Words, canvas: Canvas) -> Canvas:
    """
    Draw the share of each stall reason as PNG, the largest first.

    The colour shows what warps wait for: memory, other warps, or issue port and pipes. ``selected`` marks cycles in
    which a warp issued.
    """
    ranked = ranked_stalls(result)
    with sheet(canvas, _WIDTH, _TOP + _BAR * max(1, len(ranked)) + _BOTTOM) as figure:
        width, height = figure.get_size_inches()
        span = width - _LEFT - _RIGHT
        down = height - _TOP - _BOTTOM
        axes = figure.add_axes((_LEFT / width, _BOTTOM / height, span / width, down / height))
        longest = max((share for _, share in ranked), default=1.0)
        places = range(len(ranked))
        axes.barh(places, [longest] * len(ranked), 0.7, color=LANE)
        axes.barh(places, [share for _, share in ranked], 0.7, color=[_colour(reason) for reason, _ in ranked])
        for place, (_, share) in zip(places, ranked, strict=True):
            axes.text(longest * 1.01, place, percent(share), fontsize=9, va="center_baseline")
        axes.set_xlim(0, longest)
        axes.set_ylim(len(ranked) - 0.5, -0.5)
        axes.set_yticks(list(places), [reason for reason, _ in ranked])
        axes.set_xticks([])
        axes.tick_params(axis="y", length=0, labelsize=9)
        for side, spine in axes.spines.items():
            spine.set_visible(side == "left")
            spine.set_color(FAINT)
        keys = (
            ("memory", WAIT),
            ("other warps", TILE_COLOURS[2]),
            ("issue and pipes", TILE_COLOURS[0]),
            ("issued", IDEAL),
        )
        left = width - 4.2
        for name, colour in keys:
            figure.text(left / width, 1 - 0.25 / height, "■", fontsize=11, color=colour, va="center_baseline")
            figure.text((left + 0.17) / width, 1 - 0.25 / height, name, fontsize=8.5, va="center_baseline")
            left += 0.45 + 0.06 * len(name)
        lines = [words.problem, words.kernel]
        title_block(figure, "Stalls, share of all warp cycles", lines, footer(result))
    return canvas


def _colour(reason: str) -> str:
    if reason == "selected":
        return IDEAL
    if reason in _MEMORY:
        return WAIT
    return TILE_COLOURS[2] if reason in _SYNCHRONISATION else TILE_COLOURS[0]
