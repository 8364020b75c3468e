"""Changes cubins as disks, tools and attackers do: bits, ends, tables, instruction words; knows no kernel's meaning."""

import struct
from collections.abc import Callable
from random import Random
from typing import Final, TypeAlias

from gpusim.lower.sass.cubin import ELF_HEADER, SECTION_HEADER
from gpusim.lower.stream import INSTRUCTION_BYTES

ABSURD: Final = (
    *(0, 1, 2, 3, 4, 7, 8, 15, 16, 17, 63, 64, 255, 256, 0x7FFF, 0x8000, 0xFFFF, 1 << 16, 1 << 20, 1 << 28),
    *((1 << 31) - 1, 1 << 31, (1 << 32) - 1, 1 << 32, 1 << 40, (1 << 63) - 1, 1 << 63, (1 << 64) - 1),
)
"""Numbers at which programs go wrong."""

_FORMATS: Final = ("<B", "<H", "<I", "<Q")

CubinChange: TypeAlias = Callable[[bytearray, Random], None]


def mutated(data: bytes, other: bytes, chance: Random) -> bytes:
    """
    Return a cubin with one to three changes.

    Args:
        data: The cubin.
        other: Another one, parts of which may be copied into it.
        chance: Draws the changes.
    """
    changed = bytearray(data)
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        change = chance.choices((*CHANGES, None), (*WEIGHTS, 2))[0]
        if change is None:
            _splice(changed, other, chance)
        elif changed:
            change(changed, chance)
    return bytes(changed)


def sections_of(data: bytes | bytearray) -> list[tuple[int, int, int]]:
    """Return the sections of a file: the place of its header, its offset and its size; those that make no sense not."""
    if len(data) < ELF_HEADER.size:
        return []
    header = ELF_HEADER.unpack_from(data)
    found = []
    for number in range(min(header[12], 4096)):
        at = header[6] + number * SECTION_HEADER.size
        if at + SECTION_HEADER.size > len(data):
            break
        section = SECTION_HEADER.unpack_from(data, at)
        if section[5] and section[4] + section[5] <= len(data):
            found.append((at, section[4], section[5]))
    return found


def _code(data: bytearray, chance: Random) -> tuple[int, int] | None:
    """Return the place of an instruction, and how many there are; None if the file has no code any more."""
    texts = []
    for at, offset, size in sections_of(data):
        flags = SECTION_HEADER.unpack_from(data, at)[2]
        if flags & 4 and size >= INSTRUCTION_BYTES:
            texts.append((offset, size // INSTRUCTION_BYTES))
    if not texts:
        return None
    offset, count = chance.choice(texts)
    return offset + chance.randrange(count) * INSTRUCTION_BYTES, count


def _flip(data: bytearray, chance: Random) -> None:
    data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)


def _number(data: bytearray, chance: Random) -> None:
    _write(data, chance.randrange(len(data)), chance)


def _write(data: bytearray, at: int, chance: Random) -> None:
    form = chance.choice(_FORMATS)
    size = struct.calcsize(form)
    if at + size <= len(data):
        struct.pack_into(form, data, at, chance.choice(ABSURD) & (1 << 8 * size) - 1)


def _cut(data: bytearray, chance: Random) -> None:
    del data[chance.randrange(len(data)) :]


def _gap(data: bytearray, chance: Random) -> None:
    at = chance.randrange(len(data))
    del data[at : at + chance.choice((1, 4, 16, 64, 1000))]


def _splice(data: bytearray, other: bytes, chance: Random) -> None:
    size = chance.choice((1, 8, 16, 64, 256, 4096))
    begin = chance.randrange(max(len(other) - size, 1))
    at = chance.randrange(len(data) + 1)
    data[at : at + (size if chance.random() < 0.8 else 0)] = other[begin : begin + size]


def _header(data: bytearray, chance: Random) -> None:
    _write(data, chance.randrange(min(ELF_HEADER.size, len(data))), chance)


def _section_header(data: bytearray, chance: Random) -> None:
    sections = sections_of(data)
    if sections:
        _write(data, chance.choice(sections)[0] + chance.choice((0, 4, 8, 16, 24, 32, 40, 44, 48, 56)), chance)


def _table(data: bytearray, chance: Random) -> None:
    """CubinChange a number in a small section: symbols, attributes, constants, relocations."""
    sections = [one for one in sections_of(data) if one[2] <= 4096]
    if sections:
        _, offset, size = chance.choice(sections)
        _write(data, offset + chance.randrange(size), chance)


def _instruction_bit(data: bytearray, chance: Random) -> None:
    found = _code(data, chance)
    if found is not None:
        bit = chance.randrange(8 * INSTRUCTION_BYTES)
        data[found[0] + bit // 8] ^= 1 << bit % 8


def _register(data: bytearray, chance: Random) -> None:
    """CubinChange a field of eight bits in which an instruction names a register."""
    found = _code(data, chance)
    if found is not None:
        data[found[0] + chance.choice((2, 3, 4, 8))] = chance.choice(
            (0, 1, 127, 252, 253, 254, 255, chance.randrange(256))
        )


def _opcode(data: bytearray, chance: Random) -> None:
    found = _code(data, chance)
    if found is not None:
        opcode = chance.randrange(1 << 12)
        data[found[0]] = opcode & 0xFF
        data[found[0] + 1] = data[found[0] + 1] & 0xF0 | opcode >> 8


def _instruction_moved(data: bytearray, chance: Random) -> None:
    one, other = _code(data, chance), _code(data, chance)
    if one is not None and other is not None:
        data[one[0] : one[0] + INSTRUCTION_BYTES] = data[other[0] : other[0] + INSTRUCTION_BYTES]


def _word(data: bytearray, chance: Random) -> None:
    found = _code(data, chance)
    if found is not None:
        _write(data, found[0] + chance.choice((0, 2, 3, 4, 8, 9, 10, 12)), chance)


CHANGES: Final[tuple[CubinChange, ...]] = (
    *(_flip, _number, _cut, _gap, _header, _section_header, _table),
    *(_instruction_bit, _register, _opcode, _instruction_moved, _word),
)
WEIGHTS: Final = (2, 2, 1, 1, 2, 4, 3, 12, 8, 4, 6, 6)
"""How often each change is drawn: most in code, where it is read furthest."""
