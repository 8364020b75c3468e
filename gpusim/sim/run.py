"""Runs CTAs on SMs: makes the columns that the core executes, hands CTAs to the core, and reads its counts."""

import time
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field

import simpy

from gpusim.machine.spec import LaunchSpec
from gpusim.sim.code import Assembly
from gpusim.sim.columns import Code, Data, rows_of
from gpusim.sim.core.chip import Chip
from gpusim.sim.core.constants import NOTE_WIDTH, SPAN_WIDTH
from gpusim.sim.core.engine import engine
from gpusim.sim.cta_scheduler import CtaLife, CtaScheduler, groups_of, spans_of
from gpusim.sim.figures import Figures, figures_of
from gpusim.sim.l2_walk import L2Walk
from gpusim.sim.observer import Observer
from gpusim.sim.pace import Progress, paced, silent
from gpusim.sim.tables import DataTables, decoded_of, distinct_of, programs_of
from gpusim.sim.timed_kernel import AnyKernel


@dataclass(frozen=True, slots=True)
class Ran:
    """
    SMs that have run a queue of CTAs to its end.

    Attributes:
        lives: The CTAs, in order of their end.
        stalls: Warp cycles by stall reason.
        instructions: Warp instructions issued.
        asked_sectors: Sectors that copies and loads requested.
        l2_sectors: Sectors read from the L2.
        looked_up: Sectors that were looked up in the L2: reads that are not merged, requests to the other partition,
            and instructions.
        dram_bytes, dram_written: Bytes read from DRAM, and written to it.
        stored_bytes: Bytes of the sectors stored.
        acknowledged: Cycle at which the last store is acknowledged; 0 without stores.
        seconds: Wall time of the core's execution.
        observer: Logs of the watched CTA; None if none was watched.
    """

    lives: tuple[CtaLife, ...]
    stalls: tuple[int, ...]
    instructions: int
    asked_sectors: int
    l2_sectors: int
    dram_bytes: int
    looked_up: int
    dram_written: int
    stored_bytes: int
    acknowledged: int
    seconds: float = field(compare=False)
    observer: Observer | None

    def spans(self) -> list[int]:
        """Return the cycles of each SM from the launch of its first CTA to the end of its last."""
        return spans_of(self.lives)


@dataclass(frozen=True, slots=True)
class Resident:
    """
    A kernel on its SMs: the part of a run's input that is the same for every queue of CTAs.

    Attributes:
        kernel: The kernel.
        assemblies: Decoded code of each behaviour of its CTAs.
        code: The code of all ``assemblies`` as columns.
        slots: CTAs that are resident on an SM at once.
    """

    kernel: AnyKernel
    assemblies: Mapping[Hashable, Assembly]
    code: Code
    slots: int


def columns_of(
    resident: Resident, queue: Sequence[int], walk: L2Walk | None, progress: Progress = silent
) -> tuple[Figures, Data]:
    """
    Return the figures of the SMs, and the memory accesses of the CTAs of a queue.

    Args:
        resident: The kernel and its code.
        queue: CTAs in launch order.
        walk: Hits and misses in the L2; None if the L2 itself is simulated.
        progress: Called with a line every few seconds.
    """
    kernel, slots = resident.kernel, resident.slots
    machine = kernel.machine
    carve_out = slots * (kernel.shared_bytes + machine.limits.shared_reserved_per_cta)
    tables = DataTables(kernel, resident.code.warps, walk, slots * machine.sms)
    say = paced(progress, "laying out what CTAs access", len(queue))
    data = tables.of(queue, programs_of(resident.assemblies), say)
    lines = max(assembly.parameter_lines for assembly in distinct_of(resident.assemblies))
    return figures_of(machine, carve_out, busy=kernel.mma is not None, parameter_lines=lines), data


def run_chip(
    chip: Chip, spec: LaunchSpec, queue: Sequence[int], watched: int | None, progress: Progress = silent
) -> tuple[CtaLife, ...]:
    """
    Hand a chip the CTAs of a queue, and run it until the last one ends.

    Args:
        chip: The SMs.
        spec: The launch's intervals and groups of SMs.
        queue: CTAs in launch order.
        watched: CTA to watch, or None.
        progress: Called with a line every few seconds.

    Returns:
        The CTAs, in order of their end.

    Raises:
        CannotRun: A CTA never ends, because its warps wait at a barrier that is never complete.
    """
    env = simpy.Environment()
    scheduler = CtaScheduler(env, spec, chip, queue, watched, say=paced(progress, "CTAs that have ended", len(queue)))
    env.run(until=env.process(scheduler.run()))
    return tuple(scheduler.lives)


def run_sms(
    resident: Resident,
    queue: Sequence[int],
    *,
    sms: int,
    share: int,
    walk: L2Walk | None,
    watched: int,
    progress: Progress = silent,
) -> Ran:
    """
    Run a queue of CTAs to its end.

    Args:
        resident: The kernel and its code.
        queue: CTAs in launch order.
        sms: Number of SMs, each on its own port of the L2.
        share: Number of SMs that each simulated request represents at the L2 and DRAM.
        walk: Hits and misses in the L2; None if the L2 itself is simulated.
        watched: CTA to watch.
        progress: Called with a line every few seconds.
    """
    figures, data = columns_of(resident, queue, walk, progress)
    kernel = resident.kernel
    groups = groups_of(len(queue), sms, kernel.machine.launch.units)
    chip: Chip = engine().module.Chip(figures, resident.code, data, sms, resident.slots, share, groups)
    started = time.perf_counter()
    lives = run_chip(chip, kernel.machine.launch, queue, watched if kernel.watch.activities else None, progress)
    seconds = time.perf_counter() - started
    launched = {life.cta: life.launched for life in lives}
    observer = None
    if chip.spans.column:
        notes, spans = rows_of(chip.notes.column, NOTE_WIDTH), rows_of(chip.spans.column, SPAN_WIDTH)
        observer = Observer(kernel.watch, decoded_of(resident.assemblies), watched, launched[watched], notes, spans)
    return Ran(
        lives=lives,
        stalls=tuple(chip.stalls),
        instructions=chip.smsp.instructions,
        asked_sectors=sum(chip.l1.sectors),
        l2_sectors=chip.l2.sectors,
        dram_bytes=chip.dram.read_bytes,
        looked_up=chip.l2.looked_up,
        dram_written=chip.l2.written_back,
        stored_bytes=chip.stores.stored_bytes,
        acknowledged=chip.stores.acknowledged,
        seconds=seconds,
        observer=observer,
    )
