"""
Stores to global memory: the buffer before the SM's port, the port, and the buffer behind it, in front of the L2.

In silicon: a store passes its SM's port to the crossbar, and the L2 acknowledges it. Buffers on both sides of the port
let the warp go on, and exit, before that.
Figures: ``store_buffer``, ``l2_store_port_bytes``, ``l2_waiting``, ``l2_write_latency``.
State: when each port is free; each SM's stores that the L2 has not taken yet.
Timing: a store leaves its port behind earlier stores of its SM, at the port's rate. The L2 takes it when the arbiter
grants it and, if it evicts a modified line, when DRAM has room for that line. A store has passed the port when the
buffer behind the port has room for it.

>>> from gpusim.machine import load_machine
>>> from gpusim.sim.core.dram import Dram
>>> from gpusim.sim.core.l2 import L2
>>> from gpusim.sim.core.l2_arbiter import L2Arbiter
>>> from gpusim.sim.figures import figures_of
>>> figures = figures_of(load_machine("h200"), 0, busy=False)._replace(l2_store_port_bytes=64)
>>> crossbar, arbiter = Crossbar(figures, 1), L2Arbiter(figures, 1, 1, ())
>>> l2 = L2(figures, arbiter, Dram(figures, 1), sms=1, groups=(), simulated=True)
>>> stores = Stores(figures, crossbar, L2Sampled(figures, crossbar, l2, 1, [zeros(1)] * 4), sms=1, simulated=True)
>>> [stores.store(0, 0, issued=0, sectors=16) for _ in range(3)]
[0, 8, 16]
"""

from typing import TYPE_CHECKING

from gpusim.sim.columns import zeros
from gpusim.sim.core.constants import MILLI, STORE, WAITING
from gpusim.sim.core.l2_arbiter import Crossbar
from gpusim.sim.core.l2_sampled import L2Sampled
from gpusim.units import SECTOR_BYTES, SECTORS_PER_LINE

if TYPE_CHECKING:
    from gpusim.sim.figures import Figures


class Stores:
    """
    The stores of all SMs.

    Attributes:
        stored_bytes: Bytes of the sectors stored.
        acknowledged: Cycle at which the last store is acknowledged; 0 if there was none.
    """

    def __init__(
        self, figures: "Figures", crossbar: Crossbar, sampled: L2Sampled, *, sms: int, simulated: bool
    ) -> None:
        """
        Build buffers and ports.

        Args:
            figures: The machine's figures.
            crossbar: The ports of the SMs, which reads and stores share.
            sampled: The L2 of a sample, whose ``l2`` is the L2 that is simulated line by line.
            sms: Number of simulated SMs.
            simulated: Whether the L2's lines are simulated; else the run is a sample.
        """
        self.store_buffer, self.port_bytes = figures.store_buffer, figures.l2_store_port_bytes
        self.most_waiting, self.write_latency = figures.l2_waiting, figures.l2_write_latency
        self.simulated, self.crossbar, self.sampled = simulated, crossbar, sampled
        self.l2 = self.sampled.l2
        self.arbiter = self.l2.arbiter
        self.store_free, self.stored_at = self.crossbar.store_free, self.crossbar.stored_at
        # For each SM: when its last store passes its port, in thousandths of a cycle; sectors that wait behind the
        # port; a ring of the stores that wait there.
        self.passed, self.waiting = zeros(sms), zeros(sms)
        self.waiting_at, self.waiting_sectors = zeros(sms * WAITING), zeros(sms * WAITING)
        self.first_waiting, self.next_waiting = zeros(sms), zeros(sms)
        self.unwritten, self.stored_bytes, self.acknowledged = 0, 0, 0

    def room_at_port(self, sm: int) -> int:
        """Return the cycle at which the buffer before an SM's port has room for another store."""
        return self.store_free[sm] // MILLI - self.store_buffer // self.port_bytes

    def store(self, sm: int, at: int, issued: int, sectors: int) -> int:
        """
        Store sectors of the output; return the cycle at which the L2 has taken them.

        A warp may exit when its stores have passed the SM's port (``passed``). Stored sectors fill lines of their own
        in the order of the stores. These lines are written to DRAM when they are evicted.

        Args:
            sm: The SM.
            at: Cycle at which the data stage takes the store.
            issued: Cycle of the issue.
            sectors: Number of sectors.
        """
        size = sectors * SECTOR_BYTES
        leaves = max(at * MILLI, self.store_free[sm])
        self.store_free[sm] = leaves + size * MILLI // self.port_bytes
        start = max(self.stored_at[sm], self.arbiter.request(STORE, sm, leaves, issued, size))
        self.unwritten += sectors
        self.stored_bytes += size
        if self.simulated:
            while self.unwritten >= SECTORS_PER_LINE:
                self.unwritten -= SECTORS_PER_LINE
                start = max(start, self.l2.store_line(issued))
        else:
            start = max(start, self.sampled.displace(issued, sectors, 1))
        self.stored_at[sm] = start
        self.passed[sm] = max(leaves, self.room_behind_port(sm, start, sectors))
        self.store_free[sm] = max(self.store_free[sm], self.passed[sm])
        taken = start // MILLI
        self.acknowledged = max(self.acknowledged, taken + self.write_latency)
        return taken

    def room_behind_port(self, sm: int, start: int, sectors: int) -> int:
        """
        Return when the buffer behind an SM's port has room for a store, in thousandths of a cycle; 0 if it has now.

        Args:
            sm: The SM.
            start: When the L2 takes the store, and so frees its room in the buffer; in thousandths of a cycle.
            sectors: Its sectors.
        """
        first, room = sm * WAITING, 0
        self.waiting_at[first + self.next_waiting[sm]] = start
        self.waiting_sectors[first + self.next_waiting[sm]] = sectors
        self.next_waiting[sm] = (self.next_waiting[sm] + 1) % WAITING
        self.waiting[sm] += sectors
        full = self.next_waiting[sm] == self.first_waiting[sm]
        while full or self.waiting[sm] > self.most_waiting:
            oldest = first + self.first_waiting[sm]
            room, full = self.waiting_at[oldest], False
            self.waiting[sm] -= self.waiting_sectors[oldest]
            self.first_waiting[sm] = (self.first_waiting[sm] + 1) % WAITING
        return room
