"""
The way into the L2: each SM's port to the crossbar, and the arbiter that shares the L2's bandwidth out.

In silicon: an SM injects requests into the crossbar at its port; the slices of the L2 serve those of all SMs.
Figures: ``l2_port_bytes``, ``l2_bytes``, ``l2_write_bytes``, ``l2_read_percent``, ``l2_fill_percent``, ``cpc_percent``.
State: when each port is free; for reads and for stores the backlog of the L2, and of its shares.
Timing: a request leaves its port behind the earlier ones of its SM, at the port's rate. The L2 serves requests in order
of issue, at its own rate. Reads and stores have a way each, and each way a weighted fair share for SMs of large CPCs
and one for those of small ones. Times are thousandths of a cycle.

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
    """Return the GPC of each SM; all are of one where no groups are known."""
    return array("q", [figures.gpcs[group] for group in groups] or [0] * sms)


def small_cpcs(gpc: "Column", figures: "Figures") -> "Column":
    """
    Return 1 for each SM of a whole chip whose CPC has fewer TPCs than others, and 0 for these.

    Of a GPC of ``tpcs_beside`` TPCs those of some places (``small_cpcs``) are of such a CPC.
    """
    small = zeros(len(gpc))
    for group in range(max(gpc) + 1):
        sms = [sm for sm, own in enumerate(gpc) if own == group]
        if len(sms) == figures.tpcs_beside * SMS_PER_TPC:
            for place, sm in enumerate(sms):
                small[sm] = int(place // SMS_PER_TPC in figures.small_cpcs)
    return small


class Crossbar:
    """The ports at which SMs inject reads. ``Stores`` has the same ports for stores, and keeps two of the columns."""

    def __init__(self, figures: "Figures", sms: int) -> None:
        """Build a port for each SM."""
        self.port_bytes = figures.l2_port_bytes
        # When a port is free for a read, and for a store; when the L2 has taken the SM's last store.
        self.read_free, self.store_free, self.stored_at = zeros(sms), zeros(sms), zeros(sms)

    def inject(self, sm: int, at: int, size: int) -> int:
        """
        Queue a read of some bytes at its SM's port; return when it leaves, in thousandths of a cycle.

        Stores take the same way: a read leaves behind those injected before it, and waits with them where the L2 has
        not taken them.
        """
        start = max(at * MILLI, self.read_free[sm], self.store_free[sm], self.stored_at[sm])
        self.read_free[sm] = start + size * MILLI // self.port_bytes
        return start


class L2Arbiter:
    """
    Shares the L2's bandwidth out, to reads and stores (ways), and of each way to SMs of large and of small CPCs.

    A backlog is what the L2 has to do for a way or for a share. It lies in two columns: when it will be done, in
    thousandths of a cycle, and parts of a thousandth.
    """

    def __init__(self, figures: "Figures", sms: int, share: int, groups: "Sequence[int]") -> None:
        """
        Build the arbiter.

        Args:
            figures: Those of the machine.
            sms: Simulated SMs.
            share: SMs that each simulated one stands for.
            groups: Group of each SM that the figures know; empty where none is known.
        """
        self.share = share
        # Of some SMs of a chip it is not known which are missing of a GPC.
        whole = len(groups) == figures.placed_sms
        gpc = gpcs_of(figures, sms, groups)
        self.small_cpc = small_cpcs(gpc, figures) if whole and groups else zeros(sms)
        self.way_bytes = array("q", [figures.l2_bytes, figures.l2_write_bytes])
        small = figures.cpc_percent * sum(self.small_cpc)
        shares = [PERCENT * sms - small, small]
        # What a request takes of its share's time, over what it takes of all.
        takes = [(PERCENT * sms << PART) // own if own else 0 for own in shares]
        self.share_takes = array("q", takes * WAYS)
        self.read_takes = (figures.l2_bytes * figures.l2_read_percent << PART) // (figures.l2_write_bytes * PERCENT)
        self.fill_takes = (MILLI * share * figures.l2_fill_percent << PART + FINE) // (figures.l2_write_bytes * PERCENT)
        self.done, self.part = zeros(WAYS + WAYS * SHARES), zeros(WAYS + WAYS * SHARES)

    def grant(self, way: int, sm: int, start: int) -> int:
        """
        Return when the L2 comes to a request, after those that were issued before it, in thousandths of a cycle.

        Where a way has more to do than it can, its shares take turns, so that SMs of small CPCs get more: a request
        waits until those of its share are served, or all are.
        """
        return max(start, min(self.done[way], self.done[WAYS + SHARES * way + self.small_cpc[sm]]))

    def request(self, way: int, sm: int, start: int, issued: int, size: int) -> int:
        """Queue a request of some bytes at the L2; return when it is granted, in thousandths of a cycle."""
        granted = self.grant(way, sm, start)
        self.charge(way, sm, issued, size)
        return granted

    def charge(self, way: int, sm: int, issued: int, size: int) -> None:
        """
        Add a request of some bytes to the backlog of its way, and of its SM's share.

        L2 bandwidth is divided between small and large CPCs (weighted fair share). If one class is idle, the other gets
        all of it: its backlog becomes the way's. Reads take some of the bandwidth for stores, too.
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
        """Return the backlog of a way or a share, in parts of thousandths of a cycle."""
        free = self.done[own]
        return (free - now << FINE) + self.part[own] if free >= now else 0

    def set_backlog(self, own: int, now: int, backlog: int) -> None:
        """Set the backlog of a way or a share."""
        self.done[own] = now + (backlog >> FINE)
        self.part[own] = backlog & FINE_MASK

    def charge_stores(self, now: int, takes: int) -> None:
        """Add what no SM stores to the backlog of stores, and of both its shares, in parts of thousandths."""
        self.set_backlog(STORE, now, self.backlog(STORE, now) + takes)
        for own in range(WAYS + SHARES * STORE, WAYS + SHARES * STORE + SHARES):
            self.set_backlog(own, now, self.backlog(own, now) + takes)

    def fill(self, issued: int, size: int) -> int:
        """
        Let the L2 take what comes from DRAM, in turn with what is stored.

        Returns:
            When it comes to that, in thousandths of a cycle; 0 where a fill takes nothing.
        """
        turn = self.done[STORE] if self.fill_takes else 0
        self.charge_stores(issued * MILLI, size * self.fill_takes >> PART)
        return turn

    def all_served(self, way: int) -> int:
        """Return when the L2 is done with all requests of a way so far, in thousandths of a cycle."""
        return self.done[way]
