"""What is executed: the roles of all CTAs of each cluster."""

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

from gpusim.errors import Unsupported
from gpusim.families.hopper.collective import Collective, collective_of
from gpusim.families.hopper.problem import HopperScenario
from gpusim.families.hopper.program.ops import RoleOp
from gpusim.families.hopper.program.roles import WarpRole, roles_of
from gpusim.families.hopper.program.tiles import Place
from gpusim.families.hopper.work import place_of, work_of
from gpusim.machine import load_machine
from gpusim.tile.scheduler.cta_work import WorkUnit

BlockIndex: TypeAlias = tuple[int, int, int]
"""blockIdx."""

RoleChange: TypeAlias = Callable[["CtaProgram", WarpRole], tuple[RoleOp, ...]]


@dataclass(frozen=True, slots=True)
class CtaProgram:
    """
    One CTA.

    Attributes:
        block: Its blockIdx.
        place: Its place in the cluster.
        units: Its tiles.
        roles: Its roles.
    """

    block: BlockIndex
    place: Place
    units: tuple[WorkUnit, ...]
    roles: tuple[WarpRole, ...]

    def __str__(self) -> str:
        return f"CTA {self.block}"


@dataclass(frozen=True, slots=True)
class ClusterProgram:
    """
    One cluster.

    Attributes:
        collective: The kernel.
        ctas: Its CTAs by rank.
    """

    collective: Collective
    ctas: tuple[CtaProgram, ...]

    def with_ops(self, change: RoleChange) -> "ClusterProgram":
        """Return the cluster with other operations of its roles."""
        ctas = (replace(cta, roles=tuple(replace(r, ops=change(cta, r)) for r in cta.roles)) for cta in self.ctas)
        return replace(self, ctas=tuple(ctas))

    def with_units(self, change: Callable[[tuple[WorkUnit, ...]], tuple[WorkUnit, ...]]) -> "ClusterProgram":
        """Return the cluster with other tiles."""
        made = (cta_program(self.collective, cta.block, cta.place, change(cta.units)) for cta in self.ctas)
        return replace(self, ctas=tuple(made))


def cta_program(collective: Collective, block: BlockIndex, place: Place, units: tuple[WorkUnit, ...]) -> CtaProgram:
    """Return a CTA's program."""
    return CtaProgram(block, place, units, roles_of(collective, place, units))


def cluster_programs(scenario: HopperScenario) -> tuple[ClusterProgram, ...]:
    """
    Return the program of every cluster, in launch order of their first CTAs.

    Raises:
        Unsupported: CTAs share tiles, whose sums meet in a workspace.
    """
    work = work_of(scenario, load_machine(scenario.machine).sms)
    if work.rows[:, WorkUnit._fields.index("fixup")].any():
        raise Unsupported("stream_k: the sums of CTAs that share a tile meet in a workspace, which is not executed")
    collective, (along_m, along_n) = collective_of(scenario), scenario.kernel.cluster
    clusters: dict[BlockIndex, list[CtaProgram]] = defaultdict(list)
    for x, y, z in work.blocks().tolist():
        units, place = tuple(work.of(x, y, z)), place_of(scenario, x, y)
        clusters[x // along_m, y // along_n, z].append(cta_program(collective, (x, y, z), place, units))
    return tuple(
        ClusterProgram(collective, tuple(sorted(ctas, key=lambda cta: cta.place.rank))) for ctas in clusters.values()
    )
