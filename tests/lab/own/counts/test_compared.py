"""Own kernels executed from the measured machine code have the counts that ncu measured on an H200."""

from pathlib import Path

import pytest

from gpusim.lab.own.counts.compared import (
    WITHOUT_CONFLICTS,
    ComparedCount,
    ExecutedKernel,
    MeasuredCounts,
    compare_counts,
    execute_measured,
    read_measured,
)
from gpusim.lab.own.table import own_kernel

FOLDER = Path(__file__).parents[4] / "reports" / "measured" / "h200" / "own"

QUICK = {
    "pointer_chase": 22,
    "copy_stride_32": 18,
    "gather": 18,
    "histogram_matched": 23,
    "reduce_grid_stride_float": 40,
    "embedding": 27,
    "haxpy": 21,
    "divide64": 35,
    "named_barriers": 39,
    "transpose_tile": 39,
    "batched_matmul": 35,
    "generic_pointer": 38,
}
"""Development kernels that are executed within seconds, and how many counts of each are compared."""


@pytest.fixture(scope="module")
def measured():
    return read_measured(FOLDER, "development")


@pytest.mark.compiled
@pytest.mark.parametrize("name", QUICK)
def test_every_count_of_a_development_kernel_is_the_measured_one(name, measured):
    kernel = own_kernel(name)

    compared = compare_counts(kernel, execute_measured(kernel, FOLDER), measured[name])

    assert len(compared) == QUICK[name]
    assert [one for one in compared if not one.equal] == []


@pytest.mark.compiled
def test_a_divergent_loop_still_meets_more_often_than_on_silicon(measured):
    """A known gap: the H200 lets 259 groups of lanes that leave the loop arrive at its BSYNC with another group."""
    kernel = own_kernel("mandelbrot")

    compared = compare_counts(kernel, execute_measured(kernel, FOLDER), measured["mandelbrot"])

    assert {(one.what, one.ours - one.measured) for one in compared if not one.equal} == {
        ("smsp__inst_executed.sum", 259),
        ("sm__inst_executed_pipe_cbu.sum", 259),
        ("BSYNC", 259),
    }


@pytest.mark.compiled
def test_reductions_to_one_address_still_take_fewer_sectors_than_on_silicon(measured):
    """A known gap: random words of several lines that repeat take up to three sectors more on the H200."""
    kernel = own_kernel("histogram_global")

    compared = compare_counts(kernel, execute_measured(kernel, FOLDER), measured["histogram_global"])

    (one,) = [one for one in compared if not one.equal]
    assert one.what == "l1tex__t_sectors_pipe_lsu_mem_global_op_red.sum"
    assert 0.98 < one.ours / one.measured < 0.99


@pytest.mark.compiled
def test_copies_take_a_wavefront_for_each_line_and_four_at_least():
    """A copy reads 512 bytes: 8 rows of 64 of A, each of another line, or 4 rows of 128 of B."""
    executed = execute_measured(own_kernel("mma_fp16"), FOLDER, "small")

    copies = sum(row.issues for sass, row in executed.executed() if sass.name == "LDGSTS")
    assert executed.copies == copies // 2 * (8 + 4)


def test_counts_that_are_zero_on_both_sides_are_no_rows():
    measured = MeasuredCounts({"smsp__inst_executed.sum": 0, "smsp__inst_executed_op_ldsm.sum": 2}, {"LDSM": 2}, 0)

    compared = compare_counts(own_kernel("saxpy"), ExecutedKernel([], [], 0), measured)

    assert compared == [
        ComparedCount("saxpy", "smsp__inst_executed_op_ldsm.sum", 0, 2),
        ComparedCount("saxpy", "LDSM", 0, 2),
    ]
    assert WITHOUT_CONFLICTS not in {one.what for one in compared}
