"""``gpusim layout``: prints and draws the bank map of a shared-memory layout and the cost of accesses to it."""

import re
from dataclasses import dataclass, replace
from pathlib import Path

from gpusim.commands.output import check_picture, print_json, print_text, progress
from gpusim.errors import BadInput
from gpusim.layout.bank_map import LayoutReport, describe_layout, render_text

_TILE = re.compile(r"(\d{1,9})x(\d{1,9})")
_MOST_ELEMENTS = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class LayoutQuestion:
    """
    The options of ``gpusim layout``.

    Attributes:
        spec: Name of the layout.
        bits: Bits of one element.
        tile: Tile of one stage as ``CxS``: contiguous and strided elements.
        stages: Slots of the shared-memory ring.
        accesses: Pairs of a kind (store, ldmatrix or access) and its argument.
    """

    spec: str
    bits: int
    tile: str
    stages: int
    accesses: tuple[tuple[str, str], ...]


def print_layout(question: LayoutQuestion, *, png: Path | None, as_json: bool) -> None:
    """
    Print the bank map and the wavefronts of each access, and draw them if ``png`` is given.

    Raises:
        BadInput: The layout, the tile, an access or the picture's name is wrong.
        CannotRun: The picture's folder does not exist.
    """
    if png is not None:
        check_picture("--png", png)
    report = _described(question)
    if as_json:
        print_json(report.as_dict(), indent=None)
    else:
        print_text(render_text(report))
    if png is not None:
        # Matplotlib takes longer to import than the answer takes to compute.
        from gpusim.report.layout_map import layout_map

        progress(f"drawn to {layout_map(report, png)}")


def _described(question: LayoutQuestion) -> LayoutReport:
    """Return the report. An error names the layout and the option at fault."""
    contiguous, strided = parse_tile(question.tile)
    if contiguous * strided * question.stages > _MOST_ELEMENTS:
        most = _MOST_ELEMENTS // (contiguous * strided)
        raise BadInput(f"--stages must be at most {most} for a tile of {question.tile}, got {question.stages}")

    def describe(*accesses: tuple[str, str]) -> LayoutReport:
        return describe_layout(question.spec, question.bits, contiguous, strided, question.stages, accesses=accesses)

    option = f"--tile {question.tile}"
    try:
        report = describe()
        for kind, argument in question.accesses:
            option = f"--{kind} {argument}"
            report = replace(report, accesses=(*report.accesses, *describe((kind, argument)).accesses))
    except BadInput as error:
        raise BadInput(f"{error} (layout {question.spec}, {option})") from error
    return report


def parse_tile(text: str) -> tuple[int, int]:
    """
    Parse contiguous and strided extents, such as ``64x128``.

    Raises:
        BadInput: The text is no pair of extents, or the tile has more elements than allowed.
    """
    match = _TILE.fullmatch(text)
    contiguous, strided = (int(match[1]), int(match[2])) if match else (0, 0)
    if not 1 <= contiguous * strided <= _MOST_ELEMENTS:
        raise BadInput(f"--tile must be CxS, at most {_MOST_ELEMENTS} elements, like 64x128, got {text!r}")
    return contiguous, strided
