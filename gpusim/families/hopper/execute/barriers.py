"""mbarriers with phases, arrivals and bytes as PTX defines them, and barriers at which roles meet."""

from collections import Counter

import numpy as np

from gpusim.families.hopper.execute.clocks import Clock, merge
from gpusim.families.hopper.program.ops import Mbarrier


class MbarrierState:
    """
    One mbarrier of one CTA.

    A phase completes when it has no pending arrival and no pending byte. Expected bytes add to the pending ones, and
    TMA subtracts what it brings, which may come first.

    Attributes:
        barrier: Its name.
        component: Its component in clocks, which counts completed phases.
        count: Arrivals of a phase; 0 before it is initialised.
        phase: Number of the phase that is not complete.
        pending: Arrivals that the phase lacks.
        bytes: Bytes that the phase lacks; negative if they came before they were expected.
        arrived: Arrivals by role in the phase.
        expected, brought: Bytes by number of the phase.
        loaders: The phases and the roles whose loads for them were issued.
        surplus: Whether arrivals came that no phase could take: it had all arrivals, but lacked bytes.
        lapped: Roles whose wait a further phase may overtake, with the parity and the phases that the wait knows of.

    Source: PTX ISA, mbarrier: phase completion, expect-tx and complete-tx operations.
    """

    def __init__(self, barrier: Mbarrier, component: int, components: int) -> None:
        self.barrier, self.component = barrier, component
        self.count = self.phase = self.pending = self.bytes = 0
        self.arrived: Counter[int] = Counter()
        self.expected: Counter[int] = Counter()
        self.brought: Counter[int] = Counter()
        self.loaders: set[tuple[int, int]] = set()
        self.surplus = False
        self.lapped: dict[int, tuple[int, int]] = {}
        self._waits: dict[int, tuple[int, int, int]] = {}
        self._clock: Clock = np.zeros(components, np.int32)
        self._completed: list[Clock] = []

    def initialise(self, count: int) -> None:
        """Set the arrivals of a phase."""
        self.count = self.pending = count

    def arrive(self, role: int, arrivals: int, clock: Clock) -> None:
        """
        MbarrierArrive with what a role knows. More arrivals than are pending begin the next phase.

        A phase that takes only some of the threads does not know what the role knows.
        """
        while arrivals and self.count:
            if self.pending == 0:
                self.surplus = True
                return
            now = min(arrivals, self.pending)
            if now == arrivals:
                merge(self._clock, clock)
            self.arrived[role] += now
            self.pending -= now
            arrivals -= now
            self._complete()

    def expect(self, size: int) -> None:
        """Add bytes to those that the phase lacks."""
        self.expected[self.phase] += size
        self.bytes += size

    def bring(self, size: int) -> None:
        """Subtract bytes that TMA has brought."""
        self.brought[self.phase] += size
        self.bytes -= size
        self._complete()

    def passes(self, parity: int) -> bool:
        """Return whether a wait for a parity returns: the phase that is not complete has the other one."""
        return self.count > 0 and self.phase & 1 != parity

    def phases_awaited(self, parity: int, clock: Clock) -> int:
        """
        Return how many phases are complete at least when a wait for a parity returns.

        The role knows some phases to be complete, and the wait tells of at most one more.
        """
        known = int(clock[self.component])
        return known + (known & 1 == parity)

    def passed(self, parity: int, clock: Clock, role: int, access: int) -> None:
        """
        Let a role know what a wait that has returned tells it at least.

        Args:
            parity: The parity.
            clock: The role's clock.
            role: Component of the role's accesses.
            access: Number of the wait among them.
        """
        phases = self.phases_awaited(parity, clock)
        if phases:
            merge(clock, self._completed[phases - 1])
            clock[self.component] = phases
        self._waits[role] = phases, parity, access
        if self.phase > phases:
            self.lapped.setdefault(role, (parity, phases))

    def _complete(self) -> None:
        if self.pending or self.bytes or not self.count:
            return
        for role, (phases, parity, access) in self._waits.items():
            if phases == self.phase and access > self._clock[role]:
                self.lapped.setdefault(role, (parity, phases))
        self._completed.append(self._clock.copy())
        self.phase, self.pending = self.phase + 1, self.count
        self.arrived.clear()


class Meeting:
    """
    A barrier of threads: a named one, that of a CTA, or that of a cluster.

    Attributes:
        words: Its name in messages.
        arrived: Threads that have come in this round.
        roles: Roles that have come in this round.
        round: Rounds that are complete.
    """

    def __init__(self, words: str, components: int) -> None:
        self.words = words
        self.arrived = self.round = self.threads = 0
        self.roles: list[int] = []
        self._clock: Clock = np.zeros(components, np.int32)
        self._completed: list[Clock] = []

    def arrive(self, role: int, threads: int, of: int, clock: Clock) -> int:
        """Arrive with a role's threads, of the round's ``of``, and return the round."""
        merge(self._clock, clock)
        self.arrived += threads
        self.threads = of
        self.roles.append(role)
        joined = self.round
        if self.arrived >= of:
            self._completed.append(self._clock.copy())
            self.round, self.arrived = self.round + 1, 0
            self.roles = []
        return joined

    def passed(self, joined: int, clock: Clock) -> bool:
        """Return whether a round is complete, and let the role know what all others knew."""
        if joined >= self.round:
            return False
        merge(clock, self._completed[joined])
        return True
