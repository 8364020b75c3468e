"""The chip's calendar in SimPy: hands CTAs to SMs in launch order, each as soon as an SM has a free slot."""

from collections.abc import Callable, Generator, Iterable, Sequence
from itertools import accumulate
from typing import NamedTuple

import simpy

from gpusim.errors import CannotRun
from gpusim.machine.spec import LaunchSpec, LaunchUnitsSpec
from gpusim.sim.core.chip import Chip
from gpusim.units import SMS_PER_TPC


class CtaLife(NamedTuple):
    """The lifetime of a CTA on its SM: from the first cycle its warps may issue to the cycle after its last exit."""

    cta: int
    sm: int
    launched: int
    finished: int


def spans_of(lives: Iterable[CtaLife]) -> list[int]:
    """Return the cycles of each SM from the launch of its first CTA to the end of its last, by the SM's number."""
    begin, end = dict[int, int](), dict[int, int]()
    for life in lives:
        begin[life.sm] = min(life.launched, begin.get(life.sm, life.launched))
        end[life.sm] = max(life.finished, end.get(life.sm, 0))
    return [end[sm] - begin[sm] for sm in sorted(begin)]


def first_places(ctas: int, sms: int, slots: int, units: LaunchUnitsSpec | None) -> list[int]:
    """
    Return the SM of each CTA that becomes resident at the launch, in launch order.

    First come whole rounds of one CTA for each SM, group by group of ``units``; each round of the first group comes
    early. The rest of the grid is spread over the groups. Within a group, each TPC gets one CTA before any TPC gets a
    second (reports/measured/h200/microbench/places.csv). SMs are numbered group by group.

    Not modelled: the order of the groups after the first, which changes from launch to launch (D33).

    Args:
        ctas: CTAs of the grid.
        sms: SMs that are simulated.
        slots: CTAs that are resident on an SM at once.
        units: Groups of SMs. If they are unknown, or only some SMs are simulated, CTAs go to all SMs round robin.
    """
    room = min(ctas, slots * sms)
    if units is None or sum(units.sizes) != sms:
        return [place % sms for place in range(room)]
    rounds, left = divmod(room, sms)
    groups = [range(end - size, end) for size, end in zip(units.sizes, accumulate(units.sizes), strict=True)]
    places: list[int] = []
    ahead = 0
    for number in range(rounds * len(units.others)):
        if ahead < rounds and number == ahead * units.between // 100:
            places += groups[0]
            ahead += 1
        places += groups[1 + number % len(units.others)]
    counts = [min(left, units.ahead), *_spread(max(0, left - units.ahead), units.others)]
    for group, count in zip(groups, counts, strict=True):
        # The TPCs with a CTA on both SMs come first.
        both = SMS_PER_TPC * max(0, count - len(group) // SMS_PER_TPC)
        places += group[:both]
        places += group[both::SMS_PER_TPC][: count - both]
    return places


def groups_of(ctas: int, sms: int, units: LaunchUnitsSpec | None) -> list[int]:
    """
    Return the group of each simulated SM, by its number; an empty list if groups are unknown.

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
    Return the group of each CTA's SM at the launch, in launch order; if groups are unknown, all SMs form one.

    Args:
        ctas: CTAs of the grid.
        sms: SMs of the machine.
        slots: CTAs that are resident on an SM at once.
        units: Groups of SMs.
    """
    of_sm = groups_of(sms, sms, units) or [0] * sms
    return [of_sm[sm] for sm in first_places(ctas, sms, slots, units)]


def _spread(ctas: int, sizes: Sequence[int]) -> list[int]:
    """Spread CTAs over groups round robin, first over their TPCs, then over the TPCs' second SMs; return the counts."""
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
    Return the cycles by which a CTA begins after the first CTA of its GPC, at the launch.

    The two SMs of a TPC begin one after the other, and so do the CTAs of an SM (launch.csv).

    Not modelled: GPCs begin at times that differ by up to 32 ns; CTAs of more warps begin later.

    Args:
        units: Groups of SMs.
        sm: The SM.
        before: CTAs that the SM already has.
    """
    return before * units.next_cta + sm % SMS_PER_TPC * units.other_sm


class AwaitedPhase(NamedTuple):
    """
    A phase of a barrier that is not complete, and for which warps wait.

    Attributes:
        cta: The CTA.
        barrier: Number of the barrier.
        arrived, expected: Arrivals in the phase; 0 are expected until the barrier's first arrival.
        pending: Bytes for which the phase waits, too.
        warps: Numbers of the waiting warps.
    """

    cta: int
    barrier: int
    arrived: int
    expected: int
    pending: int
    warps: Sequence[int]

    def __str__(self) -> str:
        arrivals = f"{self.arrived} of {self.expected} expected arrivals" if self.expected else "no arrival"
        pending = f" and {self.pending} pending bytes" if self.pending else ""
        names = ", ".join(map(str, self.warps))
        waits = f"warp {names} waits" if len(self.warps) == 1 else f"warps {names} wait"
        return f"barrier {self.barrier} has {arrivals}{pending}, and {waits}"


def never_ends(chip: Chip, queue: Sequence[int]) -> CannotRun:
    """
    Return the error about a chip whose resident CTAs wait forever.

    Args:
        chip: A chip whose ``run`` has returned -1.
        queue: CTA indices in launch order.
    """
    phases = [AwaitedPhase(*phase) for phase in chip.barriers.awaited_phases()]
    if not phases:
        return CannotRun("no CTA ends any more: no warp can issue, though none waits at a barrier")
    first, *others = sorted({queue[phase.cta] for phase in phases})
    waits = "; ".join(str(phase) for phase in phases if queue[phase.cta] == first)
    return CannotRun(f"CTA {first} never ends: {waits}{f' ({len(others)} more CTAs wait, too)' if others else ''}")


class CtaScheduler:
    """
    The chip's CTA scheduler, or the part of it that one SM sees.

    At the launch it fills all SMs in the order of ``first_places``. Then the next CTA replaces each CTA that ends; how
    soon depends on the content of the L2 (D35). The chip runs from the end of one CTA to the end of the next, and only
    then returns to the calendar.

    Args:
        env: The SimPy environment.
        spec: The launch's intervals and groups of SMs.
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
        """
        Run all CTAs of the queue: a SimPy process.

        Raises:
            CannotRun: A CTA never ends. The message names it, the barriers at which its warps wait, and these warps.
        """
        units, seen = self._spec.units, [0] * self._chip.sms
        for sm in first_places(len(self._queue), self._chip.sms, self._chip.slots, units):
            # A CTA leaves after all CTAs before it in the grid, even those that are not simulated.
            self._port_free = self._queue[self._next] * self._spec.cta_interval
            self._hand_out(sm, late=0 if units is None else _late(units, sm, seen[sm]))
            seen[sm] += 1
        while len(self.lives) < self._next:
            cta, chip = self._chip.run(), self._chip
            if cta < 0:
                raise never_ends(chip, self._queue)
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
            late: Further cycles of delay.
        """
        self._port_free = max(int(self._env.now), self._port_free) + self._spec.cta_interval
        observed = self._queue[self._next] == self._watched
        self._chip.hand(sm, self._next, self._port_free + self._spec.cta_setup + late, int(observed))
        self._next += 1
