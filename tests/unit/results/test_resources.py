"""The use of each resource, worked on paper: what is executed, over what the machine could do in the same time."""

from dataclasses import replace

import pytest
from doubles.published import H200

import gpusim
from gpusim.machine import load_machine
from gpusim.results.resources import RunSpans, Work, resources, resources_of
from gpusim.results.result import BankConflicts

COUNTERS = {
    "smsp__inst_executed.sum": 132 * 8000,
    "lts__t_sectors_op_read.sum": 132 * 2000,
    "lts__t_sectors_op_write.sum": 132 * 1000,
    "dram__bytes_read.sum": 3_000_000,
    "dram__bytes_write.sum": 1_132_000,
}
CONFLICTS = (
    BankConflicts("ldmatrix", "a", 100, 132 * 700, 0, 0),
    BankConflicts("sts", "c", 100, 132 * 300, 0, 0),
    BankConflicts("ldgsts", "a", 132 * 50, 132 * 200, 0, 0),
)
WORK = Work(COUNTERS, CONFLICTS, mma_interval=6, mmas=132 * 4000, pipes={"alu": 132 * 1000}, zero_filling=132 * 100)
SPANS = RunSpans(elapsed=10_000, active=132 * 8000, longest=9000)


def used(work=WORK, spans=SPANS, machine=H200):
    return {one.name: one for one in resources(machine, work, spans)}


def test_use_is_what_is_executed_over_the_peak_of_all_sms_in_all_elapsed_cycles():
    """
    10,000 cycles of 132 SMs. Tensor: 4,000 MMAs * 6 cycles / 4 cores. Issue: 8,000 / 4. ALU: 1,000 * 2 / 4. Data stage:
    1,000 wavefronts and 100 of zeros. L2: 132 * 3,000 sectors * 32 / 4,974 bytes a cycle. DRAM: 4,132 kB, written ones
    among them, at 2,066.186 bytes a cycle.
    """
    percents = {name: one.percent for name, one in used().items()}

    assert percents == pytest.approx(
        {
            "tensor core": 60.0,
            "issue slots": 20.0,
            "alu pipe": 100 * 1000 * H200.pipes["alu"].interval / 4 / 10_000,
            "shared-memory data stage": 11.0,
            "L2 port of the SM": 10.0,
            "L2 bandwidth": 25.476,
            "DRAM bandwidth": 19.998,
        },
        abs=1e-3,
    )


def test_use_while_active_is_of_the_sms_that_have_work_and_of_the_longest_span_for_the_chip():
    """6,000 of 8,000 active cycles; 25.476 % of 10,000 elapsed cycles are 28.307 % of the longest span's 9,000."""
    assert used()["tensor core"].percent_active == 75.0
    assert used()["L2 bandwidth"].percent_active == pytest.approx(28.307, abs=1e-3)


def test_the_most_used_resource_is_first():
    percents = [one.percent for one in resources(H200, WORK, SPANS)]

    assert percents == sorted(percents, reverse=True)


def test_what_is_written_to_dram_counts_as_what_is_read():
    swapped = COUNTERS | {
        "dram__bytes_read.sum": COUNTERS["dram__bytes_write.sum"],
        "dram__bytes_write.sum": COUNTERS["dram__bytes_read.sum"],
    }

    assert used(replace(WORK, counters=swapped)) == used()


def test_no_more_wavefronts_write_zeros_than_copies_have():
    assert used(replace(WORK, zero_filling=1 << 30))["shared-memory data stage"].percent == 12.0


def test_an_l2_that_stores_beside_what_it_reads_is_used_for_no_more_than_100_percent():
    """9,000 cycles of the longest span: twice the sectors that can be read in them."""
    much = COUNTERS | {"lts__t_sectors_op_read.sum": 2 * 9000 * 4974 / 32}

    assert used(replace(WORK, counters=much))["L2 bandwidth"].percent_active == 100.0
    assert used(replace(WORK, counters=much))["L2 bandwidth"].percent == 90.0


def test_where_tensor_cores_slow_the_sms_down_the_l2_and_dram_are_used_less():
    """Their clocks go on: 111 cycles of them in 100 of an H200's SMs."""
    h200 = load_machine("h200")
    busy, idle = used(machine=h200), used(replace(WORK, mma_interval=0), machine=h200)

    assert h200.launch.idle_clock_percent == 111
    for name in ("L2 bandwidth", "DRAM bandwidth"):
        assert busy[name].percent == pytest.approx(idle[name].percent / 1.11, abs=0.01)
    assert busy["L2 port of the SM"] == idle["L2 port of the SM"]


def test_a_result_states_its_use():
    run = gpusim.simulate(gpusim.load("conv_9_k_tiles"), stream="estimated")

    assert [one.name for one in resources_of(run)] == [row["name"] for row in run.bound["resources"]]
    assert resources_of(replace(run, bound={"resource": "latency", "reason": "", "utilisation": 0.1})) == ()
