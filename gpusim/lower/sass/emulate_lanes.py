"""Emulates shuffles, votes and the packing of predicates into words."""

from collections.abc import Iterator

import numpy as np

from gpusim.arrays import BoolArray
from gpusim.lower.sass.emulate_registers import MASK, LaneWords, word
from gpusim.units import WARP_SIZE

PREDICATES = 7
"""Number of predicate registers that can be written. The eighth, PT, is always true."""

BYTES = {"": 0, "B1": 8, "B2": 16, "B3": 24}
"""Bit shift of the byte that a modifier of P2R or R2P selects."""


def shuffle(value: LaneWords, wanted: LaneWords, limits: LaneWords, kind: str) -> tuple[LaneWords, BoolArray]:
    """
    Evaluate SHFL.

    Args:
        value: Value of each lane, or one for all lanes.
        wanted: Source lane, distance or xor mask, by ``kind``.
        limits: The clamp in bits 0-4, the segment mask in bits 8-12.
        kind: IDX, UP, DOWN or BFLY.

    Returns:
        The value that each lane receives, and whether its source lane is inside its segment.

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
    """
    Evaluate VOTE.

    Args:
        said: Predicate of each lane.
        lanes: Active lanes.
        kind: ALL, ANY or EQ.

    Returns:
        The mask of active lanes whose predicate holds, and whether all, any, or either all or none of them hold.
    """
    yes = said & lanes
    bits = word(sum(1 << int(lane) for lane in np.flatnonzero(yes)))
    every, some = bool(said[lanes].all()), bool(yes.any())
    outcome = {"ALL": every, "ANY": some, "EQ": every or not some}[kind]
    return bits, np.full(1, outcome)


def pack(predicates: BoolArray, kept: LaneWords, chosen: int, byte: str) -> LaneWords:
    """Evaluate P2R: replace bits of one byte of ``kept`` by the predicates in mask ``chosen``, and return the words."""
    shift = np.uint64(BYTES[byte])
    packed = np.zeros(WARP_SIZE, dtype=np.uint64)
    for bit in range(PREDICATES):
        packed |= predicates[bit].astype(np.uint64) << np.uint64(bit)
    replaced = np.uint64(chosen) << shift & MASK
    merged: LaneWords = kept & (MASK - replaced) | (packed << shift & replaced)
    return merged


def unpack(value: LaneWords, chosen: int, byte: str) -> Iterator[tuple[int, BoolArray]]:
    """Evaluate R2P: yield number and value of each predicate in mask ``chosen``, from the bits of one byte."""
    for bit in range(PREDICATES):
        if chosen >> bit & 1:
            yield bit, (value >> np.uint64(BYTES[byte] + bit) & np.uint64(1)) != 0
