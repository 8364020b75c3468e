"""One GPU: a field for each table of its file, and what several tables say together."""

import hashlib
import json
from collections import Counter
from dataclasses import dataclass
from typing import Annotated

from gpusim.machine.figure import FIGURE_KINDS, FigureRecord, FigureUnit
from gpusim.machine.spec.async_copy import AsyncCopySpec
from gpusim.machine.spec.barrier import BarrierSpec
from gpusim.machine.spec.constant_cache import ConstantCacheSpec
from gpusim.machine.spec.dispatch import DispatchSpec
from gpusim.machine.spec.dram import DramSpec
from gpusim.machine.spec.features import Features
from gpusim.machine.spec.instruction_cache import InstructionCacheSpec
from gpusim.machine.spec.l1 import L1Spec
from gpusim.machine.spec.l2 import L2Spec
from gpusim.machine.spec.launch import LaunchSpec
from gpusim.machine.spec.limits import Limits
from gpusim.machine.spec.mbarrier import MbarrierSpec
from gpusim.machine.spec.mio import MioSpec
from gpusim.machine.spec.pipes import PipeSpec
from gpusim.machine.spec.shared import SharedMemorySpec
from gpusim.machine.spec.tensor import TensorSpec
from gpusim.machine.spec.tma import TmaSpec
from gpusim.machine.spec.wgmma import WgmmaSpec


@dataclass(frozen=True, slots=True)
class Machine:
    """
    The description of one GPU.

    Attributes:
        name: Stem of the machine file, and the figures that a user has set: "h200 with sms = 66".
        title: Name of the GPU for a reader.
        compute_capability: 10 * major + minor.
        sms: Streaming multiprocessors.
        smsps: Sub-partitions of one SM.
        clock_mhz: SM clock at which cycles are converted to time.
        pipes: Execution pipes by their names in ``PIPES``.
        tensor: mma.sync on the tensor core of one SMSP, by shape.input.accumulator, as "m16n8k16.f16.f32".
        async_copy: cp.async figures; None for a machine without cp.async.
        mbarrier, tma, wgmma: Figures of sm_90's units; None if they are unknown, or the machine has none.
        figures: Provenance of each figure, in the order of this class.
        sources: Title of each source, by its key.
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
    tensor: dict[str, TensorSpec]
    mio: MioSpec
    shared: SharedMemorySpec
    async_copy: AsyncCopySpec | None
    l1: L1Spec
    l2: L2Spec
    dram: DramSpec
    barrier: BarrierSpec
    mbarrier: MbarrierSpec | None
    tma: TmaSpec | None
    wgmma: WgmmaSpec | None
    dispatch: DispatchSpec
    launch: LaunchSpec
    instruction_cache: InstructionCacheSpec
    constant_cache: ConstantCacheSpec
    figures: tuple[FigureRecord, ...]
    sources: dict[str, str]

    def __hash__(self) -> int:
        """Return the hash of the name, because a table of figures has none."""
        return hash(self.name)

    def clock_percent(self, *, busy: bool) -> int:
        """
        Return the cycles of a constant clock in 100 cycles of the SMs (D25).

        Args:
            busy: Whether tensor cores slow the SMs' clock down.
        """
        return self.launch.idle_clock_percent if busy else 100

    def l2_clock_percent(self, *, busy: bool) -> int:
        """Return the cycles of the L2's clock in 100 cycles of the SMs: 100 unless it is known to be its own."""
        return 100 if self.l2.clock is None else self.clock_percent(busy=busy)

    def l2_bytes_per_cycle(self, *, busy: bool) -> int:
        """Return the bytes that the L2 delivers in a cycle of the SMs."""
        return self.l2.bytes_per_cycle * self.l2_clock_percent(busy=busy) // 100

    def dram_bytes_per_kilocycle(self, *, busy: bool) -> int:
        """Return the bytes that DRAM delivers in a thousand cycles of the SMs."""
        return self.dram.bytes_per_kilocycle * self.clock_percent(busy=busy) // 100

    def figure_counts(self) -> dict[str, int]:
        """Return the number of figures of each kind that a file may state, and of the user's if there are any."""
        counts = Counter[str](record.kind for record in self.figures)
        return {kind: counts[kind] for kind in FIGURE_KINDS} | ({"user": counts["user"]} if counts["user"] else {})

    def digest(self) -> str:
        """
        Return a SHA-256 over the name and every figure's key, value and kind; machines that simulate alike share it.
        """
        rows = [[record.key, record.value, record.kind] for record in self.figures]
        canonical = json.dumps([self.name, rows], separators=(",", ":"))
        return hashlib.sha256(canonical.encode()).hexdigest()
