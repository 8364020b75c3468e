"""How compiled streams are kept: gzipped JSON, equal when read back, and the shipped ones found by their kernel."""

import gzip
import hashlib
import json
from collections.abc import Sequence
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any, get_args

from gpusim.errors import BadInput
from gpusim.lower.stream import Instruction, Segment, Stream
from gpusim.schedule.ops import Op

STREAM_SCHEMA = "gpusim.stream/1"
SHIPPED = Path(__file__).parent / "streams"
_OPS = {kind.__name__: kind for kind in get_args(Op)}


@dataclass(frozen=True, slots=True)
class Line:
    """
    One instruction as a disassembler writes it.

    Attributes:
        address: Byte address in the kernel's text.
        text: Guard, mnemonic and operands.
    """

    address: int
    text: str


@dataclass(frozen=True, slots=True)
class CompiledStream:
    """
    A compiled kernel's stream with what it was made from.

    Attributes:
        stream: What the SM executes.
        listing: For each segment of the stream, the lines of its instructions.
        compiler: Which compiler made the kernel, "nvcc 13.0".
        architecture: 10 * major + minor of the target.
        local_bytes: Stack of one thread: spilled registers.
        code_bytes: Size of the kernel's machine code.
    """

    stream: Stream
    listing: tuple[tuple[Line, ...], ...]
    compiler: str
    architecture: int
    local_bytes: int
    code_bytes: int


def stream_key(kernel_digest: str, architecture: int, slice_: int) -> str:
    """The name under which a stream is kept: equal for equal kernels, targets and split-K slices."""
    return hashlib.sha256(f"{STREAM_SCHEMA} {kernel_digest} sm_{architecture} {slice_}".encode()).hexdigest()[:24]


def shipped_path(kernel_digest: str, architecture: int, slice_: int) -> Path:
    """Where the stream of a kernel lies, if it comes with gpusim."""
    return SHIPPED / f"{stream_key(kernel_digest, architecture, slice_)}.json.gz"


def shipped_stream(kernel_digest: str, architecture: int, slice_: int) -> CompiledStream | None:
    """The stream of a kernel that comes with gpusim, or None where none does."""
    path = shipped_path(kernel_digest, architecture, slice_)
    return load_stream(path) if path.is_file() else None


def save_stream(path: Path, compiled: CompiledStream) -> None:
    """Write a stream; equal streams are equal bytes."""
    data = {
        "schema": STREAM_SCHEMA,
        "compiler": compiled.compiler,
        "architecture": compiled.architecture,
        "registers_per_thread": compiled.stream.registers_per_thread,
        "local_bytes": compiled.local_bytes,
        "code_bytes": compiled.code_bytes,
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
    except (OSError, EOFError, ValueError, KeyError, TypeError) as error:
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
        stream=Stream("compiled", data["registers_per_thread"], segments),
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
