"""
Stores to global memory: the buffer before the SM's port, the port, and the buffer between the port and the L2.

In silicon: a store passes its SM's port to the crossbar, and the L2 acknowledges it. Buffers before and behind the port
let the warp continue, and exit, before the acknowledgement.
Figures: ``l1.store_buffer_bytes``, ``l2.write_bytes_per_cycle_per_sm``; ``l2_waiting`` and ``l2_write_latency`` of
``Figures``.
State: the time at which each port is free; the stores of each SM that have passed the port and wait for the L2.
Timing: the port sends stores in order, at its rate. The L2 takes a store when the arbiter grants it and, if it evicts
a modified line, when DRAM has room for that line. A store has passed the port when the buffer behind the port has room
for it.

>>> from doubles.by_hand import NOTHING
>>> from gpusim.machine import load_machine
>>> from gpusim.sim.core.dram import Dram
>>> from gpusim.sim.core.l2 import L2
>>> from gpusim.sim.core.l2_arbiter import L2Arbiter
>>> from gpusim.sim.figures import figures_of
>>> figures = figures_of(load_machine("h200"), 0, busy=False)
>>> crossbar, arbiter = Crossbar(figures.machine, 1), L2Arbiter(figures, 1, 1, ())
>>> l2 = L2(figures, arbiter, Dram(figures, 1), sms=1, groups=(), simulated=True)
>>> data = NOTHING.data(warps=1, ctas=1)
>>> stores = Stores(figures, data, crossbar, L2Sampled(figures, crossbar, l2, 1, [zeros(1)] * 4), sms=1)
>>> first, second = (stores.store(0, 0, issued=0, sectors=16) for _ in range(2))
>>> first, second == 16 * 32 // stores.port_bytes
(0, True)
"""

from typing import TYPE_CHECKING

from gpusim.sim.columns import zeros
from gpusim.sim.core.cache import sectors_in
from gpusim.sim.core.constants import ATOMIC, MILLI, STORE, WAITING_STORES
from gpusim.sim.core.l2_arbiter import Crossbar
from gpusim.sim.core.l2_sampled import L2Sampled
from gpusim.units import SECTOR_BYTES, SECTORS_PER_LINE

if TYPE_CHECKING:
    from gpusim.sim.columns import Data
    from gpusim.sim.figures import Figures


class Stores:
    """
    The stores of all SMs.

    Attributes:
        stored_bytes: Bytes of the sectors stored.
        acknowledged: Cycle at which the last store is acknowledged; 0 if there was none.
    """

    def __init__(self, figures: "Figures", data: "Data", crossbar: Crossbar, sampled: L2Sampled, *, sms: int) -> None:
        """
        Build buffers and ports.

        Args:
            figures: The machine's figures.
            data: The lines and sectors of all requests, and whether the L2's lines are simulated.
            crossbar: The ports of the SMs, which reads and stores share.
            sampled: The L2 of a sampled run. Its attribute ``l2`` is the L2 of an exact run.
            sms: Number of simulated SMs.
        """
        machine = figures.machine
        self.store_buffer, self.port_bytes = machine.l1.store_buffer_bytes, machine.l2.write_bytes_per_cycle_per_sm
        self.most_waiting, self.write_latency = figures.l2_waiting, figures.l2_write_latency
        self.simulated, self.crossbar, self.sampled = data.simulates_l2, crossbar, sampled
        self.l2 = self.sampled.l2
        self.arbiter = self.l2.arbiter
        self.store_free, self.stored_at = self.crossbar.store_free, self.crossbar.stored_at
        # For each SM: the time at which its last store passes the port, in thousandths of a cycle; the sectors in the
        # buffer behind the port; a ring of the stores in that buffer.
        self.port_exit, self.waiting = zeros(sms), zeros(sms)
        self.waiting_at, self.waiting_sectors = zeros(sms * WAITING_STORES), zeros(sms * WAITING_STORES)
        self.first_waiting, self.next_waiting = zeros(sms), zeros(sms)
        self.unwritten, self.stored_bytes, self.acknowledged, self.leaves = 0, 0, 0, 0
        self.line, self.sector_mask = data.line, data.mask
        self.masked, self.passes = data.traces.masked, data.traces.passes
        parts, atomics = machine.l2.parts, machine.l2.atomics
        self.least_bytes, self.mask_bytes = (0, 0) if parts is None else (parts.store_bytes, parts.mask_bytes)
        self.atomic_bytes, self.atomic_latency = SECTOR_BYTES, 0
        self.sector_percent = self.lane_percent = self.float_percent = 0
        if atomics is not None:
            self.atomic_bytes, self.atomic_latency = atomics.bytes, atomics.further
            self.sector_percent, self.lane_percent = atomics.sector_percent, atomics.lane_percent
            self.float_percent = atomics.float_percent

    def room_at_port(self, sm: int) -> int:
        """Return the cycle at which the buffer before an SM's port has room for another store."""
        return self.store_free[sm] // MILLI - self.store_buffer // self.port_bytes

    def store(self, sm: int, at: int, issued: int, sectors: int) -> int:
        """
        Store sectors of the output; return the cycle at which the L2 has taken them.

        A warp may exit when its stores have passed the SM's port (``port_exit``). Stored sectors fill new lines of the
        L2 in the order of the stores. These lines are written to DRAM when they are evicted.

        Args:
            sm: The SM.
            at: Cycle at which the data stage serves the store.
            issued: Cycle of the issue.
            sectors: Number of sectors.
        """
        size = sectors * SECTOR_BYTES
        start = self.request(sm, at, issued, size, size)
        self.stored_bytes += size
        self.unwritten += sectors
        if self.simulated:
            while self.unwritten >= SECTORS_PER_LINE:
                self.unwritten -= SECTORS_PER_LINE
                start = max(start, self.l2.store_line(issued))
        else:
            start = max(start, self.sampled.displace(issued, sectors, 1))
        self.pass_port(sm, start, sectors)
        return start // MILLI

    def store_lines(self, sm: int, at: int, issued: int, first: int, end: int, base: int, atomic: int) -> int:  # noqa: PLR0917 - in C all are
        """
        Store or update sectors of lines that are known; return the cycle at which an atomic's result arrives.

        A store writes its lines in the L2. A sector that it writes in part is completed from DRAM. An atomic reads its
        lines first, from DRAM if the L2 lacks them. It keeps the slice of each from other atomics for its passes, or
        for as long as the lanes at one word take if that is longer. Modified sectors are written to DRAM when their
        line is evicted.

        Args:
            sm: The SM.
            at: Cycle at which the data stage serves the instruction.
            issued: Cycle of the issue.
            first, end: Its line requests.
            base: Line number from which their lines are counted.
            atomic: 0 for a store, ``ATOMIC`` or ``FLOAT_ATOMIC``.
        """
        size, port_size, sectors = 0, 0, 0
        for touched in range(first, end):
            own = sectors_in(self.sector_mask[touched])
            sectors += own
            if atomic:
                port_size += self.passes[touched] * SECTOR_BYTES
                size += self.passes[touched] * self.atomic_bytes
            else:
                masked = self.mask_bytes if self.masked[touched] else 0
                port_size += own * SECTOR_BYTES + masked
                size += max(own * SECTOR_BYTES + masked, self.least_bytes)
        start, landed = self.request(sm, at, issued, port_size, size), 0
        self.stored_bytes += sectors * SECTOR_BYTES
        for touched in range(first, end):
            line, mask = self.line[touched] + base, self.sector_mask[touched]
            if atomic:
                passes, alone = self.passes[touched], sectors_in(mask)
                busy = passes * self.sector_percent
                if passes > alone:
                    alike = self.lane_percent if atomic == ATOMIC else self.float_percent
                    busy = max(busy, (passes - alone + 1) * alike)
                landed = max(landed, self.l2.update(sm, line, mask, start, issued, busy))
                start = max(start, self.l2.taken)
            else:
                start = max(start, self.l2.write(line, mask, self.masked[touched], start, issued))
        self.pass_port(sm, start, sectors)
        return landed + self.atomic_latency

    def request(self, sm: int, at: int, issued: int, port_size: int, size: int) -> int:
        """
        Send a store to an SM's port at a cycle; return the time at which the L2 grants it.

        Args:
            sm: The SM.
            at: Cycle at which the data stage serves the store.
            issued: Cycle of the issue.
            port_size: Bytes that it takes of the port.
            size: Bytes that it takes of the L2's write bandwidth.
        """
        self.leaves = max(at * MILLI, self.store_free[sm])
        self.store_free[sm] = self.leaves + port_size * MILLI // self.port_bytes
        return max(self.stored_at[sm], self.arbiter.request(STORE, sm, self.leaves, issued, size))

    def pass_port(self, sm: int, start: int, sectors: int) -> None:
        """Let the store that was requested last pass its SM's port; the L2 takes it at time ``start``."""
        self.stored_at[sm] = start
        self.port_exit[sm] = max(self.leaves, self.room_behind_port(sm, start, sectors))
        self.store_free[sm] = max(self.store_free[sm], self.port_exit[sm])
        self.acknowledged = max(self.acknowledged, start // MILLI + self.write_latency)

    def room_behind_port(self, sm: int, start: int, sectors: int) -> int:
        """
        Return the time at which the buffer behind an SM's port has room for a store; 0 if it has room now.

        Times are thousandths of a cycle.

        Args:
            sm: The SM.
            start: Time at which the L2 takes the store, which frees its space in the buffer.
            sectors: Sectors of the store.
        """
        first, room = sm * WAITING_STORES, 0
        self.waiting_at[first + self.next_waiting[sm]] = start
        self.waiting_sectors[first + self.next_waiting[sm]] = sectors
        self.next_waiting[sm] = (self.next_waiting[sm] + 1) % WAITING_STORES
        self.waiting[sm] += sectors
        full = self.next_waiting[sm] == self.first_waiting[sm]
        while full or self.waiting[sm] > self.most_waiting:
            oldest = first + self.first_waiting[sm]
            room, full = self.waiting_at[oldest], False
            self.waiting[sm] -= self.waiting_sectors[oldest]
            self.first_waiting[sm] = (self.first_waiting[sm] + 1) % WAITING_STORES
        return room
