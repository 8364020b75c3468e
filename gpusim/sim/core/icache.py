"""
The instruction cache of each SM: its lines, and the prefetcher that streams those ahead.

In silicon: a warp whose next instruction begins a line waits until the SM has that line; a miss brings some more.
Figures: ``fetch_miss``, ``stream_lines``, ``fetch_interval``, ``cache_lines``.
State: when each line of the code is there, whether those behind it were streamed, and a ring of the lines held.
Timing: lines of an SM arrive one after the other, ``fetch_interval`` apart, the first a miss's latency after the fetch.
The line that came first is evicted.

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
        Build them, all cold.

        Args:
            figures: Those of the machine.
            lines: Lines of the code that can be fetched.
            sms: Simulated SMs.
        """
        self.miss, self.stream_lines = figures.fetch_miss, figures.stream_lines
        self.interval, self.held_lines = figures.fetch_interval, figures.cache_lines
        self.lines = lines
        # By SM and line: when it is there, -1 where it is not; whether those behind it were streamed.
        self.ready, self.streamed = zeros(sms * lines, -1), zeros(sms * lines)
        self.free, self.fetched, self.held = zeros(sms), zeros(sms), zeros(sms * self.held_lines)

    def fetch(self, sm: int, line: int, at: int) -> int:
        """Fetch a line for a warp that needs it from a cycle on; return the cycle at which it is there (D7)."""
        base = sm * self.lines
        if not self.streamed[base + line]:
            self.streamed[base + line] = 1
            for ahead in range(line, line + self.stream_lines + 1):
                if self.ready[base + ahead] < 0:
                    self.fill(sm, ahead, at)
        return self.ready[base + line]

    def fill(self, sm: int, line: int, at: int) -> None:
        """
        Bring a line to an SM, and evict the oldest where the cache is full (D7).

        Not modelled: the bandwidth that this takes at the L2; what it reads there is that of a launch (D7).
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
