"""The pipelined mainloop: which op comes when, for every shape, worked by hand, and what winding down is for."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusim.families.conv.fprop.problem import Conv2dFpropProblem
from gpusim.families.gemm.gemm import GemmProblem
from gpusim.families.gemm.program import mainloop_shape, program, writes_per_fill
from gpusim.scenario.gemm import GemmScenario
from gpusim.scenario.kernel import Kernel
from gpusim.schedule.hazards import find_hazards
from gpusim.schedule.mainloop import MainloopShape, OperandCopies
from gpusim.schedule.ops import Barrier, Ldmatrix, LoadGlobal, StoreTile, WarpMma
from gpusim.schedule.pipelined import mainloop, wind_down

operand_copies = st.builds(
    OperandCopies,
    accesses=st.integers(1, 16),
    vecs=st.sampled_from([1, 2, 4]),
    cache=st.just("ca"),
    fragment_loads=st.integers(1, 4),
)
shapes = st.builds(MainloopShape, stages=st.just(2), k_groups=st.integers(2, 8), a=operand_copies, b=operand_copies)
k_iterations_of = st.integers(0, 20)

PIPELINED = Kernel(mainloop="pipelined", threadblock=(128, 128, 32), warp=(64, 64, 32))
GEMM = GemmScenario(machine="h200", problem=GemmProblem(m=256, n=256, k=96), kernel=PIPELINED)
CONVOLUTION = GemmScenario(
    machine="h200", problem=Conv2dFpropProblem(n=1, h=8, w=8, c=64, k=128, r=3, s=3, padding=(1, 1)), kernel=PIPELINED
)


def flat(parts):
    prologue, iterations, tail = parts
    return [*prologue, *(op for body in iterations for op in body), *tail]


def of(kind, ops):
    return [op for op in ops if isinstance(op, kind)]


def runs(ops):
    """Kinds of op, neighbours of one kind once."""
    kinds = [type(op) for op in ops]
    return kinds[:1] + [kind for before, kind in pairwise(kinds) if kind is not before]


def stores_of(shape):
    return {operand: shape.of(operand).accesses for operand in ("a", "b")}


def test_three_k_tiles_in_two_slots():
    """
    128x128x32 with m16n8k16: two k groups. Each thread copies 128 * 32 / 8 / 128 = 4 vectors of A and 4 of B.

    Tile 0 arrives in slot 0 in the prologue. k tile i: k group 0 loads the fragments of group 1, then fetch i + 1 from
    global memory, then multiplies; k group 1 stores fetch i + 1 to slot (i + 1) mod 2, waits at the barrier, loads the
    first fragments of tile i + 1 from there, then multiplies. Fetch 3 is the overrun.
    """
    schedule = program(GEMM, 3)

    assert runs(schedule.prologue) == [LoadGlobal, StoreTile, Barrier, Ldmatrix]
    assert [(op.operand, op.fetch) for op in of(LoadGlobal, schedule.prologue)] == [("a", 0)] * 4 + [("b", 0)] * 4
    for i, body in enumerate(schedule.iterations):
        assert runs(body) == [Ldmatrix, LoadGlobal, WarpMma, StoreTile, Barrier, Ldmatrix, WarpMma]
        assert {op.fetch for op in of(LoadGlobal, body)} == {i + 1}
        assert {(op.fetch, op.stage) for op in of(StoreTile, body)} == {(i + 1, (i + 1) % 2)}
        reads = list(dict.fromkeys((op.k_tile, op.k_group, op.stage) for op in of(Ldmatrix, body)))
        assert reads == [(i, 1, i % 2), (i + 1, 0, (i + 1) % 2)]
        assert of(WarpMma, body) == [WarpMma(i, 0), WarpMma(i, 1)]
    assert len(schedule.iterations) == 3
    assert schedule.tail == ()


def test_a_convolution_runs_the_same_schedule():
    assert program(CONVOLUTION, 18).mainloop_ops() == program(GEMM, 18).mainloop_ops()


@given(shapes, k_iterations_of)
def test_every_fetch_is_loaded_and_stored_once_and_one_overruns(shape, k_iterations):
    ops = flat(mainloop(shape, k_iterations))
    for operand in ("a", "b"):
        copies = shape.of(operand)
        loads = [(op.fetch, op.access, op.vec) for op in of(LoadGlobal, ops) if op.operand == operand]
        stores = [(op.fetch, op.access) for op in of(StoreTile, ops) if op.operand == operand]
        fetches, accesses = range(k_iterations + 1), range(copies.accesses)
        assert loads == [(f, access, vec) for f in fetches for access in accesses for vec in range(copies.vecs)]
        assert stores == [(f, access) for f in fetches for access in accesses]
    assert all(op.zfill for op in of(LoadGlobal, ops))
    assert len(of(Barrier, ops)) == k_iterations + 1


@given(shapes, k_iterations_of)
def test_it_has_no_hazard(shape, k_iterations):
    assert find_hazards(flat(mainloop(shape, k_iterations)), stores_of(shape)) == ()


@given(shapes, st.integers(1, 20))
def test_loads_are_issued_in_the_first_k_group_and_stored_in_the_last(shape, k_iterations):
    """Between the two lie all MMAs but the last k group's: time for the loads to land."""
    _, iterations, _ = mainloop(shape, k_iterations)
    for body in iterations:
        last_load = max(index for index, op in enumerate(body) if isinstance(op, LoadGlobal))
        first_store = min(index for index, op in enumerate(body) if isinstance(op, StoreTile))
        assert [op.k_group for op in of(WarpMma, body[:last_load])] == []
        assert [op.k_group for op in of(WarpMma, body[last_load:first_store])] == list(range(shape.k_groups - 1))
        barrier = body.index(Barrier())
        assert barrier == first_store + len(of(StoreTile, body))


def renumbered(ops, tiles):
    """The ops of a second problem, its k tiles numbered after those of the first."""
    moved = []
    for op in ops:
        match op:
            case LoadGlobal():
                moved.append(LoadGlobal(op.operand, op.fetch + tiles, op.access, op.vec, op.zfill))
            case StoreTile():
                moved.append(StoreTile(op.operand, op.fetch + tiles, op.access, op.stage))
            case Ldmatrix():
                moved.append(Ldmatrix(op.operand, op.k_tile + tiles, op.k_group, op.instruction, op.stage))
            case WarpMma():
                moved.append(WarpMma(op.k_tile + tiles, op.k_group))
            case _:
                moved.append(op)
    return moved


@given(shapes, st.integers(1, 8), st.integers(1, 8), st.integers(0, 1))
def test_after_winding_down_a_second_problem_needs_no_barrier_between(shape, first, second, stage):
    one = flat(mainloop(shape, first, stage))
    two = renumbered(flat(mainloop(shape, second, wind_down(first, stage))), first + 1)
    assert find_hazards([*one, *two], stores_of(shape)) == ()


@given(shapes, st.integers(2, 8))
def test_without_winding_down_the_second_prologue_overwrites_what_is_read(shape, k_iterations):
    """The stage behind the read iterator still holds the fragments of the last k group when the other is not taken."""
    one = flat(mainloop(shape, k_iterations))
    wrong = 1 - wind_down(k_iterations)
    two = renumbered(flat(mainloop(shape, 1, wrong)), k_iterations)
    assert find_hazards([*one, *two], stores_of(shape)) != ()


@pytest.mark.parametrize(("k", "vecs"), [(96, 1), (100, 2), (98, 4)])
def test_narrow_alignments_load_vectors_and_store_whole_accesses(k, vecs):
    scenario = GemmScenario(machine="h200", problem=GemmProblem(m=128, n=128, k=k), kernel=PIPELINED)
    shape = mainloop_shape(scenario)
    assert (shape.a.vecs, shape.a.cache, shape.b.vecs, shape.b.cache) == (vecs, "ca", vecs, "ca")
    assert writes_per_fill(scenario) == {"a": 4, "b": 4}


def test_a_pipelined_kernel_has_two_stages_unless_told_otherwise():
    assert PIPELINED.stages == 2
    assert Kernel().stages == 3
