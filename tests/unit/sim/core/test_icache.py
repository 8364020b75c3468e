"""Instruction lines: when each is there, which of them an SM keeps, and how often the L2 is asked for them."""

from collections import Counter

import pytest
from doubles.by_hand import (
    A100,
    execute,
    instruction,
    quiet,
)
from doubles.figures import with_figures
from doubles.published import H200

from gpusim.machine import load_machine
from gpusim.sim.core.constants import CODE_WIDTH, PIPE
from gpusim.sim.figures import figures_of

AT_ONCE = with_figures(figures_of(H200, 0, busy=False), {"instruction_cache.line_interval": 0}, constant_miss=0)
"""A line takes 258 cycles, any number of them; one miss brings sixteen more along."""

ALONE = with_figures(AT_ONCE, {"instruction_cache.l1_miss_latency": 100, "instruction_cache.stream_lines": 0})
"""A line takes 100 cycles, and brings none along."""


def issues(core, figures, *lines):
    """The issue of each of some instructions, (line, stall) or line, that begin these lines."""
    wanted = [line if isinstance(line, tuple) else (line, 1) for line in lines]
    code = [instruction(PIPE, pipe="half", line=line, stall=stall, gated=True) for line, stall in wanted]
    return execute(core, (code, 1), figures=figures).warps[0, 0].selected[: len(lines)]


def test_the_stream_buffer_hides_all_lines_but_the_first_and_those_it_is_late_for(core):
    """
    Line 0 misses at 0 and brings lines 1 to 16 along: all are there at 258.

    Line 1, wanted at 260, asks for line 17, there at 518: who wants it at 300 waits; line 2 has asked for 18 at 270.
    """
    wanted = ((0, 2), (1, 10), (2, 30), (17, 82), (18, 100), (0, 1))

    assert issues(core, AT_ONCE, *wanted) == [258, 260, 270, 518, 600, 700]


@pytest.mark.parametrize("name", ["h200", "a100"])
def test_every_line_ahead_is_in_reach(name):
    """Walking all lines in order, however fast: no line is missed twice."""
    code = [instruction(PIPE, line=line, gated=True) for line in range(200)]
    chip = quiet(*code, machine=load_machine(name))

    def fetched(line, at):
        chip.warps.at[0], chip.warps.ready[0] = line * CODE_WIDTH, at
        chip.warps.fetch(0)
        return chip.warps.ready[0]

    for line in range(200):
        fetched(line, line)

    assert [fetched(line, 10_000) for line in range(200)] == [10_000] * 200


def test_lines_come_one_after_the_other(core):
    """
    One every 19 cycles: line 0 at 258, line 1 at 277, line 2 at 296. Code that runs straight on waits for each.
    """
    assert issues(core, with_figures(AT_ONCE, {"instruction_cache.line_interval": 19}), 0, 1, 2) == [258, 277, 296]


def test_a_line_that_is_wanted_waits_for_those_that_are_brought_along(core):
    """
    Line 0 brings sixteen along: 17 lines of 19 cycles. Line 20, wanted at 259, begins at 323 and is there at 581.
    """
    assert issues(core, with_figures(AT_ONCE, {"instruction_cache.line_interval": 19}), 0, 20) == [258, 581]


@pytest.mark.parametrize(("held", "again"), [(3, [303, 304, 305]), (2, [403, 504, 605])])
def test_a_loop_longer_than_the_cache_misses_every_line_again(core, held, again):
    """
    Lines 0, 1, 2 are asked for at 0, 101 and 202, and are there 100 cycles later. A cache of three has all of them.

    In one of two lines, 2 has driven 0 out, which is asked for at 303 and drives 1 out, and so on.
    """
    assert issues(core, with_figures(ALONE, {"instruction_cache.l0_bytes": held * 128}), 0, 1, 2, 0, 1, 2) == [
        100,
        201,
        302,
        *again,
    ]


def test_the_line_that_came_first_makes_room_though_it_was_used_last(core):
    """Two lines: 0, 1, 0 again at 202, then 2 from 203 to 303 in the place of 0, which misses from 304 to 404."""
    assert issues(core, with_figures(ALONE, {"instruction_cache.l0_bytes": 2 * 128}), 0, 1, 0, 2, 0) == [
        100,
        201,
        202,
        303,
        404,
    ]


def test_code_is_not_looked_up_by_sms(core):
    """A launch reads it, however many SMs execute it (own.csv)."""
    code = [instruction(PIPE, line=0, gated=True)]
    ran = execute(core, (code, 1), ctas=4, sms=4, figures=ALONE)

    assert ran.chip.l2.looked_up == 0


def test_first_instructions_come_from_beyond_and_the_stream_buffer_runs_ahead(core):
    """
    The first line is wanted when the parameters have come, at 79, and is there one L2 trip later.

    The same miss brings 16 more lines, so that the second line is there when it is wanted, if all come at once.
    """
    lines = [instruction(PIPE, line=number // 8 if number % 8 == 0 else -1, gated=True) for number in range(16)]
    ran = execute(
        core,
        (lines, 1),
        figures=with_figures(figures_of(A100, 0, busy=False), {"instruction_cache.line_interval": 0}),
    )
    spans = ran.warps[0, 0].spans
    fetched = 79 + A100.instruction_cache.l1_miss_latency

    assert spans[:3] == [(0, 79, "imc_miss"), (79, fetched, "no_instruction"), (fetched, fetched + 1, "selected")]
    assert Counter(reason for _, _, reason in spans)["no_instruction"] == 1


def test_after_a_branch_the_next_instruction_waits_for_its_target(core):
    branch = instruction(PIPE, pipe="branch", stall=5, is_branch=True)

    ran = execute(core, ([instruction(PIPE), branch], 2))

    assert ran.warps[0, 0].issues == [0, 1, 9, 10, 18]
