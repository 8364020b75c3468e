"""Finds the source lines of a kernel's instructions, and their text if the source is at hand and unchanged."""

from dataclasses import dataclass, field
from pathlib import Path

from gpusim.lower.sass.lines import LineTable, SourcePlace

LARGEST_SOURCE = 1 << 24
"""Bytes of the largest source that is read."""


@dataclass(frozen=True, slots=True)
class KernelSource:
    """
    The source of a kernel.

    Attributes:
        table: The lines of its instructions.
        folder: Folder of the file that the kernel was read from. A source is looked for there first.
    """

    table: LineTable = field(default_factory=LineTable)
    folder: Path | None = None
    _read: dict[str, tuple[str, ...]] = field(default_factory=dict, compare=False, repr=False)

    def place(self, address: int) -> SourcePlace | None:
        """Return the source line of the instruction at an address, if that is known."""
        return self.table.at(address)

    def text(self, place: SourcePlace | None) -> str | None:
        """Return a source line without its indentation; None if the source is not at hand."""
        if place is None:
            return None
        if place.file not in self._read:
            self._read[place.file] = self._lines_of(place)
        lines = self._read[place.file]
        return lines[place.line - 1].strip() if 1 <= place.line <= len(lines) else None

    def trail(self, address: int) -> str:
        """Return an instruction's source line, and the calls that it is inlined at: "k.cu:3". Empty if unknown."""
        place = self.place(address)
        names = []
        while place is not None:
            names.append(str(place))
            place = place.caller
        return ", inlined at ".join(names)

    def _lines_of(self, place: SourcePlace) -> tuple[str, ...]:
        """Return all lines of a source; none if no file has the source's name and its size when it was compiled."""
        size = self.table.sizes.get(place.file, 0)
        for path in ([self.folder / place.name] if self.folder else []) + [Path(place.file)]:
            try:
                held = path.stat().st_size if path.is_file() else -1
                if held == size or (not size and 0 <= held <= LARGEST_SOURCE):
                    return tuple(path.read_text(encoding="utf-8", errors="replace").splitlines())
            except (OSError, ValueError):
                continue
        return ()
