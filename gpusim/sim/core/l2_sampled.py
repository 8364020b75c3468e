"""
The L2 of a sampled run, and the epilogue's loads in any run. A walk of the grid has found the hits before the run.

In silicon: the same L2. A sample simulates some SMs that represent all. Each request represents requests of several
SMs, and each line that misses represents several lines that the chip reads (D14). The epilogue's loads use this L2 in
exact runs, too: their data was written before the launch, so no simulated L2 holds it (D10).
Figures: those of ``L2``. For each request the walk gives a status: the fractions of its sectors that wait for DRAM,
that miss, and that are looked up.
State: credits, which add fractions up to whole sectors; the stored sectors in each chunk of the L2.
Timing: as in ``L2``. A request waits for DRAM when the credit of waiting sectors covers it. All bytes that a miss
represents are then transferred at once.

>>> from gpusim.machine import load_machine
>>> from gpusim.sim.core.dram import Dram
>>> from gpusim.sim.core.l2_arbiter import L2Arbiter
>>> from gpusim.sim.figures import figures_of
>>> figures = figures_of(load_machine("t4"), 0, busy=False)
>>> l2 = L2(figures, L2Arbiter(figures, 1, 1, ()), Dram(figures, 1), sms=1, groups=(), simulated=False)
>>> sampled = L2Sampled(figures, Crossbar(figures.machine, 1), l2, share=1, statuses=[zeros(1)] * 4)
>>> [sampled.read_known(0, at, at, 4, slow=125, missed=0) - at > figures.l2_near for at in (0, 9000)]
[False, True]
"""

from typing import TYPE_CHECKING

from gpusim.sim.columns import zeros
from gpusim.sim.core.cache import sectors_in
from gpusim.sim.core.constants import (
    CHUNKS,
    CHUNKS_KNOWN,
    MILLI,
    MOST_CREDIT,
    OUTPUT_LINES,
    PERCENT,
    READ,
    WHOLE_LINE,
)
from gpusim.sim.core.l2 import L2
from gpusim.sim.core.l2_arbiter import Crossbar
from gpusim.units import SECTOR_BYTES, SECTORS_PER_LINE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpusim.sim.columns import Column
    from gpusim.sim.figures import Figures


class L2Sampled:
    """
    An L2 whose hits are known before the run.

    The LSU and the L1 set the attributes before each request.

    Attributes:
        status: Status of the next request: its index in the columns of statuses.
        splits_line: Whether another request of the same copy is for other sectors of the line.
    """

    def __init__(
        self, figures: "Figures", crossbar: Crossbar, l2: L2, share: int, statuses: "Sequence[Column]"
    ) -> None:
        """
        Build the L2 of a sampled run on the L2 of an exact run.

        Args:
            figures: The machine's figures.
            crossbar: The ports of the SMs.
            l2: The L2 of an exact run, for its lines, its arbiter and its DRAM.
            share: SMs of the chip for each simulated SM.
            statuses: Columns ``slow``, ``brought``, ``shared`` and ``looked`` of ``Data``.
        """
        self.most_lines, self.share = figures.l2_lines, share
        self.crossbar, self.l2 = crossbar, l2
        self.dram = self.l2.dram
        self.slow, self.represented, self.sharers, self.looked = statuses
        self.status, self.splits_line = 0, False
        # Credits of sectors that wait for DRAM, miss, are merged, or cross the chip; credit of lines to read from DRAM.
        self.slow_credit, self.missed_credit, self.merged_credit, self.far_credit = 0, 0, 0, 0
        self.brought_credit = 0
        # Requests for a line after its first one; the number of them that came early enough to be merged.
        self.later, self.later_mergeable = 2, 1
        self.next_line, self.filled_at, self.added_sectors, self.displaced = OUTPUT_LINES, 0, 0, 0
        # Sectors that a sample's L2 holds; sectors of a chunk; the number of each chunk's sectors that were stored.
        self.held_sectors = self.most_lines * SECTORS_PER_LINE // share
        self.chunk_sectors, self.last_chunk = self.held_sectors // CHUNKS + 1, 0
        self.stored_in = zeros(CHUNKS_KNOWN)

    def read_output(self, sm: int, at: int, issued: int, sectors: int, slow: int, missed: int, first: int) -> int:  # noqa: PLR0917 - in C all are
        """
        Read sectors for an epilogue; return the cycle at which all have arrived (D10).

        On the first read after the data was written, far lines cross the chip, and their sectors are looked up in the
        far partition, too. A request for several lines is assumed to have a far line.

        Args:
            sm: The SM.
            at: Cycle at which the SM injects the request.
            issued: Cycle of the issue.
            sectors: Number of sectors.
            slow: Sectors that wait for DRAM, for this request or an earlier one, per mille.
            missed: Sectors that are read from DRAM for this request, per mille.
            first: 1 for the first read of the data, else 0.
        """
        arrived = self.read_known(sm, at, issued, sectors, slow, missed)
        if not first:
            return arrived
        l2 = self.l2
        once = missed if slow else MILLI
        self.far_credit += sectors * once * l2.far_percent
        l2.looked_up += self.far_credit // (MILLI * PERCENT)
        self.far_credit %= MILLI * PERCENT
        return arrived + (l2.hop if sectors > SECTORS_PER_LINE or l2.far_phase < l2.far_percent else 0)

    def read_known(self, sm: int, at: int, issued: int, sectors: int, slow: int, missed: int) -> int:  # noqa: PLR0917 - in C all are
        """Read sectors (arguments as ``read_output``); return the cycle at which all have arrived at the SM."""
        l2, size = self.l2, sectors * SECTOR_BYTES
        start = l2.arbiter.request(READ, sm, self.crossbar.inject(sm, at, size), issued, size)
        l2.sectors += sectors
        l2.looked_up += sectors
        self.slow_credit += sectors * slow
        self.missed_credit += sectors * missed
        missing, late = self.missed_credit // MILLI, self.slow_credit // MILLI
        self.missed_credit -= missing * MILLI
        self.slow_credit -= late * MILLI
        filled = 0
        if missing or late:
            filled = self.dram.read_unnumbered(start, missing * SECTOR_BYTES, issued)
            filled = max(filled, l2.arbiter.fill(issued, missing * SECTOR_BYTES) // MILLI)
        return max(start // MILLI + l2.hit_latency(sm), filled + l2.sm_offset[sm] if late else 0)

    def read(self, sm: int, slot: int, mask: int, start: int, issued: int) -> int:
        """
        Look up a line; return the cycle of its arrival (arguments as ``L2.read``, D14).

        For the first SM that requests a line, the walk decides between hit and miss, for the whole line. SMs that
        request it later wait for the same data.
        """
        l2, lines, asked = self.l2, self.l2.lines, sectors_in(mask)
        line = lines.line[slot]
        far = l2.is_far(sm, line)
        slow, shared = self.slow[self.status], self.sharers[self.status]
        served = brought = 0
        self.credit_slow(asked)
        misses = lines.held[slot] == 0 and slow == MILLI
        if 0 < slow < MILLI:
            misses = lines.held[slot] == 0 and self.slow_credit >= asked * MILLI
            self.slow_credit -= asked * MILLI if misses else 0
        if misses:
            bank = self.dram.bank_of(line)
            served = self.dram.free_at(bank)
            brought = self.fetch(bank, issued)
        in_flight = lines.held[slot] and start < lines.lands[slot] and lines.requester[slot] == sm
        if in_flight and not self.splits_line and l2.most_merged > 1:
            return lines.lands[slot] // MILLI
        begin = self.merge_or_charge(sm, start, issued, asked)
        if far or (l2.far_percent > 0 and shared > l2.most_merged):
            l2.looked_up += brought
        if in_flight:
            return max(begin // MILLI + l2.hit_latency(sm), lines.lands[slot] // MILLI)
        if lines.held[slot]:
            self.later += 1
            self.later_mergeable += 1 if begin < lines.pending[slot] else 0
        if misses:
            arrived = self.dram.arrival(line, max(begin, served) // MILLI)
            lines.ready[slot] = max(arrived, self.filled_at // MILLI)
        lines.held[slot] = WHOLE_LINE
        at_l2 = lines.ready[slot] + (l2.hop if far else 0)
        lines.pending[slot] = max(begin + l2.merge_window, (at_l2 - l2.near) * MILLI)
        arrival = max(begin // MILLI + l2.hit_latency(sm), at_l2 + l2.sm_offset[sm])
        lines.requester[slot] = sm
        lines.lands[slot] = arrival * MILLI
        if lines.count > self.most_lines:
            lines.evict()
        return arrival

    def merge_or_charge(self, sm: int, start: int, issued: int, asked: int) -> int:
        """
        Merge a request, or charge the L2 with a lookup; return the time of the grant, in thousandths of a cycle (D14).

        The request represents requests of several SMs, some of which are merged and take no bandwidth. The merged
        fraction is a product. One factor comes from the walk. The other is the fraction of the sample's later requests
        for a line that came while the line was in flight or just looked up. If another request of the same copy is for
        other sectors of the line, neither is merged: each replaces the other's entry of the merge table (D24).

        Args:
            sm: The SM.
            start: Time at which the request reaches the L2, in thousandths of a cycle.
            issued: Cycle of the issue.
            asked: Number of requested sectors.
        """
        arbiter = self.l2.arbiter
        begin = arbiter.grant(READ, sm, start)
        if not self.splits_line:
            self.merged_credit += asked * (MILLI - self.looked[self.status]) * self.later_mergeable // self.later
            if self.merged_credit >= asked * MILLI:
                self.merged_credit -= asked * MILLI
                return begin
        arbiter.charge(READ, sm, issued, asked * SECTOR_BYTES)
        self.l2.looked_up += asked
        return begin

    def credit_slow(self, asked: int) -> None:
        """
        Add the fraction of ``asked`` sectors that waits for DRAM to ``slow_credit``.

        The walk gives the fraction. A request waits for DRAM when the credit covers its sectors. A fraction of 1000 per
        mille needs no credit.
        """
        if self.slow[self.status] < MILLI:
            self.slow_credit = min(self.slow_credit + asked * self.slow[self.status], MOST_CREDIT)

    def fetch(self, bank: int, issued: int) -> int:
        """
        Read all lines from DRAM that a missing line of the sample represents; return their number of sectors.

        The lines are transferred one after another when the sample requests the missing line. Each is read whole, from
        one bank.

        Args:
            bank: Bank of the missing line.
            issued: Cycle of the issue.
        """
        size, brought = SECTORS_PER_LINE * SECTOR_BYTES, 0
        self.brought_credit += self.represented[self.status]
        while self.brought_credit >= MILLI:
            self.brought_credit -= MILLI
            if brought:
                self.next_line += 1
                bank = self.dram.bank_of(self.next_line)
            self.dram.transfer(bank, issued, size)
            taken = self.l2.arbiter.fill(issued, size)
            self.filled_at = max(self.filled_at, taken, self.displace(issued, SECTORS_PER_LINE, 0))
            brought += SECTORS_PER_LINE
        return brought

    def displace(self, issued: int, sectors: int, stored: int) -> int:
        """
        Add sectors to the L2, evict the oldest ones when it is full, and write evicted stored lines to DRAM.

        Args:
            issued: Cycle of the issue.
            sectors: Number of new sectors.
            stored: 1 if they are stored, 0 if they are read from DRAM.

        Returns:
            The time at which DRAM has room for the writes, in thousandths of a cycle; 0 if nothing is written.
        """
        room, chunk, at = 0, self.chunk_sectors, self.added_sectors
        self.added_sectors = end = at + sectors
        while at < end:
            number, begin = at // chunk, at
            at = min(end, (number + 1) * chunk)
            if number > self.last_chunk:
                self.last_chunk = number
                self.stored_in[number % CHUNKS_KNOWN] = 0
            self.stored_in[number % CHUNKS_KNOWN] += (at - begin) * stored
        at, end = max(0, end - sectors - self.held_sectors), end - self.held_sectors
        while at < end:
            number, begin = at // chunk, at
            at = min(end, (number + 1) * chunk)
            self.displaced += (at - begin) * self.stored_in[number % CHUNKS_KNOWN]
        while self.displaced >= SECTORS_PER_LINE * chunk:
            self.displaced -= SECTORS_PER_LINE * chunk
            room = max(room, self.dram.write_line(issued, SECTORS_PER_LINE * SECTOR_BYTES))
        return room
