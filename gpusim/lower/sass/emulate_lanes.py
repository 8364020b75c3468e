"""What the opcodes that look across a warp's lanes compute: shuffles, votes, predicates packed into words."""

from collections.abc import Iterator

import numpy as np

from gpusim.arrays import BoolArray
from gpusim.lower.sass.emulate_registers import MASK, LaneWords, word
from gpusim.units import WARP_SIZE

PREDICATES = 7
"""Predicate registers that hold a value; the eighth is always true."""

BYTES = {"": 0, "B1": 8, "B2": 16, "B3": 24}
"""Shift of the byte that P2R and R2P name."""


def shuffle(value: LaneWords, wanted: LaneWords, limits: LaneWords, kind: str) -> tuple[LaneWords, BoolArray]:
    """
    SHFL: each lane's value from another lane, and whether that lane lies inside its segment.

    Args:
        value: Of each lane, or one for all.
        wanted: Lane, distance or mask.
        limits: Bits 0-4 the clamp, bits 8-12 the segment mask.
        kind: IDX, UP, DOWN or BFLY.

    Source: PTX ISA, shfl.sync.
    """
    amount = wanted.astype(np.int64) & 31
    bounds = limits.astype(np.int64)
    segment, clamp = bounds >> 8 & 31, bounds & 31
    lane = np.arange(WARP_SIZE, dtype=np.int64)
    least = lane & segment
    most = least | (clamp & ~segment)
    source = {
        "IDX": least | (amount & ~segment),
        "UP": lane - amount,
        "DOWN": lane + amount,
        "BFLY": lane ^ amount,
    }[kind]
    # The limit bounds sources from above, except for UP, whose limit is the lowest lane.
    inside: BoolArray = source >= most if kind == "UP" else source <= most
    given = np.broadcast_to(value, (WARP_SIZE,))[np.where(inside, source, lane) & 31]
    return given, np.broadcast_to(inside, (WARP_SIZE,))


def ballot(said: BoolArray, lanes: BoolArray, kind: str) -> tuple[LaneWords, BoolArray]:
    """VOTE: the bits of the active lanes that say yes, and whether all, any, or all alike do."""
    yes = said & lanes
    bits = word(sum(1 << int(lane) for lane in np.flatnonzero(yes)))
    every, some = bool(said[lanes].all()), bool(yes.any())
    outcome = {"ALL": every, "ANY": some, "EQ": every or not some}[kind]
    return bits, np.full(1, outcome)


def pack(predicates: BoolArray, kept: LaneWords, chosen: int, byte: str) -> LaneWords:
    """P2R: the chosen predicates as bits of one byte of a word whose other bits are ``kept``."""
    shift = np.uint64(BYTES[byte])
    packed = np.zeros(WARP_SIZE, dtype=np.uint64)
    for bit in range(PREDICATES):
        packed |= predicates[bit].astype(np.uint64) << np.uint64(bit)
    replaced = np.uint64(chosen) << shift & MASK
    merged: LaneWords = kept & (MASK - replaced) | (packed << shift & replaced)
    return merged


def unpack(value: LaneWords, chosen: int, byte: str) -> Iterator[tuple[int, BoolArray]]:
    """R2P: number and value of each chosen predicate, from the bits of one byte of a word."""
    for bit in range(PREDICATES):
        if chosen >> bit & 1:
            yield bit, (value >> np.uint64(BYTES[byte] + bit) & np.uint64(1)) != 0
