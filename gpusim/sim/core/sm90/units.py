"""
The units that sm_90 adds to an SM, as one: what an SMSP issues to them, and until when an instruction waits for them.

In silicon: mbarriers, the TMA unit and wgmma's queues.
Figures: none of its own.
State: that of its units.
Timing: that of its units.

>>> from doubles.by_hand import quiet
>>> quiet().sm90.tma.lines
0
"""

from typing import TYPE_CHECKING

from gpusim.sim.core.barriers import Barriers
from gpusim.sim.core.constants import MBARRIER, STORE_WAIT, TMA_LOAD, TMA_STORE, WGMMA, WGMMA_WAIT
from gpusim.sim.core.lsu import Lsu
from gpusim.sim.core.sm90.mbarriers import Mbarriers
from gpusim.sim.core.sm90.tma import Tma
from gpusim.sim.core.sm90.wgmma import WgmmaQueues
from gpusim.sim.core.warps import SmspRows, Warps
from gpusim.sim.stall_reasons import GMMA, LONG_SCOREBOARD, MATH_PIPE_THROTTLE

if TYPE_CHECKING:
    from gpusim.machine.spec import Machine
    from gpusim.sim.columns import CodeRows, Data


class Sm90:
    """
    The units of sm_90.

    Attributes:
        mbarriers, tma, wgmma: The units.
    """

    def __init__(  # noqa: PLR0917 - called positionally by both executions
        self,
        machine: "Machine",
        code: "CodeRows",
        data: "Data",
        rows: SmspRows,
        warps: Warps,
        barriers: Barriers,
        lsu: Lsu,
    ) -> None:
        """
        Build idle units.

        Args:
            machine: The machine.
            code: The code of all CTAs.
            data: What the traces of warps name.
            rows: The SMSPs' columns.
            warps: The warps of all SMs.
            barriers: The barrier units.
            lsu: The LSUs.
        """
        self.warps, self.lsu = warps, lsu
        self.mbarriers = Mbarriers(machine, code, data, warps, barriers, self.lsu.sms)
        self.tma = Tma(machine, code, data, warps, self.mbarriers, lsu)
        self.wgmma = WgmmaQueues(machine, code, rows, warps)
        self.kind, self.pending, self.at, self.sm_of = code.kind, code.pending, self.warps.at, self.lsu.sm_of

    def issue(self, smsp: int, warp: int, at: int) -> int:
        """Issue a warp's instruction; return the cycle of its end if that is known, else ``at``."""
        kind = self.kind[self.at[warp]]
        if kind == MBARRIER:
            self.mbarriers.issue(warp, at)
        elif kind == TMA_LOAD:
            self.tma.load(self.sm_of[smsp], warp, at)
        elif kind == TMA_STORE:
            self.tma.store(self.sm_of[smsp], warp, at)
        elif kind == WGMMA:
            return self.wgmma.issue(smsp, warp, at)
        return at

    def gate(self, warp: int, code: int) -> None:
        """Delay a warp's next instruction until its unit has room, or is as far as it waits for."""
        kind = self.kind[code]
        if kind == WGMMA:
            self.warps.wait_until(warp, self.wgmma.room(warp), MATH_PIPE_THROTTLE)
        elif kind == WGMMA_WAIT:
            self.warps.wait_until(warp, self.warps.group_complete(warp, self.pending[code]), GMMA)
        elif kind == STORE_WAIT:
            self.warps.wait_until(warp, self.tma.read_complete(warp, self.pending[code]), LONG_SCOREBOARD)
