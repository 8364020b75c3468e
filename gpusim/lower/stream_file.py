"""How a compiled stream is kept: gzipped JSON, equal when read back."""

import gzip
import json
import zlib
from collections.abc import Sequence
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any, get_args

from gpusim.errors import BadInput
from gpusim.lower.stream import Instruction, Segment, Stream
from gpusim.schedule.ops import Op

STREAM_SCHEMA = "gpusim.stream/1"
_OPS = {kind.__name__: kind for kind in get_args(Op)}


@dataclass(frozen=True, slots=True)
class Line:
    """
    One instruction of a listing.

    Attributes:
        address: Byte address in the kernel's text.
        text: Guard, mnemonic and operands, as a disassembler writes them.
    """

    address: int
    text: str


@dataclass(frozen=True, slots=True)
class CompiledStream:
    """
    The stream of a compiled kernel with its listing and origin.

    Attributes:
        stream: The instructions that the SM executes.
        listing: Lines of the instructions, for each segment of the stream.
        compiler: Name and version of the compiler, such as "nvcc 13.0".
        architecture: Compute capability of the target as 10 * major + minor.
        local_bytes: Stack of one thread in bytes, which holds spilled registers.
        code_bytes: Size of the kernel's machine code.
    """

    stream: Stream
    listing: tuple[tuple[Line, ...], ...]
    compiler: str
    architecture: int
    local_bytes: int
    code_bytes: int


def save_stream(path: Path, compiled: CompiledStream) -> None:
    """Write a stream. Equal streams give equal files."""
    data = {
        "schema": STREAM_SCHEMA,
        "compiler": compiled.compiler,
        "architecture": compiled.architecture,
        "registers_per_thread": compiled.stream.registers_per_thread,
        "local_bytes": compiled.local_bytes,
        "code_bytes": compiled.code_bytes,
        **({"run_time_extents": True} if compiled.stream.run_time_extents else {}),
        "segments": [
            {
                "name": segment.name,
                "trips": segment.trips,
                "tiles_per_trip": segment.tiles_per_trip,
                "code": [_row(one, line) for one, line in zip(segment.instructions, lines, strict=True)],
            }
            for segment, lines in zip(compiled.stream.segments, compiled.listing, strict=True)
        ],
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(json.dumps(data, separators=(",", ":")).encode(), mtime=0))


def load_stream(path: Path) -> CompiledStream:
    """
    Read a stream.

    Raises:
        BadInput: The file is missing, damaged, or of another schema.
    """
    try:
        data = json.loads(gzip.decompress(path.read_bytes()))
        found = data["schema"]
        if found != STREAM_SCHEMA:
            raise BadInput(f"{path}: schema must be {STREAM_SCHEMA!r}, got {found!r}")
        return _compiled(data)
    except (OSError, EOFError, zlib.error, ValueError, LookupError, TypeError, AttributeError) as error:
        raise BadInput(f"{path}: not a readable stream ({error})") from error


def _row(instruction: Instruction, line: Line) -> list[Any]:
    op = instruction.op
    return [
        line.address,
        line.text,
        instruction.opcode,
        instruction.unit,
        instruction.pipe,
        instruction.stall,
        instruction.write_scoreboard,
        instruction.read_scoreboard,
        instruction.wait_mask,
        instruction.guard,
        None if op is None else [type(op).__name__, *astuple(op)],
        instruction.part,
    ]


def _compiled(data: dict[str, Any]) -> CompiledStream:
    segments = tuple(
        Segment(one["name"], tuple(_instruction(row) for row in one["code"]), one["trips"], one["tiles_per_trip"])
        for one in data["segments"]
    )
    return CompiledStream(
        stream=Stream(
            "compiled",
            data["registers_per_thread"],
            segments,
            run_time_extents=data.get("run_time_extents", False),
        ),
        listing=tuple(tuple(Line(row[0], row[1]) for row in one["code"]) for one in data["segments"]),
        compiler=data["compiler"],
        architecture=data["architecture"],
        local_bytes=data["local_bytes"],
        code_bytes=data["code_bytes"],
    )


def _instruction(row: Sequence[Any]) -> Instruction:
    _, _, opcode, unit, pipe, stall, write, read, wait_mask, guard, op, part = row
    named = None if op is None else _OPS[op[0]](*op[1:])
    return Instruction(opcode, unit, pipe, stall, write, read, wait_mask, guard, named, part)
