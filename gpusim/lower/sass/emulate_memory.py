"""Tells which words memory instructions move, and extracts bytes and half words from 32-bit words."""

from collections.abc import Callable

import numpy as np

from gpusim.arrays import IntArray
from gpusim.lower.sass.decode import Sass
from gpusim.lower.sass.emulate_registers import LaneWords
from gpusim.units import WORD_BYTES

ACCESS_WORDS = {"64": 2, "128": 4}
"""32-bit words of an access, by its modifier; one word without a modifier."""

NARROW = {"U8": (8, False), "S8": (8, True), "U16": (16, False), "S16": (16, True)}
"""Bits of an access that is narrower than a word, and whether its sign is extended."""


def words_moved(sass: Sass) -> int:
    """Return the 32-bit registers of a lane that a memory instruction moves."""
    return next((ACCESS_WORDS[modifier] for modifier in sass.modifiers if modifier in ACCESS_WORDS), 1)


def narrow(sass: Sass) -> tuple[int, bool] | None:
    """Return width and signedness of an access that is narrower than a word; None for other accesses."""
    return next((NARROW[modifier] for modifier in sass.modifiers if modifier in NARROW), None)


def loaded(sass: Sass, read: Callable[[IntArray], IntArray], address: IntArray, part: int) -> LaneWords:
    """
    Return the ``part``-th register that a load writes, by lane.

    Args:
        sass: The load.
        read: Returns the 32-bit words at byte addresses.
        address: Byte address of each lane.
        part: Number of the register.
    """
    width = narrow(sass)
    if width is None:
        return (read(address + WORD_BYTES * part) & 0xFFFFFFFF).astype(np.uint64)
    bits, signed = width
    inside = address % WORD_BYTES
    value = read(address - inside) >> 8 * inside & (1 << bits) - 1
    if signed:
        value = (value ^ 1 << bits - 1) - (1 << bits - 1)
    return (value & 0xFFFFFFFF).astype(np.uint64)


def stored(sass: Sass, before: LaneWords, value: LaneWords, address: IntArray) -> LaneWords:
    """
    Return the words that a store leaves in memory, by lane.

    Args:
        sass: The store.
        before: The words that hold the addresses, before the store.
        value: The stored register.
        address: Byte address of each lane.
    """
    width = narrow(sass)
    if width is None:
        return np.broadcast_to(value, before.shape)
    shift = (8 * (address % WORD_BYTES)).astype(np.uint64)
    field = np.uint64((1 << width[0]) - 1)
    after: LaneWords = before & ~(field << shift) | (value & field) << shift
    return after
