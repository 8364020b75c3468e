"""The number of CTAs of a kernel that one SM holds at once, and the resource that limits it."""

from dataclasses import dataclass
from typing import Literal

from gpusim.errors import BadInput
from gpusim.machine.spec import Machine

Limiter = Literal["warps", "ctas", "registers", "barriers", "shared_memory"]


@dataclass(frozen=True, slots=True)
class Occupancy:
    """
    The CTAs of one kernel that are resident on one SM at once.

    Attributes:
        ctas: Resident CTAs of one SM; 0 if not even one fits.
        limiter: Resource that allows no more CTAs; of several, the first in the order of ``Limiter``.
    """

    ctas: int
    limiter: Limiter


def ctas_per_sm(
    machine: Machine, threads: int, registers_per_thread: int, shared_bytes: int, barriers: int = 1
) -> Occupancy:
    """
    Compute the resident CTAs of one SM by CUDA's occupancy rules.

    Registers are allocated per warp and per SMSP. For them a CTA's warps are rounded up to the warp unit, and spread
    evenly over the SMSPs. The warps themselves are not rounded (residents.csv: 32 CTAs of one warp). The bytes that the
    system reserves for each CTA are added to its shared memory, and the sum is rounded up to the shared-memory unit.
    The carve-out is assumed to be the largest.

    Args:
        machine: Machine with the limits of an SM.
        threads: Threads of one CTA.
        registers_per_thread: Registers of one thread, as the compiler reports them.
        shared_bytes: Static and dynamic shared memory of one CTA, without the reserved bytes.
        barriers: Named barriers of one CTA.

    Source: cuda_occupancy.h (CUDA toolkit), cudaOccMaxActiveBlocksPerMultiprocessor.
    """
    limits = machine.limits
    warps = -(-threads // 32)
    by_warps = limits.max_warps // warps
    warp_registers = _round_up(32 * registers_per_thread, limits.register_unit)
    warps_by_registers = limits.registers // machine.smsps // warp_registers * machine.smsps
    shared = _round_up(shared_bytes + limits.shared_reserved_per_cta, limits.shared_unit)
    allowed: dict[Limiter, int] = {
        "warps": by_warps,
        "ctas": limits.max_ctas,
        "registers": warps_by_registers // _round_up(warps, limits.warp_unit),
    }
    if barriers:
        allowed["barriers"] = limits.barriers // barriers
    if shared:
        allowed["shared_memory"] = limits.shared_bytes // shared
    if shared_bytes > limits.shared_bytes_per_cta:
        allowed["shared_memory"] = 0
    if registers_per_thread > limits.registers_per_thread:
        allowed["registers"] = 0
    if threads > limits.threads_per_cta:
        allowed["warps"] = 0
    limiter = min(allowed, key=lambda resource: allowed[resource])
    return Occupancy(allowed[limiter], limiter)


def require_room(machine: Machine, occupancy: Occupancy, threads: int, registers: int, shared_bytes: int) -> None:
    """
    Refuse a CTA that does not fit on an SM.

    Raises:
        BadInput: The occupancy is 0; the message names the limiting resource.
    """
    if occupancy.ctas < 1:
        raise BadInput(
            f"a CTA must fit on an SM of {machine.name}: {threads} threads of {registers} registers"
            f" and {shared_bytes} bytes of shared memory do not ({occupancy.limiter})"
        )


def _round_up(value: int, unit: int) -> int:
    return -(-value // unit) * unit
