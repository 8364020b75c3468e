"""
Joins the stream of an attention CTA from parts of its machine code.

A CTA's path consists of the code before its key loop, a trip for each key block, and the code after the loop. Few
properties decide a trip's instructions (``trip_kinds``), so the paths of a few CTAs contain the parts of all CTAs
(``cutter``).
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby
from typing import Final, TypeAlias

from gpusim.errors import BadInput
from gpusim.families.attention.program.step import Step
from gpusim.families.attention.tile.blocks import KeyBlock
from gpusim.lower.stream import Segment
from gpusim.lower.stream_file import CompiledStream

PartKind: TypeAlias = tuple[str | int, ...]
"""Properties that decide the instructions of a part; the first entry is "bare", "before", "block" or "after"."""

BARE: Final[PartKind] = ("bare",)
"""The whole path of a CTA that finds no query."""

NONE, WHOLE, MASKED = -1, 0, 1
"""Loop of a key block: the loop of blocks whose scores are all visible, the other loop, or none."""

OWN = 1
"""Number of a part's own key block within the part. The block below it, which flash copies next, has number 0."""


def loop_of(block: KeyBlock) -> int:
    """Return the loop of a key block."""
    return MASKED if block.masked else WHOLE


def walk_kinds(walked: Sequence[KeyBlock] | None, depth: int) -> list[PartKind]:
    """Return the kinds of all parts of a CTA's path, as ``trip_kinds``; ``walked`` is None if it finds no query."""
    return [BARE] if walked is None else trip_kinds(walked, depth)


def trip_kinds(blocks: Sequence[KeyBlock], depth: int) -> list[PartKind]:
    """
    Return the kinds of all parts of the path of a CTA that finds a query.

    A trip of the key loop depends on its loop, on the k tiles of its second GEMM, on whether it is the first or the
    last, and on the loop of the next trip, because its last instructions lead to that loop.

    Args:
        blocks: The CTA's key blocks in the order of the walk.
        depth: K extent of the second GEMM's tiles.
    """
    loops = [loop_of(block) for block in blocks]
    first, last = (loops[0], loops[-1]) if loops else (NONE, NONE)
    following = [*loops[1:], NONE][: len(loops)]
    trips: list[PartKind] = [
        ("block", loop, block.k_tiles(depth), int(number == 0), int(number + 1 == len(blocks)), then)
        for number, (block, loop, then) in enumerate(zip(blocks, loops, following, strict=True))
    ]
    return [("before", first), *trips, ("after", last)]


def moved(step: Step, key_blocks: int) -> Step:
    """Return a step of the key loop with another key block; return any other step unchanged."""
    return step if step.key_block < 0 else replace(step, key_block=step.key_block + key_blocks)


def lacks(compiled: CompiledStream, kinds: Sequence[PartKind]) -> list[PartKind]:
    """Return the kinds that a kernel's parts lack, among some kinds."""
    known = dict(compiled.variants)
    return [kind for kind in dict.fromkeys(kinds) if kind not in known]


def put_together(compiled: CompiledStream, walked: Sequence[KeyBlock] | None, depth: int) -> CompiledStream:
    """
    Return the stream of a CTA with its listing.

    Consecutive key blocks with the same part are trips of one segment.

    Args:
        compiled: The parts of the kernel.
        walked: The CTA's key blocks in the order of the walk; None for a CTA without queries.
        depth: K extent of the second GEMM's tiles.

    Raises:
        BadInput: A part is not known.
    """
    parts = dict(compiled.variants)
    kinds = walk_kinds(walked, depth)
    missing = lacks(compiled, kinds)
    if missing:
        raise BadInput(f"--stream compiled: the kernel's parts lack {', '.join(map(str, missing))}")
    if walked is None:
        return _of(compiled, [parts[BARE]], [compiled.stream.segments[parts[BARE]]])
    before, *trips, after = (parts[kind] for kind in kinds)
    first, last = (walked[0].number, walked[-1].number) if walked else (OWN, OWN)
    segments = compiled.stream.segments
    numbers, made = [before], [_at(segments[before], first)]
    for part, group in groupby(zip(walked, trips, strict=True), key=lambda pair: pair[1]):
        blocks = [block for block, _ in group]
        numbers.append(part)
        made.append(replace(_at(segments[part], blocks[0].number), trips=len(blocks), tiles_per_trip=1))
    numbers.append(after)
    made.append(_at(segments[after], last))
    return _of(compiled, numbers, made)


def _of(compiled: CompiledStream, parts: Sequence[int], segments: Sequence[Segment]) -> CompiledStream:
    """Return the stream of some segments, each made of a part. A part without instructions makes no segment."""
    listed = [
        (compiled.listing[part], segment) for part, segment in zip(parts, segments, strict=True) if segment.instructions
    ]
    stream = replace(compiled.stream, segments=tuple(segment for _, segment in listed))
    return replace(compiled, stream=stream, listing=tuple(lines for lines, _ in listed), variants=())


def _at(segment: Segment, number: int) -> Segment:
    """Return a part's segment for a key block, given by its number."""
    shift = number - OWN
    if not shift:
        return segment
    code = tuple(
        one if one.op is None or one.op.key_block < 0 else replace(one, op=moved(one.op, shift))
        for one in segment.instructions
    )
    return replace(segment, instructions=code)
