"""Instruction fetch of one SM: a stream buffer runs ahead of execution; what it has not brought yet is waited for."""

from gpusim.machine.spec import InstructionCacheSpec


class InstructionCache:
    """
    The SM's L1 instruction cache with its stream prefetcher: it holds any of these kernels, so only first touches miss.

    Not modelled: misses of the SMSPs' L0 in a loop longer than it, and the bandwidth of instruction fetch (D7).
    """

    def __init__(self, spec: InstructionCacheSpec) -> None:
        self._miss = spec.l1_miss_latency
        self._ahead = spec.stream_lines
        self._ready: dict[int, int] = {}

    def fetched(self, line: int, at: int) -> int:
        """Cycle at which the instructions of ``line``, wanted at ``at``, can issue."""
        ready = self._ready
        for ahead in range(line + self._ahead, line - 1, -1):
            if ahead in ready:
                break
            ready[ahead] = at + self._miss
        return max(at, ready[line])
