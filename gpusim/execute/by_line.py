"""Adds the counts of a kernel's instructions by source line."""

from collections.abc import Sequence
from dataclasses import dataclass

from gpusim.execute.counts import InstructionCounts
from gpusim.execute.kernel_source import KernelSource
from gpusim.lower.sass.lines import SourcePlace


@dataclass(frozen=True, slots=True)
class LineCounts:
    """
    Counts of all instructions of one source line.

    Attributes:
        place: The line; None for instructions whose line is not known.
        text: The line as the source has it; None if the source is not at hand.
        rows: The instructions, by address. Inlined code belongs to the line that it was written in.
    """

    place: SourcePlace | None
    text: str | None
    rows: tuple[InstructionCounts, ...]

    @property
    def issues(self) -> int:
        """Issues of its instructions."""
        return self._total("issues")

    @property
    def lanes(self) -> int:
        """Active lanes, over all issues."""
        return self._total("lanes")

    @property
    def wavefronts(self) -> int:
        """Wavefronts in shared memory."""
        return self._total("wavefronts")

    @property
    def ideal_wavefronts(self) -> int:
        """Wavefronts that it would take without bank conflicts."""
        return self._total("ideal_wavefronts")

    @property
    def conflicts(self) -> int:
        """Wavefronts beyond the ideal ones."""
        return self.wavefronts - self.ideal_wavefronts

    @property
    def sectors(self) -> int:
        """Sectors of global memory."""
        return self._total("sectors")

    @property
    def ideal_sectors(self) -> int:
        """Sectors that hold as many bytes as are accessed."""
        return self._total("ideal_sectors")

    def _total(self, name: str) -> int:
        return sum(getattr(row, name) for row in self.rows)


def counts_by_line(rows: Sequence[InstructionCounts], source: KernelSource) -> tuple[LineCounts, ...]:
    """
    Return the counts by source line. Files are in the order of their first instruction, and lines ascend in each file.

    Args:
        rows: Counts of instructions, by address.
        source: The source of the kernel.
    """
    of_line: dict[str, dict[int, list[InstructionCounts]]] = {}
    for row in rows:
        place = source.place(row.address)
        file, line = (place.file, place.line) if place else ("", 0)
        of_line.setdefault(file, {}).setdefault(line, []).append(row)
    found = []
    for file, lines in of_line.items():
        for line in sorted(lines):
            place = SourcePlace(file, line) if file else None
            found.append(LineCounts(place, source.text(place), tuple(lines[line])))
    return tuple(found)
