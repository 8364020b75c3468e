"""Any allowed value of any figure can be simulated with: none ends in an error from the inside."""

from contextlib import suppress

import pytest

from gpusim.errors import BadInput
from gpusim.families.registry import scenario_of
from gpusim.machine import load_machine
from gpusim.machine.changes import MachineChoice
from gpusim.machine.keys import figure_key
from gpusim.verbs.simulate import simulate

SMALL = {
    "problem": {"kind": "gemm", "m": 200, "n": 128, "k": 96},
    "kernel": {"threadblock": [64, 64, 32], "warp": [32, 32, 32]},
}


def bounds(record):
    """The smallest and the largest value that a figure may have; of a list, each of its entries."""
    unit = figure_key(record.key).unit
    if unit.name == "bool":
        return [True, False]
    ends = [unit.least, 1 << (unit.most.bit_length() - 1) if unit.power_of_two else unit.most]
    return [[end] * len(record.value) for end in ends] if isinstance(record.value, tuple) else ends


@pytest.mark.slow
@pytest.mark.parametrize("table", sorted({record.key.partition(".")[0] for record in load_machine("h200").figures}))
def test_every_figure_at_both_of_its_bounds_is_simulated_or_refused(table):
    """Refused is what contradicts another figure, or what a machine cannot run this kernel with."""
    simulated = 0
    for record in load_machine("h200").figures:
        for value in bounds(record) if record.key.partition(".")[0] == table else ():
            machine = str(MachineChoice("h200", {record.key: value}))
            with suppress(BadInput):
                result, _ = simulate(scenario_of({**SMALL, "machine": machine}), stream="estimated")
                assert result.cycles.elapsed >= result.cycles.active >= 1
                simulated += 1

    assert simulated > 0
