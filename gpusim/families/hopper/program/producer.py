"""The producers: the warp that loads A and B with TMA, and the warp that loads C."""

from collections.abc import Iterator, Sequence

from gpusim.families.hopper.collective import PRODUCER_ARRIVALS, Collective, SharedOperand
from gpusim.families.hopper.program.ops import BeginTile, Expect, Mbarrier, MbarrierArrive, RoleOp, TmaLoad, Wait
from gpusim.families.hopper.program.pipelines import OrderedBarrier, PipelineState, producer_start
from gpusim.families.hopper.program.tiles import Place, boxes
from gpusim.tile.scheduler.cta_work import WorkUnit


def loads_of_k_tile(
    collective: Collective, place: Place, unit: WorkUnit, k_tile: int, state: PipelineState
) -> Iterator[RoleOp]:
    """Yield a k tile's loads: wait until the slot is empty, expect its bytes, and load the boxes of A and of B."""
    full = Mbarrier("mainloop.full", state.index)
    yield Wait(Mbarrier("mainloop.empty", state.index), state.phase)
    yield Expect(full, collective.stage_bytes, arrives=True)
    m, n, k = collective.scenario.kernel.tile
    for operand, first in ((collective.a, unit.m * m), (collective.b, unit.n * n)):
        yield from _operand_loads(operand, place, (first, k_tile * k, unit.l), full, state.index, k_tile)


def _operand_loads(  # noqa: PLR0917 - each is needed
    operand: SharedOperand,
    place: Place,
    origin: tuple[int, int, int],
    full: Mbarrier,
    stage: int,
    k_tile: int,
) -> Iterator[RoleOp]:
    sharers = place.sharers(operand.side)
    mask = sum(1 << rank for rank in sharers) if len(sharers) > 1 else 0
    for box in boxes(operand, len(sharers), place.slice_of(operand.side)):
        row, column, batch = origin[0] + box.row, origin[1] + box.column, origin[2]
        yield TmaLoad(
            tensor=operand.side.upper(),
            barrier=full,
            mask=mask,
            address=operand.base + stage * operand.stage_bytes + box.offset,
            coordinates=(column, row, batch) if operand.k_contiguous else (row, column, batch),
            box=box.extents,
            bytes=box.bytes,
            stage=stage,
            k_tile=k_tile,
        )


def k_tiles_of(unit: WorkUnit) -> range:
    """Return the k tiles of a work unit."""
    return range(unit.first_k_tile, unit.first_k_tile + unit.k_tiles)


def mainloop_loads(collective: Collective, place: Place, units: Sequence[WorkUnit]) -> Iterator[RoleOp]:
    """Yield what the producer of A and B does for all tiles of a CTA, and its wait until all slots are empty."""
    state = producer_start(collective.stages)
    order = OrderedBarrier("load_order", 1, 2, 0)
    for number, unit in enumerate(units):
        yield BeginTile(number)
        for k_tile in k_tiles_of(unit):
            yield from loads_of_k_tile(collective, place, unit, k_tile, state)
            state = state.advance()
        if number == 0 and collective.scenario.kernel.schedule in ("cooperative", "pingpong"):
            yield MbarrierArrive(order.passed_on(), ((place.rank, None),), PRODUCER_ARRIVALS, remote=False)
    if units:
        yield from drained("mainloop.empty", state)


def drained(pipeline: str, state: PipelineState) -> Iterator[RoleOp]:
    """Yield a producer's last waits: no slot may be in use when its CTA ends."""
    for _ in range(state.stages):
        yield Wait(Mbarrier(pipeline, state.index), state.phase)
        state = state.advance()


def source_loads(collective: Collective, place: Place, units: Sequence[WorkUnit], *, ordered: bool) -> Iterator[RoleOp]:
    """Yield what the producer of C does for all tiles of a CTA; ``ordered``: behind the first loads of A and B."""
    epilogue, kernel = collective.epilogue, collective.scenario.kernel
    if epilogue is None or not any(unit.epilogue for unit in units):
        return
    state = producer_start(epilogue.stages_c)
    if ordered:
        yield Wait(*OrderedBarrier("load_order", 1, 2, 1).awaited())
    for number, unit in enumerate(units):
        if not unit.epilogue:
            continue
        yield BeginTile(number)
        for n, m in _subtiles(epilogue.subtiles):
            full = Mbarrier("epi_load.full", state.index)
            yield Wait(Mbarrier("epi_load.empty", state.index), state.phase)
            yield TmaLoad(
                tensor="C",
                barrier=full,
                mask=0,
                address=epilogue.stage_address(state.index, of_d=False),
                coordinates=(
                    unit.n * kernel.tile[1] + n * epilogue.tile[1],
                    unit.m * kernel.tile[0] + m * epilogue.tile[0],
                    unit.l,
                ),
                box=(epilogue.tile[1], epilogue.tile[0], 1),
                bytes=epilogue.stage_bytes,
                stage=state.index,
                k_tile=-1,
            )
            yield Expect(full, epilogue.stage_bytes, arrives=False)
            yield MbarrierArrive(full, ((place.rank, None),), PRODUCER_ARRIVALS)
            state = state.advance()
    yield from drained("epi_load.empty", state)


def _subtiles(counts: tuple[int, int]) -> Iterator[tuple[int, int]]:
    """Yield the subtiles of the epilogue as (n, m), those along M first."""
    along_m, along_n = counts
    for n in range(along_n):
        for m in range(along_m):
            yield n, m
