"""Formats the rows of a check as text: simulated and measured figures, first the figures that must be equal."""

from collections.abc import Sequence

from gpusim.records.check import CheckRow

_HEADER = ("", "simulated", "measured", "error", "")
_MARKS = {"exact": "equal", "differs": "DIFFERS", "approximate": "", "not measured": "not measured"}


def check_table(rows: Sequence[CheckRow], *, quiet: bool = False) -> str:
    """
    Return the table as text. Whole numbers are printed whole, and errors in percent of the measured figure.

    Args:
        rows: Lines of the check.
        quiet: Keep only the rows that differ or were not measured.
    """
    shown = [row for row in rows if not quiet or row.verdict in {"differs", "not measured"}]
    cells = [_HEADER, *(_cells(row) for row in shown)]
    widths = [max(len(line[column]) for line in cells) for column in range(4)]
    lines = []
    for line in cells:
        figures = "  ".join(text.rjust(width) for text, width in zip(line[1:4], widths[1:], strict=True))
        lines.append(f"{line[0]:{widths[0]}}  {figures}  {line[4]}".rstrip())
    return "\n".join(lines)


def number(value: float | None) -> str:
    """Return a figure as text: a count with separators, another number with four significant digits, None as a dash."""
    if value is None:
        return "-"
    return f"{value:,.0f}" if float(value).is_integer() or abs(value) >= 1000 else f"{value:,.4g}"


def percent(error: float | None) -> str:
    """Return a signed relative error such as "+3.1 %", or an empty text for None."""
    return "" if error is None else f"{100 * error:+.1f} %"


def _cells(row: CheckRow) -> tuple[str, str, str, str, str]:
    if row.verdict == "not measured":
        return row.what, "", "", "", f"not measured: {row.note}"
    error = "" if row.verdict == "exact" else percent(row.error)
    remark = "; ".join(text for text in (_MARKS[row.verdict], row.note) if text)
    return row.what, number(row.simulated), number(row.measured), error, remark
