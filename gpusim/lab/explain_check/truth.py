"""
The bound of a measured kernel, by tables that were fixed before any comparison with a simulation.

The rule: the resource of the highest throughput if that is at least 60 %, else the resource of the largest stall
reason. Throughputs are per cent of the peak over all SMs and all elapsed cycles, as in Nsight Compute's "GPU Speed Of
Light". Percentages that ncu gives over active cycles are multiplied by active over elapsed cycles. One rule changed
later: the L2's use is now a share of the launch's time, like DRAM's, because the L2 was found to have a clock of its
own (D25). Before, it was a share of cycles.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from gpusim.machine.spec import Machine
from gpusim.records.check import stall_shares
from gpusim.results.result import ELAPSED
from gpusim.units import SECTOR_BYTES

MetricScale: TypeAlias = Literal["percent of active", "pipe", "wavefronts", "L2 sectors", "DRAM bytes"]
"""
How a metric becomes a share of the peak.

percent of active: ncu's own percentage, of active cycles.
pipe: Warp instructions, times the machine's interval of the pipe, over SMSPs and elapsed cycles.
wavefronts: Over SMs and elapsed cycles, times the wavefronts of a cycle.
L2 sectors: Times 32 bytes, over the launch's time times the machine's bytes of a cycle at its full clock.
DRAM bytes: Over the launch's time times the machine's documented bandwidth.
"""

THROUGHPUTS: Final[tuple[tuple[str, MetricScale, tuple[str, ...]], ...]] = (
    (
        "tensor core",
        "percent of active",
        tuple(f"sm__pipe_tensor_op_{kind}_cycles_active.avg.pct_of_peak_sustained_active" for kind in ("hmma", "imma")),
    ),
    ("issue slots", "percent of active", ("smsp__issue_active.avg.pct_of_peak_sustained_active",)),
    ("alu pipe", "pipe", ("sm__inst_executed_pipe_alu.sum",)),
    ("fma pipe", "pipe", ("sm__inst_executed_pipe_fma.sum",)),
    ("fmaheavy pipe", "pipe", ("sm__inst_executed_pipe_fmaheavy.sum",)),
    ("mufu pipe", "pipe", ("sm__inst_executed_pipe_xu.sum",)),
    ("uniform pipe", "pipe", ("sm__inst_executed_pipe_uniform.sum",)),
    ("shared-memory data stage", "wavefronts", ("l1tex__data_pipe_lsu_wavefronts_mem_shared.sum",)),
    ("L2 bandwidth", "L2 sectors", ("lts__t_sectors_op_read.sum", "lts__t_sectors_op_write.sum")),
    ("DRAM bandwidth", "DRAM bytes", ("dram__bytes_read.sum", "dram__bytes_write.sum")),
)
"""
Resource, scale and ncu's metrics, which are added; a kernel executes only one of the tensor core's two kinds.

The data stage's wavefronts are those of loads and stores, as ncu counts them, without the data of cp.async.
"""

STALL_RESOURCES: Final[Mapping[str, str]] = {
    **dict.fromkeys(("long_scoreboard", "lg_throttle", "drain"), "latency of global memory"),
    **dict.fromkeys(("short_scoreboard", "mio_throttle"), "latency of shared memory"),
    **dict.fromkeys(("wait", "branch_resolving", "dispatch_stall"), "fixed-latency dependencies"),
    **dict.fromkeys(("barrier", "membar", "sleeping"), "barriers"),
    "gmma": "wgmma in flight",
    **dict.fromkeys(("no_instruction", "imc_miss"), "fetch of instructions and constants"),
    "math_pipe_throttle": "math pipes",
    "not_selected": "issue slots",
}
"""The resource for each of ncu's stall reasons. "selected" has none: the warp issues."""

LEAST_PERCENT: Final = 60.0
"""Least throughput of a resource that bounds a kernel; below it, the stall reason bounds it."""


@dataclass(frozen=True, slots=True)
class MeasuredBound:
    """
    The bound of a measured kernel.

    Attributes:
        resource: Name of the resource.
        percent: Its throughput, or the stall reason's share of all warp cycles.
        reason: The stall reason; empty if a throughput decides.
        runner_up: The next resource, by the same figure.
        runner_up_percent: Its figure.
    """

    resource: str
    percent: float
    reason: str
    runner_up: str
    runner_up_percent: float


def measured_throughputs(counters: Mapping[str, float], machine: Machine) -> dict[str, float]:
    """
    Return the throughput of every resource whose metrics were measured, per cent of the peak.

    Args:
        counters: Values by ncu metric, of one scenario's launches together.
        machine: Machine file of the GPU.
    """
    elapsed = counters[ELAPSED]
    slots = machine.smsps * machine.sms * elapsed
    nanoseconds = counters.get("gpu__time_duration.sum", 1000 * elapsed / machine.clock_mhz)
    found = {}
    for resource, scale, metrics in THROUGHPUTS:
        known = [counters[metric] for metric in metrics if metric in counters]
        if not known:
            continue
        total = sum(known)
        match scale:
            case "percent of active":
                found[resource] = total * counters["sm__cycles_active.avg"] / elapsed
            case "pipe":
                found[resource] = 100 * total * machine.pipes[resource.removesuffix(" pipe")].interval / slots
            case "wavefronts":
                found[resource] = 100 * total / (machine.sms * elapsed * machine.shared.wavefronts_per_cycle)
            case "L2 sectors":
                bytes_per_ns = machine.l2.bytes_per_cycle * machine.clock_mhz / 1000
                found[resource] = 100 * total * SECTOR_BYTES / (nanoseconds * bytes_per_ns)
            case "DRAM bytes":
                found[resource] = 100 * total / (nanoseconds * machine.dram.bandwidth_gb_s)
    return found


def measured_bound(counters: Mapping[str, float], machine: Machine) -> MeasuredBound:
    """Return the bound of a measured kernel, by the rule of this module."""
    throughputs = measured_throughputs(counters, machine)
    first, second = sorted(throughputs, key=lambda name: (-throughputs[name], name))[:2]
    if throughputs[first] >= LEAST_PERCENT:
        return MeasuredBound(first, throughputs[first], "", second, throughputs[second])
    shares = {reason: share for reason, share in stall_shares(counters).items() if reason in STALL_RESOURCES}
    ranked = sorted(shares, key=lambda reason: (-shares[reason], reason))
    longest, next_ = ranked[0], ranked[1]
    return MeasuredBound(
        STALL_RESOURCES[longest], 100 * shares[longest], longest, STALL_RESOURCES[next_], 100 * shares[next_]
    )
