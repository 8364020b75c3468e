"""
wgmma: each warp's queue to the tensor core of its SMSP, and the end of its groups.

In silicon: a warp issues its quarter of a wgmma to a queue, and continues. The tensor core takes one after another, of
one warp or of several. A group is complete when its results are in the registers.
Figures: ``wgmma.start``, ``wgmma.finish``, ``wgmma.queue``. Intervals are a column of the code.
State: for each SMSP the cycle at which its tensor core is free; for each warp the cycles at which its latest wgmma
begin.
Timing: a wgmma begins ``start`` cycles after its issue or when the tensor core is free, takes its interval, and is
complete ``finish`` cycles later. A warp can issue another one when the one ``queue`` before it has begun.

Not modelled: that loads and stores of shared memory beside it delay it by up to 3.5 %.

>>> from doubles.by_hand import quiet
>>> quiet().wgmma.queue > 0
True
"""

from typing import TYPE_CHECKING

from gpusim.sim.columns import zeros
from gpusim.sim.core.constants import WARP_WIDTH, WGMMA_RING
from gpusim.sim.core.warps import SmspRows, Warps

if TYPE_CHECKING:
    from gpusim.machine.spec import Machine
    from gpusim.sim.columns import CodeRows


class WgmmaQueues:
    """
    The wgmma of all SMs.

    Attributes:
        busy: Cycles that all tensor cores spent with wgmma.
    """

    def __init__(self, machine: "Machine", code: "CodeRows", rows: SmspRows, warps: Warps) -> None:
        """
        Build idle tensor cores.

        Args:
            machine: The machine.
            code: The code of all CTAs.
            rows: The SMSPs' columns.
            warps: The warps of all SMs.
        """
        spec = machine.wgmma
        self.start, self.finish, self.queue, self.busy = 0, 0, 1, 0
        if spec is not None:
            self.start, self.finish, self.queue = spec.start, spec.finish, spec.queue
        self.warps = warps
        self.width = self.warps.width
        self.interval, self.pending = code.interval, code.pending
        self.at, self.open_group = self.warps.at, self.warps.open_group
        self.free = zeros(rows.count)
        self.issued = zeros(len(self.warps.cta) * code.warps)
        self.begins = zeros(len(self.issued) * WGMMA_RING)

    def issue(self, smsp: int, warp: int, at: int) -> int:
        """Issue a warp's wgmma, and commit its group if it is the last one of it; return the cycle of its end."""
        code, core, number = self.at[warp], smsp // self.width, warp // WARP_WIDTH
        begin = max(at + self.start, self.free[core])
        self.free[core] = begin + self.interval[code]
        self.busy += self.interval[code]
        self.begins[number * WGMMA_RING + self.issued[number] % WGMMA_RING] = begin
        self.issued[number] += 1
        done = self.free[core] + self.finish
        self.open_group[warp] = max(self.open_group[warp], done)
        if self.pending[code]:
            self.warps.commit(warp)
        return done

    def room(self, warp: int) -> int:
        """Return the cycle from which a warp's queue has room for another wgmma."""
        number = warp // WARP_WIDTH
        before = self.issued[number] - self.queue
        return self.begins[number * WGMMA_RING + before % WGMMA_RING] if before >= 0 else 0
