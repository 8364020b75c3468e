"""A role's side of the epilogue: accumulators and C through shared memory to D, and TMA stores in flight."""

from collections import deque

import numpy as np

from gpusim.arrays import IntArray
from gpusim.families.hopper.execute.clocks import OWN_ACCESSES
from gpusim.families.hopper.execute.elements import from_bits, to_bits
from gpusim.families.hopper.execute.memory import BY_STORE, C_CONTENT, GENERIC
from gpusim.families.hopper.execute.places import CHUNK, GRANULE, box_chunks, granules_of
from gpusim.families.hopper.execute.reads import conflict_words, content_words
from gpusim.families.hopper.execute.role_state import RoleState
from gpusim.families.hopper.problem import MMA_ROWS, WARPGROUP
from gpusim.families.hopper.program.ops import CommitStores, LoadC, Staged, StoreD, TmaStore, WaitStores
from gpusim.numerics.elements import Values
from gpusim.numerics.output_op import apply


class OutputSide:
    """The epilogue of a role. A TMA store reads shared memory at once if ``early``, else when it is waited for."""

    def __init__(self, role: RoleState, *, early: bool) -> None:
        self._role, self._kernel, self._early = role, role.kernel, early
        self._committed = 0
        self._opened: list[TmaStore] = []
        self._flying: deque[tuple[TmaStore, ...]] = deque()
        self._source: Values | None = None
        self._sources = 0

    def begin(self) -> None:
        """Begin a tile."""
        self._source, self._sources = None, 0

    def check_accumulators(self, what: str) -> None:
        """Report accumulators that are used while wgmma are in flight."""
        role, registers = self._role, self._role.registers
        if registers.in_flight:
            tiles = ", ".join(map(str, registers.flying_tiles()))
            self._kernel.found(
                "accumulators_in_flight",
                f"{role}: the accumulators of tile {role.unit} {what} while the wgmma of k tile {tiles} are in flight:"
                f" no wgmma wait for 0 groups stands between",
                *(-1, "accumulator"),
            )

    def load_source(self, op: LoadC) -> bool:
        """Load a subtile of C to registers."""
        role, memory = self._role, self._role.cta.memory
        chunks, where = self._rows(op)
        wanted = C_CONTENT + role.cta.subtile(role.unit, self._sources)
        found = memory.other_content(where, wanted)
        if found is not None:
            holds = content_words(role.cta, found)
            what = f"reads {content_words(role.cta, wanted)} in stage {op.stage}, which holds {holds}"
            self._kernel.found("overwrite" if found > wanted else "unfilled", f"{role} {what}", -1, "c", op.stage)
        elif memory.unordered_write(where, role.clock, by_async=False) is not None:
            what = f"reads {content_words(role.cta, wanted)} in stage {op.stage}, which TMA may not have filled yet"
            self._kernel.found("unfilled", f"{role} {what}", -1, "c", op.stage)
        memory.note_read(where, (role.local, GENERIC), role.access(), wanted)
        self._source = from_bits(memory.gather(chunks, self._kernel.output_bits), self._kernel.does.output)
        self._sources += 1
        return True

    def stage(self, op: StoreD) -> bool:
        """Store a subtile of D to shared memory."""
        role, epilogue = self._role, self._kernel.epilogue
        self.check_accumulators("are stored")
        columns = slice(op.n * epilogue.tile[1], (op.n + 1) * epilogue.tile[1])
        block = op.m * self._kernel.collective.consumers + role.role.slot % self._kernel.collective.consumers
        sums = role.registers.result(block)[:, columns]
        source = np.zeros(sums.shape) if self._source is None else self._source
        values = apply(self._kernel.does, sums, source, np.zeros(1))
        chunks, where = self._rows(op)
        content = role.cta.output_content(role.unit, op.m, op.n)
        memory = role.cta.memory
        conflict = memory.unordered_read(where, role.clock, content, by_async=False)
        if conflict is None:
            conflict = memory.unordered_write(where, role.clock, by_async=False)
        if conflict is not None:
            self._kernel.found(
                "store_overwrite" if conflict.kind == BY_STORE else "overwrite",
                f"{role} writes {content_words(role.cta, content)} to stage {op.stage} before"
                f" {conflict_words(role.cta, conflict)}",
                *(-1, "d", op.stage),
            )
        memory.note_write(where, role.own(OWN_ACCESSES), role.access(), content, generic=True)
        memory.scatter(chunks, to_bits(values, self._kernel.does.output))
        return True

    def store(self, op: TmaStore) -> bool:
        """Issue a TMA store."""
        role, memory, epilogue = self._role, self._role.cta.memory, self._kernel.epilogue
        where = granules_of(op.address, epilogue.stage_bytes)
        wanted = role.cta.stored(role.unit, op)
        found = memory.other_content(where, wanted)
        conflict = memory.unordered_write(where, role.clock, by_async=True)
        what = f"the TMA store of {content_words(role.cta, wanted)} from stage {op.stage} by {role}"
        if found is not None and found > wanted:
            self._kernel.found("store_overwrite", f"{what} finds {content_words(role.cta, found)}", -1, "d", op.stage)
        elif found is not None:
            self._kernel.found(
                "proxy", f"{what} is not ordered behind all threads that write it: no barrier stands between",
                *(-1, "d", op.stage),
            )  # fmt: skip
        elif conflict is not None:
            writer = "TMA" if conflict.role < 0 else role.cta.program.roles[conflict.role].name
            lacks = "no fence.proxy.async of those threads, with a barrier behind it, stands between"
            self._kernel.found("proxy", f"{what} may not see what {writer} wrote: {lacks}", -1, "d", op.stage)
        memory.note_read(where, (role.local, BY_STORE), self._committed + 1, wanted)
        if self._early:
            self._execute(op)
        self._opened.append(op)
        return True

    def commit(self, op: CommitStores) -> bool:  # noqa: ARG002
        """Close a group of TMA stores."""
        self._committed += 1
        self._flying.append(tuple(self._opened))
        self._opened = []
        return True

    def wait(self, op: WaitStores) -> bool:
        """Wait until at most some groups still read shared memory."""
        while len(self._flying) > op.pending:
            self._read(self._flying.popleft())
            self._role.store_groups += 1
        return True

    def finish_tile(self) -> None:
        """Store a tile from registers, if the kernel has no epilogue in shared memory."""
        role, collective = self._role, self._kernel.collective
        if collective.epilogue is not None or role.role.threads < WARPGROUP or not role.cta.program.units:
            return
        self.check_accumulators("are stored")
        tile, (rows, columns, _) = role.cta.program.units[role.unit], collective.scenario.kernel.tile
        for block in range(rows // MMA_ROWS):
            first = (tile.n * columns, tile.m * rows + block * MMA_ROWS, tile.l)
            sums = role.registers.result(block)
            values = apply(self._kernel.does, sums, np.zeros(sums.shape), np.zeros(1))
            self._kernel.output.store(first, to_bits(values, self._kernel.does.output))

    def end(self) -> None:
        """End the role: no TMA store may still read shared memory."""
        self.finish_tile()
        if self._committed > self._role.store_groups or self._opened:
            left = self._committed - self._role.store_groups
            self._kernel.found(
                "cta_ended",
                f"{self._role} ends while {left} of its groups of TMA stores may still read shared memory",
                *(-1, "d"),
            )
        for group in (*self._flying, tuple(self._opened)):
            self._read(group)

    def _read(self, group: tuple[TmaStore, ...]) -> None:
        for op in group:
            if not self._early:
                self._execute(op)

    def _execute(self, op: TmaStore) -> None:
        epilogue, bits = self._kernel.epilogue, self._kernel.output_bits
        chunks = box_chunks(op.address, op.box[1], op.box[0] * bits // 8, epilogue.swizzle)
        self._kernel.output.store(op.coordinates, self._role.cta.memory.gather(chunks, bits))

    def _rows(self, op: Staged) -> tuple[IntArray, slice]:
        """Return the chunks and the granules of the role's 64 rows of a staged subtile."""
        epilogue, bits = self._kernel.epilogue, self._kernel.output_bits
        row_bytes = epilogue.tile[1] * bits // 8
        slot = self._role.role.slot % self._kernel.collective.consumers
        first = op.base + slot * MMA_ROWS * row_bytes
        if not op.addresses:
            return box_chunks(first, MMA_ROWS, row_bytes, epilogue.swizzle), granules_of(first, MMA_ROWS * row_bytes)
        by_lane = np.array(op.addresses).reshape(4, 2, 16, -1) // CHUNK
        chunks = by_lane.transpose(0, 2, 3, 1).reshape(MMA_ROWS, -1)
        begin = int(chunks.min()) * CHUNK // GRANULE
        return chunks, slice(begin, int(chunks.max()) * CHUNK // GRANULE + 1)
