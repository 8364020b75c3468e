"""Lines of a cache against an ordered dictionary."""

from collections import OrderedDict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusim.sim.core.cache import Lines, parity

USED = st.sampled_from((0, 1, 2, 3, 4, 17, 1 << 17, (1 << 40) + 1, 3 << 40, -5))


USES = st.tuples(USED, st.booleans(), st.sampled_from((0, 0, 0, 1, 2, 5)))


@given(st.integers(1, 8), st.lists(USES, max_size=80))
def test_lines_are_an_ordered_dictionary(most, uses):
    """Whatever is used, written and forgotten: the same lines, in the same order of use, with what they held."""
    keep_lines(most, uses)


@pytest.mark.parametrize("most", range(1, 9))
def test_lines_that_are_used_more_often_than_their_log_has_room_for_are_one_too(most):
    """Of 600 uses of at most 8 lines, of which it has room for 4 x (8 + 2), it has to forget most."""
    chosen = np.random.default_rng(most)
    used = chosen.choice((0, 1, 2, 3, 4, 17, 1 << 17, 3 << 40), 600).tolist()
    writes, drops = (chosen.random((2, 600)) < [[0.5], [0.05]]).astype(int).tolist()
    lines = keep_lines(most, list(zip(used, writes, drops, strict=True)))

    assert lines.uses <= lines.room < 300


def keep_lines(most, uses):
    """Use, write and forget lines as a dictionary in order; each has the same ones, in the same order."""
    lines, model = Lines(most), OrderedDict()
    for number, (line, writes, drops) in enumerate(uses):
        if line not in model and len(model) == most:
            lines.evict()
            model.popitem(last=False)
        slot = lines.touch(line)
        model.setdefault(line, (0,) * 5)
        model.move_to_end(line)
        assert kept_of(lines, slot) == model[line]
        if writes:
            model[line] = number, number % 16, number + 1, number + 2, number + 3
            lines.ready[slot], lines.held[slot] = model[line][:2]
            lines.dirty[slot], lines.seen[slot], lines.crossed[slot] = model[line][2:]
        for _ in range(min(drops, len(model))):
            lines.evict()
            model.popitem(last=False)
        slots = [lines.lookup(line) for line in model]
        assert [(lines.line[slot], *kept_of(lines, slot)) for slot in slots] == [
            (line, *held) for line, held in model.items()
        ]
        last_uses = [lines.use[slot] for slot in slots]
        assert last_uses == sorted(last_uses)
        assert [lines.log[at] for at in last_uses] == slots
        assert not slots or lines.victim() == slots[0]
        assert lines.count == len(model)
        assert all(lines.lookup(line) < 0 for line in (*range(20), 1 << 17) if line not in model)
    return lines


def kept_of(lines, slot):
    """What a slot remembers of its line; an L2 whose hits are known keeps other things in the last three."""
    kept = lines.ready[slot], lines.held[slot], lines.dirty[slot], lines.seen[slot], lines.crossed[slot]
    assert kept[2:] == (lines.requester[slot], lines.lands[slot], lines.pending[slot])
    return kept


@pytest.mark.parametrize("number", [0, 1, 2, 3, 7 << 40, (1 << 46) + 5, -1])
def test_parity_counts_the_ones_of_64_bits(number):
    assert parity(number) == (number & (1 << 64) - 1).bit_count() % 2
