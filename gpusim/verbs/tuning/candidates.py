"""The configurations that could be compiled for a problem, and a lower bound of the cycles of each."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from gpusim.errors import BadInput
from gpusim.families.registry import family_of
from gpusim.machine.load import load_machine
from gpusim.machine.spec import Machine
from gpusim.scenario.models import Scenario
from gpusim.verbs.sweeping.point import Base

_SPLIT_KEYS = ("split_k_slices", "split_k")


@dataclass(frozen=True, slots=True)
class KernelCandidate:
    """
    A legal configuration for the problem.

    Attributes:
        settings: Keys and values of the configuration, dotted.
        least: The fewest cycles that each resource needs, by resource.
        least_cycles: Lower bound of the elapsed cycles: the largest value in ``least``, and the launches' overhead.
    """

    settings: Mapping[str, Any]
    least: Mapping[str, int]
    least_cycles: int

    @property
    def limit(self) -> str:
        """The resource that needs most cycles."""
        return max(self.least, key=lambda name: self.least[name])


def base_without_kernel(scenario: Scenario, *, exact: bool | None, stream: str) -> Base:
    """Return the common part of all candidates: the scenario without its kernel's keys and its split of K."""
    data = scenario.written()
    kernel = data.pop("kernel", {})
    if "code" in kernel:
        data["kernel"] = {"code": kernel["code"]}
    for key in _SPLIT_KEYS:
        data["problem"].pop(key, None)
    return Base(data, scenario.name, exact, stream)


def candidates_of(
    scenario: Scenario, base: Base, given: Iterable[Mapping[str, Any]] | None = None
) -> tuple[list[KernelCandidate], int]:
    """
    Return the legal candidates, ordered by their lower bound, and the number of illegal ones.

    Args:
        scenario: The scenario.
        base: The common part of all candidates.
        given: Settings to choose from; None takes the family's space.

    Raises:
        BadInput: No candidate is legal. The message says why the first is not.
    """
    machine, spaces = load_machine(scenario.machine), family_of(scenario).spaces
    found, refused = list[KernelCandidate](), list[str]()
    for settings in spaces.configurations(scenario, machine) if given is None else given:
        try:
            legal = base.scenario(settings)
        except BadInput as error:
            refused.append(str(error))
            continue
        least = spaces.least_cycles(legal, machine)
        found.append(KernelCandidate(dict(settings), least, _elapsed(max(least.values()), settings, machine)))
    if not found:
        raise BadInput(f"no configuration is legal for this problem; the first is refused: {refused[0]}")
    return sorted(found, key=lambda one: one.least_cycles), len(refused)


def _least_besides(machine: Machine) -> int:
    """Return the fewest cycles of a launch besides the work of its SMs."""
    spec = machine.launch
    return spec.overhead if spec.gpc_clocks is None else min(spec.overhead, *spec.gpc_clocks.besides)


def _elapsed(cycles: int, settings: Mapping[str, Any], machine: Machine) -> int:
    """Return the fewest elapsed cycles: a launch has an overhead, and a parallel split-K has two launches."""
    reduces = settings.get("problem.split_k") == "parallel" and settings.get("problem.split_k_slices", 1) > 1
    launches = 2 if reduces else 1
    return cycles * min(100, machine.launch.idle_clock_percent) // 100 + launches * _least_besides(machine)
