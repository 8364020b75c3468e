"""One cluster in execution: its roles take turns until all have ended, or until none can go on."""

from collections import deque
from dataclasses import dataclass
from typing import Final

import numpy as np

from gpusim.element_types import element_bits
from gpusim.families.hopper.execute.barriers import MbarrierState, Meeting
from gpusim.families.hopper.execute.clocks import OWN_ACCESSES, Clock, component
from gpusim.families.hopper.execute.cta import CtaState
from gpusim.families.hopper.execute.deadlock import report_deadlock
from gpusim.families.hopper.execute.kernel import HopperRun
from gpusim.families.hopper.execute.places import box_chunks, granules_of
from gpusim.families.hopper.execute.program import ClusterProgram
from gpusim.families.hopper.execute.reads import check_load
from gpusim.families.hopper.execute.role_run import RoleRun
from gpusim.families.hopper.execute.role_state import RoleState
from gpusim.families.hopper.execute.tensors import read_box
from gpusim.families.hopper.program.ops import Mbarrier, TmaLoad

_UNTIL_BLOCKED: Final = 1 << 30
_MOST_AT_ONCE: Final = 6
"""Operations that a role executes at most before another one's turn, in a random order."""


@dataclass(frozen=True, slots=True)
class Interleaving:
    """
    An order in which roles and copies are executed. Hazards are the same in all.

    Attributes:
        words: What it does, in words.
        consumers_first: Whether the last roles have their turn first.
        early: Whether copies and wgmma access memory when they are issued; otherwise as late as they may.
        seed: Seed of a random order; None for a fixed one.
    """

    words: str
    consumers_first: bool
    early: bool
    seed: int | None = None


INTERLEAVINGS: Final = (
    Interleaving("producers first, copies early", consumers_first=False, early=True),
    Interleaving("consumers first, copies late", consumers_first=True, early=False),
    Interleaving("random, copies late", consumers_first=False, early=False, seed=1),
    Interleaving("random, copies early", consumers_first=True, early=True, seed=2),
)
"""The orders that are executed."""


@dataclass(frozen=True, slots=True)
class LoadInFlight:
    """A TMA load that has not landed in a CTA: the load, and the phase of the barrier that it belongs to."""

    cta: CtaState
    op: TmaLoad
    phase: int
    by: str


class ClusterRun:
    """
    The execution of one cluster.

    Attributes:
        kernel: The kernel.
        interleaving: The order.
        ctas: Its CTAs by rank.
        roles: All their roles.
        meeting: The cluster's barrier.
    """

    def __init__(self, kernel: HopperRun, program: ClusterProgram, interleaving: Interleaving) -> None:
        self.kernel, self.interleaving = kernel, interleaving
        total = sum(len(cta.roles) for cta in program.ctas)
        self.ctas: list[CtaState] = []
        self.roles: list[RoleRun] = []
        for cta in program.ctas:
            numbers = range(len(self.roles), len(self.roles) + len(cta.roles))
            state = CtaState(kernel, cta, numbers, total)
            self.ctas.append(state)
            self.roles += (
                RoleRun(kernel, self, state, role, number, local, early=interleaving.early)
                for local, (role, number) in enumerate(zip(cta.roles, numbers, strict=True))
            )
        self.meeting = Meeting("the cluster's barrier", self.ctas[0].components)
        self._flying: deque[LoadInFlight] = deque()
        self._remote: dict[tuple[int, int], int] = {}
        self._random = None if interleaving.seed is None else np.random.default_rng(interleaving.seed)

    def run(self) -> None:
        """Execute the cluster to its end, and record its hazards."""
        order = self.roles[::-1] if self.interleaving.consumers_first else self.roles
        going = True
        while going:
            going = self._turns(order)
            if not going and self._flying:
                self._land(self._flying.popleft())
                going = True
        if all(role.ended for role in self.roles):
            self._check_ends()
        else:
            report_deadlock(self.kernel, self.roles, self.meeting)
        for cta in self.ctas:
            for state in cta.barriers.values():
                self._check_barrier(cta, state)

    def arrive(self, role: RoleState, rank: int, barrier: Mbarrier, threads: int, told: Clock) -> None:
        """Let threads of a role arrive at an mbarrier of a CTA of the cluster."""
        if self.ctas[rank] is not role.cta:
            self._remote[rank, role.number] = role.access()
            told[role.own(OWN_ACCESSES)] = role.accesses
        self.ctas[rank].barriers[barrier].arrive(role.number, threads, told)

    def load(self, role: RoleState, op: TmaLoad, loads_of_c: int) -> None:
        """Issue a TMA load in all CTAs that receive it; ``loads_of_c``: loads of C of the tile so far."""
        own = role.cta.program.place.rank
        ranks = [rank for rank in range(len(self.ctas)) if op.mask >> rank & 1] if op.mask else [own]
        content, phase = role.cta.loaded(role.unit, op, loads_of_c)
        for rank in ranks:
            cta = self.ctas[rank]
            check_load(role, cta, op, content)
            state = cta.barriers[op.barrier]
            state.loaders.add((phase, role.number))
            cta.memory.note_write(granules_of(op.address, op.bytes), state.component, phase + 1, content, generic=False)
            flight = LoadInFlight(cta, op, phase, str(role))
            if self.interleaving.early:
                self._land(flight)
            else:
                self._flying.append(flight)

    def _turns(self, order: list[RoleRun]) -> bool:
        """Let each role have a turn, and return whether one could go on."""
        if self._random is None:
            going = [role.run(_UNTIL_BLOCKED) for role in order if not role.ended]
            return any(going)
        moved = False
        for at in self._random.permutation(len(order)).tolist():
            if not order[at].ended:
                moved |= order[at].run(int(self._random.integers(1, _MOST_AT_ONCE)))
        if self._flying and self._random.integers(2):
            self._flying.rotate(-int(self._random.integers(len(self._flying))))
            self._land(self._flying.popleft())
            moved = True
        return moved

    def _land(self, flight: LoadInFlight) -> None:
        """Write a box to shared memory, and subtract its bytes from its barrier's."""
        op, collective = flight.op, self.kernel.collective
        tensors, state = self.kernel.tensors, flight.cta.barriers[op.barrier]
        if op.tensor == "C":
            bits, width, tensor = self.kernel.output_bits, self.kernel.epilogue.swizzle, tensors.c
        else:
            operand = collective.a if op.tensor == "A" else collective.b
            bits, width = element_bits(self.kernel.problem.dtype.ab), operand.swizzle
            tensor = tensors.a if op.tensor == "A" else tensors.b
        if tensor is not None:
            chunks = box_chunks(op.address, op.box[1], op.box[0] * bits // 8, width)
            flight.cta.memory.scatter(chunks, read_box(tensor, op.coordinates, op.box))
        if state.phase != flight.phase:
            self.kernel.found(
                "bytes",
                f"{flight.cta.program}: {op.bytes} bytes of {op.tensor}, k tile {op.k_tile}, stage {op.stage}, by"
                f" {flight.by} come to phase {state.phase} of {op.barrier}, not to phase {flight.phase}, which"
                f" completed with {state.brought[flight.phase]} bytes",
                *(op.k_tile, op.tensor.lower(), op.stage),
            )
        state.bring(op.bytes)

    def _check_barrier(self, cta: CtaState, state: MbarrierState) -> None:
        """Report an mbarrier whose waits a phase may overtake, and one that had other arrivals or bytes than due."""
        found, ended = self.kernel.found, all(role.ended for role in self.roles)
        for number, (parity, phases) in state.lapped.items():
            role = self.roles[number // component(1, 0)]
            satisfied = f"which phase {phases - 1} satisfies" if phases else "which holds before any phase is complete"
            found(
                "phase",
                f"{role} waits for parity {parity} of {state.barrier}, {satisfied}, but phase {phases} may be complete"
                " before the wait, which then waits for another round",
                stage=state.barrier.index,
            )
        left = state.count - state.pending
        if state.surplus or (ended and left):
            said = f"phase {state.phase} of {state.barrier}, which takes {state.count} arrivals"
            more = f"has {left} at the end, which nobody waits for" if not state.surplus else "has more"
            found("arrivals", f"{cta.program}: {said}, {more}", stage=state.barrier.index)
        if state.bytes and (ended or not state.pending):
            found(
                "bytes",
                f"{cta.program}: phase {state.phase} of {state.barrier} expects {state.expected[state.phase]} bytes,"
                f" and {state.brought[state.phase]} are brought",
                stage=state.barrier.index,
            )

    def _check_ends(self) -> None:
        """Report arrivals at CTAs that may have ended before."""
        for rank, cta in enumerate(self.ctas):
            known = np.maximum.reduce([role.clock for role in self.roles if role.cta is cta])
            for (to, number), access in self._remote.items():
                role = self.roles[number]
                if to == rank and access > known[role.own(OWN_ACCESSES)]:
                    said = f"{role} arrives at an mbarrier of {cta.program}, which may have ended"
                    self.kernel.found("cta_ended", said)
