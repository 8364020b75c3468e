"""Matches the instructions that a warp executed with the ops of its schedule, by opcode and by every lane's address.

The assembler may reorder instructions between two barriers, so within such a region they are matched by address and not
by position. An MMA has no address: it is identified by the fragment loads that its operand registers come from
(``align_mma``). The kernel itself names other instructions without an address (``AlignedKernel.name_unaddressed``).
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gpusim.arrays import BoolArray, IntArray
from gpusim.errors import CheckFailed
from gpusim.lower.align_mma import name_mmas
from gpusim.lower.aligned import TENSOR_BITS, AlignedKernel, ExecutedWarp, OpPart
from gpusim.lower.sass.decode import Sass
from gpusim.lower.sass.operands import Immediate
from gpusim.lower.sass.repeat import ExecutedInstruction
from gpusim.lower.stream import SEMAPHORE
from gpusim.schedule.ops import Barrier, CopyAsync, LoadShared, WaitGroup
from gpusim.units import WARP_SIZE


@dataclass(frozen=True, slots=True)
class Placement:
    """
    The warp that executed the code, and the addresses of its tensors and shared memory.

    Attributes:
        block: Linear block index of the CTA.
        warp: Warp index in the CTA.
        shared_base: Byte address of the dynamic shared memory.
        pointers: Global byte address of each tensor, by ``Reached.tensor``.
    """

    block: int
    warp: int
    shared_base: int
    pointers: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Expected:
    """
    One instruction that the schedule requires. Arrays have an entry for each of the 32 lanes.

    Attributes:
        op: The schedule's op (or step, which has an op).
        name: SASS opcode without modifiers.
        region: Number of barriers before it.
        address: Shared byte addresses, or global ones for LDG and STG; None if it accesses no memory.
        source: Global byte addresses that a copy reads; None for other ops.
        valid: Lanes that touch memory; None if the schedule has no predicate.
        pending: Commit groups that a wait may leave pending.
        optional: True if no lane accesses memory and nothing is zero-filled. The compiler may then drop the instruction
            or branch around it.
        zfill: True for a copy whose lanes outside ``valid`` write zeros.
    """

    op: Any
    name: str
    region: int
    address: IntArray | None = None
    source: IntArray | None = None
    valid: BoolArray | None = None
    pending: int = 0
    optional: bool = False
    zfill: bool = False


def align(
    code: Sequence[Sass],
    executed: ExecutedWarp,
    kernel: AlignedKernel[Any],
    placement: Placement,
    *,
    vertical: bool = False,
) -> list[OpPart | None]:
    """
    Find the op of the schedule that each executed instruction carries out.

    Args:
        code: The kernel's machine code.
        executed: Instructions that one warp executed.
        kernel: Schedule of the kernel.
        placement: The warp, and the addresses of its tensors and shared memory.
        vertical: Whether a warp issues its mma.sync along M first on the target (``element_types.walks_vertically``).

    Returns:
        The op of each step, or None for the arithmetic between ops.

    Raises:
        CheckFailed: The warp did not execute the schedule. The message shows both sides of the first difference.
    """
    steps, lanes = executed.steps, kernel.lanes()
    own = [step for step in executed.scheduled if placement.warp in lanes.warps_of(step)]
    executed = replace(executed, scheduled=own)
    named: list[OpPart | None] = [None] * len(steps)
    wanted: dict[tuple[int, str], list[Expected]] = defaultdict(list)
    for one in expected(kernel, placement, own):
        wanted[one.region, one.name].append(one)
    found: dict[tuple[int, str], list[int]] = defaultdict(list)
    region, beside = 0, _commits_of_wait_all(code, steps)
    names, arguments = kernel.addressed, [placement.pointers[name] for name in kernel.arguments]
    for position, step in enumerate(steps):
        sass = code[step.at]
        if sass.name not in names or position in beside or _is_beside(sass, step, arguments):
            continue
        found[region, sass.name].append(position)
        if sass.name == "BAR":
            _require_whole_cta(sass, region)
            region += 1
    for key in sorted({*wanted, *found}):
        for position, op in match_region(code, steps, key, wanted.get(key, []), found.get(key, [])):
            named[position] = OpPart(op)
    name_mmas(code, executed, kernel, named, vertical=vertical)
    kernel.name_unaddressed(code, executed, named)
    return named


def _require_whole_cta(sass: Sass, region: int) -> None:
    """
    Check that all threads of the CTA arrive at a barrier, and wait.

    Raises:
        CheckFailed: It counts threads, or lets them go on. The message has the number of barriers before it.
    """
    if "c" in sass.operands or "ARV" in sass.modifiers:
        raise CheckFailed(
            f"after barrier {region} the kernel executes {sass}, where the schedule has a barrier of the whole CTA"
        )


def _is_beside(sass: Sass, step: ExecutedInstruction, arguments: Sequence[int]) -> bool:
    """
    Return whether an executed instruction lies outside the schedule.

    Examples are a semaphore's access, the load of a launch argument, the store of a timeline build's stamp, and an LDS
    that no lane executes.
    """
    never = sass.name == "LDS" and step.lanes is not None and not step.lanes.any()
    if never or SEMAPHORE in sass.modifiers:
        return True
    if sass.name not in ("LDG", "STG") or step.address is None:
        return False
    first = int(step.address[np.argmax(_executed(step))])
    return any(first >> TENSOR_BITS == argument >> TENSOR_BITS for argument in arguments)


def _commits_of_wait_all(code: Sequence[Sass], steps: Sequence[ExecutedInstruction]) -> set[int]:
    """
    Return the positions of commits that belong to a cp.async.wait_all, where CUTLASS commits right before it.

    The assembler turns cp.async.wait_all into a commit and a wait for all groups. That commit's group is empty, and the
    schedule has no op for it.
    """
    grouped = [at for at, step in enumerate(steps) if code[step.at].name in ("LDGSTS", "LDGDEPBAR", "DEPBAR")]
    found = set()
    for before, commit, wait in zip(grouped, grouped[1:], grouped[2:], strict=False):
        first, second, third = (code[steps[at].at] for at in (before, commit, wait))
        if (first.name, second.name, third.name) == ("LDGDEPBAR", "LDGDEPBAR", "DEPBAR"):
            pending = third.operands["k"]
            if isinstance(pending, Immediate) and pending.value == 0:
                found.add(commit)
    return found


# --- the schedule's side ---


def expected(kernel: AlignedKernel[Any], placement: Placement, scheduled: Sequence[Any]) -> list[Expected]:
    """Return the addressed instructions that ``scheduled`` steps require of one warp, in their order."""
    side, names = _Schedule(kernel, placement), kernel.addressed
    region, listed = 0, []
    for step in scheduled:
        op = side.lanes.op(step)
        if kernel.opcode(type(op)) in names:
            listed.append(side.expect(step, region))
        region += isinstance(op, Barrier)
    return listed


class _Schedule:
    """Looks up the lane addresses of one warp, step by step."""

    def __init__(self, kernel: AlignedKernel[Any], placement: Placement) -> None:
        self.kernel, self.placement = kernel, placement
        self.lanes = kernel.lanes()
        self.cta = self.lanes.cta(placement.block)

    def expect(self, step: Any, region: int) -> Expected:
        """Return the instruction that one step requires."""
        op, warp = self.lanes.op(step), self.placement.warp
        name, shared, reached = op.opcode, self.lanes.shared(step), self.cta.accessed(step)
        inside = None if shared is None else self.placement.shared_base + self.lanes.base(step) + shared.addresses[warp]
        if reached is None:
            pending = op.pending if isinstance(op, WaitGroup) else 0
            unused = isinstance(op, LoadShared) and self._unused(step)
            active = None if shared is None or shared.table.active is None else shared.table.active[warp]
            return Expected(step, name, region, inside, valid=active, pending=pending, optional=unused)
        outside = self.placement.pointers[reached.tensor] + reached.offset[warp] * reached.bits // 8
        mask = reached.valid[warp]
        optional = not getattr(op, "zfill", False) or not isinstance(op, CopyAsync)
        optional = optional and not bool(mask.any())
        if isinstance(op, CopyAsync):
            return Expected(step, name, region, inside, outside, mask, optional=optional, zfill=op.zfill)
        return Expected(step, name, region, outside, valid=mask, optional=optional)

    def _unused(self, step: Any) -> bool:
        """Return whether no lane of the warp stores the data that ``step`` loads."""
        stored = self.cta.reached(self.lanes.storing(step))
        return stored is not None and not stored.valid[self.placement.warp].any()


# --- matching ---


def match_region(
    code: Sequence[Sass],
    steps: Sequence[ExecutedInstruction],
    key: tuple[int, str],
    wanted: list[Expected],
    found: list[int],
) -> list[tuple[int, Any]]:
    """
    Pair the executed instructions of one opcode in one region with the expected ones that have their addresses.

    Args:
        code: The kernel's machine code.
        steps: The instructions that one warp executed.
        key: Region (number of barriers before it) and opcode.
        wanted: The instructions that the schedule requires there.
        found: Positions in ``steps`` of the executed ones.

    Returns:
        Pairs of a position in ``steps`` and the op executed there.

    Raises:
        CheckFailed: Their numbers, addresses, predicates or pending groups differ.
    """
    region, name = key
    if not sum(not one.optional for one in wanted) <= len(found) <= len(wanted):
        raise CheckFailed(
            f"after barrier {region} the schedule has {len(wanted)} {name}, the kernel executes {len(found)}"
            f"; schedule: {_ops(wanted)}; kernel: {', '.join(str(code[steps[at].at]) for at in found[:4]) or 'none'}"
        )
    by_address: dict[bytes, list[Expected]] = defaultdict(list)
    for one in wanted:
        by_address[_key(one.address, None if name == "LDGSTS" else one.valid)].append(one)
    pairs = []
    for position in found:
        step = steps[position]
        address = step.target if name == "LDGSTS" else step.address
        candidates = by_address.get(_key(address, None if name == "LDGSTS" else step.lanes))
        if not candidates and name not in ("LDG", "STG"):
            candidates = by_address.get(_key(address, None))
        if not candidates:
            left = [one for ones in by_address.values() for one in ones]
            raise CheckFailed(_difference(code[step.at], step, region, left))
        # Accesses without an active lane have equal keys, but their unused addresses differ.
        exact = (at for at, one in enumerate(candidates) if _key(one.address, None) == _key(step.address, None))
        one = candidates.pop(next(exact, 0))
        _check(code[step.at], step, one)
        pairs.append((position, one.op))
    return pairs


def _key(address: IntArray | None, active: BoolArray | None) -> bytes:
    """Return a key that is equal for accesses with equal addresses in their active lanes."""
    if address is None:
        return b""
    chosen = address if active is None else np.where(active, address, -1)
    return np.broadcast_to(chosen, (WARP_SIZE,)).astype(np.int64).tobytes()


def _check(sass: Sass, step: ExecutedInstruction, one: Expected) -> None:
    """Check the other properties of a matched instruction: a copy's global address, predicate, pending groups."""
    lanes = _executed(step)
    if one.name == "DEPBAR":
        pending = sass.operands["k"]
        if not isinstance(pending, Immediate) or pending.value != one.pending:
            raise CheckFailed(f"{sass} waits for {pending} pending groups, the schedule for {one.pending}: {one.op}")
    if one.valid is None:
        return
    touches = lanes if step.predicate is None else lanes & step.predicate
    if not np.array_equal(touches, one.valid):
        raise CheckFailed(
            f"{sass} touches memory in lanes {_lanes(touches)}, the schedule in {_lanes(one.valid)}: {one.op}"
        )
    if one.source is not None and step.address is not None:
        wrong = np.flatnonzero(one.valid & (step.address != one.source))
        if len(wrong):
            lane = int(wrong[0])
            raise CheckFailed(
                f"{sass} copies from {step.address[lane]:#x} in lane {lane}, the schedule from"
                f" {one.source[lane]:#x}: {one.op}"
            )
    if one.zfill and not lanes.all():
        raise CheckFailed(f"{sass} leaves lanes {_lanes(~lanes)} untouched where the schedule fills zeros: {one.op}")


def _difference(sass: Sass, step: ExecutedInstruction, region: int, left: list[Expected]) -> str:
    """Describe an instruction and the op with the most equal lanes, at the first lane in which they differ."""
    address = step.target if step.target is not None else step.address
    said = f"after barrier {region} the kernel executes {sass}"
    if address is None or not left:
        return f"{said}, which the schedule does not"
    others = [one.address if one.address is not None else np.full(WARP_SIZE, -1) for one in left]
    nearest = int(np.argmax([np.count_nonzero(address == other) for other in others]))
    differ = np.flatnonzero(address != others[nearest])
    if not len(differ):
        return f"{said} in lanes {_lanes(_executed(step))}, the schedule in other lanes: {left[nearest].op}"
    lane = int(differ[0])
    return (
        f"{said} at {int(address[lane]):#x} in lane {lane}, where no remaining op of the schedule has it"
        f"; most like it is {left[nearest].op} at {int(others[nearest][lane]):#x}"
    )


def _executed(step: ExecutedInstruction) -> BoolArray:
    return np.ones(WARP_SIZE, dtype=np.bool_) if step.lanes is None else step.lanes


def _ops(wanted: list[Expected]) -> str:
    return ", ".join(str(one.op) for one in wanted[:4]) or "none"


def _lanes(mask: BoolArray) -> str:
    return str(np.flatnonzero(mask).tolist())
