"""The wavefronts of one warp-wide access as a grid: which lanes each of the 32 banks serves in each wavefront."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from matplotlib.axes import Axes

from gpusim.arrays import BoolArray, IntArray
from gpusim.layout.banks import BANK_BYTES, BANKS, MATRIX_ROW_BYTES, ldmatrix_lanes
from gpusim.report.style import CONFLICT, FAINT, IDEAL, INK, LANE, MUTED, PAPER, fits, text_on
from gpusim.units import WARP_SIZE

_SMALLEST = 4.5
"""Points of the smallest label, for cells of one bank."""

_TWO_LINES = 0.3
"""Inches a phase must be high to be named in two lines."""


@dataclass(frozen=True, slots=True)
class BankPicture:
    """
    One warp-wide shared-memory instruction to draw.

    Attributes:
        title: What it is, for a reader.
        addresses: Byte address in CTA shared memory of each lane. Shape (32,).
        width_bytes: Bytes of each lane: 2, 4, 8 or 16 (16 for ldmatrix).
        kind: ``ldmatrix``: each 8x8 matrix is a phase. Otherwise a phase has as many lanes as fill all banks once.
        matrices: Of an ldmatrix: 1, 2 or 4.
        active: Lanes that take part; all (of the matrices) if not given. Shape (32,).
    """

    title: str
    addresses: IntArray
    width_bytes: int
    kind: Literal["ldmatrix", "load", "store"] = "ldmatrix"
    matrices: int = 4
    active: BoolArray | None = None

    def taking_part(self) -> BoolArray:
        """Lanes whose address counts. Shape (32,)."""
        lanes = ldmatrix_lanes(self.matrices) if self.kind == "ldmatrix" else np.ones(WARP_SIZE, dtype=np.bool_)
        return lanes if self.active is None else lanes & self.active

    def lanes_per_phase(self) -> int:
        """Lanes served together: as many as one wavefront has bytes for."""
        width = MATRIX_ROW_BYTES if self.kind == "ldmatrix" else self.width_bytes
        return min(WARP_SIZE, BANKS * BANK_BYTES // width)


@dataclass(frozen=True, slots=True)
class Cell:
    """Neighbouring banks [bank, end) that serve the same lanes in one wavefront."""

    bank: int
    end: int
    lanes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Wavefront:
    """
    One pass of the banks.

    Attributes:
        phase: Phase of the instruction it belongs to.
        number: Number within the phase; every one past 0 is a conflict.
    """

    phase: int
    number: int
    cells: tuple[Cell, ...]


def wavefronts(picture: BankPicture) -> tuple[Wavefront, ...]:
    """
    Assign every wanted word to a wavefront: a bank serves its distinct words in the order of their first lanes.

    There are as many as ``gpusim.layout.banks.access_wavefronts`` counts.
    """
    lanes_per_phase = picture.lanes_per_phase()
    words = max(1, picture.width_bytes // BANK_BYTES)
    # phase -> bank -> word -> lanes; dictionaries keep the order of first lanes.
    wanted: dict[int, dict[int, dict[int, list[int]]]] = {}
    for lane in np.flatnonzero(picture.taking_part()).tolist():
        first = int(picture.addresses[lane]) // BANK_BYTES
        for word in range(first, first + words):
            banks = wanted.setdefault(lane // lanes_per_phase, {})
            banks.setdefault(word % BANKS, {}).setdefault(word, []).append(lane)
    found = []
    for phase, banks in sorted(wanted.items()):
        for number in range(max(len(of_bank) for of_bank in banks.values())):
            serving = {
                bank: tuple(list(of_bank.values())[number]) for bank, of_bank in banks.items() if len(of_bank) > number
            }
            found.append(Wavefront(phase, number, _cells(serving)))
    return tuple(found)


def _cells(serving: dict[int, tuple[int, ...]]) -> tuple[Cell, ...]:
    cells: list[Cell] = []
    for bank in sorted(serving):
        if cells and cells[-1].end == bank and cells[-1].lanes == serving[bank]:
            cells[-1] = Cell(cells[-1].bank, bank + 1, serving[bank])
        else:
            cells.append(Cell(bank, bank + 1, serving[bank]))
    return tuple(cells)


def verdict(picture: BankPicture) -> str:
    """Wavefronts, ideal and conflicts in words."""
    passes = wavefronts(picture)
    extra = sum(1 for wavefront in passes if wavefront.number)
    counted = f"{len(passes)} wavefront{'s' * (len(passes) > 1)}, ideal {len(passes) - extra}"
    return f"{counted}: {extra} bank conflict{'s' * (extra > 1)}" if extra else f"{counted}: no bank conflict"


def draw_grid(axes: Axes, picture: BankPicture, inches: tuple[float, float]) -> None:
    """
    Draw the wavefronts, one a row, over the 32 banks; conflicts in their colour, every cell with its lanes.

    Args:
        inches: Width and height of ``axes``, to choose labels that fit.
    """
    passes = wavefronts(picture)
    axes.set_xlim(0, BANKS)
    axes.set_ylim(len(passes), 0)
    column, row = inches[0] / BANKS, inches[1] / len(passes)
    size = min(8.0, row * 72 * 0.58)
    narrowest = min(cell.end - cell.bank for wavefront in passes for cell in wavefront.cells) * column
    while size > _SMALLEST and not fits(f"{WARP_SIZE - 1}", size, narrowest):
        size -= 0.5
    axes.broken_barh([(0, BANKS)], (0, len(passes)), facecolor=LANE)
    axes.vlines(range(4, BANKS, 4), 0, len(passes), color=FAINT, linewidth=0.6)
    for place, wavefront in enumerate(passes):
        colour = CONFLICT if wavefront.number else IDEAL
        spans = [(cell.bank, cell.end - cell.bank) for cell in wavefront.cells]
        axes.broken_barh(spans, (place, 1), facecolor=colour, edgecolor=PAPER, linewidth=0.8)
        for cell in wavefront.cells:
            label = _cell_label(cell, (cell.end - cell.bank) * column, size)
            middle = (cell.bank + cell.end) / 2
            axes.text(
                middle, place + 0.5, label, fontsize=size, color=text_on(colour), ha="center", va="center_baseline"
            )
    _label_phases(axes, picture, passes, row)
    axes.set_xticks(range(2, BANKS, 4), [f"{bank}–{bank + 3}" for bank in range(0, BANKS, 4)])  # noqa: RUF001  # a range
    axes.tick_params(axis="x", length=0, labelsize=7.5, pad=2, top=True, labeltop=True, bottom=False, labelbottom=False)
    for spine in axes.spines.values():
        spine.set_visible(False)


def _label_phases(axes: Axes, picture: BankPicture, passes: tuple[Wavefront, ...], row: float) -> None:
    """Left of the grid, each phase with its lanes; a line between phases."""
    starts = [place for place, wavefront in enumerate(passes) if wavefront.number == 0]
    ends = [*starts[1:], len(passes)]
    what, lanes = "matrix" if picture.kind == "ldmatrix" else "phase", picture.lanes_per_phase()
    lowest = min(end - start for start, end in zip(starts, ends, strict=True)) * row
    names = []
    for phase in (passes[start].phase for start in starts):
        which = f"lanes {phase * lanes}–{(phase + 1) * lanes - 1}"  # noqa: RUF001  # a range
        names.append(f"{what} {phase}\n{which}" if lowest > _TWO_LINES else f"{what} {phase}")
    axes.set_yticks([(start + end) / 2 for start, end in zip(starts, ends, strict=True)], names)
    axes.tick_params(axis="y", length=0, labelsize=7.5, labelcolor=MUTED, pad=4)
    if len(passes) > len(starts):
        axes.hlines(starts[1:], 0, BANKS, color=INK, linewidth=1.0)


def _cell_label(cell: Cell, room: float, size: float) -> str:
    """The lanes of a cell, as fully as the room in inches allows; cells of one size all in one form."""
    first, last = cell.lanes[0], cell.lanes[-1]
    if len(cell.lanes) == 1:
        return f"lane {first}" if fits(f"lane {WARP_SIZE - 1}", size, room) else str(first)
    if last - first == len(cell.lanes) - 1:
        words = [f"lanes {first}–{last}", f"{first}–{last}", f"{first}+"]  # noqa: RUF001  # ranges
    else:
        words = [f"lanes {','.join(map(str, cell.lanes))}", f"{first}+"]
    return next((text for text in words if fits(text, size, room)), "")
