"""The chip's calendar in SimPy: hands CTAs to SMs in launch order, one after the other, as SMs have room."""

from collections.abc import Callable, Generator, Sequence
from itertools import accumulate
from typing import NamedTuple

import simpy

from gpusim.machine.spec import LaunchSpec, LaunchUnitsSpec
from gpusim.sim.core.chip import Chip
from gpusim.units import SMS_PER_TPC


class CtaLife(NamedTuple):
    """The lifetime of a CTA on its SM: from the first cycle its warps may issue to the cycle after its last exit."""

    cta: int
    sm: int
    launched: int
    finished: int


def first_places(ctas: int, sms: int, slots: int, units: LaunchUnitsSpec | None) -> list[int]:
    """
    Return the SM of each CTA of a grid that finds room at the launch, in launch order.

    Whole rounds of one CTA for each SM come first, group by group of ``units``; the first group comes ahead of its
    turn. What is left of the grid is spread over the groups, in each over its TPCs, and then over the TPCs' second SMs
    (reports/measured/h200/microbench/places.csv). SMs are numbered by group: those of the first group are the first.

    Not modelled: that the group after the first one is another in each launch (D33).

    Args:
        ctas: CTAs of the grid.
        sms: SMs that are simulated.
        slots: CTAs that are resident on an SM at once.
        units: Groups of SMs. Where they are not known, or only some SMs are simulated, all take turns.
    """
    room = min(ctas, slots * sms)
    if units is None or sum(units.sizes) != sms:
        return [place % sms for place in range(room)]
    rounds, left = divmod(room, sms)
    groups = [range(end - size, end) for size, end in zip(units.sizes, accumulate(units.sizes), strict=True)]
    places: list[int] = []
    ahead = 0
    for turn in range(rounds * len(units.others)):
        if ahead < rounds and turn == ahead * units.between // 100:
            places += groups[0]
            ahead += 1
        places += groups[1 + turn % len(units.others)]
    counts = [min(left, units.ahead), *_spread(max(0, left - units.ahead), units.others)]
    for group, count in zip(groups, counts, strict=True):
        # The TPCs that have a CTA on both SMs come first.
        both = SMS_PER_TPC * max(0, count - len(group) // SMS_PER_TPC)
        places += group[:both]
        places += group[both::SMS_PER_TPC][: count - both]
    return places


def groups_of(ctas: int, sms: int, units: LaunchUnitsSpec | None) -> list[int]:
    """
    Return the group of each SM that is simulated, in the order of their numbers; none where groups are not known.

    Args:
        ctas: CTAs of the grid.
        sms: SMs that are simulated: all, or as many as there are CTAs.
        units: Groups of SMs.
    """
    if units is None:
        return []
    of_all = [group for group, size in enumerate(units.sizes) for _ in range(size)]
    if sms == len(of_all):
        return of_all
    if sms != ctas:
        return []
    return [of_all[sm] for sm in first_places(ctas, len(of_all), 1, units)]


def groups_of_places(ctas: int, sms: int, slots: int, units: LaunchUnitsSpec | None) -> list[int]:
    """
    Return the group of the SM that each CTA finds at the launch, in launch order; all are of one where none is known.

    Args:
        ctas: CTAs of the grid.
        sms: SMs of the machine.
        slots: CTAs that are resident on an SM at once.
        units: Groups of SMs.
    """
    of_sm = groups_of(sms, sms, units) or [0] * sms
    return [of_sm[sm] for sm in first_places(ctas, sms, slots, units)]


def _spread(ctas: int, sizes: Sequence[int]) -> list[int]:
    """Return how many CTAs each group gets: one in turn while it has TPCs without one, and then while it has SMs."""
    counts = [0] * len(sizes)
    for sms_of_tpc in range(1, SMS_PER_TPC + 1):
        most = [size * sms_of_tpc // SMS_PER_TPC for size in sizes]
        while ctas and counts != most:
            for group, bound in enumerate(most):
                if ctas and counts[group] < bound:
                    counts[group] += 1
                    ctas -= 1
    return counts


def _late(units: LaunchUnitsSpec, sm: int, before: int) -> int:
    """
    Return the cycles by which a CTA begins later, at the launch, than the first one of its GPC.

    A TPC's SMs begin one after the other, and then their next CTAs (launch.csv).

    Not modelled: that GPCs begin up to 32 ns apart; that CTAs of more warps begin later still.

    Args:
        units: Groups of SMs.
        sm: The SM.
        before: CTAs that the SM has by then.
    """
    return before * units.next_cta + sm % SMS_PER_TPC * units.other_sm


class CtaScheduler:
    """
    The chip's CTA scheduler, or the part of it that one SM sees.

    First it gives each SM one CTA in turn until all are full, in the order of ``first_places``. Then each CTA that ends
    is replaced by the next one, as fast as what the L2 has by then lets it be (D35). The chip runs from the end of one
    CTA to that of the next, and meets the calendar only there.

    Args:
        env: The SimPy environment.
        spec: How fast CTAs leave.
        chip: The SMs.
        queue: CTA indices in launch order; the chip numbers them from 0.
        watched: CTA whose warps are watched, or None.
        say: Called with the number of CTAs that have ended.

    Attributes:
        lives: CTAs that have ended, in order of their end.
    """

    def __init__(
        self,
        env: simpy.Environment,
        spec: LaunchSpec,
        chip: Chip,
        queue: Sequence[int],
        watched: int | None,
        *,
        say: Callable[[int], None] = lambda _: None,
    ) -> None:
        self._env, self._spec, self._chip, self._queue, self._watched = env, spec, chip, queue, watched
        self._say = say
        self._next = 0
        self._port_free = 0
        self.lives: list[CtaLife] = []

    def run(self) -> Generator[simpy.Event, None, None]:
        """Run all CTAs of the queue: a SimPy process."""
        units, seen = self._spec.units, [0] * self._chip.sms
        for sm in first_places(len(self._queue), self._chip.sms, self._chip.slots, units):
            # A CTA leaves after all before it in the grid, simulated or not.
            self._port_free = self._queue[self._next] * self._spec.cta_interval
            self._hand_out(sm, late=0 if units is None else _late(units, sm, seen[sm]))
            seen[sm] += 1
        while len(self.lives) < self._next:
            cta, chip = self._chip.run(), self._chip
            yield self._env.timeout(chip.now - self._env.now)
            self.lives.append(CtaLife(self._queue[cta], chip.ended_sm, chip.ended_launched, chip.ended_at))
            self._say(len(self.lives))
            if self._next < len(self._queue):
                self._hand_out(chip.ended_sm)

    def _hand_out(self, sm: int, late: int = 0) -> None:
        """
        Send the next CTA to ``sm``. One leaves every ``cta_interval`` cycles and may issue ``cta_setup`` later.

        Args:
            sm: The SM.
            late: Cycles that it begins later still.
        """
        self._port_free = max(int(self._env.now), self._port_free) + self._spec.cta_interval
        observed = self._queue[self._next] == self._watched
        self._chip.hand(sm, self._next, self._port_free + self._spec.cta_setup + late, int(observed))
        self._next += 1
