"""An op says which warps of a CTA execute it. The ops are declared here, and nothing of gpusim knows them."""

from dataclasses import dataclass, replace
from functools import cached_property

import pytest
from doubles.published import H200
from problems.small import small_gemm

from gpusim.cuda.trace import expected_records, longest_stream
from gpusim.families.attention.schedule import FusedKernel
from gpusim.families.gemm.estimated import estimated_stream
from gpusim.families.gemm.schedule import TileKernel
from gpusim.families.gemm.timed import TimedTileKernel
from gpusim.lower.align import Placement, expected
from gpusim.lower.stream import Instruction, Segment, Stream
from gpusim.schedule.counts import count
from gpusim.schedule.events import events
from gpusim.schedule.ops import CommitGroup, StoreShared, WarpOp
from gpusim.sim.decode import assemble
from gpusim.sim.executed import executed
from gpusim.sim.launch import Launch, simulate_launch
from gpusim.units import WARP_SIZE

GEMM = small_gemm(128, 64, 320)
"""Two CTAs of four warps."""

COUNTED = "SHFL"
"""An instruction that no op of a GEMM is."""


@dataclass(frozen=True, slots=True)
class Vote(WarpOp):
    """An op without an address, which warp 2 executes."""

    executed_by = slice(2, 3)
    opcode = COUNTED
    event = "vote"
    traced_as = 255


@dataclass(frozen=True, slots=True)
class FirstCommit(CommitGroup):
    """A commit of copies by the first warp."""

    executed_by = slice(1)


@dataclass(frozen=True, slots=True)
class OddStore(StoreShared):
    """A store of accumulators by every second warp."""

    executed_by = slice(1, None, 2)


class Unlent(TimedTileKernel):
    """A kernel with code of its own."""

    @property
    def lender(self):
        return self


class CommitsAndStores(Unlent):
    """A kernel whose program begins with a FirstCommit, and stores accumulators by every second warp."""

    def program(self, block):
        own = super().program(block)
        stores = (OddStore(op.step, op.access) if isinstance(op, StoreShared) else op for op in own.epilogue)
        return replace(own, prologue=(FirstCommit(), *own.prologue), epilogue=tuple(stores))

    @cached_property
    def slice_programs(self):
        ((_, slices),) = super().slice_programs
        return ((self.program(0), slices),)

    def stream(self, _behaviour, _origin):
        return estimated_stream(self.scenario, self.program(0), self.machine)


class Votes(CommitsAndStores):
    """A kernel whose program also begins with a Vote."""

    op_kinds = (*TileKernel.op_kinds, Vote)

    def program(self, block):
        own = super().program(block)
        return replace(own, prologue=(Vote(), *own.prologue))


OURS, OTHER = Votes(GEMM, H200), TileKernel(GEMM)
RECORDS, OTHER_RECORDS = (expected_records(one, (0,)) for one in (OURS, OTHER))
WARPS = range(OTHER.lanes().warps)

SHARED_OPS = (
    *("CopyAsync", "CommitGroup", "WaitGroup", "Barrier", "Ldmatrix", "WarpMma", "StoreShared", "LoadShared"),
    *("LoadSource", "StoreGlobal", "LoadGlobal", "StoreTile", "LoadFragment", "LoadBias", "LoadPartial"),
)
SOFTMAX_OPS = {17: "AtomicMax", 18: "Shuffle", 19: "LoadStatistic", 20: "StoreStatistic", 25: "StoreP", 28: "StoreLse"}


def launch_of(kernel):
    return Launch(kernel, {0: kernel.stream(0, "estimated")}, 1)


def test_instructions_are_counted_for_the_warps_that_execute_them():
    """One Vote and one more commit of each of two CTAs; half of the stores to shared memory."""
    ours, other = count(OURS), count(OTHER)

    assert ours.instructions == other.instructions | {
        COUNTED: 2,
        "LDGDEPBAR": other.instructions["LDGDEPBAR"] + 2,
        "STS": other.instructions["STS"] // 2,
    }


def test_wavefronts_are_counted_for_the_warps_that_make_the_access():
    """Warps 1 and 3 store; all other accesses are as before."""
    ours, other = ({(row.op, row.operand): row for row in count(one).bank_conflicts} for one in (OURS, OTHER))
    stored = "sts", "accumulator"
    table, step = OTHER.lanes().staging_stores, next(op for op in OTHER.steps(0) if isinstance(op, StoreShared))
    of_all, of_odd = (table.wavefronts[step.access][warps].sum() for warps in (slice(None), slice(1, None, 2)))

    assert ours[stored].wavefronts * of_all == other[stored].wavefronts * of_odd
    assert ours[stored].requests * 2 == other[stored].requests
    assert {key: row for key, row in ours.items() if key != stored} == {
        key: row for key, row in other.items() if key != stored
    }


@pytest.mark.parametrize("warp", WARPS)
def test_a_thread_has_the_events_of_its_warp(warp):
    thread = warp * WARP_SIZE + 7
    more = {0: [["commit"]], 2: [["vote"]]}.get(warp, [])

    assert events(OURS, 0, thread) == more + events(OTHER, 0, thread)


def test_a_trace_has_the_records_of_each_warp():
    """
    Warp 2 begins with its Vote, warp 0 with its commit. Warps 0 and 2 lack their stores of accumulators.

    Positions count without gaps.
    """
    ours, other = ([records[records["warp"] == warp] for warp in WARPS] for records in (RECORDS, OTHER_RECORDS))
    stores = sum(isinstance(op, StoreShared) for op in OTHER.steps(0))

    assert [len(mine) - len(theirs) for mine, theirs in zip(ours, other, strict=True)] == [1 - stores, 0] * 2
    assert [int(mine["op"][0]) for mine in ours] == [CommitGroup.traced_as, 0, Vote.traced_as, 0]
    assert all(mine["position"].tolist() == list(range(len(mine))) for mine in ours)
    assert longest_stream(OURS, (0,)) == len(ours[1])


@pytest.mark.parametrize("warp", WARPS)
def test_alignment_expects_a_warp_s_own_ops(warp):
    """The code that a warp executed is compared with the ops of that warp."""
    lanes, pointers = OURS.lanes(), OURS.pointers
    steps = [step for step in OURS.steps(0) if warp in lanes.warps_of(step)]
    names = [one.name for one in expected(OURS, Placement(0, warp, 0, pointers), steps)]

    assert names[:2] == {0: ["LDGDEPBAR", "LDGSTS"], 2: [COUNTED, "LDGSTS"]}.get(warp, ["LDGSTS"] * 2)


def test_a_warp_s_code_lacks_the_ops_of_other_warps():
    """
    Ten instructions, of which the ninth, with which a line of the instruction cache begins, is that of warp 2.

    For all other warps the line begins with the tenth. Warps 0 and 1 execute the same, and so does warp 3 alone.
    """
    add, vote = Instruction("IADD3", "pipe", "alu"), Instruction("SHFL", "pipe", "mufu", op=Vote())
    stream = Stream("compiled", 32, (Segment("prologue", (*[add] * 8, vote, add), 3),))
    found = assemble(stream, OURS, 0)

    assert H200.instruction_cache.line_bytes == 8 * 16
    assert [(role.warps, len(role.segments[0].code)) for role in found.roles] == [(2, 9), (1, 10), (1, 9)]
    assert [[one.line for one in segment.code[7:]] for segment in found.segments] == [[-1, 1], [-1, 1, -1], [-1, 1]]
    assert [segment.instructions.count(vote) for segment in found.segments] == [0, 1, 0]
    assert [stream.instructions_of(warp, OURS.lanes()) for warp in WARPS] == [27, 27, 30, 27]
    assert stream.warp_instructions(OURS.lanes()) == 27 * 3 + 30


def test_a_launch_executes_the_ops_of_each_warp():
    """
    A GEMM whose first warp commits once more, and whose odd warps alone store accumulators, is simulated.

    Two CTAs execute two commits more, and half of the stores less.
    """
    ours, other = (launch_of(one) for one in (CommitsAndStores(GEMM, H200), Unlent(GEMM, H200)))
    outcome, stores = simulate_launch(ours, exact=True, progress=str), count(OTHER).instructions["STS"]

    assert ours.instructions == other.instructions + 2 - stores // 2
    assert outcome.instructions == ours.instructions
    assert executed(ours) == executed(other)


def test_ops_have_the_numbers_of_committed_traces():
    """Digests of recorded traces contain them: an op keeps its number, and no two ops of a kernel have the same."""
    numbered = [(kind.traced_as, kind.__name__) for kind in FusedKernel.op_kinds if kind.traced_as is not None]

    assert len(dict(numbered)) == len(numbered)
    assert max(numbered)[0] < 1 << 8
    assert (dict(enumerate(SHARED_OPS)) | SOFTMAX_OPS).items() <= dict(numbered).items()
