"""Writes the counts of a kernel's instructions as a table, by source line."""

from collections.abc import Iterator, Sequence

from gpusim.errors import printable
from gpusim.execute.by_line import LineCounts
from gpusim.execute.counts import InstructionCounts

HEADINGS = ("issues", "lanes", "wavefronts", "ideal", "sectors", "ideal")
LONGEST_LINE = 90
"""Characters of a source line that are shown."""


def counts_table(lines: Sequence[LineCounts]) -> list[str]:
    """
    Return the lines of the table.

    Each source line has a row of sums, and the rows of its instructions follow. The name of a file stands above its
    lines. Without line information there are only rows of instructions.
    """
    found, file = [_row("address", HEADINGS, "SASS")], ""
    for line in lines:
        if line.place is not None and line.place.file != file:
            file = line.place.file
            found.append(printable(file))
        if line.place is not None:
            text = printable((line.text or "").replace("\t", " "))
            shown = text if len(text) <= LONGEST_LINE else f"{text[: LONGEST_LINE - 3]}..."
            found.append(_row(f"{line.place.line}:", _numbers(line), shown))
        elif file:
            found.append("(no source line)")
        found += [
            _row(f"{row.address:#06x}", _numbers(row), f"  {row.text}" if file else row.text) for row in line.rows
        ]
    return found


def _numbers(counts: LineCounts | InstructionCounts) -> Iterator[str]:
    yield from (str(counts.issues), str(counts.lanes))
    shared, sectors = (counts.wavefronts, counts.ideal_wavefronts), (counts.sectors, counts.ideal_sectors)
    yield from (str(one or "") for one in (*shared, *sectors))


def _row(first: str, numbers: Iterator[str] | Sequence[str], text: str) -> str:
    return "  ".join([f"{first:>7}", *(f"{one:>10}" for one in numbers), text]).rstrip()
