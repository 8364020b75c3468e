"""The first bound: least cycles of each resource, worked on paper, and which of them counts."""

import pytest
from doubles.published import H200

from gpusim.machine import load_machine
from gpusim.results.bound import BOUND_SHARE, Demand, first_bound
from gpusim.results.result import BankConflicts

COUNTERS = {
    "sm__inst_executed_pipe_tensor_op_hmma.sum": 132 * 4000,
    "lts__t_sectors_op_read.sum": 132 * 2000,
    "lts__t_sectors_op_write.sum": 132 * 1000,
    "dram__bytes_read.sum": 4_132_000,
}


def demand(ctas=132, instructions=132 * 8000, interval=6, machine=H200):
    conflicts = (BankConflicts("ldmatrix", "a", 100, 132 * 700, 0, 0), BankConflicts("sts", "c", 100, 132 * 300, 0, 0))
    return Demand.of(machine, COUNTERS, conflicts, instructions=instructions, ctas=ctas, tensor_interval=interval)


def test_each_resource_needs_what_its_rate_says():
    """
    One CTA for each of 132 SMs. Tensor: 4000 MMAs * 6 cycles / 4 cores. Issue: 8000 / 4. Data stage: 1000 wavefronts.
    L2 port: 3000 sectors * 32 / 64. L2: 132 * 3000 * 32 / 4974. DRAM: 4132 kB at 2066.186 bytes a cycle.
    """
    assert demand().cycles == {
        "tensor core": 6000,
        "issue slots": 2000,
        "shared-memory data stage": 1000,
        "L2 port of the SM": 1500,
        "L2 bandwidth": 2548,
        "DRAM bandwidth": 2000,
    }


def test_the_fullest_sm_counts():
    """133 CTAs: one SM runs two, and needs 2/133 of everything; what the chip shares does not change."""
    fullest, even = demand(ctas=133).cycles, demand(ctas=132).cycles

    assert fullest["tensor core"] == round(132 * 4000 * 2 / 133 * 6 / 4)
    assert fullest["L2 bandwidth"] == even["L2 bandwidth"]


def test_a_resource_busy_for_most_of_the_span_is_the_bound():
    bound = first_bound(Demand({"tensor core": 900, "issue slots": 800}), 1000, {"wait": 10})

    assert (bound["resource"], bound["utilisation"]) == ("tensor core", 0.9)
    assert bound["reason"] == "tensor core busy for 90% of the active span"
    assert bound["cycles"] == {"tensor core": 900, "issue slots": 800}


def test_otherwise_latency_is_and_the_longest_wait_says_which():
    stalls = {"selected": 900, "not_selected": 800, "wait": 20, "barrier": 30}
    bound = first_bound(Demand({"tensor core": 100, "issue slots": 300}), 1000, stalls)

    assert (bound["resource"], bound["busiest"]) == ("latency", "issue slots")
    assert bound["reason"] == ("no resource is busy; warps wait longest for barrier, and issue slots is in use 30%")


@pytest.mark.parametrize(("cycles", "resource"), [(600, "tensor core"), (599, "latency")])
def test_the_share_that_decides_is_inclusive(cycles, resource):
    assert BOUND_SHARE == 0.6
    assert first_bound(Demand({"tensor core": cycles}), 1000, {})["resource"] == resource


def test_of_equally_busy_resources_the_name_decides():
    one = first_bound(Demand({"a": 700, "b": 700}), 1000, {})
    other = first_bound(Demand({"b": 700, "a": 700}), 1000, {})

    assert one["busiest"] == other["busiest"] == "b"


def test_where_tensor_cores_slow_the_sms_down_the_l2_and_dram_need_fewer_cycles():
    """Their clocks go on: 111 cycles of them in 100 of an H200's SMs."""
    h200 = load_machine("h200")
    busy, idle = (demand(interval=interval, machine=h200).cycles for interval in (6, 0))

    assert h200.launch.idle_clock_percent == 111
    for resource in ("L2 bandwidth", "DRAM bandwidth"):
        assert busy[resource] == pytest.approx(idle[resource] / 1.11, abs=1)
    assert busy["L2 port of the SM"] == idle["L2 port of the SM"]
