"""
The instruction cache of each SM, with its prefetcher.

In silicon: a warp whose next instruction begins a line waits until the SM has that line. The prefetcher streams the
next lines ahead of execution.
Figures: ``[instruction_cache]``.
State: for each SM and line of the code, the cycle of its arrival, and whether the next lines were prefetched; a ring of
the lines in the cache.
Timing: the first line arrives a miss latency after the fetch, the prefetched lines ``fetch_interval`` cycles after one
another. The cache evicts the line that was fetched first (FIFO).

>>> from gpusim.machine import load_machine
>>> icache = ICache(load_machine("h200"), lines=40, sms=1)
>>> first, behind, again = (icache.fetch(0, line, at=5) for line in (3, 4, 3))
>>> first == again == 5 + icache.miss, behind - first == icache.interval
(True, True)
"""

from typing import TYPE_CHECKING

from gpusim.sim.columns import zeros

if TYPE_CHECKING:
    from gpusim.machine.spec import Machine


class ICache:
    """The instruction caches of all SMs."""

    def __init__(self, machine: "Machine", lines: int, sms: int) -> None:
        """
        Build cold caches.

        Args:
            machine: The machine.
            lines: Lines of the code that can be fetched.
            sms: Number of simulated SMs.
        """
        spec = machine.instruction_cache
        self.miss, self.interval, self.stream_lines = spec.l1_miss_latency, spec.line_interval, spec.stream_lines
        # A cache holds at least the lines that one miss brings.
        self.held_lines = max(spec.l0_bytes // spec.line_bytes, self.stream_lines + 1)
        self.lines = lines
        # For each SM and line: the cycle of its arrival, or -1 if the cache lacks it; whether the next lines were
        # prefetched.
        self.ready, self.streamed = zeros(sms * lines, -1), zeros(sms * lines)
        self.free, self.fetched, self.held = zeros(sms), zeros(sms), zeros(sms * self.held_lines)

    def fetch(self, sm: int, line: int, at: int) -> int:
        """Fetch a line at a cycle, and prefetch the next lines; return the cycle of the line's arrival (D7)."""
        base = sm * self.lines
        if not self.streamed[base + line]:
            self.streamed[base + line] = 1
            for ahead in range(line, line + self.stream_lines + 1):
                if self.ready[base + ahead] < 0:
                    self.fill(sm, ahead, at)
        return self.ready[base + line]

    def fill(self, sm: int, line: int, at: int) -> None:
        """
        Fill a line into an SM's cache, and evict the oldest line if the cache is full (D7).

        Not modelled: the L2 bandwidth of the fill. The sectors that fills read are counted per launch.
        """
        begin = max(at, self.free[sm])
        self.free[sm] = begin + self.interval
        place = sm * self.held_lines + self.fetched[sm] % self.held_lines
        if self.fetched[sm] >= self.held_lines:
            oldest = self.held[place]
            self.ready[sm * self.lines + oldest] = -1
            for before in range(max(0, oldest - self.stream_lines), oldest + 1):
                self.streamed[sm * self.lines + before] = 0
        self.held[place] = line
        self.fetched[sm] += 1
        self.ready[sm * self.lines + line] = begin + self.miss
