"""Places the names in a picture so that none hides another one. It knows boxes in inches, and no matplotlib figure."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from matplotlib.font_manager import FontProperties
from matplotlib.textpath import TextPath

Point: TypeAlias = tuple[float, float]

POINTS: Final = 72
"""Points of an inch."""


@dataclass(frozen=True, slots=True)
class Box:
    """
    A rectangle, rotated about its centre.

    Attributes:
        x, y: Centre, inches.
        width, height: Sides before the rotation, inches.
        angle: Rotation, degrees counterclockwise.
    """

    x: float
    y: float
    width: float
    height: float
    angle: float = 0.0

    def corners(self) -> tuple[Point, ...]:
        """Return the four corners."""
        along, across = self.axes()
        return tuple(
            (
                self.x + (a * along[0] * self.width + b * across[0] * self.height) / 2,
                self.y + (a * along[1] * self.width + b * across[1] * self.height) / 2,
            )
            for a, b in ((-1, -1), (1, -1), (1, 1), (-1, 1))
        )

    def axes(self) -> tuple[Point, Point]:
        """Return the directions of the two sides."""
        turn = math.radians(self.angle)
        return (math.cos(turn), math.sin(turn)), (-math.sin(turn), math.cos(turn))

    def depth(self, other: "Box") -> float:
        """Return the depth in inches by which this box overlaps another one; 0 or less if they do not overlap."""
        depths = []
        for axis in (*self.axes(), *other.axes()):
            (low, high), (least, most) = (_shadow(one, axis) for one in (self, other))
            depths.append(min(high, most) - max(low, least))
        return min(depths)


def _shadow(box: Box, axis: Point) -> tuple[float, float]:
    """Return the projection of a box on an axis."""
    spans = [x * axis[0] + y * axis[1] for x, y in box.corners()]
    return min(spans), max(spans)


def text_size(text: str, points: float, weight: str = "normal") -> tuple[float, float]:
    """Return width and height of a line of text in inches, in the pictures' font."""
    box = TextPath((0, 0), text, size=points, prop=FontProperties(family="DejaVu Sans", weight=weight)).get_extents()
    return box.width / POINTS, points / POINTS


def freest(candidates: Sequence[Box], taken: Sequence[Box]) -> int:
    """Return the index of the first candidate without overlap, else of the one with the least overlap."""
    into = [sum(max(0.0, one.depth(other)) for other in taken) for one in candidates]
    return min(range(len(candidates)), key=lambda place: (into[place], place))
