"""The data stage: cycles of instructions and of returning data, and which loads they delay."""

import pytest
from doubles.by_hand import Memory, copy, execute, instruction, lds, load, quiet
from doubles.figures import with_figures
from doubles.published import H200

from gpusim.sim.core.constants import PIPE
from gpusim.sim.figures import figures_of
from gpusim.sim.footprint import FROM_DRAM, IN_L2
from gpusim.sim.stall_reasons import LONG_SCOREBOARD

NEAR_ONLY = with_figures(figures_of(H200, 0, busy=False), {"l2.far_fraction_percent": 0}, constant_miss=0)
"""A hit takes 258 cycles, a miss 690."""


@pytest.mark.parametrize("lines", [1, 4, 9])
def test_a_copy_around_the_l1_takes_no_wavefront(core, lines):
    """
    Whatever it reads: what comes is written beside what is read (ncu's breakdown of l1tex__throughput).

    The copy leaves at 1, and the LDS 4 cycles later, the interval of an SMSP: it is there 22 cycles after that.
    """
    request = (lines, tuple((line, 1) for line in range(lines)))
    ran = execute(core, ([copy(0), lds(activity=0)], 1), figures=NEAR_ONLY, memory=Memory([request]))

    assert ran.chip.data_stage.wavefronts == 1
    assert ran.warps[0, 0].notes == [(1, 1 + 4 + 22)]


@pytest.mark.parametrize("lines", [1, 4, 5, 16])
def test_what_a_load_brings_passes_the_data_stage_line_by_line(core, lines):
    request = (lines, tuple((line, 1) for line in range(lines)))
    ran = execute(core, ([load(0, activity=0)], 1), figures=NEAR_ONLY, memory=Memory([request]))

    assert ran.chip.data_stage.wavefronts == lines


@pytest.mark.parametrize("lines", [1, 4, 16])
def test_lines_that_a_load_lacks_come_an_interval_apart(core, lines):
    """
    They arrive together, and then take three cycles each. Without that their wavefronts take two cycles each, which
    here pass as lines come: the load takes lines - 1 longer.
    """
    request = (lines, tuple((line, 1) for line in range(lines)))

    def landed(interval):
        figures = with_figures(NEAR_ONLY, {"l1.lines.interval": interval})
        return (
            execute(core, ([load(0, activity=0)], 1), figures=figures, memory=Memory([request])).warps[0, 0].notes[0][1]
        )

    assert landed(3) - landed(0) == lines - 1


def test_a_line_that_comes_early_takes_cycles_that_others_left(core):
    """
    Two loads, the first from DRAM, the second from the L2: it waits for none of the first one's 40 cycles, as these are
    later ones.
    """
    memory = Memory([(1, ((0, 1),)), (1, ((64, 1),))], statuses=[FROM_DRAM, IN_L2], simulates_l2=False)
    figures = with_figures(NEAR_ONLY, {"l1.lines.interval": 40})
    code = [load(0, activity=0), load(1, activity=1)]
    first, second = execute(core, (code, 1), figures=figures, memory=memory).warps[0, 0].notes

    assert first[1] - second[1] > 40


def put_off(passes, taken, *, board=None):
    """The scoreboard of a load whose data passes at a cycle of 100 to 107, and is there then, behind a reservation."""
    chip = quiet(load(0, write=2))
    chip.data_stage.return_data(0, 100, 8)
    chip.warps.hold_board(0, 2, board or passes, LONG_SCOREBOARD)
    chip.data_stage.note_load(0, 0, 2, passes, passes)
    for at, cycles in taken:
        chip.data_stage.reserve(0, at, cycles, 0)
    return chip.warps.board[2]


@pytest.mark.parametrize(("passes", "board"), [(100, 100), (101, 101), (102, 103), (107, 108), (120, 120)])
def test_a_load_comes_later_where_an_instruction_takes_a_cycle_of_data_before_it(passes, board):
    """
    Data takes cycles 100 to 107. An instruction that comes at 101 leaves that one to it and takes 102: what would pass
    then passes at 103, and so on, the last at 108. What passes before, or behind a gap, is as it was.
    """
    assert put_off(passes, [(101, 1)]) == board


@pytest.mark.parametrize(("passes", "board"), [(100, 100), (101, 102), (102, 104), (103, 106), (107, 111)])
def test_a_load_is_put_off_by_what_goes_before_it_not_behind(passes, board):
    """Four wavefronts at 100 take 101, 103, 105 and 107: data passes at 100, 102, 104, 106, and then 108 to 111."""
    assert put_off(passes, [(100, 4)]) == board


def test_a_cycle_that_is_free_puts_no_load_off():
    """An instruction at 99 takes that one, leaves 100 to data and takes 101: what passes at 100 comes no later."""
    assert [put_off(passes, [(99, 2)]) for passes in (100, 101)] == [100, 102]


def test_what_is_taken_far_ahead_forgets_no_load():
    """One that takes a cycle at 300, of no data, and then one at 100."""
    assert put_off(101, [(300, 1), (100, 1)]) == 102


@pytest.mark.parametrize(("held", "board"), [(107, 108), (108, 108), (140, 140)])
def test_of_several_loads_that_hold_a_scoreboard_the_last_one_frees_it(held, board):
    """One is put off from 107 to 108; another holds it until a cycle."""
    assert put_off(107, [(101, 1)], board=held) == board


def test_a_warp_s_registers_take_what_comes_behind_a_load_that_was_put_off():
    chip = quiet(load(0, write=2))
    chip.data_stage.return_data(0, 100, 8)
    chip.warps.hold_board(0, 2, 107, LONG_SCOREBOARD)
    chip.warps.loads_free[0] = 107
    chip.data_stage.note_load(0, 0, 2, 107, 107)

    chip.data_stage.reserve(0, 101, 1, 0)

    assert chip.warps.loads_free[0] == 108


def test_a_warp_that_waits_for_a_load_waits_as_much_longer():
    """It was to issue at 104, and was planned to."""
    chip = quiet(instruction(PIPE, waits=(2,)))
    chip.warps.hold_board(0, 2, 104, LONG_SCOREBOARD)
    chip.warps.ready[0], chip.warps.planned[0] = 104, 0

    chip.warps.delay_load(0, 2, 104, 105)

    assert (chip.warps.ready[0], chip.warps.planned[0]) == (105, -1)


def test_lines_that_copies_bring_come_without_an_interval(core):
    """Around the L1 and through it: what several lines of one take was measured, and is not modelled (D3)."""
    request = (4, tuple((line, 1) for line in range(4)))

    def landed(interval, **fields):
        figures = with_figures(NEAR_ONLY, {"l1.lines.interval": interval})
        ran = execute(core, ([copy(0, activity=0, **fields)], 1), figures=figures, memory=Memory([request]))
        return ran.warps[0, 0].notes[0][1]

    for fields in ({}, {"through_l1": True}):
        assert landed(2, **fields) == landed(0, **fields)


@pytest.mark.parametrize(("lines", "wavefronts"), [(1, 4), (4, 4), (9, 9)])
def test_a_copy_through_the_l1_takes_its_target_s_wavefronts_or_its_lines(core, lines, wavefronts):
    """The more of both: a target of 4 wavefronts (ldgsts.csv: l1tex__data_pipe_lsu_wavefronts of .ca copies)."""
    request = (lines, tuple((line, 1) for line in range(lines)))
    ran = execute(core, ([copy(0, through_l1=True)], 1), figures=NEAR_ONLY, memory=Memory([request]))

    assert ran.chip.data_stage.wavefronts == wavefronts


@pytest.mark.parametrize(("banks", "again"), [(2, 4), (4, 4), (6, 6), (9, 9)])
def test_what_the_l1_has_passes_in_the_wavefronts_of_its_banks(core, banks, again):
    """
    Nine lines come in nine wavefronts, and in nine more where they are asked for again before they are there.

    Later they take the more of those of their banks, and of the four of their target (through.csv).
    """
    memory = Memory([(9, tuple((line, 1) for line in range(9)))], banks=[banks])

    def wavefronts(stall):
        code = [copy(0, through_l1=True, stall=stall), copy(0, through_l1=True)]
        return execute(core, (code, 1), figures=NEAR_ONLY, memory=memory).chip.data_stage.wavefronts

    assert wavefronts(2) == 9 + 9
    assert wavefronts(3000) == 9 + again
