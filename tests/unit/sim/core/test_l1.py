"""The L1: what is looked up in it, and what it keeps."""

import pytest
from doubles.by_hand import Memory, copy, execute, load, quiet
from doubles.published import H200

from gpusim.sim.figures import figures_of

NEAR_ONLY = figures_of(H200, 0, busy=False)._replace(l2_far_percent=0, constant_miss=0)
"""A hit takes 258 cycles, a miss 690."""


@pytest.mark.parametrize("through_l1", [False, True], ids=["cg", "ca"])
@pytest.mark.parametrize("simulates_l2", [False, True], ids=["sampled", "exact"])
def test_what_the_l1_has_not_is_looked_up(core, through_l1, simulates_l2):
    """A copy and a load of 4 sectors, 5000 cycles apart. Around the L1 both are looked up; through it, one is."""
    code = [copy(0, stall=5000, through_l1=through_l1), load(0, activity=0)]
    memory = Memory([(4, ((0, 15),))], simulates_l2=simulates_l2)
    chip = execute(core, (code, 1), figures=NEAR_ONLY, memory=memory).chip

    assert chip.l2.looked_up == chip.l2.sectors == (4 if through_l1 else 8)


def test_a_load_is_looked_up_line_by_line_where_the_l1_lacks_more_than_it_has_wavefronts():
    """
    Four lines in two wavefronts of the L1's banks: four cycles where it lacks them, two when it has them (freed.csv).

    With three of them there one is lacked, and the wavefronts decide.
    """
    request = (4, tuple((line, 1) for line in range(4)))
    chip = quiet(load(0), figures=NEAR_ONLY, memory=Memory([request], banks=[2]))
    taken = []
    for at in (100, 5000):
        chip.lsu.load(0, 0, at)
        taken.append(chip.lsu.tag_free[0] - at)
    chip.l1.caches[0].held[chip.l1.caches[0].lookup(0)] = 0
    chip.lsu.load(0, 0, 9000)

    assert taken[0] - taken[1] == 4 - 2
    assert chip.lsu.tag_free[0] - 9000 == taken[1]
