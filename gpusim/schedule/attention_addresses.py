"""The printed streams of attention: every address one CTA's threads compute, in the order its program issues them."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from gpusim.arrays import BoolArray, IntArray
from gpusim.attention_shape import ROW_STATISTICS, attention_shape
from gpusim.errors import BadInput
from gpusim.scenario import element_bits
from gpusim.scenario_attention import AttentionScenario
from gpusim.schedule.addresses import (
    GLOBAL_STORE,
    SHARED_LOAD,
    SHARED_STORE,
    AddressStream,
    CtaId,
    Events,
    Selection,
    axes,
    chosen,
    table,
)
from gpusim.schedule.attention_ops import (
    AtomicMax,
    LoadStatistic,
    Shuffle,
    Step,
    StoreP,
    StoreStatistic,
    operand_name,
)
from gpusim.schedule.ops import Barrier, CommitGroup, CopyAsync, Ldmatrix, WaitGroup, WarpMma
from gpusim.schedule.program import cta_program
from gpusim.tile.attention import (
    GEMM_OF,
    CopiedOperand,
    attention_epilogue,
    attention_grid,
    block_advance,
    gemm_view,
    key_blocks,
    operand_access,
    output_access,
    p_load_offsets,
    p_store_offsets,
)
from gpusim.tile.attention_statistics import statistic_lanes, statistic_words
from gpusim.tile.ldmatrix import fragment_loads, ldmatrix_offsets
from gpusim.tile.shared_store import store_offsets
from gpusim.tile.thread_map import WARP_SIZE

COPIED: tuple[CopiedOperand, ...] = ("q", "k", "v")

_KINDS = {"gmem": COPIED, "smem_store": ("q", "k", "p", "v"), "ldmatrix": ("q", "k", "p", "v")}

ATTENTION_STREAMS = (*(f"{kind}_{operand}" for kind, operands in _KINDS.items() for operand in operands), "epilogue")
"""The streams that are tables of integers, by name. Those of P have no rows in flash, which keeps it in registers."""


class _Cta:
    """One CTA with queries: its program and its tables."""

    def __init__(self, scenario: AttentionScenario, ctaid: CtaId) -> None:
        extent = attention_grid(scenario)
        if any(not 0 <= index < limit for index, limit in zip(ctaid, extent, strict=True)):
            raise BadInput(f"ctaid must be inside the grid {extent}, got {ctaid}")
        self.scenario, self.shape = scenario, attention_shape(scenario)
        self.index = np.array([ctaid], dtype=np.int64)
        advance = block_advance(scenario, self.index)
        if not advance.active[0]:
            raise BadInput(f"ctaid {ctaid} has no query: it exits at once")
        self.steps: Sequence[Step] = cta_program(scenario, key_blocks(scenario, advance, 0)).steps

    def threads(self, name: str, selection: Selection) -> IntArray:
        return chosen("--threads", name, selection.threads, self.shape.threads)

    def copies(self, operand: CopiedOperand) -> list[tuple[int, int, int, int]]:
        """(key block, column block, fetch, slot) of every fetch, in program order: its ``k_tile`` is its place here."""
        gemm, which = GEMM_OF[operand]
        found = {
            (step.key_block, step.column_block, step.op.fetch, step.op.stage): None
            for step in self.steps
            if step.phase == gemm and isinstance(step.op, CopyAsync) and step.op.operand == which
        }
        return list(found)

    def loads(self, operand: str) -> dict[tuple[int, int, int, int], list[int]]:
        """(key block, column block, k tile, slot) of each k tile whose fragments are loaded -> its k groups."""
        found: dict[tuple[int, int, int, int], list[int]] = {}
        for step in self.steps:
            op = step.op
            if isinstance(op, Ldmatrix) and op.instruction == 0 and operand_name(step.phase, op.operand) == operand:
                place = step.key_block, step.column_block, op.k_tile, op.stage
                found.setdefault(place, []).append(op.k_group)
        return found

    def load_table(self, operand: str) -> IntArray:
        """Element offset each lane supplies, [slots, warps, k_groups, instructions, 32]."""
        if operand == "p":
            return p_load_offsets(self.scenario)
        gemm, which = GEMM_OF[operand]  # type: ignore[index]  # q, k or v
        view = gemm_view(self.scenario, gemm)
        return np.stack([ldmatrix_offsets(view, which, slot) for slot in range(view.kernel.stages)])

    def store_table(self, operand: CopiedOperand) -> IntArray:
        """Element offset of each copy, [slots, threads, accesses]."""
        gemm, which = GEMM_OF[operand]
        view = gemm_view(self.scenario, gemm)
        return np.stack([store_offsets(view, which, slot)[:, :, 0] for slot in range(view.kernel.stages)])

    def fetched(self, operand: CopiedOperand, place: tuple[int, int, int, int]) -> tuple[IntArray, ...]:
        """Row, column, offset and predicate of one fetch, each [threads, accesses, vecs]."""
        key_block, column_block, fetch, _ = place
        access = operand_access(
            self.scenario, operand, self.index, key_block=key_block, column_block=column_block, fetch=fetch
        )
        arrays = (access.coordinates["row"], access.coordinates["column"], access.offset, access.valid)
        return tuple(np.broadcast_to(array, access.offset.shape)[0].astype(np.int64) for array in arrays)


def attention_stream(scenario: AttentionScenario, name: str, ctaid: CtaId, selection: Selection) -> AddressStream:
    """
    One address stream of one CTA.

    Columns are those of a GEMM's streams. Offsets are in elements: global ones from the tensor's base, shared ones from
    the operand's own (all slots). ``k_tile`` counts an operand's k tiles over the whole program, in its order: with two
    k tiles of head_dim, those of the second key block walked are 2 and 3. A P's k_tile of ``smem_store_p`` is a key
    block's.

    Args:
        scenario: Problem and kernel.
        name: One of ``ATTENTION_STREAMS``.
        ctaid: blockIdx x, y, z.
        selection: Rows to keep.

    Raises:
        BadInput: The stream does not exist, the CTA is outside the grid or has no query, or the selection names what
            the stream does not have.
    """
    if name not in ATTENTION_STREAMS:
        raise BadInput(f"stream must be one of {', '.join([*ATTENTION_STREAMS, 'events'])}, got {name!r}")
    cta = _Cta(scenario, ctaid)
    kind, _, operand = name.rpartition("_")
    if name == "epilogue":
        return _epilogue(cta, selection)
    if kind == "ldmatrix":
        return _ldmatrix(cta, operand, selection)
    if operand == "p":
        return _p_store(cta, selection)
    copied = next(one for one in COPIED if one == operand)
    return _gmem(cta, copied, selection) if kind == "gmem" else _smem_store(cta, copied, selection)


def _gmem(cta: _Cta, operand: CopiedOperand, selection: Selection) -> AddressStream:
    name, places = f"gmem_{operand}", cta.copies(operand)
    threads = cta.threads(name, selection)
    k_tiles = chosen("--k-tiles", name, selection.k_tiles, len(places))
    accesses = cta.store_table(operand).shape[2]
    fetches = [cta.fetched(operand, places[k_tile]) for k_tile in k_tiles]
    empty = np.zeros((0, cta.shape.threads, accesses, 1), np.int64)
    row, column, offset, valid = (
        np.stack(parts)[:, threads].swapaxes(0, 1) if parts else empty.swapaxes(0, 1)[threads]
        for parts in (list(zip(*fetches, strict=True)) or [()] * 4)
    )
    thread, k_tile, access, vec = axes(threads, k_tiles, accesses, 1)
    columns = {"thread": thread, "k_tile": k_tile, "access": access, "vec": vec}
    return table(columns | {"row": row, "column": column, "offset": offset, "valid": valid})


def _smem_store(cta: _Cta, operand: CopiedOperand, selection: Selection) -> AddressStream:
    name, places, slots = f"smem_store_{operand}", cta.copies(operand), cta.store_table(operand)
    k_tiles = chosen("--k-tiles", name, selection.k_tiles, len(places))
    thread, k_tile, access = axes(cta.threads(name, selection), k_tiles, slots.shape[2])
    stage = np.array([place[3] for place in places], dtype=np.int64)[k_tile]
    columns = {"thread": thread, "k_tile": k_tile, "access": access}
    return table(columns | {"stage": stage, "offset": slots[stage, thread, access]})


def _p_store(cta: _Cta, selection: Selection) -> AddressStream:
    name = "smem_store_p"
    blocks = dict.fromkeys(step.key_block for step in cta.steps if isinstance(step.op, StoreP))
    slots = p_store_offsets(cta.scenario) if blocks else np.zeros((cta.shape.threads, 0), np.int64)
    k_tiles = chosen("--k-tiles", name, selection.k_tiles, len(blocks))
    thread, k_tile, access = axes(cta.threads(name, selection), k_tiles, slots.shape[1])
    columns = {"thread": thread, "k_tile": k_tile, "access": access, "stage": np.zeros((), np.int64)}
    return table(columns | {"offset": slots[thread, access]})


def _ldmatrix(cta: _Cta, operand: str, selection: Selection) -> AddressStream:
    name, loads = f"ldmatrix_{operand}", cta.loads(operand)
    threads = cta.threads(name, selection)
    k_tiles = chosen("--k-tiles", name, selection.k_tiles, len(loads))
    slots = cta.load_table(operand) if loads else np.zeros((1, 1, 1, 0, WARP_SIZE), np.int64)
    places = [(place, groups) for place, groups in loads.items()]
    warp, k_tile, k_group, instruction, lane = axes(
        np.unique(threads // WARP_SIZE), k_tiles, slots.shape[2], slots.shape[3], WARP_SIZE
    )
    # P lies whole, by k tile; the others in their slot.
    slot = np.array([place[2] if operand == "p" else place[3] for place, _ in places], dtype=np.int64)[k_tile]
    columns = {"warp": warp, "k_tile": k_tile, "k_group": k_group, "instruction": instruction, "lane": lane}
    stream = table(columns | {"offset": slots[slot, warp, k_group, instruction, lane]})
    rows = stream.rows
    loaded = np.zeros((len(places), slots.shape[2]), np.bool_)
    for number, (_, groups) in enumerate(places):
        loaded[number, groups] = True
    keep = loaded[rows[:, 1], rows[:, 2]] & np.isin(rows[:, 0] * WARP_SIZE + rows[:, 4], threads)
    return AddressStream(stream.columns, rows[keep])


def _epilogue(cta: _Cta, selection: Selection) -> AddressStream:
    """The epilogue to the output; with a buffer of every column block, ``step`` counting on from one to the next."""
    if selection.k_tiles is not None:
        raise BadInput("--k-tiles must be left out for epilogue, which has no k tiles")
    threads = cta.threads("epilogue", selection)
    tile = attention_epilogue(cta.scenario)
    parts = []
    for column_block in range(cta.shape.column_blocks):
        for number in range(tile.steps):
            output = output_access(cta.scenario, cta.index, column_block, number)
            for what, offset, valid in (
                (SHARED_STORE, tile.store_offsets()[..., 0], None),
                (SHARED_LOAD, tile.load_offsets()[..., 0], None),
                (GLOBAL_STORE, output.offset[0], output.valid[0]),
            ):
                thread, access = axes(threads, offset.shape[1])
                columns: dict[str, IntArray | BoolArray] = {
                    "thread": thread,
                    "step": np.full((), column_block * tile.steps + number, np.int64),
                    "what": np.full((), what, np.int64),
                    "access": access,
                    "offset": offset[threads],
                    "valid": np.ones((), np.bool_) if valid is None else valid[threads],
                }
                parts.append(table(columns))
    rows = np.concatenate([part.rows for part in parts])
    return AddressStream(parts[0].columns, rows[np.lexsort((rows[:, 3], rows[:, 2], rows[:, 1], rows[:, 0]))])


def attention_events(scenario: AttentionScenario, ctaid: CtaId, thread: int) -> Events:
    """
    One thread's program up to the epilogue as an ordered list, in the words of the golden event traces.

    Of both GEMMs as a GEMM's, with operands Q, K, P and V. Of the softmax ``[sts, P, shared offset, bytes]``,
    ``[lds | sts, statistic, float, takes part]`` with floats from the base of shared memory, ``[atoms_max, maximum,
    float]`` and ``[shfl, what, mask]``; arithmetic between registers is left out.

    Raises:
        BadInput: The CTA or the thread does not exist, or the CTA has no query.
    """
    cta = _Cta(scenario, ctaid)
    if not 0 <= thread < cta.shape.threads:
        raise BadInput(f"thread must be 0..{cta.shape.threads - 1}, got {thread}")
    words = _EventWords(cta, thread)
    phases = ("start", "qk", "softmax", "pv", "normalise")
    found = (words.event(step) for step in cta.steps if step.phase in phases)
    return [event for event in found if event]


class _EventWords:
    """One thread's addresses, ready to be looked up step by step."""

    def __init__(self, cta: _Cta, thread: int) -> None:
        self._cta, self._thread = cta, thread
        self._warp, self._lane = divmod(thread, WARP_SIZE)
        self._store = {operand: cta.store_table(operand)[:, thread] for operand in COPIED}
        operands = COPIED if cta.scenario.flash else (*COPIED, "p")
        self._load = {operand: cta.load_table(operand)[:, self._warp, ..., self._lane] for operand in operands}
        self._bytes = element_bits(cta.scenario.problem.dtype.ab) // 8
        self._fetch: tuple[object, tuple[IntArray, ...]] | None = None

    def event(self, step: Step) -> list[Any]:
        """The event of one step; empty for arithmetic between registers."""
        match step.op:
            case CommitGroup():
                return ["commit"]
            case WaitGroup(pending):
                return ["wait_group", pending]
            case Barrier():
                return ["sync"]
            case _:
                return self._gemm(step) if step.phase in ("qk", "pv") else self._softmax(step)

    def _gemm(self, step: Step) -> list[Any]:
        view = gemm_view(self._cta.scenario, "qk" if step.phase == "qk" else "pv")
        match step.op:
            case CopyAsync():
                return self._copy(step, step.op)
            case Ldmatrix(operand, k_tile, k_group, instruction, stage):
                name = operand_name(step.phase, operand)
                slot = k_tile if name == "p" else stage
                offset = int(self._load[name][slot, k_group, instruction])
                return [fragment_loads(view, operand).kind, name.upper(), offset]
            case WarpMma():
                tiles = [view.kernel.warp[axis] // view.kernel.instruction[axis] for axis in (0, 1)]
                return ["mma", tiles[0] * tiles[1]]
            case _:
                raise TypeError(f"{type(step.op).__name__} is no op of a mainloop")

    def _softmax(self, step: Step) -> list[Any]:
        match step.op:
            case StoreP(access):
                return ["sts", "P", int(p_store_offsets(self._cta.scenario)[self._thread, access]), 2 * self._bytes]
            case LoadStatistic() | StoreStatistic():
                return self._statistic(step.op)
            case AtomicMax(row):
                words = statistic_words(self._cta.scenario, "fragment", row, partial=False)
                return ["atoms_max", "maximum", int(words[self._warp, self._lane])]
            case Shuffle(what, _, mask):
                return ["shfl", what, mask]
            case _:
                return []

    def _copy(self, step: Step, op: CopyAsync) -> list[Any]:
        operand = next(one for one in COPIED if one == operand_name(step.phase, op.operand))
        place = operand, step.key_block, step.column_block, op.fetch
        if self._fetch is None or self._fetch[0] != place:
            self._fetch = place, self._cta.fetched(operand, (step.key_block, step.column_block, op.fetch, op.stage))
        _, _, offset, valid = (array[self._thread, op.access, op.vec] for array in self._fetch[1])
        return [
            "cp_async_zfill" if op.zfill else "cp_async",
            operand.upper(),
            int(self._store[operand][op.stage, op.access]),
            int(offset),
            8 * self._bytes,
            int(valid),
        ]

    def _statistic(self, op: LoadStatistic | StoreStatistic) -> list[Any]:
        scenario, stores = self._cta.scenario, isinstance(op, StoreStatistic)
        partial = op.statistic == "partial_sum"
        words = statistic_words(scenario, op.at, op.index, partial=partial)
        array = len(ROW_STATISTICS) if partial else ROW_STATISTICS.index(op.statistic)
        place = array * self._cta.shape.qk[0] + int(words[self._warp, self._lane])
        lanes = statistic_lanes(scenario, op.at, stores=stores)
        return ["sts" if stores else "lds", op.statistic, place, int(lanes[self._warp, self._lane])]
