"""
The barriers of each SM: arrivals, pending bytes, phases, and the warps that wait.

In silicon: an SM has one barrier unit, with sixteen named barriers for each CTA; since sm_80 CTAs have further barriers
in shared memory (mbarrier). BAR.SYNC arrives and waits, BAR.ARV only arrives. A phase is complete when the expected
number of warps has arrived and no expected byte is pending. After a BAR.SYNC.DEFER_BLOCKING a warp still issues
arithmetic and mma.sync. Its next memory instruction, branch, load of a constant or barrier waits for the release (D32).
Figures: ``barrier.base``, ``barrier.per_warp``.
State: the cycle at which the unit is free; for each CTA slot and barrier the arrivals, the expected arrivals, the
phase, the pending bytes and the waiting warps in order; for each warp and barrier the phase that the warp waits for.
Timing: the unit takes one arrival of any CTA every ``barrier_per_warp`` cycles; bytes that arrive count as an arrival.
``barrier_base`` cycles after the last arrival the waiting warps are released, in the order of their waits.

>>> from doubles.by_hand import quiet
>>> chip = quiet()
>>> chip.hand(sm=0, cta=0, at=0, observed=0)
>>> chip.warps.launch(slot=0, at=0)
>>> from gpusim.sim.core.constants import WARP_WIDTH
>>> [chip.barriers.issue(number * WARP_WIDTH, at=10) for number in range(3)]
[False, False, True]
>>> chip.warps.release_at[0] == 10 + 3 * chip.barriers.each + chip.barriers.base, chip.barriers.phase[0]
(True, 1)
"""

from typing import TYPE_CHECKING

from gpusim.sim.columns import zeros
from gpusim.sim.core.constants import ARRIVES, NEVER, RELEASED, WAITS
from gpusim.sim.core.warps import Warps
from gpusim.sim.stall_reasons import BARRIER

if TYPE_CHECKING:
    from gpusim.machine.spec import Machine
    from gpusim.sim.columns import CodeRows


class Barriers:
    """
    The barrier units of all SMs.

    Columns hold the state of all barriers, ``per_cta`` for each CTA slot. A barrier's ``place`` is its index in them.
    """

    def __init__(self, machine: "Machine", code: "CodeRows", warps: Warps, sms: int) -> None:
        """
        Build barrier units without arrivals.

        Args:
            machine: The machine.
            code: The code of all CTAs, with the barrier and the action of each barrier instruction.
            warps: The warps of all SMs.
            sms: Number of simulated SMs.
        """
        self.base, self.each = machine.barrier.base, machine.barrier.per_warp
        self.warps, self.joins, self.awaits, self.per_cta = warps, code.joins, code.awaits, code.barriers
        self.barrier, self.arrivals, self.meets, self.expects = code.barrier, code.arrivals, code.meets, code.expects
        self.record, self.number = self.warps.record, self.warps.number
        self.at, self.slot, self.cta = self.warps.at, self.warps.slot, self.warps.cta
        self.release_at, self.at_barrier, self.watched = (
            self.warps.release_at,
            self.warps.at_barrier,
            self.warps.watched,
        )
        self.free, rows = zeros(sms), len(self.cta) * self.per_cta
        self.arrived, self.expected, self.phase, self.pending = zeros(rows), zeros(rows), zeros(rows), zeros(rows)
        # The cycle of the current phase's last arrival, and the cycle of the previous phase's release.
        self.last_arrival, self.released = zeros(rows), zeros(rows)
        self.expects_all = zeros(rows)
        self.waiting, self.waiters, self.awaited_phase = zeros(rows), zeros(rows * code.warps), zeros(rows * code.warps)

    def reset(self, slot: int) -> None:
        """Reset all barriers of a slot to their first phase, when a CTA is launched."""
        most = self.warps.most_warps
        for place in range(slot * self.per_cta, (slot + 1) * self.per_cta):
            self.arrived[place] = self.expected[place] = self.phase[place] = self.pending[place] = 0
            self.last_arrival[place] = self.released[place] = self.waiting[place] = self.expects_all[place] = 0
            for own in range(place * most, (place + 1) * most):
                self.awaited_phase[own] = 0

    # --- instructions ---

    def issue(self, warp: int, at: int) -> bool:
        """
        Issue a warp's barrier instruction; return whether it completes a phase.

        A barrier does not wait for the warp's stores and copies. The wait that follows an arrival, in the same
        instruction or a later one, is for the phase of that arrival.
        """
        code = self.at[warp]
        place, does = self.slot[warp] * self.per_cta + self.barrier[code], self.meets[code]
        if does & ARRIVES:
            self.awaited_phase[place * self.warps.most_warps + self.number[warp]] = self.phase[place]
        if does & WAITS:
            self.wait(warp, place)
        if not does & ARRIVES:
            return False
        self.expected[place], self.expects_all[place] = self.arrivals[code], 0
        if self.arrivals[code] == 0:
            self.expected[place], self.expects_all[place] = self.warps.remaining[self.slot[warp]], 1
        self.pending[place] += self.expects[code]
        self.arrived[place] += 1
        return self.count_arrival(place, at)

    def wait(self, warp: int, place: int) -> None:
        """
        Make a warp wait for a phase of a barrier.

        A warp that has arrived since its last wait waits for the phase of that arrival. Any other warp waits for the
        phase after the one that it waited for last. If that phase is complete already, it is the latest complete phase,
        and the warp resumes at its release. Otherwise the warp waits until ``release``.
        """
        most = self.warps.most_warps
        own = place * most + self.number[warp]
        self.awaited_phase[own] += 1
        if self.awaited_phase[own] <= self.phase[place]:
            self.release_at[warp] = self.released[place]
            return
        self.release_at[warp] = NEVER
        self.waiters[place * most + self.waiting[place]] = warp
        self.waiting[place] += 1

    def complete_bytes(self, slot: int, barrier: int, size: int, at: int) -> bool:
        """
        Subtract bytes that have arrived from a barrier's pending bytes; return whether they complete a phase.

        Args:
            slot: The CTA's slot.
            barrier: Number of the barrier within the CTA.
            size: Bytes that arrive.
            at: Cycle of their arrival.
        """
        place = slot * self.per_cta + barrier
        self.pending[place] -= size
        return self.count_arrival(place, at)

    def leave(self, slot: int) -> None:
        """Complete the phases of a slot's barriers that waited for nobody but a warp that has exited."""
        first, end = slot * self.per_cta, (slot + 1) * self.per_cta
        for place in range(first, end):
            if self.arrived[place] and self.expects_all[place]:
                self.expected[place] = self.warps.remaining[slot]
                self.complete(place)

    def awaited_phases(self) -> "list[tuple[int, int, int, int, int, list[int]]]":
        """
        Return the barriers at which warps wait for the current phase.

        Each entry has the CTA, the number of the barrier, the arrivals and the expected arrivals of the phase, the
        pending bytes, and the numbers of the waiting warps. Expected arrivals are 0 before the first arrival.
        """
        found = []
        for place in range(len(self.waiting)):
            if self.waiting[place] == 0:
                continue
            first = place * self.warps.most_warps
            warps = sorted([self.number[self.waiters[waiter]] for waiter in range(first, first + self.waiting[place])])
            cta, barrier = self.cta[place // self.per_cta], place % self.per_cta
            found.append((cta, barrier, self.arrived[place], self.expected[place], self.pending[place], warps))
        return found

    # --- phases ---

    def count_arrival(self, place: int, at: int) -> bool:
        """Process an arrival, or bytes, at a barrier. If they complete the phase, release its warps and return True."""
        sm = place // (self.per_cta * self.warps.slots)
        self.free[sm] = max(at, self.free[sm]) + self.each
        self.last_arrival[place] = max(self.last_arrival[place], self.free[sm])
        return self.complete(place)

    def complete(self, place: int) -> bool:
        """Release the warps of a barrier if its phase is complete; return whether it is."""
        if self.arrived[place] == 0 or self.arrived[place] < self.expected[place] or self.pending[place] != 0:
            return False
        release, first = self.last_arrival[place] + self.base, place * self.warps.most_warps
        self.phase[place] += 1
        self.released[place] = release
        self.arrived[place] = self.last_arrival[place] = 0
        for waiter in range(first, first + self.waiting[place]):
            self.release(self.waiters[waiter], release)
        self.waiting[place] = 0
        return True

    def soonest_release(self, now: int) -> int:
        """Return the earliest cycle at which an arrival after cycle ``now`` could release a warp."""
        return now + self.base + self.each

    def release(self, warp: int, at: int) -> None:
        """Release a warp from its barrier at a cycle; a blocked warp becomes eligible again."""
        self.release_at[warp] = at
        if not self.at_barrier[warp]:
            return
        self.at_barrier[warp] = 0
        self.wait_for_release(warp, self.at[warp])
        self.warps.unblock(warp)
        if self.awaits[self.at[warp]]:
            self.warps.await_slice(warp)

    def wait_for_release(self, warp: int, code: int) -> None:
        """
        Make a warp's next instruction wait for the barrier's release, unless it may issue before the release (D32).

        The warp is blocked if the cycle of the release is not known yet.
        """
        if not self.joins[code]:
            return
        if self.release_at[warp] == NEVER:
            self.warps.block(warp)
            self.at_barrier[warp] = 1
            return
        self.warps.wait_until(warp, self.release_at[warp], BARRIER)
        if self.watched[warp]:
            at = max(self.release_at[warp], self.warps.stalled[warp])
            self.record.note(warp, RELEASED, 0, at, at, at)
        self.release_at[warp] = 0
        self.warps.fetch(warp)
