"""``gpusim layout``: prints and draws a layout's banks and the cost of accesses; finds conflict-free layouts."""

import re
from dataclasses import replace

from gpusim.commands.options.layout import LayoutOptions
from gpusim.commands.output import check_picture, print_json, print_text, progress, written
from gpusim.errors import BadInput
from gpusim.layout.address_bits import render_address_bits
from gpusim.layout.bank_map import MOST_TILE_ELEMENTS, LayoutReport, describe_layout, render_text
from gpusim.layout.named import Extents, stated_bits, stated_extents
from gpusim.layout.search import Search
from gpusim.layout.search_report import render_search, search_layout

_TILE = re.compile(r"(\d{1,9})x(\d{1,9})")
_TILE_BY_DEFAULT = "64x128"
_BITS_BY_DEFAULT = 16


def print_layout(options: LayoutOptions) -> None:
    """
    Print the bank map and the wavefronts of each access, and draw them if ``--png`` is given.

    Raises:
        BadInput: The layout, the tile, an access or the picture's name is wrong, or something is there that may not be
            replaced.
        CannotRun: The picture cannot be written.
    """
    if options.png is not None:
        check_picture("--png", options.png)
    if options.search and not options.accesses:
        raise BadInput("--search needs the accesses that must not conflict, as --store 16B --ldmatrix x4")
    bits = options.bits or stated_bits(options.spec) or _BITS_BY_DEFAULT
    report, search = _described(options, bits)
    if options.as_json:
        print_json(_data(report, search), indent=None)
    else:
        print_text(render_text(report))
        if search is not None:
            print_text("\n" + render_search(search, bits, (report.layout.contiguous, report.layout.strided)))
        elif options.accesses:
            print_text("\n" + render_address_bits(report.layout))
    if options.png is not None:
        # Matplotlib takes longer to import than the answer takes to compute.
        from gpusim.report.layout_map import layout_map

        with written(options.png, force=options.force) as aside:
            layout_map(report, aside)
        progress(f"drawn to {options.png}")


def _data(report: LayoutReport, search: Search | None) -> dict[str, object]:
    data = {**report.as_dict(), "address_bits": render_address_bits(report.layout)}
    return data if search is None else {**data, "search": search.to_dict()}


def _described(options: LayoutOptions, bits: int) -> tuple[LayoutReport, Search | None]:
    """Return the report, and the answer of a search. An error names the layout and the option at fault."""
    contiguous, strided, stages = _extents(options)
    option = f"--tile {options.tile or f'{contiguous}x{strided}'}"

    def describe(*accesses: tuple[str, str]) -> LayoutReport:
        return describe_layout(options.spec, bits, contiguous, strided, stages, accesses=accesses, base=options.base)

    search = None
    try:
        report = describe()
        for kind, argument in options.accesses:
            option = f"--{kind} {argument}"
            report = replace(report, accesses=(*report.accesses, *describe((kind, argument)).accesses))
        if options.search:
            option = "--search"
            search = search_layout(
                options.spec, bits, contiguous, strided, accesses=options.accesses, base=options.base
            )
    except BadInput as error:
        raise BadInput(f"{error} (layout {options.spec}, {option})") from error
    return report, search


def _extents(options: LayoutOptions) -> Extents:
    """Return the extents of the tile: those of the options, else those that the layout states."""
    stated = stated_extents(options.spec)
    if stated is not None and options.tile is None:
        contiguous, strided = stated.contiguous, stated.strided
        if contiguous * strided * stated.stages > MOST_TILE_ELEMENTS:
            raise BadInput(f"{options.spec}: must have at most {MOST_TILE_ELEMENTS} elements")
    else:
        contiguous, strided = parse_tile(options.tile or _TILE_BY_DEFAULT)
    stages = options.stages if options.stages is not None else stated.stages if stated is not None else 1
    if contiguous * strided * stages > MOST_TILE_ELEMENTS:
        most = MOST_TILE_ELEMENTS // (contiguous * strided)
        tile = options.tile or f"{contiguous}x{strided}"
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
