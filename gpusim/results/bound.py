"""
The resource that bounds a kernel: the fewest cycles each resource needs, compared with the cycles the kernel took.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from gpusim.machine.spec import Machine
from gpusim.results.result import BankConflicts

TENSOR_METRICS = tuple(f"sm__inst_executed_pipe_tensor_op_{kind}.sum" for kind in ("hmma", "imma"))
"""ncu metrics that count the instructions of the tensor core; a kernel executes only one kind."""

_COPY = "ldgsts"
"""Op of the rows of cp.async: what it brings passes no data stage, but each takes that for a time when issued (D3)."""

CHIP_RESOURCES = ("L2 bandwidth", "DRAM bandwidth")
"""Resources that all SMs share; every other one, each SM has for itself."""

BOUND_SHARE = 0.6
"""Least share of the active span that a resource must be in use to bound the kernel; below it the bound is latency."""


@dataclass(frozen=True, slots=True)
class Demand:
    """The fewest cycles each resource needs if no other resource limits it, on the SM with the most CTAs."""

    cycles: dict[str, int]

    @classmethod
    def of(
        cls,
        machine: Machine,
        counters: Mapping[str, float],
        conflicts: Sequence[BankConflicts],
        *,
        instructions: int,
        ctas: int,
        tensor_interval: int,
        pipes: Mapping[str, int] | None = None,
    ) -> Self:
        """
        Compute the demand from what the grid executes.

        Where it multiplies, tensor cores slow the SMs' clock down, and those of the L2 and DRAM go on (D25).

        Args:
            machine: Machine whose resources are counted.
            counters: ncu metric to total over the grid.
            conflicts: Table of bank conflicts, totals over the grid.
            instructions: Warp instructions of the grid.
            ctas: CTAs of the grid; the fullest SM runs ``ceil(ctas / SMs)`` of them.
            tensor_interval: Cycles one mma.sync occupies the tensor core of its SMSP; 0 where none is executed.
            pipes: Warp instructions of the grid on other execution pipes that may bound it, by the machine's pipe
                names.
        """
        fullest, busy = -(-ctas // machine.sms), tensor_interval > 0
        sectors = counters["lts__t_sectors_op_read.sum"] + counters["lts__t_sectors_op_write.sum"]
        wavefronts = sum(row.wavefronts for row in conflicts if row.op != _COPY)
        copies = sum(row.requests for row in conflicts if row.op == _COPY)

        def of_sm(total: float) -> float:
            return total * fullest / ctas

        return cls(
            {
                "tensor core": round(
                    of_sm(sum(counters.get(metric, 0) for metric in TENSOR_METRICS)) * tensor_interval / machine.smsps
                ),
                **{
                    f"{pipe} pipe": round(of_sm(count) * machine.pipes[pipe].interval / machine.smsps)
                    for pipe, count in (pipes or {}).items()
                },
                "issue slots": round(of_sm(instructions) / machine.smsps),
                "shared-memory data stage": round(
                    of_sm(wavefronts) / machine.shared.wavefronts_per_cycle + of_sm(copies)
                ),
                "L2 port of the SM": round(of_sm(sectors) * 32 / machine.l2.bytes_per_cycle_per_sm),
                "L2 bandwidth": round(sectors * 32 / machine.l2_bytes_per_cycle(busy=busy)),
                "DRAM bandwidth": round(
                    counters["dram__bytes_read.sum"] * 1000 / machine.dram_bytes_per_kilocycle(busy=busy)
                ),
            }
        )


def first_bound(demand: Demand, span: int, stalls: Mapping[str, int]) -> dict[str, Any]:
    """
    Find the resource nearest its limit.

    Args:
        demand: Cycles each resource needs.
        span: Active cycles of the fullest SM.
        stalls: Warp cycles by stall reason.

    Returns:
        ``resource`` ("latency" if none is in use for most of the span), ``utilisation`` of the busiest one,
        ``busiest``, ``reason`` in words, and ``cycles`` of all.
    """
    busiest = max(demand.cycles, key=lambda name: (demand.cycles[name], name))
    utilisation = demand.cycles[busiest] / span if span else 0.0
    waits = {reason: cycles for reason, cycles in stalls.items() if reason not in ("selected", "not_selected")}
    longest = max(waits, key=lambda reason: (waits[reason], reason), default="wait")
    if utilisation >= BOUND_SHARE:
        resource, reason = busiest, f"{busiest} busy for {utilisation:.0%} of the active span"
    else:
        resource = "latency"
        reason = f"no resource is busy; warps wait longest for {longest}, and {busiest} is in use {utilisation:.0%}"
    return {
        "resource": resource,
        "busiest": busiest,
        "utilisation": round(utilisation, 4),
        "reason": reason,
        "cycles": dict(demand.cycles),
    }
