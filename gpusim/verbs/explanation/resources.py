"""
How much of each resource's peak a kernel uses, over all SMs and all elapsed cycles, and which one bounds it.

A resource that is busy for at least ``BOUND_SHARE`` bounds the kernel. Where none is, what warps wait for does.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from gpusim.lower.estimated import tensor_core
from gpusim.machine.occupancy import Limiter, ctas_per_sm
from gpusim.results.bound import BOUND_SHARE
from gpusim.results.result import Result
from gpusim.sim.launch import Launch
from gpusim.units import SECTOR_BYTES, WARP_SIZE
from gpusim.verbs.simulate import SimulatedLaunch

WAITED_FOR: Final[Mapping[str, str]] = {
    **dict.fromkeys(("long_scoreboard", "lg_throttle", "drain"), "latency of global memory"),
    **dict.fromkeys(("short_scoreboard", "mio_throttle"), "latency of shared memory"),
    **dict.fromkeys(("wait", "branch_resolving", "dispatch_stall"), "fixed-latency dependencies"),
    **dict.fromkeys(("barrier", "membar", "sleeping"), "barriers"),
    **dict.fromkeys(("no_instruction", "imc_miss"), "fetch of instructions and constants"),
    "math_pipe_throttle": "math pipes",
    "not_selected": "issue slots",
}
"""What warps wait for, by stall reason. "selected" is none: the warp issues."""


@dataclass(frozen=True, slots=True)
class Resource:
    """
    One resource of the machine.

    Attributes:
        name: Its name.
        percent: Use of its peak over all SMs and all elapsed cycles, per cent, as in ncu's "Speed Of Light".
        percent_active: The same over the SMs that have work and their active cycles. It is higher where SMs are idle.
        bounds: Whether it can bound a kernel; one that only mirrors another's use cannot.
    """

    name: str
    percent: float
    percent_active: float
    bounds: bool = True


@dataclass(frozen=True, slots=True)
class Residency:
    """
    The CTAs that an SM holds at once.

    Attributes:
        ctas_per_sm: Their number.
        limiter: The resource of the SM that allows no more: warps, ctas, registers or shared_memory.
        warps: Warps of these CTAs.
        most_warps: Warps that the SM could hold.
    """

    ctas_per_sm: int
    limiter: Limiter
    warps: int
    most_warps: int


@dataclass(frozen=True, slots=True)
class Bound:
    """
    What bounds a kernel.

    Attributes:
        resource: Name of the resource.
        percent: Its use of the peak, or the stall reason's share of all warp cycles.
        reason: The stall reason; empty where a resource's use decides.
    """

    resource: str
    percent: float
    reason: str


def resources(result: Result, launches: Sequence[SimulatedLaunch]) -> tuple[Resource, ...]:
    """
    Return the use of every resource, the most used first.

    Args:
        result: The simulated result.
        launches: Its launches, in order.
    """
    first = launches[0].launch
    machine, counters = first.machine, result.counters
    elapsed, multiplies = result.cycles.elapsed, first.kernel.mma is not None
    busy = launches[0].outcome.active * first.working
    issued = counters["smsp__inst_executed.sum"]

    def per_sm(name: str, cycles: float, *, bounds: bool = True) -> Resource:
        return Resource(name, 100 * cycles / (machine.sms * elapsed), 100 * cycles / busy, bounds)

    def of_chip(name: str, cycles: float) -> Resource:
        return Resource(name, 100 * cycles / elapsed, 100 * cycles / launches[0].outcome.longest)

    copied = sum(row.wavefronts for row in result.bank_conflicts if row.op == "ldgsts")
    zero_filling = min(copied, _zero_filling(first))
    others = sum(row.wavefronts for row in result.bank_conflicts) - copied + zero_filling
    rate = machine.shared.wavefronts_per_cycle
    read, written = counters["lts__t_sectors_op_read.sum"], counters["lts__t_sectors_op_write.sum"]
    moved = counters["dram__bytes_read.sum"] + counters["dram__bytes_write.sum"]
    found = [
        per_sm("tensor core", tensor_cycles(launches[0])),
        per_sm("issue slots", issued / machine.smsps),
        *(per_sm(f"{pipe} pipe", cycles) for pipe, cycles in _pipe_cycles(launches).items()),
        per_sm("shared-memory data stage", others / rate),
        per_sm("data stage, all copies included", (others + copied - zero_filling) / rate, bounds=False),
        per_sm("L2 port of the SM", read * SECTOR_BYTES / machine.l2.bytes_per_cycle_per_sm, bounds=False),
        of_chip("L2 bandwidth", (read + written) * SECTOR_BYTES / machine.l2_bytes_per_cycle(busy=multiplies)),
        of_chip("DRAM bandwidth", moved * 1000 / machine.dram_bytes_per_kilocycle(busy=multiplies)),
    ]
    return tuple(sorted(found, key=lambda one: (-one.percent, one.name)))


def _zero_filling(launch: Launch) -> int:
    """
    Return the wavefronts of cp.async that write zeros in lanes that are predicated off.

    These pass the data stage as stores do, and ncu counts all their wavefronts among those of the LSU. Of copies
    without zero-filling, whose data go past it, ncu counts next to none (H200 records: convolutions zero-fill in every
    copy, GEMMs in those of the prologue).
    """
    lanes, total = launch.kernel.lanes(), 0
    for behaviour, ctas in launch.executed.items():
        for segment in launch.streams[behaviour].segments:
            for each in segment.instructions:
                shared = lanes.shared(each.op) if each.unit == "ldgsts" and each.op is not None else None
                if shared is not None and lanes.op(each.op).zfill:
                    total += int(shared.table.wavefronts[shared.place].sum()) * segment.trips * ctas
    return total


def tensor_cycles(one: SimulatedLaunch) -> float:
    """Return the SM cycles, over all SMs, for which a launch's MMAs take the tensor cores; 0 without any."""
    kernel, machine = one.launch.kernel, one.launch.machine
    return 0.0 if kernel.mma is None else mmas(one) * tensor_core(kernel.mma, machine).interval / machine.smsps


def mmas(one: SimulatedLaunch) -> int:
    """Return the number of mma.sync that a launch executes."""
    launch, total = one.launch, 0
    for behaviour, ctas in launch.executed.items():
        for segment in launch.streams[behaviour].segments:
            total += sum(each.unit == "tensor" for each in segment.instructions) * segment.trips * ctas
    return total * launch.kernel.lanes().warps


def _pipe_cycles(launches: Sequence[SimulatedLaunch]) -> dict[str, float]:
    """Return the SM cycles for which each pipe besides the tensor core is taken, over all SMs and launches."""
    totals: Counter[str] = Counter()
    for one in launches:
        launch = one.launch
        for behaviour, ctas in launch.executed.items():
            for segment in launch.streams[behaviour].segments:
                found = Counter(each.pipe for each in segment.instructions if each.unit == "pipe")
                for pipe, number in found.items():
                    totals[pipe] += number * segment.trips * ctas * launch.kernel.lanes().warps
    machine = launches[0].launch.machine
    return {pipe: count * machine.pipes[pipe].interval / machine.smsps for pipe, count in totals.items()}


def bound_of(used: Sequence[Resource], stalls: Mapping[str, float]) -> Bound:
    """
    Return what bounds a kernel: the most used resource if it is busy enough, else the largest stall reason.

    Args:
        used: Use of the resources, the most used first.
        stalls: Share of warp cycles by stall reason.
    """
    most = next(one for one in used if one.bounds)
    if most.percent >= 100 * BOUND_SHARE:
        return Bound(most.name, round(most.percent, 2), "")
    waits = {reason: share for reason, share in stalls.items() if reason in WAITED_FOR}
    longest = max(waits, key=lambda reason: (waits[reason], reason))
    return Bound(WAITED_FOR[longest], round(100 * waits[longest], 2), longest)


def occupancy(result: Result, one: SimulatedLaunch) -> Residency:
    """Return the CTAs that an SM holds of a launch, and what allows no more."""
    launch = one.launch
    warps = launch.kernel.lanes().warps
    found = ctas_per_sm(launch.machine, warps * WARP_SIZE, result.registers_per_thread, result.shared_bytes)
    return Residency(found.ctas, found.limiter, found.ctas * warps, launch.machine.limits.max_warps)
