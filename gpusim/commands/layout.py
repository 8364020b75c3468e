"""``gpusim layout``: prints and draws a layout's banks and what accesses cost, and finds layouts without conflicts."""

import re
from dataclasses import dataclass, replace
from pathlib import Path

from gpusim.commands.output import check_picture, print_json, print_text, progress, written
from gpusim.errors import BadInput
from gpusim.layout.address_bits import render_address_bits
from gpusim.layout.bank_map import MOST_TILE_ELEMENTS, LayoutReport, describe_layout, render_text
from gpusim.layout.named import Extents, stated_extents
from gpusim.layout.search import Search
from gpusim.layout.search_report import render_search, search_layout

_TILE = re.compile(r"(\d{1,9})x(\d{1,9})")
_TILE_BY_DEFAULT = "64x128"


@dataclass(frozen=True, slots=True, kw_only=True)
class LayoutQuestion:
    """
    The options of ``gpusim layout``.

    Attributes:
        spec: Name of the layout.
        bits: Bits of one element.
        tile: Tile of one stage as ``CxS``: contiguous and strided elements. None takes the extents that the layout
            states, or else 64x128.
        stages: Slots of the shared-memory ring; None takes the stages that the layout states, or else 1.
        accesses: Pairs of a kind (``gpusim.layout.patterns.access_kinds``) and its argument.
        base: Byte address of the tile.
        search: Whether to search a layout without conflicts.
    """

    spec: str
    bits: int
    tile: str | None
    stages: int | None
    accesses: tuple[tuple[str, str], ...]
    base: int = 0
    search: bool = False


def print_layout(question: LayoutQuestion, *, picture: Path | None, force: bool, as_json: bool) -> None:
    """
    Print the bank map and the wavefronts of each access, and draw them if ``picture`` is given.

    Raises:
        BadInput: The layout, the tile, an access or the picture's name is wrong, or something is there that may not be
            replaced.
        CannotRun: The picture cannot be written.
    """
    if picture is not None:
        check_picture("--png", picture)
    if question.search and not question.accesses:
        raise BadInput("--search needs the accesses that must not conflict, as --store 16B --ldmatrix x4")
    report, search = _described(question)
    if as_json:
        print_json(_data(report, search), indent=None)
    else:
        print_text(render_text(report))
        if search is not None:
            print_text("\n" + render_search(search, question.bits, (report.layout.contiguous, report.layout.strided)))
        elif question.accesses:
            print_text("\n" + render_address_bits(report.layout))
    if picture is not None:
        # Matplotlib takes longer to import than the answer takes to compute.
        from gpusim.report.layout_map import layout_map

        with written(picture, force=force) as aside:
            layout_map(report, aside)
        progress(f"drawn to {picture}")


def _data(report: LayoutReport, search: Search | None) -> dict[str, object]:
    data = {**report.as_dict(), "address_bits": render_address_bits(report.layout)}
    return data if search is None else {**data, "search": search.to_dict()}


def _described(question: LayoutQuestion) -> tuple[LayoutReport, Search | None]:
    """Return the report, and the answer of a search. An error names the layout and the option at fault."""
    contiguous, strided, stages = _extents(question)
    option = f"--tile {question.tile or f'{contiguous}x{strided}'}"

    def describe(*accesses: tuple[str, str]) -> LayoutReport:
        return describe_layout(
            question.spec, question.bits, contiguous, strided, stages, accesses=accesses, base=question.base
        )

    search = None
    try:
        report = describe()
        for kind, argument in question.accesses:
            option = f"--{kind} {argument}"
            report = replace(report, accesses=(*report.accesses, *describe((kind, argument)).accesses))
        if question.search:
            option = "--search"
            search = search_layout(
                question.spec, question.bits, contiguous, strided, accesses=question.accesses, base=question.base
            )
    except BadInput as error:
        raise BadInput(f"{error} (layout {question.spec}, {option})") from error
    return report, search


def _extents(question: LayoutQuestion) -> Extents:
    """Return the extents of the tile: those of the options, else those that the layout states."""
    stated = stated_extents(question.spec)
    if stated is not None and question.tile is None:
        contiguous, strided = stated.contiguous, stated.strided
        if contiguous * strided * stated.stages > MOST_TILE_ELEMENTS:
            raise BadInput(f"{question.spec}: must have at most {MOST_TILE_ELEMENTS} elements")
    else:
        contiguous, strided = parse_tile(question.tile or _TILE_BY_DEFAULT)
    stages = question.stages if question.stages is not None else stated.stages if stated is not None else 1
    if contiguous * strided * stages > MOST_TILE_ELEMENTS:
        most = MOST_TILE_ELEMENTS // (contiguous * strided)
        tile = question.tile or f"{contiguous}x{strided}"
        raise BadInput(f"--stages must be at most {most} for a tile of {tile}, got {stages}")
    return Extents(contiguous, strided, stages)


def parse_tile(text: str) -> tuple[int, int]:
    """
    Parse contiguous and strided extents, such as ``64x128``.

    Raises:
        BadInput: The text is no pair of extents, or the tile has more elements than allowed.
    """
    match = _TILE.fullmatch(text)
    contiguous, strided = (int(match[1]), int(match[2])) if match else (0, 0)
    if not 1 <= contiguous * strided <= MOST_TILE_ELEMENTS:
        raise BadInput(f"--tile must be CxS, at most {MOST_TILE_ELEMENTS} elements, like 64x128, got {text!r}")
    return contiguous, strided
