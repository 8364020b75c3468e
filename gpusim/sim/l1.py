"""Models the L1 data cache of one SM: loads and cp.async.ca look up lines, cp.async.cg bypasses it."""

from gpusim.machine.spec import Machine
from gpusim.sim.footprint import L2Status, Lines, Request
from gpusim.sim.l2 import L2, L2Read


class L1:
    """
    A fully associative cache with least-recently-used replacement, in the space that shared memory leaves.

    The carve-out is exactly the shared memory of the resident CTAs, not the next size that the hardware offers (D12).

    Not modelled: a limit on outstanding requests (D24).

    Args:
        machine: Size and latencies.
        l2: The chip's L2.
        port: The SM's port at the L2.
        carve_out: Shared memory of the resident CTAs, bytes.

    Attributes:
        sectors: Sectors that copies and loads have requested so far.
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
        Serve one cp.async, and return the cycle at which its data is in shared memory.

        Args:
            at: Cycle at which the request leaves the MIO queue.
            request: Sectors and lines of the warp instruction.
            issued: Issue cycle of the instruction.
            cached: True for .ca, which looks up and allocates lines; False for .cg.
            status: Known hits and misses in the L2; None if the L2 is simulated.
        """
        sectors, lines = request
        if cached or sectors == 0:
            return self._look_up(at, request, issued, status, self._copy_hit)
        self.sectors += sectors
        # The latencies of L2 and DRAM are those of loads. This is what a copy takes longer than a load.
        beyond = self._copy_hit - self._load_hit
        return self._l2.read(L2Read(self._port, at, issued, sectors, sectors, lines, status)) + beyond

    def load(self, at: int, request: Request, *, issued: int, status: L2Status | None) -> int:
        """Serve one ld.global of an operand, and return the cycle at which its data is in the registers."""
        return self._look_up(at, request, issued, status, self._load_hit)

    def _look_up(self, at: int, request: Request, issued: int, status: L2Status | None, hit: int) -> int:
        """Look up and allocate lines, and return the cycle of the last one's data; ``hit`` is the latency of a hit."""
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
        """Serve one ld.global of an epilogue, and return the cycle of its data. It always misses L1 (D10)."""
        if not sectors:
            return at + self._copy_hit
        self.sectors += sectors
        return self._l2.read(L2Read(self._port, at, issued, sectors, sectors, status=status))

    def store(self, at: int, sectors: int, *, issued: int) -> None:
        """Write one st.global through to the L2."""
        if sectors:
            self._l2.write(self._port, at, issued, sectors)
