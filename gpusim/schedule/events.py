"""One thread's program as an ordered list of events with addresses, in the words of CUTLASS's own traces."""

from typing import Any, TypeAlias, get_args

from gpusim.errors import BadInput
from gpusim.schedule.kernel import KernelSchedule
from gpusim.schedule.lanes import CtaLanes, Lanes, StepT
from gpusim.schedule.ops import (
    CopyAsync,
    Ldmatrix,
    LoadFragment,
    LoadGlobal,
    Op,
    StoreTile,
    WaitGroup,
    WarpMma,
)
from gpusim.tile.ldmatrix import fragment_loads
from gpusim.units import WARP_SIZE

Events: TypeAlias = list[list[Any]]

_COPIED = ("operand", "shared offset", "global offset", "bytes", "predicate")
_LOADED = ("operand", "shared offset of the lane")
EVENT_FIELDS = {
    "cp_async": _COPIED,
    "cp_async_zfill": _COPIED,
    "ldg": ("operand", "global offset", "bytes", "predicate"),
    "sts": ("operand", "shared offset", "bytes, or predicate of a statistic"),
    "lds": ("operand", "shared offset", "predicate"),
    "atoms_max": ("operand", "shared offset"),
    "shfl": ("what is exchanged", "lane mask"),
    "wait_group": ("groups that may be pending",),
    "mma": ("instructions",),
    **{f"ldmatrix{kind}.x{number}": _LOADED for kind in ("", ".trans") for number in (1, 2, 4)},
    "frag_word32": _LOADED,
    **{kind.event: () for kind in get_args(Op) if kind.event},
}
"""The entries of an event after its first word."""


def events(kernel: KernelSchedule[StepT], block: int, thread: int) -> Events:
    """
    Return one thread's events up to the epilogue, in order.

    Each event is a list that begins with a word:

    - ``[cp_async | cp_async_zfill, operand, shared offset, global offset, bytes, predicate]``
    - ``[commit]``, ``[wait_group, n]``, ``[sync]``, ``[mma, instructions]``
    - ``[ldmatrix.xN | ldmatrix.trans.xN | frag_word32, operand, shared offset of this lane]``
    - in a pipelined mainloop, ``[ldg, operand, global offset, bytes, predicate]`` and
      ``[sts, operand, shared offset, bytes]``

    A family's own ops have words of their own (``CtaLanes.event``). An op without other entries gives its word itself
    (``WarpOp.event``). An op that only other warps execute has no event.

    Args:
        kernel: Kernel whose CTA it is.
        block: Linear block index of a CTA with work.
        thread: Thread of that CTA.

    Raises:
        BadInput: The thread does not exist.

    Source: golden trace_gemm_*.json, trace_conv_*.json.
    """
    lanes = kernel.lanes()
    if not 0 <= thread < lanes.warps * WARP_SIZE:
        raise BadInput(f"thread must be 0..{lanes.warps * WARP_SIZE - 1}, got {thread}")
    cta, place = lanes.cta(block), divmod(thread, WARP_SIZE)
    steps = (step for step in kernel.steps_before_epilogue(block) if place[0] in lanes.warps_of(step))
    found = (_event(step, lanes, cta, *place) for step in steps)
    return [event for event in found if event]


def _event(step: StepT, lanes: Lanes[StepT], cta: CtaLanes[StepT], warp: int, lane: int) -> list[Any]:
    op = lanes.op(step)
    match op:
        case WaitGroup(pending):
            return ["wait_group", pending]
        case WarpMma():
            return ["mma", lanes.mmas(step)]
        case CopyAsync() | LoadGlobal() | StoreTile() | Ldmatrix() | LoadFragment():
            pass
        case _:
            return [op.event] if op.event else cta.event(step, warp, lane)
    name = lanes.operand_name(step)
    operand, shared, reached = lanes.operands[name], lanes.shared(step), cta.reached(step)
    inside = [] if shared is None else [int(shared.offsets[warp, lane])]
    if isinstance(op, Ldmatrix | LoadFragment):
        return [fragment_loads(operand).kind, name.upper(), *inside]
    if reached is None:
        return ["sts", name.upper(), *inside, operand.access_bytes * operand.vecs]
    words = "ldg" if isinstance(op, LoadGlobal) else "cp_async_zfill" if getattr(op, "zfill", False) else "cp_async"
    outside = [int(reached.offset[warp, lane]), operand.access_bytes, int(reached.valid[warp, lane])]
    return [words, name.upper(), *inside, *outside]
