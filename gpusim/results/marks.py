"""Recognises files that gpusim has made, by their content. ``--force`` replaces only such files."""

import re
from pathlib import Path
from typing import BinaryIO, Final

MAKER: Final = "gpusim"
"""Maker of a file, in the metadata of pictures, pages and Parquet tables."""

PARQUET_KEY: Final = "made by gpusim"
"""Key in the metadata of a Parquet table."""

_PNG = b"\x89PNG\r\n\x1a\n"
_CHUNK = 8
_EDGE = 1 << 16
"""Bytes that are read at either end of a file."""

_BEGINS = tuple(
    re.compile(pattern, re.DOTALL)
    for pattern in (
        rb'\s*\{\s*"schema":\s?"gpusim\.',  # timelines, sweeps, answers
        rb'\{"point": ',  # the journal of a sweep
        rb'\s*\{\s*"version": "[^"]*",\s*"commit": [^{}]*"stream": ',  # the manifest of a run
        rb'\s*\{\s*"half": "(?:development|held-out)",\s*"gpu": "',  # the data of a validation
        rb"# Validation, (?:development|held-out) half, ",  # its page
        rb"# gpusim: ",  # the resolved scenario of a run, a baseline
        rb"### gpusim: ",  # the table of check-perf
        rb"(?:# [^\n]*\n)*# gpusim: ",  # the rows of a benchmark, below their provenance
        rb"Kanata\t\d+\n.*?\nL\t0\t0\tgpusim ",
        rb"<!DOCTYPE html>.{0,2000}?<meta name=\"generator\" content=\"gpusim\">",
        rb"<\?xml.{0,6000}?<dc:title>gpusim</dc:title>",  # SVG
        rb"(?:[mnkhwpqrs],)+([mnkcpq])0(?:,\1\d+)*\n",  # a tensor
        rb"[^\n]*,cycles,(?:[^\n]*,)?error\r?\n",  # the table of a sweep
    )
)
_SAYS = {
    b"%PDF-": b"/Creator (gpusim)",
    b"\n": b"gpusim, 1 ns = 1 cycle",  # a Perfetto trace
    b"PAR1": PARQUET_KEY.encode(),
    b"{": b'"schema": "gpusim.',  # results and records, whose schema is their last key
}
"""For each file format: the first bytes, and the mark near the begin or end of a file that gpusim has made."""


def is_made_by_gpusim(path: Path) -> bool:
    """
    Return whether a file has the form and the mark of one that gpusim has made.

    False if the file cannot be read.
    """
    try:
        with path.open("rb") as file:
            head = file.read(_EDGE)
            if head.startswith(_PNG):
                file.seek(len(_PNG))
                return _is_our_png(file)
            size = file.seek(0, 2)
            file.seek(max(0, size - _EDGE))
            ends = head + file.read()
    except OSError:
        return False
    said = any(head.startswith(begin) and mark in ends for begin, mark in _SAYS.items())
    return said or any(begin.match(head) for begin in _BEGINS)


def _is_our_png(file: BinaryIO) -> bool:
    """Look for the maker in the chunks before the picture's data."""
    while len(head := file.read(_CHUNK)) == _CHUNK and head[4:] != b"IDAT":
        content = file.read(int.from_bytes(head[:4], "big"))
        if head[4:] == b"tEXt" and content == b"Software\0" + MAKER.encode():
            return True
        file.seek(4, 1)
    return False
