"""Counts what a launch's CTAs execute: matrix instructions, instructions of each pipe, and zeros that copies write."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gpusim.lower.stream import Instruction, executed_by
from gpusim.schedule.lanes import Lanes
from gpusim.schedule.ops import Role
from gpusim.sim.launch import Launch


@dataclass(frozen=True, slots=True)
class ExecutedCounts:
    """
    Counts of the instructions that the CTAs of a launch execute, over the grid.

    Attributes:
        mmas: mma.sync instructions.
        pipes: Warp instructions of each pipe besides the tensor core.
        zero_filling: Wavefronts of cp.async that write zeros in lanes that are predicated off.
    """

    mmas: int
    pipes: dict[str, int]
    zero_filling: int


def executed(launch: Launch) -> ExecutedCounts:
    """
    Count what a launch executes.

    Copies that may write zeros pass the data stage as stores do, and ncu counts all their wavefronts as LSU wavefronts.
    The data of copies without zero-fill bypass the data stage, and ncu counts almost no wavefronts for them (H200
    records: convolutions zero-fill in every copy, GEMMs only in the prologue).
    """
    lanes = launch.kernel.lanes()
    pipes, mmas, zeros = Counter[str](), 0, 0
    known: dict[int, tuple[Counter[str], int, int]] = {}
    roles = {role.name: role for role in lanes.roles}
    for behaviour, ctas in launch.executed.items():
        for segment in launch.streams[behaviour].segments:
            code = segment.instructions  # may be shared by CTAs of other behaviours
            if id(code) not in known:
                known[id(code)] = _of_trip(lanes, code, roles[segment.role])
            own_pipes, own_mmas, own_zeros = known[id(code)]
            for pipe, number in own_pipes.items():
                pipes[pipe] += number * segment.trips * ctas
            mmas += own_mmas * segment.trips * ctas
            zeros += own_zeros * segment.trips * ctas
    return ExecutedCounts(mmas, dict(pipes), zeros)


def _of_trip(lanes: Lanes[Any], code: Sequence[Instruction], role: Role) -> tuple[Counter[str], int, int]:
    """Return the instructions of each pipe, MMAs and wavefronts of zeros of one trip, of all warps of a role."""
    pipes, mmas, zeros = Counter[str](), 0, 0
    for each in code:
        warps = executed_by(each, role, lanes)
        if each.unit == "pipe":
            pipes[each.pipe] += len(warps)
        mmas += len(warps) * (each.unit == "tensor")
        shared = lanes.shared(each.op) if each.unit == "ldgsts" and each.op is not None else None
        if shared is not None and lanes.op(each.op).zfill:
            zeros += int(shared.table.wavefronts[shared.place][list(warps)].sum())
    return pipes, mmas, zeros
