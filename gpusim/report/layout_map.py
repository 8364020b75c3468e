"""Draws a shared-memory layout: the banks of each vector of the tile, and the wavefronts of accesses to it."""

import textwrap

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from gpusim.arrays import IntArray
from gpusim.layout.bank_map import AccessReport, LayoutReport
from gpusim.layout.banks import BANK_BYTES, BANKS
from gpusim.report.bank_grid import BankPicture, draw_grid, verdict, wavefronts
from gpusim.report.style import INK, MUTED, PAPER, Canvas, fits, sheet, tint, title_block

BANK_COLOURS = ("#4477aa", "#66ccee", "#228833", "#ccbb44", "#ee8866", "#aa3377", "#bbbbbb", "#775500")
"""Colours of the bank groups; each is an eighth of the banks."""

_WIDTH, _LEFT, _RIGHT, _TOP, _BOTTOM = 14.0, 0.75, 0.25, 1.35, 0.30
_ROW, _MOST_ROWS = 0.21, 64
_LANE_ROOM = 0.7
"""Least width of a cell, inches, that shows lanes beside banks."""
_GRID_LEFT, _GRID_HEAD, _GRID_GAP = 1.15, 0.62, 0.25


def layout_map(report: LayoutReport, canvas: Canvas) -> Canvas:
    """
    Draw the bank map of stage 0 as PNG, and beside it the wavefronts of each requested access.

    A cell of the map is one vector (``report.vector_bytes()``), coloured by bank group and labelled with its banks. The
    lanes of the first access are named in the cells that they touch. Rows are drawn until the pattern repeats and all
    lanes are visible, 64 at most.
    """
    table = report.bank_table()
    rows = _rows_drawn(report, table)
    grids = [_picture(access) for access in report.accesses]
    row_heights = [min(0.34, max(0.16, 3.4 / len(wavefronts(grid)))) for grid in grids]
    blocks = [
        _GRID_HEAD + _GRID_GAP + len(wavefronts(grid)) * high for grid, high in zip(grids, row_heights, strict=True)
    ]
    body = max(rows * _ROW, sum(blocks) - _GRID_HEAD - _GRID_GAP) + 0.15
    across = 6.4 if grids else _WIDTH - _LEFT - _RIGHT
    with sheet(canvas, _WIDTH, _TOP + body + _BOTTOM) as figure:
        axes = _axes(figure, (_LEFT, _TOP), (across, rows * _ROW))
        _draw_map(axes, report, table[:rows], across)
        top = _TOP - _GRID_HEAD
        for grid, high, block in zip(grids, row_heights, blocks, strict=True):
            _draw_access(figure, grid, high, (_LEFT + across + _GRID_LEFT, top))
            top += block
        layout = report.layout
        lines = [
            f"{layout.element_bits}-bit elements, tile {layout.contiguous}x{layout.strided} (contiguous x strided), "
            f"{layout.stages} stage{'s' * (layout.stages > 1)}, {layout.shared_bytes:,} bytes; "
            + (f"rows 0 to {rows - 1} of {layout.strided}" if rows < layout.strided else "all rows")
            + (f"; bold: the lanes of {grids[0].title}" if grids and across / table.shape[1] >= _LANE_ROOM else "")
        ]
        title_block(figure, f"Bank map: {report.name}", lines, _caption(report))
    return canvas


def _caption(report: LayoutReport) -> str:
    width = report.vector_bytes()
    of_each = f"the banks of a {width}-byte vector" if width > BANK_BYTES else f"the bank of {width} bytes"
    return (
        f"Each cell: {of_each}, coloured by eighth of the {BANKS} banks. Column: first element of the vector. Stage 0."
    )


def _axes(figure: Figure, corner: tuple[float, float], size: tuple[float, float]) -> Axes:
    """Add axes with a top left corner and a size in inches."""
    width, height = figure.get_size_inches()
    (left, top), (across, down) = corner, size
    return figure.add_axes((left / width, 1 - (top + down) / height, across / width, down / height))


def _rows_drawn(report: LayoutReport, table: IntArray) -> int:
    rows = len(table)
    period = next(p for p in range(1, rows + 1) if np.array_equal(table[p:], table[: rows - p]))
    seen = [int(access.access.strided[access.access.active].max()) + 1 for access in report.accesses[:1]]
    return min(rows, _MOST_ROWS, max(8, period, *seen))


def _draw_map(axes: Axes, report: LayoutReport, table: IntArray, across: float) -> None:
    rows, columns = table.shape
    vector_bytes = report.vector_bytes()
    vector = vector_bytes * 8 // report.layout.element_bits
    banks = max(1, vector_bytes // BANK_BYTES)
    room = across / columns
    lanes = _lanes_by_cell(report, vector) if room >= _LANE_ROOM else {}
    axes.set_xlim(0, columns)
    axes.set_ylim(rows, 0)
    groups = table * len(BANK_COLOURS) // BANKS
    for group, colour in enumerate(BANK_COLOURS):
        for row in range(rows):
            spans = [(column, 1) for column in np.flatnonzero(groups[row] == group).tolist()]
            if spans:
                axes.broken_barh(spans, (row, 1), facecolor=tint(colour, 0.45), edgecolor=PAPER, linewidth=0.8)
    for row, column in np.ndindex(rows, columns):
        first = int(table[row, column])
        named = f"{first}–{first + banks - 1}" if banks > 1 else str(first)  # noqa: RUF001  # a range
        touching = lanes.get((row, column), [])
        left, right = (0.06, 0.94) if touching else (0.5, 0.5)
        if fits(named, 7.5, room * (0.55 if touching else 1)):
            anchor = "left" if touching else "center"
            axes.text(column + left, row + 0.5, named, fontsize=7.5, color=INK, ha=anchor, va="center_baseline")
        if touching:
            every_lane = ",".join(map(str, touching))
            text = every_lane if fits(every_lane, 7.5, room * 0.45) else f"{touching[0]}+"
            axes.text(
                column + right, row + 0.5, text, fontsize=7.5, fontweight="bold", ha="right", va="center_baseline"
            )
    every = max(1, round(0.42 / room))
    axes.set_xticks(
        [column + 0.5 for column in range(0, columns, every)], [str(c * vector) for c in range(0, columns, every)]
    )
    axes.set_yticks([row + 0.5 for row in range(rows)], [str(row) for row in range(rows)])
    axes.tick_params(
        length=0, labelsize=7.5, labelcolor=MUTED, top=True, labeltop=True, bottom=False, labelbottom=False
    )
    for spine in axes.spines.values():
        spine.set_visible(False)
    axes.text(-0.1 / room, -0.12 / _ROW, "row", fontsize=7.5, color=MUTED, ha="right", va="center")


def _lanes_by_cell(report: LayoutReport, vector: int) -> dict[tuple[int, int], list[int]]:
    """Return the lanes of the first access that start at each (row, vector)."""
    cells: dict[tuple[int, int], list[int]] = {}
    for report_of in report.accesses[:1]:
        access = report_of.access
        for lane in np.flatnonzero(access.active).tolist():
            cell = (int(access.strided[lane]), int(access.contiguous[lane]) // vector)
            cells.setdefault(cell, []).append(lane)
    return cells


def _picture(report: AccessReport) -> BankPicture:
    access = report.access
    ldmatrix = access.label.startswith("ldmatrix")
    addresses = np.array([address or 0 for address in report.addresses], dtype=np.int64)
    return BankPicture(
        title=textwrap.shorten(access.label.replace(",", ", "), 48, placeholder=" …"),
        addresses=addresses,
        width_bytes=access.width_bytes,
        kind="ldmatrix" if ldmatrix else "load",
        matrices=int(access.active.sum()) // 8 if ldmatrix else 4,
        active=access.active,
    )


def _draw_access(figure: Figure, picture: BankPicture, row: float, corner: tuple[float, float]) -> None:
    width, height = figure.get_size_inches()
    left, top = corner
    size = (width - left - _RIGHT, row * len(wavefronts(picture)))
    draw_grid(_axes(figure, (left, top + _GRID_HEAD), size), picture, size)
    figure.text(left / width, 1 - (top + 0.12) / height, picture.title, fontsize=10, fontweight="bold", va="center")
    figure.text(left / width, 1 - (top + 0.31) / height, verdict(picture), fontsize=8.5, color=MUTED, va="center")
