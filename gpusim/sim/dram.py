"""DRAM: one channel of the chip's bandwidth with a latency, in thousandths of a cycle so that time stays an integer."""

from gpusim.machine.spec import DramSpec

MILLI = 1000


class Dram:
    """
    Requests are served in order of issue at the stream bandwidth.

    Not modelled: banks, rows, refresh, read/write turnaround (D6).

    Args:
        share: How many SMs each simulated request stands for.
    """

    def __init__(self, spec: DramSpec, share: int) -> None:
        self._latency = spec.latency
        self._bytes_per_kilocycle = spec.bytes_per_kilocycle
        self._share = share
        self._free = 0
        self.bytes = 0

    def read(self, start_milli: int, size: int, *, issued: int) -> int:
        """
        Cycle at which ``size`` bytes are with the SM.

        Args:
            start_milli: Thousandths of a cycle at which the L2 has found them missing.
            issued: Cycle of the instruction; calls come in this order.
        """
        start = max(start_milli, self._free)
        self._free = max(issued * MILLI, self._free) + size * self._share * MILLI * MILLI // self._bytes_per_kilocycle
        self.bytes += size * self._share
        return start // MILLI + self._latency
