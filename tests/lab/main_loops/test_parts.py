"""Main loops with parts left out: how parts are named, and what stands in their place in the machine code."""

import pytest

from gpusim.lab.main_loops.parts import LEFT_OUT, parts_in


@pytest.mark.parametrize(
    ("named", "parts"),
    [
        ("", set()),
        ("LDSM MMA", {"LDSM", "MMA"}),
        ("LDGSTS lanes", {"LDGSTS lanes"}),
        ("LDGSTS lanes MMA", {"LDGSTS lanes", "MMA"}),
        ("empty LDS LDGSTS", {"empty LDS", "LDGSTS"}),
    ],
)
def test_parts_are_named_one_after_another(named, parts):
    assert parts_in(named) == parts


def test_what_is_left_out_names_known_parts_only():
    assert set().union(*map(parts_in, LEFT_OUT)) == {"LDGSTS", "LDGSTS lanes", "LDSM", "MMA", "BAR", "empty LDS"}
