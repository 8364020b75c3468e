"""Simulates an attention kernel's launch in time: every SM, or one of each kind, told by its CTAs' key blocks."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from heapq import heappop, heappush
from itertools import pairwise
from typing import TypeAlias

from gpusim.families.attention.blocks import KeyBlock, block_advance, launched_ctas
from gpusim.families.attention.code import assemble_attention
from gpusim.families.attention.counts import Behaviour, behaviour_of
from gpusim.families.attention.footprint import CtaWalk, attention_footprint
from gpusim.families.attention.l2_walk import AttentionWalk
from gpusim.families.attention.lanes import AttentionWavefronts
from gpusim.families.attention.observer import AttentionObserver
from gpusim.families.attention.problem import AttentionScenario
from gpusim.families.attention.shape import attention_shape
from gpusim.lower.stream import Stream
from gpusim.machine.spec import Machine
from gpusim.sim.assembly import Assembly
from gpusim.sim.footprint import Footprint
from gpusim.sim.kernel import Outcome, Progress, run_sms
from gpusim.sim.l2 import L2, SimulatedL2
from gpusim.sim.sampling import CTAS_SIMULATED_PER_SM, SampledKind, sample, share_of, stall_cycles
from gpusim.sim.sm import Sm

MOST_KINDS = 10
"""Kinds of SM that are simulated at most; see ``attention_sm_kinds``."""

Runs: TypeAlias = Behaviour | None
"""What tells a CTA's program; None where it finds no query."""


@dataclass(frozen=True)
class AttentionLaunch:
    """
    What to simulate.

    Attributes:
        blocks: Key blocks of every CTA in launch order; None for one that finds no query.
        streams: Of each behaviour.
        ctas_per_sm: Resident at once.
        shared_bytes: Of one CTA.
    """

    scenario: AttentionScenario
    machine: Machine
    blocks: Sequence[tuple[KeyBlock, ...] | None]
    streams: dict[Runs, Stream]
    ctas_per_sm: int
    shared_bytes: int

    @cached_property
    def behaviours(self) -> list[Runs]:
        """Of every CTA."""
        return [None if blocks is None else behaviour_of(blocks) for blocks in self.blocks]

    @cached_property
    def assemblies(self) -> dict[Runs, Assembly]:
        """Of each behaviour."""
        accesses = AttentionWavefronts(self.scenario, self.machine.shared.banks, self.machine.shared.bank_bytes)
        return {
            behaviour: assemble_attention(stream, accesses, self.machine, len(behaviour or ()))
            for behaviour, stream in self.streams.items()
        }

    @cached_property
    def walks(self) -> list[CtaWalk | None]:
        """Every CTA's place and key blocks in the order walked."""
        places = launched_ctas(self.scenario)
        onward = -1 if self.scenario.flash else 1
        return [
            None if blocks is None else CtaWalk(places[cta : cta + 1], blocks[::onward])
            for cta, blocks in enumerate(self.blocks)
        ]

    @property
    def working(self) -> int:
        """SMs that have a CTA."""
        return min(self.machine.sms, len(self.blocks))

    @cached_property
    def queues(self) -> list[list[int]]:
        """
        The CTAs of each SM, were each busy for as long as its key blocks are many, and one more.

        At first CTAs go round the SMs until each is full; then the next one goes where a CTA ends first (D30).
        """
        queues: list[list[int]] = [[] for _ in range(self.working)]
        free = [(0, slot, sm) for slot in range(self.ctas_per_sm) for sm in range(self.working)]
        for cta, blocks in enumerate(self.blocks):
            at, slot, sm = heappop(free)
            queues[sm].append(cta)
            heappush(free, (at + len(blocks or ()) + 1, slot, sm))
        return queues


def simulate_attention_launch(launch: AttentionLaunch, *, exact: bool, progress: Progress) -> Outcome:
    """
    Run a launch.

    Sampled: each SM runs the CTAs of its queue (``AttentionLaunch.queues``), and of SMs of a kind one is simulated,
    with the chip's bandwidth shared by all that have work, and hits and misses from ``attention_walk`` (D14).

    Raises:
        BadInput: No figure for a pipe.
    """
    return _exact(launch, progress) if exact else _sampled(launch, progress)


@dataclass(frozen=True, slots=True)
class AttentionSmKind:
    """
    SMs that are taken to behave alike.

    Attributes:
        queue: CTAs of the one that is simulated.
        count: How many SMs there are.
    """

    queue: list[int]
    count: int


def attention_sm_kinds(launch: AttentionLaunch) -> tuple[AttentionSmKind, ...]:
    """
    The kinds of SM; SMs without work are of none.

    SMs whose CTAs have the same key blocks in the same order are of one kind. Where these are more than ``MOST_KINDS``,
    SMs are put in order of the key blocks they walk and cut into as many kinds, of each of which that in the middle is
    simulated, of the last the last: it ends the launch.
    """
    alike: dict[tuple[Runs, ...], list[int]] = {}
    for sm, queue in enumerate(launch.queues):
        alike.setdefault(tuple(launch.behaviours[cta] for cta in queue), []).append(sm)
    if len(alike) <= MOST_KINDS:
        return tuple(AttentionSmKind(launch.queues[members[0]], len(members)) for members in alike.values())

    def work(sm: int) -> int:
        return sum(len(launch.blocks[cta] or ()) for cta in launch.queues[sm])

    ordered = sorted(range(launch.working), key=lambda sm: (work(sm), sm))
    bounds = [launch.working * kind // MOST_KINDS for kind in range(MOST_KINDS + 1)]
    cuts = [ordered[first:end] for first, end in pairwise(bounds)]
    chosen = [cut[len(cut) // 2] for cut in cuts[:-1]] + [ordered[-1]]
    return tuple(AttentionSmKind(launch.queues[sm], len(cut)) for sm, cut in zip(chosen, cuts, strict=True))


def watched_cta(launch: AttentionLaunch, ctas: Sequence[int]) -> int:
    """The first of the simulated CTAs of those with most key blocks: the one that is watched."""
    return min(ctas, key=lambda cta: (-len(launch.blocks[cta] or ()), cta))


def _exact(launch: AttentionLaunch, progress: Progress) -> Outcome:
    working, total = launch.working, len(launch.blocks)
    l2 = SimulatedL2(launch.machine, working)
    progress(f"simulating all {total} CTAs on {working} SMs")
    sms = _run(launch, l2, working, range(total), walk=None, watched=watched_cta(launch, range(total)))
    spans = [sm.span for sm in sms if sm.lives]
    return _outcome(
        launch,
        dict.fromkeys(sms, 1),
        active=sum(spans) // len(spans),
        longest=max(spans),
        l2_sectors=l2.sectors_read,
        dram_bytes=l2.dram.bytes,
    )


def _sampled(launch: AttentionLaunch, progress: Progress) -> Outcome:
    total, kinds = len(launch.blocks), attention_sm_kinds(launch)
    resident = launch.ctas_per_sm * launch.machine.sms
    progress("walking the grid through the L2")
    walk = AttentionWalk(launch.scenario, launch.machine, launch.walks, resident)
    watched = watched_cta(launch, [cta for kind in kinds for cta in kind.queue[:CTAS_SIMULATED_PER_SM]])
    sampled = sample(
        launch.machine,
        [SampledKind(kind.queue, kind.count, share_of(launch.working, total, len(kind.queue))) for kind in kinds],
        launch.ctas_per_sm,
        lambda l2, queue: _run(launch, l2, 1, queue, walk=walk, watched=watched)[0],
        progress,
    )
    return _outcome(
        launch,
        sampled.stands_for,
        active=sampled.active,
        longest=sampled.longest,
        l2_sectors=sampled.l2_sectors,
        dram_bytes=walk.bytes_missed,
    )


def _run(
    launch: AttentionLaunch, l2: L2, ports: int, queue: Sequence[int], *, walk: AttentionWalk | None, watched: int
) -> list[Sm]:
    """Simulate an SM on each of the L2's ports until the queue is empty and all CTAs are done."""
    scenario, machine = launch.scenario, launch.machine
    advance = block_advance(scenario, launched_ctas(scenario))

    def footprint(cta: int) -> Footprint:
        of = launch.walks[cta]
        if of is None:
            return Footprint((), [], (), ())
        status = walk.status(cta) if walk is not None else ()
        return attention_footprint(scenario, advance, cta, of, with_lines=walk is None, status=status)

    return run_sms(
        machine,
        l2,
        ports,
        queue,
        slots=launch.ctas_per_sm,
        carve_out=launch.ctas_per_sm * (launch.shared_bytes + machine.limits.shared_reserved_per_cta),
        assembly=lambda cta: launch.assemblies[launch.behaviours[cta]],
        footprint=footprint,
        observer=AttentionObserver,
        observed=watched,
    )


def _outcome(
    launch: AttentionLaunch, stands_for: dict[Sm, int], *, active: int, longest: int, l2_sectors: int, dram_bytes: int
) -> Outcome:
    """Gather what the simulated SMs counted."""
    sms = list(stands_for)
    ctas = [life.cta for sm in sms for life in sm.lives]
    watcher = next(sm.observer for sm in sms if sm.observer.retired)
    watched = watcher.retired[0].cta.index
    shape = attention_shape(launch.scenario)
    tiles = [
        shape.qk_tiles + shape.column_blocks * block.k_tiles(shape.pv[2])
        for cta in ctas
        for block in launch.blocks[cta] or ()
    ]
    return Outcome(
        active=active,
        longest=longest,
        stalls=stall_cycles(stands_for),
        pipeline=watcher.pipeline(len(launch.blocks[watched] or ()), 1),
        timeline=watcher.timeline(1),
        ctas=len(ctas),
        k_tiles=sum(tiles),
        instructions=sum(sm.instructions for sm in sms),
        sampled=len(ctas) < len(launch.blocks),
        asked_sectors=sum(sm.l1.sectors * count for sm, count in stands_for.items()),
        l2_sectors=l2_sectors,
        dram_bytes=dram_bytes,
    )
