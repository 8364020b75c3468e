"""Runs a launch of an sm_90 GEMM in time, every CTA on the whole chip."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Final, TypeAlias

import numpy as np

from gpusim.arrays import IntArray
from gpusim.families.hopper.collective import Collective, collective_of
from gpusim.families.hopper.problem import HopperScenario
from gpusim.families.hopper.simulation.boxes import BoxedTensor, BoxRequests
from gpusim.families.hopper.simulation.code import RoleProgram, programs_of
from gpusim.families.hopper.simulation.instructions import instructions_of
from gpusim.families.hopper.simulation.observed import timeline_of
from gpusim.families.hopper.simulation.waits import role_waits
from gpusim.families.hopper.work import place_of, work_of
from gpusim.lower.stream import INSTRUCTION_BYTES
from gpusim.machine.load import load_machine
from gpusim.machine.spec import Machine
from gpusim.machine.spec.wgmma import WgmmaClockSpec
from gpusim.results.result import RoleWait
from gpusim.results.timeline import Timeline
from gpusim.sim.code import Decoded
from gpusim.sim.columns import Code, Column, Data, Traces, column, traced_data, zeros
from gpusim.sim.core.chip import Chip
from gpusim.sim.core.constants import PHASE_AT, REQUEST_AT
from gpusim.sim.core.engine import engine
from gpusim.sim.cta_scheduler import CtaLife, groups_of, spans_of
from gpusim.sim.figures import figures_of
from gpusim.sim.pace import Progress, silent
from gpusim.sim.run import run_chip
from gpusim.sim.stall_reasons import REASONS
from gpusim.sim.tables import columns_of_code
from gpusim.tile.scheduler.cta_work import WorkUnit
from gpusim.units import SECTOR_BYTES, WARP_SIZE


@dataclass(frozen=True, slots=True)
class HopperTime:
    """
    The time of a launch.

    Attributes:
        ctas: CTAs of the grid.
        elapsed: Cycles, launch overhead included.
        active: Mean cycles in which an SM has CTAs, of SMs that have any.
        instructions: Warp instructions.
        stalls: Warp cycles by stall reason.
        l2_sectors: Sectors looked up in the L2.
        received: Sectors that SMs receive.
        dram_read, dram_written: Bytes.
        tensor_busy: Cycles that tensor cores are busy, mean of SMs that have CTAs.
        longest: Cycles of the SM that ends last, until its stores are acknowledged.
        clock_percent: Cycles of a constant clock in 100 cycles of the SMs.
        roles: What each role waits for.
        timeline: The first CTA with most tiles.
        seconds: Wall time of the core's execution.
    """

    ctas: int
    elapsed: int
    active: int
    instructions: int
    stalls: Mapping[str, int]
    l2_sectors: int
    received: int
    dram_read: int
    dram_written: int
    tensor_busy: int
    longest: int
    clock_percent: int
    roles: tuple[RoleWait, ...]
    timeline: Timeline = field(compare=False, repr=False)
    seconds: float = field(compare=False)


@dataclass(frozen=True, slots=True)
class _Traced:
    """The traces of all CTAs, in columns."""

    first: Column
    access: Column
    line: Column
    program: Column


_Block: TypeAlias = tuple[Decoded, ...]


class _LaidOut:
    """
    Blocks of code one after another, each distinct one once.

    Attributes:
        decoded: All instructions.
        roles: The role of each.
        known: First and end of each block.
        lines: Lines of the instruction cache.
    """

    def __init__(self, line_bytes: int) -> None:
        self.per_line = line_bytes // INSTRUCTION_BYTES
        self.decoded: list[Decoded] = []
        self.roles: list[str] = []
        self.known: dict[tuple[str, _Block, _Block], tuple[int, int]] = {}
        self.address = dict[_Block, int]()
        self.lines = self._next = 0

    def place(self, role: str, place: _Block, block: _Block) -> int:
        """Return where a block of a role begins; ``place`` is the block that gives its lines."""
        key = role, place, block
        if key not in self.known:
            begin = len(self.decoded)
            if place not in self.address:
                self.address[place] = self._next
                self._next += max(len(place), len(block))
            first = self.address[place]
            self.roles += [role] * len(block)
            for position, one in enumerate(block):
                line = (first + position) // self.per_line
                begins = position == 0 or (first + position) % self.per_line == 0
                self.decoded.append(one._replace(line=line, gated=True) if begins else one)
            self.lines = max(self.lines, (first + len(block) - 1) // self.per_line + 1)
            self.known[key] = begin, len(self.decoded)
        return self.known[key][0]


class _Launch:
    """The columns of a launch."""

    def __init__(self, scenario: HopperScenario, machine: Machine) -> None:
        self.scenario, self.machine = scenario, machine
        self.collective: Collective = collective_of(scenario)
        self.work = work_of(scenario, machine.sms)
        self.ctas = len(self.work.first) - 1
        self.warps = self.collective.threads // WARP_SIZE
        self.make = instructions_of(self.collective, machine, self.warps)
        self.requests = BoxRequests()
        self.tensors = self._tensors()
        # The program of each warp, and the work of the CTA that they were made for.
        self.programs: list[list[RoleProgram]] = []
        self.typical: list[IntArray] = []

    def _tensors(self) -> dict[str, BoxedTensor]:
        problem, (a_k, b_k) = self.scenario.problem, self.scenario.problem.k_contiguous
        operand, output = self.scenario.operand_bits // 8, self.scenario.output_bits // 8
        a = (problem.k, problem.m) if a_k else (problem.m, problem.k)
        b = (problem.k, problem.n) if b_k else (problem.n, problem.k)
        return {
            "A": BoxedTensor(0, *a, operand),
            "B": BoxedTensor(1, *b, operand),
            "C": BoxedTensor(2, problem.n, problem.m, output),
            "D": BoxedTensor(3, problem.n, problem.m, output),
            "stored": BoxedTensor(3, problem.n, problem.m, output),
        }

    def traced(self) -> _Traced:
        """Build all programs and traces."""
        known: dict[tuple[object, ...], int] = {}
        first = np.zeros(self.ctas * self.warps, dtype=np.int64)
        access, lines, program = list[IntArray](), list[IntArray](), list[int]()
        shared: dict[tuple[int, int], int] = {}
        at, blocks = 0, self.work.blocks()
        for cta in range(self.ctas):
            x, y, _ = blocks[cta].tolist()
            place = place_of(self.scenario, x, y)
            rows = self.work.rows[self.work.first[cta] : self.work.first[cta + 1]]
            key = (place.cta, *((row[4], row[3], row[6]) for row in rows.tolist()))
            if key not in known:
                known[key] = len(self.programs)
                units = [WorkUnit(*row) for row in rows.tolist()]
                self.programs.append(programs_of(self.collective, self.make, place, units))
                self.typical.append(rows)
            number = known[key]
            program.append(number)
            for warp, own in enumerate(self.programs[number]):
                if not own.boxes and (number, warp) in shared:
                    first[cta * self.warps + warp] = shared[number, warp]
                    continue
                shared[number, warp] = first[cta * self.warps + warp] = at
                entries, line = self.entries(own, rows, self.typical[number])
                access.append(entries)
                lines.append(line)
                at += len(entries)
        return _Traced(
            column(first.tolist()),
            column(np.concatenate(access).tolist()),
            column(np.concatenate(lines).tolist()),
            column(program),
        )

    def entries(self, own: RoleProgram, rows: IntArray, typical: IntArray) -> tuple[IntArray, IntArray]:
        """Return the entries of a warp's trace in one CTA, and their lines."""
        access = np.array(own.entries or [0], dtype=np.int64)
        line = np.zeros_like(access)
        tile = self.scenario.kernel.tile
        for tensor in sorted({one.tensor for one in own.boxes}):
            boxes = [one for one in own.boxes if one.tensor == tensor]
            at = np.array([one.at for one in boxes])
            unit = np.array([one.unit for one in boxes])
            moved = rows[unit] - typical[unit]
            coordinates = np.array([one.coordinates for one in boxes], dtype=np.int64)
            a_k, b_k = self.scenario.problem.k_contiguous
            match tensor:
                case "A":
                    coordinates[:, 1 if a_k else 0] += moved[:, 0] * tile[0]
                case "B":
                    coordinates[:, 1 if b_k else 0] += moved[:, 1] * tile[1]
                case _:
                    coordinates[:, 0] += moved[:, 1] * tile[1]
                    coordinates[:, 1] += moved[:, 0] * tile[0]
            coordinates[:, 2] += moved[:, 2]
            for box in sorted({one.box for one in boxes}):
                same = np.array([one.box == box for one in boxes])
                stored = tensor == "stored"
                request, base = self.requests.of(self.tensors[tensor], coordinates[same], box, masked=stored)
                access[at[same]] |= request << (REQUEST_AT if stored else PHASE_AT)
                line[at[same]] = base
        return access, line

    def code(self) -> Code:
        """
        Return the code of all programs. Equal blocks are laid out once.

        Warps of one role execute the same machine code, of which some branch around a part: the blocks of the first
        warp give the lines of the instruction cache.
        """
        laid = self.laid = _LaidOut(self.machine.instruction_cache.line_bytes)
        first, end, trips, begins = list[int](), list[int](), list[int](), list[int]()
        for program in self.programs:
            leader = program[0]
            for warp in program:
                leader = leader if warp.role == leader.role and len(warp.blocks) == len(leader.blocks) else warp
                begins.append(len(first))
                pairs = zip(leader.blocks, warp.blocks, strict=True)
                for (place, block), same in groupby(pair for pair in pairs if pair[1]):
                    begin = laid.place(warp.role, place, block)
                    first.append(begin)
                    end.append(begin + len(block))
                    trips.append(len(list(same)))
        of, wavefronts = columns_of_code(laid.decoded, self.warps)
        return Code(
            of=of,
            wavefronts=wavefronts,
            first=column(first),
            end=column(end),
            trips=column(trips),
            tiles=zeros(len(first)),
            begins=column(begins),
            warps_of=column([self.warps] * len(self.programs)),
            warps=self.warps,
            lines=laid.lines + self.machine.instruction_cache.stream_lines + 1,
            barriers=max(one.barrier for one in laid.decoded) + 1,
            stretches=tuple(laid.known.values()),
            mbarriers=len(self.collective.barriers),
        )

    def data(self, traced: _Traced) -> Data:
        """Return what the CTAs access."""
        lines, size = self.requests.lines(), self.collective.cluster_size
        traces = Traces(
            first=traced.first,
            arrays=1,
            array_line=zeros(self.ctas),
            masked=lines.masked,
            passes=lines.passes,
            access=traced.access,
            line=traced.line,
        )
        cluster = column(cta // size * size for cta in range(self.ctas))
        return traced_data(traced.program, lines, traces, cached=False, cluster=cluster)

    @property
    def watched(self) -> int:
        """The CTA to watch: the first one with most tiles."""
        return int(np.argmax(np.diff(self.work.first)))


_CLOSE: Final = 1
"""Percentages of a clock that differ by no more are the same."""

_MOST_TRIES: Final = 4


@dataclass(frozen=True, slots=True)
class _Ran:
    """A launch that has run at one clock: the SMs, the lives of the CTAs, and the wall time."""

    machine: Machine
    chip: Chip
    lives: Sequence[CtaLife]
    seconds: float

    @property
    def active(self) -> int:
        """Mean cycles in which an SM has CTAs."""
        spans = spans_of(self.lives)
        return sum(spans) // len(spans)

    @property
    def tensor_busy(self) -> int:
        """Cycles that tensor cores are busy, mean of SMs that have CTAs."""
        return self.chip.wgmma.busy // (self.machine.smsps * self.chip.sms)

    def clock_percent(self, clock: WgmmaClockSpec) -> int:
        """Return the clock of a launch that keeps busy what this one did, as ``WgmmaClockSpec.percent``."""
        cycles, sms = max(1, self.active), self.machine.sms
        return clock.percent(
            busy=self.tensor_busy / cycles * self.chip.sms / sms,
            l2_bytes=self.chip.l2.looked_up * SECTOR_BYTES / cycles / sms,
            dram_bytes=self.chip.dram.read_bytes / cycles / sms,
            cycles=self.active,
        )


def time_of(scenario: HopperScenario, machine: Machine | None = None, progress: Progress = silent) -> HopperTime:
    """
    Simulate a launch.

    How fast the SMs' clock is, and so how many of its cycles the L2 and DRAM take, depends on how busy the launch keeps
    the tensor cores and the memory. So a launch is simulated again until its clock is the one that it was simulated at.

    Raises:
        BadInput: The machine lacks figures of sm_90's units.
    """
    machine = machine or load_machine(scenario.machine)
    launch = _Launch(scenario, machine)
    traced = launch.traced()
    code, data = launch.code(), launch.data(traced)
    clock, percent, tried = launch.make.wgmma.clock, machine.launch.idle_clock_percent, set[int]()
    while True:
        tried.add(percent)
        at_clock = replace(machine, launch=replace(machine.launch, idle_clock_percent=percent))
        ran = _at_clock(launch, at_clock, code, data, progress)
        if clock is None:
            return _time(launch, ran)
        percent = ran.clock_percent(clock)
        if any(abs(percent - one) <= _CLOSE for one in tried) or len(tried) == _MOST_TRIES:
            return _time(launch, ran)


def _at_clock(launch: _Launch, machine: Machine, code: Code, data: Data, progress: Progress) -> _Ran:
    figures = figures_of(
        machine,
        launch.collective.shared_bytes + machine.limits.shared_reserved_per_cta,
        busy=True,
        parameter_lines=launch.make.around.parameter_lines,
    )
    sms = min(machine.sms, launch.ctas)
    groups = groups_of(launch.ctas, sms, machine.launch.units)
    chip: Chip = engine().module.Chip(figures, code, data, sms, 1, 1, groups)
    started = time.perf_counter()
    lives = run_chip(chip, machine.launch, range(launch.ctas), launch.watched, progress)
    return _Ran(machine, chip, lives, time.perf_counter() - started)


def _time(launch: _Launch, ran: _Ran) -> HopperTime:
    machine, chip, laid = ran.machine, ran.chip, launch.laid
    by_instruction = np.frombuffer(chip.by_instruction, dtype=np.int64).reshape(-1, len(REASONS))
    begin = min(life.launched for life in ran.lives)
    longest = max(*spans_of(ran.lives), chip.stores.acknowledged - begin)
    return HopperTime(
        ctas=launch.ctas,
        elapsed=machine.launch.elapsed(longest, ctas=launch.ctas, working=chip.sms, busy=True),
        active=ran.active,
        instructions=chip.smsp.instructions,
        stalls={reason: own for reason, own in zip(REASONS, chip.stalls, strict=True) if own},
        l2_sectors=chip.l2.looked_up,
        received=chip.l2.sectors,
        dram_read=chip.dram.read_bytes,
        dram_written=chip.l2.written_back,
        tensor_busy=ran.tensor_busy,
        longest=longest,
        clock_percent=machine.launch.idle_clock_percent,
        roles=role_waits(laid.decoded, laid.roles, by_instruction[: len(laid.decoded)]),
        timeline=timeline_of(laid.decoded, chip, ran.lives, launch.watched, launch.collective.stages),
        seconds=ran.seconds,
    )
