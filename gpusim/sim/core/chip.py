"""
The chip: SMs that share an L2, built from the units, and the CTAs that it executes.

Python interprets the units' source, or Cython compiles it with the types in each unit's ``.pxd``. The core's input is
the code and the accesses of CTAs as columns of integers (``columns``); its output is logs. The core knows no scenario,
no op and no name. Times are cycles; times of the L2 and DRAM are thousandths of a cycle.

Units call only units below them: an SMSP issues to the LSU; the LSU calls the MIO with its data stage, the L1 and the
stores; the L1 and the stores call the L2 with its arbiter; the L2 calls DRAM. A unit's constructor takes the units
below it. Only return values and events of the calendar go upwards. Events of one cycle are taken in the order in which
they were scheduled, but SMSPs that were woken come first.

>>> from doubles.by_hand import instruction, quiet
>>> chip = quiet(instruction(0, stall=4))
>>> chip.hand(sm=0, cta=0, at=7, observed=0)
>>> chip.run(), chip.ended_at > 7, chip.smsp.instructions
(0, True, 6)
"""

from typing import TYPE_CHECKING

from gpusim.sim.columns import CodeRows
from gpusim.sim.core.barriers import Barriers
from gpusim.sim.core.cache import Granules
from gpusim.sim.core.calendar import Calendar
from gpusim.sim.core.constants import NEVER, TIMED
from gpusim.sim.core.data_stage import DataStage
from gpusim.sim.core.dram import Dram
from gpusim.sim.core.icache import ICache
from gpusim.sim.core.l1 import L1
from gpusim.sim.core.l2 import L2
from gpusim.sim.core.l2_arbiter import Crossbar, L2Arbiter
from gpusim.sim.core.l2_sampled import L2Sampled
from gpusim.sim.core.lsu import Lsu
from gpusim.sim.core.mio import Mio, OperandCollector
from gpusim.sim.core.sm90.units import Sm90
from gpusim.sim.core.smsp import Smsp
from gpusim.sim.core.stores import Stores
from gpusim.sim.core.warps import SmspRows, Warps

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpusim.sim.columns import Code, Data
    from gpusim.sim.figures import Figures

__all__ = ("Chip", "Granules")


class Chip:
    """
    SMs that share an L2, and the CTAs that they execute.

    ``hand`` sends a CTA to an SM; ``run`` simulates until a CTA ends. Each SM has ``slots`` CTA slots, each with room
    for the largest CTA of the code.

    Attributes:
        sms, slots: Number of simulated SMs; number of CTA slots of each.
        now: The current cycle.
        ended_at, ended_sm, ended_launched: For the CTA that ended last: the cycle after its last exit, its SM, and the
            cycle of its launch.
        stalls: Warp cycles by stall reason.
        by_instruction: For traced code, warp cycles by instruction and stall reason.
        notes, spans: Logs of the warps of watched CTAs.
        ... : The units, each with its counters.
    """

    def __init__(  # noqa: PLR0917 - called positionally by both executions
        self,
        figures: "Figures",
        code: "Code",
        data: "Data",
        sms: int,
        slots: int,
        share: int,
        groups: "Sequence[int]" = (),
    ) -> None:
        """
        Build the chip.

        Args:
            figures: The machine, and the figures that its launch decides.
            code: The code of all CTAs.
            data: The programs and the memory accesses of all CTAs.
            sms: Number of simulated SMs.
            slots: CTAs that an SM can hold at once.
            share: SMs of the chip for each simulated SM.
            groups: Group of each SM, an index in ``launch.units``; empty if groups are unknown.
                A group is a GPC or a part of one.
        """
        self.sms, self.slots = sms, slots
        self.now, self.ended_at, self.ended_sm, self.ended_launched = 0, 0, 0, 0
        machine = figures.machine
        laid_out, rows = CodeRows(code, figures.ports), SmspRows(figures, sms, slots, code.warps)
        self.calendar, self.width, self.past_smsps = Calendar(rows.events), rows.width, rows.count * rows.width
        self.asleep = rows.asleep
        # The memory, from DRAM upwards
        simulated = data.simulates_l2
        self.dram, self.crossbar = Dram(figures, share), Crossbar(machine, sms)
        arbiter = L2Arbiter(figures, sms, share, groups)
        self.l2 = L2(figures, arbiter, self.dram, sms=sms, groups=groups, simulated=simulated)
        statuses = data.slow, data.brought, data.shared, data.looked
        self.l2_sampled = L2Sampled(figures, self.crossbar, self.l2, share, statuses)
        self.stores = Stores(figures, data, self.crossbar, self.l2_sampled, sms=sms)
        # The SMs, from their warps upwards
        icache = ICache(machine, code.lines, sms)
        self.warps = Warps(figures, laid_out, data, rows, self.calendar, icache, slots)
        self.data_stage = DataStage(machine, self.warps, self.calendar, sms)
        self.l1 = L1(figures, data, self.data_stage, self.crossbar, self.l2_sampled)
        self.mio = Mio(machine, rows, self.data_stage, OperandCollector(machine, laid_out, self.warps, rows))
        self.lsu = Lsu(machine, laid_out, data, self.warps, self.mio, self.l1, self.stores)
        self.barriers = Barriers(machine, laid_out, self.warps, sms)
        self.sm90 = Sm90(machine, laid_out, data, rows, self.warps, self.barriers, self.lsu)
        self.mbarriers, self.tma, self.wgmma = self.sm90.mbarriers, self.sm90.tma, self.sm90.wgmma
        self.smsp = Smsp(machine, laid_out, rows, self.warps, self.barriers, self.lsu, self.sm90)
        self.turn_of_tma = self.tma.turn
        self.record = self.warps.record
        self.stalls, self.by_instruction = self.record.stalls, self.record.by_instruction
        self.notes, self.spans = self.record.notes, self.record.spans

    def run(self) -> int:
        """Simulate until a CTA ends; return its number, or -1 if no event is left."""
        calendar, warps, barriers, smsp = self.calendar, self.warps, self.barriers, self.smsp
        warps.ended = -1
        while calendar.count > 0 and warps.ended < 0:
            event = calendar.take()
            if event >= self.turn_of_tma:
                self.tma.serve((event - self.turn_of_tma) // self.width, calendar.cycle)
            elif event >= self.past_smsps:
                slot = (event - self.past_smsps) // self.width
                barriers.reset(slot)
                self.mbarriers.reset(slot)
                warps.launch(slot, calendar.cycle)
            else:
                until = smsp.issue_from(event, calendar.cycle)
                self.asleep[event] = until
                if until < NEVER:
                    calendar.schedule(event, 2 * until + TIMED)
        self.record.flush()
        self.now, self.ended_at = calendar.cycle, warps.ended_at
        self.ended_sm, self.ended_launched = warps.ended_sm, warps.ended_launched
        return warps.ended

    def hand(self, sm: int, cta: int, at: int, observed: int) -> None:
        """Send a CTA to an SM, which launches it at cycle ``at``; ``observed`` is 1 to log its warps."""
        self.warps.hand(sm, cta, at, observed)
