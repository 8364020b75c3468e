"""The capacity of one SM, ``[limits]`` in a machine file: warps, CTAs, registers, shared memory."""

from dataclasses import dataclass
from typing import Annotated

from gpusim.machine.figure import FigureUnit


@dataclass(frozen=True, slots=True)
class Limits:
    """
    The capacity of one SM, and the units in which it is allocated.

    Attributes:
        max_warps: Resident warps of one SM.
        max_ctas: Resident CTAs of one SM.
        barriers: Named barriers of all CTAs of an SM.
        registers: 32-bit registers of one SM.
        registers_per_thread: Most registers a thread may have.
        register_unit: Registers of a warp are rounded up to a multiple of this.
        warp_unit: Warps of a CTA are rounded up to a multiple of this.
        shared_bytes: Shared memory of one SM at its largest carve-out, reserved bytes included.
        shared_bytes_per_cta: Most shared memory a CTA may request.
        shared_reserved_per_cta: Shared memory the system adds for each CTA.
        shared_unit: Shared memory of a CTA is rounded up to a multiple of this.
        threads_per_cta: Most threads of a CTA.
    """

    max_warps: Annotated[int, FigureUnit("warps", lower=4)]
    max_ctas: Annotated[int, FigureUnit("CTAs")]
    barriers: Annotated[int, FigureUnit("barriers", 16, 1024)]
    registers: Annotated[int, FigureUnit("registers", 1 << 10, 1 << 20)]
    registers_per_thread: Annotated[int, FigureUnit("registers", 16, 1024)]
    register_unit: Annotated[int, FigureUnit("registers", 1, 4096)]
    warp_unit: Annotated[int, FigureUnit("warps")]
    shared_bytes: Annotated[int, FigureUnit("bytes", 1 << 10, 1 << 22)]
    shared_bytes_per_cta: Annotated[int, FigureUnit("bytes", 1 << 10, 1 << 22)]
    shared_reserved_per_cta: Annotated[int, FigureUnit("bytes", upper=1 << 16, zero="the system takes none")]
    shared_unit: Annotated[int, FigureUnit("bytes", 1, 1 << 16)]
    threads_per_cta: Annotated[int, FigureUnit("threads", 32, 4096)]
