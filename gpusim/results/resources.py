"""
Computes the use of each resource's peak by a run, for all commands and pictures.

Use is given in per cent of the peak over all SMs and all elapsed cycles, as in Nsight Compute's "GPU Speed Of Light".
The use of the L2 and DRAM counts reads and writes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from gpusim.machine.spec import Machine
from gpusim.results.result import BankConflicts, Result
from gpusim.units import SECTOR_BYTES

TENSOR_METRICS: Final = tuple(f"sm__inst_executed_pipe_tensor_op_{kind}.sum" for kind in ("hmma", "imma"))
"""ncu metrics that count the instructions of the tensor core; a kernel executes only one kind."""

DATA_STAGE: Final = "shared-memory data stage"
L2_BANDWIDTH: Final = "L2 bandwidth"
DRAM_BANDWIDTH: Final = "DRAM bandwidth"

_COPY: Final = "ldgsts"
_DIGITS: Final = 4


@dataclass(frozen=True, slots=True)
class Resource:
    """
    One resource of the machine.

    Attributes:
        name: Name of the resource.
        percent: Use of its peak over all SMs and all elapsed cycles, per cent.
        percent_active: Use over the SMs that have work and their active cycles, per cent; higher if SMs are idle.
        bounds: Whether it can bound a kernel. A resource whose use only follows from another's cannot.
    """

    name: str
    percent: float
    percent_active: float
    bounds: bool = True


@dataclass(frozen=True, slots=True)
class Work:
    """
    The work of all launches of a run together.

    Attributes:
        counters: Totals over the grids, by ncu metric.
        bank_conflicts: Table of bank conflicts, totals over the grids.
        mma_interval: Cycles that one mma.sync occupies the tensor core of its SMSP; 0 if none is executed.
        mmas: mma.sync instructions.
        pipes: Warp instructions of each pipe besides the tensor core, by the machine's names.
        zero_filling: Wavefronts of cp.async that write zeros in lanes that are predicated off.
        other_wavefronts: Wavefronts that are in no table of bank conflicts, such as those of wgmma.
    """

    counters: Mapping[str, float]
    bank_conflicts: Sequence[BankConflicts]
    mma_interval: int
    mmas: int
    pipes: Mapping[str, int]
    zero_filling: int
    other_wavefronts: int = 0


@dataclass(frozen=True, slots=True)
class RunSpans:
    """
    The cycles against which use is measured, all launches together.

    Attributes:
        elapsed: Elapsed cycles.
        active: Active cycles, summed over the SMs that have work.
        longest: Longest active span of an SM.
    """

    elapsed: int
    active: int
    longest: int


def resources(machine: Machine, work: Work, spans: RunSpans) -> tuple[Resource, ...]:
    """
    Return the use of every resource, the most used first.

    In a launch with mma.sync, tensor cores slow the SMs' clock, but not the clocks of the L2 and DRAM (D25). A cp.async
    with zero-fill counts in the data stage, as ncu counts it; data of other copies bypasses the data stage. The L2's
    peak is its read bandwidth. Stores have a separate path (D10), so reads and stores together can exceed the peak; the
    use is then 100 %. DRAM's peak is the bandwidth of a stream.

    Args:
        machine: The machine.
        work: The executed work.
        spans: The cycles of the launches.
    """
    counters, busy = work.counters, work.mma_interval > 0

    def per_sm(name: str, cycles: float, *, bounds: bool = True) -> Resource:
        return Resource(name, _percent(cycles, machine.sms * spans.elapsed), _percent(cycles, spans.active), bounds)

    def of_chip(name: str, cycles: float) -> Resource:
        return Resource(name, _percent(cycles, spans.elapsed), _percent(cycles, spans.longest))

    def of_l2(cycles: float) -> Resource:
        return of_chip(L2_BANDWIDTH, min(cycles, spans.longest))

    copied = sum(row.wavefronts for row in work.bank_conflicts if row.op == _COPY)
    wavefronts = sum(row.wavefronts for row in work.bank_conflicts) - copied + min(copied, work.zero_filling)
    wavefronts += work.other_wavefronts
    read, written = counters["lts__t_sectors_op_read.sum"], counters["lts__t_sectors_op_write.sum"]
    moved = counters["dram__bytes_read.sum"] + counters["dram__bytes_write.sum"]
    found = [
        per_sm("tensor core", work.mmas * work.mma_interval / machine.smsps),
        per_sm("issue slots", counters["smsp__inst_executed.sum"] / machine.smsps),
        *(
            per_sm(f"{pipe} pipe", count * machine.pipes[pipe].interval / machine.smsps)
            for pipe, count in work.pipes.items()
        ),
        per_sm(DATA_STAGE, wavefronts / machine.shared.wavefronts_per_cycle),
        per_sm("L2 port of the SM", read * SECTOR_BYTES / machine.l2.bytes_per_cycle_per_sm, bounds=False),
        of_l2((read + written) * SECTOR_BYTES / machine.l2_bytes_per_cycle(busy=busy)),
        of_chip(DRAM_BANDWIDTH, moved * 1000 / machine.dram_bytes_per_kilocycle(busy=busy)),
    ]
    return tuple(sorted(found, key=lambda one: (-one.percent, one.name)))


def _percent(cycles: float, of: float) -> float:
    return round(100 * cycles / of, _DIGITS) if of else 0.0


def resources_of(result: Result) -> tuple[Resource, ...]:
    """Return the use that a result states, the most used first; empty for a result older than this table."""
    return tuple(Resource(**row) for row in result.bound.get("resources", ()))
