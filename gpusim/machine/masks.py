"""Linear independence of bit masks: does the parity of one follow from the parities of others?"""

from collections.abc import Iterable


def tell_anew(masks: Iterable[int]) -> list[bool]:
    """Return for each mask whether its parity is independent of the parities of the masks before it."""
    found: list[bool] = []
    told: list[int] = []  # basis of the masks so far, each with another highest bit, highest first
    for mask in masks:
        left = mask
        for one in told:
            left = min(left, left ^ one)
        found.append(left > 0)
        if left:
            told = sorted([*told, left], reverse=True)
    return found
