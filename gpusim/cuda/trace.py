"""The Python stream in the form the trace build records, and where the two first differ; runs nothing."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, get_args

import numpy as np
import numpy.typing as npt

from gpusim.arrays import BoolArray, IntArray
from gpusim.cuda.trace_format import ATTENTION_OPERATIONS, RECORD
from gpusim.scenario.gemm import GemmScenario
from gpusim.schedule.ops import (
    Barrier,
    CommitGroup,
    CopyAsync,
    Ldmatrix,
    LoadBias,
    LoadFragment,
    LoadGlobal,
    LoadPartial,
    LoadShared,
    LoadSource,
    Op,
    Program,
    StoreGlobal,
    StoreShared,
    StoreTile,
    WaitGroup,
    WarpMma,
)
from gpusim.schedule.program import program
from gpusim.tile.epilogue import OutputAccess
from gpusim.tile.ldmatrix import ldmatrix_offsets
from gpusim.tile.operand import SIDES, Side
from gpusim.tile.shared_store import store_offsets
from gpusim.units import WARP_SIZE

Records = npt.NDArray[np.void]

_SCALARS = ("op", "operand", "zfill", "cg", "stage", "k_group", "index", "k_tile")
_OPERAND_NAMES = ("none", "a", "b")
_NUMBER_OF = {"a": 1, "b": 2}


def traced_ctas(scenario: GemmScenario) -> tuple[int, ...]:
    """
    The CTAs worth tracing: first, middle and last in launch order, the last tile of M and N, one of a later slice.

    Returns:
        Linear block indices (blockIdx x fastest) of CTAs that have a tile, ascending, without repetition; at most 5.
    """
    tiles = scenario.grid.cta_tiles()
    alive = np.flatnonzero(tiles[:, 0] >= 0)
    corner = alive[np.lexsort((tiles[alive, 1], tiles[alive, 0], -tiles[alive, 2]))[-1]]
    chosen = {int(alive[0]), int(alive[len(alive) // 2]), int(alive[-1]), int(corner)}
    later = alive[tiles[alive, 2] > 0]
    if len(later):
        chosen.add(int(later[0]))
    return tuple(sorted(chosen))


def expected_records(scenario: GemmScenario, blocks: Sequence[int]) -> Records:
    """
    What the trace build must record, from the schedule's programs and the tile iterators.

    Args:
        scenario: Problem and kernel.
        blocks: Linear block indices, in the order of ``Params.recorded``.

    Returns:
        Records of dtype ``trace_format.RECORD``, by slot, warp and position.
    """
    tables = _Tables(scenario)
    tiles = scenario.grid.cta_tiles()
    parts = [_cta_records(tables, slot, tiles[block]) for slot, block in enumerate(blocks)]
    return np.concatenate(parts) if parts else np.zeros(0, RECORD)


def longest_stream(scenario: GemmScenario, blocks: Sequence[int]) -> int:
    """Records of a warp in the longest of the CTAs' programs."""
    tiles = scenario.grid.cta_tiles()
    return max(len(_program(scenario, int(tiles[block, 2])).ops()) for block in blocks)


def stream_digest(records: Records) -> str:
    """
    SHA-256 of a stream.

    Global offsets of invalid accesses are not part of it: a kernel may hold any there.
    """
    sha = hashlib.sha256()
    for field in RECORD.names or ():
        values = records[field]
        if field == "global":
            values = np.where(records["predicate"], values, -1)
        sha.update(np.ascontiguousarray(values).tobytes())
    return sha.hexdigest()


def first_difference(expected: Records, found: Records, blocks: Sequence[int]) -> str | None:
    """
    The first place, in the order of slot, warp and position, where two streams differ; None where they do not.

    Returns:
        Its coordinates (CTA, warp, record, lane, field), both values, and what the Python stream does there.
    """
    for key in np.unique(np.concatenate([_owner(expected), _owner(found)])):
        slot, warp = divmod(int(key), _WARPS)
        ours, theirs = (records[_owner(records) == key] for records in (expected, found))
        where = f"CTA {blocks[slot]}, warp {warp}"
        common = min(len(ours), len(theirs))
        difference = _first_in_warp(ours[:common], theirs[:common])
        if difference is not None:
            return f"{where}, {difference}"
        if len(ours) != len(theirs):
            longer, who = (ours, "Python stream") if len(ours) > len(theirs) else (theirs, "GPU")
            return (
                f"{where}: {len(ours)} records in the Python stream, {len(theirs)} on the GPU; record {common} of the"
                f" {who} is {describe(longer[common])}"
            )
    return None


def describe(record: Any) -> str:
    """One record in words."""
    words = [ATTENTION_OPERATIONS[int(record["op"])]]
    if record["operand"]:
        words.append(_OPERAND_NAMES[int(record["operand"])])
    words += [f"{name} {int(record[name])}" for name in ("k_tile", "k_group", "stage", "index") if record[name] >= 0]
    return " ".join(words)


_WARPS = 64
"""More than any CTA has: slot * _WARPS + warp names a warp."""


def _owner(records: Records) -> IntArray:
    owners: IntArray = records["slot"] * _WARPS + records["warp"]
    return owners


def _first_in_warp(ours: Records, theirs: Records) -> str | None:
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
    return f"{place}, {field}: {mine} in the Python stream, {other} on the GPU ({describe(ours[at])})"


class _Tables:
    """Offsets of every op that no CTA changes, by warp and lane."""

    def __init__(self, scenario: GemmScenario) -> None:
        kernel = scenario.kernel
        self.scenario = scenario
        self.warps = kernel.threads // WARP_SIZE
        self.mma = (kernel.warp[0] // kernel.instruction[0]) * (kernel.warp[1] // kernel.instruction[1])
        self.store: dict[Side, IntArray] = {}
        self.load: dict[Side, IntArray] = {}
        for operand in SIDES:
            stages = range(kernel.stages)
            offsets = np.stack([store_offsets(scenario.operand(operand), stage) for stage in stages])
            self.store[operand] = offsets.reshape(kernel.stages, self.warps, WARP_SIZE, *offsets.shape[2:])
            self.load[operand] = np.stack([ldmatrix_offsets(scenario.operand(operand), stage) for stage in stages])

    @cached_property
    def staging_stores(self) -> IntArray:
        """Of the epilogue, [warps, lanes, accesses]."""
        offsets = self.scenario.epilogue.store_offsets()[..., 0]
        return offsets.reshape(self.warps, WARP_SIZE, -1)

    @cached_property
    def staging_loads(self) -> IntArray:
        """Of the epilogue, [warps, lanes, accesses]."""
        offsets = self.scenario.epilogue.load_offsets()[..., 0]
        return offsets.reshape(self.warps, WARP_SIZE, -1)


@dataclass(frozen=True, slots=True)
class _Cta:
    """
    The addresses of one CTA.

    Attributes:
        offset, valid: Of its fetches, per operand [fetches, warps, lanes, accesses, vecs].
        output: Of its epilogue's steps, arrays of [steps, threads, accesses].
        bias: Of its loads of the bias, arrays of [threads, accesses].
    """

    tables: _Tables
    offset: dict[Side, IntArray]
    valid: dict[Side, BoolArray]
    output: OutputAccess
    bias: OutputAccess


def _program(scenario: GemmScenario, slice_: int) -> Program:
    return program(scenario, scenario.k_iterations(slice_), slice_)


def _cta_records(tables: _Tables, slot: int, tile: IntArray) -> Records:
    scenario = tables.scenario
    tile_m, tile_n, slice_ = (int(index) for index in tile)
    ops = _program(scenario, slice_).ops()
    # A convolution issues one share of a further fetch than the overrun has.
    fetches = np.arange(scenario.k_iterations(slice_) + scenario.kernel.stages, dtype=np.int64)
    offset, valid = {}, {}
    for operand, index in zip(SIDES, (tile_m, tile_n), strict=True):
        access = scenario.operand(operand).iterator(index, slice_).fetch(fetches)
        shape = (len(fetches), tables.warps, WARP_SIZE, *access.offset.shape[2:])
        offset[operand] = access.offset.reshape(shape)
        valid[operand] = np.broadcast_to(access.valid, access.offset.shape).reshape(shape)
    epilogue = scenario.epilogue
    output = epilogue.output(np.arange(epilogue.steps, dtype=np.int64), tile_m, tile_n, slice_)
    cta = _Cta(tables, offset, valid, output, epilogue.bias(tile_n))
    records = blank_records(slot, tables.warps, len(ops))
    for position, op in enumerate(ops):
        _fill(records[:, position], op, cta)
    return records.reshape(-1)


def blank_records(slot: int, warps: int, ops: int) -> Records:
    """Records of all warps of one CTA, of operations that have nothing, shape [warps, ops]."""
    records = np.zeros((warps, ops), RECORD)
    for field in ("stage", "k_group", "index", "k_tile", "shared", "global"):
        records[field] = -1
    records["predicate"] = True
    records["slot"] = slot
    records["warp"] = np.arange(warps, dtype=np.int64)[:, None]
    records["position"] = np.arange(ops, dtype=np.int64)
    return records


OPERATION_NUMBER = {kind: number for number, kind in enumerate(get_args(Op))}


def _fill(record: Records, op: Op, cta: _Cta) -> None:
    """One op in every warp. ``record`` is a view of shape [warps]."""
    fields = _header(op, cta.tables)
    record["op"] = OPERATION_NUMBER[type(op)]
    for field, value in fields.items():
        record[field] = value
    tables = cta.tables
    match op:
        case CopyAsync(operand, fetch, access, vec, stage):
            record["shared"] = tables.store[operand][stage, :, :, access, vec]
            record["global"] = cta.offset[operand][fetch, :, :, access, vec]
            record["predicate"] = cta.valid[operand][fetch, :, :, access, vec]
        case LoadGlobal(operand, fetch, access, vec):
            record["global"] = cta.offset[operand][fetch, :, :, access, vec]
            record["predicate"] = cta.valid[operand][fetch, :, :, access, vec]
        case StoreTile(operand, _, access, stage):
            record["shared"] = tables.store[operand][stage, :, :, access, 0]
        case Ldmatrix() | LoadFragment():
            record["shared"] = tables.load[op.operand][op.stage, :, op.k_group, op.instruction]
        case StoreShared(_, access):
            record["shared"] = tables.staging_stores[:, :, access]
        case LoadShared(_, access):
            record["shared"] = tables.staging_loads[:, :, access]
        case LoadSource(step, access) | StoreGlobal(step, access):
            record["global"] = cta.output.offset[step, :, access].reshape(tables.warps, WARP_SIZE)
            record["predicate"] = cta.output.valid[step, :, access].reshape(tables.warps, WARP_SIZE)
        case LoadBias(access):
            record["global"] = cta.bias.offset[:, access].reshape(tables.warps, WARP_SIZE)
            record["predicate"] = cta.bias.valid[:, access].reshape(tables.warps, WARP_SIZE)
        case _:
            pass


def _header(op: Op, tables: _Tables) -> dict[str, int]:  # noqa: PLR0911 (one for each kind of op)
    """What all lanes of all warps have in common; a field that the op lacks stays -1."""
    match op:
        case CopyAsync(operand, fetch, access, vec, stage, zfill, cache):
            index = access * tables.store[operand].shape[-1] + vec
            fields = {"operand": _NUMBER_OF[operand], "stage": stage, "index": index, "k_tile": fetch}
            return fields | {"zfill": zfill, "cg": cache == "cg"}
        case LoadGlobal(operand, fetch, access, vec, zfill):
            index = access * tables.store[operand].shape[-1] + vec
            return {"operand": _NUMBER_OF[operand], "index": index, "k_tile": fetch, "zfill": zfill}
        case StoreTile(operand, fetch, access, stage):
            return {"operand": _NUMBER_OF[operand], "stage": stage, "index": access, "k_tile": fetch}
        case Ldmatrix() | LoadFragment():
            fields = {"operand": _NUMBER_OF[op.operand], "stage": op.stage, "k_tile": op.k_tile}
            return fields | {"k_group": op.k_group, "index": op.instruction}
        case WarpMma(k_tile, k_group):
            return {"k_group": k_group, "index": tables.mma, "k_tile": k_tile}
        case WaitGroup(pending):
            return {"index": pending}
        case CommitGroup() | Barrier():
            return {}
        case LoadBias(access):
            return {"index": access}
        case LoadPartial(slice_, access):
            return {"index": access, "k_tile": slice_}
        case _:
            return {"index": op.access, "k_tile": op.step}
