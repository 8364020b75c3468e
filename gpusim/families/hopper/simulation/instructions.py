"""
The instructions of each operation of a role, estimated: what a compiler makes of it, in the form that the core reads.

Asynchronous instructions, barriers and matrix instructions are those of the operation. The arithmetic around them is an
estimate: addresses, predicates, and in the epilogue the scaling and packing of each accumulator.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from gpusim.errors import BadInput
from gpusim.families.hopper.collective import Collective
from gpusim.families.hopper.problem import WARPGROUP
from gpusim.families.hopper.program import ops
from gpusim.machine.spec import Machine
from gpusim.machine.spec.tma import TmaSpec
from gpusim.machine.spec.wgmma import WgmmaSpec
from gpusim.sim.code import OUTPUT, THROTTLES, Decoded, pipe_names
from gpusim.sim.core.constants import (
    ARRIVES,
    BAR,
    EXIT,
    GLOBAL,
    MBARRIER,
    PIPE,
    SHARED,
    STORE_WAIT,
    TMA_LOAD,
    TMA_STORE,
    WAITS,
    WGMMA,
    WGMMA_WAIT,
)
from gpusim.sim.stall_reasons import MATH_PIPE_THROTTLE, MIO_THROTTLE
from gpusim.units import WARP_SIZE

_WARPS: Final = WARPGROUP // WARP_SIZE

RING_NAMES: Final = (
    "mainloop.full",
    "mainloop.empty",
    "epi_load.full",
    "epi_load.empty",
    "math_wg_order",
    "load_order",
)
"""Names of mbarriers: the number of a wait's is ``Decoded.k_group``."""

LOGGED: Final = ("wait", "mma")
"""What is logged of a watched CTA: waits at mbarriers, and wgmma."""

_MATRIX_VALUES: Final = 8
"""Values of 16 bits that an x4 matrix instruction moves for a thread."""

_TESTED: Final = 16
"""Cycles until the branch behind a test of a phase is decided, if the phase is complete."""

_DEPENDENT: Final = 5
"""Cycles from one instruction to the next of address arithmetic, most of which depends on the one before."""

_FENCES: Final[Mapping[ops.RoleOp, int]] = {ops.WGMMA_FENCE: 16, ops.PROXY_FENCE: 40, ops.CLUSTER_WAIT: 360}
"""
Cycles of wgmma.fence (WARPGROUP.ARRIVE), of fence.proxy.async with the fence of the CTA before it, and of the meeting
of a cluster.
"""


class Around(NamedTuple):
    """
    Instructions around those of the operations: addresses, predicates, branches, divisions of the tile's number.

    Attributes:
        begin: At the begin of the kernel.
        fence: Around each fence of initialised mbarriers.
        init: With each initialisation.
        producer, consumer: At the begin of a role.
        tile: Of a producer, for each tile.
        load: Of a producer, for each k tile.
        wgmma: Before each wgmma.
        k_tile: Of a consumer, for each k tile.
        epilogue: Of a consumer, for each tile.
        subtile: For each subtile of the epilogue, besides its arithmetic.
        parameter_lines: Lines of 64 bytes of the kernel's parameters that are read.
    """

    begin: int
    fence: int
    init: int
    producer: int
    consumer: int
    tile: int
    load: int
    wgmma: int
    k_tile: int
    epilogue: int
    subtile: int
    parameter_lines: int


AROUND_OPS: Final = {
    "gpusim": Around(
        begin=14,
        fence=9,
        init=1,
        producer=12,
        consumer=47,
        tile=30,
        load=32,
        wgmma=5,
        k_tile=10,
        epilogue=28,
        subtile=16,
        parameter_lines=3,
    ),
    "cutlass": Around(
        begin=60,
        fence=20,
        init=1,
        producer=110,
        consumer=165,
        tile=90,
        load=40,
        wgmma=5,
        k_tile=14,
        epilogue=110,
        subtile=64,
        parameter_lines=12,
    ),
}
"""
By whose code it is. Counted to about a tenth in listings for sm_90a, cooperative, 128x128x64, f16, ptxas 13.0: that of
kernels_cuda/hopper, and that of CUTLASS 4.2's GemmUniversal, of which branches that are not taken were left out.
"""


@dataclass(frozen=True)
class Instructions:
    """
    Makes the instructions of operations.

    Attributes:
        collective: The kernel.
        machine: The machine.
        tma, wgmma: Its figures of these units.
        warps: Most warps of a CTA.
        around: Instructions around those of the operations.
    """

    collective: Collective
    machine: Machine
    tma: TmaSpec
    wgmma: WgmmaSpec
    warps: int
    around: Around

    def simple(self, kind: int, **fields: Any) -> Decoded:
        """Return an instruction that is no pipe's. It waits for the barrier that the warp waits for."""
        ports = len(pipe_names(self.machine))
        port = ports + (kind not in THROTTLES)
        throttle = MATH_PIPE_THROTTLE if kind == WGMMA else THROTTLES.get(kind, MIO_THROTTLE)
        return Decoded(kind, port, throttle, joins=True, **fields)

    def math(self, pipe: str, count: int, stall: int = 1) -> list[Decoded]:
        """Return instructions of a pipe."""
        figures = self.machine.pipes[pipe]
        port = pipe_names(self.machine).index(pipe)
        one = Decoded(
            PIPE, port, MATH_PIPE_THROTTLE, figures.interval, figures.latency or 0, joins=True, stall=max(1, stall)
        )
        return [one] * count

    def of(self, op: ops.RoleOp, warp: int, *, produces: bool) -> list[Decoded]:  # noqa: C901, PLR0911, PLR0912 - one for each operation
        """
        Return the instructions of an operation for one warp of the role.

        Args:
            op: The operation.
            warp: The warp's number in the role.
            produces: Whether the role is that of a producer.
        """
        match op:
            case ops.Wait():
                pipeline = RING_NAMES.index(op.barrier.pipeline)
                made = [self.simple(MBARRIER, meets=WAITS, stall=_TESTED, k_group=pipeline, activity=0)]
                if op.barrier.pipeline == "mainloop.empty":
                    return [*made, *self.math("uniform", self.around.load)]
                if op.barrier.pipeline == "mainloop.full":
                    return [*made, *self.math("uniform", self.around.k_tile)]
                return made
            case ops.Expect(_, size, arrives):
                does = ARRIVES if arrives else 0
                return [self.simple(MBARRIER, meets=does, arrivals=self.arrivals(op.barrier), expects=size, stall=12)]
            case ops.MbarrierArrive(barrier):
                return [self.simple(MBARRIER, meets=ARRIVES, arrivals=self.arrivals(barrier), stall=2)]
            case ops.TmaLoad():
                return [self.simple(TMA_LOAD, expects=op.bytes, stall=self.tma.issue)]
            case ops.TmaStore():
                return [self.simple(TMA_STORE, stall=4)] if warp == 0 else []
            case ops.WaitStores(pending, elected):
                return [self.simple(STORE_WAIT, pending=pending, gated=True)] if warp == 0 or not elected else []
            case ops.Wgmma():
                interval = self.collective.scenario.kernel.tile[1] // 2
                issued = self.simple(WGMMA, interval=interval, stall=self.wgmma.issue, gated=True, activity=1)
                return [*self.math("uniform", self.around.wgmma), issued]
            case ops.WgmmaWait(pending):
                return [self.simple(WGMMA_WAIT, pending=pending, gated=True, stall=2)]
            case ops.Promote():
                return self.math("fma", self.accumulators)
            case ops.StoreD():
                return self.stored(op)
            case ops.LoadC():
                return self.loaded(op)
            case ops.SyncNamed(threads, number):
                return [self.simple(BAR, barrier=number, arrivals=threads // WARP_SIZE)]
            case ops.SetRegisters():
                begin = self.around.consumer if op.more else self.around.producer
                return [*self.math("alu", 1, 98 if op.more else 59), *self.math("alu", begin, _DEPENDENT)]
            case ops.BeginTile():
                return self.math("alu", self.around.tile, _DEPENDENT) if produces else []
            case _:
                return self.plain(op)

    def plain(self, op: ops.RoleOp) -> list[Decoded]:
        """Return the instructions of an operation without arguments."""
        if op == ops.SYNC_THREADS:
            return [self.simple(BAR, barrier=0, arrivals=0)]
        if op == ops.FENCE_BARRIER_INIT:
            return self.math("alu", self.around.fence, _DEPENDENT)
        if op in _FENCES:
            return self.math("alu", 1, _FENCES[op])
        if isinstance(op, ops.Init):
            return self.math("alu", 1 + self.around.init, _DEPENDENT)
        if isinstance(op, ops.Prefetch | ops.CommitStores):
            return self.math("alu", 1, 4)
        return []

    @property
    def accumulators(self) -> int:
        """Accumulators of a thread."""
        m, n, _ = self.collective.scenario.kernel.tile
        return m * n // (WARPGROUP * self.collective.consumers)

    def arrivals(self, barrier: ops.Mbarrier) -> int:
        """Return the warps' arrivals that complete a phase of an mbarrier."""
        collective, (along_m, along_n) = self.collective, self.collective.scenario.kernel.cluster
        match barrier.pipeline:
            case "mainloop.empty":
                return (_WARPS if along_m * along_n == 1 else along_m + along_n - 1) * collective.consumers
            case "epi_load.empty":
                return _WARPS * collective.consumers
            case "math_wg_order":
                return _WARPS
            case _:
                return 1

    def values(self) -> int:
        """Return the values of a subtile of the epilogue that a thread has."""
        epilogue = self.collective.epilogue
        if epilogue is None:
            raise TypeError("the non-specialised kernel has no subtiles")
        return epilogue.tile[0] * epilogue.tile[1] // (WARPGROUP * self.collective.consumers)

    def stored(self, op: ops.StoreD) -> list[Decoded]:
        """Return the instructions that scale, pack and stage a subtile."""
        values, bits = self.values(), self.collective.scenario.output_bits
        made = [*self.math("fma", values), *self.math("alu", self.around.subtile, 2)]
        if op.m + op.n == 0:
            made = [*self.math("uniform", self.around.epilogue), *made]
        if bits < 32:
            made += self.math("alu", values * bits // 32)
        count, wavefronts = self.accesses(op)
        return made + [self.shared(wavefronts, fills=True)] * count

    def accesses(self, op: ops.Staged) -> tuple[int, int]:
        """Return a warp's accesses to shared memory for a subtile, and the wavefronts of each."""
        if op.word:
            return max(1, self.values() // _MATRIX_VALUES), 4
        return max(1, self.values() * self.collective.scenario.output_bits // 64), 2

    def loaded(self, op: ops.LoadC) -> list[Decoded]:
        """Return the instructions that load a subtile of C."""
        count, wavefronts = self.accesses(op)
        one = self.shared(wavefronts, is_load=True, latency=self.machine.shared.ldmatrix_latency_x1, write=0)
        awaited = self.math("alu", 1)[0]._replace(waits=(0,), gated=True)
        return [*[one] * count, awaited, *self.math("fma", self.values())]

    def stored_pair(self) -> list[Decoded]:
        """Return the instructions that scale, pack and store a pair of values to global memory."""
        bits = self.collective.scenario.output_bits
        stored = self.simple(GLOBAL, traced=True, target=(OUTPUT, -1, 0, 0), registers=3 if bits <= 16 else 4)
        return [*self.math("fma", 2), *self.math("alu", 2, 2), stored]

    def shared(self, wavefronts: int, **fields: Any) -> Decoded:
        """Return an access to shared memory."""
        return self.simple(SHARED, wavefronts=((wavefronts,) * self.warps,), registers=5, **fields)

    def exit(self) -> Decoded:
        """Return the end of a warp."""
        return self.simple(EXIT, gated=True)


def instructions_of(collective: Collective, machine: Machine, warps: int) -> Instructions:
    """
    Return what makes the instructions of a kernel on a machine.

    Args:
        collective: The kernel.
        machine: The machine.
        warps: Most warps of a CTA.

    Raises:
        BadInput: The machine lacks figures of sm_90's units.
    """
    tma, wgmma = machine.tma, machine.wgmma
    if tma is None or wgmma is None or machine.mbarrier is None:
        lacking = ", ".join(name for name in ("mbarrier", "tma", "wgmma") if getattr(machine, name) is None)
        raise BadInput(f"{machine.name}: sm_90 GEMMs need tables that its machine file lacks: {lacking}")
    return Instructions(collective, machine, tma, wgmma, warps, AROUND_OPS[collective.scenario.kernel.code])
