"""Draws the stall chart: the share of warp cycles of each of ncu's stall reasons, and the meaning of each."""

from typing import Final, NamedTuple

from matplotlib.figure import Figure
from matplotlib.patches import Patch

from gpusim.report import style
from gpusim.report.captions import Words, footer, headline
from gpusim.report.stall_shares import percent, ranked_stalls
from gpusim.results.result import Result
from gpusim.results.stall_words import STALL_WORDS

_WIDTH, _LEFT, _RIGHT, _TOP, _BOTTOM, _BAR = 14.0, 1.75, 6.9, 1.12, 0.62, 0.32

_MEMORY = frozenset({"long_scoreboard", "short_scoreboard", "mio_throttle", "lg_throttle", "membar", "drain"})
_SYNCHRONISATION = frozenset({"barrier", "sleeping"})


class StallLook(NamedTuple):
    """A group of waits, with the colour and the hatch of its bars."""

    name: str
    colour: str
    hatch: str


STALL_LOOKS: Final = {
    "memory": StallLook("memory", style.WAIT, "////"),
    "warps": StallLook("other warps", style.TILE_COLOURS[2], "xxxx"),
    "issue": StallLook("issue and pipes", style.TILE_COLOURS[0], ""),
    "issued": StallLook("issued: no stall", style.IDEAL, "...."),
}


def stall_chart(result: Result, words: Words, canvas: style.Canvas) -> style.Canvas:
    """
    Draw the share of each stall reason, the largest first, with its definition beside it.

    A bar of full width would be all cycles of all warps. Colour and hatch show what warps wait for: memory, other
    warps, or issue port and pipes. ``selected`` marks cycles in which a warp issued.
    """
    ranked = ranked_stalls(result)
    with style.sheet(canvas, _WIDTH, _TOP + _BAR * max(1, len(ranked)) + _BOTTOM) as figure:
        width, height = figure.get_size_inches()
        span = width - _LEFT - _RIGHT
        down = height - _TOP - _BOTTOM
        axes = figure.add_axes((_LEFT / width, _BOTTOM / height, span / width, down / height))
        axes.barh(range(len(ranked)), [1.0] * len(ranked), 0.7, color=style.LANE)
        for place, (reason, share) in enumerate(ranked):
            look = _look(reason)
            axes.barh(place, share, 0.7, color=look.colour, hatch=look.hatch, edgecolor=style.PAPER, linewidth=0)
            axes.text(1.015, place, percent(share), fontsize=9, va="center_baseline")
            axes.text(1.17, place, _meaning(reason), fontsize=7.8, color=style.MUTED, va="center_baseline")
        axes.set_xlim(0, 1)
        axes.set_ylim(max(1, len(ranked)) - 0.5, -0.5)
        axes.set_yticks(range(len(ranked)), [reason for reason, _ in ranked])
        axes.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", "25", "50", "75", "100 %"])
        axes.tick_params(axis="y", length=0, labelsize=9)
        axes.tick_params(axis="x", length=3, labelsize=8, color=style.FAINT)
        for side, spine in axes.spines.items():
            spine.set_visible(side == "left")
            spine.set_color(style.FAINT)
        _legend(figure)
        lines = [f"{words.problem}; {words.kernel}", words.verdict, "Share of all cycles of all warps."]
        style.title_block(figure, headline(words, _said(result)), [line for line in lines if line], footer(result))
    return canvas


def _said(result: Result) -> str:
    """Return the longest wait of warps, in words."""
    waits = [(reason, share) for reason, share in ranked_stalls(result) if STALL_WORDS[reason].waits_for]
    if not waits:
        return "No warp waits"
    (reason, share), *_ = waits
    return f"Warps wait longest for {STALL_WORDS[reason].waits_for} ({reason}, {percent(share)})"


def _meaning(reason: str) -> str:
    return STALL_WORDS[reason].meaning if reason in STALL_WORDS else ""


def _legend(figure: Figure) -> None:
    width, height = figure.get_size_inches()
    handles = [
        Patch(facecolor=look.colour, hatch=look.hatch, edgecolor=style.PAPER, linewidth=0, label=look.name)
        for look in STALL_LOOKS.values()
    ]
    figure.legend(
        handles=handles,
        ncols=len(handles),
        loc="lower right",
        bbox_to_anchor=(1 - 0.2 / width, 0.06 / height),
        frameon=False,
        fontsize=8.5,
        handlelength=2.2,
        borderpad=0,
        borderaxespad=0,
    )


def _look(reason: str) -> StallLook:
    if reason == "selected":
        return STALL_LOOKS["issued"]
    if reason in _MEMORY:
        return STALL_LOOKS["memory"]
    return STALL_LOOKS["warps" if reason in _SYNCHRONISATION else "issue"]
