"""The multistage mainloop: which op comes when, for every shape, and the timeline worked by hand."""

from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusim.families.conv.fprop.problem import Conv2dFpropProblem
from gpusim.families.gemm.gemm import GemmProblem
from gpusim.families.gemm.program import mainloop_shape, program
from gpusim.scenario.gemm import GemmScenario
from gpusim.scenario.kernel import Kernel
from gpusim.schedule.mainloop import MainloopShape, OperandCopies
from gpusim.schedule.multistage import CONVOLUTION_POLICY, GEMM_POLICY, mainloop
from gpusim.schedule.ops import (
    Barrier,
    CommitGroup,
    CopyAsync,
    Ldmatrix,
    LoadShared,
    LoadSource,
    StoreGlobal,
    StoreShared,
    WaitGroup,
    WarpMma,
)

operand_copies = st.builds(
    OperandCopies,
    accesses=st.integers(1, 16),
    vecs=st.sampled_from([1, 2, 4]),
    cache=st.just("cg"),
    fragment_loads=st.integers(1, 4),
)
shapes = st.builds(
    MainloopShape, stages=st.integers(3, 8), k_groups=st.integers(2, 8), a=operand_copies, b=operand_copies
)
families = st.sampled_from([GEMM_POLICY, CONVOLUTION_POLICY])
k_iterations_of = st.integers(0, 20)


def flat(shape, family, k_iterations):
    prologue, iterations, tail = mainloop(shape, family, k_iterations)
    return [*prologue, *(op for body in iterations for op in body), *tail]


def of(kind, ops):
    return [op for op in ops if isinstance(op, kind)]


def gemm(**kernel):
    return GemmScenario(machine="h200", problem=GemmProblem(m=256, n=256, k=576), kernel=Kernel(**kernel))


def convolution(**problem):
    extents = {"n": 1, "h": 8, "w": 8, "c": 64, "k": 128, "r": 3, "s": 3, "padding": (1, 1)}
    return GemmScenario(machine="h200", problem=Conv2dFpropProblem(**(extents | problem)))


@given(shapes, families, k_iterations_of)
def test_every_fetch_issues_each_access_once_in_order(shape, family, k_iterations):
    ops = flat(shape, family, k_iterations)
    fetches = k_iterations + shape.stages - 1
    for operand in ("a", "b"):
        issued = [(op.fetch, op.access, op.vec) for op in of(CopyAsync, ops) if op.operand == operand]
        copies = shape.of(operand)
        lead = shape.share(operand, 0) if family is CONVOLUTION_POLICY else range(0)
        whole = [(fetch, access) for fetch in range(fetches) for access in range(copies.accesses)]
        part = [(fetches, access) for access in lead]
        assert issued == [(fetch, access, vec) for fetch, access in whole + part for vec in range(copies.vecs)]


@given(shapes, families, k_iterations_of)
def test_every_commit_group_is_one_fetch(shape, family, k_iterations):
    groups = [set()]
    for op in flat(shape, family, k_iterations):
        if isinstance(op, CopyAsync):
            groups[-1].add(op.fetch)
        elif isinstance(op, CommitGroup):
            groups.append(set())
    fetches = k_iterations + shape.stages - 1
    assert groups[:fetches] == [{fetch} for fetch in range(fetches)]
    assert groups[fetches:] == ([{fetches}, set()] if family is CONVOLUTION_POLICY else [set(), set()])


@given(shapes, families, k_iterations_of)
def test_every_fragment_is_loaded_once_from_its_slot_and_multiplied_one_k_group_later(shape, family, k_iterations):
    ops = flat(shape, family, k_iterations)
    order = [(k_tile, k_group) for k_tile in range(k_iterations) for k_group in range(shape.k_groups)]
    assert [(op.k_tile, op.k_group) for op in of(WarpMma, ops)] == order

    loads = Counter((op.operand, op.k_tile, op.k_group) for op in of(Ldmatrix, ops))
    assert loads == {
        (operand, *fragment): shape.of(operand).fragment_loads
        for operand in ("a", "b")
        for fragment in [*order, (k_iterations, 0)]
    }
    assert all(op.stage == op.k_tile % shape.stages for op in of(Ldmatrix, ops))

    begins = dict.fromkeys((type(op), op.k_tile, op.k_group) for op in ops if isinstance(op, Ldmatrix | WarpMma))
    fragments = [*order, (k_iterations, 0)]
    alternating = [(Ldmatrix, *fragments[0])]
    for fragment, following in pairwise(fragments):
        alternating += [(Ldmatrix, *following), (WarpMma, *fragment)]
    assert list(begins) == alternating


@given(shapes, families, k_iterations_of)
def test_waits_leave_all_but_the_next_stage_in_flight_and_a_barrier_follows_each(shape, family, k_iterations):
    ops = flat(shape, family, k_iterations)
    pending = [op.pending for op in of(WaitGroup, ops)]
    assert pending == [shape.stages - 2] * (k_iterations + 1) + [0]
    assert len(of(Barrier, ops)) == len(pending)
    assert all(isinstance(ops[index + 1], Barrier) for index, op in enumerate(ops) if isinstance(op, WaitGroup))


@given(shapes, k_iterations_of)
def test_a_convolution_always_zero_fills_and_a_gemm_only_in_the_prologue(shape, k_iterations):
    assert all(op.zfill for op in of(CopyAsync, flat(shape, CONVOLUTION_POLICY, k_iterations)))
    assert all(
        op.zfill == (op.fetch < shape.stages - 1) for op in of(CopyAsync, flat(shape, GEMM_POLICY, k_iterations))
    )


@pytest.mark.parametrize(
    ("scenario", "per_k_group"), [(gemm(), [4, 4, 8, 0]), (convolution(), [4, 4, 4, 4])], ids=["gemm", "convolution"]
)
def test_sixteen_accesses_over_four_k_groups(scenario, per_k_group):
    body = program(scenario, 9).iterations[0]
    loads = [isinstance(op, Ldmatrix) for op in body]
    begins = [index for index, load in enumerate(loads) if load and not (index and loads[index - 1])]
    groups = [body[begin:end] for begin, end in pairwise([*begins, len(body)])]

    assert [len(of(CopyAsync, group)) for group in groups] == per_k_group


def test_the_order_inside_a_k_group():
    """
    GEMM: ldmatrix, mma, copies. Convolution: ldmatrix, copies, mma.
    """

    def words(scenario):
        runs = []
        for op in program(scenario, 9).iterations[0]:
            if not runs or runs[-1] is not type(op):
                runs.append(type(op))
        return runs

    group, copies_last = [Ldmatrix, CopyAsync, WarpMma], [Ldmatrix, WarpMma, CopyAsync]
    boundary = [CommitGroup, WaitGroup, Barrier]
    assert words(gemm()) == copies_last * 3 + boundary + [Ldmatrix, WarpMma]
    assert words(convolution()) == group * 3 + boundary + group


def test_nine_k_tiles_in_three_slots():
    """
    Tiles 0 and 1 arrive in slots 0 and 1 in the prologue; iteration i consumes tile i from slot i mod 3 while tile
    i + 2 loads into slot (i + 2) mod 3; iterations 7 and 8 bring no data: they fetch past the last k tile.
    """
    scenario = convolution()
    schedule = program(scenario, 9)

    def filled(ops):
        return list(dict.fromkeys((op.fetch, op.stage) for op in of(CopyAsync, ops)))

    loop_begin = next(index for index, op in enumerate(schedule.prologue) if isinstance(op, WaitGroup))
    assert filled(schedule.prologue[:loop_begin]) == [(0, 0), (1, 1)]
    for i, body in enumerate(schedule.iterations):
        k_tile_end = next(index for index, op in enumerate(body) if isinstance(op, CommitGroup))
        assert filled(body[:k_tile_end]) == [(i + 2, (i + 2) % 3)]
        consumed = {(op.k_tile, op.stage) for op in of(Ldmatrix, body[:k_tile_end])}
        assert consumed == {(i, i % 3)}
    assert [i for i in range(9) if i + 2 >= 9] == [7, 8]


def test_cache_operators():
    """
    16-byte copies go around L1, narrower ones cannot; activations always go through it.
    """

    def caches(scenario):
        shape = mainloop_shape(scenario)
        return shape.a.cache, shape.b.cache

    assert caches(gemm()) == ("cg", "cg")
    assert caches(convolution()) == ("ca", "cg")
    narrow = GemmScenario(machine="h200", problem=GemmProblem(m=128, n=128, k=68))
    assert caches(narrow) == ("ca", "ca")
    assert (mainloop_shape(narrow).a.vecs, mainloop_shape(narrow).b.vecs) == (2, 2)
    assert caches(convolution(c=68)) == ("ca", "ca")


def test_the_epilogue_step_by_step():
    """
    128x128 with fp32 output: 8 steps of a barrier, 8 stores, a barrier, 4 loads, 4 global stores.
    """
    step = [(Barrier, 1), (StoreShared, 8), (Barrier, 1), (LoadShared, 4), (StoreGlobal, 4)]
    counts = []
    for op in program(gemm(), 9).epilogue:
        if counts and counts[-1][0] is type(op):
            counts[-1][1] += 1
        else:
            counts.append([type(op), 1])

    assert [tuple(count) for count in counts] == step * 8


@pytest.mark.parametrize(
    ("problem", "readers"),
    [
        ({}, [False]),
        ({"beta": 2.0}, [True]),
        ({"split_k_slices": 2}, [False, True]),
        ({"split_k_slices": 2, "beta": 2.0}, [True, True]),
        ({"split_k_slices": 2, "split_k": "parallel", "beta": 2.0}, [False, False]),
    ],
    ids=["plain", "beta", "serial", "serial-beta", "parallel"],
)
def test_who_reads_the_source_tensor(problem, readers):
    scenario = GemmScenario(machine="h200", problem=GemmProblem(m=128, n=128, k=256, **problem))
    found = [bool(of(LoadSource, program(scenario, 2, slice_).epilogue)) for slice_ in range(len(readers))]
    assert found == readers


def test_k_tiles_are_made_when_asked_for():
    """Of 10**9 k tiles no more are made than are looked at."""
    copies = OperandCopies(accesses=4, vecs=1, cache="cg", fragment_loads=2)
    shape = MainloopShape(stages=3, k_groups=4, a=copies, b=copies)
    _, iterations, _ = mainloop(shape, GEMM_POLICY, 10**9)

    assert len(iterations) == 10**9
    assert iterations[-1] == iterations[10**9 - 1]
    assert iterations[3:5] == (iterations[3], iterations[4])
    assert iterations == mainloop(shape, GEMM_POLICY, 10**9)[1]
    assert iterations != mainloop(shape, GEMM_POLICY, 10**9 - 1)[1]
    with pytest.raises(IndexError):
        iterations[10**9]
