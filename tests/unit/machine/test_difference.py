"""Which figures of machines differ."""

from gpusim.machine import load_machine
from gpusim.machine.difference import figure_differences


def test_equal_machines_differ_in_nothing():
    assert figure_differences([load_machine("h200"), load_machine("h200")]) == ()


def test_a_changed_figure_is_named_with_both_values_and_kinds():
    (found,) = figure_differences([load_machine("t4"), load_machine("t4 with sms = 20")])

    assert found.to_dict() == {"key": "sms", "unit": "SMs", "values": [40, 20], "kinds": ["documented", "user"]}


def test_two_machines_differ_in_the_figures_that_are_not_equal_and_in_no_other():
    one, other = load_machine("rtx3060"), load_machine("rtx3090")
    values = [{record.key: record.value for record in machine.figures} for machine in (one, other)]
    found = {difference.key: difference.values for difference in figure_differences([one, other])}

    assert found == {key: (values[0][key], values[1][key]) for key in values[0] if values[0][key] != values[1][key]}
    assert found["sms"] == (28, 82)


def test_a_figure_that_one_machine_does_not_have_is_none():
    found = {one.key: one for one in figure_differences([load_machine("h200"), load_machine("a100")])}

    assert (found["dram.banks.channels"].values, found["dram.banks.channels"].kinds[1]) == ((188, None), "")


def test_a_machine_whose_figures_are_not_known_differs_from_none():
    found = figure_differences([load_machine("t4"), None, load_machine("t4 with sms = 20")])

    assert [(one.key, one.values) for one in found] == [("sms", (40, None, 20))]
    assert figure_differences([None, load_machine("t4")]) == ()
