"""Instruction fetch: which lines are waited for."""

import pytest
from doubles.published import H200
from gpusim.sim.instruction_cache import InstructionCache

from gpusim.machine import load_machine


def test_the_stream_buffer_hides_all_lines_but_the_first_and_those_it_is_late_for():
    """
    Line 0 misses at 0 and brings lines 1 to 16 along: all are there at 258.

    Line 1, wanted at 260, asks for line 17, there at 518: who wants it at 300 waits; line 2 has asked for 18 at 270.
    """
    cache = InstructionCache(H200.instruction_cache)

    assert [cache.fetched(line, at) for line, at in ((0, 0), (1, 260), (2, 270), (17, 300), (18, 600), (0, 700))] == [
        258,
        260,
        270,
        518,
        600,
        700,
    ]


@pytest.mark.parametrize("name", ["h200", "a100"])
def test_every_line_ahead_is_in_reach(name):
    """Walking all lines in order, however fast: no line is missed twice."""
    cache = InstructionCache(load_machine(name).instruction_cache)
    for line in range(200):
        cache.fetched(line, line)

    assert [cache.fetched(line, 10_000) for line in range(200)] == [10_000] * 200
