"""The compiled streams that come with gpusim, found by a kernel's sources and options; needs no compiler."""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Final, TypeAlias

from gpusim.cuda.specialise import Specialisation
from gpusim.errors import BadInput
from gpusim.lower.stream_file import OPS, CompiledStream, Kinds, load_stream

SHIPPED: Final = Path(__file__).parent / "streams"
"""The folder of the streams: a folder for each machine, a file for each kernel, named after its scenario."""

INDEX: Final = SHIPPED / "index.json"
"""The file with the sources and options that each stream was compiled from."""

INDEX_SCHEMA: Final = "gpusim.stream_index/1"

StreamKey: TypeAlias = tuple[str, tuple[str, ...], int, int]
"""Source file, compiler options, target and split-K slice, which identify a stream."""


@dataclass(frozen=True, slots=True)
class ShippedStream:
    """
    One row of the index.

    Attributes:
        file: Path below ``SHIPPED``: "h200/gemm_4096.json.gz".
        source: Name of the compiled file: "kernel.cu".
        target: 10 * major + minor of the compute capability.
        slice: Split-K slice.
        compiler: Compiler of the machine code, such as "nvcc 13.0.88".
        sources: SHA-256 over the source and its headers (``Specialisation.sources``).
        code: SHA-256 of the machine code.
        options: Compiler options (``Specialisation.options``).
    """

    file: str
    source: str
    target: int
    slice: int
    compiler: str
    sources: str
    code: str
    options: tuple[str, ...]

    @property
    def key(self) -> StreamKey:
        """Key by which the stream is found."""
        return self.source, self.options, self.target, self.slice


def find_stream(kernel: Specialisation, target: int, slice_: int) -> ShippedStream | None:
    """
    Return the index row of a kernel's stream, or None if none is shipped.

    A stream compiled from other sources than the kernel's does not count.

    Raises:
        BadInput: The index is missing or damaged.
    """
    row = _rows().get((kernel.source.name, kernel.options, target, slice_))
    return None if row is None or row.sources != kernel.sources else row


def shipped_stream(kernel: Specialisation, target: int, slice_: int, kinds: Kinds = OPS) -> CompiledStream | None:
    """
    Return the shipped stream of a kernel, or None if there is none.

    Args:
        kernel: The kernel's plain build.
        target: 10 * major + minor of the compute capability.
        slice_: Split-K slice.
        kinds: Classes of the steps and of their ops, by name.

    Raises:
        BadInput: The index or the stream is missing or damaged.
    """
    row = find_stream(kernel, target, slice_)
    return None if row is None else load_stream(SHIPPED / row.file, kinds)


def save_index(path: Path, rows: Iterable[ShippedStream]) -> None:
    """Write an index, one row per line, sorted by file name; equal rows give equal bytes."""
    lines = [json.dumps(asdict(row), separators=(",", ":")) for row in sorted(rows, key=lambda row: row.file)]
    text = f'{{"schema": {json.dumps(INDEX_SCHEMA)}, "streams": [\n' + ",\n".join(lines) + "\n]}\n"
    path.write_text(text, encoding="utf-8")


def load_index(path: Path) -> tuple[ShippedStream, ...]:
    """
    Read an index.

    Raises:
        BadInput: The file is missing, damaged, or of another schema.
    """
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        found = data["schema"]
        if found != INDEX_SCHEMA:
            raise BadInput(f"{path}: schema must be {INDEX_SCHEMA!r}, got {found!r}")
        return tuple(ShippedStream(**{**row, "options": tuple(row["options"])}) for row in data["streams"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BadInput(f"{path}: not a readable index of streams ({error})") from error


@cache
def _rows() -> dict[StreamKey, ShippedStream]:
    return {row.key: row for row in load_index(INDEX)}
