"""Defines the palette of all pictures, and saves figures so that equal results give equal bytes."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import matplotlib as mpl
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

DPI = 120

INK = "#1b1f24"
MUTED = "#5b6470"
FAINT = "#c9ced6"
PAPER = "#ffffff"
LANE = "#f4f5f7"

# Paul Tol's "bright" scheme without its red, which is reserved for waits and conflicts. Neighbours differ in lightness.
TILE_COLOURS = ("#4477aa", "#ccbb44", "#aa3377", "#66ccee", "#228833")
PHASE = ("#dfe3e8", "#edf0f3", "#dfe3e8")
WAIT = "#d55e00"
CONFLICT = "#d55e00"
IDEAL = "#009e73"

_RC: Any = {
    "font.family": "DejaVu Sans",
    "font.size": 9.0,
    "text.color": INK,
    "axes.edgecolor": FAINT,
    "axes.labelcolor": INK,
    "xtick.color": MUTED,
    "ytick.color": INK,
    "hatch.linewidth": 0.8,
    "path.simplify": False,
    "figure.facecolor": PAPER,
    "savefig.facecolor": PAPER,
}


Canvas = TypeVar("Canvas", bound=Path | Figure)
"""Where a picture is drawn: a PNG file to write, or a figure of the caller's."""


@contextmanager
def sheet(canvas: Path | Figure, width: float, height: float) -> Iterator[Figure]:
    """
    Yield a figure of ``width`` x ``height`` inches, which is written to ``canvas`` when the block ends if it is a path.

    The caller's matplotlib settings are neither used nor changed. The PNG has no metadata, so its bytes depend on no
    date and no matplotlib version string.
    """
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(_RC)
        if isinstance(canvas, Figure):
            canvas.set_size_inches(width, height)
            canvas.set_facecolor(PAPER)
            yield canvas
            return
        path, figure = canvas, Figure(figsize=(width, height), dpi=DPI)
        FigureCanvasAgg(figure)
        yield figure
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, format="png", dpi=DPI, metadata={"Software": None})


def new_figure() -> Figure:
    """Return an empty figure of pyplot's, which a notebook shows and ``pyplot.show()`` opens."""
    from matplotlib import pyplot as plt  # noqa: PLC0415 - it chooses a backend, which only a figure to look at needs

    return plt.figure(dpi=DPI)


def tile_colour(k_tile: int) -> str:
    """Return the colour of a k tile, which is the same in every row of a picture."""
    return TILE_COLOURS[k_tile % len(TILE_COLOURS)]


def text_on(colour: str) -> str:
    """Return ``INK`` or ``PAPER``, whichever is more legible on ``colour`` (``#rrggbb``)."""
    red, green, blue = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
    return INK if 299 * red + 587 * green + 114 * blue > 140_000 else PAPER


def tint(colour: str, share: float) -> str:
    """Mix ``colour`` into paper: share 1 is the colour itself, 0 is paper. The result is opaque, for exact overdraw."""
    channels = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
    return "#" + "".join(f"{round(255 + (channel - 255) * share):02x}" for channel in channels)


def fits(text: str, size: float, room: float) -> bool:
    """Return whether ``text`` of ``size`` points fits into ``room`` inches, each character as wide as a digit."""
    return len(text) * size * 0.636 / 72 <= room


def title_block(figure: Figure, title: str, lines: Sequence[str], caption: str) -> None:
    """
    Write title and further lines at the top left, caption at the bottom left, at fixed distances from the edges.
    """
    width, height = figure.get_size_inches()
    left = 0.18 / width
    figure.text(left, 1 - 0.25 / height, title, fontsize=13, fontweight="bold", va="center")
    for number, line in enumerate(lines):
        figure.text(left, 1 - (0.50 + 0.19 * number) / height, line, fontsize=9, color=MUTED, va="center")
    figure.text(left, 0.15 / height, caption, fontsize=7.5, color=MUTED, va="center")
