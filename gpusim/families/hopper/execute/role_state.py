"""The state of one role in execution: which operation is next, what the role knows, and what it waits for."""

from typing import TypeAlias

import numpy as np

from gpusim.families.hopper.execute.barriers import MbarrierState, Meeting
from gpusim.families.hopper.execute.clocks import FENCED_ACCESSES, OWN_ACCESSES, STORE_GROUPS, Clock, component
from gpusim.families.hopper.execute.cta import CtaState
from gpusim.families.hopper.execute.kernel import HopperRun
from gpusim.families.hopper.execute.registers import WarpgroupRegisters
from gpusim.families.hopper.program.ops import Wait
from gpusim.families.hopper.program.roles import WarpRole

Blocked: TypeAlias = tuple[MbarrierState, int] | Meeting
"""An mbarrier and the parity that is waited for, or a barrier of threads."""


class RoleState:
    """
    A role of one CTA.

    Attributes:
        kernel: The execution.
        cta: Its CTA.
        role: What it does.
        number: Its number in the cluster.
        local: Its number in the CTA.
        at: Number of its next operation.
        clock: What all its threads know.
        registers: Accumulators and wgmma in flight.
        unit: The tile of the CTA that it works on.
        accesses: Its accesses to shared memory, and other events that a clock counts.
        fenced: Those of them that a fence.proxy.async stands behind, though perhaps no barrier yet.
        store_groups: Groups of TMA stores that its elected thread knows to have read shared memory.
        joined: The barrier of threads that it has come to, and the round of it; None if it waits at none.
        last_wait: The mbarrier it waited for last, in words.
    """

    def __init__(  # noqa: PLR0917 - each is needed
        self, kernel: HopperRun, cta: CtaState, role: WarpRole, number: int, local: int, registers: WarpgroupRegisters
    ) -> None:
        self.kernel, self.cta, self.role, self.number, self.local = kernel, cta, role, number, local
        self.registers = registers
        self.at = self.unit = self.accesses = self.fenced = self.store_groups = 0
        self.clock: Clock = np.zeros(cta.components, np.int32)
        self.joined: tuple[Meeting, int] | None = None
        self.last_wait = ""

    def __str__(self) -> str:
        return f"{self.role.name} of {self.cta.program}"

    @property
    def ended(self) -> bool:
        """Whether it has no operation left."""
        return self.at == len(self.role.ops)

    @property
    def blocked_on(self) -> Blocked | None:
        """What the next operation waits for; None if it does not wait."""
        if self.joined is not None:
            return self.joined[0]
        op = None if self.ended else self.role.ops[self.at]
        return (self.cta.barriers[op.barrier], op.phase) if isinstance(op, Wait) else None

    def own(self, kind: int) -> int:
        """Return the role's own component of a kind."""
        return component(self.number, kind)

    def access(self) -> int:
        """Count an access by the role's threads, and return its number."""
        self.accesses += 1
        self.clock[self.own(OWN_ACCESSES)] = self.accesses
        return self.accesses

    def released(self) -> Clock:
        """Return what the role tells others, together with what its elected thread knows of TMA stores."""
        told = self.clock.copy()
        told[self.own(FENCED_ACCESSES)] = self.fenced
        told[self.own(STORE_GROUPS)] = self.store_groups
        return told
