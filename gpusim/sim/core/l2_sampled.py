"""
The L2 of a sample, whose hits were found before the run by a walk of the grid; and loads of the epilogue in any run.

In silicon: the same L2. A sample simulates some SMs that represent all. Each request represents requests of several
SMs, and each line that misses represents several lines that the chip reads (D14). Loads of the epilogue are here in
exact runs, too: their data was written before the launch, so no simulated L2 holds it (D10).
Figures: those of ``L2``. For each status of a request, the walk gives the parts of its sectors that wait for DRAM, that
miss, and that are looked up.
State: credits, which add these parts up to whole sectors; and how much of each part of the L2's content was stored.
Timing: as in ``L2``. A request waits for DRAM when the credit of waiting sectors covers it. All bytes that a miss
represents are then transferred at once.

>>> from gpusim.machine import load_machine
>>> from gpusim.sim.core.dram import Dram
>>> from gpusim.sim.core.l2_arbiter import L2Arbiter
>>> from gpusim.sim.figures import figures_of
>>> figures = figures_of(load_machine("h200"), 0, busy=False)._replace(l2_far_percent=0, l2_reach=(0,))
>>> l2 = L2(figures, L2Arbiter(figures, 1, 1, ()), Dram(figures, 1), sms=1, groups=(), simulated=False)
>>> sampled = L2Sampled(figures, Crossbar(figures, 1), l2, share=1, statuses=[zeros(1)] * 4)
>>> [sampled.read_known(0, at, at, 4, slow=125, missed=0) - at > figures.l2_near for at in (0, 9000)]
[False, True]
"""

from typing import TYPE_CHECKING

from gpusim.sim.columns import zeros
from gpusim.sim.core.cache import sectors_in
from gpusim.sim.core.constants import (
    MILLI,
    MOST_CREDIT,
    OUTPUT_LINES,
    PARTS_KEPT,
    PARTS_KNOWN,
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
    Requests to an L2 whose hits are known before the run.

    Attributes:
        status: Status of the next request: its index in the columns of statuses. The LSU sets it.
        has_twin: Whether the next request's copy also requests other sectors of the line. The LSU and the L1 set it.
    """

    def __init__(
        self, figures: "Figures", crossbar: Crossbar, l2: L2, share: int, statuses: "Sequence[Column]"
    ) -> None:
        """
        Build it on an L2.

        Args:
            figures: The machine's figures.
            crossbar: The ports of the SMs.
            l2: The L2, with its lines, its arbiter and its DRAM.
            share: SMs of the chip for each simulated SM.
            statuses: Columns ``slow``, ``brought``, ``shared`` and ``looked`` of ``Data``.
        """
        self.most_lines, self.share = figures.l2_lines, share
        self.crossbar, self.l2 = crossbar, l2
        self.dram = self.l2.dram
        self.slow, self.stands_for, self.shared_by, self.looked_of = statuses
        self.status, self.has_twin = 0, False
        # Credits: sectors that wait for DRAM, that miss, that are merged, that cross the chip; lines to read from DRAM.
        self.slow_credit, self.missed_credit, self.merged_credit, self.far_credit = 0, 0, 0, 0
        self.brought_credit = 0
        # Later requests for a line, after its first; and how many of these came early enough to be merged with it.
        self.later, self.later_waiting = 2, 1
        self.next_line, self.filled_at, self.came_sectors, self.displaced = OUTPUT_LINES, 0, 0, 0
        # Sectors that a sample's L2 holds; sectors of one part of it; and how many of each part's sectors were stored.
        self.held_sectors = self.most_lines * SECTORS_PER_LINE // share
        self.part_sectors, self.last_part = self.held_sectors // PARTS_KEPT + 1, 0
        self.stored_in = zeros(PARTS_KNOWN)

    def read_output(self, sm: int, at: int, issued: int, sectors: int, slow: int, missed: int, first: int) -> int:  # noqa: PLR0917 - in C all are
        """
        Read sectors for an epilogue; return the cycle at which all have arrived (D10).

        The first read of data since it was written crosses the chip if the home of a line is the far partition. Far
        sectors are then looked up once more, in that partition. A request for several lines is assumed to have a far
        one.

        Args:
            sm: The SM.
            at: Cycle at which it injects the request.
            issued: Cycle of the issue.
            sectors: Number of sectors.
            slow: Sectors that wait for DRAM, also those that another request reads from it, per mille.
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
        return arrived + (l2.hop if sectors > SECTORS_PER_LINE or l2.turn < l2.far_percent else 0)

    def read_known(self, sm: int, at: int, issued: int, sectors: int, slow: int, missed: int) -> int:  # noqa: PLR0917 - in C all are
        """Read sectors with known parts of misses (arguments as ``read_output``); return when all have arrived."""
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
        return max(start // MILLI + l2.hit_latency(sm), filled + l2.reach[sm] if late else 0)

    def read(self, sm: int, slot: int, mask: int, start: int, issued: int) -> int:
        """
        Look up a line whose hit or miss the walk found; return the cycle of its arrival (D14).

        For the first SM that requests a line, the walk decides between hit and miss, for the line as a whole. SMs that
        request it later wait for the same data. The arguments are those of ``L2.read``; ``status`` and ``has_twin`` are
        set before the call.
        """
        l2, lines, asked = self.l2, self.l2.lines, sectors_in(mask)
        line = lines.line[slot]
        far = l2.is_far(sm, line)
        slow, shared = self.slow[self.status], self.shared_by[self.status]
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
        comes = lines.held[slot] and start < lines.lands[slot] and lines.asker[slot] == sm
        if comes and not self.has_twin and l2.most_merged > 1:
            return lines.lands[slot] // MILLI
        begin = self.merge_or_charge(sm, start, issued, asked)
        if far or (l2.far_percent > 0 and shared > l2.most_merged):
            l2.looked_up += brought
        if comes:
            return max(begin // MILLI + l2.hit_latency(sm), lines.lands[slot] // MILLI)
        if lines.held[slot]:
            self.later += 1
            self.later_waiting += 1 if begin < lines.pending[slot] else 0
        if misses:
            arrived = self.dram.arrival(line, max(begin, served) // MILLI)
            lines.ready[slot] = max(arrived, self.filled_at // MILLI)
        lines.held[slot] = WHOLE_LINE
        there = lines.ready[slot] + (l2.hop if far else 0)
        lines.pending[slot] = max(begin + l2.merge_window, (there - l2.near) * MILLI)
        lands = max(begin // MILLI + l2.hit_latency(sm), there + l2.reach[sm])
        lines.asker[slot] = sm
        lines.lands[slot] = lands * MILLI
        if lines.count > self.most_lines:
            lines.evict()
        return lands

    def merge_or_charge(self, sm: int, start: int, issued: int, asked: int) -> int:
        """
        Return when a request is granted, in thousandths of a cycle; merge it, or charge the L2 with a lookup (D14).

        The request represents requests of several SMs, some of which are merged and take no bandwidth. The merged part
        is a product. One factor is the part that the walk gives. The other is the part of the sample's later requests
        for a line that came while the line was in flight or just looked up. A request is never merged if its copy also
        requests other sectors of the line, because each of the two then replaces the other's entry of the merge table
        (D24).

        Args:
            sm: The SM.
            start: When the request reaches the L2, in thousandths of a cycle.
            issued: Cycle of the issue.
            asked: Its sectors.
        """
        arbiter = self.l2.arbiter
        begin = arbiter.grant(READ, sm, start)
        if not self.has_twin:
            self.merged_credit += asked * (MILLI - self.looked_of[self.status]) * self.later_waiting // self.later
            if self.merged_credit >= asked * MILLI:
                self.merged_credit -= asked * MILLI
                return begin
        arbiter.charge(READ, sm, issued, asked * SECTOR_BYTES)
        self.l2.looked_up += asked
        return begin

    def credit_slow(self, asked: int) -> None:
        """
        Add the part of ``asked`` sectors that waits for DRAM, which the walk gives, to ``slow_credit``.

        A request waits for DRAM when this credit covers its sectors. A part of 1000 per mille needs no credit.
        """
        if self.slow[self.status] < MILLI:
            self.slow_credit = min(self.slow_credit + asked * self.slow[self.status], MOST_CREDIT)

    def fetch(self, bank: int, issued: int) -> int:
        """
        Read from DRAM all lines that a missing line of the sample represents; return their number of sectors.

        All of them are transferred when the sample requests the line, one behind another, as for a whole chip. Lines
        are read whole, each from one bank.

        Args:
            bank: The missing line's bank.
            issued: Cycle of the issue.
        """
        size, brought = SECTORS_PER_LINE * SECTOR_BYTES, 0
        self.brought_credit += self.stands_for[self.status]
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
            When DRAM has room for the writes, in thousandths of a cycle; 0 if nothing is written.
        """
        room, part, at = 0, self.part_sectors, self.came_sectors
        self.came_sectors = end = at + sectors
        while at < end:
            number, begin = at // part, at
            at = min(end, (number + 1) * part)
            if number > self.last_part:
                self.last_part = number
                self.stored_in[number % PARTS_KNOWN] = 0
            self.stored_in[number % PARTS_KNOWN] += (at - begin) * stored
        at, end = max(0, end - sectors - self.held_sectors), end - self.held_sectors
        while at < end:
            number, begin = at // part, at
            at = min(end, (number + 1) * part)
            self.displaced += (at - begin) * self.stored_in[number % PARTS_KNOWN]
        while self.displaced >= SECTORS_PER_LINE * part:
            self.displaced -= SECTORS_PER_LINE * part
            room = max(room, self.dram.write_line(issued))
        return room
