"""
The barriers of each SM: arrivals, releases, and the warps that wait.

In silicon: one barrier unit an SM. BAR.SYNC.DEFER_BLOCKING lets its warp go on: arithmetic and mma.sync issue before
the release; the first memory instruction, branch, load of a constant or barrier waits for it (D32).
Figures: ``barrier_base``, ``barrier_per_warp``.
State: when the unit is free; the warps that have arrived at each CTA's barrier, in order.
Timing: the unit takes an arrival every ``barrier_per_warp`` cycles, of whatever CTA. ``barrier_base`` cycles after the
last arrival of a CTA its warps are released, in the order in which they came.

>>> from doubles.by_hand import quiet
>>> chip = quiet()
>>> chip.hand(sm=0, cta=0, at=0, observed=0)
>>> chip.warps.launch(slot=0, at=0)
>>> from gpusim.sim.core.constants import WARP_WIDTH
>>> [chip.barriers.arrive(number * WARP_WIDTH, at=10) for number in range(3)]
[False, False, True]
>>> chip.warps.barred[0] == 10 + 3 * chip.barriers.each + chip.barriers.base
True
"""

from typing import TYPE_CHECKING

from gpusim.sim.columns import zeros
from gpusim.sim.core.constants import NEVER, RELEASED
from gpusim.sim.core.warps import Warps
from gpusim.sim.stall_reasons import BARRIER

if TYPE_CHECKING:
    from gpusim.sim.columns import CodeRows
    from gpusim.sim.figures import Figures


class Barriers:
    """The barrier units of all SMs."""

    def __init__(self, figures: "Figures", code: "CodeRows", warps: Warps, sms: int) -> None:
        """
        Build them.

        Args:
            figures: Those of the machine.
            code: Which instructions wait for a barrier.
            warps: The warps that arrive.
            sms: Simulated SMs.
        """
        self.base, self.each = figures.barrier_base, figures.barrier_per_warp
        self.warps, self.joins, self.awaits = warps, code.joins, code.awaits
        self.record = self.warps.record
        self.at, self.slot, self.cta = self.warps.at, self.warps.slot, self.warps.cta
        self.barred, self.held, self.watched = self.warps.barred, self.warps.held, self.warps.watched
        self.free, resident = zeros(sms), len(self.cta)
        self.arrived, self.last_arrival = zeros(resident), zeros(resident)
        self.arrivals = zeros(resident * code.warps)

    def arrive(self, warp: int, at: int) -> bool:
        """
        Let a warp arrive at its CTA's barrier; return whether it is the last, which releases all.

        A barrier does not wait for what the warp has stored or copied.
        """
        warps, slot = self.warps, self.slot[warp]
        sm = slot // warps.slots
        self.barred[warp] = NEVER
        self.free[sm] = max(at, self.free[sm]) + self.each
        self.last_arrival[slot] = max(self.last_arrival[slot], self.free[sm])
        self.arrivals[slot * warps.most_warps + self.arrived[slot]] = warp
        self.arrived[slot] += 1
        expected = warps.warps_of[warps.program[self.cta[slot]]]
        if self.arrived[slot] < expected:
            return False
        self.arrived[slot] = 0
        release = self.last_arrival[slot] + self.base
        self.last_arrival[slot] = 0
        for place in range(slot * warps.most_warps, slot * warps.most_warps + expected):
            self.release(self.arrivals[place], release)
        return True

    def soonest_release(self, now: int) -> int:
        """Return the earliest cycle at which a warp that has not arrived at a cycle could release others."""
        return now + self.base + self.each

    def release(self, warp: int, at: int) -> None:
        """Release a warp from the barrier; one that is blocked there returns to its SMSP."""
        self.barred[warp] = at
        if not self.held[warp]:
            return
        self.held[warp] = 0
        self.join(warp, self.at[warp])
        self.warps.unblock(warp)
        if self.awaits[self.at[warp]]:
            self.warps.await_slice(warp)

    def join(self, warp: int, code: int) -> None:
        """Let an instruction wait for the barrier at which its warp has arrived, if it is one that does (D32)."""
        if not self.joins[code]:
            return
        if self.barred[warp] == NEVER:
            self.warps.block(warp)
            self.held[warp] = 1
            return
        self.warps.wait_until(warp, self.barred[warp], BARRIER)
        if self.watched[warp]:
            at = max(self.barred[warp], self.warps.stalled[warp])
            self.record.note(warp, RELEASED, 0, at, at, at)
        self.barred[warp] = 0
        self.warps.fetch(warp)
