"""Draws the wavefronts of one warp-wide access as a grid: the lanes that each bank serves in each wavefront."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from matplotlib.axes import Axes

from gpusim.arrays import BoolArray, IntArray
from gpusim.layout.banks import MATRIX_ROW_BYTES, MATRIX_ROWS, STANDARD, Banks, ldmatrix_lanes, phases_at_once
from gpusim.report.style import CONFLICT, FAINT, HATCH, IDEAL, INK, LANE, MUTED, PAPER, fits, text_on
from gpusim.units import WARP_SIZE

_NAMES = {"ldgsts": "cp.async", "sts": "st.shared", "lds": "ld.shared", "atoms": "atom.shared"}

_SMALLEST = 4.5
"""Smallest font size of a label, points."""

_MARKS = 8
"""Groups of banks that are named above a grid."""

_TWO_LINES = 0.3
"""Least height of a phase, inches, that is named in two lines."""


PassKind: TypeAlias = Literal["ldmatrix", "load", "store", "atomic"]
"""Kind of a warp-wide access, which decides its phases."""


@dataclass(frozen=True, slots=True)
class BankPicture:
    """
    One warp-wide shared-memory instruction to draw.

    Attributes:
        title: Title of the grid.
        addresses: Byte address in CTA shared memory of each lane. Shape (32,).
        width_bytes: Bytes that each lane accesses: 2, 4, 8 or 16 (16 for ldmatrix).
        kind: For ``ldmatrix``, each 8x8 matrix is a phase. Otherwise the lanes of a phase fill all banks once, or twice
            if lanes of a wide ``load`` share addresses in pairs. Lanes of an ``atomic`` do not share a word: a bank
            serves them one by one.
        matrices: Number of matrices of an ldmatrix: 1, 2 or 4.
        active: Active lanes, shape (32,); None for all lanes (that supply rows of the matrices).
        banks: Banks of the shared memory.
    """

    title: str
    addresses: IntArray
    width_bytes: int
    kind: PassKind = "ldmatrix"
    matrices: int = 4
    active: BoolArray | None = None
    banks: Banks = STANDARD

    def taking_part(self) -> BoolArray:
        """Return the lanes whose address counts. Shape (32,)."""
        lanes = ldmatrix_lanes(self.matrices) if self.kind == "ldmatrix" else np.ones(WARP_SIZE, dtype=np.bool_)
        return lanes if self.active is None else lanes & self.active

    def lanes_per_phase(self) -> int:
        """Return the number of lanes that one wavefront can serve together."""
        width, most = (MATRIX_ROW_BYTES, MATRIX_ROWS) if self.kind == "ldmatrix" else (self.width_bytes, WARP_SIZE)
        at_once = phases_at_once(self.addresses, width, self.active, self.banks) if self.kind == "load" else 1
        return min(most, at_once * self.banks.row_bytes // width)


def access_title(op: str, operand: str, *, transposed: bool = False) -> str:
    """
    Return the name in pictures of an op of the bank-conflict table: its name in PTX, as ``cp.async of A``.

    Args:
        op: The op, such as ``ldgsts`` or ``ldmatrix``.
        operand: The operand that it accesses.
        transposed: Whether an ldmatrix transposes.
    """
    name = operand.upper() if len(operand) == 1 else operand
    return f"{_NAMES.get(op, op)}{'.trans' * transposed} of {name}"


@dataclass(frozen=True, slots=True)
class Cell:
    """Neighbouring banks [bank, end) that serve the same lanes in one wavefront."""

    bank: int
    end: int
    lanes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Wavefront:
    """
    One wavefront of an access.

    Attributes:
        phase: Phase of the instruction that it belongs to.
        number: Number within the phase. Every wavefront past number 0 is a bank conflict.
        cells: Banks that serve lanes, in ascending order.
    """

    phase: int
    number: int
    cells: tuple[Cell, ...]


def wavefronts(picture: BankPicture) -> tuple[Wavefront, ...]:
    """
    Assign every accessed word to a wavefront. A bank serves its distinct words in the order of their first lanes.

    The number of wavefronts equals that of ``gpusim.layout.banks.access_wavefronts``.
    """
    lanes_per_phase, own = picture.lanes_per_phase(), picture.banks
    words = max(1, picture.width_bytes // own.width)
    # phase -> bank -> word (of an atomic: and lane) -> lanes; dictionaries keep the order of first lanes.
    wanted: dict[int, dict[int, dict[tuple[int, int], list[int]]]] = {}
    apart = picture.kind == "atomic"
    for lane in np.flatnonzero(picture.taking_part()).tolist():
        first = int(picture.addresses[lane]) // own.width
        for word in range(first, first + words):
            banks = wanted.setdefault(lane // lanes_per_phase, {})
            banks.setdefault(word % own.count, {}).setdefault((word, lane if apart else 0), []).append(lane)
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
    """Describe the number of wavefronts, the ideal number and the conflicts."""
    passes = wavefronts(picture)
    extra = sum(1 for wavefront in passes if wavefront.number)
    counted = f"{len(passes)} wavefront{'s' * (len(passes) > 1)}, ideal {len(passes) - extra}"
    return f"{counted}: {extra} bank conflict{'s' * (extra > 1)}" if extra else f"{counted}: no bank conflict"


def draw_grid(axes: Axes, picture: BankPicture, inches: tuple[float, float]) -> None:
    """
    Draw each wavefront as a row over the banks. Conflicts have a colour of their own, and cells name their lanes.

    Args:
        axes: The axes to draw on.
        picture: The access.
        inches: Width and height of ``axes``; labels that do not fit are left out.
    """
    passes, count = wavefronts(picture), picture.banks.count
    axes.set_xlim(0, count)
    axes.set_ylim(len(passes), 0)
    column, row = inches[0] / count, inches[1] / len(passes)
    size = min(8.0, row * 72 * 0.58)
    narrowest = min(cell.end - cell.bank for wavefront in passes for cell in wavefront.cells) * column
    while size > _SMALLEST and not fits(f"{WARP_SIZE - 1}", size, narrowest):
        size -= 0.5
    axes.broken_barh([(0, count)], (0, len(passes)), facecolor=LANE)
    marked = max(1, count // _MARKS)
    axes.vlines(range(marked, count, marked), 0, len(passes), color=FAINT, linewidth=0.6)
    for place, wavefront in enumerate(passes):
        colour = CONFLICT if wavefront.number else IDEAL
        spans = [(cell.bank, cell.end - cell.bank) for cell in wavefront.cells]
        hatch = HATCH if wavefront.number else None
        axes.broken_barh(spans, (place, 1), facecolor=colour, edgecolor=PAPER, linewidth=0.8, hatch=hatch)
        for cell in wavefront.cells:
            label = _cell_label(cell, (cell.end - cell.bank) * column, size)
            middle = (cell.bank + cell.end) / 2
            axes.text(
                middle, place + 0.5, label, fontsize=size, color=text_on(colour), ha="center", va="center_baseline"
            )
    _label_phases(axes, picture, passes, row)
    groups = range(0, count, marked)
    named = [f"{bank}–{bank + marked - 1}" if marked > 1 else str(bank) for bank in groups]  # noqa: RUF001  # a range
    axes.set_xticks([bank + marked / 2 for bank in groups], named)
    axes.tick_params(axis="x", length=0, labelsize=7.5, pad=2, top=True, labeltop=True, bottom=False, labelbottom=False)
    for spine in axes.spines.values():
        spine.set_visible(False)


def _label_phases(axes: Axes, picture: BankPicture, passes: tuple[Wavefront, ...], row: float) -> None:
    """Name each phase and its lanes left of the grid, and draw a line between phases."""
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
        axes.hlines(starts[1:], 0, picture.banks.count, color=INK, linewidth=1.0)


def _cell_label(cell: Cell, room: float, size: float) -> str:
    """Return the lanes of a cell as text, as complete as the room (inches) allows. Cells of equal size look alike."""
    first, last = cell.lanes[0], cell.lanes[-1]
    if len(cell.lanes) == 1:
        return f"lane {first}" if fits(f"lane {WARP_SIZE - 1}", size, room) else str(first)
    if last - first == len(cell.lanes) - 1:
        words = [f"lanes {first}–{last}", f"{first}–{last}", f"{first}+"]  # noqa: RUF001  # ranges
    else:
        words = [f"lanes {','.join(map(str, cell.lanes))}", f"{first}+"]
    return next((text for text in words if fits(text, size, room)), "")
