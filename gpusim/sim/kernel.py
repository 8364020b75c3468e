"""Simulates one kernel launch in time: every SM, or one SM of each kind that stands for its like."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import simpy

from gpusim.arrays import IntArray
from gpusim.element_types import element_bits
from gpusim.errors import BadInput
from gpusim.lower.stream import Stream
from gpusim.machine.spec import Machine
from gpusim.results.result import PipelineRow
from gpusim.results.timeline import Timeline
from gpusim.scenario.gemm import GemmScenario
from gpusim.schedule.program import mainloop_shape
from gpusim.sim.assembly import Assembly, assemble
from gpusim.sim.cta_scheduler import CtaScheduler
from gpusim.sim.footprint import Footprint, cta_footprint
from gpusim.sim.l1 import L1
from gpusim.sim.l2 import L2, SimulatedL2
from gpusim.sim.l2_walk import L2Walk, WalkedGrid
from gpusim.sim.observer import Observer
from gpusim.sim.sampling import CTAS_SIMULATED_PER_SM, SampledKind, sample, share_of, stall_cycles
from gpusim.sim.sm import Sm
from gpusim.tile.operand import SIDES

Progress = Callable[[str], None]


def require_cp_async(scenario: GemmScenario, machine: Machine) -> None:
    """
    Refuse a multistage kernel on a machine that has no cp.async.

    Raises:
        BadInput: It has none.
    """
    if scenario.kernel.mainloop == "multistage" and machine.async_copy is None:
        raise BadInput(f"{machine.name}: the multistage mainloop needs cp.async, which this machine lacks")


@dataclass(frozen=True)
class Launch:
    """
    What to simulate.

    Attributes:
        tiles: (tile m, tile n, slice) of every CTA with work, in launch order, shape [ctas, 3].
        streams: Of each split-K slice.
        ctas_per_sm: Resident at once.
        shared_bytes: Of one CTA.
    """

    scenario: GemmScenario
    machine: Machine
    tiles: IntArray
    streams: tuple[Stream, ...]
    ctas_per_sm: int
    shared_bytes: int

    @cached_property
    def assemblies(self) -> tuple[Assembly, ...]:
        """Of each split-K slice; slices of equal streams share one."""
        made: dict[int, Assembly] = {}
        for slice_, kind in enumerate(self.kinds):
            if kind == slice_:
                made[kind] = assemble(self.streams[slice_], self.scenario, self.machine)
        return tuple(made[kind] for kind in self.kinds)

    @cached_property
    def kinds(self) -> tuple[int, ...]:
        """Of each split-K slice: the first slice that runs the same stream."""
        return tuple(self.streams.index(stream) for stream in self.streams)

    @property
    def working(self) -> int:
        """SMs that have a CTA to run."""
        return min(self.machine.sms, len(self.tiles))


@dataclass(frozen=True, slots=True)
class SmKind:
    """
    SMs that run the same programs in the same order.

    Attributes:
        first: The one that is simulated.
        count: How many there are.
        ctas: CTAs each of them runs.
    """

    first: int
    count: int
    ctas: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """
    What the simulated SMs did.

    Attributes:
        active: Mean active span of the SMs that have work.
        longest: Longest active span.
        stalls: Reason -> warp cycles, each simulated SM counted as often as it stands for others.
        ctas: Simulated.
        k_tiles: Simulated.
        instructions: Warp instructions simulated.
        asked_sectors: Sectors that the simulated copies and source loads asked for.
        l2_sectors: Sectors that the simulated SMs read from L2: the rest was in L1.
        dram_bytes: Read by the whole chip.
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


def memory_counters(exact: dict[str, float], outcome: Outcome, dram_bytes: int) -> dict[str, float]:
    """
    Approximate ones: the simulated SMs' L1 hit rate over the grid's exact requests, and the L2's misses.

    Reads of the epilogue's source never hit in L1 (D10).
    """
    requested = exact["l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"]
    passed = outcome.l2_sectors / outcome.asked_sectors if outcome.asked_sectors else 1.0
    reads = requested * passed
    return {
        "lts__t_sectors_op_read.sum": round(reads),
        "lts__t_sectors_op_read_lookup_hit.sum": max(0, round(reads) - dram_bytes // 32),
        "lts__t_sectors_op_write.sum": exact["l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum"],
        "dram__bytes_read.sum": dram_bytes,
    }


def simulate_launch(launch: Launch, *, exact: bool, progress: Progress) -> Outcome:
    """
    Run a launch.

    Sampled: SM r of n runs CTAs r, r + n, r + 2n, ...; SMs that run the same programs in the same order behave alike,
    so one of each kind is simulated, with the chip's bandwidth shared by all that have work, and hits and misses from
    ``l2_walk`` (D14).

    Not modelled: the semaphore that orders the slices of a serial split-K (D16).

    Raises:
        BadInput: The machine has no cp.async, or no figure for a pipe.
    """
    return _exact(launch, progress) if exact else _sampled(launch, progress)


def sm_kinds(launch: Launch) -> tuple[SmKind, ...]:
    """
    The kinds of SM, that of SM 0 first; SMs without work are of none.

    In a grid of one CTA for each SM or less, CTAs at the ragged edge of the output are of a kind of their own.
    """
    sms, total = launch.machine.sms, len(launch.tiles)
    behaviour = np.array(launch.kinds, dtype=np.int64)[launch.tiles[:, 2]]
    if total <= sms:
        tile_m, tile_n, _ = launch.scenario.kernel.threadblock
        extents = launch.scenario.problem.extents
        clipped_m = (launch.tiles[:, 0] + 1) * tile_m > extents.m
        clipped_n = (launch.tiles[:, 1] + 1) * tile_n > extents.n
        behaviour = behaviour * 4 + clipped_m * 2 + clipped_n
    alike: dict[tuple[int, ...], list[int]] = {}
    for sm in range(launch.working):
        alike.setdefault(tuple(behaviour[sm::sms].tolist()), []).append(sm)
    return tuple(SmKind(members[0], len(members), len(run)) for run, members in alike.items())


def _exact(launch: Launch, progress: Progress) -> Outcome:
    working = launch.working
    l2 = SimulatedL2(launch.machine, working)
    progress(f"simulating all {len(launch.tiles)} CTAs on {working} SMs")
    sms = _run(launch, l2, working, range(len(launch.tiles)), None)
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
    scenario, total, kinds = launch.scenario, len(launch.tiles), sm_kinds(launch)
    walk = _walk(launch, max(kind.ctas for kind in kinds), progress)
    sampled = sample(
        launch.machine,
        [
            SampledKind(
                range(kind.first, total, launch.machine.sms), kind.count, share_of(launch.working, total, kind.ctas)
            )
            for kind in kinds
        ],
        launch.ctas_per_sm,
        lambda l2, queue: _run(launch, l2, 1, queue, walk)[0],
        progress,
    )
    return _outcome(
        launch,
        sampled.stands_for,
        active=sampled.active,
        longest=sampled.longest,
        l2_sectors=sampled.l2_sectors,
        dram_bytes=walk.bytes_missed() + (0 if scenario.problem.reduces else source_bytes(scenario)),
    )


def source_bytes(scenario: GemmScenario) -> int:
    """What an epilogue, or the reduction of a parallel split-K, brings from DRAM: the source, once."""
    problem, extents = scenario.problem, scenario.problem.extents
    return extents.m * extents.n * element_bits(problem.dtype.output) // 8 if problem.beta != 0 else 0


def _walk(launch: Launch, most_ctas: int, progress: Progress) -> L2Walk:
    """The walk over all waves that will be simulated."""
    total, scenario = len(launch.tiles), launch.scenario
    resident = launch.ctas_per_sm * launch.machine.sms
    waves = -(-min(most_ctas, CTAS_SIMULATED_PER_SM) // launch.ctas_per_sm)
    fetches = scenario.k_iterations() + scenario.kernel.stages
    progress(f"walking {waves} of {-(-total // resident)} waves through the L2")
    return L2Walk(scenario, launch.machine, WalkedGrid(launch.tiles, resident, fetches, waves))


def _run(launch: Launch, l2: L2, ports: int, queue: Sequence[int], walk: L2Walk | None) -> list[Sm]:
    """Simulate an SM on each of the L2's ports until the queue is empty and all CTAs are done."""
    scenario, machine = launch.scenario, launch.machine
    shape = mainloop_shape(scenario)
    cached = [shape.of(operand).cache == "ca" for operand in SIDES]
    epilogue = scenario.epilogue

    def assembly_of(index: int) -> Assembly:
        return launch.assemblies[int(launch.tiles[index, 2])]

    def footprint(index: int) -> Footprint:
        tile_m, tile_n, slice_ = launch.tiles[index].tolist()
        assembly = assembly_of(index)
        return cta_footprint(
            scenario,
            epilogue,
            (tile_m, tile_n, slice_),
            fetches=assembly.fetches,
            with_lines=(cached[0] or walk is None, cached[1] or walk is None),
            status=walk.status(index) if walk is not None else (),
            first_wave=index < launch.ctas_per_sm * machine.sms,
        )

    carve_out = launch.ctas_per_sm * (launch.shared_bytes + machine.limits.shared_reserved_per_cta)
    return run_sms(
        machine, l2, ports, queue, slots=launch.ctas_per_sm, carve_out=carve_out, assembly=assembly_of,
        footprint=footprint,
    )  # fmt: skip


def run_sms(
    machine: Machine,
    l2: L2,
    ports: int,
    queue: Sequence[int],
    *,
    slots: int,
    carve_out: int,
    assembly: Callable[[int], Assembly],
    footprint: Callable[[int], Footprint],
    observer: Callable[[], Observer] = Observer,
    observed: int | None = None,
) -> list[Sm]:
    """
    SMs that have run a queue of CTAs to its end.

    Args:
        ports: Of the L2, an SM on each.
        queue: CTAs in launch order.
        slots: CTAs an SM holds.
        carve_out: Shared memory that the resident CTAs of an SM hold, bytes.
        assembly: Code of a CTA.
        footprint: Of a CTA, evaluated when it becomes resident.
        observer: Makes an SM's observer.
        observed: CTA that is watched. Default: the first of the queue.
    """
    env = simpy.Environment()
    scheduler = CtaScheduler(
        env,
        machine.launch,
        queue=queue,
        slots=slots,
        footprint=footprint,
        observed=observed,
    )
    sms = []
    for port in range(ports):
        l1 = L1(machine, l2, port, carve_out)
        sms.append(Sm(env, machine, l1, assembly=assembly, finished=scheduler.finished, observer=observer()))
    scheduler.start(sms)
    env.run(until=scheduler.done)
    return sms


def _outcome(
    launch: Launch, stands_for: dict[Sm, int], *, active: int, longest: int, l2_sectors: int, dram_bytes: int
) -> Outcome:
    """Gather what the simulated SMs counted, the first of which runs CTA 0."""
    sms = list(stands_for)
    slices = [int(launch.tiles[life.cta, 2]) for sm in sms for life in sm.lives]
    observer, stages = sms[0].observer, launch.scenario.kernel.stages
    return Outcome(
        active=active,
        longest=longest,
        stalls=stall_cycles(stands_for),
        pipeline=observer.pipeline(launch.assemblies[int(launch.tiles[0, 2])].k_tiles, stages),
        timeline=observer.timeline(stages),
        ctas=len(slices),
        k_tiles=sum(launch.assemblies[slice_].k_tiles for slice_ in slices),
        instructions=sum(sm.instructions for sm in sms),
        sampled=len(slices) < len(launch.tiles),
        asked_sectors=sum(sm.l1.sectors * count for sm, count in stands_for.items()),
        l2_sectors=l2_sectors,
        dram_bytes=dram_bytes,
    )
