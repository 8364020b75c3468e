"""Kernels launched on a double of CuPy: right numbers, what is wrong, warm times, recorded timelines."""

import numpy as np
import pytest
from doubles.cupy import Mistakes, loaded
from problems.ragged import PARALLEL, RAGGED, SPLIT, ragged

from gpusim.cuda.trace import expected_records, first_difference, longest_stream, stream_digest
from gpusim.errors import CannotRun, CheckFailed
from gpusim.families.gemm.schedule import TileKernel
from gpusim.families.gemm.specialise import specialise
from gpusim.gpu import run
from gpusim.gpu.module import LoadedKernel
from gpusim.records.pipeline import pipeline_rows
from gpusim.results.result import PipelineRow

OURS = TileKernel(RAGGED)


def traced(cupy, blocks):
    (kernel,), problem = loaded(cupy, "trace")
    return run.record_trace(kernel, problem, blocks, longest_stream(TileKernel(cupy.scenario), blocks))


def test_the_second_kernel_of_a_parallel_split_k_writes_the_output(gpu):
    cupy = gpu(PARALLEL)
    (first, second), problem = loaded(cupy)

    assert run.check_numerics([first], problem).wrong_elements == 72 * 40
    assert run.check_numerics([first, second], problem).wrong_elements == 0
    assert problem.partial.size == 2 * 72 * 40


def test_a_right_kernel_has_no_element_beyond_its_bound(gpu):
    found = run.check_numerics(*loaded(gpu()))

    assert (found.elements, found.wrong_elements, found.seed) == (72 * 40, 0, 1)
    assert found.max_error_over_bound <= 1


def test_an_element_never_written_is_wrong(gpu):
    def forget(output):
        output[17] = np.nan

    found = run.check_numerics(*loaded(gpu(mistakes=Mistakes(output=forget))))

    assert (found.wrong_elements, found.max_error, found.worst_element) == (1, None, (0, 17))


def test_a_store_between_the_rows_is_wrong(gpu):
    def spill(output):
        output[40] = 1.0

    found = run.check_numerics(*loaded(gpu(ragged(ldc=44), Mistakes(output=spill))))

    assert found.wrong_elements == 1


def test_a_semaphore_left_set_is_said(gpu):
    with pytest.raises(CheckFailed, match="left flags of the split-K semaphore set"):
        run.check_numerics(*loaded(gpu(SPLIT, Mistakes(semaphore=3))))


@pytest.mark.parametrize("scenario", [RAGGED, SPLIT, ragged(beta=0.5)], ids=["plain", "split-K", "source"])
def test_parameters_hold_what_the_kernel_reads(gpu, scenario):
    (kernel,), problem = loaded(gpu(scenario))
    params = problem.params(kernel.specialisation.k_iterations, run.Recording(capacity=9, blocks=(1, 2)))

    assert params["a"] == problem.tensors.a.data.ptr
    assert params["output"] == problem.output.data.ptr
    assert (params["source"] == 0) == (scenario.problem.beta == 0)
    assert params["beta"] == np.float32(scenario.problem.beta)
    assert params["recorded"].tolist() == [1, 2, 0, 0, 0, 0, 0, 0]
    assert (params["record_capacity"], params["recorded_blocks"]) == (9, 2)
    assert params["k_iterations"] == specialise(scenario).k_iterations


def test_the_launch_is_the_specialisation_s(gpu):
    cupy = gpu()
    run.launch_once(*loaded(cupy))
    own = specialise(RAGGED)

    assert cupy.launches == [("plain", own.grid, (own.block_threads, 1, 1), own.shared_bytes)]


def test_a_kernel_that_does_not_load_is_said(gpu):
    with pytest.raises(CannotRun, match=r"the GPU does not load .*kernel-plain: CUDA_ERROR_INVALID_IMAGE"):
        loaded(gpu(mistakes=Mistakes(unloadable=("plain",))))


@pytest.mark.parametrize("scenario", [RAGGED, SPLIT, ragged(beta=2.0)], ids=["plain", "split-K", "source"])
def test_a_trace_that_follows_the_schedule_equals_the_python_stream(gpu, scenario):
    kernel = TileKernel(scenario)
    blocks = kernel.traced_blocks
    found = traced(gpu(scenario), blocks)

    assert first_difference(expected_records(kernel, blocks), found, blocks, kernel.op_kinds) is None
    assert stream_digest(found) == stream_digest(expected_records(kernel, blocks))


def test_the_offset_of_an_access_that_is_off_may_be_any(gpu):
    def elsewhere(records):
        records["global"][~records["predicate"]] = 12345

    blocks = OURS.traced_blocks
    found = traced(gpu(mistakes=Mistakes(records=elsewhere)), blocks)

    assert first_difference(expected_records(OURS, blocks), found, blocks, OURS.op_kinds) is None
    assert stream_digest(found) == stream_digest(expected_records(OURS, blocks))


def test_traced_ctas_have_a_tile_and_include_a_later_slice():
    assert TileKernel(SPLIT).traced_blocks == (0, 1, 2, 3)
    assert OURS.traced_blocks == (0, 1)


def test_the_warm_loop_is_the_median_of_its_batches(gpu):
    found = run.time_loop(*loaded(gpu()))

    assert (found.batches, found.launches) == (20, 5)
    assert (found.median, found.least, found.most) == (200.0, 200.0, 200.0)


def test_pipeline_rows_count_from_the_start_of_the_cta(gpu):
    (kernel,), problem = loaded(gpu(), "timeline")
    stamped = TileKernel(RAGGED).stamped
    warps = run.record_timeline(kernel, problem, stamped, run.timeline_buffer(kernel, problem, stamped))

    rows = pipeline_rows(warps[0], stamped)

    assert len(warps) == 4
    assert rows[0] == PipelineRow(0, 0, 100, None, 101, 102, 104, 108)
    assert rows[3] == PipelineRow(3, 0, 400, None, 401, 402, 404, 408)


def test_a_kernel_is_what_the_loader_says(gpu):
    (kernel,), _ = loaded(gpu())
    assert isinstance(kernel, LoadedKernel)
    assert (kernel.registers, kernel.local_bytes) == (128, 0)
    assert len(run.cubin_digest(kernel)) == 64
