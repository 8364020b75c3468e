"""Draws a shared-memory layout: the banks of each vector of the tile, and the wavefronts of its accesses."""

import textwrap
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from gpusim.arrays import BoolArray, IntArray
from gpusim.layout.access_cost import AccessReport
from gpusim.layout.bank_map import LayoutReport
from gpusim.layout.banks import BANK_BYTES, BANKS
from gpusim.report.bank_grid import BankPicture, draw_grid, verdict, wavefronts
from gpusim.report.style import INK, MUTED, PAPER, Canvas, fits, sheet, tint, title_block

BANK_COLOURS = ("#4477aa", "#66ccee", "#228833", "#ccbb44", "#ee8866", "#aa3377", "#bbbbbb", "#775500")
"""Colours of the bank groups; each is an eighth of the banks."""

_WIDTH, _LEFT, _RIGHT, _TOP, _BOTTOM = 14.0, 0.75, 0.25, 1.35, 0.30
_ROW, _MOST_ROWS = 0.21, 64
_PANEL_GAP, _MOST_PANELS = 0.95, 8
_LANE_ROOM = 0.7
"""Least width of a cell, inches, that shows lanes beside banks."""
_GRID_LEFT, _GRID_HEAD = 1.15, 0.62


def layout_map(report: LayoutReport, canvas: Canvas) -> Canvas:
    """
    Draw the bank map of stage 0, with a panel for each requested access, the worst first.

    A panel has the rows that the access touches, with its lanes in the cells, and beside them its wavefronts. A cell is
    one vector (``report.vector_bytes()``), coloured by bank group and labelled with its banks. If an access has several
    instructions, the worst is drawn. Without accesses the map has the whole width, and rows until the pattern repeats.
    """
    table = report.bank_table()
    asked = sorted(report.accesses, key=lambda access: (-access.ways, -access.conflicts))[:_MOST_PANELS]
    panels = [_panel(report, access) for access in asked] or [_Panel(None, None, 0, _rows_drawn(table), 0.0)]
    across = 6.4 if asked else _WIDTH - _LEFT - _RIGHT
    body = sum(panel.height for panel in panels) + _PANEL_GAP * (len(panels) - 1)
    with sheet(canvas, _WIDTH, _TOP + body + _BOTTOM + 0.1) as figure:
        top = _TOP
        for panel in panels:
            shown = slice(panel.first, panel.first + panel.rows)
            axes = _axes(figure, (_LEFT, top), (across, panel.rows * _ROW))
            lanes = {} if panel.access is None else _lanes_by_cell(report, panel.access)
            _draw_map(axes, report, table[shown], _Lanes(lanes, panel.first), across)
            if panel.picture is not None:
                _draw_access(figure, panel.picture, panel.row_height, (_LEFT + across + _GRID_LEFT, top - _GRID_HEAD))
            top += panel.height + _PANEL_GAP
        title_block(figure, f"Bank map: {report.name}", [_subtitle(report, panels)], _caption(report))
    return canvas


class _Panel(NamedTuple):
    """An access with the rows of the map beside it; without access and picture, only rows of the map."""

    access: AccessReport | None
    picture: BankPicture | None
    first: int
    rows: int
    row_height: float

    @property
    def height(self) -> float:
        """Inches below the panel's heading."""
        grid = len(wavefronts(self.picture)) * self.row_height if self.picture else 0.0
        return max(grid, self.rows * _ROW)


def _panel(report: LayoutReport, access: AccessReport) -> _Panel:
    """Choose the rows to draw beside an access: those that it touches, and more to the height of its wavefronts."""
    picture = _picture(access)
    passes = len(wavefronts(picture))
    row_height = min(0.34, max(0.16, 3.4 / passes))
    instruction = _worst(access)
    touched = instruction.strided[instruction.active]
    first = int(touched.min()) // 8 * 8 if touched.max() >= _MOST_ROWS else 0
    wanted = max(8, int(touched.max()) + 1 - first, int(passes * row_height / _ROW))
    return _Panel(access, picture, first, min(wanted, _MOST_ROWS, report.layout.strided - first), row_height)


def _subtitle(report: LayoutReport, panels: Sequence[_Panel]) -> str:
    layout = report.layout
    text = (
        f"{layout.element_bits}-bit elements, tile {layout.contiguous}x{layout.strided} (contiguous x strided), "
        f"{layout.stages} stage{'s' * (layout.stages > 1)}, {layout.shared_bytes:,} bytes"
    )
    left_out = len(report.accesses) - len(panels)
    return text + (f"; the {len(panels)} worst of {len(report.accesses)} accesses" if left_out > 0 else "")


def _caption(report: LayoutReport) -> str:
    width = report.vector_bytes()
    of_each = f"the banks of a {width}-byte vector" if width > BANK_BYTES else f"the bank of {width} bytes"
    colours = f"coloured by eighth of the {BANKS} banks"
    return (
        f"Each cell: {of_each}, {colours}; bold: the lanes that begin there. Column: its first element. Stage 0. "
        "Hatched: bank conflicts."
    )


def _axes(figure: Figure, corner: tuple[float, float], size: tuple[float, float]) -> Axes:
    """Add axes with a top left corner and a size in inches."""
    width, height = figure.get_size_inches()
    (left, top), (across, down) = corner, size
    return figure.add_axes((left / width, 1 - (top + down) / height, across / width, down / height))


def _rows_drawn(table: IntArray) -> int:
    """Return the rows of a map without accesses: until the pattern repeats."""
    rows = len(table)
    period = next(p for p in range(1, rows + 1) if np.array_equal(table[p:], table[: rows - p]))
    return min(rows, _MOST_ROWS, max(8, period))


class _Lanes(NamedTuple):
    """The lanes that start in each cell (row, vector) of the tile, and the first row of a map."""

    by_cell: Mapping[tuple[int, int], list[int]]
    first: int


def _draw_map(axes: Axes, report: LayoutReport, table: IntArray, shown: _Lanes, across: float) -> None:
    rows, columns = table.shape
    vector_bytes = report.vector_bytes()
    vector = vector_bytes * 8 // report.layout.element_bits
    banks = max(1, vector_bytes // BANK_BYTES)
    room = across / columns
    both = room >= _LANE_ROOM
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
        touching = shown.by_cell.get((row + shown.first, column), [])
        left, right = (0.06, 0.94) if touching else (0.5, 0.5)
        if fits(named, 7.5, room * (0.55 if touching else 1)) and (both or not touching):
            anchor = "left" if touching else "center"
            axes.text(column + left, row + 0.5, named, fontsize=7.5, color=INK, ha=anchor, va="center_baseline")
        if touching:
            every_lane = ",".join(map(str, touching))
            text = every_lane if fits(every_lane, 7.5, room * (0.45 if both else 0.9)) else f"{touching[0]}+"
            axes.text(
                column + right, row + 0.5, text, fontsize=7.5, fontweight="bold", ha="right", va="center_baseline"
            )
    every = max(1, round(0.42 / room))
    axes.set_xticks(
        [column + 0.5 for column in range(0, columns, every)], [str(c * vector) for c in range(0, columns, every)]
    )
    axes.set_yticks([row + 0.5 for row in range(rows)], [str(row + shown.first) for row in range(rows)])
    axes.tick_params(
        length=0, labelsize=7.5, labelcolor=MUTED, top=True, labeltop=True, bottom=False, labelbottom=False
    )
    for spine in axes.spines.values():
        spine.set_visible(False)
    axes.text(-0.1 / room, -0.12 / _ROW, "row", fontsize=7.5, color=MUTED, ha="right", va="center")


def _lanes_by_cell(report: LayoutReport, access: AccessReport) -> dict[tuple[int, int], list[int]]:
    """Return the lanes of an access's worst instruction that start at each (row, vector)."""
    vector = report.vector_bytes() * 8 // report.layout.element_bits
    instruction = _worst(access)
    cells: dict[tuple[int, int], list[int]] = {}
    for lane in np.flatnonzero(instruction.active).tolist():
        cell = (int(instruction.strided[lane]), int(instruction.contiguous[lane]) // vector)
        cells.setdefault(cell, []).append(lane)
    return cells


class _Instruction(NamedTuple):
    """Coordinates of the lanes of one instruction, and which are active. Each has shape (32,)."""

    contiguous: IntArray
    strided: IntArray
    active: BoolArray


def _worst(report: AccessReport) -> _Instruction:
    """Return the instruction of an access that needs the most wavefronts."""
    access = report.access
    return _Instruction(*(array[report.worst] for array in (access.contiguous, access.strided, access.active)))


def _picture(report: AccessReport) -> BankPicture:
    access = report.access
    active = access.active[report.worst]
    matrices = access.op in ("ldmatrix", "stmatrix")
    addresses = np.array([address or 0 for address in report.addresses], dtype=np.int64)
    several = f", instruction {report.worst} of {access.instructions}" if access.instructions > 1 else ""
    return BankPicture(
        title=textwrap.shorten(access.label.replace(",", ", "), 60 - len(several), placeholder=" …") + several,
        addresses=addresses,
        width_bytes=access.width_bytes,
        kind="ldmatrix" if matrices else "load" if access.op == "load" else "store",
        matrices=int(active.sum()) // 8 if matrices else 4,
        active=active,
    )


def _draw_access(figure: Figure, picture: BankPicture, row: float, corner: tuple[float, float]) -> None:
    width, height = figure.get_size_inches()
    left, top = corner
    size = (width - left - _RIGHT, row * len(wavefronts(picture)))
    draw_grid(_axes(figure, (left, top + _GRID_HEAD), size), picture, size)
    figure.text(left / width, 1 - (top + 0.12) / height, picture.title, fontsize=10, fontweight="bold", va="center")
    figure.text(left / width, 1 - (top + 0.31) / height, verdict(picture), fontsize=8.5, color=MUTED, va="center")
