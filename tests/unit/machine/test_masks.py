"""Masks whose parities follow from those of others."""

from hypothesis import given
from hypothesis import strategies as st

from gpusim.machine.masks import tell_anew

MASKS = st.lists(st.integers(0, 63), max_size=8)


def sums(masks):
    """Return all masks whose parity follows from those of some masks: sums of them, bit by bit."""
    found = {0}
    for mask in masks:
        found |= {mask ^ other for other in found}
    return found


def test_what_two_masks_tell_together_a_third_does_not_tell_anew():
    """72 is 144 and 216, bit by bit."""
    assert tell_anew([144, 216, 72, 352, 144]) == [True, True, False, True, False]


@given(MASKS)
def test_a_mask_tells_nothing_new_exactly_if_it_is_a_sum_of_those_before(masks):
    assert tell_anew(masks) == [mask not in sums(masks[:number]) for number, mask in enumerate(masks)]
