"""
The TMA unit of each SM: boxes that it loads, to one CTA or several, and boxes that it stores.

In silicon: a unit that cuts a box into rows of at most 128 bytes, requests their sectors from the L2, writes what comes
to shared memory, and tells an mbarrier. A multicast request is made once, and its data comes to all CTAs of a mask.
Figures: ``tma.row_percent``, ``tma.box``, ``tma.store_latency``.
State: for each SM the boxes that wait, in the order of their issue, and the cycle at which the unit is free; for each
warp the cycles at which its latest stores have been read from shared memory.
Timing: a load takes ``row_percent`` hundredths of a cycle for each line of a row, and ``box`` cycles at least. Boxes
are loaded in order. A store is read from shared memory as fast as it passes the SM's port.

>>> from doubles.by_hand import quiet
>>> quiet().tma.lines
0
"""

from typing import TYPE_CHECKING

from gpusim.sim.columns import zeros
from gpusim.sim.core.cache import sectors_in
from gpusim.sim.core.constants import (
    BOXES,
    LINES_OF_TURN,
    MILLI,
    PERCENT,
    PHASE_AT,
    STORE_RING,
    TIMED,
    WARP_WIDTH,
)
from gpusim.sim.core.lsu import Lsu
from gpusim.sim.core.sm90.mbarriers import Mbarriers
from gpusim.sim.core.warps import Warps
from gpusim.units import SECTOR_BYTES

if TYPE_CHECKING:
    from gpusim.machine.spec import Machine
    from gpusim.sim.columns import CodeRows, Data


class Tma:
    """
    The TMA units of all SMs.

    Attributes:
        lines: Lines that all units requested.
        turn: Number of the calendar's first event of a TMA unit; each SM has one.
    """

    def __init__(  # noqa: PLR0917 - called positionally by both executions
        self, machine: "Machine", code: "CodeRows", data: "Data", warps: Warps, mbarriers: Mbarriers, lsu: Lsu
    ) -> None:
        """
        Build idle units.

        Args:
            machine: The machine.
            code: The code of all CTAs.
            data: The boxes of each warp's trace, and their lines.
            warps: The warps of all SMs.
            mbarriers: The mbarriers that count what lands.
            lsu: The LSUs, beside which the units are: they share the ports, the L2 and the stores.
        """
        spec = machine.tma
        self.row_time, self.box_time, self.store_latency = MILLI, 0, 0
        if spec is not None:
            self.row_time, self.box_time = spec.row_percent * MILLI // PERCENT, spec.box * MILLI
            self.store_latency = spec.store_latency
        self.warps, self.mbarriers, self.lsu = warps, mbarriers, lsu
        self.crossbar, self.l2, self.stores = self.lsu.crossbar, self.lsu.l2, self.lsu.stores
        self.calendar, self.lines, self.expects = self.warps.calendar, 0, code.expects
        sms = self.lsu.sms
        self.at, self.slot = self.warps.at, self.warps.slot
        self.next_traced, self.drained, self.stores_taken = (
            self.warps.next_traced,
            self.warps.drained,
            self.warps.stores_taken,
        )
        self.entry, self.base = data.traces.access, data.traces.line
        self.touched, self.line, self.mask = data.touched, data.line, data.mask
        self.turn = self.warps.past_smsps + len(self.warps.cta) * self.warps.width
        self.width, boxes = self.warps.width, BOXES if code.mbarriers else 1
        self.first_box, self.next_box, self.free = zeros(sms), zeros(sms), zeros(sms)
        self.box_of, self.box_base, self.box_slot, self.box_bytes = (zeros(sms * boxes) for _ in range(4))
        # The box in progress: its next line, the time at which it began, and the cycle at which what came has landed.
        self.next_line, self.begun, self.landed = zeros(sms, -1), zeros(sms), zeros(sms)
        self.stored, self.read_until = (
            zeros(len(self.warps.cta) * code.warps),
            zeros(len(self.warps.cta) * code.warps * STORE_RING),
        )

    # --- loads ---

    def load(self, sm: int, warp: int, at: int) -> None:
        """Queue the box that a warp's trace names next at its SM's unit."""
        taken = self.next_traced[warp]
        self.next_traced[warp] = taken + 1
        place = sm * BOXES + self.next_box[sm] % BOXES
        self.box_of[place], self.box_base[place] = self.entry[taken], self.base[taken]
        self.box_slot[place], self.box_bytes[place] = self.slot[warp], self.expects[self.at[warp]]
        if self.first_box[sm] == self.next_box[sm]:
            self.calendar.schedule(self.turn + sm * self.width, 2 * max(at, self.free[sm] // MILLI) + TIMED)
        self.next_box[sm] += 1

    def serve(self, sm: int, now: int) -> None:
        """Request the next lines of an SM's first box; when it is whole, tell the mbarriers, and go to the next one."""
        place = sm * BOXES + self.first_box[sm] % BOXES
        request = self.box_of[place] >> PHASE_AT
        if self.next_line[sm] < 0:
            self.next_line[sm], self.begun[sm] = self.touched[request], max(now * MILLI, self.free[sm])
            self.free[sm], self.landed[sm] = self.begun[sm], now
        end = min(self.touched[request + 1], self.next_line[sm] + LINES_OF_TURN)
        for touched in range(self.next_line[sm], end):
            self.request_line(sm, touched, self.box_base[place], now)
        self.next_line[sm] = end
        if end == self.touched[request + 1]:
            self.free[sm] = max(self.free[sm], self.begun[sm] + self.box_time)
            self.mbarriers.reach(self.box_slot[place], self.box_of[place], self.landed[sm], self.box_bytes[place], 0)
            self.next_line[sm] = -1
            self.first_box[sm] += 1
        if self.first_box[sm] < self.next_box[sm]:
            self.calendar.schedule(self.turn + sm * self.width, 2 * max(now, self.free[sm] // MILLI) + TIMED)

    def request_line(self, sm: int, touched: int, base: int, now: int) -> None:
        """Request the sectors of a line from the L2."""
        mask = self.mask[touched]
        self.lines += 1
        start = self.crossbar.inject(sm, self.free[sm] // MILLI, sectors_in(mask) * SECTOR_BYTES)
        landed = self.l2.read_box_line(sm, self.line[touched] + base, mask, start, now)
        self.landed[sm] = max(self.landed[sm], landed)
        self.free[sm] += self.row_time

    # --- stores ---

    def store(self, sm: int, warp: int, at: int) -> None:
        """Store the box that a warp's trace names next."""
        taken = self.next_traced[warp]
        self.next_traced[warp] = taken + 1
        request = self.entry[taken] >> PHASE_AT
        for touched in range(self.touched[request], self.touched[request + 1]):
            self.stores.store(sm, at, at, sectors_in(self.mask[touched]))
        done = max(at, self.stores.port_exit[sm] // MILLI) + self.store_latency
        number = warp // WARP_WIDTH
        place = number * STORE_RING + self.stored[number] % STORE_RING
        self.read_until[place] = done
        self.stored[number] += 1
        slot = self.slot[warp]
        self.drained[warp] = max(self.drained[warp], done)
        self.stores_taken[slot] = max(self.stores_taken[slot], self.stores.stored_at[sm] // MILLI)

    def read_complete(self, warp: int, pending: int) -> int:
        """Return the cycle from which at most ``pending`` of a warp's stores still read shared memory."""
        number = warp // WARP_WIDTH
        done = self.stored[number] - pending
        return self.read_until[number * STORE_RING + (done - 1) % STORE_RING] if done > 0 else 0
