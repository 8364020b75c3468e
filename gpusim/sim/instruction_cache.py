"""Models instruction fetch of one SM: a stream buffer prefetches, and warps wait for lines that are not there yet."""

from gpusim.machine.spec import InstructionCacheSpec


class InstructionCache:
    """
    The SM's L1 instruction cache with its stream prefetcher. Any kernel fits in it, so only the first touch misses.

    Not modelled: misses of an SMSP's L0 cache in a loop that is longer, and the bandwidth of instruction fetch (D7).
    """

    def __init__(self, spec: InstructionCacheSpec) -> None:
        self._miss = spec.l1_miss_latency
        self._ahead = spec.stream_lines
        self._ready: dict[int, int] = {}

    def fetched(self, line: int, at: int) -> int:
        """Fetch ``line`` at cycle ``at``, and return the cycle from which its instructions can issue."""
        ready = self._ready
        for ahead in range(line + self._ahead, line - 1, -1):
            if ahead in ready:
                break
            ready[ahead] = at + self._miss
        return max(at, ready[line])
