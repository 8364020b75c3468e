"""The printed address streams: every address that one CTA's threads compute, in the order the schedule issues them."""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from gpusim.arrays import BoolArray, IntArray
from gpusim.errors import BadInput
from gpusim.schedule.kernel import KernelSchedule
from gpusim.schedule.lanes import Lanes, StepT
from gpusim.schedule.ops import LoadShared, StoreGlobal, StoreShared
from gpusim.units import WARP_SIZE

CtaId: TypeAlias = tuple[int, int, int]

STAGED = {StoreShared: 0, LoadShared: 1, StoreGlobal: 2}
"""Number of each kind of epilogue op in the column ``what``."""


@dataclass(frozen=True, slots=True)
class AddressStream:
    """
    A table of integers, one row for each address.

    Attributes:
        columns: Names of the columns.
        rows: Shape [rows, columns].
    """

    columns: tuple[str, ...]
    rows: IntArray


@dataclass(frozen=True, slots=True)
class Selection:
    """
    The rows of a stream to keep. None selects all.

    Attributes:
        threads: Threads of the CTA (in ldmatrix streams: warp * 32 + lane).
        k_tiles: Indices of k tiles.
    """

    threads: Collection[int] | None = None
    k_tiles: Collection[int] | None = None


def block_of(kernel: KernelSchedule[Any], ctaid: CtaId) -> int:
    """
    Return the linear block index of a CTA that has work.

    Args:
        kernel: Kernel whose grid the CTA is in.
        ctaid: blockIdx x, y, z.

    Raises:
        BadInput: The CTA is outside the grid, or has no work.
    """
    extent = kernel.grid
    if any(not 0 <= index < limit for index, limit in zip(ctaid, extent, strict=True)):
        raise BadInput(f"ctaid must be inside the grid {extent}, got {ctaid}")
    block = kernel.block_at(ctaid)
    missing = kernel.missing_work(block)
    if missing:
        raise BadInput(f"ctaid {ctaid} has {missing}: it exits at once")
    return block


def stream_names(kernel: KernelSchedule[Any]) -> tuple[str, ...]:
    """Return the names of a kernel's streams that are tables of integers."""
    return (
        *(f"gmem_{operand}" for operand in kernel.copied),
        *(f"smem_store_{operand}" for operand in kernel.operand_names),
        *(f"ldmatrix_{operand}" for operand in kernel.operand_names),
        "epilogue",
    )


def stream(kernel: KernelSchedule[Any], name: str, ctaid: CtaId, selection: Selection = Selection()) -> AddressStream:
    """
    Return one address stream of one CTA.

    Offsets are in elements. Global offsets count from the tensor's base, shared offsets from the base of the operand's
    allocation (all stages). Offsets of the epilogue's staging count from its own base, in accumulators. An invalid
    access has the offset that the pointer arithmetic gives.

    ``k_tile`` counts an operand's k tiles over the whole program, in its order. Fetches count from 0 (for GEMM fetch 0
    is the residue tile) and include the stages - 1 fetches past the last k tile. A convolution also issues one share of
    a further fetch, which only ``events`` shows. ldmatrix streams end with k group 0 of the k tile past the last, which
    is loaded and never consumed.

    Args:
        kernel: Kernel whose CTA it is.
        name: One of ``stream_names``.
        ctaid: blockIdx x, y, z.
        selection: Rows to keep.

    Raises:
        BadInput: The stream does not exist, the CTA is outside the grid or has no work, or the stream lacks a selected
            thread or k tile.

    Source: golden gmem_*, smem_write_*, warp_read_* and epilogue_* files.
    """
    names = stream_names(kernel)
    if name not in names:
        raise BadInput(f"stream must be one of {', '.join([*names, 'events'])}, got {name!r}")
    kind, _, operand = name.rpartition("_")
    makers: dict[str, Callable[..., AddressStream]] = {"gmem": _gmem, "smem_store": _smem_store, "ldmatrix": _ldmatrix}
    cta = _Cta(kernel, name, block_of(kernel, ctaid), selection)
    return makers[kind](cta, operand) if kind in makers else _epilogue(cta)


class _Cta:
    """One CTA whose stream is printed."""

    def __init__(self, kernel: KernelSchedule[StepT], name: str, block: int, selection: Selection) -> None:
        self.kernel, self.name, self.block, self.selection = kernel, name, block, selection
        self.lanes: Lanes[Any] = kernel.lanes()
        self.global_ = self.lanes.cta(block)
        self.threads = _chosen("--threads", name, selection.threads, self.lanes.warps * WARP_SIZE)

    def k_tiles(self, there_are: int) -> IntArray:
        """Return the selected k tiles out of ``there_are``."""
        return _chosen("--k-tiles", self.name, self.selection.k_tiles, there_are)


def _gmem(cta: _Cta, operand: str) -> AddressStream:
    fills = cta.kernel.fills(cta.block, operand)
    k_tiles = cta.k_tiles(len(fills))
    own = cta.lanes.operands[operand]
    accesses, vecs = own.thread_map.accesses, own.vecs
    brought = [cta.global_.fetched(*fills[k_tile].target) for k_tile in k_tiles.tolist()]
    # Only a GEMM inside a larger kernel, as in attention, can have no fetch at all.
    names = tuple(brought[0].coordinates) if brought else ("row", "column")
    shape = (len(cta.threads), len(k_tiles), accesses, vecs)

    def of_threads(arrays: Iterable[Any]) -> IntArray:
        """Stack arrays [k tile][threads, accesses, vecs] into one of shape [threads, k tiles, accesses, vecs]."""
        full = [np.broadcast_to(array, (cta.lanes.warps * WARP_SIZE, accesses, vecs))[cta.threads] for array in arrays]
        return np.stack(full, axis=1).astype(np.int64) if full else np.zeros(shape, np.int64)

    thread, k_tile, access, vec = _axes(cta.threads, k_tiles, accesses, vecs)
    return _table(
        {
            "thread": thread,
            "k_tile": k_tile,
            "access": access,
            "vec": vec,
            **{name: of_threads(one.coordinates[name] for one in brought) for name in names},
            "offset": of_threads(one.offset for one in brought),
            "valid": of_threads(one.valid for one in brought),
        }
    )


def _smem_store(cta: _Cta, operand: str) -> AddressStream:
    fills = cta.kernel.fills(cta.block, operand)
    k_tiles = cta.k_tiles(len(fills))
    slots = np.array([fills[k_tile].slot for k_tile in k_tiles.tolist()], dtype=np.int64)
    offsets = cta.lanes.fill_offsets(operand) if len(fills) else np.zeros((1, cta.lanes.warps * WARP_SIZE, 0), np.int64)
    thread, k_tile, access = _axes(cta.threads, k_tiles, offsets.shape[2])
    stage = slots[None, :, None]
    columns = {"thread": thread, "k_tile": k_tile, "access": access, "stage": stage}
    return _table(columns | {"offset": offsets[stage, thread, access]})


def _ldmatrix(cta: _Cta, operand: str) -> AddressStream:
    """Tabulate every fragment load of the program: the consumed k tiles, and k group 0 of the one past the last."""
    tiles = cta.kernel.fragments(cta.block, operand)
    k_tiles = cta.k_tiles(len(tiles))
    parts = []
    for k_tile in k_tiles.tolist():
        groups = np.array(tiles[k_tile].k_groups, dtype=np.int64)
        slot, offsets = tiles[k_tile].slot, cta.lanes.fragment_offsets(operand)
        warps = np.unique(cta.threads // WARP_SIZE)
        instructions, lanes = offsets.shape[2], WARP_SIZE
        warp, group, instruction, lane = _axes(warps, groups, instructions, lanes)
        columns = {"warp": warp, "k_tile": np.full((1, 1, 1, 1), k_tile), "k_group": group, "instruction": instruction}
        parts.append(_table(columns | {"lane": lane, "offset": offsets[slot, group, instruction, warp, lane]}))
    columns_of = ("warp", "k_tile", "k_group", "instruction", "lane", "offset")
    rows = np.concatenate([np.zeros((0, len(columns_of)), np.int64), *(part.rows for part in parts)])
    rows = rows[np.isin(rows[:, 0] * WARP_SIZE + rows[:, 4], cta.threads)]
    return AddressStream(columns_of, _ordered(rows, 5))


def _inside(cta: _Cta, step: Any) -> IntArray:
    """Return the shared offset of each chosen thread."""
    shared = cta.lanes.shared(step)
    if shared is None:
        raise TypeError(f"{step} has no shared offset")
    return shared.offsets.reshape(-1)[cta.threads]


def _epilogue(cta: _Cta) -> AddressStream:
    """Tabulate shared stores and loads, in accumulators from the epilogue's base, then the output's vectors."""
    if cta.selection.k_tiles is not None:
        raise BadInput("--k-tiles must be left out for epilogue, which has no k tiles")
    columns = ("thread", "step", "what", "access", "offset", "valid")
    parts = []
    for step in cta.kernel.epilogue_steps(cta.block):
        op = cta.lanes.op(step)
        if type(op) not in STAGED:
            continue
        reached = cta.global_.reached(step)
        if reached is None:
            offset, valid = _inside(cta, step), np.ones_like(cta.threads)
        else:
            offset, valid = reached.offset.reshape(-1)[cta.threads], reached.valid.reshape(-1)[cta.threads].astype(int)
        number, what = cta.lanes.output_step(step), STAGED[type(op)]
        fixed = (np.full_like(cta.threads, value) for value in (number, what, op.access))
        parts.append(np.stack([cta.threads, *fixed, offset, valid], axis=-1))
    return AddressStream(columns, _ordered(np.concatenate(parts), 4))


def _ordered(rows: IntArray, keys: int) -> IntArray:
    """Return the rows sorted by their first ``keys`` columns, the first slowest."""
    ordered: IntArray = rows[np.lexsort(rows[:, keys - 1 :: -1].T)]
    return ordered


def _table(columns: Mapping[str, IntArray | BoolArray]) -> AddressStream:
    """Broadcast named columns into rows, first axis slowest."""
    arrays = np.broadcast_arrays(*columns.values())
    return AddressStream(tuple(columns), np.stack([array.astype(np.int64).reshape(-1) for array in arrays], axis=-1))


def _chosen(option: str, name: str, selected: Collection[int] | None, extent: int) -> IntArray:
    """
    Return the selected indices in order, or all of them if nothing is selected.

    Raises:
        BadInput: An index is outside ``extent``; the message names the option and the stream.
    """
    if selected is None:
        return np.arange(extent, dtype=np.int64)
    chosen = np.array(sorted(set(selected)), dtype=np.int64)
    outside = chosen[(chosen < 0) | (chosen >= extent)]
    if outside.size and not extent:
        raise BadInput(f"{option} must be left out for {name}: this CTA has no k tile of it")
    if outside.size:
        raise BadInput(f"{option} must be 0..{extent - 1} for {name}, got {outside[0]}")
    return chosen


def _axes(*extents: int | IntArray) -> list[IntArray]:
    """Return index arrays that broadcast against each other, one axis each."""
    values = [np.arange(extent, dtype=np.int64) if isinstance(extent, int) else extent for extent in extents]
    return [array.astype(np.int64) for array in np.ix_(*values)]
