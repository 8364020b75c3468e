"""The functional executor: exact on hand-worked problems, deterministic, and blind to no stray access."""

from dataclasses import replace

import numpy as np
import pytest
from problems.gemm import random_scenario

from gpusim.families.gemm import execute as executor
from gpusim.families.gemm.execute import mainloop_of, operands_of, run, slice_programs
from gpusim.families.gemm.program import mainloop_shape
from gpusim.families.registry import parse_scenario
from gpusim.functional.data_hazards import HazardLog
from gpusim.functional.mainloop import fragment_places, operand_tables
from gpusim.functional.shared_memory import SharedMemory
from gpusim.numerics.tensors import Tensors, make_tensors
from gpusim.schedule import pipelined
from gpusim.schedule.mutations import MUTATIONS
from gpusim.schedule.ops import Barrier, LoadShared, StoreGlobal, StoreShared, WarpMma
from gpusim.tile.operand import SIDES

KERNEL = {"threadblock": [64, 64, 32], "warp": [32, 32, 32], "stages": 3}
GEMM = {"kind": "gemm", "m": 100, "n": 72, "k": 232}


def scenario_of(problem, **kernel):
    return parse_scenario({"machine": "h200", "problem": problem, "kernel": KERNEL | kernel}, "test")


def with_epilogue(scenario, ops):
    """The scenario's one program with another epilogue."""
    return [replace(slice_programs(scenario)[0], epilogue=tuple(ops))]


def counted(rows, columns):
    """Distinct small integers, exact in f16 and as sums with zeros."""
    return (np.arange(rows * columns) % 2048).reshape(rows, columns).astype(np.float16)


@pytest.mark.parametrize("shared", ["crosswise", "row_major", "padded<8>", "Swizzle<2,3,3>"])
def test_identity_matrix_times_b_is_b(shared):
    """A = I of 96: row m of the output is row m of B, to the bit."""
    scenario = scenario_of({"kind": "gemm", "m": 96, "n": 72, "k": 96}, shared={"a": shared, "b": shared})
    columns_of_b = counted(72, 96)
    done = run(scenario, Tensors(np.eye(96, dtype=np.float16).reshape(-1), columns_of_b.reshape(-1), None))
    assert done.hazards == ()
    assert np.array_equal(done.output, columns_of_b.T.astype(np.float32))


def finished(mainloop, scenario, k_iterations, first_stage):
    """The accumulators after one more problem through the mainloop."""
    mainloop.accumulators[:] = 0
    prologue, iterations, tail = pipelined.mainloop(mainloop_shape(scenario), k_iterations, first_stage)
    for op in (*prologue, *(op for body in iterations for op in body), *tail):
        mainloop.execute(op)
    return mainloop.accumulators.copy()


@pytest.mark.parametrize("k", [24, 96, 232])
def test_a_second_problem_through_a_pipelined_mainloop_is_right_after_winding_down(k):
    """Not so from the other stage: its prologue overwrites what warps may still read, or another tile is read."""
    scenario = scenario_of(GEMM | {"k": k}, mainloop="pipelined", stages=2)
    tiles, k_iterations = np.array([[0, 0, 0], [1, 1, 0]]), -(-k // 32)
    tables = {side: operand_tables(operand) for side, operand in scenario.operands.items()}

    def fresh(log):
        return mainloop_of(
            scenario,
            tables,
            operands_of(scenario, make_tensors(scenario, seed=5)),
            tiles,
            memory=SharedMemory(),
            hazards=log,
        )

    hazards, wrong = HazardLog(), HazardLog()
    mainloop, other = fresh(hazards), fresh(wrong)
    with np.errstate(invalid="ignore"):
        once = finished(mainloop, scenario, k_iterations, 0)
        again = finished(mainloop, scenario, k_iterations, pipelined.wind_down(k_iterations))
        finished(other, scenario, k_iterations, 0)
        finished(other, scenario, k_iterations, 1 - pipelined.wind_down(k_iterations))
    assert np.isfinite(once).all()
    assert np.array_equal(again, once)
    assert hazards.hazards() == ()
    assert wrong.hazards() != ()


def test_identity_filter_gives_the_activation():
    """A 1x1 filter that is the identity over 40 channels."""
    scenario = scenario_of({"kind": "conv2d_fprop", "n": 2, "h": 5, "w": 7, "c": 40, "k": 40, "r": 1, "s": 1})
    activation = counted(2 * 5 * 7, 40)
    done = run(scenario, Tensors(activation.reshape(-1), np.eye(40, dtype=np.float16).reshape(-1), None))
    assert done.hazards == ()
    assert np.array_equal(done.output, activation.astype(np.float32))


@pytest.mark.parametrize(("mode", "tap"), [("cross_correlation", (0, 2)), ("convolution", (2, 0))])
def test_one_tap_of_a_filter_shifts_the_activation(mode, tap):
    """
    A 3x3 filter, padding 1, with the identity at one tap.

    In cross-correlation tap (0, 2) sees the pixel above and to the right; true convolution sees it at (2, 0).
    """
    scenario = scenario_of(
        {
            "kind": "conv2d_fprop", "n": 1, "h": 6, "w": 5, "c": 8, "k": 8, "r": 3, "s": 3,
            "padding": [1, 1], "mode": mode,
        }
    )  # fmt: skip
    activation = counted(30, 8).reshape(6, 5, 8)
    filters = np.zeros((8, 3, 3, 8), np.float16)
    filters[:, tap[0], tap[1], :] = np.eye(8)
    shifted = np.zeros_like(activation)
    shifted[1:, :-1] = activation[:-1, 1:]
    done = run(scenario, Tensors(activation.reshape(-1), filters.reshape(-1), None))
    assert np.array_equal(done.output.reshape(6, 5, 8), shifted.astype(np.float32))


def test_linear_combination_adds_the_scaled_source():
    """2 * I * B + 0.5 * C with small integers, exact in f16."""
    problem = {"kind": "gemm", "m": 32, "n": 64, "k": 32, "alpha": 2.0, "beta": 0.5}
    scenario = scenario_of(problem | {"dtype": {"ab": "f16", "accumulator": "f32", "output": "f16"}})
    columns_of_b = counted(64, 32) % 128
    source = counted(32, 64) % 64
    tensors = Tensors(np.eye(32, dtype=np.float16).reshape(-1), columns_of_b.reshape(-1), source.reshape(-1))
    assert np.array_equal(run(scenario, tensors).output, 2 * columns_of_b.T + source / 2)


def test_split_k_adds_every_slice_to_the_one_before():
    """Four slices of one k tile each; ones everywhere: each adds 32."""
    scenario = scenario_of({"kind": "gemm", "m": 64, "n": 64, "k": 128, "split_k_slices": 4})
    ones = np.ones(64 * 128, np.float16)
    programs = slice_programs(scenario)
    done = run(scenario, Tensors(ones, ones, None), programs)
    assert [len(program.iterations) for program in programs] == [1] * 4
    assert (done.output == 128).all()


def test_a_16_bit_accumulator_is_rounded_once_an_mma():
    """
    The first m16n8k8 leaves 2048. The second one's products sum to -2047.5, which no f16 is: rounded first, it would
    give 0 or 1 in place of 0.5.
    """
    dtype = {"ab": "f16", "accumulator": "f16", "output": "f16"}
    problem = {"kind": "gemm", "m": 1, "n": 1, "k": 16, "alignment_c": 1, "dtype": dtype}
    a = np.zeros(16, np.float16)
    a[[0, 8, 9]] = 2048, -2047, -0.5
    done = run(scenario_of(problem, instruction=[16, 8, 8]), Tensors(a, np.ones(16, np.float16), None))
    assert done.output[0, 0] == 0.5


def test_fewer_k_tiles_than_stages():
    scenario = scenario_of({"kind": "gemm", "m": 64, "n": 64, "k": 8}, stages=5)
    done = run(scenario, Tensors(np.ones(512, np.float16), np.ones(512, np.float16), None))
    assert done.hazards == ()
    assert (done.output == 8).all()


def test_two_runs_give_the_same_bits():
    scenario = scenario_of(GEMM | {"split_k_slices": 2, "beta": 0.5})
    tensors = make_tensors(scenario, 1)
    first, again = run(scenario, tensors), run(scenario, tensors)
    assert first.output.tobytes() == again.output.tobytes()
    assert first.hazards == again.hazards


def test_batches_of_ctas_do_not_change_the_bits(monkeypatch):
    scenario = scenario_of(GEMM | {"m": 300, "n": 200})
    tensors = make_tensors(scenario, 1)
    together = run(scenario, tensors).output
    monkeypatch.setattr(executor, "BATCH_BYTES", 1)
    assert run(scenario, tensors).output.tobytes() == together.tobytes()


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("mutation", [None, *MUTATIONS])
def test_a_cta_alone_shows_the_bits_and_hazards_it_shows_in_a_batch(monkeypatch, seed, mutation):
    scenario = random_scenario(seed)
    programs = [one if mutation is None else MUTATIONS[mutation](one) for one in slice_programs(scenario)]
    tensors = make_tensors(scenario, seed)
    together = run(scenario, tensors, programs)
    monkeypatch.setattr(executor, "BATCH_BYTES", 1)
    alone = run(scenario, tensors, programs)
    assert alone.output.tobytes() == together.output.tobytes()
    # Of the hazards of one kind and place the first is told: of the first CTA alone, of the first warp in a batch.
    assert {(one.name, one.k_tile, one.k_group, one.operand, one.stage) for one in alone.hazards} == {
        (one.name, one.k_tile, one.k_group, one.operand, one.stage) for one in together.hazards
    }


def test_a_hazard_in_one_cta_of_a_batch_is_told_with_its_tile():
    """One row of A is missing at the end of the tensor, which only the CTAs of the last rows reach."""
    scenario = scenario_of(GEMM | {"m": 192, "n": 64})
    tensors = make_tensors(scenario, 1)
    short = replace(tensors, a=tensors.a[: -scenario.problem.operand_views[0].leading])
    hazards = run(scenario, short).hazards
    assert hazards
    assert all("tile [2, 0, 0]" in hazard.message for hazard in hazards)


def test_a_nan_in_one_cta_of_a_batch_is_told_with_its_tile():
    """Row 70 of A lies in the second of three CTAs."""
    scenario = scenario_of(GEMM | {"m": 192, "n": 64})
    tensors = make_tensors(scenario, 1)
    scenario.problem.operand_views[0].of(tensors.a)[70, 5] = np.nan
    (hazard,) = run(scenario, tensors).hazards
    assert (hazard.name, hazard.row) == ("stale_data_consumed", 70)
    assert "tile [1, 0, 0]" in hazard.message


def test_inputs_are_left_alone():
    scenario = scenario_of(GEMM | {"beta": 1.0, "lda": 240})
    tensors, before = make_tensors(scenario, 1), make_tensors(scenario, 1)
    run(scenario, tensors)
    assert np.array_equal(tensors.a, before.a, equal_nan=True)
    assert np.array_equal(tensors.b, before.b, equal_nan=True)
    assert np.array_equal(tensors.source, before.source, equal_nan=True)


def test_fragment_places_are_a_bijection():
    scenario = scenario_of(GEMM)
    for operand in scenario.operands.values():
        place = fragment_places(operand)
        assert np.array_equal(np.sort(place, axis=None), np.arange(place.size))


def test_an_element_that_is_not_stored_is_told():
    scenario = scenario_of(GEMM)
    epilogue = [op for op in slice_programs(scenario)[0].epilogue if op != StoreGlobal(step=1, access=0)]
    done = run(scenario, make_tensors(scenario, 1), with_epilogue(scenario, epilogue))
    assert [hazard.name for hazard in done.hazards] == ["output_not_written_once"]
    assert done.hazards[0].row == 8
    assert np.isnan(done.output[8]).any()


def test_an_element_that_is_stored_twice_is_told():
    scenario = scenario_of(GEMM)
    epilogue = slice_programs(scenario)[0].epilogue
    done = run(scenario, make_tensors(scenario, 1), with_epilogue(scenario, (*epilogue, epilogue[-1])))
    assert [hazard.name for hazard in done.hazards] == ["output_not_written_once"]


def test_nothing_is_stored_between_the_rows_of_the_output():
    scenario = scenario_of(GEMM | {"ldc": 80})
    done = run(scenario, make_tensors(scenario, 1))
    assert done.hazards == ()
    assert done.output.base is not None
    assert np.isnan(done.output.base.reshape(100, 80)[:, 72:]).all()
    assert np.isfinite(done.output).all()


@pytest.mark.parametrize(
    ("after", "hazard"), [(StoreShared, "stale_data_consumed"), (StoreGlobal, "overwrite_while_read")]
)
def test_epilogue_without_a_barrier_is_caught(after, hazard):
    """The barrier after the shared stores makes them visible; that before the next step's protects the loads."""
    scenario = scenario_of(GEMM)
    ops = slice_programs(scenario)[0].epilogue
    kept = [
        op
        for before, op in zip((None, *ops), ops, strict=False)
        if not (isinstance(op, Barrier) and isinstance(before, after))
    ]
    done = run(scenario, make_tensors(scenario, 1), with_epilogue(scenario, kept))
    assert {(found.name, found.operand) for found in done.hazards} >= {(hazard, "accumulator")}


@pytest.mark.parametrize("operand", SIDES)
def test_valid_access_outside_the_tensor_is_told(operand):
    """The tensor's last row is missing; the iterators do not know."""
    scenario = scenario_of(GEMM)
    tensors = make_tensors(scenario, 1)
    view = scenario.problem.operand_views[SIDES.index(operand)]
    short = replace(tensors, **{operand: getattr(tensors, operand)[: -view.leading]})
    first = run(scenario, short).hazards[0]
    assert (first.name, first.operand) == ("illegal_global_access", operand)


def test_each_room_refuses_the_other_rooms_ops():
    scenario = scenario_of(GEMM)
    program = slice_programs(scenario)[0]
    with pytest.raises(TypeError, match="is no op of an epilogue"):
        run(scenario, make_tensors(scenario, 1), [replace(program, epilogue=(WarpMma(0, 0),))])
    with pytest.raises(TypeError, match="is no op of a mainloop"):
        run(scenario, make_tensors(scenario, 1), [replace(program, tail=(LoadShared(0, 0),))])


def test_accumulators_start_at_zero():
    scenario = scenario_of(GEMM)
    tables = {side: operand_tables(operand) for side, operand in scenario.operands.items()}
    mainloop = mainloop_of(
        scenario,
        tables,
        operands_of(scenario, make_tensors(scenario, 1)),
        np.zeros((1, 3), np.int64),
        memory=SharedMemory(),
        hazards=HazardLog(),
    )
    assert (mainloop.accumulators == 0).all()
    assert mainloop.accumulators.shape == (1, 4, 32, 32)
