"""Defines the palette of all pictures, and saves figures so that equal results give equal bytes."""

import textwrap
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import matplotlib as mpl
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.ticker import FuncFormatter
from matplotlib.transforms import Affine2D

from gpusim.errors import printable
from gpusim.results.marks import MAKER

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
CONFLICT = "#e8853d"
IDEAL = "#009e73"
TITLE_SIZE, LINE_SIZE = 13.0, 9.0
"""Sizes in points of titles and of the lines below. Longer texts are wrapped."""

_TITLE_PITCH, _LINE_PITCH = 0.25, 0.19
"""Inches from one line of a title to the next, and of the lines below."""

BOLD, PLAIN = 0.97, 0.86
"""Width of a bold and of a plain letter over that of a digit, on average."""

HATCH = "////"
"""Hatching of conflicts, which is distinct from the ideal without colour."""

_RC: Any = {
    "font.family": "DejaVu Sans",
    "font.size": 9.0,
    "text.parse_math": False,
    "text.color": INK,
    "axes.edgecolor": FAINT,
    "axes.labelcolor": INK,
    "xtick.color": MUTED,
    "ytick.color": INK,
    "hatch.linewidth": 0.8,
    "path.simplify": False,
    "svg.hashsalt": "gpusim",
    "figure.facecolor": PAPER,
    "savefig.facecolor": PAPER,
}


_METADATA: Any = {
    "png": {"Software": MAKER},
    "svg": {"Date": None, "Creator": MAKER},
    "pdf": {"CreationDate": None, "Creator": MAKER, "Producer": None},
}
"""
Formats of pictures by suffix, with their metadata: the maker (``results.marks``), and nothing that changes with the
date or the version.
"""

Canvas = TypeVar("Canvas", bound=Path | Figure)
"""Target of a picture: a file to write (.png, .svg or .pdf), or a figure of the caller's."""


@contextmanager
def sheet(canvas: Path | Figure, width: float, height: float) -> Iterator[Figure]:
    """
    Yield a figure of ``width`` x ``height`` inches. If ``canvas`` is a path, the figure is written when the block ends.

    All text is drawn literally: a dollar sign in a name begins no formula. The caller's matplotlib settings are neither
    used nor changed. The file's metadata has no date and no version of matplotlib.
    """
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(_RC)
        if isinstance(canvas, Figure):
            canvas.set_size_inches(width, height)
            canvas.set_facecolor(PAPER)
            yield canvas
            _make_literal(canvas)
            return
        path, figure = canvas, Figure(figsize=(width, height), dpi=DPI)
        FigureCanvasAgg(figure)
        yield figure
        _make_literal(figure)
        path.parent.mkdir(parents=True, exist_ok=True)
        save(figure, path)


def _make_literal(figure: Figure) -> None:
    """Make all texts of a figure literal and printable, because users choose some names."""
    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            labels = axis.get_major_formatter()
            if isinstance(labels, FuncFormatter):  # labels given as texts have this formatter, too
                axis.set_major_formatter(FuncFormatter(partial(_literal_label, labels.func)))
    for found in figure.findobj(Text):
        if isinstance(found, Text):
            found.set_parse_math(False)
            found.set_text(_literal(found.get_text()))


def _literal_label(label: Callable[[float, int | None], str], value: float, place: int | None) -> str:
    return _literal(label(value, place))


def _literal(text: str) -> str:
    return "\n".join(map(printable, text.split("\n")))


def save(figure: Figure, path: Path) -> None:
    """Write a figure in the format that the path's suffix names, PNG by default. Equal figures give equal bytes."""
    kind = path.suffix.lower().lstrip(".")
    if kind not in _METADATA:
        kind = "png"
    with warnings.catch_warnings():
        # A character that the font lacks is drawn as a box.
        warnings.filterwarnings("ignore", message=r"Glyph \d+ .* missing from font", category=UserWarning)
        figure.savefig(path, format=kind, dpi=DPI, metadata=_METADATA[kind])


def new_figure() -> Figure:
    """Return an empty pyplot figure, which a notebook shows and ``pyplot.show()`` opens."""
    from matplotlib import pyplot as plt  # noqa: PLC0415 - it chooses a backend, which only a figure to look at needs

    return plt.figure(dpi=DPI)


def tile_colour(k_tile: int) -> str:
    """Return the colour of a k tile, the same in every row of a picture."""
    return TILE_COLOURS[k_tile % len(TILE_COLOURS)]


def text_on(colour: str) -> str:
    """Return ``INK`` or ``PAPER``, whichever has more contrast with ``colour`` (``#rrggbb``)."""
    return max((INK, PAPER), key=lambda ink: contrast(ink, colour))


def contrast(one: str, other: str) -> float:
    """Return the contrast of two colours (``#rrggbb``): 1 of equal ones, 21 of black and white. Source: WCAG 2.2."""
    dark, light = sorted((_luminance(one), _luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def _luminance(colour: str) -> float:
    channels = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    linear = (value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4 for value in channels)
    return sum(weight * value for weight, value in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


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

    A picture has space for a title of one line and lines that are not wrapped. For more, the picture becomes higher. So
    this must be called last: it moves all other artists down.
    """
    width = figure.get_size_inches()[0]
    titles = wrapped(title, TITLE_SIZE * BOLD, width)
    below = [row for line in lines for row in wrapped(line, LINE_SIZE * PLAIN, width)]
    more = _TITLE_PITCH * (len(titles) - 1)
    _heighten(figure, more + _LINE_PITCH * (len(below) - len(lines)))
    height, left = figure.get_size_inches()[1], 0.18 / width
    for number, row in enumerate(titles):
        y = 1 - (0.25 + _TITLE_PITCH * number) / height
        figure.text(left, y, row, fontsize=TITLE_SIZE, fontweight="bold", va="center")
    for number, row in enumerate(below):
        y = 1 - (0.50 + more + _LINE_PITCH * number) / height
        figure.text(left, y, row, fontsize=LINE_SIZE, color=MUTED, va="center")
    figure.text(left, 0.15 / height, caption, fontsize=7.5, color=MUTED, va="center")


def wrapped(text: str, size: float, width: float) -> list[str]:
    """Return the lines of a text of ``size`` points, at least one, wrapped for a picture of ``width`` inches."""
    letters = int((width - 0.36) * 72 / (size * 0.636))
    return textwrap.wrap(text, letters, break_on_hyphens=False) or [""]


def _heighten(figure: Figure, inches: float) -> None:
    """Make a picture higher at its top. All artists keep their size and their distance from the bottom."""
    if not inches:
        return
    width, height = figure.get_size_inches()
    share = height / (height + inches)
    anchors = [
        (legend, legend.get_bbox_to_anchor().transformed(figure.transFigure.inverted())) for legend in figure.legends
    ]
    figure.set_size_inches(width, height + inches)
    for axes in figure.axes:
        x, y, across, up = axes.get_position().bounds
        axes.set_position((x, y * share, across, up * share))
    for text in figure.texts:
        text.set_y(text.get_position()[1] * share)
    for artist in figure.artists:
        artist.set_transform(Affine2D().scale(1, share) + figure.transFigure)
    for legend, box in anchors:
        legend.set_bbox_to_anchor((box.x0, box.y0 * share, box.width, box.height * share), figure.transFigure)
