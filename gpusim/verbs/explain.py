"""Explains a scenario: its bound, the use of each per cent of the machine's time, and changes that would help."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from gpusim.errors import BadInput
from gpusim.families.registry import family_of, parse_scenario
from gpusim.machine.load import load_machine
from gpusim.results.bound import Bound, bound_of
from gpusim.results.resources import Resource, resources_of
from gpusim.results.result import NOT_COMPILED, Result
from gpusim.scenario.models import Scenario
from gpusim.verbs.explanation.conflicts import Collision, collisions
from gpusim.verbs.explanation.counters import ExpectedCounter, expected_counters
from gpusim.verbs.explanation.losses import Budget, budget
from gpusim.verbs.explanation.residency import Residency, occupancy
from gpusim.verbs.explanation.roles import role_budget, role_what_ifs
from gpusim.verbs.explanation.schedules import WhatIf
from gpusim.verbs.explanation.sentences import sentences, verdict
from gpusim.verbs.explanation.trials import Trials
from gpusim.verbs.explanation.what_if import what_ifs
from gpusim.verbs.simulate import SimulatedLaunch, simulate, simulate_launches


@dataclass(frozen=True, slots=True)
class Explanation:
    """
    The explanation of one scenario.

    Attributes:
        verdict: The main limit, in one sentence.
        sentences: The explanation, one sentence for each topic.
        bound: The bound: a resource that is used close to its peak, else the largest stall reason.
        budget: Division of the time of all SMs. Losses and useful multiplications sum to 100 per cent.
        resources: Use of every resource's peak, the most used first.
        occupancy: CTAs that an SM holds, and the resource that limits them.
        what_if: Changes with their simulated gain, the largest first.
        conflicts: The worst collision of each operation that has bank conflicts, with layouts that remove it.
        counters: ncu's counters that show the conflicts, and those that count something else.
        result: The simulated result.
    """

    verdict: str
    sentences: tuple[str, ...]
    bound: Bound
    budget: Budget
    resources: tuple[Resource, ...]
    occupancy: Residency
    what_if: tuple[WhatIf, ...]
    conflicts: tuple[Collision, ...]
    counters: tuple[ExpectedCounter, ...]
    result: Result

    def __hash__(self) -> int:
        """Return a hash; equal explanations have equal hashes."""
        return hash((self.verdict, self.sentences))

    def to_dict(self) -> dict[str, Any]:
        """Return the explanation as plain data, as ``gpusim explain --json`` prints it."""
        return {
            "scenario": self.result.scenario,
            "stream": self.result.stream,
            **({NOT_COMPILED: self.result.provenance[NOT_COMPILED]} if NOT_COMPILED in self.result.provenance else {}),
            "cycles": asdict(self.result.cycles),
            "verdict": self.verdict,
            "sentences": list(self.sentences),
            "bound": asdict(self.bound),
            "losses": [asdict(one) for one in self.budget.losses],
            "useful_percent": self.budget.useful,
            "tile_efficiency": self.budget.tile_efficiency,
            "resources": [asdict(one) for one in self.resources],
            "occupancy": asdict(self.occupancy),
            "what_if": [{**asdict(one), "settings": dict(one.settings)} for one in self.what_if],
            "conflicts": [asdict(one) for one in self.conflicts],
            "counters": [asdict(one) for one in self.counters],
        }


def explain(
    what: Scenario | Result,
    *,
    exact: bool | None = None,
    stream: str = "auto",
    progress: Callable[[str], None] | None = None,
) -> Explanation:
    """
    Explain a scenario, or a result that was simulated before.

    The scenario is simulated once as it is, once for each step of ``losses.LADDER``, and once for each change of
    ``what_if``.

    Args:
        what: The scenario, or a result, whose scenario is simulated again with a stream of the same origin.
        exact: As of ``simulate``; a result is simulated as it was before.
        stream: As of ``simulate``; a result keeps its own.
        progress: Called with a line about each phase.

    Raises:
        BadInput: The machine cannot run this kernel, or the result has a user's machine code.
        CannotRun: Streams are to be compiled, but one is not shipped and no compiler is installed.
    """
    say = progress or (lambda _: None)
    if isinstance(what, Result):
        if "cubin" in what.provenance:
            raise BadInput(
                "a run of a user's --cubin cannot be explained: its machine code is not in the run directory"
            )
        exact = not what.simulated.sampled if exact is None else exact
        scenario, stream = parse_scenario(what.scenario, "the run"), what.stream
    else:
        scenario = what
    if family_of(scenario).has("simulated"):
        return _of_roles(scenario, simulate(scenario, stream=stream, progress=say)[0], say)
    result, launches = simulate_launches(scenario, exact=exact, stream=stream, progress=say)
    return explanation(scenario, result, launches, exact=exact, say=say)


def explanation(
    scenario: Scenario,
    result: Result,
    launches: tuple[SimulatedLaunch, ...],
    *,
    exact: bool | None,
    say: Callable[[str], None],
) -> Explanation:
    """Explain a simulated scenario; arguments as of ``explain``."""
    say("taking obstacles away one after another")
    trials = Trials(launches, exact=exact)
    shares = budget(trials)
    used = resources_of(result)
    bound, holds = bound_of(used, result.stalls), occupancy(result, launches[0])
    changes = what_ifs(scenario, result, trials, exact=exact, say=say)
    working, sms = launches[0].launch.working, launches[0].launch.machine.sms
    return Explanation(
        verdict=verdict(result, shares, bound, working=working, sms=sms),
        sentences=sentences(result, shares, used, holds, changes, working=working, sms=sms, axes=_axes(scenario)),
        bound=bound,
        budget=shares,
        resources=used,
        occupancy=holds,
        what_if=changes,
        conflicts=collisions(scenario, result.bank_conflicts),
        counters=expected_counters(result.bank_conflicts),
        result=result,
    )


def _of_roles(scenario: Scenario, result: Result, say: Callable[[str], None]) -> Explanation:
    """Explain a kernel whose warps have roles."""
    used, family = resources_of(result), family_of(scenario)
    bound, machine = bound_of(used, result.stalls), load_machine(scenario.machine)
    shares = role_budget(result, min(result.ctas, machine.sms) / machine.sms)
    return Explanation(
        verdict=family.explained.verdict(result, bound),
        sentences=family.explained.sentences(result, used),
        bound=bound,
        budget=shares,
        resources=used,
        occupancy=Residency(1, "shared_memory", family.simulations.warps(scenario), machine.limits.max_warps),
        what_if=role_what_ifs(scenario, result, family.explained.changes(scenario), say),
        conflicts=(),
        counters=(),
        result=result,
    )


def _axes(scenario: Scenario) -> str:
    """Return the extents of a product and of its tiles, in words; empty without such tiles."""
    extents: Mapping[str, int] | None = getattr(getattr(scenario, "problem", None), "extents", None)
    kernel = scenario.resolved()["kernel"]
    if extents is None or "threadblock" not in kernel:
        return ""
    pairs = zip("MNK", tuple(extents), kernel["threadblock"], strict=False)
    return ", ".join(f"{axis} {own:,} in tiles of {tile}" for axis, own, tile in pairs)
