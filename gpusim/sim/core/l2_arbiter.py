"""
The path into the L2: each SM's port to the crossbar, and the arbiter that divides the L2's bandwidth.

In silicon: an SM injects requests into the crossbar at its port; the L2's slices serve the requests of all SMs.
Figures: ``[l2.mixed]``, ``[launch.units]``, ``[launch.cpcs]``, ``l2.bytes_per_cycle_per_sm``; ``l2_bytes`` and
``l2_write_bytes`` of ``Figures``.
State: the time at which each port is free; the L2's backlogs of reads and of stores, in total and for each CPC size.
Timing: a port sends the requests of its SM in order, at its rate. The L2 serves requests in order of issue, at its own
rate. Reads and stores are two directions with a bandwidth each. Each bandwidth is divided between SMs of large and of
small CPCs (weighted fair queueing). Times are thousandths of a cycle.

>>> from gpusim.machine import load_machine
>>> from gpusim.sim.figures import figures_of
>>> figures = figures_of(load_machine("h200"), 0, busy=False)._replace(l2_bytes=64)
>>> crossbar, arbiter = Crossbar(figures.machine, sms=2), L2Arbiter(figures, sms=2, share=1, groups=())
>>> [arbiter.request(READ, sm, crossbar.inject(sm, 0, 128), issued=0, size=128) for sm in (0, 1, 0)]
[0, 2000, 4000]
"""

from array import array
from typing import TYPE_CHECKING

from gpusim.sim.columns import zeros
from gpusim.sim.core.constants import (
    CPC_SIZES,
    DIRECTIONS,
    FRACTION_BITS,
    FRACTION_MASK,
    MILLI,
    PERCENT,
    RATIO_BITS,
    READ,
    STORE,
)
from gpusim.units import SMS_PER_TPC

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpusim.machine.spec import LaunchCpcsSpec, Machine
    from gpusim.sim.columns import Column
    from gpusim.sim.figures import Figures


def gpcs_of(machine: "Machine", sms: int, groups: "Sequence[int]") -> "Column":
    """Return the GPC of each SM; if the groups of SMs are unknown, all SMs are in GPC 0."""
    units = machine.launch.units
    return array("q", [0] * sms if units is None or not groups else [units.gpcs[group] for group in groups])


def small_cpcs(gpc: "Column", cpcs: "LaunchCpcsSpec") -> "Column":
    """
    Return for each SM of a whole chip 1 if it is in a small CPC, which has fewer TPCs than others, else 0.

    Only GPCs with ``cpcs.beside`` TPCs have small CPCs. ``cpcs.tpcs`` lists the TPCs of small CPCs by their number
    within the GPC.
    """
    small = zeros(len(gpc))
    for group in range(max(gpc) + 1):
        sms = [sm for sm, own in enumerate(gpc) if own == group]
        if len(sms) == cpcs.beside * SMS_PER_TPC:
            for place, sm in enumerate(sms):
                small[sm] = int(place // SMS_PER_TPC in cpcs.tpcs)
    return small


class Crossbar:
    """The SMs' ports to the crossbar. ``Stores`` updates the columns of stores."""

    def __init__(self, machine: "Machine", sms: int) -> None:
        """Build a port for each SM."""
        self.port_bytes = machine.l2.bytes_per_cycle_per_sm
        # For each SM: the times at which its port is free for a read, and for a store, and at which the L2 has taken
        # its last store.
        self.read_free, self.store_free, self.stored_at = zeros(sms), zeros(sms), zeros(sms)

    def inject(self, sm: int, at: int, size: int) -> int:
        """
        Queue a read of ``size`` bytes at its SM's port; return the time at which it leaves, in thousandths of a cycle.

        A read leaves after the SM's earlier stores, and after the L2 has taken them.
        """
        start = max(at * MILLI, self.read_free[sm], self.store_free[sm], self.stored_at[sm])
        self.read_free[sm] = start + size * MILLI // self.port_bytes
        return start


class L2Arbiter:
    """
    Divides the L2's bandwidth between SMs of large and of small CPCs, for reads and for stores (two directions).

    A backlog is the time that the L2 still needs for its pending requests. The arbiter has a backlog for each
    direction, and one for each CPC size in a direction. Two columns hold the backlogs: the times at which they end, in
    thousandths of a cycle, and fractions of a thousandth in units of 1/64.
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
        machine, read, write = figures.machine, figures.l2_bytes, figures.l2_write_bytes
        units, cpcs, mixed = machine.launch.units, machine.launch.cpcs, machine.l2.mixed
        self.share, self.direction_bytes = share, array("q", [read, write])
        # The CPC of an SM is known only if all SMs of the chip are simulated.
        whole = units is not None and len(groups) == sum(units.sizes)
        self.small_cpc = zeros(sms) if cpcs is None or not whole else small_cpcs(gpcs_of(machine, sms, groups), cpcs)
        small = 0 if cpcs is None else cpcs.percent * sum(self.small_cpc)
        # For each CPC size: the time of a request at the bandwidth of this size, over its time at all of the bandwidth.
        ratios = [(PERCENT * sms << RATIO_BITS) // own if own else 0 for own in (PERCENT * sms - small, small)]
        self.slowdown = array("q", ratios * DIRECTIONS)
        read_percent, fill_percent = (0, 0) if mixed is None else (mixed.read_percent, mixed.fill_percent)
        self.read_as_store = (read * read_percent << RATIO_BITS) // (write * PERCENT)
        self.fill_time = (MILLI * share * fill_percent << RATIO_BITS + FRACTION_BITS) // (write * PERCENT)
        places = DIRECTIONS + DIRECTIONS * CPC_SIZES
        self.done, self.fraction = zeros(places), zeros(places)

    def grant(self, direction: int, sm: int, start: int) -> int:
        """
        Return the time at which the L2 begins to serve a request, without adding the request to the backlogs.

        A request waits until the L2 has served the earlier requests of its CPC size or, if that is sooner, the earlier
        requests of both sizes. So an SM of a small CPC gets more of a busy L2 than an SM of a large CPC.

        Args:
            direction: ``READ`` or ``STORE``.
            sm: The SM.
            start: Time at which the request reaches the L2. Both times are thousandths of a cycle.
        """
        return max(start, min(self.done[direction], self.done[DIRECTIONS + CPC_SIZES * direction + self.small_cpc[sm]]))

    def request(self, direction: int, sm: int, start: int, issued: int, size: int) -> int:
        """Grant and charge a request of ``size`` bytes; return the time of the grant, in thousandths of a cycle."""
        granted = self.grant(direction, sm, start)
        self.charge(direction, sm, issued, size)
        return granted

    def charge(self, direction: int, sm: int, issued: int, size: int) -> None:
        """
        Add a request of ``size`` bytes to the backlogs of its direction and of its SM's CPC size.

        The bandwidth is divided between small and large CPCs (weighted fair queueing). If the backlog of one CPC size
        is empty, the other size gets all of the bandwidth: its backlog is set to the direction's backlog, multiplied by
        ``slowdown``. Reads take some of the stores' bandwidth, too.
        """
        now, first = issued * MILLI, DIRECTIONS + CPC_SIZES * direction
        time = (size * self.share * MILLI << FRACTION_BITS) // self.direction_bytes[direction]
        for entry in range(first, first + CPC_SIZES):
            if not self.backlog(2 * first + 1 - entry, now) and self.backlog(entry, now):
                self.set_backlog(
                    entry, now, self.backlog(direction, now) * self.slowdown[entry - DIRECTIONS] >> RATIO_BITS
                )
        self.set_backlog(direction, now, self.backlog(direction, now) + time)
        entry = first + self.small_cpc[sm]
        self.set_backlog(
            entry, now, self.backlog(entry, now) + (time * self.slowdown[entry - DIRECTIONS] >> RATIO_BITS)
        )
        if direction == READ:
            self.charge_stores(now, time * self.read_as_store >> RATIO_BITS)

    def backlog(self, entry: int, now: int) -> int:
        """Return a backlog (an index of ``done``) at time ``now``, in 64ths of a thousandth of a cycle."""
        free = self.done[entry]
        return (free - now << FRACTION_BITS) + self.fraction[entry] if free >= now else 0

    def set_backlog(self, entry: int, now: int, backlog: int) -> None:
        """Set a backlog (an index of ``done``) at time ``now``, in 64ths of a thousandth of a cycle."""
        self.done[entry] = now + (backlog >> FRACTION_BITS)
        self.fraction[entry] = backlog & FRACTION_MASK

    def charge_stores(self, now: int, time: int) -> None:
        """Add the time of a read or a fill, in units of ``backlog``, to all backlogs of stores."""
        self.set_backlog(STORE, now, self.backlog(STORE, now) + time)
        for entry in range(DIRECTIONS + CPC_SIZES * STORE, DIRECTIONS + CPC_SIZES * STORE + CPC_SIZES):
            self.set_backlog(entry, now, self.backlog(entry, now) + time)

    def fill(self, issued: int, size: int) -> int:
        """
        Write ``size`` bytes from DRAM into the L2, after the stores of the backlog.

        Returns:
            The time at which the L2 begins to write, in thousandths of a cycle; 0 if fills take no bandwidth on this
            machine.
        """
        begin = self.done[STORE] if self.fill_time else 0
        self.charge_stores(issued * MILLI, size * self.fill_time >> RATIO_BITS)
        return begin

    def all_served(self, direction: int) -> int:
        """Return the time at which the L2 has served all requests of a direction, in thousandths of a cycle."""
        return self.done[direction]
