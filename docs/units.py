"""
Draws the units of the machine with the ways of a copy, a load, a store and an mma.sync through them.

``python docs/units.py`` writes docs/images/units.svg, ``python docs/units.py FILE.png`` another file. A unit has the
name of its page in docs/machine.
"""

import sys
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

PICTURE = Path(__file__).parent / "images" / "units.svg"

_INK, _FAINT, _PAPER, _OUTSIDE, _SM = "#22303c", "#8d9aa5", "#ffffff", "#f6e8d2", "#e9eff4"


class Unit(NamedTuple):
    """
    One box of the picture.

    Attributes:
        left: Its left edge.
        right: Its right edge.
        y: Its middle.
        words: What it does, in a few words.
    """

    left: float
    right: float
    y: float
    words: str


UNITS = {
    "launch": Unit(0.4, 4.4, 13.1, "CTAs to SMs, clocks"),
    "streams": Unit(9.6, 13.6, 13.1, "code: compiled or estimated"),
    "warps": Unit(0.8, 4.4, 11.5, "slots of CTAs, exit"),
    "barriers": Unit(5.2, 8.8, 11.5, "arrive, release"),
    "icache": Unit(9.6, 13.2, 11.5, "lines of code, constants"),
    "smsp": Unit(0.8, 8.8, 9.7, "one instruction a cycle; registers; pipes (four of these)"),
    "tensor": Unit(9.6, 13.2, 9.7, "tensor core"),
    "mio": Unit(0.8, 13.2, 8.0, "queues: one of each SMSP, one of the SM; registers are read on the way"),
    "data_stage": Unit(0.8, 13.2, 6.4, "one wavefront a cycle into the banks of shared memory and L1"),
    "lsu": Unit(0.8, 4.6, 4.8, "lookup of copies, in flight"),
    "l1": Unit(5.1, 8.9, 4.8, "lookup of loads, lines"),
    "stores": Unit(9.4, 13.2, 4.8, "way to the port, buffer"),
    "l2_arbiter": Unit(0.4, 13.6, 2.8, "merges requests of a GPC, divides the bandwidth"),
    "l2": Unit(0.4, 9.2, 1.4, "two partitions"),
    "l2_sampled": Unit(9.8, 13.6, 1.4, "in place of it, in a sample"),
    "dram": Unit(0.4, 13.6, 0.0, "channels, banks, refresh"),
}
"""By the name of their pages. From ``mio`` down to ``stores`` each SM has one; what is below, and DRAM, all share."""

_HALF = 0.44
"""Half of a box's height."""

_INSIDE = (4.05, 12.2)
"""From where to where an SM reaches."""


class Way(NamedTuple):
    """
    The way of an instruction.

    Attributes:
        name: The instruction.
        color: That of its line.
        corners: The line, from where it issues to where it ends, x and y by turns.
        takes: Where it takes a unit's cycles or entries, x and y on an edge of its box; elsewhere it passes behind.
        steps: What happens on the way, a line of the legend each.
    """

    name: str
    color: str
    corners: tuple[tuple[float, float], ...]
    takes: tuple[tuple[float, float], ...]
    steps: tuple[str, ...]


def _top(unit: str) -> float:
    return UNITS[unit].y + _HALF


def _foot(unit: str) -> float:
    return UNITS[unit].y - _HALF


def _down(x: float, *units: str) -> tuple[tuple[float, float], ...]:
    """Return where a line that goes down enters units."""
    return tuple((x, _top(unit)) for unit in units)


WAYS = (
    Way(
        "mma.sync",
        "#7a3fa0",
        ((8.6, 9.9), (11.4, 9.9), (11.4, 9.5), (8.85, 9.5)),
        ((8.8, 9.9), (9.6, 9.9)),
        (
            "issues when its scoreboards are free,",
            "takes the tensor core for its interval,",
            "more if others read registers meanwhile",
        ),
    ),
    Way(
        "cp.async.cg (copy)",
        "#1b7f4d",
        ((1.6, 9.7), (1.6, 0.0), (3.8, 0.0), (3.8, _foot("data_stage"))),
        ((1.6, _foot("smsp")), *_down(1.6, "mio", "data_stage", "lsu", "l2_arbiter", "l2", "dram")),
        (
            "its addresses leave through the queues,",
            "a few cycles of the data stage, then tag lookup;",
            "merged in its GPC, its turn at the L2;",
            "a hit, or a miss to DRAM; then, around the L1,",
            "into the banks, where stores are replayed",
        ),
    ),
    Way(
        "ld.global (load)",
        "#1f5fae",
        ((6.0, 9.7), (6.0, 0.0), (8.0, 0.0), (8.0, _foot("smsp"))),
        (
            *((6.0, _foot("smsp")), *_down(6.0, "mio", "l1", "l2_arbiter", "l2", "dram")),
            *((8.0, _foot("l1")), (8.0, _foot("data_stage"))),
        ),
        (
            "passes the data stage, free, to tag lookup;",
            "missing lines from L2 or DRAM, one a cycle;",
            "data takes its wavefronts when it comes,",
            "and frees the scoreboard",
        ),
    ),
    Way(
        "st.global (store)",
        "#b4461e",
        ((8.4, 9.7), (8.4, 8.85), (9.9, 8.85), (9.9, 2.1), (8.7, 2.1), (8.7, _top("dram") + 0.05)),
        ((8.4, _foot("smsp")), *_down(9.9, "mio", "data_stage", "stores", "l2_arbiter"), *_down(8.7, "l2")),
        (
            "waits in its SMSP's queue for room at the port,",
            "a cycle for every four sectors, way to the port;",
            "its turn at the L2, where it fills lines;",
            "evicted ones wait for DRAM's writes",
        ),
    ),
)

_FEEDS = (
    ((2.6, _foot("launch")), (2.6, _top("warps"))),
    ((2.6, _foot("warps")), (2.6, _top("smsp"))),
    ((7.0, _foot("barriers")), (7.0, _top("smsp"))),
    ((11.4, _foot("streams")), (11.4, _top("icache"))),
    ((9.6, 11.2), (8.2, _top("smsp"))),
    ((9.8, 1.4), (9.25, 1.4)),
)
"""Grey arrows: what feeds what."""


def draw(path: Path) -> Path:
    """Draw the units and the ways through them, as the suffix of the path says."""
    mpl.rcParams |= {"font.family": "DejaVu Sans", "svg.fonttype": "none", "svg.hashsalt": "units"}
    figure = Figure(figsize=(13.2, 9.2), dpi=100)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_xlim(0, 20.2)
    axes.set_ylim(-0.7, 13.9)
    axes.axis("off")
    _box(axes, (0.4, 13.6), _INSIDE, _SM, 0)
    axes.text(13.5, 4.12, "SM", ha="right", va="bottom", size=9, weight="bold", color=_FAINT)
    for begin, end in _FEEDS:
        axes.annotate("", end, begin, arrowprops={"arrowstyle": "-|>", "color": _FAINT, "linewidth": 1.0})
    for way in WAYS:
        _draw_way(axes, way)
    for name, unit in UNITS.items():
        color = _PAPER if _INSIDE[0] < unit.y < _INSIDE[1] else _OUTSIDE
        _box(axes, (unit.left, unit.right), (unit.y - _HALF, unit.y + _HALF), color, 3)
        middle = (unit.left + unit.right) / 2
        axes.text(middle, unit.y + 0.16, name, ha="center", va="center", weight="bold", size=10, color=_INK, zorder=5)
        axes.text(middle, unit.y - 0.2, unit.words, ha="center", va="center", size=7.6, color=_INK, zorder=5)
    _draw_legend(axes)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)
    return path


def _box(axes: Axes, x: tuple[float, float], y: tuple[float, float], color: str, height: int) -> None:
    style: dict[str, Any] = {"facecolor": color, "edgecolor": _INK, "linewidth": 0.9, "zorder": height}
    rounded = "round,pad=0,rounding_size=0.1"
    axes.add_patch(FancyBboxPatch((x[0], y[0]), x[1] - x[0], y[1] - y[0], boxstyle=rounded, **style))


def _draw_way(axes: Axes, way: Way) -> None:
    """A line behind the boxes, with its arrow and dots before them."""
    x, y = zip(*way.corners, strict=True)
    axes.plot(x, y, color=way.color, linewidth=2.2, zorder=2, solid_joinstyle="round")
    (before_x, before_y), (end_x, end_y) = way.corners[-2:]
    length = abs(end_x - before_x) + abs(end_y - before_y)
    begin = (end_x + (before_x - end_x) * 0.3 / length, end_y + (before_y - end_y) * 0.3 / length)
    arrow = {"arrowstyle": "-|>", "color": way.color, "linewidth": 2.2, "mutation_scale": 14}
    axes.annotate("", way.corners[-1], begin, arrowprops=arrow | {"shrinkA": 0, "shrinkB": 0}, zorder=4)
    for place in way.takes:
        axes.plot(*([each] for each in place), marker="o", markersize=7, color=way.color, zorder=6)


def _draw_legend(axes: Axes) -> None:
    y = 12.9
    axes.text(14.1, y, "Ways through the machine", size=13, weight="bold", color=_INK)
    for line in ("A dot: it takes cycles or entries of the unit.", "No dot: it passes behind."):
        y -= 0.42
        axes.text(14.1, y, line, size=8.6, color=_INK)
    for way in WAYS:
        y -= 0.75
        axes.plot([14.1, 14.7], [y + 0.1, y + 0.1], color=way.color, linewidth=2.6)
        axes.text(14.9, y, way.name, size=10, weight="bold", color=way.color)
        for step in way.steps:
            y -= 0.4
            axes.text(14.1, y, step, size=8.6, color=_INK)
    y -= 0.75
    axes.text(14.1, y, "Grey: what feeds what.", size=8.6, color=_FAINT)


if __name__ == "__main__":
    draw(Path(sys.argv[1]) if sys.argv[1:] else PICTURE)
