"""Simulates one kernel launch in time: either every SM, or some SMs, which represent the others."""

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import NamedTuple

from gpusim.lower.stream import Stream
from gpusim.machine.spec import Machine
from gpusim.results.result import PipelineRow
from gpusim.results.timeline import Timeline
from gpusim.sim.code import Assembly
from gpusim.sim.columns import Code, column
from gpusim.sim.core.engine import engine
from gpusim.sim.cta_scheduler import groups_of_places
from gpusim.sim.decode import Known, assemble
from gpusim.sim.doubt import SampleDoubt, doubt_of
from gpusim.sim.l2_walk import L2Walk
from gpusim.sim.pace import Progress, silent
from gpusim.sim.run import Ran, Resident, run_sms
from gpusim.sim.sampling import WHOLE_AT_MOST, hangs_on_a_few, take_sample
from gpusim.sim.stall_reasons import REASONS
from gpusim.sim.tables import code_of
from gpusim.sim.timed_kernel import AnyKernel, KernelCtas

EXACT_AT_MOST = 50_000_000
"""
Largest number of warp instructions that are simulated exactly unless sampling is asked for.

A compiled core takes four to ten seconds for them. The limit is the same for an interpreted core, so that a result does
not depend on where it was made.
"""

INTERPRETED_RATE = 150_000
"""Approximate warp instructions per second of an interpreted core (reports/bench.md, exact runs of GEMMs)."""

COMPILED_RATE = 8_000_000
"""Approximate warp instructions per second of a compiled core."""


class DecodedCode(NamedTuple):
    """
    Decoded code of the behaviours of a kernel's CTAs.

    Attributes:
        assemblies: The code of each behaviour.
        code: The code as columns.
    """

    assemblies: dict[Hashable, Assembly]
    code: Code


def _decoded(kernel: AnyKernel, streams: Mapping[Hashable, Stream]) -> DecodedCode:
    known: Known = {}
    # A kernel returns one stream object for all behaviours that execute the same.
    of_stream: dict[int, Assembly] = {}
    assemblies = {}
    for behaviour, stream in streams.items():
        if id(stream) not in of_stream:
            of_stream[id(stream)] = assemble(stream, kernel, behaviour, known)
        assemblies[behaviour] = of_stream[id(stream)]
    return DecodedCode(assemblies, code_of(assemblies, kernel.machine.instruction_cache.stream_lines))


@lru_cache(maxsize=32)
def _lent(lender: AnyKernel, behaviours: tuple[Hashable, ...]) -> DecodedCode:
    """Decode the estimated code of a kernel that shares it with others."""
    return _decoded(lender, {behaviour: lender.stream(behaviour, "estimated") for behaviour in behaviours})


def _with_trips(assembly: Assembly, stream: Stream) -> Assembly:
    """Return the code of a stream that differs from the decoded one in the trips of its segments alone."""
    trips = (segment.trips for role in assembly.roles for segment in stream.of(role.name))
    return assembly.with_segments(segment._replace(trips=next(trips)) for segment in assembly.segments)


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
    def decoded(self) -> DecodedCode:
        """The decoded code; a kernel's ``lender`` may already have decoded it."""
        lender = self.kernel.lender
        if lender is self.kernel or any(stream.origin != "estimated" for stream in self.streams.values()):
            return _decoded(self.kernel, self.streams)
        lent = _lent(lender, tuple(self.streams))
        assemblies = {one: _with_trips(assembly, self.streams[one]) for one, assembly in lent.assemblies.items()}
        trips = [segment.trips for assembly in assemblies.values() for segment in assembly.segments]
        return DecodedCode(assemblies, replace(lent.code, trips=column(trips)))

    @property
    def assemblies(self) -> dict[Hashable, Assembly]:
        """Decoded code of each behaviour."""
        return self.decoded.assemblies

    @cached_property
    def kinds(self) -> list[Hashable]:
        """Kind of every CTA. CTAs of equal kind take equal time under equal conditions."""
        distinct: list[tuple[Hashable, Stream]] = []
        first: dict[int, Hashable] = {}
        for one, stream in self.streams.items():
            if id(stream) not in first:
                known = next((behaviour for behaviour, other in distinct if other == stream), None)
                first[id(stream)] = one if known is None else known
                if known is None:
                    distinct.append((one, stream))
        runs = {one: first[id(stream)] for one, stream in self.streams.items()}
        behaviour_of = map(self.kernel.behaviour, range(self.ctas))
        return [self.kernel.kind(cta, runs.get(one, one)) for cta, one in enumerate(behaviour_of)]

    @cached_property
    def is_even(self) -> bool:
        """Whether all CTAs are of equal work."""
        return len(set(map(self.kernel.work, range(self.ctas)))) == 1

    @cached_property
    def executed(self) -> Counter[Hashable]:
        """Number of CTAs of each behaviour."""
        return Counter(map(self.kernel.behaviour, range(self.ctas)))

    @cached_property
    def instructions(self) -> int:
        """Number of warp instructions that the grid executes."""
        lanes = self.kernel.lanes()
        distinct = {id(stream): stream for stream in self.streams.values()}
        of_cta = {one: stream.warp_instructions(lanes) for one, stream in distinct.items()}
        return sum(of_cta[id(self.streams[one])] * ctas for one, ctas in self.executed.items())

    @property
    def working(self) -> int:
        """Number of SMs that have a CTA to run."""
        return min(self.machine.sms, self.ctas)

    @cached_property
    def _resident(self) -> Resident:
        """The part of a run's input that does not depend on the queue."""
        return Resident(self.kernel, self.assemblies, self.decoded.code, self.ctas_per_sm)

    def run(
        self,
        queue: Sequence[int],
        *,
        sms: int,
        share: int,
        walk: L2Walk | None,
        watched: int,
        progress: Progress = silent,
    ) -> Ran:
        """Run a queue of the launch's CTAs to its end; arguments as of ``run_sms``."""
        return run_sms(self._resident, queue, sms=sms, share=share, walk=walk, watched=watched, progress=progress)


@dataclass(frozen=True, slots=True)
class Outcome:
    """
    The outcome of a simulated launch. Stalls of a simulated SM count once for each SM that it represents.

    Attributes:
        active: Mean active span of the SMs that have work, cycles.
        longest: Longest active span, cycles.
        stalls: Warp cycles by stall reason.
        pipeline, timeline: Pipeline rows and timeline of the watched CTA.
        ctas: Number of CTAs simulated.
        k_tiles: Number of k tiles simulated.
        instructions: Number of warp instructions simulated.
        sampled: Whether only some of the CTAs were simulated.
        l2_sectors: Sectors that are looked up in the L2: reads that are not merged, and requests to the other
            partition. A sample's are scaled by its part of the launch's instructions.
        dram_bytes, dram_written: Bytes that the whole chip read from DRAM, and wrote to it.
        elapsed_error_percent, dram_error_percent: How far ``longest`` and ``dram_bytes`` may be from those of an exact
            run, either way; 0 for an exact run.
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
    l2_sectors: int
    dram_bytes: int
    dram_written: int
    elapsed_error_percent: float
    dram_error_percent: float
    seconds: float = field(compare=False)


def simulate_launch(launch: Launch, *, exact: bool | None, progress: Progress) -> Outcome:
    """
    Simulate a launch, exactly or sampled.

    An exact run simulates all SMs and the L2. A sampled run simulates a smaller chip, with a part of the SMs, of the
    CTAs (``take_sample``) and of the bandwidth. Its L2 hits and misses come from ``l2_walk``, its DRAM reads from
    ``timed_walk`` (D14).

    Up to ``WHOLE_AT_MOST`` warp instructions, a launch is simulated whole if a sample cannot tell its time: because the
    time is left to chance (``left_to_chance``), or because DRAM or the L2 is busy most of the time. Unless sampling is
    asked for, it is also simulated whole if its DRAM reads depend on how far CTAs drift apart.

    Not modelled: a slice of a serial split-K that waits for a slice outside the sample (D16).

    Args:
        launch: The launch.
        exact: Whether to simulate every SM. None: simulate every SM if there are at most ``EXACT_AT_MOST`` warp
            instructions, or if a sample cannot tell the DRAM reads.
        progress: Called with a line about each phase.

    Raises:
        BadInput: The machine has no figure for a pipe.
    """
    if exact or (exact is None and launch.instructions <= EXACT_AT_MOST):
        return _exact(launch, progress)
    may_be_whole, untold = launch.instructions <= WHOLE_AT_MOST, left_to_chance(launch)
    if not (may_be_whole and untold):
        sampled, doubt = simulate_sample(launch, progress)
        untold = doubt.time or (doubt.bytes if exact is None else "")
        if not (may_be_whole and untold):
            return sampled
    progress(f"a sample cannot tell {untold}")
    return _exact(launch, progress)


def left_to_chance(launch: Launch) -> str:
    """
    Return why no sample can tell the time of a launch, or "" if nothing is known against one.

    A few CTAs may decide the time: those with more work (D30), or those left over after the last full wave. And where
    warps alternate between tensor cores and other pipes, the CTAs of an SM fall into or out of step, differently on
    each SM.
    """
    if not launch.is_even and launch.instructions <= EXACT_AT_MOST:
        return "which SM ends last"
    if hangs_on_a_few(launch.ctas, working=launch.working, slots=launch.ctas_per_sm):
        return "which SM gets the CTAs that are left over"
    if launch.kernel.alternates and launch.ctas_per_sm > 1:
        return "how the CTAs of an SM fall into step"
    return ""


def watched_cta(launch: Launch, ctas: Sequence[int]) -> int:
    """Return the CTA to watch: the first CTA with the most work."""
    return min(ctas, key=lambda cta: (-launch.kernel.work(cta), cta))


def _exact(launch: Launch, progress: Progress) -> Outcome:
    working = launch.working
    progress(f"simulating every CTA: {launch.ctas:,}, on {working} of {launch.machine.sms} SMs{_cost(launch)}")
    watched = watched_cta(launch, range(launch.ctas))
    ran = launch.run(range(launch.ctas), sms=working, share=1, walk=None, watched=watched, progress=progress)
    return _outcome(launch, ran, 1, dram_bytes=ran.dram_bytes, dram_written=ran.dram_written)


def _cost(launch: Launch) -> str:
    """Return, in words, how long a run of all CTAs will take; "" for a few seconds of a compiled core."""
    name = engine().name
    if name == "compiled" and launch.instructions <= EXACT_AT_MOST:
        return ""
    seconds = max(1, round(launch.instructions / (COMPILED_RATE if name == "compiled" else INTERPRETED_RATE)))
    return f": {launch.instructions:,} warp instructions, about {seconds:,} s with the {name} core"


def simulate_sample(launch: Launch, progress: Progress) -> tuple[Outcome, SampleDoubt]:
    """Simulate some CTAs of a launch on some SMs; return the outcome and the doubts about it."""
    kernel = launch.kernel
    sample = take_sample(
        launch.kinds,
        working=launch.working,
        slots=launch.ctas_per_sm,
        instructions=launch.instructions,
        is_even=launch.is_even,
        first=_first_of_chains(kernel, launch.ctas) if kernel.orders_slices else None,
    )
    resident = launch.ctas_per_sm * launch.machine.sms
    waves = -(-launch.ctas // resident)
    progress(f"walking the CTAs through the L2, wave by wave: {waves:,}")
    units = launch.machine.launch.units
    groups = groups_of_places(resident, launch.machine.sms, launch.ctas_per_sm, units)
    walk = L2Walk(kernel, resident, waves, groups, progress)
    progress(
        f"simulating a sample: {len(sample.ctas):,} of {launch.ctas:,} CTAs, "
        f"on {sample.sms} of the {launch.working} SMs that have work"
    )
    watched = watched_cta(launch, sample.ctas)
    ran = launch.run(sample.ctas, sms=sample.sms, share=sample.share, walk=walk, watched=watched, progress=progress)
    doubt = doubt_of(
        kernel,
        ran,
        working=launch.working,
        elapsed=max(ran.spans()),
        looked_up=_looked_up(launch, ran),
        stored=ran.stored_bytes * sample.share,
        busy=kernel.mma is not None,
        untold=left_to_chance(launch),
    )
    read, written = doubt.dram_bytes, doubt.dram_written
    return _outcome(launch, ran, sample.share, dram_bytes=read, dram_written=written, doubt=doubt), doubt


def _looked_up(launch: Launch, ran: Ran) -> int:
    """Return the sectors that the whole launch looks up in the L2, scaled up if only some CTAs were simulated."""
    if len(ran.lives) == launch.ctas:
        return ran.looked_up
    return ran.looked_up * launch.instructions // ran.instructions


def _first_of_chains(kernel: KernelCtas, ctas: int) -> list[int]:
    """Return for each CTA the first CTA of the chain that its epilogue waits for, or itself if it waits for none."""
    first = list(range(ctas))
    for cta in range(ctas):
        before = kernel.follows(cta)
        if before >= 0:
            first[cta] = first[before]
    return first


def _outcome(
    launch: Launch, ran: Ran, share: int, *, dram_bytes: int, dram_written: int, doubt: SampleDoubt | None = None
) -> Outcome:
    """Gather the counts of the simulated SMs, each of which represents ``share`` SMs."""
    kernel, observer, spans = launch.kernel, ran.observer, ran.spans()
    ctas = [life.cta for life in ran.lives]
    sampled = len(ctas) < launch.ctas
    return Outcome(
        active=sum(spans) // len(spans),
        longest=max(*spans, ran.acknowledged - min(life.launched for life in ran.lives)),
        stalls={reason: own * share for reason, own in zip(REASONS, ran.stalls, strict=True) if own},
        pipeline=() if observer is None else observer.pipeline(kernel.pipeline_rows(observer.cta), kernel.stages),
        timeline=Timeline((), ()) if observer is None else observer.timeline(kernel.stages),
        ctas=len(ctas),
        k_tiles=sum(map(kernel.k_tiles, ctas)),
        instructions=ran.instructions,
        sampled=sampled,
        l2_sectors=_looked_up(launch, ran),
        dram_bytes=dram_bytes,
        dram_written=dram_written,
        elapsed_error_percent=0.0 if doubt is None or not sampled else doubt.time_percent,
        dram_error_percent=0.0 if doubt is None or not sampled else doubt.bytes_percent,
        seconds=ran.seconds,
    )
