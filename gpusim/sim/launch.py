"""Simulates one kernel launch in time: either every SM, or one SM of each kind, which represents the others."""

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from heapq import heappop, heappush
from itertools import pairwise

from gpusim.lower.stream import Stream
from gpusim.machine.spec import Machine
from gpusim.results.result import PipelineRow
from gpusim.results.timeline import Timeline
from gpusim.sim.code import Assembly
from gpusim.sim.core.engine import engine
from gpusim.sim.decode import assemble
from gpusim.sim.l2_walk import L2Walk
from gpusim.sim.run import Ran, Resident, run_sms
from gpusim.sim.sampling import CTAS_SIMULATED_PER_SM, SampledKind, sample, share_of
from gpusim.sim.stall_reasons import REASONS
from gpusim.sim.tables import code_of
from gpusim.sim.timed_kernel import AnyKernel

Progress = Callable[[str], None]

EXACT_AT_MOST = 20_000_000
"""
Largest number of warp instructions that are simulated exactly unless sampling is asked for.

A compiled core takes about a second for them. The number is the same for an interpreted one, so that a result does not
depend on the machine it was made on.
"""

INTERPRETED_RATE = 400_000
"""Warp instructions that an interpreted core executes in a second, about."""


@dataclass(frozen=True)
class Launch:
    """
    A kernel launch to simulate.

    Attributes:
        kernel: The kernel, with its CTAs and its machine.
        streams: Instruction stream of each behaviour of its CTAs.
        ctas_per_sm: Number of CTAs that are resident on an SM at once.
    """

    kernel: AnyKernel
    streams: Mapping[Hashable, Stream]
    ctas_per_sm: int

    @property
    def machine(self) -> Machine:
        """The machine that the kernel runs on."""
        return self.kernel.machine

    @property
    def ctas(self) -> int:
        """Number of CTAs that are launched."""
        return len(self.kernel.launched)

    @cached_property
    def assemblies(self) -> dict[Hashable, Assembly]:
        """Decoded code of each behaviour."""
        return {behaviour: assemble(stream, self.kernel, behaviour) for behaviour, stream in self.streams.items()}

    @cached_property
    def kinds(self) -> list[Hashable]:
        """Kind of every CTA. CTAs of equal kind take equal time under equal conditions."""
        behaviours, streams = list(self.streams), list(self.streams.values())
        runs = {one: behaviours[streams.index(stream)] for one, stream in self.streams.items()}
        behaviour_of = map(self.kernel.behaviour, range(self.ctas))
        return [self.kernel.kind(cta, runs.get(one, one)) for cta, one in enumerate(behaviour_of)]

    @cached_property
    def executed(self) -> Counter[Hashable]:
        """Number of CTAs of each behaviour."""
        return Counter(map(self.kernel.behaviour, range(self.ctas)))

    @property
    def instructions(self) -> int:
        """Number of warp instructions that the grid executes."""
        warps = self.kernel.lanes().warps
        return sum(self.streams[one].instructions_per_warp * ctas for one, ctas in self.executed.items()) * warps

    @property
    def working(self) -> int:
        """Number of SMs that have a CTA to run."""
        return min(self.machine.sms, self.ctas)

    @cached_property
    def queues(self) -> list[list[int]]:
        """
        The CTAs of each SM, in launch order, for a sampled run (D30).

        A CTA is assumed to take time in proportion to its work plus one. The SMs get one CTA each in turn until all are
        full; then the next CTA goes to the SM on which a CTA ends first. If all CTAs are alike, SM r of n has the CTAs
        r, r + n, r + 2n, ...
        """
        queues: list[list[int]] = [[] for _ in range(self.working)]
        free = [(0, slot, sm) for slot in range(self.ctas_per_sm) for sm in range(self.working)]
        for cta in range(self.ctas):
            at, slot, sm = heappop(free)
            queues[sm].append(cta)
            heappush(free, (at + self.kernel.work(cta) + 1, slot, sm))
        return queues

    @cached_property
    def _resident(self) -> Resident:
        """What each SM holds, whatever its queue."""
        code = code_of(self.assemblies, self.machine.instruction_cache.stream_lines)
        return Resident(self.kernel, self.assemblies, code, self.ctas_per_sm)

    def run(self, queue: Sequence[int], *, sms: int, share: int, walk: L2Walk | None, watched: int) -> Ran:
        """Run a queue of its CTAs to its end; arguments as of ``run_sms``."""
        return run_sms(self._resident, queue, sms=sms, share=share, walk=walk, watched=watched)


@dataclass(frozen=True, slots=True)
class SmKind:
    """
    SMs that are assumed to behave alike.

    Attributes:
        queue: CTAs of the SM that is simulated for all of them.
        count: Number of SMs of this kind.
    """

    queue: Sequence[int]
    count: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """
    The outcome of a simulated launch. A simulated SM counts as many times as the number of SMs that it represents.

    Attributes:
        active: Mean active span of the SMs that have work, cycles.
        longest: Longest active span, cycles.
        stalls: Warp cycles by stall reason.
        pipeline, timeline: Pipeline rows and timeline of the watched CTA.
        ctas: Number of CTAs simulated.
        k_tiles: Number of k tiles simulated.
        instructions: Number of warp instructions simulated.
        sampled: Whether only some of the CTAs were simulated.
        asked_sectors: Sectors that copies and loads requested.
        l2_sectors: Sectors that SMs read from L2; the others hit L1.
        dram_bytes: Bytes that the whole chip read from DRAM.
        seconds: Wall time of the core's execution.
    """

    active: int
    longest: int
    stalls: dict[str, int]
    pipeline: tuple[PipelineRow, ...]
    timeline: Timeline
    ctas: int
    k_tiles: int
    instructions: int
    sampled: bool
    asked_sectors: int
    l2_sectors: int
    dram_bytes: int
    seconds: float = field(compare=False)


def simulate_launch(launch: Launch, *, exact: bool | None, progress: Progress) -> Outcome:
    """
    Simulate a launch, exactly or sampled.

    An exact run simulates all SMs and the L2. A sampled run assigns CTAs to SMs in advance (``Launch.queues``) and
    simulates one SM of each kind, which gets its share of the chip's bandwidth; L2 hits and misses come from
    ``l2_walk`` (D14).

    Not modelled: the semaphore that orders the slices of a serial split-K (D16).

    Args:
        launch: The launch.
        exact: Whether to simulate every SM; None if it has at most ``EXACT_AT_MOST`` warp instructions.
        progress: Called with a line about each phase.

    Raises:
        BadInput: The machine has no figure for a pipe.
    """
    if exact is None:
        exact = launch.instructions <= EXACT_AT_MOST
    return _exact(launch, progress) if exact else _sampled(launch, progress)


def sm_kinds(launch: Launch) -> tuple[SmKind, ...]:
    """
    Group the SMs that have work into kinds.

    SMs whose CTAs are of the same kinds in the same order form one kind; the kind of SM 0 comes first. If that makes
    more kinds than the kernel's ``most_kinds``, the SMs are instead sorted by the work of their CTAs and cut into
    ``most_kinds`` groups. The SM in the middle of a group represents it. The last group is represented by its last SM,
    which ends the launch.
    """
    kernel, queues = launch.kernel, launch.queues
    alike: dict[tuple[Hashable, ...], list[int]] = {}
    for sm, queue in enumerate(queues):
        alike.setdefault(tuple(launch.kinds[cta] for cta in queue), []).append(sm)
    most = kernel.most_kinds
    if len(alike) <= most:
        return tuple(SmKind(queues[members[0]], len(members)) for members in alike.values())

    def work(sm: int) -> int:
        return sum(kernel.work(cta) for cta in queues[sm])

    ordered = sorted(range(launch.working), key=lambda sm: (work(sm), sm))
    bounds = [launch.working * kind // most for kind in range(most + 1)]
    cuts = [ordered[first:end] for first, end in pairwise(bounds)]
    chosen = [cut[len(cut) // 2] for cut in cuts[:-1]] + [ordered[-1]]
    return tuple(SmKind(queues[sm], len(cut)) for sm, cut in zip(chosen, cuts, strict=True))


def watched_cta(launch: Launch, ctas: Sequence[int]) -> int:
    """Return the CTA to watch: the one with most work, and the first of several with equal work."""
    return min(ctas, key=lambda cta: (-launch.kernel.work(cta), cta))


def _exact(launch: Launch, progress: Progress) -> Outcome:
    working = launch.working
    progress(f"simulating all {launch.ctas} CTAs on {working} SMs{_cost(launch)}")
    watched = watched_cta(launch, range(launch.ctas))
    ran = launch.run(range(launch.ctas), sms=working, share=1, walk=None, watched=watched)
    spans = ran.spans()
    return _outcome(
        launch,
        [(ran, 1)],
        active=sum(spans) // working,
        longest=max(spans),
        l2_sectors=ran.l2_sectors,
        dram_bytes=ran.dram_bytes,
    )


def _cost(launch: Launch) -> str:
    """Return what an interpreted run of all CTAs will take; nothing for a compiled one, which takes seconds."""
    if engine().name == "compiled":
        return ""
    seconds = max(1, round(launch.instructions / INTERPRETED_RATE))
    return f": {launch.instructions:,} warp instructions, about {seconds:,} s with the interpreted core"


def _sampled(launch: Launch, progress: Progress) -> Outcome:
    kernel, kinds = launch.kernel, sm_kinds(launch)
    simulated = [cta for kind in kinds for cta in kind.queue[:CTAS_SIMULATED_PER_SM]]
    walk = _walk(launch, max(simulated), progress)
    watched = watched_cta(launch, simulated)
    sampled = sample(
        [
            SampledKind(
                kind.queue,
                kind.count,
                share_of(launch.working, launch.ctas, len(kind.queue)),
            )
            for kind in kinds
        ],
        launch.ctas_per_sm,
        lambda queue, share: launch.run(queue, sms=1, share=share, walk=walk, watched=watched),
        progress,
    )
    return _outcome(
        launch,
        sampled.stands_for,
        active=sampled.active,
        longest=sampled.longest,
        l2_sectors=sampled.l2_sectors,
        dram_bytes=walk.bytes_missed() + kernel.other_dram_bytes,
    )


def _walk(launch: Launch, last_cta: int, progress: Progress) -> L2Walk:
    """Walk all waves up to that of ``last_cta`` through the L2; all waves of the grid if they differ."""
    resident = launch.ctas_per_sm * launch.machine.sms
    waves = -(-launch.ctas // resident)
    walked = waves if launch.kernel.waves_differ else last_cta // resident + 1
    progress(f"walking {walked} of {waves} waves through the L2")
    return L2Walk(launch.kernel, resident, walked)


def _outcome(
    launch: Launch,
    stands_for: Sequence[tuple[Ran, int]],
    *,
    active: int,
    longest: int,
    l2_sectors: int,
    dram_bytes: int,
) -> Outcome:
    """Gather the counts of the simulated SMs, each with the number of SMs that it represents."""
    kernel = launch.kernel
    ctas = [life.cta for ran, _ in stands_for for life in ran.lives]
    observer = next((ran.observer for ran, _ in stands_for if ran.observer is not None), None)
    cycles = [sum(ran.stalls[reason] * count for ran, count in stands_for) for reason in range(len(REASONS))]
    return Outcome(
        active=active,
        longest=longest,
        stalls={reason: own for reason, own in zip(REASONS, cycles, strict=True) if own},
        pipeline=() if observer is None else observer.pipeline(kernel.pipeline_rows(observer.cta), kernel.stages),
        timeline=Timeline((), ()) if observer is None else observer.timeline(kernel.stages),
        ctas=len(ctas),
        k_tiles=sum(map(kernel.k_tiles, ctas)),
        instructions=sum(ran.instructions for ran, _ in stands_for),
        sampled=len(ctas) < launch.ctas,
        asked_sectors=sum(ran.asked_sectors * count for ran, count in stands_for),
        l2_sectors=l2_sectors,
        dram_bytes=dram_bytes,
        seconds=sum(ran.seconds for ran, _ in stands_for),
    )
