"""The L1 data cache of one SM: loads and cp.async.ca look lines up, cp.async.cg goes around."""

from gpusim.machine.spec import Machine
from gpusim.sim.footprint import L2Status, Lines, Request
from gpusim.sim.l2 import L2, L2Read


class L1:
    """
    A least-recently-used set of lines in what the shared-memory carve-out leaves.

    The carve-out is what the resident CTAs hold, not the next of the sizes the hardware offers (D12).

    Not modelled: a limit on the requests that are outstanding (D24).

    Args:
        port: The SM's port at the L2.
        carve_out: Shared memory that the resident CTAs hold, bytes.

    Attributes:
        sectors: Asked for so far, by copies and loads.
    """

    def __init__(self, machine: Machine, l2: L2, port: int, carve_out: int) -> None:
        self._l2 = l2
        self._port = port
        self._load_hit = machine.l1.hit_latency
        self._copy_hit = self._load_hit if machine.async_copy is None else machine.async_copy.l1_latency
        self._capacity = max(0, machine.l1.bytes - carve_out) // machine.l1.line_bytes
        self._lines: dict[int, tuple[int, int]] = {}  # line -> (landed, sectors held)
        self.sectors = 0

    def copy(self, at: int, request: Request, *, issued: int, cached: bool, status: L2Status | None) -> int:
        """
        Cycle at which the data of one cp.async is in shared memory.

        Args:
            at: Cycle the request leaves the MIO queue.
            issued: Cycle of the instruction.
            cached: .ca: look up and allocate. False: .cg.
        """
        sectors, lines = request
        if cached or sectors == 0:
            return self._look_up(at, request, issued, status, self._copy_hit)
        self.sectors += sectors
        # What a copy takes beyond a load on the same way: latencies of L2 and DRAM are those of loads.
        beyond = self._copy_hit - self._load_hit
        return self._l2.read(L2Read(self._port, at, issued, sectors, sectors, lines, status)) + beyond

    def load(self, at: int, request: Request, *, issued: int, status: L2Status | None) -> int:
        """Cycle at which the data of one ld.global of an operand is in the registers."""
        return self._look_up(at, request, issued, status, self._load_hit)

    def _look_up(self, at: int, request: Request, issued: int, status: L2Status | None, hit: int) -> int:
        """``hit``: latency where nothing is missing."""
        asked, lines = request
        done = at + hit
        if not asked:
            return done
        self.sectors += asked
        missing: list[tuple[int, int]] = []
        for line, mask in lines:
            landed, held = self._lines.pop(line, (0, 0))
            self._lines[line] = landed, held
            if mask & held:
                done = max(done, landed)
            if mask & ~held:
                missing.append((line, mask & ~held))
        if missing:
            sectors = sum(mask.bit_count() for _, mask in missing)
            want = L2Read(self._port, at, issued, sectors, asked, tuple(missing), status)
            landed = self._l2.read(want) + hit - self._load_hit
            self._allocate(tuple(missing), landed)
            done = max(done, landed)
        return done

    def _allocate(self, missing: Lines, landed: int) -> None:
        for line, mask in missing:
            self._lines[line] = landed, self._lines[line][1] | mask
        while len(self._lines) > self._capacity:
            del self._lines[next(iter(self._lines))]

    def load_streamed(self, at: int, sectors: int, *, issued: int, status: L2Status) -> int:
        """Cycle at which an ld.global of an epilogue has its data, which is never found in L1 (D10)."""
        if not sectors:
            return at + self._copy_hit
        self.sectors += sectors
        return self._l2.read(L2Read(self._port, at, issued, sectors, sectors, status=status))

    def store(self, at: int, sectors: int, *, issued: int) -> None:
        """Write-through of an st.global."""
        if sectors:
            self._l2.write(self._port, at, issued, sectors)
