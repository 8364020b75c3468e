"""Which masks of bits tell something, by the parities of the bits that they choose, that masks before them do not."""

from collections.abc import Iterable


def tell_anew(masks: Iterable[int]) -> list[bool]:
    """Return of each mask whether its parity does not follow from the parities of the masks before it."""
    found: list[bool] = []
    told: list[int] = []  # of different highest bits, highest first: each is a sum of masks so far
    for mask in masks:
        left = mask
        for one in told:
            left = min(left, left ^ one)
        found.append(left > 0)
        if left:
            told = sorted([*told, left], reverse=True)
    return found
