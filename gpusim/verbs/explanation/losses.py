"""
Divides the machine's time into losses, which sum to 100 per cent together with the useful multiplications.

The whole is the elapsed cycles of all SMs. The simulation gives the parts of SMs without a CTA, of the launch and of
the tail. The rest is the active time of the SMs that have work. Obstacles are removed one after another: each step
simulates the launch without this obstacle and all earlier ones, and the saved time is the obstacle's share. A step that
saves no time has share 0, so the sum is exact. In the remaining time, the idle time of the tensor cores is
dependencies, issue and barriers; their busy time is divided into useful multiplications and multiplications of padding.

So an obstacle's share depends on the earlier obstacles in ``LADDER``. A what-if removes one obstacle alone, and may
gain more.
"""

from dataclasses import dataclass
from typing import Final

from gpusim.lower.estimated import tensor_core
from gpusim.results.use import tile_efficiency
from gpusim.sim.executed import executed
from gpusim.sim.launch import Launch
from gpusim.verbs.explanation import changes
from gpusim.verbs.explanation.trials import Trials

STORES: Final = "storing the output"
STAGING: Final = "output's way through shared memory"

LADDER: Final[tuple[tuple[str, changes.Change], ...]] = (
    ("bank conflicts", changes.NO_CONFLICTS),
    (STORES, changes.STORES_AT_ONCE),
    ("waiting for DRAM", changes.INFINITE_L2),
    ("waiting for the L2: pipeline exposure", changes.PERFECT_OVERLAP),
    ("start of CTAs and their code", changes.NO_LAUNCH),
    (STAGING, changes.FROM_REGISTERS),
    ("address arithmetic", changes.NO_ADDRESSES),
)
"""The obstacles in the active time, in the order of their removal, with the change that removes each."""

IDLE_SMS: Final = "SMs without a CTA"
PADDING: Final = "padding: multiplications outside the problem"
TAIL: Final = "wave tail: SMs that end before the last"


@dataclass(frozen=True, slots=True)
class Loss:
    """A share of all SMs' elapsed cycles, per cent, without useful multiplications."""

    what: str
    percent: float


@dataclass(frozen=True, slots=True)
class Budget:
    """
    The time of all SMs.

    Attributes:
        losses: The losses, in the order of their removal.
        useful: Share of useful multiplications on busy tensor cores, per cent. With the losses it sums to 100.
        tile_efficiency: Useful multiplications over those that the tensor cores execute, 0 to 1.
    """

    losses: tuple[Loss, ...]
    useful: float
    tile_efficiency: float

    def of(self, what: str) -> float:
        """Return the share of one loss, per cent; 0 if there is none of that name."""
        return sum(one.percent for one in self.losses if one.what == what)


def budget(trials: Trials) -> Budget:
    """
    Return the division of the time of all SMs.

    Args:
        trials: The simulated launches of a scenario, in order. The second one of a parallel split-K is a loss.
    """
    launches = trials.launches
    first, *others = launches
    outcome, launch = first.outcome, first.launch
    elapsed, sms = sum(one.elapsed for one in launches), launch.machine.sms
    working = launch.working / sms
    mmas = executed(launch).mmas
    mma = launch.kernel.mma
    efficiency = 1.0 if mma is None else tile_efficiency(launch.kernel.flops, mmas, mma.instruction) or 1.0
    tensor = tensor_cycles(launch, mmas) / launch.working
    span = [float(outcome.active)]
    for number in range(1, len(LADDER) + 1):
        without = trials.without([change for _, change in LADDER[:number]])
        span.append(max(tensor, min(span[-1], without.outcome.active)))
    cycles = {
        "launch overhead": first.elapsed - outcome.longest,
        TAIL: outcome.longest - outcome.active,
        "second launch: the reduction": sum(one.elapsed for one in others),
        **{what: before - after for (what, _), before, after in zip(LADDER, span, span[1:], strict=False)},
        "dependencies, issue and barriers": span[-1] - tensor,
        PADDING: tensor * (1 - efficiency),
    }
    losses = (
        Loss(IDLE_SMS, 100 * (1 - working)),
        *(Loss(what, 100 * working * own / elapsed) for what, own in cycles.items()),
    )
    return Budget(losses, 100 * working * tensor * efficiency / elapsed, efficiency)


def tensor_cycles(launch: Launch, mmas: int) -> float:
    """Return the SM cycles, over all SMs, for which a launch's MMAs take the tensor cores; 0 without any."""
    mma, machine = launch.kernel.mma, launch.machine
    return 0.0 if mma is None else mmas * tensor_core(mma, machine).interval / machine.smsps
