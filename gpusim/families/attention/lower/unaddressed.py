"""Names the instructions of attention that access no memory: shuffles by lane mask, MUFU by function."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Literal, TypeAlias

from gpusim.errors import CheckFailed
from gpusim.families.attention.program import softmax
from gpusim.families.attention.program.step import Step
from gpusim.families.attention.schedule import mufu_of
from gpusim.families.attention.tile.shape import AttentionShape
from gpusim.lower.aligned import ExecutedWarp, OpPart
from gpusim.lower.sass.decode import Sass
from gpusim.lower.sass.operands import Immediate

Function: TypeAlias = Literal["EX2", "RCP", "LG2"]

_Group: TypeAlias = tuple[str, int | str]
"""Opcode, and the lane mask of a shuffle or the function of a MUFU."""


def name_unaddressed(
    code: Sequence[Sass], executed: ExecutedWarp, named: list[OpPart | None], shape: AttentionShape
) -> None:
    """
    Assign steps to shuffles and MUFUs: within each kind, in the order of the schedule.

    The compiler moves these instructions past barriers and between rows, and their operands do not tell the row.

    Args:
        code: The kernel's machine code.
        executed: Instructions that one warp executed.
        named: The step of each executed instruction, to be completed.
        shape: Tiles of the kernel.

    Raises:
        CheckFailed: The warp executes more or fewer of a kind than the schedule has.
    """
    wanted = _scheduled(executed.scheduled, shape)
    found: dict[_Group, list[int]] = defaultdict(list)
    for position, one in enumerate(executed.steps):
        group = _group(code[one.at])
        if group is not None:
            found[group].append(position)
    bare = not any(isinstance(step.op, softmax.Exponentials) for step in executed.scheduled)
    for group in sorted({*wanted, *found}, key=str):
        steps, positions = wanted.get(group, []), found.get(group, [])
        # A CTA without keys knows its sums, and may branch around what they do not need.
        if len(positions) > len(steps) or (len(positions) < len(steps) and not bare):
            name, kind = group
            raise CheckFailed(f"the schedule has {len(steps)} {name} {kind}, the kernel executes {len(positions)}")
        for position, step in zip(positions, steps, strict=False):
            named[position] = OpPart(step)


def _group(sass: Sass) -> _Group | None:
    if sass.name == "SHFL" and "BFLY" in sass.modifiers:
        mask = sass.operands["b"]
        return "SHFL", mask.value if isinstance(mask, Immediate) else str(mask)
    return ("MUFU", sass.modifiers[0]) if sass.name == "MUFU" else None


def _scheduled(steps: Iterable[Step], shape: AttentionShape) -> dict[_Group, list[Step]]:
    """Return the steps that contain shuffles or MUFUs, each repeated for each of its instructions."""
    wanted: dict[_Group, list[Step]] = defaultdict(list)
    for step in steps:
        if isinstance(step.op, softmax.Shuffle):
            wanted["SHFL", step.op.mask].append(step)
        count = mufu_of(step, shape)
        if count:
            wanted["MUFU", _function(step)] += [step] * count
    return wanted


def _function(step: Step) -> Function:
    match step.op:
        case softmax.StoreLse():
            return "LG2"
        case softmax.Normalise() | softmax.LoadStatistic():
            return "RCP"
        case _:
            return "EX2"
