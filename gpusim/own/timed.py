"""Runs a launch of a user's own kernel in time, every CTA on the whole chip."""

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import groupby

import numpy as np

from gpusim.arrays import IntArray
from gpusim.errors import Unsupported
from gpusim.execute.core import constants as core
from gpusim.execute.run import ExecutedSteps, KernelExecution
from gpusim.layout.banks import Banks
from gpusim.lower.stream_file import Line, parameter_lines
from gpusim.machine.occupancy import Occupancy, ctas_per_sm, require_room
from gpusim.machine.spec import Machine
from gpusim.own.accesses import Requests, SharedWavefronts
from gpusim.own.machine_code import MachineCode, last_exits, machine_code, traced_in
from gpusim.own.paths import Paths, leaders_of, stretches_of
from gpusim.own.trace import LaunchTrace
from gpusim.own.watched import executed_by, warp_log
from gpusim.results.kernel_warps import WarpLog
from gpusim.sim.columns import Code, Data, Traces, column, traced_data, zeros
from gpusim.sim.core.chip import Chip
from gpusim.sim.core.engine import engine
from gpusim.sim.cta_scheduler import groups_of, spans_of
from gpusim.sim.figures import figures_of
from gpusim.sim.pace import Progress, silent
from gpusim.sim.run import run_chip
from gpusim.sim.stall_reasons import REASONS
from gpusim.sim.tables import columns_of_code

STEPS_TOGETHER = 1 << 16
"""Steps of CTAs whose accesses are evaluated together."""


@dataclass(frozen=True, slots=True)
class OwnTime:
    """
    The time of a launch.

    Attributes:
        cycles: Elapsed cycles, launch overhead included, like ncu's ``sm__cycles_elapsed.max``.
        active: Mean cycles in which an SM has CTAs, of SMs that have any.
        occupancy: CTAs that an SM holds at once, and what limits them.
        instructions: Warp instructions.
        stalls: Warp cycles by stall reason.
        by_instruction: Warp cycles by stall reason, for each instruction of the text.
        dram_read, dram_written: Bytes that DRAM reads and writes.
        l2_sectors: Sectors looked up in the L2.
        sms: SMs that have CTAs.
        programs, streams: Distinct programs, and distinct lists of accesses, of the CTAs.
        seconds: Wall time of the core's execution.
        log: States of the warps of the watched CTA; None if none was watched.
    """

    cycles: int
    active: int
    occupancy: Occupancy
    instructions: int
    stalls: Mapping[str, int]
    by_instruction: IntArray
    dram_read: int
    dram_written: int
    l2_sectors: int
    sms: int
    programs: int
    streams: int
    seconds: float = field(compare=False)
    log: WarpLog | None = field(default=None, compare=False, repr=False)


class TracedExecution:
    """
    An execution whose trace is kept for the timing simulation.

    Attributes:
        execution: The execution.
        machine: The machine.
        trace: What was executed so far.
    """

    def __init__(self, execution: KernelExecution, machine: Machine) -> None:
        """Prepare a trace for the CTAs of an execution on a machine."""
        self.execution, self.machine = execution, machine
        banks = Banks(machine.shared.banks, machine.shared.bank_bytes)
        self._last = last_exits(execution.code)
        self.trace = LaunchTrace(
            rows=execution.rows.reshape(-1, core.ROW),
            traced=traced_in(execution.code),
            image=execution.image,
            warps=execution.launch.warps,
            requests=Requests(banks),
            shared=SharedWavefronts(banks, machine.shared.atomic_wavefronts),
            paths=Paths(self._last),
            entries=len(execution.code) + int((self._last >= 0).sum()),
        )

    def run(self) -> Iterator[ExecutedSteps]:
        """Execute all CTAs, yield what each executed, and keep it for ``time``; see ``KernelExecution.run``."""
        waiting, steps = list[list[ExecutedSteps]](), 0
        for _, pieces in groupby(self.execution.run(), key=lambda piece: piece.cta):
            own = []
            for piece in pieces:
                own.append(piece)
                steps += len(piece.steps)
                yield piece
            waiting.append(own)
            if steps >= STEPS_TOGETHER:
                self.trace.add(waiting)
                waiting, steps = [], 0
        if waiting:
            self.trace.add(waiting)

    def occupancy(self) -> Occupancy:
        """
        Return the CTAs that an SM holds at once.

        Raises:
            BadInput: Not even one fits.
        """
        cubin, launch, machine = self.execution.cubin, self.execution.launch, self.machine
        shared = self.shared_bytes
        found = ctas_per_sm(machine, launch.threads, cubin.registers, shared, cubin.barriers)
        require_room(machine, found, launch.threads, cubin.registers, shared)
        return found

    @property
    def shared_bytes(self) -> int:
        """Shared memory of a CTA, without the bytes that the system reserves."""
        cubin = self.execution.cubin
        reserved = self.machine.limits.shared_reserved_per_cta if cubin.architecture >= 90 else 0
        return max(0, cubin.shared_bytes - reserved) + self.execution.launch.shared_bytes

    def time(self, progress: Progress = silent, watched: int | None = None) -> OwnTime:
        """
        Simulate the launch in time.

        Args:
            progress: Called with a line every few seconds.
            watched: CTA whose warps are logged, by its linear number; None logs none.

        Raises:
            BadInput: A CTA does not fit on an SM, or the machine has no figure for a pipe.
            Unsupported: The time of an executed instruction is not simulated; the message names it.
            CannotRun: A CTA never ends.
        """
        trace, machine, occupancy = self.trace, self.machine, self.occupancy()
        first = np.frombuffer(trace.paths.first, dtype=np.int64)
        end = np.frombuffer(trace.paths.end, dtype=np.int64)
        decoded = machine_code(
            self.execution.code, self.execution.rows, machine, trace.warps, self._last, leaders_of(first)
        ).with_barriers((one.at, one.barrier, one.warps) for one in trace.barriers)
        _require_time(decoded, first, end, self.execution.cubin.kernel)
        code, data = self._code(decoded, first, end), self._data()
        listing = [[Line(sass.address, sass.text) for sass in self.execution.code if sass is not None]]
        figures = figures_of(
            machine,
            occupancy.ctas * (self.shared_bytes + machine.limits.shared_reserved_per_cta),
            busy=decoded.has_mma,
            parameter_lines=parameter_lines(listing),
        )
        ctas = self.execution.launch.ctas
        sms = min(machine.sms, ctas)
        groups = groups_of(ctas, sms, machine.launch.units)
        chip: Chip = engine().module.Chip(figures, code, data, sms, occupancy.ctas, 1, groups)
        started = time.perf_counter()
        lives = run_chip(chip, machine.launch, range(ctas), watched, progress)
        seconds = time.perf_counter() - started
        spans = spans_of(lives)
        by_instruction = np.frombuffer(chip.by_instruction, dtype=np.int64).reshape(-1, len(REASONS))
        folded = by_instruction[: len(self.execution.code)].copy()
        np.add.at(folded, decoded.origin[len(folded) :], by_instruction[len(folded) :])
        longest = max(*spans, chip.stores.acknowledged - min(life.launched for life in lives))
        log = None
        if watched is not None:
            begins = trace.programs[trace.program[watched]]
            executed = [executed_by(trace.paths, begin, decoded.origin) for begin in begins]
            launched = next(life.launched for life in lives if life.cta == watched)
            log = warp_log(chip, watched, launched, self.execution.code, executed)
        return OwnTime(
            cycles=machine.launch.elapsed(longest, ctas=ctas, working=sms, busy=decoded.has_mma),
            active=sum(spans) // len(spans),
            occupancy=occupancy,
            instructions=chip.smsp.instructions,
            stalls={reason: own for reason, own in zip(REASONS, chip.stalls, strict=True) if own},
            by_instruction=folded,
            dram_read=chip.dram.read_bytes,
            dram_written=chip.l2.written_back,
            l2_sectors=chip.l2.looked_up,
            sms=sms,
            programs=len(trace.programs),
            streams=trace.streams,
            seconds=seconds,
            log=log,
        )

    def _code(self, decoded: MachineCode, first: IntArray, end: IntArray) -> Code:
        trace, machine = self.trace, self.machine
        of, wavefronts = columns_of_code(decoded.decoded, trace.warps)
        return Code(
            of=of,
            wavefronts=wavefronts,
            first=trace.paths.first,
            end=trace.paths.end,
            trips=trace.paths.trips,
            tiles=zeros(len(first)),
            begins=column([one for program in trace.programs for one in program]),
            warps_of=column([trace.warps] * len(trace.programs)),
            warps=trace.warps,
            lines=max(one.line for one in decoded.decoded) + machine.instruction_cache.stream_lines + 1,
            barriers=max(one.barrier for one in decoded.decoded) + 1,
            stretches=stretches_of(first, end, len(decoded.decoded)),
        )

    def _data(self) -> Data:
        trace, requests = self.trace, self.trace.requests
        traces = Traces(
            first=trace.first,
            arrays=trace.arrays,
            array_line=trace.array_line,
            masked=requests.masked or column(()),
            passes=requests.passes or column(()),
            access=trace.access or column(()),
            line=trace.line or column(()),
        )
        return traced_data(trace.program, requests, traces, cached=True)


def _require_time(code: MachineCode, first: IntArray, end: IntArray, kernel: str) -> None:
    """
    Check that the time of every executed instruction is simulated.

    Raises:
        Unsupported: It is not.
    """
    for at, reason in code.refused.items():
        if bool(((first <= at) & (at < end)).any()):
            raise Unsupported(f"{kernel}: the time of an instruction is not simulated: {reason}")
