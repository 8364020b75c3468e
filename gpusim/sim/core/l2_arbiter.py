"""
The path into the L2: each SM's port to the crossbar, and the arbiter that divides the L2's bandwidth.

In silicon: an SM injects requests into the crossbar at its port; the L2's slices serve the requests of all SMs.
Figures: ``l2_port_bytes``, ``l2_bytes``, ``l2_write_bytes``, ``l2_read_percent``, ``l2_fill_percent``, ``cpc_percent``.
State: when each port is free; the L2's backlog of reads and of stores, each in total and for each share.
Timing: a request leaves its port behind earlier requests of its SM, at the port's rate. The L2 serves requests in order
of issue, at its own rate. Reads and stores are two ways. The bandwidth of each way is divided into two weighted fair
shares: one for the SMs of large CPCs, one for those of small CPCs. Times are thousandths of a cycle.

>>> from gpusim.machine import load_machine
>>> from gpusim.sim.figures import figures_of
>>> figures = figures_of(load_machine("h200"), 0, busy=False)._replace(l2_bytes=64)
>>> crossbar, arbiter = Crossbar(figures, sms=2), L2Arbiter(figures, sms=2, share=1, groups=())
>>> [arbiter.request(READ, sm, crossbar.inject(sm, 0, 128), issued=0, size=128) for sm in (0, 1, 0)]
[0, 2000, 4000]
"""

from array import array
from typing import TYPE_CHECKING

from gpusim.sim.columns import zeros
from gpusim.sim.core.constants import FINE, FINE_MASK, MILLI, PART, PERCENT, READ, SHARES, STORE, WAYS
from gpusim.units import SMS_PER_TPC

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpusim.sim.columns import Column
    from gpusim.sim.figures import Figures


def gpcs_of(figures: "Figures", sms: int, groups: "Sequence[int]") -> "Column":
    """Return the GPC of each SM; without groups all SMs are in GPC 0."""
    return array("q", [figures.gpcs[group] for group in groups] or [0] * sms)


def small_cpcs(gpc: "Column", figures: "Figures") -> "Column":
    """
    Return for each SM of a whole chip whether its CPC has fewer TPCs than the others: 1 or 0.

    Only GPCs that have ``figures.tpcs_beside`` TPCs have such CPCs. ``figures.small_cpcs`` lists the TPCs of these CPCs
    by their number within the GPC.
    """
    small = zeros(len(gpc))
    for group in range(max(gpc) + 1):
        sms = [sm for sm, own in enumerate(gpc) if own == group]
        if len(sms) == figures.tpcs_beside * SMS_PER_TPC:
            for place, sm in enumerate(sms):
                small[sm] = int(place // SMS_PER_TPC in figures.small_cpcs)
    return small


class Crossbar:
    """The ports at which SMs inject reads. ``Stores`` sends stores through them and writes two of the columns."""

    def __init__(self, figures: "Figures", sms: int) -> None:
        """Build a port for each SM."""
        self.port_bytes = figures.l2_port_bytes
        # When each port is free for a read, and for a store; when the L2 has taken the SM's last store.
        self.read_free, self.store_free, self.stored_at = zeros(sms), zeros(sms), zeros(sms)

    def inject(self, sm: int, at: int, size: int) -> int:
        """
        Queue a read of ``size`` bytes at its SM's port; return when it leaves, in thousandths of a cycle.

        A read leaves behind the SM's earlier stores, and not before the L2 has taken them.
        """
        start = max(at * MILLI, self.read_free[sm], self.store_free[sm], self.stored_at[sm])
        self.read_free[sm] = start + size * MILLI // self.port_bytes
        return start


class L2Arbiter:
    """
    Divides the L2's bandwidth between SMs of large and of small CPCs, for reads and for stores (two ways).

    A backlog is the time that the L2 still needs for the requests of a way or of a share. Two columns hold it: the time
    at which it ends, in thousandths of a cycle, and a fraction of a thousandth in units of 1/64.
    """

    def __init__(self, figures: "Figures", sms: int, share: int, groups: "Sequence[int]") -> None:
        """
        Build the arbiter.

        Args:
            figures: The machine's figures.
            sms: Number of simulated SMs.
            share: SMs of the chip for each simulated SM.
            groups: Group of each SM; empty if groups are unknown.
        """
        self.share = share
        # If only some SMs of a chip are simulated, the CPC of an SM is not known.
        whole = len(groups) == figures.placed_sms
        gpc = gpcs_of(figures, sms, groups)
        self.small_cpc = small_cpcs(gpc, figures) if whole and groups else zeros(sms)
        self.way_bytes = array("q", [figures.l2_bytes, figures.l2_write_bytes])
        small = figures.cpc_percent * sum(self.small_cpc)
        shares = [PERCENT * sms - small, small]
        # For each share: the time that a request takes at the share's bandwidth, over its time at the way's.
        takes = [(PERCENT * sms << PART) // own if own else 0 for own in shares]
        self.share_takes = array("q", takes * WAYS)
        self.read_takes = (figures.l2_bytes * figures.l2_read_percent << PART) // (figures.l2_write_bytes * PERCENT)
        self.fill_takes = (MILLI * share * figures.l2_fill_percent << PART + FINE) // (figures.l2_write_bytes * PERCENT)
        self.done, self.part = zeros(WAYS + WAYS * SHARES), zeros(WAYS + WAYS * SHARES)

    def grant(self, way: int, sm: int, start: int) -> int:
        """
        Return when the L2 begins to serve a request, in thousandths of a cycle, without adding it to the backlog.

        A request waits until the earlier requests of its share are served, or those of the whole way, if that is
        sooner. So an SM of a small CPC gets more of a busy L2 than one of a large CPC.

        Args:
            way: ``READ`` or ``STORE``.
            sm: The SM.
            start: When the request reaches the L2, in thousandths of a cycle.
        """
        return max(start, min(self.done[way], self.done[WAYS + SHARES * way + self.small_cpc[sm]]))

    def request(self, way: int, sm: int, start: int, issued: int, size: int) -> int:
        """Grant and charge a request of ``size`` bytes; return when it is granted, in thousandths of a cycle."""
        granted = self.grant(way, sm, start)
        self.charge(way, sm, issued, size)
        return granted

    def charge(self, way: int, sm: int, issued: int, size: int) -> None:
        """
        Add a request of ``size`` bytes to the backlog of its way and of its SM's share.

        L2 bandwidth is divided between small and large CPCs (weighted fair share). If the share of one class is idle,
        the other class gets all of the bandwidth: its backlog is set to the way's backlog, as the time that it takes at
        the bandwidth of the class's share. Reads take some of the stores' bandwidth, too.
        """
        now, first = issued * MILLI, WAYS + SHARES * way
        takes = (size * self.share * MILLI << FINE) // self.way_bytes[way]
        for own in range(first, first + SHARES):
            if not self.backlog(2 * first + 1 - own, now) and self.backlog(own, now):
                self.set_backlog(own, now, self.backlog(way, now) * self.share_takes[own - WAYS] >> PART)
        self.set_backlog(way, now, self.backlog(way, now) + takes)
        own = first + self.small_cpc[sm]
        self.set_backlog(own, now, self.backlog(own, now) + (takes * self.share_takes[own - WAYS] >> PART))
        if way == READ:
            self.charge_stores(now, takes * self.read_takes >> PART)

    def backlog(self, own: int, now: int) -> int:
        """Return the backlog of a way or a share at time ``now``, in 64ths of a thousandth of a cycle."""
        free = self.done[own]
        return (free - now << FINE) + self.part[own] if free >= now else 0

    def set_backlog(self, own: int, now: int, backlog: int) -> None:
        """Set the backlog of a way or a share at time ``now``, in 64ths of a thousandth of a cycle."""
        self.done[own] = now + (backlog >> FINE)
        self.part[own] = backlog & FINE_MASK

    def charge_stores(self, now: int, takes: int) -> None:
        """Add the time of a read or a fill to the backlogs of stores and of both their shares; units as ``backlog``."""
        self.set_backlog(STORE, now, self.backlog(STORE, now) + takes)
        for own in range(WAYS + SHARES * STORE, WAYS + SHARES * STORE + SHARES):
            self.set_backlog(own, now, self.backlog(own, now) + takes)

    def fill(self, issued: int, size: int) -> int:
        """
        Write ``size`` bytes from DRAM into the L2, in turn with the stores.

        Returns:
            When the L2 begins to, in thousandths of a cycle; 0 if fills take no bandwidth on this machine.
        """
        turn = self.done[STORE] if self.fill_takes else 0
        self.charge_stores(issued * MILLI, size * self.fill_takes >> PART)
        return turn

    def all_served(self, way: int) -> int:
        """Return when the L2 has served all requests of a way so far, in thousandths of a cycle."""
        return self.done[way]
