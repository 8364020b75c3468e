"""Models DRAM as one channel with the chip's bandwidth and a latency, in integer thousandths of a cycle."""

from gpusim.machine.spec import DramSpec

MILLI = 1000


class Dram:
    """
    The DRAM of the chip. It serves requests in order of issue at the stream bandwidth.

    Not modelled: banks, rows, refresh, read/write turnaround (D6).

    Args:
        spec: Bandwidth and latency, from the machine file.
        share: Number of SMs that each simulated request represents.

    Attributes:
        bytes: Bytes read so far by the whole chip.
    """

    def __init__(self, spec: DramSpec, share: int) -> None:
        self._latency = spec.latency
        self._bytes_per_kilocycle = spec.bytes_per_kilocycle
        self._share = share
        self._free = 0
        self.bytes = 0

    def read(self, start_milli: int, size: int, *, issued: int) -> int:
        """
        Read from DRAM, and return the cycle at which the data reaches the SM.

        Args:
            start_milli: Time at which the L2 misses, in thousandths of a cycle.
            size: Bytes that one SM reads.
            issued: Issue cycle of the instruction. Calls must come in this order.
        """
        start = max(start_milli, self._free)
        self._free = max(issued * MILLI, self._free) + size * self._share * MILLI * MILLI // self._bytes_per_kilocycle
        self.bytes += size * self._share
        return start // MILLI + self._latency
