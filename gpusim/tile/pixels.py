"""Finds the L2 granules that the fetches of an activation touch, from the pixels that its GEMM rows read."""

from typing import NamedTuple

import numpy as np

from gpusim.arrays import IntArray
from gpusim.tile.global_access import GlobalIterator
from gpusim.tile.implicit_gemm import ImageIterator
from gpusim.tile.operand import Operand

PIXELS_PER_GRANULE = 16
"""
Size of an activation's granule in the L2 walk: neighbouring pixels of one channel interval.

CTAs and filter positions share parts of an activation, so its granules are finer than fetches.
"""


class TouchedPixels(NamedTuple):
    """
    The granules that fetches touch, and the pixels of each, turn by turn, and tile by tile within a turn.

    Attributes:
        turn, tile: Number of the fetch, and the place of its tile in the argument.
        granule: Number of the granule in the activation.
        parts: Bit mask of its pixels.
        size: Bytes of a pixel in the channel interval.
    """

    turn: IntArray
    tile: IntArray
    granule: IntArray
    parts: IntArray
    size: IntArray


def _image(iterator: GlobalIterator) -> ImageIterator:
    """
    Return an activation's iterator as one over images.

    Raises:
        TypeError: It is the iterator of another operand.
    """
    if not isinstance(iterator, ImageIterator):
        raise TypeError(f"{type(iterator).__name__} walks no image")
    return iterator


def _of_interval(image: ImageIterator) -> int:
    """Return the granules of one channel interval."""
    return -(-image.pixels // PIXELS_PER_GRANULE)


def pixel_granules(iterator: GlobalIterator) -> int:
    """Return the number of granules of an activation."""
    image = _image(iterator)
    return -(-image.walk.summed // image.walk.tile_k) * _of_interval(image)


def touched_pixels(operand: Operand, tile: IntArray, slice_: IntArray, turns: IntArray) -> TouchedPixels:
    """
    Return the granules that fetches of an activation touch, each in the order of its pixels.

    Fetches at one filter position touch the same pixels of other channel intervals, so each position of a tile is
    evaluated once.

    Args:
        operand: The activation.
        tile, slice_: Tiles along M, and the split-K slice of each.
        turns: The fetches, ascending.
    """
    image = _image(operand.iterator(tile, slice_))
    walk = image.walk
    interval, place, _, _ = walk.at(turns)
    _, first, which = np.unique(place, return_index=True, return_inverse=True)
    found = [_granules_at(image, int(turns[one])) for one in first]
    counts = np.array([len(key) for key, _, _ in found], dtype=np.int64)
    key, granule, parts = (np.concatenate([one[column] for one in found]) for column in range(3))
    begins = np.cumsum(counts) - counts
    # For each turn in order, the touches of its filter position.
    of_turn = counts[which]
    turn = np.repeat(np.arange(len(turns)), of_turn)
    at = np.arange(len(turn)) - np.repeat(np.cumsum(of_turn) - of_turn, of_turn) + begins[which][turn]
    key, granule, parts = key[at], granule[at], parts[at]
    of_channels = walk.interval_of(interval[turn], slice_[key])
    exist = walk.inside(of_channels * walk.tile_k)
    size = -(-exist // operand.access) * operand.access_bytes
    kept = exist > 0
    granule = of_channels * _of_interval(image) + granule
    return TouchedPixels(*(one[kept] for one in (turns[turn], key, granule, parts, size)))


def _granules_at(image: ImageIterator, number: int) -> tuple[IntArray, IntArray, IntArray]:
    """Return the touches of each tile at one filter position: key, granule of the channel interval, mask of pixels."""
    pixel, inside = image.pixels_of_rows(number)
    key, row = np.nonzero(inside)
    granule, place = np.divmod(pixel[key, row], PIXELS_PER_GRANULE)
    # Pixels of a tile ascend, so those of one granule follow each other.
    begins = np.flatnonzero((np.diff(key, prepend=-1) != 0) | (np.diff(granule, prepend=-1) != 0))
    if not len(begins):
        return key, granule, place
    return key[begins], granule[begins], np.add.reduceat(1 << place, begins)
