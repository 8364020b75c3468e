"""Models one SM: connects its SMSPs to the units that they share, and holds the resident CTAs."""

from collections.abc import Callable

import simpy

from gpusim.machine.spec import Machine
from gpusim.sim.barrier import BarrierUnit
from gpusim.sim.code import Assembly
from gpusim.sim.cta import Cta, CtaLife
from gpusim.sim.footprint import Footprint
from gpusim.sim.instruction_cache import InstructionCache
from gpusim.sim.l1 import L1
from gpusim.sim.observer import Observer
from gpusim.sim.shared_memory import SharedMemory
from gpusim.sim.smsp import Connections, Smsp
from gpusim.sim.stall_reasons import IMC_MISS, REASONS
from gpusim.sim.warp import Warp


class Sm:
    """
    One SM with its SMSPs, shared units and resident CTAs.

    Args:
        env: The SimPy environment.
        machine: The machine.
        l1: The SM's L1, connected to the chip's L2.
        assembly: Returns the code of a CTA, by its index.
        finished: Called with the SM and a CTA when the CTA's last warp has exited.
        observer: Collects what the watched CTA's warps do.

    Attributes:
        lives: Lifetimes of the CTAs that have ended, in order of their end.
        stalls: Warp cycles of the warps that have exited, indexed by stall reason.
    """

    def __init__(
        self,
        env: simpy.Environment,
        machine: Machine,
        l1: L1,
        *,
        assembly: Callable[[int], Assembly],
        finished: Callable[["Sm", Cta], None],
        observer: Observer,
    ) -> None:
        self.shared_memory = SharedMemory(machine)
        self.l1 = l1
        self.observer = observer
        self._barrier = BarrierUnit(machine.barrier)
        connections = Connections(
            shared_memory=self.shared_memory,
            l1=l1,
            instruction_cache=InstructionCache(machine.instruction_cache),
            barrier_shortest=self._barrier.shortest,
            observer=observer,
            next_launch=self._next_launch,
            arrive=self._arrive,
            leave=self._leave,
        )
        self.smsps = [Smsp(env, machine, connections, each) for each in range(machine.smsps)]
        self.stalls = [0] * len(REASONS)
        self.lives: list[CtaLife] = []
        self._assembly = assembly
        self._constant_miss = machine.constant_cache.miss_latency
        self._launch_delay = machine.launch.cta_interval + machine.launch.cta_setup
        self._finished = finished
        self._expected: list[int] = []
        self._barred: dict[int, list[Warp]] = {}
        self._cold = True

    def expect(self, at: int) -> None:
        """Announce that a CTA will be launched on this SM at cycle ``at``."""
        self._expected.append(at)

    def _next_launch(self, now: int) -> int:
        """Return the earliest cycle at which a CTA may be launched: an announced one, or one that replaces another."""
        return min((*self._expected, now + self._launch_delay))

    def launch(self, index: int, footprint: Footprint, at: int, *, observed: bool) -> None:
        """
        Make a CTA resident. Its warps may issue from cycle ``at`` on.

        Warps are distributed over the SMSPs in turn, beginning with the SMSP that has the fewest warps (D13).
        """
        self._expected.remove(at)
        assembly = self._assembly(index)
        cta = Cta(index, footprint, assembly.warps, assembly.warps, at)
        self._barred[index] = []
        first = min(range(len(self.smsps)), key=lambda smsp: self.smsps[smsp].resident)
        for number in range(assembly.warps):
            smsp = (first + number) % len(self.smsps)
            warp = Warp(cta, number, smsp, assembly.segments, observed=observed)
            if self._cold:
                # The first CTA of each SM misses the constant cache for the kernel's parameters.
                warp.hold(at + self._constant_miss, IMC_MISS)
            self.smsps[smsp].add(warp)
        self._cold = False

    def _arrive(self, warp: Warp, at: int) -> None:
        """Let a warp arrive at its CTA's barrier at cycle ``at``. The last arrival releases all warps of the CTA."""
        waiting = self._barred[warp.cta.index]
        waiting.append(warp)
        release = self._barrier.arrive(warp.cta, at)
        if release is None:
            return
        self._barred[warp.cta.index] = []
        for each in waiting:
            self.smsps[each.smsp].release(each, release)

    def _leave(self, warp: Warp, at: int) -> None:
        """Remove a warp that has issued its last instruction; ``at`` is the cycle after it."""
        for reason, cycles in enumerate(warp.stalls):
            self.stalls[reason] += cycles
        cta = warp.cta
        if warp.spans is not None:
            self.observer.retire(warp)
        cta.remaining -= 1
        if cta.remaining == 0:
            # Exits are simulated in order of time, so this warp is the last of its CTA.
            self.lives.append(CtaLife(cta.index, cta.launched, at))
            del self._barred[cta.index]
            self._finished(self, cta)

    @property
    def span(self) -> int:
        """Cycles from the launch of the first CTA to the end of the last."""
        return max(life.finished for life in self.lives) - min(life.launched for life in self.lives)

    @property
    def instructions(self) -> int:
        """Number of warp instructions issued."""
        return sum(smsp.issued for smsp in self.smsps)
