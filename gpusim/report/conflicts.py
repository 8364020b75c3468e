"""Draws the bank-conflict picture: wavefronts of chosen accesses lane by lane, and the run's totals."""

from collections.abc import Sequence

from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from gpusim.report.bank_grid import BankPicture, access_title, draw_grid, verdict, wavefronts
from gpusim.report.captions import Words, footer, headline
from gpusim.report.style import CONFLICT, FAINT, HATCH, IDEAL, LANE, MUTED, PAPER, Canvas, sheet, title_block
from gpusim.results.result import BankConflicts, Result

_WIDTH, _LEFT, _RIGHT, _TOP, _BOTTOM = 14.0, 1.0, 0.25, 0.85, 0.35
_HEAD, _BETWEEN, _BAR = 0.62, 0.22, 0.30
_ABREAST = 3
"""Accesses side by side; more are not legible."""


def conflict_picture(result: Result, words: Words, pictures: Sequence[BankPicture], canvas: Canvas) -> Canvas:
    """
    Draw one access of each of ``pictures``, three side by side, above the run's bank-conflict rows.

    A row of a grid is a wavefront, a column is a bank. The first wavefront of a phase is ideal. Every further one is a
    conflict: it is hatched, and shows the lanes that it serves late.

    Conflicts of atomics are in the rows but not in the title: their lanes access one word, so no layout avoids them.

    Args:
        result: The run, which has the bank-conflict rows.
        words: Description of its scenario.
        pictures: Accesses in the order in which they are drawn, the worst first.
        canvas: The file to write, or the figure to draw into.
    """
    rows = [pictures[start : start + _ABREAST] for start in range(0, len(pictures), _ABREAST)]
    passes = [max(len(wavefronts(picture)) for picture in row) for row in rows]
    pass_height = min(0.42, max(0.17, 4.2 / max(passes, default=1)))
    heights = [_HEAD + count * pass_height for count in passes]
    bars = _HEAD + _BAR * len(result.bank_conflicts)
    height = _TOP + sum(heights) + _BETWEEN * max(1, len(rows)) + bars + _BOTTOM
    with sheet(canvas, _WIDTH, height) as figure:
        top = _TOP
        for row, down in zip(rows, heights, strict=True):
            for place, picture in enumerate(row):
                _draw_access(figure, picture, (place, len(rows[0])), top, pass_height)
            top += down + _BETWEEN
        _draw_totals(figure, result.bank_conflicts)
        extra = sum(total.conflicts for total in result.bank_conflicts if total.op != "atoms")
        atomics = sum(total.conflicts for total in result.bank_conflicts if total.op == "atoms")
        title = (
            f"Shared-memory bank conflicts: {extra:,} wavefronts beyond the ideal"
            if extra
            else f"Shared memory: no bank conflict{', but atomics that meet at a word' if atomics else ''}"
        )
        title_block(figure, headline(words, title), [f"{words.problem}; {words.kernel}"], footer(result))
    return canvas


def _draw_access(figure: Figure, picture: BankPicture, column: tuple[int, int], under: float, row: float) -> None:
    """Draw one access in one of the columns, ``under`` inches below the top, ``row`` inches for each wavefront."""
    width, height = figure.get_size_inches()
    place, count = column
    pitch = (width - _RIGHT) / count
    left, across = place * pitch + _LEFT, pitch - _LEFT - 0.1
    down = row * len(wavefronts(picture))
    top = under + _HEAD
    axes = figure.add_axes((left / width, 1 - (top + down) / height, across / width, down / height))
    draw_grid(axes, picture, (across, down))
    figure.text(left / width, 1 - (under + 0.12) / height, picture.title, fontsize=10, fontweight="bold", va="center")
    figure.text(left / width, 1 - (under + 0.31) / height, verdict(picture), fontsize=8.5, color=MUTED, va="center")
    figure.text(
        (left - 0.08) / width, 1 - (under + 0.52) / height, "bank", fontsize=7.5, color=MUTED, ha="right", va="center"
    )


def _draw_totals(figure: Figure, rows: Sequence[BankConflicts]) -> None:
    """Draw the grid's wavefronts by operation: the ideal number, then the conflicts."""
    if not rows:
        return
    width, height = figure.get_size_inches()
    left, bars = 1.75, _BAR * len(rows)
    across = width - left - 4.1
    figure.text(
        0.18 / width,
        (_BOTTOM + bars + 0.30) / height,
        "Wavefronts, whole grid",
        fontsize=10,
        fontweight="bold",
        va="center",
    )
    y = (_BOTTOM + bars + 0.30) / height
    for x, colour, name in ((left + 0.7, IDEAL, "ideal"), (left + 1.45, CONFLICT, "conflicts")):
        hatch = HATCH if colour == CONFLICT else None
        corner, across_key = ((x - 0.14) / width, y - 0.06 / height), 0.14 / width
        figure.add_artist(Rectangle(corner, across_key, 0.12 / height, facecolor=colour, edgecolor=PAPER, hatch=hatch))
        figure.text((x + 0.06) / width, y, name, fontsize=8.5, color=MUTED, va="center")
    axes = figure.add_axes((left / width, _BOTTOM / height, across / width, bars / height))
    longest = max(row.wavefronts for row in rows) or 1
    places = range(len(rows))
    axes.barh(places, [longest] * len(rows), 0.66, color=LANE)
    axes.barh(places, [row.ideal_wavefronts for row in rows], 0.66, color=IDEAL)
    lefts = [row.ideal_wavefronts for row in rows]
    late = [row.conflicts for row in rows]
    axes.barh(places, late, 0.66, left=lefts, color=CONFLICT, edgecolor=PAPER, linewidth=0, hatch=HATCH)
    for place, row in zip(places, rows, strict=True):
        way = row.wavefronts / row.ideal_wavefronts if row.ideal_wavefronts else 0.0
        text = f"{row.wavefronts:,}, ideal {row.ideal_wavefronts:,}"
        text += f": {row.conflicts:,} conflicts ({way:.3g}-way)" if row.conflicts else ": no conflict"
        axes.text(longest * 1.01, place, text, fontsize=8.5, va="center_baseline")
    axes.set_xlim(0, longest)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.set_yticks(list(places), [access_title(row.op, row.operand) for row in rows])
    axes.tick_params(axis="y", length=0, labelsize=8.5)
    axes.set_xticks([])
    for side, spine in axes.spines.items():
        spine.set_visible(side == "left")
        spine.set_color(FAINT)
