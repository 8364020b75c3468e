"""The events of a program's ops: which op accesses shared memory, and which accesses share a byte."""

import itertools
from dataclasses import dataclass
from typing import get_args

import numpy as np
import pytest

from gpusim.families.gemm.gemm import GemmProblem
from gpusim.families.gemm.program import program
from gpusim.scenario.gemm import GemmScenario
from gpusim.schedule.ops import (
    Barrier,
    CommitGroup,
    CopyAsync,
    Ldmatrix,
    LoadBias,
    LoadFragment,
    LoadGlobal,
    LoadPartial,
    LoadShared,
    LoadSource,
    Op,
    StoreGlobal,
    StoreShared,
    StoreTile,
    WaitGroup,
    WarpMma,
)
from gpusim.schedule.shared_events import WARPS_OF_ALL, shared_events
from gpusim.schedule.warp_events import Effect

OPS = (
    CopyAsync("a", 0, 0, 0, 0, zfill=True, cache="cg"),
    CommitGroup(),
    WaitGroup(0),
    Barrier(),
    Ldmatrix("a", 0, 0, 0, 0),
    LoadFragment("b", 0, 0, 0, 0),
    WarpMma(0, 0),
    StoreShared(0, 0),
    LoadShared(0, 0),
    LoadSource(0, 0),
    LoadBias(0),
    LoadPartial(0, 0),
    StoreGlobal(0, 0),
    LoadGlobal("a", 0, 0, 0, zfill=True),
    StoreTile("b", 0, 0, 0),
)


def test_every_op_has_its_event_or_none():
    events = shared_events(OPS, frozenset({(0, 0)}))

    assert {type(op) for op in OPS} == set(get_args(Op))
    assert [type(OPS[index]) for index in events.op_at] == [
        *(CopyAsync, CommitGroup, WaitGroup, Barrier, Ldmatrix, LoadFragment, StoreShared, LoadShared, StoreTile)
    ]
    assert events.order.kind.tolist() == WARPS_OF_ALL * [
        *(Effect.ASYNC_WRITE, Effect.READ, Effect.READ),
        *(Effect.WRITE, Effect.READ, Effect.WRITE),
    ]


@dataclass(frozen=True)
class Multicast:
    """An op that no schedule has yet."""


def test_an_op_that_is_not_known_is_refused_by_name():
    with pytest.raises(AssertionError, match="Multicast"):
        shared_events((*OPS, Multicast()), frozenset())


def test_a_fragment_that_nothing_consumes_is_not_read():
    assert len(shared_events(OPS, frozenset()).order.begin) == WARPS_OF_ALL * 4


def test_a_copy_lands_at_its_wait_and_another_access_at_once():
    """Ops without an access, and copies without a wait, never do."""
    landed = shared_events(OPS, frozenset({(0, 0)})).landed.tolist()

    assert (landed[0], landed[4], landed[7], landed[14]) == (2, 4, 7, 14)
    assert landed[1] == landed[6] == len(OPS)
    assert shared_events(OPS[:1], frozenset()).landed.tolist() == [1]


def test_accesses_share_bytes_as_warps_might():
    """
    Warps copy to bytes of their own, and stage in bytes of their own. Loads reach those of all warps, in their slot.
    """
    ops = (
        *(CopyAsync("a", 0, access, 0, stage, zfill=True, cache="cg") for stage in range(2) for access in range(2)),
        *(Ldmatrix("a", 0, 0, 0, stage) for stage in range(2)),
        *(WarpMma(0, 0), StoreShared(0, 0), LoadShared(0, 0)),
    )
    events = shared_events(ops, frozenset({(0, 0)}))
    order, count = events.order, len(events.order.begin) // WARPS_OF_ALL
    names = [f"{ops[events.op_at[at]]}" for at in order.begin]

    def overlap(one, other):
        return bool(set(events.footprints[order.footprint[one]]) & set(events.footprints[order.footprint[other]]))

    for one, other in itertools.product(range(len(names)), repeat=2):
        ops_of = ops[events.op_at[order.begin[one]]], ops[events.op_at[order.begin[other]]]
        same_warp = (one < count) == (other < count)
        match ops_of:
            case (CopyAsync(), CopyAsync()):
                expected = same_warp and ops_of[0] == ops_of[1]
            case (StoreShared(), StoreShared()):
                expected = same_warp
            case (LoadShared(), CopyAsync() | Ldmatrix()) | (CopyAsync() | Ldmatrix(), LoadShared()):
                expected = False
            case (CopyAsync() | Ldmatrix(), CopyAsync() | Ldmatrix()):
                expected = ops_of[0].stage == ops_of[1].stage
            case _:
                expected = True
        assert overlap(one, other) == expected, (names[one], names[other])


def test_an_op_precedes_another_if_every_warps_does():
    events = shared_events(OPS, frozenset({(0, 0)}))

    assert events.precedes([0, 0, 4], [4, 7, 7]).tolist() == [True, True, False]


def test_a_shipped_program_has_no_race():
    scenario = GemmScenario(machine="h200", problem=GemmProblem(m=128, n=128, k=320))
    ops = program(scenario, 5).ops()
    consumed = frozenset((op.k_tile, op.k_group) for op in ops if isinstance(op, WarpMma))

    assert shared_events(ops, consumed).races() == []
    without = tuple(op for op in ops if not isinstance(op, Barrier))
    assert np.array(shared_events(without, consumed).races()).shape[1] == 2
