"""
The mbarriers of each CTA: arrivals, pending bytes and phases, also of other CTAs of the cluster, and who waits.

In silicon: words in shared memory. An arrival decreases the pending count, TMA the pending bytes; when both are zero
the phase ends. A warp that waits tries again in a loop. Arrivals reach the mbarriers of other CTAs of the cluster.
Figures: ``mbarrier.base``, ``mbarrier.per_warp``, ``mbarrier.remote``.
State: for each CTA slot and mbarrier the arrivals, the pending bytes, the phases that are complete, the end of the last
one, and the warps that wait; for each SM the cycle at which it takes the next arrival.
Timing: an SM takes an arrival of a warp every ``per_warp`` cycles. ``base`` cycles after the last arrival, or after the
last bytes have landed, the waiting warps continue. An arrival from another CTA comes ``remote`` cycles later.

>>> from doubles.by_hand import quiet
>>> chip = quiet()
>>> chip.mbarriers.phase
array('q', [0])
"""

from typing import TYPE_CHECKING

from gpusim.sim.columns import zeros
from gpusim.sim.core.barriers import Barriers
from gpusim.sim.core.constants import ARRIVES, BARRIER_MASK, NEVER, PHASE_AT, RANKS_AT, RANKS_MASK, WAITS
from gpusim.sim.core.warps import Warps

if TYPE_CHECKING:
    from gpusim.machine.spec import Machine
    from gpusim.sim.columns import CodeRows, Data


class Mbarriers:
    """
    The mbarriers of all SMs.

    Columns hold the state of all mbarriers, ``per_cta`` for each CTA slot. An mbarrier's ``place`` is its index there.
    """

    def __init__(  # noqa: PLR0917 - called positionally by both executions
        self, machine: "Machine", code: "CodeRows", data: "Data", warps: Warps, barriers: Barriers, sms: int
    ) -> None:
        """
        Build mbarriers in their first phase.

        Args:
            machine: The machine.
            code: The code of all CTAs.
            data: Which CTAs form a cluster, and what each instruction names.
            warps: The warps of all SMs.
            barriers: The barrier units, which let a warp continue.
            sms: Number of simulated SMs.
        """
        spec = machine.mbarrier
        self.base, self.each, self.remote = (0, 0, 0) if spec is None else (spec.base, spec.per_warp, spec.remote)
        self.warps, self.barriers, self.per_cta = warps, barriers, code.mbarriers
        self.arrivals, self.meets, self.expects = code.arrivals, code.meets, code.expects
        self.at, self.slot, self.cta, self.slot_of = self.warps.at, self.warps.slot, self.warps.cta, self.warps.slot_of
        self.release_at, self.next_traced = self.warps.release_at, self.warps.next_traced
        self.entry, self.cluster = data.traces.access, data.cluster
        rows = len(self.cta) * self.per_cta
        self.arrived, self.expected, self.pending, self.phase = (zeros(max(1, rows)) for _ in range(4))
        self.last_arrival, self.released, self.waiting = (zeros(max(1, rows)) for _ in range(3))
        self.waiters, self.free = zeros(max(1, rows * code.warps)), zeros(sms)

    def reset(self, slot: int) -> None:
        """Reset all mbarriers of a slot to their first phase, when a CTA is launched."""
        for place in range(slot * self.per_cta, (slot + 1) * self.per_cta):
            self.arrived[place] = self.pending[place] = self.phase[place] = self.waiting[place] = 0
            self.last_arrival[place] = self.released[place] = 0

    # --- instructions ---

    def issue(self, warp: int, at: int) -> None:
        """
        Issue a warp's instruction at an mbarrier.

        It waits for a phase, arrives, or only adds expected bytes. Its trace names the mbarrier, and the CTAs at whose
        mbarriers it arrives.
        """
        code, slot, taken = self.at[warp], self.slot[warp], self.next_traced[warp]
        self.next_traced[warp] = taken + 1
        entry = self.entry[taken]
        place = slot * self.per_cta + (entry & BARRIER_MASK)
        if self.meets[code] & WAITS:
            self.wait(warp, place, entry >> PHASE_AT)
            return
        self.pending[place] += self.expects[code]
        if self.meets[code] & ARRIVES:
            self.reach(slot, entry, at, 0, self.arrivals[code])

    def reach(self, slot: int, entry: int, at: int, size: int, expected: int) -> None:
        """
        Count an arrival, or bytes that land, at an mbarrier of each CTA that an entry names.

        Args:
            slot: Slot of the CTA from which they come.
            entry: The trace's entry, with the mbarrier and the CTAs.
            at: Cycle of the issue, or at which the bytes land.
            size: Bytes.
            expected: Arrivals of a phase, for an arrival; 0 for bytes.
        """
        barrier, ranks, rank = entry & BARRIER_MASK, entry >> RANKS_AT & RANKS_MASK, 0
        if ranks == 0:
            self.count(slot, slot * self.per_cta + barrier, at, size, expected)
            return
        first = self.cluster[self.cta[slot]]
        while ranks:
            other = self.slot_of[first + rank] if ranks & 1 else -1
            if other >= 0:
                self.count(slot, other * self.per_cta + barrier, at, size, expected)
            ranks >>= 1
            rank += 1

    def count(self, slot: int, place: int, at: int, size: int, expected: int) -> None:
        """Count an arrival, or bytes, from a slot's CTA at one mbarrier; other arguments are those of ``reach``."""
        if expected:
            self.arrive(place, at, 0 if place // self.per_cta == slot else self.remote, expected)
        else:
            self.land(place, size, at)

    def wait(self, warp: int, place: int, phase: int) -> None:
        """Make a warp wait until ``phase`` phases of an mbarrier are complete."""
        if self.phase[place] > phase:
            return
        if self.phase[place] == phase:
            self.release_at[warp] = self.released[place]
            return
        self.release_at[warp] = NEVER
        self.waiters[place * self.warps.most_warps + self.waiting[place]] = warp
        self.waiting[place] += 1

    def arrive(self, place: int, at: int, late: int, expected: int) -> None:
        """
        Count a warp's arrival at an mbarrier.

        Args:
            place: The mbarrier.
            at: Cycle of the issue.
            late: Cycles that it takes from another CTA; 0 within the CTA.
            expected: Arrivals of a phase.
        """
        sm = place // (self.per_cta * self.warps.slots)
        self.free[sm] = max(at, self.free[sm] + self.each)
        self.arrived[place] += 1
        self.expected[place] = expected
        self.last_arrival[place] = max(self.last_arrival[place], self.free[sm] + late)
        self.complete(place)

    def land(self, place: int, size: int, at: int) -> None:
        """Subtract bytes that land in shared memory at a cycle from an mbarrier's pending bytes."""
        self.pending[place] -= size
        self.last_arrival[place] = max(self.last_arrival[place], at)
        self.complete(place)

    # --- phases ---

    def complete(self, place: int) -> None:
        """End a phase, and release the warps that wait for its end, if no byte and no arrival is pending."""
        if self.arrived[place] == 0 or self.arrived[place] < self.expected[place] or self.pending[place] != 0:
            return
        release, first = self.last_arrival[place] + self.base, place * self.warps.most_warps
        self.phase[place] += 1
        self.released[place] = release
        self.arrived[place] = self.last_arrival[place] = 0
        for waiter in range(first, first + self.waiting[place]):
            self.barriers.release(self.waiters[waiter], release)
        self.waiting[place] = 0
