"""The rows of a check: what must be equal, what may differ, and when a check holds."""

from dataclasses import replace
from functools import partial

import pytest

from gpusim.families.gemm.latitude import latitude
from gpusim.families.gemm.schedule import TileKernel
from gpusim.families.registry import parse_scenario
from gpusim.records.check import CONFLICTS, WAVEFRONTS, active_cycles, check_rows, exact_counters, holds, stall_shares
from gpusim.records.check_table import check_table, number
from gpusim.records.record import Numerics, Record, TraceCheck
from gpusim.schedule.counts import count
from gpusim.verbs.simulate import simulate

KERNEL = {"threadblock": [64, 64, 32], "warp": [32, 32, 32], "stages": 3}
GEMM = {"kind": "gemm", "m": 72, "n": 40, "k": 200}
RATIO = "smsp__average_warps_issue_stalled_{}_per_issue_active.ratio"


def scenario_of(**problem):
    return parse_scenario({"machine": "h200", "problem": GEMM | problem, "kernel": KERNEL}, "test")


SCENARIO = scenario_of()
COUNTS = count(TileKernel(SCENARIO))
RESULT, _ = simulate(SCENARIO)


def opcodes_of(counts):
    table = {opcode: {"executed": float(count)} for opcode, count in counts.instructions.items()}
    for opcode, op in {"LDSM": "ldmatrix", "LDS": "lds", "STS": "sts"}.items():
        rows = [row for row in counts.bank_conflicts if row.op == op]
        table[opcode]["wavefronts"] = float(sum(row.wavefronts for row in rows))
        table[opcode]["ideal"] = float(sum(row.ideal_wavefronts for row in rows))
    return table


def record_of(scenario, counts, **changes):
    record = Record(
        name="test",
        scenario=scenario.resolved(),
        scenario_sha256=scenario.digest(),
        environment={"gpu": "NVIDIA H200", "sms": 132},
        kernel={"registers": 96},
        numerics=Numerics(1, 2880, 0, 0.01, 0.25, (3, 4)),
        trace=TraceCheck((0,), 100, "b" * 64, equal=True, first_difference=None),
        time_us=None,
        pipeline=None,
        counters={name: float(value) for name, value in exact_counters(counts).items()}
        | {"sm__cycles_elapsed.max": 10000.0, "sm__cycles_active.avg": 100.0, "smsp__inst_executed.sum": 5000.0}
        | {RATIO.format("barrier"): 3.0, RATIO.format("wait"): 1.0},
        opcodes=opcodes_of(counts),
        missing={},
        commit=None,
        date="2026-11-21",
        command=(),
    )
    return replace(record, **changes)


RECORD = record_of(SCENARIO, COUNTS)


def rows_of(record, scenario=SCENARIO, counts=COUNTS, **keys):
    return check_rows(partial(latitude, scenario), counts, {"estimated": RESULT}, record, **keys)


def verdicts(rows):
    return {row.source or row.what: row.verdict for row in rows}


def test_hardware_that_does_what_the_schedule_says_holds():
    rows = rows_of(RECORD, expected_trace="b" * 64)

    assert holds(rows)
    exact = [row for row in rows if row.verdict == "exact"]
    assert {row.source for row in exact} >= {*exact_counters(COUNTS), "HMMA", "LDSM", "LDGSTS", "BAR", "STS"}


@pytest.mark.parametrize("metric", sorted(exact_counters(COUNTS)))
def test_one_off_in_an_exact_counter_does_not_hold(metric):
    counters = RECORD.counters | {metric: RECORD.counters[metric] + 1}

    rows = rows_of(replace(RECORD, counters=counters))

    assert [row.source for row in rows if row.verdict == "differs"] == [metric]
    assert not holds(rows)


@pytest.mark.parametrize(("opcode", "figure"), [("BAR", "executed"), ("LDS", "wavefronts"), ("STS", "ideal")])
def test_one_off_in_an_opcode_s_figure_does_not_hold(opcode, figure):
    table = opcodes_of(COUNTS)
    table[opcode][figure] += 1

    rows = rows_of(replace(RECORD, opcodes=table))

    assert [row.what.split()[0] for row in rows if row.verdict == "differs"] == [opcode]


def test_an_opcode_that_was_never_executed_differs():
    table = opcodes_of(COUNTS)
    del table["LDGSTS"]

    assert verdicts(rows_of(replace(RECORD, opcodes=table)))["LDGSTS"] == "differs"


def test_the_semaphore_of_split_k_may_poll():
    scenario = scenario_of(split_k_slices=2)
    counts = count(TileKernel(scenario))
    record = record_of(scenario, counts)
    polled = {
        "smsp__inst_executed_op_global_ld.sum": 7.0,
        "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum": 7.0,
    }
    counters = {name: value + polled.get(name, 0) for name, value in record.counters.items()}

    rows = rows_of(replace(record, counters=counters), scenario, counts)

    assert holds(rows)
    assert {verdicts(rows)[name] for name in polled} == {"approximate"}
    assert verdicts(rows)["sm__inst_executed_pipe_tensor_op_hmma.sum"] == "exact"


@pytest.mark.parametrize(
    "change",
    [
        {"numerics": Numerics(1, 2880, 3, 0.5, 8.0, (3, 4))},
        {"trace": TraceCheck((0,), 100, "b" * 64, equal=False, first_difference="CTA 0, warp 0, record 3")},
    ],
    ids=["numerics", "trace"],
)
def test_wrong_numbers_and_another_order_do_not_hold(change):
    assert not holds(rows_of(replace(RECORD, **change)))


def test_a_recorded_stream_that_the_schedule_no_longer_has_does_not_hold():
    rows = rows_of(RECORD, expected_trace="c" * 64)

    assert not holds(rows)
    assert [row.note for row in rows if row.verdict == "differs"] == [f"SHA-256 {'c' * 12} now, {'b' * 12} recorded"]


def test_what_could_not_be_measured_is_said_and_holds():
    rows = rows_of(replace(RECORD, counters={}, opcodes={}, missing={"counters": "ncu is not on the PATH"}))

    assert holds(rows)
    assert verdicts(rows)["counters"] == "not measured"
    assert "counters" in check_table(rows, quiet=True)
    assert "not measured: ncu is not on the PATH" in check_table(rows)


def test_cycles_may_differ_and_show_their_error():
    row = next(row for row in rows_of(RECORD) if row.source == "sm__cycles_elapsed.max")

    assert (row.verdict, row.measured, row.note) == ("approximate", 10000.0, "estimated stream")
    assert row.error == (RESULT.cycles.elapsed - 10000) / 10000


def test_ldgsts_wavefronts_may_differ():
    metrics = {WAVEFRONTS.format("ldgsts"): 1.0, CONFLICTS.format("ldgsts"): 1.0}

    rows = rows_of(replace(RECORD, counters=RECORD.counters | metrics))

    assert {verdicts(rows)[metric] for metric in metrics} == {"approximate"}


def test_active_cycles_are_those_of_the_sms_that_had_work():
    counters = {"sm__cycles_active.avg": 100.0}
    assert active_cycles(counters, ctas=2, sms=132) == 6600
    assert active_cycles(counters, ctas=500, sms=132) == 100
    assert active_cycles({}, ctas=2, sms=132) is None


def test_stall_shares_are_ratios_over_their_sum():
    assert stall_shares(RECORD.counters) == {"barrier": 0.75, "wait": 0.25}
    assert stall_shares({}) == {}


def test_the_table_names_both_figures_and_the_error():
    lines = check_table(rows_of(RECORD)).splitlines()

    line = next(line for line in lines if line.startswith("sm__inst_executed_pipe_tensor_op_hmma.sum"))
    assert line.split()[1:] == [number(COUNTS.instructions["HMMA"])] * 2 + ["equal"]
    cycles = next(line for line in lines if line.startswith("cycles elapsed"))
    assert cycles.split()[2:4] == [number(RESULT.cycles.elapsed), "10,000"]
