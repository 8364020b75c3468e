"""
The L2, line by line: lookups, misses to DRAM, the merge table, and the two partitions.

In silicon: slices in two partitions, one on each side of the chip. A line has its home in one partition. SMs on the
other side read a copy, which crosses the chip on their first request. Requests of one GPC for the same sectors are
merged while the line is in flight.
Figures: ``l2.far_fraction_percent``, ``l2.merging.most``, ``[launch.units]``; ``l2_lines``, ``l2_near``, ``l2_far``,
``l2_reach``, ``l2_crossing``, ``home_bits`` and ``merge_window`` of ``Figures``.
State: the lines; for each line and GPC, the last request that was looked up and the number of requests merged with it;
the counter by which near and far hits alternate.
Timing: a hit arrives its latency after the arbiter grants the request, a miss when DRAM delivers the line. A line that
crosses the chip arrives a hop latency later. A merged request waits for its grant, but takes no bandwidth.

>>> from gpusim.machine import load_machine
>>> from gpusim.sim.figures import figures_of
>>> figures = figures_of(load_machine("t4"), 0, busy=False)
>>> l2 = L2(figures, L2Arbiter(figures, 1, 1, ()), Dram(figures, 1), sms=1, groups=(), simulated=True)
>>> late, hit = (l2.read(0, l2.lines.touch(7), WHOLE_LINE, at * MILLI, at) - at for at in (0, 9000))
>>> hit == figures.l2_near < late, l2.looked_up
(True, 8)
"""

from array import array
from typing import TYPE_CHECKING

from gpusim.sim.columns import pages, zeros
from gpusim.sim.core.cache import Lines, parity, sectors_in
from gpusim.sim.core.constants import (
    ASKED_BITS,
    CHUNK_BITS,
    FIRST_OF_PAIRS,
    LINES_AT_ONCE,
    MERGED_AHEAD,
    MERGED_BITS,
    MERGED_TIME,
    MILLI,
    MOST_MERGED,
    OUTPUT_LINES,
    PAIR,
    PERCENT,
    READ,
    SLOT_WIDTH,
    WHOLE_LINE,
)
from gpusim.sim.core.dram import Dram, hashed
from gpusim.sim.core.l2_arbiter import L2Arbiter, gpcs_of
from gpusim.units import SECTOR_BYTES, SECTORS_PER_LINE, SMS_PER_TPC

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpusim.sim.columns import Column
    from gpusim.sim.figures import Figures


def dealt(values: "Sequence[int]", count: int) -> "Column":
    """Return a column of ``count`` integers: the values in their order, each repeated about equally often."""
    return array("q", [values[place * len(values) // count] for place in range(count)])


class L2:
    """
    The L2, simulated line by line. ``L2Sampled`` uses its lines, its arbiter and its DRAM.

    Attributes:
        sectors: Sectors that SMs read.
        looked_up: Sectors looked up: sectors of reads that are not merged, and sectors that one partition requests from
            the other.
        fetch_sectors: Sectors that a miss of the next request brings at least: 1, 2 or the whole line.
        read_sectors: Sectors in multiples of which the next request takes read bandwidth: 1 or 2.
        taken: Time at which the L2 took the last atomic, in thousandths of a cycle.
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

        If groups are unknown, all SMs are in one GPC, and consecutive TPCs lie on alternate sides of the chip.

        Args:
            figures: The machine's figures.
            arbiter: The arbiter that grants requests.
            dram: The DRAM that serves misses.
            sms: Number of simulated SMs.
            groups: Group of each SM, an index in ``launch.units``; empty if groups are unknown.
            simulated: Whether the run is exact. The L2 of a sampled run needs no merge table.
        """
        units, self.far_percent = figures.machine.launch.units, figures.machine.l2.far_fraction_percent
        self.near, self.far, self.merge_window = figures.l2_near, figures.l2_far, figures.merge_window * MILLI
        self.hop, self.home_bits, self.most_lines = figures.l2_crossing, figures.home_bits, figures.l2_lines
        self.most_merged = min(figures.machine.l2.most_merged, MOST_MERGED)
        self.arbiter, self.dram = arbiter, dram
        self.sm_offset = dealt(figures.l2_reach, sms)
        self.gpc = gpcs_of(figures.machine, sms, groups)
        self.gpcs = max(self.gpc) + 1
        sides = [sm // SMS_PER_TPC % 2 for sm in range(sms)]
        self.side = array("q", sides if units is None or not groups else [units.sides[group] for group in groups])
        self.lines, self.next_line = Lines(self.most_lines + LINES_AT_ONCE), OUTPUT_LINES
        # For each line and GPC: the time until which requests are merged, in thousandths of a cycle; the requested
        # sectors; the number of requests that the last lookup has served.
        self.merge_table = pages(self.gpcs * (self.most_lines + LINES_AT_ONCE + 2) if simulated else 2)
        # The time until which atomics keep each slice, in thousandths of a cycle.
        atomics = figures.machine.l2.atomics
        self.slices = 2 if atomics is None else atomics.slices
        self.updated_until, self.taken = zeros(self.slices), 0
        self.fetch_sectors, self.read_sectors = SECTORS_PER_LINE, 1
        self.far_phase, self.sectors, self.looked_up, self.written_back = 0, 0, 0, 0

    def hit_latency(self, sm: int) -> int:
        """Return the hit latency of an SM's next request: near and far alternate in a fixed proportion (D5)."""
        self.far_phase += self.far_percent
        if self.far_phase >= PERCENT:
            self.far_phase -= PERCENT
        return self.sm_offset[sm] + (self.far if self.far_phase < self.far_percent else self.near)

    def is_far(self, sm: int, line: int) -> bool:
        """
        Return whether a line's home is the partition on the other side of the chip from an SM (D5).

        The parity of the ``home_bits`` of the line's number is the side of its home.
        """
        return self.far_percent > 0 and parity(line & self.home_bits) != self.side[sm]

    def read(self, sm: int, slot: int, mask: int, start: int, issued: int) -> int:
        """
        Look up sectors of the line in a slot, and read misses from DRAM; return the cycle of their arrival (D11).

        One lookup serves up to ``most_merged`` requests of a GPC for the same sectors of a line. A request is merged if
        the line is still in flight from DRAM or across the chip, or if it follows the lookup within ``merge_window``.
        A line is in flight until it reaches the L2, a hit latency before it reaches an SM. A request for other sectors
        is looked up, though the line arrives whole, and replaces the line's entry in the merge table.

        Merging is decided when the request arrives or, if that is later, when the L2 has served the earlier reads of
        all SMs (``decided``). The grant, which depends on the SM's CPC size, has no influence. So requests do not merge
        merely because they wait for a busy L2 together.

        Args:
            sm: The SM.
            slot: Slot of the line; a missing line is already allocated.
            mask: Mask of the requested sectors.
            start: Time at which the request reaches the L2, in thousandths of a cycle.
            issued: Cycle of the issue.
        """
        lines, arbiter = self.lines, self.arbiter
        line = lines.line[slot]
        far = self.is_far(sm, line)
        ready = lines.ready[slot]
        brought = self.brought_with(mask)
        missing = sectors_in(brought & ~lines.held[slot]) if mask & ~lines.held[slot] else 0
        entry = self.merge_entry(sm, slot)
        begin, decided = arbiter.grant(READ, sm, start), max(start, arbiter.all_served(READ))
        last = self.merge_table[entry]
        left = (last >> MERGED_BITS) - decided & MERGED_TIME
        same = 0 < left < MERGED_AHEAD and last >> ASKED_BITS & WHOLE_LINE == mask
        if missing == 0 and same and last & MOST_MERGED < self.most_merged:
            self.merge_table[entry] = last + 1
            at_l2 = lines.crossed[slot] if far else ready
            return max(begin // MILLI + self.hit_latency(sm), at_l2 + self.sm_offset[sm])
        asked = sectors_in(mask)
        self.looked_up += asked
        arbiter.charge(READ, sm, issued, self.taken_with(mask) * SECTOR_BYTES)
        arrival = begin // MILLI + self.hit_latency(sm)
        if missing:
            ready = max(ready, self.read_dram(line, begin, missing * SECTOR_BYTES, issued))
            ready = max(ready, self.make_room(issued) // MILLI)
            self.clear_merges(slot)
            lines.ready[slot] = ready
            lines.held[slot] |= brought
        if far:
            # Sectors that this side requests for the first time are looked up in their home partition, too. The whole
            # line crosses the chip on the first request, though only the requested sectors are looked up.
            if lines.seen[slot] == 0:
                lines.crossed[slot] = max(arrival - self.sm_offset[sm], ready) + self.hop
            self.looked_up += sectors_in(mask & ~lines.seen[slot])
            lines.seen[slot] |= mask
            ready = lines.crossed[slot]
        arrival = max(arrival, ready + self.sm_offset[sm])
        until = max(decided + self.merge_window, (ready - self.near) * MILLI)
        self.merge_table[entry] = (until & MERGED_TIME) << MERGED_BITS | mask << ASKED_BITS | 1
        return arrival

    def read_box_line(self, sm: int, line: int, mask: int, start: int, issued: int) -> int:
        """
        Read sectors of a line of a box; return the cycle of their arrival. Other arguments are those of ``read``.

        Requests for a part of a line do not merge, so rows that begin between lines are looked up again and again. This
        is inferred from launches (docs/hopper.md), not measured alone.
        """
        self.sectors += sectors_in(mask)
        slot = self.lines.touch(line)
        if mask != WHOLE_LINE:
            self.merge_table[self.merge_entry(sm, slot)] = 0
        return self.read(sm, slot, mask, start, issued)

    def brought_with(self, mask: int) -> int:
        """Return the mask of the sectors that a miss of some sectors brings: whole pairs or the whole line."""
        if self.fetch_sectors == SECTORS_PER_LINE:
            return WHOLE_LINE
        if self.fetch_sectors == 1:
            return mask
        return ((mask | mask >> 1) & FIRST_OF_PAIRS) * PAIR

    def taken_with(self, mask: int) -> int:
        """Return the sectors whose read bandwidth a read of some sectors takes: each, or whole pairs."""
        if self.read_sectors == 1:
            return sectors_in(mask)
        return sectors_in((mask | mask >> 1) & FIRST_OF_PAIRS) * self.read_sectors

    def read_dram(self, line: int, start: int, size: int, issued: int) -> int:
        """Read bytes of a line from DRAM and write them into the L2; return the cycle of their arrival."""
        arrived = self.dram.read(line, self.dram.bank_of(line), start, size, issued)
        return max(arrived, self.arbiter.fill(issued, size) // MILLI)

    def merge_entry(self, sm: int, slot: int) -> int:
        """Return the index of the merge table's entry for an SM's GPC and the line in a slot."""
        return slot // SLOT_WIDTH * self.gpcs + self.gpc[sm]

    def clear_merges(self, slot: int) -> None:
        """Clear a slot's entries in the merge table, so that requests for its new line do not merge with older ones."""
        for gpc in range(self.gpcs):
            self.merge_table[slot // SLOT_WIDTH * self.gpcs + gpc] = 0

    def store_line(self, issued: int) -> int:
        """Allocate a line that is stored whole; return the time at which the L2 has room, in thousandths of a cycle."""
        self.next_line += 1
        slot = self.lines.allocate(self.next_line)
        self.lines.dirty[slot] = WHOLE_LINE
        return self.make_room(issued)

    def write(self, line: int, mask: int, masked: int, start: int, issued: int) -> int:
        """
        Write sectors of a line, and allocate it on a miss; return the time at which the L2 has room for it.

        If ``masked``, sectors that the L2 lacks are read from DRAM, because the store has only a part of each.
        """
        slot = self.lines.touch(line)
        room = self.make_room(issued) if self.lines.held[slot] == 0 else 0
        missing = mask & ~self.lines.held[slot]
        if masked and missing:
            ready = self.read_dram(line, start, sectors_in(missing) * SECTOR_BYTES, issued)
            self.lines.ready[slot] = max(self.lines.ready[slot], ready)
        self.lines.held[slot] |= mask
        self.lines.dirty[slot] |= mask
        return room

    def update(self, sm: int, line: int, mask: int, start: int, issued: int, busy: int) -> int:  # noqa: PLR0917 - in C all are
        """
        Read and modify sectors of a line; return the cycle at which the old values arrive at the SM.

        ``taken`` is set to the time at which the L2 has taken the request: when earlier atomics of the slice are done.

        Args:
            sm: The SM.
            line: The line.
            mask: Mask of its sectors.
            start: Time at which the request reaches the L2.
            issued: Cycle of the issue.
            busy: Hundredths of a cycle for which it keeps its slice from other atomics.
        """
        lines = self.lines
        slot = lines.touch(line)
        slice_ = self.slice_of(line)
        self.taken = max(start, self.updated_until[slice_])
        if mask & ~lines.held[slot]:
            self.make_room(issued)
            brought = self.brought_with(mask)
            size = sectors_in(brought & ~lines.held[slot]) * SECTOR_BYTES
            lines.ready[slot] = max(lines.ready[slot], self.read_dram(line, self.taken, size, issued))
            lines.held[slot] |= brought
        lines.dirty[slot] |= mask
        self.updated_until[slice_] = self.taken + busy * MILLI // PERCENT
        return max(self.taken // MILLI + self.hit_latency(sm), lines.ready[slot] + self.sm_offset[sm])

    def slice_of(self, line: int) -> int:
        """
        Return the slice that executes the atomics of a line.

        The lines of a kilobyte are in two slices, two by two. Kilobytes are spread over the pairs of slices by a hash.
        """
        return 2 * (hashed(line >> CHUNK_BITS) % (self.slices >> 1)) + (line >> 1 & 1)

    def make_room(self, issued: int) -> int:
        """
        Evict the least recently used line if the L2 is over its capacity, and write it to DRAM if it is modified.

        Returns:
            The time at which DRAM has room for that write, in thousandths of a cycle; 0 if nothing is written.
        """
        lines, room = self.lines, 0
        if lines.count > self.most_lines:
            modified = sectors_in(lines.dirty[lines.victim()]) * SECTOR_BYTES
            if modified:
                room = self.dram.write_line(issued, modified)
                self.written_back += modified * self.dram.share
            lines.evict()
        return room
