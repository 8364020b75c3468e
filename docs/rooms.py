"""
Draws the rooms of gpusim/ by storey, with the imports between them as the sources have them.

``make rooms`` (or ``python docs/rooms.py``) writes docs/images/rooms.png with matplotlib. The list of imports that the
picture was drawn from lies in its own metadata, where a test compares it with the sources.
"""

import ast
import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch
from matplotlib.path import Path as Curve

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "gpusim"
PICTURE = ROOT / "docs" / "images" / "rooms.png"

METADATA_KEY = "gpusim imports"
"""Key of the picture's metadata that holds the imports it shows, as JSON."""


class Room(NamedTuple):
    """
    One box of the picture.

    Attributes:
        name: A folder of gpusim/ or a loose module; ``families/x`` is a wing, a family's own folder.
        x: Centre of the box.
        words: What the room answers, in a few words.
    """

    name: str
    x: float
    words: str


def wings() -> tuple[tuple[Room, ...], ...]:
    """Return a box for each family, with its problem kinds: a storey of those that extend no other, and one that do."""
    found: tuple[list[str], list[str]] = ([], [])
    words = {}
    for source in sorted((PACKAGE / "families").glob("*/family.py")):
        text, name = source.read_text(encoding="utf-8"), f"families/{source.parent.name}"
        words[name] = ", ".join(re.findall(r'Kind\(\s*"(\w+)"', text))
        found["extends=" in text].append(name)
    return tuple(
        tuple(Room(name, 5.5 + 4.0 * (place - (len(row) - 1) / 2), words[name]) for place, name in enumerate(row))
        for row in found
        if row
    )


GROUND = ("__init__", "arguments", "arrays", "element_types", "errors", "units")
"""What every room may import; the picture has it as the ground that all stand on, without arrows."""

STOREYS = (
    (
        Room("compiled", 2.0, "texts for Cython"),
        Room("layout", 6.4, "where an element lies"),
        Room("machine", 9.4, "GPUs, figure by figure"),
    ),
    (Room("tile", 3.6, "which element a lane has"), Room("results", 10.3, "what a run answers")),
    (Room("scenario", 6.0, "the question asked"),),
    (Room("numerics", 2.6, "element types, references"),),
    (Room("schedule", 5.4, "which op comes when"),),
    (Room("cuda", 6.6, "compiling, without a GPU"),),
    (Room("lower", 4.5, "instruction streams"), Room("records", 8.4, "what was measured")),
    (
        Room("functional", 0.7, "real data through ops"),
        Room("execute", 2.85, "any machine code on data"),
        Room("sim", 5.0, "SMs, SMSPs, caches in time"),
        Room("gpu", 7.6, "CuPy, launches, ncu"),
        Room("report", 10.3, "pictures and tables"),
    ),
    (Room("families", 5.5, "the questions to a family"), Room("own", 2.6, "own kernels in time")),
    *wings(),
    (Room("families/registry", 5.5, "kind of problem to family"),),
    (Room("verbs", 7.0, "whole scenarios"),),
    (Room("measure", 3.0, "a run on a GPU, compared"), Room("python", 8.5, "import gpusim")),
    (Room("lab", 3.0, "figures, validation, speed"),),
    (Room("commands", 5.5, "one command each"),),
    (Room("cli", 5.5, "arguments, exit codes"),),
    (Room("__main__", 5.5, "python -m gpusim"),),
)
"""From the ground up, each from left to right: a room imports from lower rows only, and from itself."""

ROOMS = {room.name: room for storey in STOREYS for room in storey}
HEIGHT_OF = dict.fromkeys(GROUND, 0) | {
    room.name: height for height, storey in enumerate(STOREYS, 1) for room in storey
}

_WIDTH, _HEIGHT, _STOREY = 2.05, 0.56, 1.0
_INK, _FAINT, _WING, _PAPER = "#22303c", "#b9c4cd", "#f6e8d2", "#e9eff4"


@cache
def modules() -> dict[str, Path]:
    """Dotted name -> file of every module of gpusim; a package by the name of its ``__init__``."""
    found = {}
    for source in sorted(PACKAGE.rglob("*.py")):
        parts = source.relative_to(PACKAGE.parent).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = source
    return found


@cache
def tree(source: Path) -> ast.Module:
    """Return the parsed text of a source."""
    return ast.parse(source.read_text(encoding="utf-8"))


def imported(source: Path) -> Iterator[str]:
    """
    Dotted names that a source imports, wherever in it the import stands, with the names taken from them.

    Raises:
        ValueError: An import is relative.
    """
    for node in ast.walk(tree(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            if node.level:
                raise ValueError(f"{source}:{node.lineno}: imports are absolute")
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


@cache
def module_imports() -> dict[str, frozenset[str]]:
    """Module -> the modules of gpusim that it imports, for types only or not."""
    known = modules()
    found = {}
    for name, source in known.items():
        parts = (part for part in imported(source) if part.split(".")[0] == "gpusim")
        targets = {part if part in known else part.rpartition(".")[0] for part in parts}
        found[name] = frozenset(targets - {name})
    return found


def room_of(module: str) -> str:
    """The room of a module: its folder, a family's own wing, or itself where it is loose."""
    _, *inside = module.split(".")
    if not inside:
        return "__init__"
    wing = "/".join(inside[:2])
    return wing if inside[0] == "families" and (wing in ROOMS or (PACKAGE / wing).is_dir()) else inside[0]


def edges() -> dict[str, list[str]]:
    """Room -> the rooms it imports, the ground left out, both in order of their names."""
    found: dict[str, set[str]] = {}
    for module, targets in module_imports().items():
        rooms = {room_of(target) for target in targets} - {room_of(module), *GROUND}
        found.setdefault(room_of(module), set()).update(rooms)
    return {room: sorted(found[room]) for room in sorted(found) if room not in GROUND}


def _implied(graph: Mapping[str, list[str]], room: str, target: str) -> bool:
    """Whether another import of the room leads to the target, too."""
    reached = [other for other in graph[room] if other != target]
    for other in reached:
        reached += [each for each in graph[other] if each not in reached]
    return target in reached


def draw(path: Path) -> Path:
    """Draw the rooms and write their imports into the picture's metadata."""
    graph = edges()
    mpl.rcParams["font.family"] = "DejaVu Sans"
    figure = Figure(figsize=(11, 12.4), dpi=110)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_xlim(-0.7, 11.7)
    axes.set_ylim(-0.55, len(STOREYS) * _STOREY + 0.5)
    axes.axis("off")
    _draw_imports(axes, graph)
    for room in ROOMS.values():
        _draw_room(axes, room)
    _draw_ground(axes)
    _draw_legend(axes)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={METADATA_KEY: json.dumps(graph), "Software": None})
    return path


def _draw_imports(axes: Axes, graph: Mapping[str, list[str]]) -> None:
    """Curves that leave a box below and enter one above, side by side in the order of where they go."""
    ends: dict[tuple[str, str], list[float]] = {}
    for name, room in ROOMS.items():
        targets = sorted(graph[name], key=lambda other: ROOMS[other].x)
        for place, target in enumerate(targets):
            ends[name, target] = [_port(room, place, len(targets))]
    for name, room in ROOMS.items():
        sources = sorted((other for other in ROOMS if name in graph[other]), key=lambda other: ROOMS[other].x)
        for place, source in enumerate(sources):
            ends[source, name].append(_port(room, place, len(sources)))
    for (source, target), (begin, end) in ends.items():
        implied = _implied(graph, source, target)
        top, bottom = _y(source) - _HEIGHT / 2, _y(target) + _HEIGHT / 2
        bend = 0.32 + 0.14 * (top - bottom)
        path = Curve(
            [(begin, top), (begin, top - bend), (end, bottom + bend), (end, bottom)],
            [Curve.MOVETO, Curve.CURVE4, Curve.CURVE4, Curve.CURVE4],
        )
        style: dict[str, Any] = {"color": _FAINT, "linewidth": 0.7, "zorder": 1}
        if not implied:
            style = {"color": _INK, "linewidth": 1.1, "zorder": 2}
        axes.add_patch(
            FancyArrowPatch(path=path, arrowstyle="-|>,head_length=3.2,head_width=1.5", shrinkA=0, shrinkB=0, **style)
        )


def _port(room: Room, place: int, count: int) -> float:
    """Where on a box's edge one of so many arrows begins or ends."""
    return room.x + (_WIDTH - 0.5) * ((place + 0.5) / count - 0.5)


def _y(room: str) -> float:
    return HEIGHT_OF[room] * _STOREY


def _draw_room(axes: Axes, room: Room) -> None:
    wing = room.name.startswith("families")
    _box(axes, room.x - _WIDTH / 2, _y(room.name) - _HEIGHT / 2, _WIDTH, _WING if wing else _PAPER)
    axes.text(room.x, _y(room.name) + 0.11, room.name, ha="center", va="center", weight="bold", size=10, color=_INK)
    axes.text(room.x, _y(room.name) - 0.14, room.words, ha="center", va="center", size=7.6, color=_INK, zorder=4)


def _draw_ground(axes: Axes) -> None:
    _box(axes, -0.5, -_HEIGHT / 2, 12.0, "#d5dde3")
    names = ", ".join(name for name in GROUND if name != "__init__")
    axes.text(5.5, 0.11, names, ha="center", va="center", weight="bold", size=10, color=_INK, zorder=4)
    axes.text(5.5, -0.14, "the ground: every room may import it", ha="center", va="center", size=7.6, color=_INK)


def _box(axes: Axes, x: float, y: float, width: float, color: str) -> None:
    box = FancyBboxPatch(
        (x, y),
        width,
        _HEIGHT,
        boxstyle="round,pad=0,rounding_size=0.09",
        facecolor=color,
        edgecolor=_INK,
        linewidth=0.9,
    )
    box.set_zorder(3)
    axes.add_patch(box)


def _draw_legend(axes: Axes) -> None:
    lines: tuple[tuple[str, dict[str, Any]], ...] = (
        ("The rooms of gpusim", {"weight": "bold", "size": 14}),
        ("An arrow points at what is imported:", {"size": 8.8}),
        ("always at a lower storey.", {"size": 8.8}),
        ("Dark: no other import leads there.", {"size": 8.8}),
        ("Grey: another import leads there, too.", {"size": 8.8, "color": "#7c8b97"}),
    )
    for number, (text, style) in enumerate(lines):
        place = len(STOREYS) * _STOREY - 0.27 * number - (0.1 if number else 0)
        axes.text(-0.4, place, text, ha="left", va="center", **{"color": _INK} | style)


if __name__ == "__main__":
    draw(PICTURE)
