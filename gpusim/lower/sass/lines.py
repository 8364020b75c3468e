"""Tells the source line and the PTX line of a kernel's instructions, from the line tables that ``-lineinfo`` adds."""

from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from gpusim.errors import BadInput
from gpusim.lower.sass.cubin import RelocatedSection, read_sections
from gpusim.lower.sass.line_program import DamagedTable, LineSequence, line_sequences

PlaceT = TypeVar("PlaceT")

SOURCE_TABLE, PTX_TABLE, NAMES, PTX_TEXT = ".debug_line", ".nv_debug_line_sass", ".debug_str", ".nv_debug_ptx_txt"
"""Sections: machine code to source lines, machine code to PTX lines, names of functions, the PTX."""

MOST_CALLS = 200
"""Longest chain of inlined calls. A longer one is taken for damage."""


@dataclass(frozen=True, slots=True)
class SourcePlace:
    """
    A line of a source.

    Attributes:
        file: Path of the source, as the compiler had it.
        line: Number of the line, from 1.
        function: Name of the function that the line is inlined from, mangled; None if it is not inlined or has no name.
        caller: Place of the call at which it is inlined.
    """

    file: str
    line: int
    function: str | None = None
    caller: "SourcePlace | None" = None

    @property
    def name(self) -> str:
        """The source's name without its folder."""
        return self.file.replace("\\", "/").rpartition("/")[2]

    def __str__(self) -> str:
        return f"{self.name}:{self.line}"


@dataclass(frozen=True, slots=True)
class LineTable:
    """
    The lines of a kernel's instructions. An empty table has no line of any.

    Attributes:
        addresses: Byte addresses in the kernel's text at which a source line begins, ascending.
        places: The source line from there on; None behind the end of a function.
        ptx_addresses, ptx_lines: The same for numbers of PTX lines, from 1.
        ptx: Lines of the PTX.
        sizes: Bytes of each source when it was compiled, by path; 0 if they are not known.
    """

    addresses: tuple[int, ...] = ()
    places: tuple[SourcePlace | None, ...] = ()
    ptx_addresses: tuple[int, ...] = ()
    ptx_lines: tuple[int | None, ...] = ()
    ptx: tuple[str, ...] = field(default=(), repr=False)
    sizes: Mapping[str, int] = field(default_factory=dict)

    def at(self, address: int) -> SourcePlace | None:
        """Return the source line of the instruction at an address; None if the table has none."""
        found = bisect_right(self.addresses, address)
        return self.places[found - 1] if found else None

    def ptx_line(self, address: int) -> int | None:
        """Return the PTX line of the instruction at an address; None if the table has none."""
        found = bisect_right(self.ptx_addresses, address)
        return self.ptx_lines[found - 1] if found else None


def read_lines(data: bytes, kernel: str, where: str) -> LineTable:
    """
    Read the line tables of one kernel of a cubin.

    Args:
        data: Bytes of the file.
        kernel: Name of the kernel in the symbol table.
        where: Name of the file in error messages.

    Returns:
        The lines. The table is empty if the cubin was compiled without ``-lineinfo``.

    Raises:
        BadInput: The file is not a cubin, or a table is damaged.
    """
    sections = read_sections(data, (SOURCE_TABLE, PTX_TABLE, NAMES, PTX_TEXT), where)
    names = sections[NAMES].data if NAMES in sections else b""
    try:
        source = list(_own_sequences(sections.get(SOURCE_TABLE), kernel))
        ptx = list(_own_sequences(sections.get(PTX_TABLE), kernel))
        places = _sorted([one for base, sequence in source for one in _places(base, sequence, names)])
        lines = _sorted([one for base, sequence in ptx for one in _numbers(base, sequence)])
    except DamagedTable as error:
        raise BadInput(f"{where}: the line table is damaged: {error}") from error
    text = tuple(sections[PTX_TEXT].data.decode(errors="replace").split("\0")) if PTX_TEXT in sections else ()
    sizes = {file.name: file.size for _, sequence in source for file in sequence.files}
    return LineTable(
        addresses=tuple(address for address, _ in places),
        places=tuple(place for _, place in places),
        ptx_addresses=tuple(address for address, _ in lines),
        ptx_lines=tuple(line for _, line in lines),
        ptx=text,
        sizes=sizes,
    )


def _own_sequences(section: RelocatedSection | None, kernel: str) -> Iterator[tuple[int, LineSequence]]:
    """Yield the sequences of a kernel's text, each with the address of its symbol there."""
    if section is None:
        return
    for sequence in line_sequences(section.data):
        text, base = section.targets.get(sequence.at, ("", 0))
        if text == f".text.{kernel}" and sequence.rows:
            yield base, sequence


def _places(base: int, sequence: LineSequence, names: bytes) -> Iterator[tuple[int, SourcePlace | None]]:
    made: list[SourcePlace] = []
    depths: list[int] = []
    for row in sequence.rows:
        caller = made[row.call - 1] if row.call else None
        depths.append(depths[row.call - 1] + 1 if row.call else 0)
        if depths[-1] > MOST_CALLS:
            raise DamagedTable(f"more than {MOST_CALLS} calls are inlined into each other")
        if not row.file:
            raise DamagedTable("a row has no file")
        function = _name(names, row.function) if row.call else None
        made.append(SourcePlace(sequence.files[row.file - 1].name, row.line, function, caller))
        yield base + row.address, made[-1]
    yield base + sequence.end, None


def _numbers(base: int, sequence: LineSequence) -> Iterator[tuple[int, int | None]]:
    for row in sequence.rows:
        yield base + row.address, row.line
    yield base + sequence.end, None


def _name(names: bytes, place: int) -> str | None:
    stop = names.find(b"\0", place)
    return names[place:stop].decode(errors="replace") or None if 0 <= place < stop else None


def _sorted(begins: list[tuple[int, PlaceT | None]]) -> list[tuple[int, PlaceT | None]]:
    """Return by address what begins there: of several, the last, and the end of a function only if nothing begins."""
    ordered = sorted(begins, key=lambda begin: (begin[0], begin[1] is not None))
    return list(dict(ordered).items())
