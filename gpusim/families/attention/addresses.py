"""The printed streams of attention: every address one CTA's threads compute, in the order its program issues them."""

from collections.abc import Sequence

import numpy as np

from gpusim.arrays import BoolArray, IntArray
from gpusim.errors import BadInput
from gpusim.families.attention.blocks import (
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
from gpusim.families.attention.ops import Step, StoreP, operand_name
from gpusim.families.attention.problem import AttentionScenario
from gpusim.families.attention.shape import attention_shape
from gpusim.schedule.addresses import (
    GLOBAL_STORE,
    SHARED_LOAD,
    SHARED_STORE,
    AddressStream,
    CtaId,
    Selection,
    axes,
    chosen,
    table,
)
from gpusim.schedule.ops import CopyAsync, Ldmatrix
from gpusim.schedule.program import cta_program
from gpusim.tile.ldmatrix import ldmatrix_offsets
from gpusim.tile.shared_store import store_offsets
from gpusim.units import WARP_SIZE

COPIED: tuple[CopiedOperand, ...] = ("q", "k", "v")

_KINDS = {"gmem": COPIED, "smem_store": ("q", "k", "p", "v"), "ldmatrix": ("q", "k", "p", "v")}

ATTENTION_STREAMS = (*(f"{kind}_{operand}" for kind, operands in _KINDS.items() for operand in operands), "epilogue")
"""The streams that are tables of integers, by name. Those of P have no rows in flash, which keeps it in registers."""


class AttentionCta:
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
        """The selected threads, in order."""
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
        return np.stack([ldmatrix_offsets(view.operand(which), slot) for slot in range(view.kernel.stages)])

    def store_table(self, operand: CopiedOperand) -> IntArray:
        """Element offset of each copy, [slots, threads, accesses]."""
        gemm, which = GEMM_OF[operand]
        view = gemm_view(self.scenario, gemm)
        return np.stack([store_offsets(view.operand(which), slot)[:, :, 0] for slot in range(view.kernel.stages)])

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
    cta = AttentionCta(scenario, ctaid)
    kind, _, operand = name.rpartition("_")
    if name == "epilogue":
        return _epilogue(cta, selection)
    if kind == "ldmatrix":
        return _ldmatrix(cta, operand, selection)
    if operand == "p":
        return _p_store(cta, selection)
    copied = next(one for one in COPIED if one == operand)
    return _gmem(cta, copied, selection) if kind == "gmem" else _smem_store(cta, copied, selection)


def _gmem(cta: AttentionCta, operand: CopiedOperand, selection: Selection) -> AddressStream:
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


def _smem_store(cta: AttentionCta, operand: CopiedOperand, selection: Selection) -> AddressStream:
    name, places, slots = f"smem_store_{operand}", cta.copies(operand), cta.store_table(operand)
    k_tiles = chosen("--k-tiles", name, selection.k_tiles, len(places))
    thread, k_tile, access = axes(cta.threads(name, selection), k_tiles, slots.shape[2])
    stage = np.array([place[3] for place in places], dtype=np.int64)[k_tile]
    columns = {"thread": thread, "k_tile": k_tile, "access": access}
    return table(columns | {"stage": stage, "offset": slots[stage, thread, access]})


def _p_store(cta: AttentionCta, selection: Selection) -> AddressStream:
    name = "smem_store_p"
    blocks = dict.fromkeys(step.key_block for step in cta.steps if isinstance(step.op, StoreP))
    slots = p_store_offsets(cta.scenario) if blocks else np.zeros((cta.shape.threads, 0), np.int64)
    k_tiles = chosen("--k-tiles", name, selection.k_tiles, len(blocks))
    thread, k_tile, access = axes(cta.threads(name, selection), k_tiles, slots.shape[1])
    columns = {"thread": thread, "k_tile": k_tile, "access": access, "stage": np.zeros((), np.int64)}
    return table(columns | {"offset": slots[thread, access]})


def _ldmatrix(cta: AttentionCta, operand: str, selection: Selection) -> AddressStream:
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


def _epilogue(cta: AttentionCta, selection: Selection) -> AddressStream:
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
