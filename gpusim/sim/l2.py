"""The L2 as SMs see it: a port for each SM, the chip's bandwidth, hits near and far, misses to DRAM."""

from typing import NamedTuple

from gpusim.machine.spec import Machine
from gpusim.sim.dram import MILLI, Dram
from gpusim.sim.footprint import L2Status, Lines
from gpusim.units import SECTOR_BYTES, SECTORS_PER_LINE


class L2Read(NamedTuple):
    """
    What one warp instruction wants from the L2.

    Attributes:
        port: The SM's port.
        at: Cycle the request reaches the L1, from which latencies count.
        issued: Cycle of the instruction; requests come in this order.
        sectors: Sectors to bring.
        asked: Sectors the instruction asked for, those that the L1 holds included.
        lines: Which they are; where the L2 itself is simulated.
        status: Hits and misses known beforehand, where it is not, and of an epilogue's loads.
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
    Common to both forms: ports, bandwidth and latency.

    A port serves its SM in order. The chip's bandwidth is a backlog that requests join when their instruction issues,
    so that one which waits in its SM's queue holds up no other SM.

    Args:
        ports: SMs simulated.
        share: How many SMs each simulated request stands for: 1 when all are simulated.
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
        """Thousandths of a cycle at which the L2 takes up a request of ``size`` bytes."""
        start = max(at * MILLI, self._port_free[port])
        self._port_free[port] = start + size * MILLI // self._spec.bytes_per_cycle_per_sm
        backlog = max(issued * MILLI, self._chip_free)
        self._chip_free = backlog + size * self._share * MILLI // self._spec.bytes_per_cycle
        return max(start, backlog)

    def _latency(self) -> int:
        """Near and far by turns, in the machine's proportion: the hash of lines to partitions is not public (D5)."""
        self._turn = (self._turn + self._spec.far_fraction_percent) % 100
        far = self._turn < self._spec.far_fraction_percent
        return self._spec.far_latency if far else self._spec.hit_latency

    def write(self, port: int, at: int, issued: int, sectors: int) -> None:
        """A store of ``sectors`` passes; nobody waits for it, and it needs no DRAM (D10)."""
        self._serve(port, at, issued, sectors * SECTOR_BYTES)

    def read(self, want: L2Read) -> int:
        """Cycle at which all sectors are with the SM."""
        start = self._serve(want.port, want.at, want.issued, want.sectors * SECTOR_BYTES)
        self.sectors_read += want.sectors
        there = self._by_line(want, start) if want.status is None else self._by_status(want, want.status, start)
        return max(start // MILLI + self._latency(), there)

    def _by_status(self, want: L2Read, status: L2Status, start: int) -> int:
        """Cycle of the last sector from DRAM: they wait for it in the proportion that is known beforehand."""
        self._slow_credit += want.asked * status.slow
        self._missed_credit += want.asked * status.missed
        missed, self._missed_credit = divmod(self._missed_credit, MILLI)
        slow, self._slow_credit = divmod(self._slow_credit, MILLI)
        if not missed and not slow:
            return 0
        filled = self.dram.read(start, missed * SECTOR_BYTES, issued=want.issued)
        return filled if slow else 0

    def _by_line(self, want: L2Read, start: int) -> int:  # noqa: ARG002 # nothing is known of lines here
        """Cycle of the last line that a miss brings; where lines are not known, all are there."""
        return 0


class SampledL2(L2):
    """For one simulated SM that stands for all: hits and misses come from the walk over the grid (``l2_walk``)."""

    def __init__(self, machine: Machine, share: int) -> None:
        super().__init__(machine, 1, share)


class SimulatedL2(L2):
    """For all SMs simulated: a least-recently-used set of lines, filled from DRAM; half of it is usable (D11)."""

    def __init__(self, machine: Machine, ports: int) -> None:
        super().__init__(machine, ports, 1)
        self._capacity = machine.l2.bytes // machine.l2.partitions // (SECTORS_PER_LINE * SECTOR_BYTES)
        self._filled: dict[int, tuple[int, int]] = {}  # line -> (cycle it is there, sectors held)

    def _by_line(self, want: L2Read, start: int) -> int:
        """A line that is being filled is waited for; the sectors of a request miss and hit line by line."""
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
