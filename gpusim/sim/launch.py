"""Simulates one kernel launch in time: either every SM, or one SM of each kind, which represents the others."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from heapq import heappop, heappush
from itertools import pairwise

import simpy

from gpusim.lower.stream import Stream
from gpusim.machine.spec import Machine
from gpusim.results.result import PipelineRow
from gpusim.results.timeline import Timeline
from gpusim.sim.code import Assembly
from gpusim.sim.cta_scheduler import CtaScheduler
from gpusim.sim.decode import assemble
from gpusim.sim.footprint import TENSOR_STRIDE, Footprint, Footprints, L2Status
from gpusim.sim.l1 import L1
from gpusim.sim.l2 import L2, SimulatedL2
from gpusim.sim.l2_walk import L2Walk
from gpusim.sim.observer import Observer
from gpusim.sim.sampling import CTAS_SIMULATED_PER_SM, SampledKind, sample, share_of, stall_cycles
from gpusim.sim.sm import Sm
from gpusim.sim.timed_kernel import AnyKernel

Progress = Callable[[str], None]


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


def simulate_launch(launch: Launch, *, exact: bool, progress: Progress) -> Outcome:
    """
    Simulate a launch, exactly or sampled.

    An exact run simulates all SMs and the L2. A sampled run assigns CTAs to SMs in advance (``Launch.queues``) and
    simulates one SM of each kind, which gets its share of the chip's bandwidth; L2 hits and misses come from
    ``l2_walk`` (D14).

    Not modelled: the semaphore that orders the slices of a serial split-K (D16).

    Args:
        launch: The launch.
        exact: Whether to simulate every SM.
        progress: Called with a line about each phase.

    Raises:
        BadInput: The machine has no figure for a pipe.
    """
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
    l2 = SimulatedL2(launch.machine, working)
    progress(f"simulating all {launch.ctas} CTAs on {working} SMs")
    watched = watched_cta(launch, range(launch.ctas))
    sms = _run(launch, l2, working, range(launch.ctas), walk=None, watched=watched)
    spans = [sm.span for sm in sms]
    return _outcome(
        launch,
        dict.fromkeys(sms, 1),
        active=sum(spans) // working,
        longest=max(spans),
        l2_sectors=l2.sectors_read,
        dram_bytes=l2.dram.bytes,
    )


def _sampled(launch: Launch, progress: Progress) -> Outcome:
    kernel, kinds = launch.kernel, sm_kinds(launch)
    simulated = [cta for kind in kinds for cta in kind.queue[:CTAS_SIMULATED_PER_SM]]
    walk = _walk(launch, max(simulated), progress)
    watched = watched_cta(launch, simulated)
    sampled = sample(
        launch.machine,
        [
            SampledKind(
                kind.queue,
                kind.count,
                share_of(launch.working, launch.ctas, len(kind.queue)),
            )
            for kind in kinds
        ],
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
        dram_bytes=walk.bytes_missed() + kernel.other_dram_bytes,
    )


def _walk(launch: Launch, last_cta: int, progress: Progress) -> L2Walk:
    """Walk all waves up to that of ``last_cta`` through the L2; all waves of the grid if they differ."""
    resident = launch.ctas_per_sm * launch.machine.sms
    waves = -(-launch.ctas // resident)
    walked = waves if launch.kernel.waves_differ else last_cta // resident + 1
    progress(f"walking {walked} of {waves} waves through the L2")
    return L2Walk(launch.kernel, resident, walked)


def _run(launch: Launch, l2: L2, ports: int, queue: Sequence[int], *, walk: L2Walk | None, watched: int) -> list[Sm]:
    """
    Run a queue of CTAs to its end, and return the SMs.

    Args:
        launch: The launch.
        l2: The L2 that the SMs share.
        ports: Number of SMs, each on its own port of the L2.
        queue: CTAs in launch order.
        walk: Hits and misses in the L2; None if the L2 itself is simulated.
        watched: CTA to watch.
    """
    machine, kernel = launch.machine, launch.kernel
    footprints = CtaFootprints(launch, walk)
    env = simpy.Environment()
    scheduler = CtaScheduler(
        env,
        machine.launch,
        queue=queue,
        slots=launch.ctas_per_sm,
        footprint=footprints.of,
        watched=watched if kernel.watch.activities else None,
    )
    carve_out = launch.ctas_per_sm * (kernel.shared_bytes + machine.limits.shared_reserved_per_cta)
    sms = [
        Sm(
            env,
            machine,
            L1(machine, l2, port, carve_out),
            assembly=lambda cta: launch.assemblies[kernel.behaviour(cta)],
            finished=scheduler.finished,
            observer=Observer(kernel.watch),
        )
        for port in range(ports)
    ]
    scheduler.start(sms)
    env.run(until=scheduler.done)
    return sms


class CtaFootprints:
    """Evaluates the footprints of a launch's CTAs. ``walk`` is None if the L2 itself is simulated."""

    def __init__(self, launch: Launch, walk: L2Walk | None) -> None:
        self._launch, self._walk = launch, walk
        self._lanes, self._known = launch.kernel.lanes(), Footprints()

    def of(self, cta: int) -> Footprint:
        """Return the footprint of one CTA; empty for a CTA that has no work."""
        kernel, walk = self._launch.kernel, self._walk
        block = int(kernel.launched[cta])
        if kernel.missing_work(block):
            return Footprint((), [], (), ())
        lanes = self._lanes.cta(block)
        copies = self._known.copies(lanes, self._bits, self._base)
        status: list[tuple[L2Status, ...]] = []
        if walk is not None:
            of_tensor = walk.status(cta)
            status = [of_tensor[kernel.tensor_of(row)] for row in range(len(copies))]
        first_wave = cta < self._launch.ctas_per_sm * self._launch.machine.sms
        return Footprint(copies, self._known.outputs(lanes), kernel.found(cta, first_wave=first_wave), status)

    def _bits(self, row: int) -> int:
        """Return the width in bits of an element of a row's tensor."""
        kernel = self._launch.kernel
        return self._lanes.operands[kernel.copied[kernel.tensor_of(row)]].bits

    def _base(self, row: int) -> int | None:
        """Return the first line of a row's tensor, or None if no cache needs lines."""
        kernel = self._launch.kernel
        needed = self._walk is None or kernel.cached_in_l1(row)
        return kernel.tensor_of(row) * TENSOR_STRIDE if needed else None


def _outcome(
    launch: Launch, stands_for: dict[Sm, int], *, active: int, longest: int, l2_sectors: int, dram_bytes: int
) -> Outcome:
    """Gather the counts of the simulated SMs."""
    sms, kernel = list(stands_for), launch.kernel
    ctas = [life.cta for sm in sms for life in sm.lives]
    watcher = next((sm.observer for sm in sms if sm.observer.retired), None)
    pipeline: tuple[PipelineRow, ...] = ()
    timeline = Timeline((), ())
    if watcher is not None:
        watched = watcher.retired[0].cta.index
        pipeline = watcher.pipeline(kernel.pipeline_rows(watched), kernel.stages)
        timeline = watcher.timeline(kernel.stages)
    return Outcome(
        active=active,
        longest=longest,
        stalls=stall_cycles(stands_for),
        pipeline=pipeline,
        timeline=timeline,
        ctas=len(ctas),
        k_tiles=sum(map(kernel.k_tiles, ctas)),
        instructions=sum(sm.instructions for sm in sms),
        sampled=len(ctas) < launch.ctas,
        asked_sectors=sum(sm.l1.sectors * count for sm, count in stands_for.items()),
        l2_sectors=l2_sectors,
        dram_bytes=dram_bytes,
    )
