"""The static hazard check: shipped schedules are free of hazards, and every broken one is caught by name."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusim.families.conv.fprop.problem import Conv2dFpropProblem
from gpusim.families.gemm.gemm import GemmProblem
from gpusim.families.gemm.program import program, writes_per_fill
from gpusim.scenario.gemm import GemmScenario
from gpusim.scenario.kernel import Kernel
from gpusim.schedule.hazards import find_hazards
from gpusim.schedule.mainloop import MainloopShape, OperandCopies
from gpusim.schedule.multistage import CONVOLUTION_POLICY, GEMM_POLICY, mainloop
from gpusim.schedule.mutations import MUTATIONS, lax_wait, missing_barrier, one_stage_too_few, skipped_zero_fill
from gpusim.schedule.ops import (
    Barrier,
    CommitGroup,
    CopyAsync,
    Ldmatrix,
    LoadShared,
    Program,
    StoreShared,
    StoreTile,
    WaitGroup,
    WarpMma,
)

operand_copies = st.builds(
    OperandCopies,
    accesses=st.integers(1, 16),
    vecs=st.sampled_from([1, 2]),
    cache=st.just("cg"),
    fragment_loads=st.integers(1, 4),
)
shapes = st.builds(
    MainloopShape, stages=st.integers(3, 8), k_groups=st.integers(2, 8), a=operand_copies, b=operand_copies
)
families = st.sampled_from([GEMM_POLICY, CONVOLUTION_POLICY])

GEMM_SCENARIO = GemmScenario(machine="h200", problem=GemmProblem(m=128, n=128, k=320))
CONVOLUTION_SCENARIO = GemmScenario(
    machine="h200", problem=Conv2dFpropProblem(n=1, h=8, w=8, c=64, k=128, r=3, s=3, padding=(1, 1))
)
SCENARIOS = [
    GEMM_SCENARIO,
    CONVOLUTION_SCENARIO,
    GemmScenario(
        machine="h200",
        problem=GemmProblem(m=64, n=64, k=512, beta=1.0),
        kernel=Kernel(threadblock=(64, 64, 64), warp=(32, 32, 64), stages=5),
    ),
]


def ops_and_fill(shape, family, k_iterations, mutation=lambda schedule: schedule):
    prologue, iterations, tail = mainloop(shape, family, k_iterations)
    schedule = mutation(Program(prologue, iterations, tail, ()))
    return schedule.ops(), {operand: shape.of(operand).accesses * shape.of(operand).vecs for operand in ("a", "b")}


def names(hazards):
    return {hazard.name for hazard in hazards}


@given(shapes, families, st.integers(0, 20))
def test_shipped_mainloops_are_free_of_hazards(shape, family, k_iterations):
    assert find_hazards(*ops_and_fill(shape, family, k_iterations)) == ()


@pytest.mark.parametrize("scenario", SCENARIOS, ids=["gemm", "convolution", "gemm-5-stages-beta"])
@pytest.mark.parametrize("k_iterations", [0, 1, 2, 9])
def test_shipped_programs_are_free_of_hazards(scenario, k_iterations):
    assert find_hazards(program(scenario, k_iterations).ops(), writes_per_fill(scenario)) == ()


@given(shapes, families, st.integers(1, 20))
def test_a_wait_too_lax_is_a_read_before_the_group_completes(shape, family, k_iterations):
    found = find_hazards(*ops_and_fill(shape, family, k_iterations, lax_wait))
    assert names(found) == {"read_before_group_complete"}
    assert {hazard.k_tile for hazard in found} == set(range(k_iterations))


@given(shapes, families, st.integers(2, 20))
def test_a_missing_barrier_is_a_read_before_it(shape, family, k_iterations):
    found = find_hazards(*ops_and_fill(shape, family, k_iterations, missing_barrier))
    assert "read_before_barrier" in names(found)
    assert names(found) <= {"read_before_barrier", "overwrite_while_read"}


@given(shapes, families, st.integers(1, 20))
def test_one_stage_too_few_overwrites_what_is_read(shape, family, k_iterations):
    found = find_hazards(*ops_and_fill(shape, family, k_iterations, one_stage_too_few))
    assert names(found) & {"overwrite_while_read", "slot_holds_other_tile"}


@pytest.mark.parametrize("scenario", SCENARIOS, ids=["gemm", "convolution", "gemm-5-stages-beta"])
def test_only_data_can_show_a_skipped_zero_fill(scenario):
    shipped = program(scenario, 5)
    mutated = skipped_zero_fill(shipped)

    assert find_hazards(mutated.ops(), writes_per_fill(scenario)) == ()
    assert not any(op.zfill for op in mutated.ops() if isinstance(op, CopyAsync))
    assert [type(op) for op in mutated.ops()] == [type(op) for op in shipped.ops()]


def test_the_mutations_have_the_names_the_command_line_takes():
    assert list(MUTATIONS) == [
        "lax_wait",
        "missing_barrier",
        "one_stage_too_few",
        "skipped_zero_fill",
        "load_too_early",
        "store_after_barrier",
    ]


def copy(fetch, stage=0, access=0):
    return CopyAsync("a", fetch, access, 0, stage, zfill=True, cache="cg")


def read(k_tile, stage=0):
    return Ldmatrix("a", k_tile, 0, 0, stage)


def mma(k_tile):
    return WarpMma(k_tile, 0)


COMMIT, BARRIER = CommitGroup(), Barrier()
LANDED = (COMMIT, WaitGroup(0), BARRIER)


SMALL_PROGRAMS = {
    "safe": ((copy(0), *LANDED, read(0), mma(0)), None),
    "wait after the read": (
        (copy(0), COMMIT, read(0), WaitGroup(0), BARRIER, mma(0)),
        ("read_before_group_complete", 2),
    ),
    "another group waited for": (
        (copy(0), COMMIT, copy(1, 1), COMMIT, WaitGroup(1), BARRIER, read(1, 1), mma(1), WaitGroup(0)),
        ("read_before_group_complete", 6),
    ),
    "no wait": ((copy(0), COMMIT, BARRIER, read(0), mma(0)), ("never_waited", 3)),
    "wait before the commit": ((copy(0), WaitGroup(0), COMMIT, BARRIER, read(0), mma(0)), ("never_waited", 4)),
    "no barrier after the wait": ((copy(0), COMMIT, WaitGroup(0), read(0), mma(0)), ("read_before_barrier", 3)),
    "barrier before the wait": ((copy(0), COMMIT, BARRIER, WaitGroup(0), read(0), mma(0)), ("read_before_barrier", 4)),
    "copy races with an earlier read": ((copy(0), *LANDED, read(0), mma(0), copy(1)), ("overwrite_while_read", 6)),
    "barrier between read and copy": ((copy(0), *LANDED, read(0), mma(0), BARRIER, copy(1)), None),
    "copy before the read in program order": (
        (copy(0), *LANDED, copy(1), *LANDED, read(0), mma(0)),
        ("overwrite_while_read", 4),
    ),
    "other tile": ((copy(5), *LANDED, read(0), mma(0)), ("slot_holds_other_tile", 4)),
    "other slot": ((copy(0, 1), *LANDED, read(0), mma(0)), ("unfilled_slot", 4)),
    "copies race with each other": (
        (copy(0), COMMIT, copy(1), *LANDED, read(1), mma(1)),
        ("overwrite_in_flight", 2),
    ),
    "copy lands on a tile that was stored behind it": (
        (copy(0), StoreTile("a", 1, 0, 0), BARRIER, read(1), mma(1)),
        ("overwrite_while_read", 0),
    ),
    "fragment never consumed": ((copy(0), COMMIT, read(0)), None),
    "overwritten fragment never consumed": ((copy(0), *LANDED, read(0), copy(1)), None),
}


@pytest.mark.parametrize(("ops", "expected"), SMALL_PROGRAMS.values(), ids=SMALL_PROGRAMS)
def test_small_programs(ops, expected):
    """
    One operand, one copy per slot: the first hazard's name and the index of the op that has it.
    """
    found = find_hazards(ops, {"a": 1})
    assert (found[0].name, found[0].op_index) == expected if expected else found == ()


def test_a_slot_filled_by_half_is_unfilled():
    ops = (copy(0, access=0), *LANDED, read(0), mma(0))
    (hazard,) = find_hazards(ops, {"a": 2})
    assert hazard.name == "unfilled_slot"
    assert hazard.message == (
        "fragment load of operand a, k tile 0, k group 0 reads stage 0 at op 4:"
        " 1 of the 2 copies of its k tile are in the program"
    )


def test_a_hazard_says_where_it_is():
    hazards = find_hazards(lax_wait(program(GEMM_SCENARIO, 5)).ops(), writes_per_fill(GEMM_SCENARIO))
    first = hazards[0]
    assert (first.k_tile, first.k_group, first.operand, first.stage) == (0, 0, "a", 0)
    assert first.message == (
        f"fragment load of operand a, k tile 0, k group 0 reads stage 0 at op {first.op_index}:"
        " the first wait_group that covers its copies is op 88"
    )
    assert program(GEMM_SCENARIO, 5).ops()[88] == WaitGroup(1)


def without(schedule, section, kind):
    return replace(schedule, **{section: tuple(op for op in getattr(schedule, section) if not isinstance(op, kind))})


@pytest.mark.parametrize(
    ("section", "kind", "expected"),
    [
        ("tail", WaitGroup, {"overwrite_in_flight"}),
        ("epilogue", Barrier, {"read_before_barrier", "overwrite_while_read"}),
        ("epilogue", StoreShared, {"unfilled_slot"}),
    ],
    ids=["copies may land on the staging", "warps race for the staging", "nothing is stored"],
)
def test_the_epilogue_reuses_the_shared_memory(section, kind, expected):
    found = find_hazards(
        without(program(CONVOLUTION_SCENARIO, 9), section, kind).ops(), writes_per_fill(CONVOLUTION_SCENARIO)
    )
    assert names(found) == expected
    assert {hazard.operand for hazard in found} == {"accumulator"}


def test_staging_over_fragments_still_read():
    """
    Without any barrier after the last fragment loads, one warp's epilogue overwrites another's k tile.
    """
    schedule = program(GEMM_SCENARIO, 1)
    barriers = [index for index, op in enumerate(schedule.epilogue) if isinstance(op, Barrier)]
    cut = replace(
        missing_barrier(schedule),
        tail=(CommitGroup(), WaitGroup(0)),
        epilogue=schedule.epilogue[barriers[0] + 1 :],
    )
    assert {"overwrite_while_read", "overwrite_in_flight"} <= names(
        find_hazards(cut.ops(), writes_per_fill(GEMM_SCENARIO))
    )


def test_a_staged_step_read_as_another():
    ops = (StoreShared(0, 0), BARRIER, LoadShared(1, 0))
    assert names(find_hazards(ops, {})) == {"slot_holds_other_tile"}
