"""One role in execution: what each of its operations does."""

from collections.abc import Callable
from typing import Any, Protocol

from gpusim.families.hopper.execute.barriers import Meeting
from gpusim.families.hopper.execute.clocks import OWN_ACCESSES, WGMMA_GROUPS, Clock
from gpusim.families.hopper.execute.cta import ALL_THREADS, CtaState
from gpusim.families.hopper.execute.kernel import HopperRun
from gpusim.families.hopper.execute.output import OutputSide
from gpusim.families.hopper.execute.reads import check_group
from gpusim.families.hopper.execute.registers import WarpgroupRegisters
from gpusim.families.hopper.execute.role_state import RoleState
from gpusim.families.hopper.program.ops import (
    BeginTile,
    CommitStores,
    Expect,
    Init,
    LoadC,
    Mbarrier,
    MbarrierArrive,
    Plain,
    Prefetch,
    Promote,
    RoleOp,
    SetRegisters,
    StoreD,
    SyncNamed,
    TmaLoad,
    TmaStore,
    Wait,
    WaitStores,
    Wgmma,
    WgmmaWait,
)
from gpusim.families.hopper.program.roles import WarpRole


class Neighbours(Protocol):
    """What a role asks of its cluster."""

    meeting: Meeting
    ctas: list[CtaState]

    def arrive(self, role: RoleState, rank: int, barrier: Mbarrier, threads: int, told: Clock) -> None:
        """Let threads of a role arrive at an mbarrier of a CTA of the cluster."""

    def load(self, role: RoleState, op: TmaLoad, loads_of_c: int) -> None:
        """Issue a TMA load in all CTAs that receive it; ``loads_of_c``: loads of C of the tile so far."""


class RoleRun(RoleState):
    """A role of one CTA in execution. TMA stores and wgmma read shared memory at once if ``early``."""

    def __init__(  # noqa: PLR0917 - each is needed
        self,
        kernel: HopperRun,
        cluster: Neighbours,
        cta: CtaState,
        role: WarpRole,
        number: int,
        local: int,
        *,
        early: bool,
    ) -> None:
        super().__init__(kernel, cta, role, number, local, WarpgroupRegisters(kernel, cta.memory, early=early))
        self._cluster, self._output = cluster, OutputSide(self, early=early)
        self._begun = False
        self._loads_of_c = self._arrived = 0
        self._does: dict[type[RoleOp], Callable[[Any], bool]] = {
            Wait: self._wait,
            Expect: self._expect,
            MbarrierArrive: self._arrive,
            TmaLoad: self._load,
            Wgmma: self._wgmma,
            WgmmaWait: self._wgmma_wait,
            Promote: self._promote,
            StoreD: self._output.stage,
            LoadC: self._output.load_source,
            TmaStore: self._output.store,
            CommitStores: self._output.commit,
            WaitStores: self._output.wait,
            SyncNamed: lambda op: self._meet(cta.meeting(op.number), op.threads),
            Plain: self._plain,
            Init: self._init,
            BeginTile: self._begin,
            Prefetch: lambda _: True,
            SetRegisters: lambda _: True,
        }
        self._words: dict[str, Callable[[], bool]] = {
            "wgmma_commit_group": self._commit,
            "wgmma_fence": self._wgmma_fence,
            "fence_view_async_shared": self._proxy_fence,
            "__syncthreads": lambda: self._meet(cta.meeting(ALL_THREADS), self.kernel.collective.threads),
            "cluster_arrive_relaxed": self._cluster_arrive,
            "cluster_arrive": self._cluster_arrive,
            "cluster_wait": self._cluster_wait,
        }

    def run(self, most: int) -> bool:
        """Execute at most so many operations, and return whether there was one that could be executed."""
        ops, begin = self.role.ops, self.at
        for op in ops[begin : begin + most]:
            if not self._does[type(op)](op):
                break
            self.at += 1
        if self.at == len(ops) and self.at > begin:
            self._output.end()
        return self.at > begin

    def _begin(self, op: BeginTile) -> bool:
        if self._begun:
            self._output.finish_tile()
        self._begun, self.unit, self._loads_of_c = True, op.number, 0
        self.registers.begin()
        self._output.begin()
        return True

    def _init(self, op: Init) -> bool:
        self.cta.barriers[op.barrier].initialise(op.count)
        return True

    def _wait(self, op: Wait) -> bool:
        state, own = self.cta.barriers[op.barrier], self.own(OWN_ACCESSES)
        if not state.passes(op.phase):
            phases = state.phases_awaited(op.phase, self.clock)
            if state.phase > phases:
                state.lapped.setdefault(own, (op.phase, phases))
            return False
        state.passed(op.phase, self.clock, own, self.access())
        self.last_wait = f"after its wait for parity {op.phase} of {op.barrier}"
        return True

    def _expect(self, op: Expect) -> bool:
        state = self.cta.barriers[op.barrier]
        state.expect(op.bytes)
        if op.arrives:
            state.arrive(self.number, 1, self.released())
        return True

    def _arrive(self, op: MbarrierArrive) -> bool:
        told = self.released()
        for rank, threads in op.arrivals():
            self._cluster.arrive(self, rank, op.barrier, threads, told)
        return True

    def _load(self, op: TmaLoad) -> bool:
        self._cluster.load(self, op, self._loads_of_c)
        self._loads_of_c += op.tensor == "C"
        return True

    def _wgmma(self, op: Wgmma) -> bool:
        registers = self.registers
        if not registers.fenced:
            self.kernel.found(
                "fence",
                f"{self}: the first wgmma of k tile {op.k_tile}, stage {op.stage}, stands behind other accesses to its"
                f" accumulators, without wgmma.fence between",
                op.k_tile,
                "accumulator",
                op.stage,
            )
            registers.fenced = True
        registers.opened.append(op)
        return True

    def _wgmma_fence(self) -> bool:
        self.registers.fenced = True
        return True

    def _commit(self) -> bool:
        check_group(self, self.registers.opened)
        self.registers.commit()
        return True

    def _wgmma_wait(self, op: WgmmaWait) -> bool:
        self.registers.wait(op.pending)
        self.clock[self.own(WGMMA_GROUPS)] = self.registers.complete
        return True

    def _promote(self, op: Promote) -> bool:  # noqa: ARG002
        self._output.check_accumulators("are added to those in float32 registers")
        self.registers.promote()
        return True

    def _proxy_fence(self) -> bool:
        self.fenced = self.accesses
        return True

    def _plain(self, op: Plain) -> bool:
        does = self._words.get(op.word)
        return True if does is None else does()

    def _meet(self, meeting: Meeting, threads: int) -> bool:
        if self.joined is None:
            self.joined = meeting, meeting.arrive(self.number, self.role.threads, threads, self.released())
        if not meeting.passed(self.joined[1], self.clock):
            return False
        self.joined = None
        return True

    def _cluster_arrive(self) -> bool:
        threads = self.kernel.collective.threads * len(self._cluster.ctas)
        meeting = self._cluster.meeting
        self._arrived = meeting.arrive(self.number, self.role.threads, threads, self.released())
        return True

    def _cluster_wait(self) -> bool:
        self.joined = self._cluster.meeting, self._arrived
        if not self._cluster.meeting.passed(self._arrived, self.clock):
            return False
        self.joined = None
        return True
