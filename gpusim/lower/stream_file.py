"""The file format of a compiled stream: gzipped JSON, equal when read back."""

import gzip
import json
import re
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any, Final, TypeAlias, get_args

from gpusim.errors import BadInput
from gpusim.lower.registers_read import registers_read
from gpusim.lower.stream import Instruction, Segment, Stream
from gpusim.schedule.ops import Op

STREAM_SCHEMA = "gpusim.stream/1"

_PARAMETER: Final = re.compile(r"\bc\[0x0\]\[0x([0-9a-f]+)\]")
_FIRST_PARAMETER: Final = 0x140
"""Lower addresses of the constant bank hold no launch parameters, but the end of the stack, for example."""

_PARAMETER_LINE_BYTES: Final = 64
"""Line of the constant cache: reads of words 64 bytes apart all take equally long (constants.csv)."""

Kinds: TypeAlias = Mapping[str, type]

OPS: Final[Kinds] = {kind.__name__: kind for kind in get_args(Op)}
"""The ops of a tile GEMM, which are its steps."""


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
        variants: (Use of a part, number of the part), if the stream's segments are parts from which each CTA is
            assembled.
    """

    stream: Stream
    listing: tuple[tuple[Line, ...], ...]
    compiler: str
    architecture: int
    local_bytes: int
    code_bytes: int
    variants: tuple[tuple[tuple[str | int, ...], int], ...] = ()


def save_stream(path: Path, compiled: CompiledStream) -> None:
    """
    Write a stream. Equal streams give equal files.

    Parts share most of their instructions, so each distinct instruction is written once, in the order of first use. The
    code of a part is a list of runs: first row, number of rows.
    """
    codes = [
        [_row(one, line) for one, line in zip(segment.instructions, lines, strict=True)]
        for segment, lines in zip(compiled.stream.segments, compiled.listing, strict=True)
    ]
    shared = _Rows(codes) if compiled.variants else None
    data = {
        "schema": STREAM_SCHEMA,
        "compiler": compiled.compiler,
        "architecture": compiled.architecture,
        "registers_per_thread": compiled.stream.registers_per_thread,
        "local_bytes": compiled.local_bytes,
        "code_bytes": compiled.code_bytes,
        **({"run_time_extents": True} if compiled.stream.run_time_extents else {}),
        **({"variants": [[list(kind), part] for kind, part in compiled.variants]} if shared else {}),
        **({"rows": shared.rows} if shared else {}),
        "segments": [
            {
                "name": segment.name,
                "trips": segment.trips,
                "tiles_per_trip": segment.tiles_per_trip,
                "code": shared.runs(code) if shared else code,
            }
            for segment, code in zip(compiled.stream.segments, codes, strict=True)
        ],
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(json.dumps(data, separators=(",", ":")).encode(), mtime=0))


def load_stream(path: Path, kinds: Kinds = OPS) -> CompiledStream:
    """
    Read a stream.

    Args:
        path: The file.
        kinds: Classes of the steps and of their ops, by name.

    Raises:
        BadInput: The file is missing, damaged, or of another schema.
    """
    try:
        data = json.loads(gzip.decompress(path.read_bytes()))
        found = data["schema"]
        if found != STREAM_SCHEMA:
            raise BadInput(f"{path}: schema must be {STREAM_SCHEMA!r}, got {found!r}")
        return _compiled(data, kinds)
    except (OSError, EOFError, zlib.error, ValueError, LookupError, TypeError, AttributeError) as error:
        raise BadInput(f"{path}: not a readable stream ({error})") from error


class _Rows:
    """
    The distinct rows of some codes.

    Attributes:
        rows: Each once, in the order of first use.
    """

    def __init__(self, codes: Iterable[Iterable[list[Any]]]) -> None:
        self.rows: list[list[Any]] = []
        self._number: dict[str, int] = {}
        for code in codes:
            for row in code:
                if self._number.setdefault(str(row), len(self.rows)) == len(self.rows):
                    self.rows.append(row)

    def runs(self, code: Iterable[list[Any]]) -> list[list[int]]:
        """Return a code as runs of rows: number of the first row, number of rows."""
        runs: list[list[int]] = []
        for row in code:
            number = self._number[str(row)]
            if runs and number == sum(runs[-1]):
                runs[-1][1] += 1
            else:
                runs.append([number, 1])
        return runs


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
        None if op is None else _spelt(op),
        instruction.part,
    ]


def _spelt(step: Any) -> list[Any]:
    """Return a step, or its op, as the name of its class and its fields."""
    values = (getattr(step, field.name) for field in fields(step))
    return [type(step).__name__, *(_spelt(value) if is_dataclass(value) else value for value in values)]


def _step(spelt: Sequence[Any], kinds: Kinds) -> Any:
    """Return the step that ``_spelt`` wrote."""
    name, *values = spelt
    return kinds[name](*(_step(value, kinds) if isinstance(value, list) else value for value in values))


def _compiled(data: dict[str, Any], kinds: Kinds) -> CompiledStream:
    variants = tuple((tuple(kind), part) for kind, part in data.get("variants", ()))
    codes = [one["code"] for one in data["segments"]]
    if variants:
        rows = data["rows"]
        codes = [[rows[at] for first, count in code for at in range(first, first + count)] for code in codes]
    made = {id(row): _instruction(row, kinds) for code in codes for row in code}
    segments = tuple(
        Segment(
            one["name"],
            tuple(made[id(row)] for row in code),
            one["trips"],
            one["tiles_per_trip"],
            tuple(row[0] for row in code) if variants else (),
        )
        for one, code in zip(data["segments"], codes, strict=True)
    )
    listing = tuple(tuple(Line(row[0], row[1]) for row in code) for code in codes)
    return CompiledStream(
        stream=Stream(
            "compiled",
            data["registers_per_thread"],
            segments,
            run_time_extents=data.get("run_time_extents", False),
            parameter_lines=parameter_lines(listing),
        ),
        listing=listing,
        compiler=data["compiler"],
        architecture=data["architecture"],
        local_bytes=data["local_bytes"],
        code_bytes=data["code_bytes"],
        variants=variants,
    )


def parameter_lines(listing: Iterable[Iterable[Line]]) -> int:
    """Return the lines of the constant cache, at least one, that instructions read of the launch's parameters."""
    texts = {line.text for lines in listing for line in lines}
    places = {int(place, 16) for text in texts for place in _PARAMETER.findall(text)}
    return max(1, len({place // _PARAMETER_LINE_BYTES for place in places if place >= _FIRST_PARAMETER}))


def _instruction(row: Sequence[Any], kinds: Kinds) -> Instruction:
    _, text, opcode, unit, pipe, stall, write, read, wait_mask, guard, op, part = row
    named = None if op is None else _step(op, kinds)
    sources = registers_read(text) if unit == "pipe" else 0
    return Instruction(opcode, unit, pipe, stall, write, read, wait_mask, guard, named, part, sources)
