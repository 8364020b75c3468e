"""The roles of a CTA, and what each does from the first to the last operation."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gpusim.families.hopper.collective import Collective
from gpusim.families.hopper.problem import WARPGROUP
from gpusim.families.hopper.program.consumer import mainloop, multiplied, releases, tail
from gpusim.families.hopper.program.epilogue import epilogue_of_tile, first_state, store_tail
from gpusim.families.hopper.program.ops import (
    CLUSTER_ARRIVE_ORDERED,
    CLUSTER_WAIT,
    SYNC_THREADS,
    WGMMA_COMMIT,
    WGMMA_FENCE,
    BeginTile,
    Event,
    Mbarrier,
    MbarrierArrive,
    RoleOp,
    SetRegisters,
    Wait,
    WgmmaWait,
)
from gpusim.families.hopper.program.pipelines import OrderedBarrier, PipelineState, producer_start
from gpusim.families.hopper.program.producer import k_tiles_of, loads_of_k_tile, mainloop_loads, source_loads
from gpusim.families.hopper.program.setup import setup
from gpusim.families.hopper.program.tiles import Place
from gpusim.tile.scheduler.cta_work import WorkUnit
from gpusim.units import WARP_SIZE


@dataclass(frozen=True, slots=True)
class WarpRole:
    """
    One role of a CTA.

    Attributes:
        name: "producer", "source producer", "idle", "consumer 0", "consumer 1", or "all".
        first: Its first thread.
        threads: Its threads.
        slot: Which of the warpgroups that share a tile; for ping-pong, which of those that take turns.
        ops: Its operations.
    """

    name: str
    first: int
    threads: int
    slot: int
    ops: tuple[RoleOp, ...]

    def events(self, thread: int) -> list[Event]:
        """Return the events of a thread of the CTA."""
        return [event for op in self.ops for event in op.words(thread - self.first)]


def roles_of(collective: Collective, place: Place, units: Sequence[WorkUnit]) -> tuple[WarpRole, ...]:
    """
    Return the roles of a CTA.

    Args:
        collective: The kernel.
        place: The CTA in its cluster.
        units: Its tiles, in order.
    """
    if collective.scenario.kernel.schedule == "non_specialized":
        return (_non_specialized(collective, place, units),)
    return (*_producers(collective, place, units), *_consumers(collective, place, units))


def _producers(collective: Collective, place: Place, units: Sequence[WorkUnit]) -> Iterator[WarpRole]:
    """Yield the roles of the first warpgroup's four warps."""
    persistent = collective.registers is not None
    down: tuple[RoleOp, ...] = (SetRegisters(collective.registers[0], more=False),) if collective.registers else ()
    loads, source = list(mainloop_loads(collective, place, units)), list[RoleOp]()
    if collective.scenario.loads_c:
        source = list(source_loads(collective, place, units, ordered=persistent))
    if not persistent:
        loads, source = [*loads, *source], []
    for warp, (name, ops) in enumerate(
        (("producer", loads), ("idle", []), ("source producer" if persistent else "idle", source), ("idle", []))
    ):
        begun = setup(collective, leads=warp == 0)
        yield WarpRole(name, warp * WARP_SIZE, WARP_SIZE, 0, (*begun, *down, *ops))


def _consumers(collective: Collective, place: Place, units: Sequence[WorkUnit]) -> Iterator[WarpRole]:
    """
    Yield the roles of the other warpgroups.

    Of the warpgroups that share a tile, the last one has the first rows: threads are counted from the CTA's first,
    modulo those that share.
    """
    schedule = collective.scenario.kernel.schedule
    up: tuple[RoleOp, ...] = (SetRegisters(collective.registers[1], more=True),) if collective.registers else ()
    for number in range(1 if schedule == "warp_specialized" else 2):
        first = WARPGROUP * (1 + number)
        if schedule == "pingpong":
            slot, ops = number, _takes_turns(collective, place, units, number)
        else:
            slot = first // WARPGROUP % collective.consumers
            ops = _shares(collective, place, units, slot)
        yield WarpRole(f"consumer {number}", first, WARPGROUP, slot, (*setup(collective, leads=False), *up, *ops))


def _shares(collective: Collective, place: Place, units: Sequence[WorkUnit], slot: int) -> Iterator[RoleOp]:
    """
    Yield what a consumer does that multiplies its rows of every tile.

    Not modelled: how stream-K adds the sums of a tile that several CTAs share.
    """
    if collective.epilogue is None:
        return
    state, epilogue = PipelineState(collective.stages), first_state(collective.epilogue)
    for number, unit in enumerate(units):
        yield BeginTile(number)
        yield from mainloop(collective, place, unit, slot, state)
        yield from tail(place, unit, state)
        state = state.advance(unit.k_tiles)
        if unit.epilogue:
            yield from epilogue_of_tile(collective, place, unit, slot, epilogue)
    if any(unit.epilogue for unit in units):
        yield from store_tail(collective, place, epilogue)


def _takes_turns(collective: Collective, place: Place, units: Sequence[WorkUnit], group: int) -> Iterator[RoleOp]:
    """Yield what a consumer of a ping-pong kernel does: every second tile, its main loop and its epilogue in turn."""
    if collective.epilogue is None:
        return
    order = OrderedBarrier("math_wg_order", 2, 2, group)
    state, epilogue = PipelineState(collective.stages), first_state(collective.epilogue)
    subtiles = collective.epilogue.subtiles[0] * collective.epilogue.subtiles[1]
    for number, unit in enumerate(units):
        if number % 2 == group:
            yield BeginTile(number)
            yield Wait(*order.awaited())
            yield from mainloop(collective, place, unit, 0, state)
            yield _passes_on(order, place)
            yield from tail(place, unit, state)
            yield Wait(*order.awaited())
            yield from epilogue_of_tile(collective, place, unit, 0, epilogue)
            yield from store_tail(collective, place, epilogue)
            yield _passes_on(order, place)
        else:
            # The other group's tile: its stages of C are passed over.
            epilogue.awaited = epilogue.awaited.advance(subtiles)
            epilogue.released = epilogue.released.advance(subtiles)
            epilogue.store += subtiles
        state = state.advance(unit.k_tiles)


def _passes_on(order: OrderedBarrier, place: Place) -> RoleOp:
    return MbarrierArrive(order.passed_on(), ((place.rank, None),), WARPGROUP, remote=False)


def _non_specialized(collective: Collective, place: Place, units: Sequence[WorkUnit]) -> WarpRole:
    """Return the only role of a kernel whose threads load and multiply."""
    ops = list(setup(collective, leads=True))
    for number, unit in enumerate(units):
        ops.append(BeginTile(number))
        ops += _loads_and_multiplies(collective, place, unit)
    return WarpRole("all", 0, WARPGROUP, 0, tuple(ops))


def _loads_and_multiplies(collective: Collective, place: Place, unit: WorkUnit) -> Iterator[RoleOp]:
    """Yield the main loop that loads a k tile when it has released a stage."""
    filled, state = producer_start(collective.stages), PipelineState(collective.stages)
    ahead = iter(k_tiles_of(unit))
    for k_tile in list(k_tiles_of(unit))[: collective.stages]:
        next(ahead)
        yield from loads_of_k_tile(collective, place, unit, k_tile, filled)
        filled = filled.advance()
    yield SYNC_THREADS
    before = state
    for number, k_tile in enumerate(k_tiles_of(unit)):
        yield Wait(Mbarrier("mainloop.full", state.index), state.phase)
        yield WGMMA_FENCE
        yield from multiplied(collective, 0, k_tile, state.index, begins=number == 0)
        yield WGMMA_COMMIT
        if number:
            yield WgmmaWait(1)
            yield releases(place, before.index)
            before = before.advance()
            following = next(ahead, None)
            if following is not None:
                yield from loads_of_k_tile(collective, place, unit, following, filled)
                filled = filled.advance()
        state = state.advance()
    yield WgmmaWait(0)
    if collective.cluster_size > 1:
        # No CTA may end while others arrive at its mbarriers.
        yield CLUSTER_ARRIVE_ORDERED
        yield CLUSTER_WAIT
