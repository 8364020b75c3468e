"""The printed streams: every address one CTA's threads compute, in the order the schedule issues them."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, Self, TypeAlias

import numpy as np

from gpusim.arrays import BoolArray, IntArray
from gpusim.element_types import element_bits
from gpusim.errors import BadInput
from gpusim.scenario.gemm import GemmScenario
from gpusim.schedule.ops import (
    Barrier,
    CommitGroup,
    CopyAsync,
    Ldmatrix,
    LoadFragment,
    LoadGlobal,
    Op,
    StoreTile,
    WaitGroup,
    WarpMma,
)
from gpusim.schedule.program import program
from gpusim.tile.global_access import GlobalAccess
from gpusim.tile.ldmatrix import fragment_loads, ldmatrix_offsets
from gpusim.tile.operand import SIDES, Side
from gpusim.tile.shared_store import store_offsets
from gpusim.units import WARP_SIZE

CtaId: TypeAlias = tuple[int, int, int]
Events: TypeAlias = list[list[Any]]

SHARED_STORE, SHARED_LOAD, GLOBAL_STORE = 0, 1, 2


@dataclass(frozen=True, slots=True)
class AddressStream:
    """
    A table of integers.

    Attributes:
        columns: Their names.
        rows: Shape [rows, columns].
    """

    columns: tuple[str, ...]
    rows: IntArray


@dataclass(frozen=True, slots=True)
class Selection:
    """
    Which rows of a stream are wanted. None selects all.

    Attributes:
        threads: Threads of the CTA (of ldmatrix streams: warp * 32 + lane).
        k_tiles: k tiles.
    """

    threads: Collection[int] | None = None
    k_tiles: Collection[int] | None = None


@dataclass(frozen=True, slots=True)
class _Cta:
    """One CTA with work: its tile and its k tiles."""

    scenario: GemmScenario
    tile_m: int
    tile_n: int
    slice_: int

    @property
    def k_iterations(self) -> int:
        return self.scenario.k_iterations(self.slice_)

    @property
    def fetches(self) -> int:
        """Number of global fetches, the stages - 1 of the overrun included."""
        return self.k_iterations + self.scenario.kernel.stages - 1

    def global_access(self, operand: Side, fetches: IntArray) -> GlobalAccess:
        """Arrays of shape [fetches, threads, accesses, vecs]."""
        tile = self.tile_m if operand == "a" else self.tile_n
        return self.scenario.operand(operand).iterator(tile, self.slice_).fetch(fetches)


def _cta(scenario: GemmScenario, ctaid: CtaId) -> _Cta:
    extent = scenario.grid.dim
    if any(not 0 <= index < limit for index, limit in zip(ctaid, extent, strict=True)):
        raise BadInput(f"ctaid must be inside the grid {extent}, got {ctaid}")
    tile_m, tile_n, slice_ = (int(index) for index in scenario.grid.tile_of_block(*ctaid))
    if tile_m < 0:
        raise BadInput(f"ctaid {ctaid} has no tile: it exits at once")
    return _Cta(scenario, tile_m, tile_n, slice_)


def table(columns: Mapping[str, IntArray | BoolArray]) -> AddressStream:
    """Broadcast named columns into rows, first axis slowest."""
    arrays = np.broadcast_arrays(*columns.values())
    return AddressStream(tuple(columns), np.stack([array.astype(np.int64).reshape(-1) for array in arrays], axis=-1))


def chosen(option: str, name: str, selected: Collection[int] | None, extent: int) -> IntArray:
    """
    The selected indices in order, all of them where nothing is selected.

    Raises:
        BadInput: One is outside ``extent``; names the option and the stream.
    """
    if selected is None:
        return np.arange(extent, dtype=np.int64)
    chosen = np.array(sorted(set(selected)), dtype=np.int64)
    outside = chosen[(chosen < 0) | (chosen >= extent)]
    if outside.size:
        raise BadInput(f"{option} must be 0..{extent - 1} for {name}, got {outside[0]}")
    return chosen


def _threads(cta: _Cta, name: str, selection: Selection) -> IntArray:
    return chosen("--threads", name, selection.threads, cta.scenario.kernel.threads)


def axes(*extents: int | IntArray) -> list[IntArray]:
    """Index arrays that broadcast against each other, one axis each."""
    values = [np.arange(extent, dtype=np.int64) if isinstance(extent, int) else extent for extent in extents]
    return [array.astype(np.int64) for array in np.ix_(*values)]


def _gmem(cta: _Cta, operand: Side, selection: Selection) -> AddressStream:
    name = f"gmem_{operand}"
    threads = _threads(cta, name, selection)
    fetches = chosen("--k-tiles", name, selection.k_tiles, cta.fetches)
    access = cta.global_access(operand, fetches)
    *_, accesses, vecs = access.offset.shape
    thread, k_tile, access_index, vec = axes(threads, fetches, accesses, vecs)
    full = access.offset.shape

    def of_threads(array: IntArray | BoolArray) -> IntArray:
        return np.swapaxes(np.broadcast_to(array, full)[:, threads], 0, 1).astype(np.int64)

    by_thread = {axis: of_threads(array) for axis, array in access.coordinates.items()}
    return table(
        {
            "thread": thread,
            "k_tile": k_tile,
            "access": access_index,
            "vec": vec,
            **by_thread,
            "offset": of_threads(access.offset),
            "valid": of_threads(access.valid),
        },
    )


def _smem_store(cta: _Cta, operand: Side, selection: Selection) -> AddressStream:
    stages = cta.scenario.kernel.stages
    slots = np.stack([store_offsets(cta.scenario.operand(operand), stage)[:, :, 0] for stage in range(stages)], axis=1)
    name = f"smem_store_{operand}"
    fetches = chosen("--k-tiles", name, selection.k_tiles, cta.fetches)
    thread, k_tile, access = axes(_threads(cta, name, selection), fetches, slots.shape[2])
    stage = k_tile % stages
    offset = slots[thread, stage, access]
    return table({"thread": thread, "k_tile": k_tile, "access": access, "stage": stage, "offset": offset})


def _ldmatrix(cta: _Cta, operand: Side, selection: Selection) -> AddressStream:
    """Every fragment load of the program: the consumed k tiles, and k group 0 of the one past the last."""
    kernel = cta.scenario.kernel
    slots = np.stack([ldmatrix_offsets(cta.scenario.operand(operand), stage) for stage in range(kernel.stages)])
    *_, k_groups, instructions, lanes = slots.shape
    name = f"ldmatrix_{operand}"
    threads = _threads(cta, name, selection)
    k_tiles = chosen("--k-tiles", name, selection.k_tiles, cta.k_iterations + 1)
    warps = np.unique(threads // WARP_SIZE)
    warp, k_tile, k_group, instruction, lane = axes(warps, k_tiles, k_groups, instructions, lanes)
    offset = slots[k_tile % kernel.stages, warp, k_group, instruction, lane]
    stream = table(
        {
            "warp": warp,
            "k_tile": k_tile,
            "k_group": k_group,
            "instruction": instruction,
            "lane": lane,
            "offset": offset,
        },
    )
    loaded = (stream.rows[:, 1] < cta.k_iterations) | (stream.rows[:, 2] == 0)
    wanted = np.isin(stream.rows[:, 0] * WARP_SIZE + stream.rows[:, 4], threads)
    return AddressStream(stream.columns, stream.rows[loaded & wanted])


def _epilogue(cta: _Cta, selection: Selection) -> AddressStream:
    """Stores and loads of shared memory in accumulators from the epilogue's base, then the output's vectors."""
    if selection.k_tiles is not None:
        raise BadInput("--k-tiles must be left out for epilogue, which has no k tiles")
    threads = _threads(cta, "epilogue", selection)
    tile = cta.scenario.epilogue
    output = tile.output(np.arange(tile.steps, dtype=np.int64), cta.tile_m, cta.tile_n)
    true = np.ones((), dtype=np.bool_)
    parts = []
    for what, offset, valid in (
        (SHARED_STORE, tile.store_offsets()[None, :, :, 0], true),
        (SHARED_LOAD, tile.load_offsets()[None, :, :, 0], true),
        (GLOBAL_STORE, output.offset, output.valid),
    ):
        thread, step, access = axes(threads, tile.steps, offset.shape[2])
        parts.append(
            table(
                {
                    "thread": thread,
                    "step": step,
                    "what": np.full((), what, dtype=np.int64),
                    "access": access,
                    "offset": np.swapaxes(offset[:, threads], 0, 1),
                    "valid": np.swapaxes(np.broadcast_to(valid, offset.shape)[:, threads], 0, 1),
                },
            )
        )
    rows = np.concatenate([part.rows for part in parts])
    order = np.lexsort((rows[:, 3], rows[:, 2], rows[:, 1], rows[:, 0]))
    return AddressStream(parts[0].columns, rows[order])


STREAMS: dict[str, Callable[[_Cta, Selection], AddressStream]] = {
    "gmem_a": lambda cta, selection: _gmem(cta, "a", selection),
    "gmem_b": lambda cta, selection: _gmem(cta, "b", selection),
    "smem_store_a": lambda cta, selection: _smem_store(cta, "a", selection),
    "smem_store_b": lambda cta, selection: _smem_store(cta, "b", selection),
    "ldmatrix_a": lambda cta, selection: _ldmatrix(cta, "a", selection),
    "ldmatrix_b": lambda cta, selection: _ldmatrix(cta, "b", selection),
    "epilogue": _epilogue,
}
"""The streams that are tables of integers, by name."""


def stream(scenario: GemmScenario, name: str, ctaid: CtaId, selection: Selection = Selection()) -> AddressStream:
    """
    One address stream of one CTA.

    Offsets are in elements: global ones from the tensor's base, shared ones from the base of that operand's whole
    allocation (all stages), the epilogue's from its own base, in accumulators. ``k_tile`` counts fetches from 0 (for
    GEMM fetch 0 is the residue tile), the stages - 1 overrun fetches included (the one share of a further fetch that a
    convolution issues is in ``events`` only); ldmatrix streams end with k group 0 of the k tile past the last, which
    is loaded and never consumed. Offsets of invalid accesses are what the pointer
    arithmetic gives.

    Args:
        name: A key of ``STREAMS``.
        ctaid: blockIdx x, y, z.
        selection: Rows to keep.

    Raises:
        BadInput: The stream does not exist, the CTA is outside the grid or has no tile, or the selection names what
            the stream does not have.

    Source: golden gmem_*, smem_write_*, warp_read_* and epilogue_* files.
    """
    if name not in STREAMS:
        raise BadInput(f"stream must be one of {', '.join([*STREAMS, 'events'])}, got {name!r}")
    return STREAMS[name](_cta(scenario, ctaid), selection)


def events(scenario: GemmScenario, ctaid: CtaId, thread: int) -> Events:
    """
    One thread's mainloop as an ordered list, in the words of the golden event traces.

    ``[cp_async | cp_async_zfill, operand, shared offset, global offset, bytes, predicate]``, ``[commit]``,
    ``[wait_group, n]``, ``[sync]``, ``[mma, instructions]``,
    ``[ldmatrix.xN | ldmatrix.trans.xN | frag_word32, operand, shared offset of this lane]``; of a pipelined mainloop
    ``[ldg, operand, global offset, bytes, predicate]`` and ``[sts, operand, shared offset, bytes]``.

    Raises:
        BadInput: The CTA or the thread does not exist, or the CTA has no tile.

    Source: golden trace_gemm_*.json, trace_conv_*.json.
    """
    cta = _cta(scenario, ctaid)
    if not 0 <= thread < scenario.kernel.threads:
        raise BadInput(f"thread must be 0..{scenario.kernel.threads - 1}, got {thread}")
    words = _EventWords.of(cta, thread)
    return [words.event(op) for op in program(scenario, cta.k_iterations, cta.slice_).mainloop_ops()]


@dataclass(frozen=True, slots=True)
class _EventWords:
    """
    One thread's addresses, ready to be looked up op by op.

    Attributes:
        offset: Global offsets, per operand [fetches, accesses, vecs]; the first share of one more fetch included.
        valid: Predicates, likewise.
        store: Shared offsets of its copies, per operand [stages, accesses, vecs].
        load: Shared offset its lane supplies, per operand [stages, k_groups, instructions].
        copy_bytes: Width of one copy, per operand.
        load_kind: ldmatrix.xN, ldmatrix.trans.xN or frag_word32, per operand.
        mma: mma.sync per WarpMma.
    """

    offset: dict[Side, IntArray]
    valid: dict[Side, BoolArray]
    store: dict[Side, IntArray]
    load: dict[Side, IntArray]
    copy_bytes: dict[Side, int]
    load_kind: dict[Side, str]
    mma: int

    @classmethod
    def of(cls, cta: _Cta, thread: int) -> Self:
        scenario, kernel = cta.scenario, cta.scenario.kernel
        fetches = np.arange(cta.k_iterations + kernel.stages, dtype=np.int64)
        warp, lane = divmod(thread, WARP_SIZE)
        access = {operand: cta.global_access(operand, fetches) for operand in SIDES}
        stages = range(kernel.stages)
        bits = element_bits(scenario.problem.dtype.ab)
        elements = {"a": scenario.problem.access("a"), "b": scenario.problem.access("b")}
        return cls(
            offset={operand: access[operand].offset[:, thread] for operand in SIDES},
            valid={operand: access[operand].valid[:, thread] for operand in SIDES},
            store={
                operand: np.stack([store_offsets(scenario.operand(operand), stage)[thread] for stage in stages])
                for operand in SIDES
            },
            load={
                operand: np.stack(
                    [ldmatrix_offsets(scenario.operand(operand), stage)[warp, ..., lane] for stage in stages]
                )
                for operand in SIDES
            },
            copy_bytes={operand: elements[operand] * bits // 8 for operand in SIDES},
            load_kind={operand: fragment_loads(scenario.operand(operand)).kind for operand in SIDES},
            mma=(kernel.warp[0] // kernel.instruction[0]) * (kernel.warp[1] // kernel.instruction[1]),
        )

    def event(self, op: Op) -> list[Any]:  # noqa: PLR0911 (one for each kind of op)
        match op:
            case CopyAsync(operand, fetch, access, vec, stage, zfill):
                return [
                    "cp_async_zfill" if zfill else "cp_async",
                    operand.upper(),
                    int(self.store[operand][stage, access, vec]),
                    int(self.offset[operand][fetch, access, vec]),
                    self.copy_bytes[operand],
                    int(self.valid[operand][fetch, access, vec]),
                ]
            case LoadGlobal(operand, fetch, access, vec):
                return [
                    "ldg",
                    operand.upper(),
                    int(self.offset[operand][fetch, access, vec]),
                    self.copy_bytes[operand],
                    int(self.valid[operand][fetch, access, vec]),
                ]
            case StoreTile(operand, _, access, stage):
                slots = self.store[operand][stage, access]
                return ["sts", operand.upper(), int(slots[0]), self.copy_bytes[operand] * len(slots)]
            case Ldmatrix() | LoadFragment():
                offset = int(self.load[op.operand][op.stage, op.k_group, op.instruction])
                return [self.load_kind[op.operand], op.operand.upper(), offset]
            case WarpMma():
                return ["mma", self.mma]
            case CommitGroup():
                return ["commit"]
            case WaitGroup(pending):
                return ["wait_group", pending]
            case Barrier():
                return ["sync"]
            case _:
                raise TypeError(f"{type(op).__name__} is no op of a mainloop")
