"""
Reads DWARF line programs of versions 2 to 4: bytes to rows of address, file and line. This module knows no ELF file.

NVIDIA's compilers write version 2, with one extended opcode of their own (``INLINED_CALL``). pyelftools skips that
opcode's operands, so it cannot tell which call a line was inlined at.

Source: DWARF Debugging Information Format 2.0, section 6.2; `INLINED_CALL` from tables that ptxas wrote.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple

VERSIONS: Final = (2, 3, 4)
FIRST_VERSION_WITH_OPERATIONS: Final = 4
"""Version from which the header has the most operations of an instruction."""

COPY, ADVANCE_PC, ADVANCE_LINE, SET_FILE, SET_COLUMN, _, _, CONST_ADD_PC, FIXED_ADVANCE_PC = range(1, 10)
"""Standard opcodes."""

EXTENDED: Final = 0
END_SEQUENCE, SET_ADDRESS, DEFINE_FILE = 1, 2, 3
"""Extended opcodes."""

INLINED_CALL: Final = 0x90
"""
Extended opcode: the following rows are of an inlined function.

Operands: the row of the call, counted from 1 in the sequence, and the place of the function's name in .debug_str. Row 0
means that the following rows are not inlined.
"""

LONGEST_NUMBER: Final = 10
"""Bytes of the longest LEB128 number: 64 bits."""


class DamagedTable(ValueError):
    """A line program that cannot be read; the message says why."""


class ListedFile(NamedTuple):
    """
    A file of a line program's header.

    Attributes:
        name: Its path: the folder and the name, joined by "/".
        size: Bytes that it had when it was compiled; 0 if that is not known.
    """

    name: str
    size: int


@dataclass(frozen=True, slots=True)
class LineRow:
    """
    One row: the code from its address to the next row's is of its line.

    Attributes:
        address: Byte address from the beginning of the sequence's symbol.
        file: Number of the file, from 1. Tables of PTX lines have 0.
        line: Number of the line, from 1.
        call: Row of the call that this code was inlined at, from 1 in the sequence; 0 if it is not inlined.
        function: Place of the inlined function's name in .debug_str.
    """

    address: int
    file: int
    line: int
    call: int
    function: int


@dataclass(slots=True)
class LineSequence:
    """
    The rows of one function.

    Attributes:
        files: The files of its header.
        at: Byte of the section at which the address of its first row stands; a relocation of this byte has the symbol.
        rows: Its rows.
        end: Byte address behind its code.
    """

    files: tuple[ListedFile, ...]
    at: int = -1
    rows: list[LineRow] = field(default_factory=list)
    end: int = 0


class _Bytes:
    """A part of a section that is read from its beginning to its end."""

    def __init__(self, data: bytes, at: int, end: int) -> None:
        self.data, self.at, self.end = data, at, end

    @property
    def empty(self) -> bool:
        return self.at >= self.end

    def take(self, count: int) -> bytes:
        if not 0 <= count <= self.end - self.at:
            raise DamagedTable(f"{count} bytes at {self.at} go beyond its end")
        self.at += count
        return self.data[self.at - count : self.at]

    def number(self, size: int) -> int:
        return int.from_bytes(self.take(size), "little")

    def unsigned(self) -> int:
        value = 0
        for place in range(LONGEST_NUMBER):
            byte = self.number(1)
            value |= (byte & 0x7F) << 7 * place
            if byte < 0x80:
                return value
        raise DamagedTable(f"a number at {self.at} is too long")

    def signed(self) -> int:
        begin = self.at
        value = self.unsigned()
        bits = 7 * (self.at - begin)
        return value - (1 << bits) if value >> bits - 1 else value

    def text(self) -> str:
        stop = self.data.find(b"\0", self.at, self.end)
        if stop < 0:
            raise DamagedTable(f"a name at {self.at} has no end")
        return self.take(stop + 1 - self.at)[:-1].decode(errors="replace")


@dataclass(frozen=True, slots=True)
class _Header:
    """What a line program's header says of its opcodes."""

    address_step: int
    line_base: int
    line_range: int
    opcode_base: int
    operands: bytes


@dataclass(slots=True)
class _Registers:
    """The state machine's registers."""

    address: int = 0
    file: int = 1
    line: int = 1
    call: int = 0
    function: int = 0


def line_sequences(section: bytes) -> Iterator[LineSequence]:
    """
    Yield the sequences of all line programs in a section, but of those of other versions.

    Args:
        section: .debug_line or .nv_debug_line_sass.

    Raises:
        DamagedTable: A program is cut short, or refers to what is not there.
    """
    whole = _Bytes(section, 0, len(section))
    while not whole.empty:
        size = whole.number(4)
        begin = whole.at
        whole.take(size)
        yield from _program(_Bytes(section, begin, begin + size))


def _program(read: _Bytes) -> Iterator[LineSequence]:
    version = read.number(2)
    if version not in VERSIONS:
        return
    header_end = read.number(4) + read.at
    address_step = read.number(1)
    read.take(2 if version >= FIRST_VERSION_WITH_OPERATIONS else 1)
    base, line_range, opcode_base = read.number(1), read.number(1), read.number(1)
    if not line_range or not opcode_base:
        raise DamagedTable("the range of lines and the first special opcode must be positive")
    line_base = base - 256 if base >= 128 else base
    header = _Header(address_step, line_base, line_range, opcode_base, read.take(opcode_base - 1))
    files = _files(read)
    if not read.at <= header_end <= read.end:
        raise DamagedTable("the header's length is wrong")
    read.at = header_end
    yield from _sequences(read, header, files)


def _files(read: _Bytes) -> tuple[ListedFile, ...]:
    folders, files = [""], []
    while folder := read.text():
        folders.append(folder)
    while name := read.text():
        number, _, size = (read.unsigned() for _ in range(3))
        if number >= len(folders):
            raise DamagedTable(f"folder {number} is not in the header")
        alone = not folders[number] or name.startswith("/")
        files.append(ListedFile(name if alone else f"{folders[number]}/{name}", size))
    return tuple(files)


def _sequences(read: _Bytes, header: _Header, files: tuple[ListedFile, ...]) -> Iterator[LineSequence]:
    sequence, now = LineSequence(files), _Registers()
    while not read.empty:
        opcode = read.number(1)
        if opcode >= header.opcode_base:
            step, line = divmod(opcode - header.opcode_base, header.line_range)
            now.address += step * header.address_step
            now.line += header.line_base + line
            _append(sequence, now)
        elif opcode == EXTENDED:
            size = read.unsigned()
            content = _Bytes(read.data, read.at, read.at + len(read.take(size)))
            if _extended(content, sequence, now):
                yield sequence
                sequence, now = LineSequence(files), _Registers()
        else:
            _standard(read, opcode, header, sequence, now)


def _extended(read: _Bytes, sequence: LineSequence, now: _Registers) -> bool:
    """Execute an extended opcode; return whether it ends the sequence."""
    if read.empty:
        return False
    opcode = read.number(1)
    if opcode == END_SEQUENCE:
        sequence.end = now.address
    elif opcode == SET_ADDRESS:
        if not sequence.rows:
            sequence.at = read.at
        now.address = read.number(min(8, read.end - read.at))
    elif opcode == INLINED_CALL:
        now.call, now.function = read.unsigned(), read.unsigned()
        if now.call > len(sequence.rows):
            raise DamagedTable(f"row {now.call} of a call is not in the table")
    elif opcode == DEFINE_FILE:
        raise DamagedTable("a file outside of the header is not read")
    return opcode == END_SEQUENCE


def _standard(read: _Bytes, opcode: int, header: _Header, sequence: LineSequence, now: _Registers) -> None:
    if opcode == COPY:
        _append(sequence, now)
    elif opcode == ADVANCE_PC:
        now.address += read.unsigned() * header.address_step
    elif opcode == ADVANCE_LINE:
        now.line += read.signed()
    elif opcode == SET_FILE:
        now.file = read.unsigned()
    elif opcode == CONST_ADD_PC:
        now.address += (255 - header.opcode_base) // header.line_range * header.address_step
    elif opcode == FIXED_ADVANCE_PC:
        now.address += read.number(2)
    else:
        # The other opcodes set columns and statements.
        for _ in range(header.operands[opcode - 1]):
            read.unsigned()


def _append(sequence: LineSequence, now: _Registers) -> None:
    if now.file > len(sequence.files) or now.line < 0:
        raise DamagedTable(f"a row has file {now.file} and line {now.line}")
    sequence.rows.append(LineRow(now.address, now.file, now.line, now.call, now.function))
