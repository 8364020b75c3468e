"""Simulates launches without obstacles, and each combination of changes only once."""

from collections.abc import Sequence

from gpusim.verbs.explanation.changes import Change, changed
from gpusim.verbs.simulate import SimulatedLaunch, simulated


class Trials:
    """The launches of a scenario, as they are and without obstacles."""

    def __init__(self, launches: Sequence[SimulatedLaunch], *, exact: bool | None) -> None:
        self.launches = tuple(launches)
        self.exact = exact
        self._known: dict[tuple[int, tuple[Change, ...]], SimulatedLaunch] = {}
        self._idle: dict[tuple[int, Change], bool] = {}

    def without(self, changes: Sequence[Change], number: int = 0) -> SimulatedLaunch:
        """
        Return a launch with changes.

        Args:
            changes: The changes, applied in this order.
            number: The launch's number.
        """
        made = tuple(change for change in changes if not self._does_nothing(change, number))
        if not made:
            return self.launches[number]
        if (number, made) not in self._known:
            launch = changed(self.launches[number].launch, made)
            self._known[number, made] = simulated(launch, exact=self.exact)
        return self._known[number, made]

    def all_without(self, changes: Sequence[Change]) -> tuple[SimulatedLaunch, ...]:
        """Return every launch with changes."""
        return tuple(self.without(changes, number) for number in range(len(self.launches)))

    def _does_nothing(self, change: Change, number: int) -> bool:
        """Return whether a change leaves the machine and the code of a launch as they are."""
        if change.machine is not None:
            return False
        if (number, change) not in self._idle:
            launch = self.launches[number].launch
            self._idle[number, change] = changed(launch, [change]).assemblies == launch.assemblies
        return self._idle[number, change]
