"""The consumers' epilogue: subtiles go through shared memory, C comes and D leaves by TMA."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache

from gpusim.families.hopper.collective import Collective, EpilogueStages
from gpusim.families.hopper.problem import MMA_ROWS, WARPGROUP
from gpusim.families.hopper.program.ops import (
    PROXY_FENCE,
    CommitStores,
    LoadC,
    Mbarrier,
    MbarrierArrive,
    RoleOp,
    StoreD,
    SyncNamed,
    TmaStore,
    Wait,
    WaitStores,
)
from gpusim.families.hopper.program.pipelines import PipelineState
from gpusim.families.hopper.program.tiles import Place
from gpusim.tile.scheduler.cta_work import WorkUnit

_HALF = 16
"""Bits of the elements that stmatrix stores and ldmatrix loads."""

_COLUMNS_OF_X4 = 16
"""Columns of an x4 matrix instruction; its other two matrices are eight rows below."""

_CHUNK = 16
"""Bytes that a swizzle moves together."""

EPILOGUE_BARRIER = 1
"""Number of the consumers' named barrier."""


@dataclass(slots=True)
class EpilogueState:
    """
    Where a consumer's epilogue stands between two tiles.

    Attributes:
        awaited: The next stage of C.
        released: The next stage of C to release.
        store: Number of the next subtile that is staged.
        issued: TMA stores that were issued since the last tail.
    """

    awaited: PipelineState
    released: PipelineState
    store: int = 0
    issued: int = field(default=0)


def first_state(epilogue: EpilogueStages) -> EpilogueState:
    """Return the state before the first tile."""
    start = PipelineState(epilogue.stages_c)
    return EpilogueState(start, start)


@lru_cache(maxsize=256)
def matrix_addresses(epilogue: EpilogueStages, base: int, slot: int) -> tuple[tuple[int, ...], ...]:
    """
    Return the addresses of the matrix instructions of a subtile, indexed [thread of the warpgroup][instruction].

    A lane gives the address of a row of eight elements. A warp has 16 rows, an instruction 16 columns.

    Args:
        epilogue: The epilogue.
        base: Byte address of the stage.
        slot: Which of the warpgroups that share the subtile, each with 64 rows.
    """
    row_bytes = epilogue.tile[1] * epilogue.bits // 8
    rows = []
    for thread in range(WARPGROUP):
        warp, lane = divmod(thread, 32)
        row = slot * MMA_ROWS + 16 * warp + lane % 16
        columns = range(0, epilogue.tile[1], _COLUMNS_OF_X4)
        offsets = (row * row_bytes + (column + lane // 16 * 8) * epilogue.bits // 8 for column in columns)
        rows.append(tuple(base + swizzled(offset, epilogue.swizzle) for offset in offsets))
    return tuple(rows)


def swizzled(offset: int, width: int) -> int:
    """Return a byte offset after the swizzle of an atom ``width`` bytes wide: 16-byte chunks are exchanged by row."""
    chunks = width // _CHUNK
    return offset ^ (offset // 128 % chunks) * _CHUNK


class _Tile:
    """The epilogue of one tile in one warpgroup."""

    def __init__(self, collective: Collective, place: Place, unit: WorkUnit, slot: int, state: EpilogueState) -> None:
        if collective.epilogue is None:
            raise TypeError("the non-specialised kernel stores from registers")
        self.collective, self.place, self.unit, self.slot, self.state = collective, place, unit, slot, state
        self.epilogue, self.loads_c = collective.epilogue, collective.scenario.loads_c
        self.threads = WARPGROUP * collective.consumers
        self.matrix = self.epilogue.bits == _HALF
        self.stages_of_store = self.epilogue.stages_c if self.epilogue.reuses_c else self.epilogue.stages_d

    def ops(self) -> Iterator[RoleOp]:
        """Yield the epilogue."""
        along_m, along_n = self.epilogue.subtiles
        subtiles = [(m, n) for n in range(along_n) for m in range(along_m)]
        before: tuple[int, int] | None = None
        for m, n in subtiles:
            if self.loads_c:
                yield from self.load(m, n)
            if self.epilogue.delays_store and before is not None:
                yield from self.store(*before)
            yield self.staged(StoreD, "SM90_U32x4_STSM_N", self.store_stage, m, n, of_d=True)
            if not self.epilogue.delays_store:
                yield from self.store(m, n)
            before = m, n
        if self.epilogue.delays_store and before is not None:
            yield from self.store(*before)

    @property
    def store_stage(self) -> int:
        """Stage at which the next subtile of D is staged."""
        return self.state.store % self.stages_of_store

    def staged(self, kind: type[LoadC | StoreD], word: str, stage: int, m: int, n: int, *, of_d: bool) -> RoleOp:
        """Return the move of a subtile between registers and a stage."""
        base = self.epilogue.stage_address(stage, of_d=of_d)
        addresses = matrix_addresses(self.epilogue, base, self.slot) if self.matrix else ()
        return kind(word if self.matrix else "", addresses, stage, base, m, n)

    def load(self, m: int, n: int) -> Iterator[RoleOp]:
        """Yield the load of a subtile of C from its stage, which is released at once if D is not staged there."""
        state = self.state
        yield Wait(Mbarrier("epi_load.full", state.awaited.index), state.awaited.phase)
        yield self.staged(LoadC, "SM75_U32x4_LDSM_N", state.awaited.index, m, n, of_d=False)
        if not self.epilogue.reuses_c:
            yield PROXY_FENCE
            yield self.release()
        state.awaited = state.awaited.advance()

    def release(self) -> RoleOp:
        """Return the release of the next stage of C."""
        barrier = Mbarrier("epi_load.empty", self.state.released.index)
        self.state.released = self.state.released.advance()
        return MbarrierArrive(barrier, ((self.place.rank, None),), WARPGROUP)

    def store(self, m: int, n: int) -> Iterator[RoleOp]:
        """Yield the TMA store of a staged subtile, and the wait until a next one can be staged."""
        state, epilogue = self.state, self.epilogue
        (rows, columns), kernel = epilogue.tile, self.collective.scenario.kernel
        stage = state.store % self.stages_of_store
        yield PROXY_FENCE
        yield SyncNamed(self.threads, EPILOGUE_BARRIER)
        if self.slot == 0:
            first = (self.unit.n * kernel.tile[1] + n * columns, self.unit.m * kernel.tile[0] + m * rows, self.unit.l)
            yield TmaStore("D", epilogue.stage_address(stage, of_d=True), first, (columns, rows, 1), stage)
            yield CommitStores()
            yield WaitStores(epilogue.stages_d - 1, elected=True)
        yield SyncNamed(self.threads, EPILOGUE_BARRIER)
        state.store += 1
        state.issued += 1
        if epilogue.reuses_c and self.loads_c and state.issued > epilogue.stages_d - 1:
            yield self.release()


def epilogue_of_tile(
    collective: Collective, place: Place, unit: WorkUnit, slot: int, state: EpilogueState
) -> Iterator[RoleOp]:
    """Yield the epilogue of a tile in one warpgroup, and move its state on."""
    yield from _Tile(collective, place, unit, slot, state).ops()


def store_tail(collective: Collective, place: Place, state: EpilogueState) -> Iterator[RoleOp]:
    """Yield the end of the stores: all have read shared memory, and the stages of C that D lay in are released."""
    yield WaitStores(0, elected=False)
    epilogue = collective.epilogue
    if epilogue is not None and epilogue.reuses_c and collective.scenario.loads_c:
        for _ in range(min(epilogue.stages_d - 1, state.issued)):
            barrier = Mbarrier("epi_load.empty", state.released.index)
            state.released = state.released.advance()
            yield MbarrierArrive(barrier, ((place.rank, None),), WARPGROUP)
    state.issued = 0
