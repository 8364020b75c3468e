"""
The instruction cache of each SM, with its prefetcher.

In silicon: a warp whose next instruction begins a line waits until the SM has that line. The prefetcher streams the
next lines ahead of execution.
Figures: ``fetch_miss``, ``stream_lines``, ``fetch_interval``, ``cache_lines``.
State: for each SM and line of the code, the cycle of its arrival, and whether the next lines were prefetched; a ring of
the lines in the cache.
Timing: the first line arrives a miss latency after the fetch, the prefetched lines ``fetch_interval`` cycles after one
another. The cache evicts the line that was fetched first (FIFO).

>>> from gpusim.machine import load_machine
>>> from gpusim.sim.figures import figures_of
>>> figures = figures_of(load_machine("h200"), 0, busy=False)._replace(fetch_miss=90, fetch_interval=9, stream_lines=1)
>>> icache = ICache(figures, lines=20, sms=1)
>>> [icache.fetch(0, line, at=5) for line in (3, 4, 3)]
[95, 104, 95]
"""

from typing import TYPE_CHECKING

from gpusim.sim.columns import zeros

if TYPE_CHECKING:
    from gpusim.sim.figures import Figures


class ICache:
    """The instruction caches of all SMs."""

    def __init__(self, figures: "Figures", lines: int, sms: int) -> None:
        """
        Build cold caches.

        Args:
            figures: The machine's figures.
            lines: Lines of the code that can be fetched.
            sms: Number of simulated SMs.
        """
        self.miss, self.stream_lines = figures.fetch_miss, figures.stream_lines
        self.interval, self.held_lines = figures.fetch_interval, figures.cache_lines
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
