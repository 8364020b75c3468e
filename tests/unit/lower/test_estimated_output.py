"""Integer arithmetic around an epilogue's accesses."""

from gpusim.lower.estimated_output import SHORTEST_DEPENDENT, integer


def test_every_second_integer_instruction_depends_on_the_one_before():
    assert [one.stall for one in integer(4)] == [2, SHORTEST_DEPENDENT, 2, SHORTEST_DEPENDENT]
