"""
The L1 of each SM: tag lookup of requests, and reads of missing sectors from the L2.

In silicon: the part of an SM's unified memory that resident CTAs do not use as shared memory (D12).
Figures: ``l1.hit_latency``, ``[l1.lines]``; ``l1_lines`` of ``Figures``.
State: the lines of each SM's L1. A pipeline of ``DataStage`` holds the cycles in which missing lines return to loads.
Timing: on a hit, data arrives the hit latency after the lookup. The SM's port sends the missing sectors of a request
together. Missing lines return to loads one every ``l1_line_interval`` cycles.

>>> from doubles.by_hand import Memory, quiet
>>> l1 = quiet(memory=Memory([(4, ((7, 0b1111),))])).l1
>>> read = [l1.look_up(0, 0, 0, at, issued=at, hit=l1.load_hit, interval=0) - at for at in (0, 9000)]
>>> read[0] > read[1] == l1.load_hit, l1.sectors[0], l1.l2.sectors
(True, 8, 4)
"""

from typing import TYPE_CHECKING

from gpusim.sim.columns import zeros
from gpusim.sim.core.cache import Lines, sectors_in
from gpusim.sim.core.constants import LINE_RETURNS, LINES_AT_ONCE
from gpusim.sim.core.data_stage import DataStage
from gpusim.sim.core.l2_arbiter import Crossbar
from gpusim.sim.core.l2_sampled import L2Sampled
from gpusim.units import SECTOR_BYTES

if TYPE_CHECKING:
    from gpusim.sim.columns import Data
    from gpusim.sim.figures import Figures


class L1:
    """
    The L1s of all SMs.

    A request is identified by its index in the columns of requests and by ``base``, the line number from which its
    lines are counted.

    Attributes:
        sectors: For each SM, the sectors that its copies and loads requested.
        missed_lines: Lines that the last lookup read from the L2.
        pending_lines: Lines that the last lookup missed or found in flight.
    """

    def __init__(
        self, figures: "Figures", data: "Data", data_stage: DataStage, crossbar: Crossbar, sampled: L2Sampled
    ) -> None:
        """
        Build empty L1s.

        Args:
            figures: The machine's figures.
            data: The lines and sectors of all requests.
            data_stage: The data stages, with the pipelines of returning lines.
            crossbar: The ports of the SMs.
            sampled: The L2 of a sampled run. Its attribute ``l2`` is the L2 of an exact run.
        """
        spec = figures.machine.l1
        self.most_lines, self.load_hit = figures.l1_lines, spec.hit_latency
        self.line_interval = 0 if spec.lines is None else spec.lines.interval
        self.data_stage, self.crossbar, self.sampled = data_stage, crossbar, sampled
        self.l2 = self.sampled.l2
        self.simulates_l2 = data.simulates_l2
        self.asked, self.touched, self.line, self.sector_mask = data.asked, data.touched, data.line, data.mask
        self.sms = self.data_stage.sms
        most = self.most_lines + LINES_AT_ONCE
        self.caches = [Lines(most) for _ in range(self.sms)] if data.cached else []
        self.sectors, self.missed_lines, self.pending_lines = zeros(self.sms), 0, 0

    def count_missing(self, sm: int, request: int, base: int) -> int:
        """Return the number of a request's lines of which an SM's L1 lacks a requested sector."""
        cache, count = self.caches[sm], 0
        for touched in range(self.touched[request], self.touched[request + 1]):
            slot = cache.lookup(self.line[touched] + base)
            if slot < 0 or self.sector_mask[touched] & ~cache.held[slot]:
                count += 1
        return count

    def look_up(self, sm: int, request: int, base: int, at: int, issued: int, hit: int, interval: int) -> int:  # noqa: PLR0917 - in C all are
        """
        Look up the lines of a request, and read missing sectors from the L2; return the cycle of the last arrival.

        Not modelled: MSHRs, which would limit the misses of loads in flight (D24).

        Args:
            sm: The SM.
            request: Index of the request.
            base: Line number from which the request's lines are counted.
            at: Cycle of the lookup.
            issued: Cycle of the issue.
            hit: Latency of a hit, cycles.
            interval: Cycles between two missing lines; 0 for no limit.
        """
        done, asked = at + hit, self.asked[request]
        self.missed_lines = self.pending_lines = 0
        if not asked:
            return done
        self.sectors[sm] += asked
        cache, missing = self.caches[sm], 0
        for touched in range(self.touched[request], self.touched[request + 1]):
            slot = cache.touch(self.line[touched] + base)
            mask, held = self.sector_mask[touched], cache.held[slot]
            if mask & held:
                done = max(done, cache.ready[slot])
            if mask & ~held or cache.ready[slot] > at + hit:
                self.pending_lines += 1
            missing += sectors_in(mask & ~held)
        if missing:
            landed = self.read_missing(sm, request, base, at, issued, missing, interval) + hit - self.load_hit
            for touched in range(self.touched[request], self.touched[request + 1]):
                slot = cache.lookup(self.line[touched] + base)
                mask = self.sector_mask[touched]
                if mask & ~cache.held[slot]:
                    cache.ready[slot] = landed
                    cache.held[slot] |= mask
            while cache.count > self.most_lines:
                cache.evict()
            done = max(done, landed)
        return done

    def read_missing(self, sm: int, request: int, base: int, at: int, issued: int, missing: int, interval: int) -> int:  # noqa: PLR0917 - in C all are
        """Read a request's missing sectors from the L2; return the cycle at which the last line has arrived."""
        self.l2.sectors += missing
        start = self.crossbar.inject(sm, at, missing * SECTOR_BYTES)
        self.sampled.splits_line = False
        if not self.simulates_l2:
            self.sampled.credit_slow(self.asked[request] - missing)
        cache, lines, done = self.caches[sm], self.l2.lines, 0
        for touched in range(self.touched[request], self.touched[request + 1]):
            line = self.line[touched] + base
            mask = self.sector_mask[touched] & ~cache.held[cache.lookup(line)]
            if mask == 0:
                continue
            slot = lines.touch(line)
            if self.simulates_l2:
                landed = self.l2.read(sm, slot, mask, start, issued)
            else:
                landed = self.sampled.read(sm, slot, mask, start, issued)
            done = max(done, self.pass_line(sm, landed, interval))
            self.missed_lines += 1
        return done

    def pass_line(self, sm: int, at: int, interval: int) -> int:
        """
        Reserve the first free cycles for the return of a missing line to its SM; return the cycle of the arrival.

        A line takes ``interval`` cycles, whether one sector is read or two. Without other lines it arrives at ``at``:
        latencies are measured with single lines, so they include these cycles.

        Not modelled: lines of cp.async.ca, which take 1.2 to 2.3 cycles, and of the epilogue's loads (D3).
        """
        if interval == 0:
            return at
        self.data_stage.reserve(LINE_RETURNS * self.sms + sm, at, interval, 0)
        return self.data_stage.last + 1 - interval
