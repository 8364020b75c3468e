"""What the bench runs: each scenario in both modes on both cores, and problems that grow."""

from collections import Counter

import pytest

from gpusim.lab.bench.bars import PEAK_MB, RATED, USER_SECONDS
from gpusim.lab.bench.cases import (
    BY_CTAS,
    BY_K,
    BY_SMS,
    all_scenario_cases,
    growth_cases,
    machine_with,
    scenario_cases,
)
from gpusim.machine import load_machine
from gpusim.scenario.catalogue import find_scenario


def test_a_scenario_runs_in_both_modes_on_both_cores():
    cases = scenario_cases("conv_9_k_tiles")

    assert [(case.mode, *case.engines) for case in cases] == [
        ("exact", "compiled", "interpreted"),
        ("sampled", "compiled", "interpreted"),
    ]


def test_every_case_names_a_scenario_there_is(tmp_path):
    for case in (*all_scenario_cases(), *growth_cases(tmp_path)):
        assert find_scenario(case.scenario).is_file()


def test_every_bar_of_a_run_has_a_case(tmp_path):
    run = {(case.name, case.mode, engine) for case in all_scenario_cases() for engine in case.engines}
    run |= {(case.name, case.mode, engine) for case in growth_cases(tmp_path) for engine in case.engines}

    assert {(name, mode, "compiled") for _, name, mode, _ in (*USER_SECONDS, *PEAK_MB)} <= run
    assert {(name, "exact", engine) for name in RATED for engine in ("compiled", "interpreted")} <= run


def test_no_two_rows_of_a_report_have_one_name(tmp_path):
    rows = Counter((case.name, case.mode) for case in (*all_scenario_cases(), *growth_cases(tmp_path)))

    assert set(rows.values()) == {1}


def test_problems_grow_in_k_in_ctas_and_in_sms(tmp_path):
    tables = Counter(case.table for case in growth_cases(tmp_path))

    assert tables.keys() == {BY_K, BY_CTAS, BY_SMS}
    assert min(tables.values()) >= 4


@pytest.mark.parametrize("sms", [33, 264])
def test_a_machine_of_other_sms_is_an_h200_in_all_else(tmp_path, sms):
    machine, h200 = load_machine(str(machine_with(sms, tmp_path))), load_machine("h200")

    assert machine.sms == sms
    assert (machine.smsps, machine.l2, machine.dram) == (h200.smsps, h200.l2, h200.dram)
    assert machine.launch.units.between == h200.launch.units.between


@pytest.mark.parametrize(
    ("sms", "ahead", "others"),
    [
        (33, 2, (2, 4, 4, 4, 4, 4, 4, 5)),
        (132, 8, (8, 16, 16, 16, 16, 16, 18, 18)),
        (264, 16, (16, 32, 32, 32, 32, 32, 36, 36)),
    ],
)
def test_groups_of_sms_keep_their_proportions(tmp_path, sms, ahead, others):
    """
    A quarter, all and twice the SMs: groups end at 8, 16, 32 and so on of 132, a quarter of which is rounded down.
    """
    units = load_machine(str(machine_with(sms, tmp_path))).launch.units

    assert (units.ahead, units.others) == (ahead, others)


def test_a_scenario_that_takes_minutes_interpreted_does_so_once_and_not_in_a_quick_bench():
    exact, sampled = scenario_cases("gemm_4096")

    assert [case.runs(engine, 5) for case in (exact, sampled) for engine in case.engines] == [5, 1, 5, 5]
    assert [case.runs(engine, 1) for case in (exact, sampled) for engine in case.engines] == [1, 0, 1, 1]
