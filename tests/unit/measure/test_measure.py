"""One scenario measured part by part, on a double of CuPy."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

from doubles.cupy import Mistakes
from problems.ragged import PARALLEL, RAGGED

from gpusim.cuda.trace import expected_of_all, expected_records, stream_digest
from gpusim.families.gemm.schedule import TileKernel, kernels
from gpusim.measure import measure

OURS = TileKernel(RAGGED)


def test_a_parallel_split_k_is_measured_as_both_its_launches(gpu):
    gpu(PARALLEL)

    found = measure.measure("parallel", PARALLEL, ORIGIN, seed=1)

    assert found.missing == {}
    assert (found.numerics.wrong_elements, found.trace.equal, found.trace.first_difference) == (0, True, None)
    assert found.trace.sha256 == stream_digest(
        expected_of_all(kernels(PARALLEL), [one.traced_blocks for one in kernels(PARALLEL)])
    )
    assert found.trace.records > len(expected_records(TileKernel(PARALLEL), found.trace.ctas))
    assert found.kernel["reduction"]["grid"] == list(kernels(PARALLEL)[1].grid)


ORIGIN = measure.RecordOrigin({"gpu": "NVIDIA H200", "sms": 132}, ("gpusim", "check"), "abc")


def measured(said=None):
    return measure.measure("name", RAGGED, ORIGIN, seed=1, say=(said if said is not None else []).append)


def test_a_measurement_has_every_part(gpu):
    gpu()
    record = measured()

    assert record.missing == {}
    assert record.numerics.wrong_elements == 0
    assert (record.trace.equal, record.trace.first_difference, record.trace.ctas) == (True, None, (0, 1))
    assert record.time_us.median == 200.0
    assert (record.pipeline.perturbation, record.pipeline.cta_cycles) == (1.0, 5100)
    assert record.kernel["registers"] == 128
    assert record.kernel["compiler"] == "nvcc 13.0.88"
    assert record.scenario_sha256 == RAGGED.digest()


def test_a_part_that_fails_is_noted_and_the_rest_goes_on(gpu):
    said: list[Any] = []
    gpu(mistakes=Mistakes(unloadable=("trace",)))

    record = measured(said)

    assert list(record.missing) == ["trace"]
    assert record.trace is None
    assert record.numerics is not None
    assert record.pipeline is not None
    assert said == [f"trace: {record.missing['trace']}"]


def test_a_trace_of_another_order_is_recorded_with_its_difference(gpu):
    def swap(records):
        records["k_tile"][7] += 1

    gpu(mistakes=Mistakes(records=swap))
    record = measured()

    assert not record.trace.equal
    assert record.trace.first_difference.startswith("CTA 0, warp 0, record 7, k_tile: ")
    assert record.trace.sha256 != stream_digest(expected_records(OURS, record.trace.ctas))


def test_a_context_that_a_kernel_broke_is_noticed(gpu):
    cupy = gpu()
    assert not measure.context_is_lost(cupy)

    def fail():
        raise RuntimeError("cudaErrorIllegalAddress")

    cupy.cuda.runtime.deviceSynchronize = fail
    assert measure.context_is_lost(cupy)


def test_counters_are_added_or_their_absence_explained(gpu):
    gpu()
    record = measured()
    without = measure.with_counters(record, None, "ncu is not here")
    profile = SimpleNamespace(counters={"a.sum": 1.0}, opcodes={"LDSM": {"executed": 2.0}})

    assert without.missing == {"counters": "ncu is not here"}
    assert measure.with_counters(without, profile) == replace(
        record, counters={"a.sum": 1.0}, opcodes={"LDSM": {"executed": 2.0}}
    )
