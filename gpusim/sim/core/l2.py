"""
The L2, line by line: lookups, misses to DRAM, the merge table, and the two partitions.

In silicon: slices in two partitions, one on each side of the chip. A line has its home on one side; SMs of the other
side read a copy of it, which crosses the chip when it is first asked for. Requests of a GPC for sectors that are on
their way are merged.
Figures: ``l2_lines``, ``l2_near``, ``l2_far``, ``l2_far_percent``, ``l2_reach``, ``l2_crossing``, ``home_bits``,
``most_merged``, ``merge_window``.
State: the lines; for each line and GPC the last request and how many were merged with it; how near and far alternate.
Timing: a request arrives a hit's latency after the arbiter grants it. A miss arrives when DRAM has it, and the copy of
the other side a hop later. A merged request is granted in its turn, but takes none of the bandwidth.

>>> from gpusim.machine import load_machine
>>> from gpusim.sim.figures import figures_of
>>> figures = figures_of(load_machine("h200"), 0, busy=False)._replace(l2_far_percent=0, l2_reach=(0,))
>>> l2 = L2(figures, L2Arbiter(figures, 1, 1, ()), Dram(figures, 1), sms=1, groups=(), simulated=True)
>>> late, hit = (l2.read(0, l2.lines.touch(7), WHOLE_LINE, at * MILLI, at) - at for at in (0, 9000))
>>> hit == figures.l2_near < late, l2.looked_up
(True, 8)
"""

from array import array
from typing import TYPE_CHECKING

from gpusim.sim.columns import pages
from gpusim.sim.core.cache import Lines, parity, sectors_in
from gpusim.sim.core.constants import (
    ASKED_BITS,
    LINES_AT_ONCE,
    MERGED_AHEAD,
    MERGED_BITS,
    MERGED_TIME,
    MILLI,
    MOST_MERGED,
    OUTPUT_LINES,
    PERCENT,
    READ,
    SLOT_WIDTH,
    WHOLE_LINE,
)
from gpusim.sim.core.dram import Dram
from gpusim.sim.core.l2_arbiter import L2Arbiter, gpcs_of
from gpusim.units import SECTOR_BYTES, SECTORS_PER_LINE, SMS_PER_TPC

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpusim.sim.columns import Column
    from gpusim.sim.figures import Figures


def dealt(values: "Sequence[int]", count: int) -> "Column":
    """Return a column in which some values, in their order, fill as many places each as the others."""
    return array("q", [values[place * len(values) // count] for place in range(count)])


class L2:
    """
    The L2 of a chip whose lines are simulated; where hits are known beforehand, ``L2Sampled`` stands on its lines.

    Attributes:
        sectors: Sectors that SMs read from it.
        looked_up: Sectors that are looked up in it: those read and not merged, and those that the other side is asked
            for.
        written_back: Bytes of modified lines that the whole chip wrote to DRAM.
    """

    def __init__(
        self,
        figures: "Figures",
        arbiter: L2Arbiter,
        dram: Dram,
        *,
        sms: int,
        groups: "Sequence[int]",
        simulated: bool,
    ) -> None:
        """
        Build the L2.

        TPCs lie in turn on both sides of the chip where no groups are known.

        Args:
            figures: Those of the machine.
            arbiter: What grants requests.
            dram: What misses are read from.
            sms: Simulated SMs.
            groups: Group of each SM that the figures know; all are of one GPC where it is empty.
            simulated: Whether lines are simulated; else there is no merge table.
        """
        self.near, self.far, self.far_percent = figures.l2_near, figures.l2_far, figures.l2_far_percent
        self.hop, self.home_bits, self.most_lines = figures.l2_crossing, figures.home_bits, figures.l2_lines
        self.most_merged = min(figures.most_merged, MOST_MERGED)
        self.merge_window = figures.merge_window * MILLI
        self.arbiter, self.dram = arbiter, dram
        self.reach = dealt(figures.l2_reach, sms)
        self.gpc = gpcs_of(figures, sms, groups)
        self.gpcs = max(self.gpc) + 1
        sides = [figures.sides[group] for group in groups] or [sm // SMS_PER_TPC % 2 for sm in range(sms)]
        self.side = array("q", sides)
        self.lines, self.next_line = Lines(self.most_lines + LINES_AT_ONCE), OUTPUT_LINES
        # Of each line and GPC: until when requests are merged, in thousandths, which sectors, and how many were.
        self.merge_table = pages(self.gpcs * (self.most_lines + LINES_AT_ONCE + 2) if simulated else 2)
        self.turn, self.sectors, self.looked_up, self.written_back = 0, 0, 0, 0

    def hit_latency(self, sm: int) -> int:
        """Return the latency of an SM's next request: near and far alternate in the machine's proportion (D5)."""
        self.turn += self.far_percent
        if self.turn >= PERCENT:
            self.turn -= PERCENT
        return self.reach[sm] + (self.far if self.turn < self.far_percent else self.near)

    def is_far(self, sm: int, line: int) -> bool:
        """
        Return whether the home of a line is the partition on the other side of the chip from an SM (D5).

        The parity of some bits of its number says which is.
        """
        return self.far_percent > 0 and parity(line & self.home_bits) != self.side[sm]

    def read(self, sm: int, slot: int, mask: int, start: int, issued: int) -> int:
        """
        Look up sectors of the line in a slot, read what is missing from DRAM; return the cycle of their arrival (D11).

        A request is merged with the last one of its GPC for the line that was not, if that was for the same sectors,
        and waits for DRAM or was charged a moment before; at most ``most_merged`` are. All wait for their grant first,
        whatever their SM's share: requests that come while the L2 is behind are no nearer to one another. Data that is
        on its way from DRAM or across the chip serves until the L2 has it, a hit's latency before an SM does. Other
        sectors of the line are looked up on their own, though they come with it.

        Args:
            sm: The SM.
            slot: Slot of the line, which was allocated on a miss.
            mask: Its sectors that are asked for.
            start: When the request comes to the L2, in thousandths of a cycle.
            issued: Cycle of the issue.
        """
        lines, arbiter = self.lines, self.arbiter
        line = lines.line[slot]
        far = self.is_far(sm, line)
        ready = lines.ready[slot]
        missing = sectors_in(WHOLE_LINE & ~lines.held[slot]) if mask & ~lines.held[slot] else 0
        entry = self.merge_entry(sm, slot)
        begin, turn = arbiter.grant(READ, sm, start), max(start, arbiter.all_served(READ))
        last = self.merge_table[entry]
        ahead = (last >> MERGED_BITS) - turn & MERGED_TIME
        same = 0 < ahead < MERGED_AHEAD and last >> ASKED_BITS & WHOLE_LINE == mask
        if missing == 0 and same and last & MOST_MERGED < self.most_merged:
            self.merge_table[entry] = last + 1
            there = lines.crossed[slot] if far else ready
            return max(begin // MILLI + self.hit_latency(sm), there + self.reach[sm])
        asked = sectors_in(mask)
        self.looked_up += asked
        arbiter.charge(READ, sm, issued, asked * SECTOR_BYTES)
        lands = begin // MILLI + self.hit_latency(sm)
        if missing:
            ready = max(ready, self.read_dram(line, begin, missing * SECTOR_BYTES, issued))
            ready = max(ready, self.make_room(issued) // MILLI)
            self.clear_merges(slot)
            lines.ready[slot] = ready
            lines.held[slot] = WHOLE_LINE
        if far:
            # What its partition sees for the first time comes from the other one, which looks it up, too. The line
            # crosses whole, though its parts are looked up.
            if lines.seen[slot] == 0:
                lines.crossed[slot] = max(lands - self.reach[sm], ready) + self.hop
            self.looked_up += sectors_in(mask & ~lines.seen[slot])
            lines.seen[slot] |= mask
            ready = lines.crossed[slot]
        lands = max(lands, ready + self.reach[sm])
        until = max(turn + self.merge_window, (ready - self.near) * MILLI)
        self.merge_table[entry] = (until & MERGED_TIME) << MERGED_BITS | mask << ASKED_BITS | 1
        return lands

    def read_dram(self, line: int, start: int, size: int, issued: int) -> int:
        """Read bytes of a line from DRAM and let the arbiter take them in; return the cycle of their arrival."""
        arrived = self.dram.read(line, self.dram.bank_of(line), start, size, issued)
        return max(arrived, self.arbiter.fill(issued, size) // MILLI)

    def merge_entry(self, sm: int, slot: int) -> int:
        """Return the entry of the merge table for an SM's GPC and the line in a slot."""
        return slot // SLOT_WIDTH * self.gpcs + self.gpc[sm]

    def clear_merges(self, slot: int) -> None:
        """Let no request for a new line be merged with those for the line that was in its slot before."""
        for gpc in range(self.gpcs):
            self.merge_table[slot // SLOT_WIDTH * self.gpcs + gpc] = 0

    def store_line(self, issued: int) -> int:
        """Allocate a line that is stored whole; return when there is room for it, in thousandths of a cycle."""
        self.next_line += 1
        slot = self.lines.allocate(self.next_line)
        self.lines.dirty[slot] = 1
        return self.make_room(issued)

    def make_room(self, issued: int) -> int:
        """
        Evict the least recently used line where there are too many; a modified one is written to DRAM.

        Returns:
            When DRAM has room for it, in thousandths of a cycle.
        """
        lines, room = self.lines, 0
        if lines.count > self.most_lines:
            if lines.dirty[lines.victim()]:
                room = self.dram.write_line(issued)
                self.written_back += SECTORS_PER_LINE * SECTOR_BYTES * self.dram.share
            lines.evict()
        return room
