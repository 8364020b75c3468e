"""
Models one SMSP (sub-partition of an SM): which of its warps issues in which cycle, on pipes of its own.

The SimPy process wakes when a warp can issue. Instructions that use only the SMSP itself are issued ahead of the clock,
up to the earliest cycle at which another warp could arrive. Instructions that use units shared with other SMSPs are
issued when the clock reaches their cycle.
"""

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any

import simpy

from gpusim.machine.spec import Machine
from gpusim.sim.code import (
    BAR,
    COMMIT,
    DEPBAR,
    EXIT,
    GLOBAL,
    LDGSTS,
    OUTPUT,
    PIPE,
    SHARED,
    port_count,
)
from gpusim.sim.instruction_cache import InstructionCache
from gpusim.sim.l1 import L1
from gpusim.sim.observer import Observer
from gpusim.sim.shared_memory import SharedMemory
from gpusim.sim.stall_reasons import (
    BARRIER,
    BRANCH_RESOLVING,
    DRAIN,
    LONG_SCOREBOARD,
    NO_INSTRUCTION,
    SHORT_SCOREBOARD,
    WAIT,
)
from gpusim.sim.warp import Warp

NEVER = 1 << 62


@dataclass(frozen=True, slots=True)
class Connections:
    """
    What an SMSP reaches beyond itself: the units it shares with the SM's other SMSPs, and whom it tells.

    Attributes:
        shared_memory: The SM's MIO and data stage.
        l1: The SM's L1.
        instruction_cache: The SM's instruction fetch.
        barrier_shortest: Fewest cycles from an arrival at the barrier to a release.
        observer: Takes notes of the watched CTA's warps.
        next_launch: Cycle now -> earliest cycle at which another CTA may come.
        arrive: Called with a warp that reaches the barrier, and the cycle of its arrival.
        leave: Called with a warp that has issued its last instruction, and the cycle at which it is gone.
    """

    shared_memory: SharedMemory
    l1: L1
    instruction_cache: InstructionCache
    barrier_shortest: int
    observer: Observer
    next_launch: Callable[[int], int]
    arrive: Callable[[Warp, int], None]
    leave: Callable[[Warp, int], None]


class Smsp:
    """
    One SMSP. Its scheduling policy is greedy then oldest.

    The warp that issued last continues as long as it can issue; otherwise the oldest warp that can issue does.

    Source: Huerta MICRO'25 finds greedy-then-youngest on GA10x; oldest is kept here until measured (D4).

    Not modelled: register banks and operand reuse, on which a pipe's interval depends (D23).

    Args:
        sm: What the SMSP reaches of its SM.
        index: Number of the SMSP in its SM.
    """

    def __init__(self, env: simpy.Environment, machine: Machine, sm: Connections, index: int) -> None:
        ports, copy = port_count(machine), machine.async_copy
        self._env = env
        self._sm = sm
        self._index = index
        self._source_release = 0 if copy is None else copy.source_release
        self._copy_interval = 0 if copy is None else copy.issue_interval
        # Places an instruction can ask for: the pipes, then the MIO queue, then none.
        self._port_free = [0] * ports
        self._mio_port = ports - 2
        self._warps: list[Warp] = []
        self._blocked = 0
        self._last: Warp | None = None
        self._clock = 0
        self._asleep_until = -1
        self.issued = 0
        self.process = env.process(self._run())

    @property
    def resident(self) -> int:
        """Number of warps on this SMSP, including those that wait at a barrier."""
        return len(self._warps) + self._blocked

    def add(self, warp: Warp) -> None:
        """Add a warp of a new CTA. It may issue from ``warp.ready`` on."""
        self._warps.append(warp)
        self._fetch(warp)
        self._wake(warp.ready)

    def release(self, warp: Warp, at: int) -> None:
        """Return a warp from the barrier. It may issue from cycle ``at`` on."""
        warp.wait_until(at, BARRIER)
        if warp.spans is not None:
            self._sm.observer.released(warp, at)
        self._fetch(warp)
        self._blocked -= 1
        self._warps.append(warp)
        self._warps.sort(key=_age)
        self._wake(warp.ready)

    def _wake(self, at: int) -> None:
        if self._asleep_until > at and self.process is not self._env.active_process:
            self._asleep_until = -1
            self.process.interrupt()

    def _run(self) -> Generator[simpy.Event, Any, None]:
        env = self._env
        while True:
            now = int(env.now)
            until = self._issue_from(now)
            self._asleep_until = until
            try:
                yield env.timeout(until - now) if until < NEVER else env.event()
            except simpy.Interrupt:
                continue
            self._asleep_until = -1

    def _horizon(self, now: int) -> int:
        """Return the earliest cycle at which a warp could issue that is now at a barrier or not yet launched."""
        launch = self._sm.next_launch(now)
        return min(launch, now + self._sm.barrier_shortest) if self._blocked else launch

    def _issue_from(self, now: int) -> int:  # noqa: C901 - the hot loop: splitting it costs a call per instruction
        """
        Issue every instruction that can be decided at cycle ``now``.

        Returns:
            Cycle of the next instruction, at which this must be called again; ``NEVER`` if no warp can issue.
        """
        warps, port_free = self._warps, self._port_free
        horizon = self._horizon(now)
        clock = max(self._clock, now)
        while True:
            chosen, best, last = None, NEVER, self._last
            for warp in warps:
                at = warp.ready
                free = port_free[warp.instruction.port]
                if free > at:  # noqa: PLR1730 - max costs a call, here in the innermost loop
                    at = free
                if at < clock:  # noqa: PLR1730
                    at = clock
                if at < best or (at == best and warp is last):
                    chosen, best = warp, at
            if chosen is None:
                return NEVER
            instruction = chosen.instruction
            kind = instruction.kind
            if best > now and (kind != PIPE or best >= horizon):
                self._clock = clock
                return best
            chosen.account(best, port_free[instruction.port], instruction.throttle)
            self._last = chosen
            self.issued += 1
            clock = self._clock = best + 1
            if kind == PIPE:
                port_free[instruction.port] = best + instruction.interval
                if instruction.write >= 0:
                    chosen.set_scoreboard(instruction.write, best + instruction.latency, SHORT_SCOREBOARD)
                if chosen.spans is not None and instruction.activity >= 0:
                    self._sm.observer.note(chosen, best, best + instruction.latency)
                self._next(chosen, best)
            else:
                self._issue_beyond(chosen, best)
                horizon = self._horizon(now)

    def _issue_beyond(self, warp: Warp, at: int) -> None:
        """Issue an instruction of any kind but ``PIPE``."""
        instruction = warp.instruction
        kind = instruction.kind
        landed = at
        if kind in (SHARED, LDGSTS, GLOBAL):
            landed = self._memory(warp, at)
        elif kind == COMMIT:
            warp.commit_group()
        if warp.spans is not None and instruction.activity >= 0:
            self._sm.observer.note(warp, at, landed)
        if kind == EXIT:
            self._warps.remove(warp)
            self._sm.leave(warp, at + 1)
        elif kind == BAR:
            self._next(warp, at)
            self._warps.remove(warp)
            self._blocked += 1
            self._sm.arrive(warp, at)
        else:
            self._next(warp, at)

    def _memory(self, warp: Warp, at: int) -> int:
        """Issue a memory instruction, and return the cycle at which its data has arrived."""
        instruction = warp.instruction
        kind = instruction.kind
        if kind == SHARED:
            leaves, landed = self._shared_access(warp, at)
        elif kind == LDGSTS:
            leaves, landed = self._copy(warp, at)
        else:
            leaves, landed = self._global_access(warp, at)
        reason = LONG_SCOREBOARD if kind == GLOBAL else SHORT_SCOREBOARD
        self._port_free[self._mio_port] = self._sm.shared_memory.entry_free(self._index)
        if instruction.write >= 0:
            warp.set_scoreboard(instruction.write, landed, reason)
        if instruction.read >= 0:
            warp.set_scoreboard(instruction.read, leaves, reason)
        return landed

    def _shared_access(self, warp: Warp, at: int) -> tuple[int, int]:
        instruction = warp.instruction
        memory = self._sm.shared_memory
        wavefronts = _wavefronts(warp)
        leaves = memory.dispatch(self._index, at, wavefronts)
        if instruction.is_load:
            return leaves, memory.returned(self._index, leaves, wavefronts, instruction.bytes, instruction.latency)
        if instruction.fills:
            warp.tile_stored = served = leaves + memory.service(wavefronts)
            return leaves, served
        return leaves, leaves + instruction.latency

    def _copy(self, warp: Warp, at: int) -> tuple[int, int]:
        """
        Issue an LDGSTS, and return the cycles at which its sources are released and its data has arrived.

        Without active lanes it takes no wavefront, unless it fills with zeros. With a few active lanes it takes as many
        as with all (D21).
        """
        instruction = warp.instruction
        sm = self._sm
        row, turn, access, vec = instruction.target
        turn += warp.trip * warp.segment.tiles_per_trip
        footprint = warp.cta.footprint
        request = footprint.copies[row][turn][access][vec][warp.index]
        wavefronts = _wavefronts(warp) if request[0] or instruction.zero_fills else 0
        leaves = sm.shared_memory.dispatch(self._index, at, wavefronts, self._copy_interval)
        status = footprint.status[row][turn] if footprint.status else None
        landed = sm.l1.copy(leaves, request, issued=at, cached=instruction.through_l1, status=status)
        warp.open_group = max(landed, warp.open_group)
        return leaves + self._source_release, landed

    def _global_access(self, warp: Warp, at: int) -> tuple[int, int]:
        instruction = warp.instruction
        sm = self._sm
        row, output, access, _ = instruction.target
        if row != OUTPUT:
            return self._tile_load(warp, at)
        leaves = sm.shared_memory.dispatch(self._index, at, 0)
        footprint = warp.cta.footprint
        sectors = footprint.outputs[output][access][warp.index]
        if instruction.is_load:
            return leaves, sm.l1.load_streamed(leaves, sectors, issued=at, status=footprint.found[output])
        sm.l1.store(leaves, sectors, issued=at)
        warp.store_drained = leaves
        return leaves, leaves

    def _tile_load(self, warp: Warp, at: int) -> tuple[int, int]:
        """
        Issue an LDG of an operand, and return the cycles at which it leaves the queue and its data has arrived.

        Without active lanes it takes no wavefront. With a few active lanes it takes as many as with all (D21).
        """
        row, turn, access, vec = warp.instruction.target
        turn += warp.trip * warp.segment.tiles_per_trip
        footprint = warp.cta.footprint
        request = footprint.copies[row][turn][access][vec][warp.index]
        leaves = self._sm.shared_memory.dispatch(self._index, at, _wavefronts(warp) if request[0] else 0)
        status = footprint.status[row][turn] if footprint.status else None
        return leaves, self._sm.l1.load(leaves, request, issued=at, status=status)

    def _next(self, warp: Warp, at: int) -> None:
        """Advance the warp to its next instruction, and find the first cycle at which that may issue."""
        instruction = warp.instruction
        ready = at + instruction.stall
        warp.stalled_until = warp.ready = ready
        warp.reason = WAIT
        if instruction.is_branch:
            warp.wait_until(at + instruction.latency, BRANCH_RESOLVING)
        following = warp.advance()
        if following.gated:
            self._gate(warp, following.kind)
            if instruction.kind != BAR:
                self._fetch(warp)

    def _gate(self, warp: Warp, kind: int) -> None:
        """Delay the next instruction until its scoreboards, commit groups and stores allow it."""
        for board in warp.instruction.waits:
            warp.wait_until(warp.scoreboards[board], warp.scoreboard_reasons[board])
        if kind == DEPBAR:
            warp.wait_until(warp.group_wait(warp.instruction.pending), LONG_SCOREBOARD)
        elif kind == BAR:
            # Stores that the barrier makes visible must have been written.
            warp.wait_until(warp.tile_stored, BARRIER)
        elif kind == EXIT:
            warp.wait_until(warp.store_drained, DRAIN)

    def _fetch(self, warp: Warp) -> None:
        """Let the warp wait for the instruction-cache line that its next instruction begins, if it begins one."""
        line = warp.instruction.line
        if line >= 0:
            warp.wait_until(self._sm.instruction_cache.fetched(line, warp.ready), NO_INSTRUCTION)


def _wavefronts(warp: Warp) -> int:
    """Return the wavefronts of the warp's shared-memory access, in the ring slot that this trip of the loop uses."""
    table = warp.instruction.wavefronts
    slot = (warp.instruction.stage + warp.trip * warp.segment.tiles_per_trip) % len(table)
    return table[slot][warp.index]


def _age(warp: Warp) -> tuple[int, int]:
    return warp.cta.index, warp.index
