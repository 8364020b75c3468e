"""Models the L2 as SMs see it: a port for each SM, the chip's bandwidth, near and far hits, misses to DRAM."""

from typing import NamedTuple

from gpusim.machine.spec import Machine
from gpusim.sim.dram import MILLI, Dram
from gpusim.sim.footprint import L2Status, Lines
from gpusim.units import SECTOR_BYTES, SECTORS_PER_LINE


class L2Read(NamedTuple):
    """
    The sectors that one warp instruction reads from the L2.

    Attributes:
        port: The SM's port.
        at: Cycle at which the request reaches the L1. Latencies count from it.
        issued: Issue cycle of the instruction. Requests must come in this order.
        sectors: Number of sectors to read.
        asked: Number of sectors that the instruction requests, including those that the L1 holds.
        lines: Lines and sectors to read, needed if the L2 itself is simulated.
        status: Hits and misses known in advance; None if the L2 itself is simulated. Loads of an epilogue always have
            it.
    """

    port: int
    at: int
    issued: int
    sectors: int
    asked: int
    lines: Lines = ()
    status: L2Status | None = None


class L2:
    """
    The common part of both L2 models: ports, bandwidth and latency.

    A port serves its SM in order. Requests queue for the chip's bandwidth in the order in which their instructions
    issue, so a request that waits in its SM's own queue does not delay other SMs.

    Args:
        machine: Bandwidths and latencies of L2 and DRAM.
        ports: Number of simulated SMs.
        share: Number of SMs that each simulated request represents; 1 if all SMs are simulated.

    Attributes:
        dram: The DRAM behind the L2.
        sectors_read: Sectors read so far by the simulated SMs.
    """

    def __init__(self, machine: Machine, ports: int, share: int) -> None:
        self._spec = machine.l2
        self._share = share
        self._port_free = [0] * ports
        self._chip_free = 0
        self.dram = Dram(machine.dram, share)
        self.sectors_read = 0
        self._turn = 0
        self._slow_credit = 0
        self._missed_credit = 0

    def _serve(self, port: int, at: int, issued: int, size: int) -> int:
        """Queue a request of ``size`` bytes, and return when the L2 accepts it, in thousandths of a cycle."""
        start = max(at * MILLI, self._port_free[port])
        self._port_free[port] = start + size * MILLI // self._spec.bytes_per_cycle_per_sm
        backlog = max(issued * MILLI, self._chip_free)
        self._chip_free = backlog + size * self._share * MILLI // self._spec.bytes_per_cycle
        return max(start, backlog)

    def _latency(self) -> int:
        """
        Return the latency of the next request, in cycles.

        Near and far latencies alternate in the machine's proportion, because the hash of lines to partitions is not
        public (D5).
        """
        self._turn = (self._turn + self._spec.far_fraction_percent) % 100
        far = self._turn < self._spec.far_fraction_percent
        return self._spec.far_latency if far else self._spec.hit_latency

    def write(self, port: int, at: int, issued: int, sectors: int) -> None:
        """Write ``sectors`` sectors. A store takes bandwidth, but nothing waits for it and it needs no DRAM (D10)."""
        self._serve(port, at, issued, sectors * SECTOR_BYTES)

    def read(self, want: L2Read) -> int:
        """Serve a read, and return the cycle at which all its sectors have reached the SM."""
        start = self._serve(want.port, want.at, want.issued, want.sectors * SECTOR_BYTES)
        self.sectors_read += want.sectors
        there = self._by_line(want, start) if want.status is None else self._by_status(want, want.status, start)
        return max(start // MILLI + self._latency(), there)

    def _by_status(self, want: L2Read, status: L2Status, start: int) -> int:
        """Return the cycle of the last sector from DRAM, or 0. Misses accrue in the proportion known in advance."""
        self._slow_credit += want.asked * status.slow
        self._missed_credit += want.asked * status.missed
        missed, self._missed_credit = divmod(self._missed_credit, MILLI)
        slow, self._slow_credit = divmod(self._slow_credit, MILLI)
        if not missed and not slow:
            return 0
        filled = self.dram.read(start, missed * SECTOR_BYTES, issued=want.issued)
        return filled if slow else 0

    def _by_line(self, want: L2Read, start: int) -> int:  # noqa: ARG002 # lines are not simulated here
        """Return the cycle at which the last missing line is filled, or 0. Without simulated lines, none is missing."""
        return 0


class SampledL2(L2):
    """The L2 for one simulated SM that represents ``share`` SMs. Hits and misses come from ``l2_walk``."""

    def __init__(self, machine: Machine, share: int) -> None:
        super().__init__(machine, 1, share)


class SimulatedL2(L2):
    """The L2 if all SMs are simulated: fully associative, least recently used, with one partition's capacity (D11)."""

    def __init__(self, machine: Machine, ports: int) -> None:
        super().__init__(machine, ports, 1)
        self._capacity = machine.l2.bytes // machine.l2.partitions // (SECTORS_PER_LINE * SECTOR_BYTES)
        self._filled: dict[int, tuple[int, int]] = {}  # line -> (cycle it is there, sectors held)

    def _by_line(self, want: L2Read, start: int) -> int:
        """Return the cycle at which all lines of a request are filled. Missing sectors are read from DRAM."""
        filled, done = self._filled, 0
        for line, mask in want.lines:
            ready, held = filled.pop(line, (0, 0))
            missing = (mask & ~held).bit_count()
            if missing:
                ready = max(ready, self.dram.read(start, missing * SECTOR_BYTES, issued=want.issued))
                if len(filled) >= self._capacity:
                    del filled[next(iter(filled))]
            filled[line] = ready, held | mask
            done = max(done, ready)
        return done
