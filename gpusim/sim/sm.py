"""One SM: wires four SMSPs to the units they share, and holds the resident CTAs."""

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
    Args:
        l1: The SM's L1, wired to the chip's L2.
        assembly: CTA index -> the code it runs.
        finished: Called with a CTA when its last warp has exited.
        observer: Takes notes of the watched CTA's warps.

    Attributes:
        lives: Of the CTAs that have ended, in order of their end.
        stalls: Warp cycles by reason, of the warps that have exited.
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
        """A CTA will be launched here at ``at``."""
        self._expected.append(at)

    def _next_launch(self, now: int) -> int:
        """Earliest cycle at which another CTA may come: one that is expected, or one that a CTA's end brings."""
        return min((*self._expected, now + self._launch_delay))

    def launch(self, index: int, footprint: Footprint, at: int, *, observed: bool) -> None:
        """
        Make a CTA resident: its warps may issue from ``at`` on.

        They go round the SMSPs, beginning at the one with fewest warps (D13).
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
                # The kernel's parameters are cold in the constant cache once for each SM.
                warp.hold(at + self._constant_miss, IMC_MISS)
            self.smsps[smsp].add(warp)
        self._cold = False

    def _arrive(self, warp: Warp, at: int) -> None:
        """A warp reaches the barrier; the last one frees its CTA's warps."""
        waiting = self._barred[warp.cta.index]
        waiting.append(warp)
        release = self._barrier.arrive(warp.cta, at)
        if release is None:
            return
        self._barred[warp.cta.index] = []
        for each in waiting:
            self.smsps[each.smsp].release(each, release)

    def _leave(self, warp: Warp, at: int) -> None:
        """A warp has issued its last instruction; it is gone at ``at``."""
        for reason, cycles in enumerate(warp.stalls):
            self.stalls[reason] += cycles
        cta = warp.cta
        if warp.spans is not None:
            self.observer.retire(warp)
        cta.remaining -= 1
        if cta.remaining == 0:
            # All of its warps issue in order of time: this one is the last to go.
            self.lives.append(CtaLife(cta.index, cta.launched, at))
            del self._barred[cta.index]
            self._finished(self, cta)

    @property
    def span(self) -> int:
        """Cycles from the launch of the first CTA to the end of the last."""
        return max(life.finished for life in self.lives) - min(life.launched for life in self.lives)

    @property
    def instructions(self) -> int:
        """Warp instructions issued."""
        return sum(smsp.issued for smsp in self.smsps)
