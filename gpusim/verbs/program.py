"""Finds the program of a run's watched CTA for viewers: it lowers the stream again, and simulates nothing."""

from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np

from gpusim.arrays import IntArray
from gpusim.errors import GpusimError
from gpusim.families.registry import family_of
from gpusim.lower.stream import Instruction, Segment
from gpusim.machine import load_machine
from gpusim.results.program import WarpProgram, issue_cycles
from gpusim.results.result import Result
from gpusim.results.timeline import Timeline
from gpusim.scenario.models import Scenario
from gpusim.schedule import ops
from gpusim.sim.code import NOT_WATCHED
from gpusim.sim.timed_kernel import KernelCode
from gpusim.units import WARP_SIZE

_WORDS = {
    ops.CopyAsync: "cp.async",
    ops.CommitGroup: "cp.async.commit_group",
    ops.WaitGroup: "cp.async.wait_group",
    ops.Barrier: "bar.sync",
    ops.Ldmatrix: "ldmatrix",
    ops.LoadFragment: "lds fragment",
    ops.LoadGlobal: "ld.global",
    ops.StoreTile: "st.shared",
    ops.WarpMma: "mma.sync",
}
"""PTX's names of the ops that tile kernels share. Other ops are named by the words of their class."""


def watched_program(scenario: Scenario, result: Result, timeline: Timeline) -> WarpProgram | None:
    """
    Return the program of a timeline's CTA.

    Args:
        scenario: Scenario of the run.
        result: Result of the run.
        timeline: Timeline of the run.

    Returns:
        The program; None without a timeline, for a user's machine code, if a stream cannot be lowered here, or if it
        differs from the simulated one.
    """
    if not timeline.warps or "cubin" in result.provenance:
        return None
    try:
        kernel = family_of(scenario).timing.timed_kernels(scenario, load_machine(scenario.machine))[0]
        cta = timeline.warps[0].cta
        if cta >= len(kernel.launched):
            return None
        behaviour = kernel.behaviour(cta)
        stream = kernel.stream(behaviour, result.stream)
    except GpusimError:
        return None
    first = timeline.warps[0].warp
    issued = issue_cycles([span for span in timeline.warps if span.warp == first])
    if len(issued) != stream.instructions_of(first, kernel.lanes()):
        return None
    return _program(stream.of_warp(first, kernel.lanes()), kernel, behaviour)


def _program(segments: Sequence[Segment], kernel: KernelCode[Any], behaviour: Hashable) -> WarpProgram:
    describe = _describer(kernel, behaviour)
    opcodes, operations, activities = ({"": 0}, {"": 0}, {"": 0})
    columns: list[list[IntArray]] = []
    for segment in segments:
        if not segment.instructions or not segment.trips:
            continue
        rows = [describe(instruction) for instruction in segment.instructions]
        trip = np.arange(segment.trips).repeat(len(rows))
        words = zip(*(row[:3] for row in rows), strict=True)
        opcode, operation, activity = (
            np.array([known.setdefault(word, len(known)) for word in column], dtype=np.int64)
            for column, known in zip(words, (opcodes, operations, activities), strict=True)
        )
        k_tile, stage, size, tensor = np.array([row[3:] for row in rows], dtype=np.int64).reshape(-1, 4).T
        repeated = [
            np.tile(column, segment.trips) for column in (opcode, operation, activity, k_tile, stage, size, tensor)
        ]
        moved = repeated[3] >= 0
        repeated[3] = np.where(moved, repeated[3] + trip * segment.tiles_per_trip, -1)
        in_ring = repeated[4] >= 0
        repeated[4] = np.where(in_ring, (repeated[4] + trip * segment.tiles_per_trip) % kernel.stages, -1)
        columns.append(repeated)
    joined = [np.concatenate(parts) for parts in zip(*columns, strict=True)]
    return WarpProgram(
        tuple(opcodes), joined[0], tuple(operations), joined[1], tuple(activities), joined[2], *joined[3:]
    )


class _Row(NamedTuple):
    """One instruction of a program; see ``WarpProgram``."""

    opcode: str
    operation: str = ""
    activity: str = ""
    k_tile: int = -1
    stage: int = -1
    copied_bytes: int = 0
    tensor: int = 0


def _describer(kernel: KernelCode[Any], behaviour: Hashable) -> Callable[[Instruction], _Row]:
    lanes = kernel.lanes()

    def describe(instruction: Instruction) -> _Row:
        step: Any = instruction.op
        tensor = int(instruction.unit == "tensor")
        if step is None:
            return _Row(instruction.opcode, tensor=tensor)
        op = lanes.op(step)
        words = _WORDS.get(type(op), _split(type(op).__name__))
        size, k_tile = 0, -1
        if isinstance(op, ops.CopyAsync | ops.LoadGlobal | ops.StoreTile | ops.Ldmatrix | ops.LoadFragment):
            name = lanes.operand_name(step)
            words = f"{words} {name}"
            if instruction.unit == "ldgsts" or (isinstance(op, ops.LoadGlobal) and instruction.unit == "global"):
                size = lanes.operands[name].access_bytes * WARP_SIZE
        noted = kernel.noted(step, behaviour)
        activity = "" if noted.activity == NOT_WATCHED else kernel.watch.activities[noted.activity]
        if activity and not isinstance(op, ops.WaitGroup | ops.Barrier):
            k_tile = noted.k_tile
        return _Row(instruction.opcode, words, activity, k_tile, getattr(op, "stage", -1), size, tensor)

    return describe


def _split(name: str) -> str:
    """Return the name of a class in words."""
    return "".join(f" {letter.lower()}" if letter.isupper() else letter for letter in name).strip()
