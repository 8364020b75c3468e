"""
Stores to global memory: the buffer of the L1 before the SM's port, the port, and what waits behind it for the L2.

In silicon: a store passes its SM's port to the crossbar; the L2 acknowledges it. Buffers on both sides of the port let
the warp go on, and leave, before that.
Figures: ``store_buffer``, ``l2_store_port_bytes``, ``l2_waiting``, ``l2_write_latency``.
State: when each port is free; the SM's stores that the L2 has not taken yet.
Timing: a store leaves its port behind the earlier ones of its SM, at the port's rate, and is taken when the arbiter
grants it, and, where it evicts a modified line, when DRAM has room. It has passed the port when it has room behind it.

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
        acknowledged: Cycle at which the last store is acknowledged; 0 without stores.
    """

    def __init__(
        self, figures: "Figures", crossbar: Crossbar, sampled: L2Sampled, *, sms: int, simulated: bool
    ) -> None:
        """
        Build buffers and ports.

        Args:
            figures: Those of the machine.
            crossbar: The ports of the SMs, which reads and stores share.
            sampled: The L2 where its hits are known beforehand, with the one that is simulated below it.
            sms: Simulated SMs.
            simulated: Whether lines of the L2 are simulated.
        """
        self.store_buffer, self.port_bytes = figures.store_buffer, figures.l2_store_port_bytes
        self.most_waiting, self.write_latency = figures.l2_waiting, figures.l2_write_latency
        self.simulated, self.crossbar, self.sampled = simulated, crossbar, sampled
        self.l2 = self.sampled.l2
        self.arbiter = self.l2.arbiter
        self.store_free, self.stored_at = self.crossbar.store_free, self.crossbar.stored_at
        # When an SM's last store has passed its port, in thousandths; a ring of those that wait behind the port.
        self.passed, self.waiting = zeros(sms), zeros(sms)
        self.waiting_at, self.waiting_sectors = zeros(sms * WAITING), zeros(sms * WAITING)
        self.first_waiting, self.next_waiting = zeros(sms), zeros(sms)
        self.unwritten, self.stored_bytes, self.acknowledged = 0, 0, 0

    def room_at_port(self, sm: int) -> int:
        """Return the cycle at which a store finds room in the buffer before its SM's port."""
        return self.store_free[sm] // MILLI - self.store_buffer // self.port_bytes

    def store(self, sm: int, at: int, issued: int, sectors: int) -> int:
        """
        Store sectors of the output; return the cycle at which the L2 has taken them.

        A warp may leave when its stores have passed the SM's port (``passed``). Stores fill lines of their own, which
        are written to DRAM when others evict them.
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
        Return when a store finds room behind its SM's port, in thousandths of a cycle.

        Args:
            sm: The SM.
            start: When the L2 takes the store, which makes room for later ones.
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
