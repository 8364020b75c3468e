"""Breaks text as people, programs and disks do: bytes, lines, numbers, words, ends."""

import json
import re
from random import Random
from typing import Any

NUMBER = re.compile(rb"(?<![A-Za-z_])-?\d+(?:\.\d+)?")
STRING = re.compile(rb'"[^"\n]*"')

NUMBERS = (
    *(b"0", b"-1", b"1", b"2", b"3", b"7", b"16", b"31", b"64", b"65536", b"100000", b"100000000", b"1e308", b"-0.0"),
    *(b"2147483647", b"2147483648", b"9223372036854775807", b"9223372036854775808", b"18446744073709551616"),
    *(
        b"1e400",
        b"nan",
        b"inf",
        b"-inf",
        b"0x10",
        b"1_000",
        b"9" * 400,
        b"9" * 5000,
        b"true",
        b"null",
        b"[]",
        b"{}",
        b'""',
    ),
)
WORDS = (
    *(b'""', b'"h200"', b'"t4"', b'"f16"', b'"s4"', b'"flash"', b'"pipelined"', b'"cutlass"', b'"../../etc/passwd"'),
    *(b'"padded<100000000>"', b'"padded<8>"', b'"Swizzle<9,9,9>"', b'"Swizzle<0,900,0>"', b'"Swizzle<3,3,5000>"'),
    *(
        b'"Swizzle<3,3,-3>"',
        b'"row_major"',
        b'"/dev/zero"',
        b'"\\u0000"',
        b'"\xc3\xa9\xf0\x9f\x98\x80"',
        b'"%s{0}"',
        b"0",
    ),
    *(b"[1, 2]", b'["a"]', b"{ a = 1 }", b"null", b"false", b'"' + b"x" * 3000 + b'"', b'"a\\nb"', b'"identity<8>"'),
)
BYTES = (
    b"\x00",
    b"\xff",
    b"\xef\xbb\xbf",
    b"\n",
    b"\r",
    b'"',
    b"[",
    b"]",
    b"{",
    b"}",
    b"=",
    b",",
    b"#",
    b"\\",
    b"-",
    b"." * 50,
)


def mutated(text: bytes, chance: Random) -> bytes:
    """Return a text with one to four changes."""
    for _ in range(chance.choice((1, 1, 1, 1, 2, 3))):
        text = chance.choices(CHANGES, WEIGHTS)[0](text, chance)
    return text


def _replaced(pattern: re.Pattern[bytes], others: tuple[bytes, ...], text: bytes, chance: Random) -> bytes:
    found = list(pattern.finditer(text))
    if not found:
        return text
    match = chance.choice(found)
    return text[: match.start()] + chance.choice(others) + text[match.end() :]


def _number(text: bytes, chance: Random) -> bytes:
    return _replaced(NUMBER, NUMBERS, text, chance)


def _nearby(text: bytes, chance: Random) -> bytes:
    """A number that is nearly right: doubled, halved, off by one."""
    found = [match for match in NUMBER.finditer(text) if match[0].lstrip(b"-").isdigit() and len(match[0]) < 12]
    if not found:
        return text
    match = chance.choice(found)
    value = int(match[0])
    other = chance.choice((value + 1, value - 1, 2 * value, value // 2, 8 * value, -value))
    return text[: match.start()] + str(other).encode() + text[match.end() :]


def _word(text: bytes, chance: Random) -> bytes:
    return _replaced(STRING, WORDS, text, chance)


def _other_word(text: bytes, chance: Random) -> bytes:
    """A word of the text itself, where it does not belong."""
    found = [match[0] for match in STRING.finditer(text)]
    return _replaced(STRING, tuple(found), text, chance) if found else text


def _line(text: bytes, chance: Random) -> bytes:
    lines = text.splitlines(keepends=True)
    if not lines:
        return text
    one, other = chance.randrange(len(lines)), chance.randrange(len(lines))
    match chance.randrange(3):
        case 0:
            del lines[one]
        case 1:
            lines.insert(one, lines[other])
        case _:
            lines[one], lines[other] = lines[other], lines[one]
    return b"".join(lines)


def _byte(text: bytes, chance: Random) -> bytes:
    at = chance.randrange(len(text) + 1)
    return text[:at] + bytes([chance.randrange(256)]) + text[at + chance.randrange(2) :]


def _piece(text: bytes, chance: Random) -> bytes:
    at = chance.randrange(len(text) + 1)
    return text[:at] + chance.choice(BYTES) + text[at:]


def _cut(text: bytes, chance: Random) -> bytes:
    return text[: chance.randrange(len(text) + 1)]


def _hole(text: bytes, chance: Random) -> bytes:
    at = chance.randrange(len(text) + 1)
    return text[:at] + text[at + chance.randrange(40) :]


def _deep(text: bytes, chance: Random) -> bytes:
    return _replaced(NUMBER, (b"[" * 3000, b"[" * 3000 + b"]" * 3000, b'{"a":' * 3000, b"{a=" * 500), text, chance)


def _value(text: bytes, chance: Random) -> bytes:
    """Any value of a JSON text, a table too, becomes another, or is left out; lines of JSON are texts of their own."""
    lines = text.split(b"\n") if b"}\n{" in text else [text]
    place = chance.randrange(len(lines))
    try:
        data = json.loads(lines[place])
    except (ValueError, RecursionError):
        return text
    holders = [(data, key) for key in _keys(data)]
    for holder, key in holders:
        if len(holders) < 20_000:
            holders += [(holder[key], inner) for inner in _keys(holder[key])]
    if not holders:
        return text
    holder, key = chance.choice(holders[: chance.choice((8, 40, 400, 20_000))])
    if chance.randrange(4):
        holder[key] = chance.choice(VALUES)
    else:
        del holder[key]
    lines[place] = json.dumps(data).encode()
    return b"\n".join(lines)


def _keys(data: Any) -> list[Any]:
    return list(data) if isinstance(data, dict) else list(range(len(data))) if isinstance(data, list) else []


def _nothing(_text: bytes, chance: Random) -> bytes:
    return chance.choice((b"", b"\n", b"[]", b"{}", b"null", b"\x00" * 100, b"PK\x03\x04", b"0", b'"text"'))


VALUES: tuple[Any, ...] = ({}, [], None, "", "x\x1b[31m\ny", -3, -5, 0, 1, 10**21, 1e308, True, [[]], {"": {}}, [None])
"""Values that stand in the place of others."""

CHANGES = (_number, _nearby, _word, _other_word, _line, _byte, _piece, _cut, _hole, _deep, _nothing, _value)
WEIGHTS = (20, 20, 20, 10, 10, 10, 8, 3, 5, 1, 1, 30)
