"""The table of sm_90 GEMMs beside their measurements: a line for each launch, and the errors over all."""

from pathlib import Path

import pytest
from problems.cutlass3 import ARCHIVE

from gpusim.families.registry import scenario_of
from gpusim.lab.hopper_time import MeasuredLaunch, compare, constant_clock, main
from gpusim.machine import load_machine

OWN = Path(__file__).parents[2] / "reports" / "measured" / "h200" / "hopper" / "ncu.csv"


@pytest.mark.parametrize(
    ("file", "name"),
    [(ARCHIVE, "f16_tn_128x128x64_co_1x1_auto 1408x1536x256"), (OWN, "f16_tn_128x128x64_co_1x1_auto 1408x1536x1024")],
)
def test_it_prints_each_launch_and_the_errors(file, name, capsys):
    main([str(file), "--only", name])
    launch, elapsed, active = capsys.readouterr().out.splitlines()

    assert launch.startswith(f"{name} ")
    assert elapsed.startswith("elapsed: 1 launches, mean error ")
    assert active.startswith("active: 1 launches, mean error ")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["none.csv"], "none.csv is not a file"),
        ([str(OWN), "--only", "no such"], "has no launch with 'no such' in its name"),
    ],
)
def test_what_it_cannot_compare_is_one_clear_line(arguments, said, capsys):
    with pytest.raises(SystemExit):
        main(arguments)

    assert said in capsys.readouterr().err


def test_errors_are_of_sizes_and_idle_sms_count_as_in_ncu():
    """One CTA alone: the mean over all SMs is a 132nd of its cycles."""
    problem = {"kind": "hopper_gemm", "m": 128, "n": 128, "k": 64}
    scenario = scenario_of({"machine": "h200", "problem": problem, "kernel": {"schedule": "warp_specialized"}})
    machine = load_machine("h200")
    (line, *_) = compare([MeasuredLaunch("alone", scenario, 1000.0, 10.0)], machine)
    cycles = float(line.partition("active")[2].split()[0].replace(",", ""))

    assert 10 < cycles < 100


def test_with_a_constant_clock_memory_is_slower():
    machine = load_machine("h200")

    assert constant_clock(machine).wgmma.clock is None
    assert machine.wgmma.clock is not None
