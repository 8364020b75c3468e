"""The code of all warps, as blocks that are repeated, and what each warp's trace names."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from gpusim.families.hopper.collective import Collective
from gpusim.families.hopper.problem import MMA_ROWS
from gpusim.families.hopper.program import ops
from gpusim.families.hopper.program.roles import WarpRole, roles_of
from gpusim.families.hopper.program.tiles import Place
from gpusim.families.hopper.simulation.instructions import Instructions
from gpusim.sim.code import Decoded
from gpusim.sim.core.constants import PHASE_AT, RANKS_AT
from gpusim.tile.scheduler.cta_work import WorkUnit
from gpusim.units import WARP_SIZE

_ROW_OF_STORE: Final = 8
"""Elements of a row that four lanes store, a pair each."""

_IN_RINGS: Final = ("mainloop.full", "epi_load.full")
"""Pipelines whose rounds a consumer of a ping-pong kernel passes over while the other has its tile."""


class BoxEntry(NamedTuple):
    """
    A box of a trace.

    Attributes:
        at: Its entry's index in the warp's trace.
        tensor: "A", "B", "C" or "D"; "stored" for D that threads store.
        unit: Number of the tile in the CTA's order.
        coordinates: First element in the CTA that stands for others.
        box: Contiguous elements and rows.
    """

    at: int
    tensor: str
    unit: int
    coordinates: tuple[int, int, int]
    box: tuple[int, int]


@dataclass
class RoleProgram:
    """
    What one warp executes.

    Attributes:
        role: Name of its role.
        blocks: Its code in the order of execution.
        entries: Entries of its trace, without the requests of boxes.
        boxes: Its boxes.
    """

    role: str
    blocks: list[tuple[Decoded, ...]] = field(default_factory=list)
    entries: list[int] = field(default_factory=list)
    boxes: list[BoxEntry] = field(default_factory=list)


def programs_of(
    collective: Collective, make: Instructions, place: Place, units: Sequence[WorkUnit]
) -> list[RoleProgram]:
    """
    Return the program of each warp of a CTA.

    Args:
        collective: The kernel.
        make: Makes instructions.
        place: The CTA in its cluster.
        units: Its tiles.
    """
    roles = roles_of(collective, place, units)
    return [
        _Program(collective, make, units, role, warp).made()
        for role in roles
        for warp in range(role.threads // WARP_SIZE)
    ]


class _Program:
    """The program of one warp, in the making."""

    def __init__(
        self, collective: Collective, make: Instructions, units: Sequence[WorkUnit], role: WarpRole, warp: int
    ) -> None:
        self.collective, self.make, self.units, self.role, self.warp = collective, make, units, role, warp
        self.numbers = {barrier: number for number, barrier in enumerate(collective.barriers)}
        self.stages = dict[str, int]()
        for barrier in collective.barriers:
            self.stages[barrier.pipeline] = max(self.stages.get(barrier.pipeline, 0), barrier.index + 1)
        self.awaited = dict[ops.Mbarrier, int]()
        self.unit, self.of_ring = 0, dict.fromkeys(_IN_RINGS, 0)
        self.program = RoleProgram(role.name)

    def made(self) -> RoleProgram:
        """Return the program."""
        blocks, open_block = list[tuple[Decoded, ...]](), self.make.math("alu", self.make.around.begin, 2)
        for op in self.role.ops:
            if isinstance(op, ops.BeginTile):
                self.begin(op.number)
            if isinstance(op, ops.BeginTile) or self.begins_k_tile(op):
                blocks.append(tuple(open_block))
                open_block = []
            if not self.executes(op):
                continue
            if op == ops.WGMMA_COMMIT:
                open_block[-1] = open_block[-1]._replace(pending=1)
            open_block += self.make.of(op, self.warp, produces=self.role.name == "producer")
            self.enter(op)
        if self.collective.epilogue is None:
            open_block += self.stored_from_registers()
        blocks.append((*open_block, self.make.exit()))
        self.program.blocks = blocks
        return self.program

    def stored_from_registers(self) -> list[Decoded]:
        """Return the stores of a kernel without an epilogue in shared memory: pairs of values to eight rows each."""
        collective, made = self.collective, list[Decoded]()
        unit, (tile_m, tile_n, _) = self.units[0], collective.scenario.kernel.tile
        for m_block in range(collective.m_blocks):
            for below in range(2):
                row = unit.m * tile_m + m_block * MMA_ROWS + 16 * self.warp + 8 * below
                for column in range(0, tile_n, _ROW_OF_STORE):
                    first = (unit.n * tile_n + column, row, unit.l)
                    at = len(self.program.entries)
                    self.program.boxes.append(BoxEntry(at, "stored", self.unit, first, (_ROW_OF_STORE, 8)))
                    self.program.entries.append(0)
                    made += self.make.stored_pair()
        return made

    def executes(self, op: ops.RoleOp) -> bool:
        """Return whether the warp executes an operation: the first one alone issues TMA, and what belongs to it."""
        if self.role.name == "all" and isinstance(op, ops.TmaLoad | ops.Expect | ops.Prefetch | ops.Init):
            return self.warp == 0
        if self.role.name == "all" and isinstance(op, ops.Wait) and op.barrier.pipeline == "mainloop.empty":
            return self.warp == 0
        return not isinstance(op, ops.MbarrierArrive) or bool(self.targets(op))

    def begins_k_tile(self, op: ops.RoleOp) -> bool:
        """Return whether an operation begins a k tile."""
        producer = self.role.name == "producer"
        pipeline = "mainloop.empty" if producer else "mainloop.full"
        return isinstance(op, ops.Wait) and op.barrier.pipeline == pipeline

    def begin(self, number: int) -> None:
        """Begin a tile: the rounds of rings that earlier tiles took are passed."""
        self.unit = number
        epilogue = self.collective.epilogue
        subtiles = 0 if epilogue is None else epilogue.subtiles[0] * epilogue.subtiles[1]
        self.of_ring["mainloop.full"] = sum(unit.k_tiles for unit in self.units[:number])
        self.of_ring["epi_load.full"] = subtiles * sum(unit.epilogue for unit in self.units[:number])

    def targets(self, op: ops.MbarrierArrive) -> list[int]:
        """Return the ranks at whose mbarriers the warp arrives."""
        return [rank for rank, thread in op.targets if thread is None or thread // WARP_SIZE == self.warp]

    def enter(self, op: ops.RoleOp) -> None:
        """Add the entries that an operation's instructions take."""
        entries = self.program.entries
        match op:
            case ops.Wait(barrier, parity):
                entries.append(self.numbers[barrier] | self.phase(barrier, parity) << PHASE_AT)
            case ops.Expect(barrier):
                entries.append(self.numbers[barrier])
            case ops.MbarrierArrive(barrier):
                alone = self.collective.cluster_size == 1 or barrier.pipeline != "mainloop.empty"
                ranks = 0 if alone else sum(1 << rank for rank in self.targets(op))
                entries.append(self.numbers[barrier] | ranks << RANKS_AT)
            case ops.TmaLoad():
                self.program.boxes.append(
                    BoxEntry(len(entries), op.tensor, self.unit, op.coordinates, (op.box[0], op.box[1]))
                )
                entries.append(self.numbers[op.barrier] | op.mask << RANKS_AT)
            case ops.TmaStore() if self.warp == 0:
                self.program.boxes.append(
                    BoxEntry(len(entries), op.tensor, self.unit, op.coordinates, (op.box[0], op.box[1]))
                )
                entries.append(0)
            case _:
                pass

    def phase(self, barrier: ops.Mbarrier, parity: int) -> int:
        """
        Return how many phases of an mbarrier are complete when a wait for a parity is over.

        Of a ring, the number of stages that were taken before tells; of others, it is the next phase of that parity.
        """
        pipeline = barrier.pipeline
        if pipeline in _IN_RINGS:
            taken = self.of_ring[pipeline]
            self.of_ring[pipeline] += 1
            turns, index = divmod(taken, self.stages[pipeline])
            if index != barrier.index or turns % 2 != parity:
                raise ValueError(f"{barrier} is not stage {taken} of its ring")
            return turns + 1
        found = self.awaited.get(barrier, -1) + 1
        if (found - 1) % 2 != parity:
            found += 1
        self.awaited[barrier] = found
        return found
