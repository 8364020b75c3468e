"""The frozen description of one GPU that a machine file loads into: integers, with the unit of each beside it."""

import hashlib
import json
from collections import Counter
from dataclasses import dataclass
from typing import Annotated, Literal, TypeAlias, get_args

FigureKind: TypeAlias = Literal["documented", "measured", "fitted", "assumed"]
FIGURE_KINDS: tuple[str, ...] = get_args(FigureKind)

PIPES = ("alu", "fma", "fmaheavy", "half", "mufu", "branch", "uniform")
"""Execution pipes of one SMSP, besides the tensor core and the MIO queue."""


@dataclass(frozen=True, slots=True)
class FigureUnit:
    """
    Marks an attribute that a record of the machine file fills.

    Attributes:
        name: The unit that the record must state.
        least: Smallest value of an integer: 1 for what is counted or divided by, 0 where nothing has a meaning.
    """

    name: str
    least: int = 1


@dataclass(frozen=True, slots=True)
class Inherited:
    """Marks an attribute that takes the value of the machine's own figure of this name."""

    name: str


@dataclass(frozen=True, slots=True)
class FigureRecord:
    """
    Where one figure of a machine file comes from.

    Attributes:
        key: Dotted key in the machine file.
        source: Key in the file's ``[sources]``; empty where the figure is assumed without one.
        at: Place in the source.
        why: Reason of an assumed figure.
        fitted_on: Runs a fitted figure was fitted on; they validate nothing.
    """

    key: str
    value: int | bool
    unit: str
    kind: FigureKind
    source: str
    at: str
    why: str
    fitted_on: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Limits:
    """
    What one SM can hold, and in which units it is handed out.

    Attributes:
        max_warps: Resident warps of one SM.
        max_ctas: Resident CTAs of one SM.
        registers: 32-bit registers of one SM.
        registers_per_thread: Most registers a thread may have.
        register_unit: Registers of a warp are rounded up to a multiple of this.
        warp_unit: Warps of a CTA are rounded up to a multiple of this.
        shared_bytes: Shared memory of one SM at its largest carve-out, reserved bytes included.
        shared_bytes_per_cta: Most shared memory a CTA may ask for.
        shared_reserved_per_cta: Shared memory the system takes for each CTA besides.
        shared_unit: Shared memory of a CTA is rounded up to a multiple of this.
        threads_per_cta: Most threads of a CTA.
    """

    max_warps: Annotated[int, FigureUnit("warps")]
    max_ctas: Annotated[int, FigureUnit("CTAs")]
    registers: Annotated[int, FigureUnit("registers")]
    registers_per_thread: Annotated[int, FigureUnit("registers")]
    register_unit: Annotated[int, FigureUnit("registers")]
    warp_unit: Annotated[int, FigureUnit("warps")]
    shared_bytes: Annotated[int, FigureUnit("bytes")]
    shared_bytes_per_cta: Annotated[int, FigureUnit("bytes")]
    shared_reserved_per_cta: Annotated[int, FigureUnit("bytes", least=0)]
    shared_unit: Annotated[int, FigureUnit("bytes")]
    threads_per_cta: Annotated[int, FigureUnit("threads")]


@dataclass(frozen=True, slots=True)
class Features:
    """Instructions the machine has: cp.async (sm_80), ldmatrix (sm_75)."""

    cp_async: Annotated[bool, FigureUnit("bool")]
    ldmatrix: Annotated[bool, FigureUnit("bool")]


@dataclass(frozen=True, slots=True)
class PipeSpec:
    """
    An execution pipe of one SMSP.

    Attributes:
        interval: Cycles one warp instruction keeps the pipe.
        latency: Cycles until a dependent instruction may issue.
    """

    interval: Annotated[int, FigureUnit("cycles")]
    latency: Annotated[int, FigureUnit("cycles", least=0)]


@dataclass(frozen=True, slots=True)
class MioSpec:
    """
    The queue from the issue port of an SMSP to the memory units of the SM.

    Attributes:
        queue_depth: Instructions that wait in one SMSP, besides the one in its address unit.
        smsp_interval: Cycles between two instructions leaving one SMSP.
        sm_interval: Cycles between two instructions leaving any SMSP of the SM.
    """

    queue_depth: Annotated[int, FigureUnit("instructions")]
    smsp_interval: Annotated[int, FigureUnit("cycles")]
    sm_interval: Annotated[int, FigureUnit("cycles")]


@dataclass(frozen=True, slots=True)
class SharedMemorySpec:
    """
    The banked data array of one SM.

    Attributes:
        load_latency: LDS of one wavefront, issue to dependent issue.
        wavefront_latency: Added by each further wavefront of one access in a lone warp.
        store_latency: STS, issue to sources free.
        ldmatrix_latency_x1: ldmatrix of one matrix, issue to dependent issue; each further matrix is a wavefront.
        shuffle_latency: SHFL, issue to dependent issue; it passes the data stage as a load of one wavefront.
        atomic_wavefronts: Wavefronts that each lane of an atomic (ATOMS) takes of those that meet at one word.
        smsp_return_bytes: Bytes a cycle on the path from the data array into one SMSP.
        wavefronts_per_cycle: Wavefronts the data stage serves in a cycle.
    """

    banks: Annotated[int, FigureUnit("banks")]
    bank_bytes: Annotated[int, FigureUnit("bytes")]
    load_latency: Annotated[int, FigureUnit("cycles", least=0)]
    wavefront_latency: Annotated[int, FigureUnit("cycles", least=0)]
    store_latency: Annotated[int, FigureUnit("cycles", least=0)]
    ldmatrix_latency_x1: Annotated[int, FigureUnit("cycles", least=0)]
    shuffle_latency: Annotated[int, FigureUnit("cycles", least=0)]
    atomic_wavefronts: Annotated[int, FigureUnit("wavefronts")]
    smsp_return_bytes: Annotated[int, FigureUnit("bytes/cycle")]
    wavefronts_per_cycle: Annotated[int, FigureUnit("wavefronts/cycle")]


@dataclass(frozen=True, slots=True)
class AsyncCopySpec:
    """
    cp.async (LDGSTS).

    Attributes:
        issue_interval: Cycles between two copies of one SMSP.
        source_release: Issue to the address registers free.
        l1_latency: Issue to the data in shared memory, on an L1 hit.
        commit_latency: commit_group, issue to next issue of the warp.
        wait_latency: wait_group with nothing pending, issue to next issue of the warp.
    """

    issue_interval: Annotated[int, FigureUnit("cycles")]
    source_release: Annotated[int, FigureUnit("cycles", least=0)]
    l1_latency: Annotated[int, FigureUnit("cycles", least=0)]
    commit_latency: Annotated[int, FigureUnit("cycles", least=0)]
    wait_latency: Annotated[int, FigureUnit("cycles", least=0)]


@dataclass(frozen=True, slots=True)
class L1Spec:
    """
    The L1 data cache of one SM.

    Attributes:
        bytes: L1 and shared memory together: what the shared-memory carve-out leaves is cache.
        hit_latency: Of a load, issue to dependent issue.
    """

    bytes: Annotated[int, FigureUnit("bytes")]
    line_bytes: Annotated[int, FigureUnit("bytes")]
    sector_bytes: Annotated[int, FigureUnit("bytes")]
    hit_latency: Annotated[int, FigureUnit("cycles", least=0)]
    bytes_per_cycle: Annotated[int, FigureUnit("bytes/cycle")]


@dataclass(frozen=True, slots=True)
class L2Spec:
    """
    The L2 of the chip.

    Attributes:
        bytes: Of the whole chip.
        partitions: Halves that each keep what the SMs next to them read: data read by all SMs is held in each.
        hit_latency: Load that hits the partition next to the SM, issue to dependent issue.
        far_latency: The same in the other partition; equal to ``hit_latency`` where there is but one.
        far_fraction_percent: Share of the lines whose home is the other partition.
        bytes_per_cycle: Of the whole chip, at the SM clock.
        bytes_per_cycle_per_sm: Port of one SM.
    """

    bytes: Annotated[int, FigureUnit("bytes")]
    partitions: Annotated[int, FigureUnit("partitions")]
    line_bytes: Annotated[int, FigureUnit("bytes")]
    hit_latency: Annotated[int, FigureUnit("cycles", least=0)]
    far_latency: Annotated[int, FigureUnit("cycles", least=0)]
    far_fraction_percent: Annotated[int, FigureUnit("percent", least=0)]
    bytes_per_cycle: Annotated[int, FigureUnit("bytes/cycle")]
    bytes_per_cycle_per_sm: Annotated[int, FigureUnit("bytes/cycle")]


@dataclass(frozen=True, slots=True)
class DramSpec:
    """
    The memory behind the L2.

    Attributes:
        latency: Load that misses the L2, issue to dependent issue, the L2's own time included.
        bandwidth_gb_s: Peak, 10^9 bytes a second.
        achievable_percent: Share of the peak a stream reaches.
    """

    latency: Annotated[int, FigureUnit("cycles", least=0)]
    bandwidth_gb_s: Annotated[int, FigureUnit("GB/s")]
    achievable_percent: Annotated[int, FigureUnit("percent")]
    clock_mhz: Annotated[int, Inherited("clock_mhz")]

    @property
    def bytes_per_kilocycle(self) -> int:
        """Bytes a stream brings in 1000 SM cycles at the machine's clock, rounded down, but never none."""
        return max(1, self.bandwidth_gb_s * self.achievable_percent * 10_000 // self.clock_mhz)


@dataclass(frozen=True, slots=True)
class BarrierSpec:
    """bar.sync over W warps takes ``base + per_warp * W`` cycles from the last arrival's issue."""

    base: Annotated[int, FigureUnit("cycles", least=0)]
    per_warp: Annotated[int, FigureUnit("cycles", least=0)]


@dataclass(frozen=True, slots=True)
class LaunchSpec:
    """
    How a grid and its CTAs start.

    Attributes:
        overhead: Elapsed cycles of a launch that are no SM's active cycles.
        cta_interval: Cycles between two CTAs handed out by the chip's CTA scheduler.
        cta_setup: Cycles from handing out a CTA to its first issue.
    """

    overhead: Annotated[int, FigureUnit("cycles", least=0)]
    cta_interval: Annotated[int, FigureUnit("cycles", least=0)]
    cta_setup: Annotated[int, FigureUnit("cycles", least=0)]


@dataclass(frozen=True, slots=True)
class InstructionCacheSpec:
    """
    The instruction caches: L0 of an SMSP, L1 of the SM.

    Attributes:
        stream_lines: Lines that the stream prefetcher runs ahead of execution.
        miss_latency: Cycles an L0 miss waits for the SM's L1.
        l1_miss_latency: Cycles an L1 miss waits for the L2.
    """

    line_bytes: Annotated[int, FigureUnit("bytes")]
    l0_bytes: Annotated[int, FigureUnit("bytes")]
    l1_bytes: Annotated[int, FigureUnit("bytes")]
    stream_lines: Annotated[int, FigureUnit("lines", least=0)]
    miss_latency: Annotated[int, FigureUnit("cycles", least=0)]
    l1_miss_latency: Annotated[int, FigureUnit("cycles", least=0)]


@dataclass(frozen=True, slots=True)
class ConstantCacheSpec:
    """The constant cache behind fixed-latency operands. ``miss_latency``: what a miss adds to such an instruction."""

    miss_latency: Annotated[int, FigureUnit("cycles", least=0)]


@dataclass(frozen=True, slots=True)
class Machine:
    """
    One GPU.

    Attributes:
        name: Stem of the machine file.
        compute_capability: 10 * major + minor.
        sms: Streaming multiprocessors.
        smsps: Sub-partitions of one SM.
        clock_mhz: SM clock that cycles are turned into time with.
        pipes: By the names in ``PIPES``.
        tensor: By shape.input.accumulator, as "m16n8k16.f16.f32": mma.sync on the tensor core of one SMSP.
        async_copy: None where the machine has no cp.async.
        figures: Where each figure comes from, in the order of this class.
        sources: Key -> title of each source.
    """

    name: str
    title: str
    compute_capability: Annotated[int, FigureUnit("10*major+minor")]
    sms: Annotated[int, FigureUnit("SMs")]
    smsps: Annotated[int, FigureUnit("SMSPs")]
    clock_mhz: Annotated[int, FigureUnit("MHz")]
    limits: Limits
    features: Features
    pipes: dict[str, PipeSpec]
    tensor: dict[str, PipeSpec]
    mio: MioSpec
    shared: SharedMemorySpec
    async_copy: AsyncCopySpec | None
    l1: L1Spec
    l2: L2Spec
    dram: DramSpec
    barrier: BarrierSpec
    launch: LaunchSpec
    instruction_cache: InstructionCacheSpec
    constant_cache: ConstantCacheSpec
    figures: tuple[FigureRecord, ...]
    sources: dict[str, str]

    def figure_counts(self) -> dict[str, int]:
        """How many figures are of each kind, all four kinds named."""
        counts = Counter[str](record.kind for record in self.figures)
        return {kind: counts[kind] for kind in FIGURE_KINDS}

    def digest(self) -> str:
        """SHA-256 over the name and every figure's key, value and kind: equal for machines that simulate alike."""
        rows = [[record.key, record.value, record.kind] for record in self.figures]
        canonical = json.dumps([self.name, rows], separators=(",", ":"))
        return hashlib.sha256(canonical.encode()).hexdigest()
