"""Derives from a schedule the trace that a trace build must record, and compares traces; runs nothing."""

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from gpusim.arrays import BoolArray, IntArray
from gpusim.cuda.trace_format import RECORD, operation_names
from gpusim.schedule import ops
from gpusim.schedule.kernel import KernelSchedule
from gpusim.schedule.lanes import CtaLanes, Lanes, StepT

Records = npt.NDArray[np.void]

_SCALARS = ("op", "operand", "zfill", "cg", "stage", "k_group", "index", "k_tile")
_OPERAND_NAMES = ("none", "a", "b")
_NUMBER_OF = {"a": 1, "b": 2}


def expected_records(kernel: KernelSchedule[StepT], blocks: Sequence[int]) -> Records:
    """
    Return the records that the trace build of a kernel must write.

    Args:
        kernel: Schedule of the kernel.
        blocks: Linear block indices of the recorded CTAs, in the order of ``Params.recorded``.

    Returns:
        Records of dtype ``trace_format.RECORD``, sorted by slot, warp and position.
    """
    lanes = kernel.lanes()
    parts = [np.zeros(0, RECORD)]
    for slot, block in enumerate(blocks):
        steps, cta = kernel.traced_steps(block), lanes.cta(block)
        records = blank_records(slot, lanes.warps, len(steps))
        for position, step in enumerate(steps):
            record = records[:, position]
            record["op"] = lanes.op(step).traced_as
            for field, value in _fields(step, lanes, cta).items():
                record[field] = value
        executes = _executed(steps, lanes)
        records["position"] = executes.cumsum(axis=1) - 1
        parts.append(records[executes])
    return np.concatenate(parts)


def expected_of_all(kernels: Sequence[KernelSchedule[Any]], blocks: Sequence[Sequence[int]]) -> Records:
    """Return the expected records of all kernels of a scenario, in launch order. Slots are numbered across launches."""
    launches, slots = [], 0
    for kernel, own in zip(kernels, blocks, strict=True):
        records = expected_records(kernel, own)
        records["slot"] += slots
        launches.append(records)
        slots += len(own)
    return np.concatenate(launches)


def longest_stream(kernel: KernelSchedule[Any], blocks: Sequence[int]) -> int:
    """Return the most records that a warp of the CTAs writes."""
    lanes = kernel.lanes()
    return max(int(_executed(kernel.traced_steps(block), lanes).sum(axis=1).max()) for block in blocks)


def _executed(steps: Sequence[StepT], lanes: Lanes[StepT]) -> BoolArray:
    """Return which warps of a CTA execute which steps. Shape [warps, steps]."""
    executes = np.zeros((lanes.warps, len(steps)), dtype=np.bool_)
    for position, step in enumerate(steps):
        executes[lanes.op(step).executed_by, position] = True
    return executes


def stream_digest(records: Records) -> str:
    """
    Return the SHA-256 of a trace.

    Global offsets of lanes that are predicated off are left out, because they may have any value.
    """
    sha = hashlib.sha256()
    for field in RECORD.names or ():
        values = records[field]
        if field == "global":
            values = np.where(records["predicate"], values, -1)
        sha.update(np.ascontiguousarray(values).tobytes())
    return sha.hexdigest()


def first_difference(
    expected: Records, found: Records, blocks: Sequence[int], op_kinds: Sequence[type[ops.WarpOp]]
) -> str | None:
    """
    Describe the first place, in the order of slot, warp and position, at which two traces differ.

    Args:
        expected: Records derived from the schedule.
        found: Records from a GPU.
        blocks: Linear block index of each slot.
        op_kinds: Types of the ops.

    Returns:
        The place (CTA, warp, record, lane, field), both values and the expected operation, or None for equal traces.
    """
    for key in np.unique(np.concatenate([_owner(expected), _owner(found)])):
        slot, warp = divmod(int(key), _WARPS)
        ours, theirs = (records[_owner(records) == key] for records in (expected, found))
        where = f"CTA {blocks[slot]}, warp {warp}"
        common = min(len(ours), len(theirs))
        difference = _first_in_warp(ours[:common], theirs[:common], op_kinds)
        if difference is not None:
            return f"{where}, {difference}"
        if len(ours) != len(theirs):
            longer, who = (ours, "Python stream") if len(ours) > len(theirs) else (theirs, "GPU")
            return (
                f"{where}: {len(ours)} records in the Python stream, {len(theirs)} on the GPU; record {common} of the"
                f" {who} is {describe(longer[common], op_kinds)}"
            )
    return None


def describe(record: Any, op_kinds: Sequence[type[ops.WarpOp]]) -> str:
    """Return one record in words: the operation, its operand and its numbers."""
    words = [operation_names(op_kinds)[int(record["op"])]]
    if record["operand"]:
        words.append(_OPERAND_NAMES[int(record["operand"])])
    words += [f"{name} {int(record[name])}" for name in ("k_tile", "k_group", "stage", "index") if record[name] >= 0]
    return " ".join(words)


_WARPS = 64
"""More warps than any CTA has, so that slot * _WARPS + warp identifies a warp."""


def _owner(records: Records) -> IntArray:
    owners: IntArray = records["slot"] * _WARPS + records["warp"]
    return owners


def _first_in_warp(ours: Records, theirs: Records, op_kinds: Sequence[type[ops.WarpOp]]) -> str | None:
    found: list[tuple[int, int, str, Any, Any]] = []
    for field in _SCALARS:
        unlike = np.flatnonzero(ours[field] != theirs[field])
        if len(unlike):
            at = int(unlike[0])
            found.append((at, -1, field, ours[field][at], theirs[field][at]))
    both = ours["predicate"] & theirs["predicate"]
    for field in ("predicate", "shared", "global"):
        differs = ours[field] != theirs[field]
        if field == "global":
            differs &= both
        at, lane = (int(axis[0]) if len(axis) else -1 for axis in differs.nonzero())
        if at >= 0:
            found.append((at, lane, field, ours[field][at, lane], theirs[field][at, lane]))
    if not found:
        return None
    at, lane, field, mine, other = min(found, key=lambda item: item[0])
    place = f"record {at}" + (f", lane {lane}" if lane >= 0 else "")
    return f"{place}, {field}: {mine} in the Python stream, {other} on the GPU ({describe(ours[at], op_kinds)})"


def blank_records(slot: int, warps: int, steps: int) -> Records:
    """Return records for all warps of one CTA, shape [warps, steps], with every optional field unset (-1)."""
    records = np.zeros((warps, steps), RECORD)
    for field in ("stage", "k_group", "index", "k_tile", "shared", "global"):
        records[field] = -1
    records["predicate"] = True
    records["slot"] = slot
    records["warp"] = np.arange(warps, dtype=np.int64)[:, None]
    records["position"] = np.arange(steps, dtype=np.int64)
    return records


def _fields(step: StepT, lanes: Lanes[StepT], cta: CtaLanes[StepT]) -> dict[str, Any]:
    """Return the fields of a record besides its place and operation. Fields that the op lacks are left out."""
    fields = _header(step, lanes) | cta.traced(step)
    shared, reached = lanes.shared(step), cta.reached(step)
    if shared is not None:
        fields.setdefault("shared", shared.offsets)
    if reached is not None:
        fields |= {"global": reached.offset, "predicate": reached.valid}
    return fields


def _header(step: StepT, lanes: Lanes[StepT]) -> dict[str, int]:  # noqa: PLR0911 (one for each kind of op)
    """Return the fields that all lanes of all warps have in common."""
    match lanes.op(step):
        case ops.CopyAsync(operand, fetch, access, vec, stage, zfill, cache):
            index = access * lanes.operands[lanes.operand_name(step)].vecs + vec
            fields = {"operand": _NUMBER_OF[operand], "stage": stage, "index": index, "k_tile": fetch}
            return fields | {"zfill": zfill, "cg": cache == "cg"}
        case ops.LoadGlobal(operand, fetch, access, vec, zfill):
            index = access * lanes.operands[lanes.operand_name(step)].vecs + vec
            return {"operand": _NUMBER_OF[operand], "index": index, "k_tile": fetch, "zfill": zfill}
        case ops.StoreTile(operand, fetch, access, stage):
            return {"operand": _NUMBER_OF[operand], "stage": stage, "index": access, "k_tile": fetch}
        case ops.Ldmatrix(operand, k_tile, k_group, instruction, stage) | ops.LoadFragment(
            operand, k_tile, k_group, instruction, stage
        ):
            fields = {"operand": _NUMBER_OF[operand], "stage": stage, "k_tile": k_tile}
            return fields | {"k_group": k_group, "index": instruction}
        case ops.WarpMma(k_tile, k_group):
            return {"k_group": k_group, "index": lanes.mmas(step), "k_tile": k_tile}
        case ops.WaitGroup(pending):
            return {"index": pending}
        case ops.LoadBias(access):
            return {"index": access}
        case ops.LoadPartial(slice_, access):
            return {"index": access, "k_tile": slice_}
        case (
            ops.StoreShared(number, access)
            | ops.LoadShared(number, access)
            | ops.LoadSource(number, access)
            | ops.StoreGlobal(number, access)
        ):
            return {"index": access, "k_tile": number}
        case _:
            return {}
