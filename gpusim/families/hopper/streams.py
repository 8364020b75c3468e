"""The address streams of an sm_90 GEMM: TMA, wgmma, mbarriers, stmatrix, tiles and stages of a CTA."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import numpy as np

from gpusim.errors import BadInput, Unsupported
from gpusim.families.hopper.collective import collective_of
from gpusim.families.hopper.problem import HopperScenario
from gpusim.families.hopper.program.ops import (
    BeginTile,
    Expect,
    Init,
    MbarrierArrive,
    RoleOp,
    StoreD,
    TmaLoad,
    TmaStore,
    Wait,
    Wgmma,
)
from gpusim.families.hopper.program.roles import WarpRole, roles_of
from gpusim.families.hopper.tensor_maps import MAP_COLUMNS, tensor_maps
from gpusim.families.hopper.work import place_of, work_of
from gpusim.machine import load_machine
from gpusim.schedule.addresses import AddressStream, CtaId, Selection
from gpusim.schedule.events import Events
from gpusim.tile.scheduler.cta_work import CtaWork, WorkUnit

_WORD: Final = 0xFFFFFFFF

_LOADS: Final = (
    *("thread", "tile", "k_tile", "stage", "phase", "x", "y", "z"),
    *("box_x", "box_y", "address", "bytes", "mask"),
)

STREAM_COLUMNS: Final[dict[str, tuple[str, ...]]] = {
    "tma_a": _LOADS,
    "tma_b": _LOADS,
    "tma_c": _LOADS,
    "tma_d": ("thread", "tile", "stage", "x", "y", "z", "box_x", "box_y", "address"),
    "wgmma": (
        *("thread", "tile", "k_tile", "stage", "phase", "k_block", "m_block"),
        *("a_low", "a_high", "b_low", "b_high", "accumulate"),
    ),
    "mbarrier": ("thread", "tile", "what", "barrier", "stage", "phase", "count", "bytes", "cta"),
    "stmatrix": ("thread", "tile", "m", "n", "stage", "instruction", "address"),
    "scheduler": WorkUnit._fields,
    "stages": (
        *("stages", "stage_bytes", "epilogue_m", "epilogue_n", "stages_c", "stages_d", "reuses_c"),
        *("a", "b", "epilogue", "mainloop_bytes", "epilogue_bytes", "shared_bytes", "threads"),
    ),
    "tensor_maps": MAP_COLUMNS,
}
"""Columns of each stream. ``x``, ``y`` and ``z`` are TMA's coordinates, the contiguous one first."""

MBARRIER_ACTIONS: Final = ("init", "wait", "try_wait", "arrive", "expect", "arrive_and_expect")
"""Names of the numbers in the column ``what`` of stream "mbarrier"."""

_EVENT_FIELDS: Final[Mapping[str, tuple[str, ...]]] = {
    "prefetch_tma_descriptor": ("tensor",),
    "mbar_init": ("mbarrier", "arrivals of a phase"),
    "mbar_wait": ("mbarrier", "parity"),
    "mbar_try_wait": ("mbarrier", "parity"),
    "mbar_arrive": ("mbarrier",),
    "mbar_arrive_remote": ("mbarrier", "rank of the CTA"),
    "mbar_arrive_and_expect_tx": ("mbarrier", "bytes"),
    "mbar_expect_transaction": ("mbarrier", "bytes"),
    "setmaxnreg_dec": ("registers",),
    "setmaxnreg_inc": ("registers",),
    "SM90_TMA_LOAD_3D": ("tensor", "mbarrier", "cache hint", "shared address", "coordinates"),
    "SM90_TMA_LOAD_MULTICAST_3D": ("tensor", "mbarrier", "mask", "cache hint", "shared address", "coordinates"),
    "SM90_TMA_STORE_3D": ("tensor", "shared address", "coordinates"),
    "tma_store_wait_group_read": ("groups that may be pending",),
    "wgmma_wait_group": ("groups that may be pending",),
    "bar_sync": ("threads", "barrier"),
    "SM90_U32x4_STSM_N": ("shared address",),
    "SM75_U32x4_LDSM_N": ("shared address",),
}
"""The entries of an event after its first word; those of ``wgmma`` are its two descriptors and the accumulation."""


def stream(scenario: HopperScenario, name: str, ctaid: CtaId, selection: Selection) -> AddressStream:
    """
    Return one stream of a CTA.

    Addresses are bytes from the start of the CTA's shared memory. ``thread`` is the first thread of the role that
    executes; in "stmatrix" it is the thread itself. ``tile`` numbers the CTA's tiles.

    Args:
        scenario: The scenario.
        name: One of ``STREAM_COLUMNS``.
        ctaid: blockIdx x, y, z.
        selection: Rows to keep.

    Raises:
        BadInput: The stream does not exist, or the CTA is outside the grid.
    """
    if name not in STREAM_COLUMNS:
        raise BadInput(f"stream must be one of {', '.join([*STREAM_COLUMNS, 'events'])}, got {name!r}")
    columns = STREAM_COLUMNS[name]
    limits = {"thread": collective_of(scenario).threads, "k_tile": scenario.k_tiles}
    for key, chosen in (("thread", selection.threads), ("k_tile", selection.k_tiles)):
        option = f"--{key.replace('_', '-')}s"
        if chosen is not None and key not in columns:
            raise BadInput(f"{option} must be left out for {name}, which has none")
        if chosen is not None and max(chosen) >= limits[key]:
            raise BadInput(f"{option} must be 0..{limits[key] - 1} for {name}, got {max(chosen)}")
    rows: list[tuple[int, ...]]
    if name == "stages":
        rows = [_stages(scenario)]
    elif name == "tensor_maps":
        rows = tensor_maps(scenario)
    else:
        units = _units(_work(scenario), ctaid)
        made = _roles(scenario, units, ctaid) if name != "scheduler" else ()
        rows = [row for role in made for row in _rows_of(name, role)] if made else [tuple(unit) for unit in units]
    table = np.array(rows, dtype=np.int64).reshape(-1, len(columns))
    for key, chosen in (("thread", selection.threads), ("k_tile", selection.k_tiles)):
        if chosen is not None:
            table = table[np.isin(table[:, columns.index(key)], sorted(chosen))]
    return AddressStream(columns, table)


def event_fields() -> Mapping[str, tuple[str, ...]]:
    """Return the entries of each event after its first word."""
    return _EVENT_FIELDS


def events(scenario: HopperScenario, ctaid: CtaId, thread: int) -> Events:
    """
    Return what a thread executes, in the words of golden kernel traces.

    Raises:
        BadInput: The CTA is outside the grid, or it has no such thread.
        Unsupported: The CTA shares a tile with others, and how their sums meet is not written down.
    """
    units = _units(_work(scenario), ctaid)
    if any(unit.fixup for unit in units):
        raise Unsupported(
            "stream_k: how CTAs add the sums of a tile that they share has no events; see the other streams"
        )
    roles = _roles(scenario, units, ctaid)
    role = next((one for one in roles if one.first <= thread < one.first + one.threads), None)
    if role is None:
        raise BadInput(f"--thread must be 0..{collective_of(scenario).threads - 1}, got {thread}")
    return role.events(thread)


def _work(scenario: HopperScenario) -> CtaWork:
    return work_of(scenario, load_machine(scenario.machine).sms)


def _units(work: CtaWork, ctaid: CtaId) -> list[WorkUnit]:
    if any(not 0 <= index < limit for index, limit in zip(ctaid, work.grid, strict=True)):
        raise BadInput(f"ctaid must be inside the grid {work.grid}, got {ctaid}")
    return work.of(*ctaid)


def _roles(scenario: HopperScenario, units: list[WorkUnit], ctaid: CtaId) -> tuple[WarpRole, ...]:
    return roles_of(collective_of(scenario), place_of(scenario, *ctaid[:2]), units)


def _stages(scenario: HopperScenario) -> tuple[int, ...]:
    kernel = collective_of(scenario)
    epilogue = kernel.epilogue
    tile, stages, reuses, base, size = (0, 0), (0, 0), 0, 0, 1
    if epilogue is not None:
        tile, stages, reuses = epilogue.tile, (epilogue.stages_c, epilogue.stages_d), int(epilogue.reuses_c)
        base, size = epilogue.base, epilogue.shared_bytes
    places = (kernel.a.base, kernel.b.base, base)
    sizes = (kernel.mainloop_bytes, size, kernel.shared_bytes, kernel.threads)
    return (kernel.stages, kernel.stage_bytes, *tile, *stages, reuses, *places, *sizes)


def _rows_of(name: str, role: WarpRole) -> Iterator[tuple[int, ...]]:
    """Yield the rows of a stream of one role."""
    maker: Callable[[RoleOp, int, int, int], Iterator[tuple[int, ...]]] = {
        "wgmma": _wgmma,
        "mbarrier": _mbarrier,
        "stmatrix": _stmatrix,
        "tma_d": _store,
    }.get(name, _load(name[-1].upper()))
    phase, tile = 0, -1
    for op in role.ops:
        if isinstance(op, Wait):
            phase = op.phase
        elif isinstance(op, BeginTile):
            tile = op.number
        yield from maker(op, role.first, tile, phase)


def _load(tensor: str) -> Callable[[RoleOp, int, int, int], Iterator[tuple[int, ...]]]:
    def rows(op: RoleOp, thread: int, tile: int, phase: int) -> Iterator[tuple[int, ...]]:
        if isinstance(op, TmaLoad) and op.tensor == tensor:
            place = (thread, tile, op.k_tile, op.stage, phase, *op.coordinates)
            yield (*place, op.box[0], op.box[1], op.address, op.bytes, op.mask)

    return rows


def _store(op: RoleOp, thread: int, tile: int, phase: int) -> Iterator[tuple[int, ...]]:  # noqa: ARG001 - alike for all
    if isinstance(op, TmaStore):
        yield thread, tile, op.stage, *op.coordinates, op.box[0], op.box[1], op.address


def _wgmma(op: RoleOp, thread: int, tile: int, phase: int) -> Iterator[tuple[int, ...]]:
    if isinstance(op, Wgmma):
        words = (op.a & _WORD, op.a >> 32, op.b & _WORD, op.b >> 32)
        yield thread, tile, op.k_tile, op.stage, phase, op.k_block, op.m_block, *words, int(op.accumulate)


def _mbarrier(op: RoleOp, thread: int, tile: int, phase: int) -> Iterator[tuple[int, ...]]:  # noqa: ARG001
    if isinstance(op, Init):
        yield thread, tile, 0, *_barrier(op), -1, op.count, 0, -1
    elif isinstance(op, Wait):
        yield thread, tile, 2 if op.tried else 1, *_barrier(op), op.phase, 0, 0, -1
    elif isinstance(op, MbarrierArrive):
        for rank, count in op.arrivals():
            yield thread, tile, 3, *_barrier(op), -1, count, 0, rank
    elif isinstance(op, Expect):
        yield thread, tile, 5 if op.arrives else 4, *_barrier(op), -1, int(op.arrives), op.bytes, -1


PIPELINES: Final = ("mainloop.full", "mainloop.empty", "epi_load.full", "epi_load.empty", "math_wg_order", "load_order")
"""Names of the numbers in the column ``barrier`` of stream "mbarrier"."""


def _barrier(op: Any) -> tuple[int, int]:
    return PIPELINES.index(op.barrier.pipeline), op.barrier.index


def _stmatrix(op: RoleOp, thread: int, tile: int, phase: int) -> Iterator[tuple[int, ...]]:  # noqa: ARG001
    if isinstance(op, StoreD):
        for lane, addresses in enumerate(op.addresses):
            for instruction, address in enumerate(addresses):
                yield thread + lane, tile, op.m, op.n, op.stage, instruction, address
