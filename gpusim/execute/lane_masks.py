"""Reads the masks in which a trace keeps the lanes of each step: bit l stands for lane l."""

import numpy as np

from gpusim.arrays import BoolArray, IntArray
from gpusim.units import WARP_SIZE


def active_lanes(masks: IntArray) -> BoolArray:
    """Return whether each lane is in each mask. Shape (masks, 32)."""
    return (masks[:, None] >> np.arange(WARP_SIZE) & 1).astype(np.bool_)
