"""What is true of a measured kernel: a throughput of at least 60 %, else the largest stall reason."""

import pytest

from gpusim.lab.explain_check.truth import STALL_RESOURCES, measured_bound, measured_throughputs
from gpusim.machine.load import load_machine
from gpusim.results.bound import WAITED_FOR
from gpusim.sim.stall_reasons import REASONS

RATIO = "smsp__average_warps_issue_stalled_{}_per_issue_active.ratio"
TENSOR = "sm__pipe_tensor_op_hmma_cycles_active.avg.pct_of_peak_sustained_active"
IMMA = "sm__pipe_tensor_op_imma_cycles_active.avg.pct_of_peak_sustained_active"


def counters(tensor, **ratios):
    stalls = {RATIO.format(reason): ratio for reason, ratio in ratios.items()}
    return {
        "sm__cycles_elapsed.max": 1000.0, "sm__cycles_active.avg": 800.0, TENSOR: tensor, IMMA: 0.0,
        "lts__t_sectors_op_read.sum": 100.0, "lts__t_sectors_op_write.sum": 0.0,
    } | stalls  # fmt: skip


def test_a_throughput_of_60_percent_of_all_cycles_is_the_bound():
    """75 % of 800 active cycles are 60 % of 1000."""
    assert measured_bound(counters(75.0, wait=1.0, selected=9.0, barrier=0.5), load_machine("h200")).resource == (
        "tensor core"
    )


def test_below_60_percent_the_largest_stall_reason_is_and_selected_is_none():
    found = measured_bound(counters(74.9, wait=1.0, selected=9.0, barrier=0.5), load_machine("h200"))

    assert (found.resource, found.reason) == ("fixed-latency dependencies", "wait")
    assert found.percent == pytest.approx(100 / 10.5)


def test_throughputs_are_of_all_elapsed_cycles():
    """A launch whose time is not known takes 1,000 cycles at the SMs' full clock."""
    h200 = load_machine("h200")

    found = measured_throughputs(counters(50.0), h200)

    assert found["tensor core"] == pytest.approx(40)
    assert found["L2 bandwidth"] == pytest.approx(100 * 3200 / (1000 * h200.l2.bytes_per_cycle))


def test_the_l2_s_use_is_of_the_launch_s_time_as_its_clock_is_its_own():
    """While tensor cores slow the SMs down the same cycles take longer: 1,000 in 600 ns are those of 1,667 MHz."""
    h200 = load_machine("h200")
    slow = counters(50.0) | {"gpu__time_duration.sum": 600.0}

    full, slowed = (measured_throughputs(one, h200)["L2 bandwidth"] for one in (counters(50.0), slow))

    assert slowed == pytest.approx(full * (1000 / h200.clock_mhz * 1000) / 600)


def test_explain_names_stalls_as_the_table_does():
    assert dict(WAITED_FOR) == dict(STALL_RESOURCES)
    assert set(STALL_RESOURCES) == set(REASONS) - {"selected"}
