"""
Finds the stride of a warp's shared-memory addresses, and the padding or swizzle without bank conflicts.

An access has a stride if each bit of the lane number adds a fixed amount to the address. Rows of a tile and the rows of
an ldmatrix do; swizzled addresses and look-ups do not.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from gpusim.arrays import BoolArray, IntArray
from gpusim.layout.banks import BANK_BYTES, BANKS, access_ideal, access_wavefronts
from gpusim.units import WARP_SIZE

LARGEST_PADDING: Final = 64
"""Bytes of the largest padding that is tried."""

LANE_BIT_COUNT: Final = WARP_SIZE.bit_length() - 1
LARGEST_BASE: Final = 4
"""Lowest bit that a swizzle changes, at most: 16 bytes, the widest access, stay together."""

LARGEST_SHIFT: Final = 12
"""Most bits from a swizzle's changed bits to those that it XORs into them."""


@dataclass(frozen=True, slots=True)
class WarpAccess:
    """
    Accesses of shared memory by warps, all of one instruction.

    Attributes:
        addresses: Byte address of each lane. Shape (..., 32).
        active: Lanes that take part. Shape (..., 32).
        width: Bytes of a lane.
        phase_lanes: Most lanes of a phase: 8 for an ldmatrix.
        loads: Whether it is a plain load.
    """

    addresses: IntArray
    active: BoolArray
    width: int
    phase_lanes: int = WARP_SIZE
    loads: bool = False

    @property
    def word(self) -> int:
        """Bytes that a lane takes from the banks: lanes of one word share it, whichever of its bytes they access."""
        return max(self.width, BANK_BYTES)

    def words(self, addresses: IntArray) -> IntArray:
        """Return the addresses of the words that hold some addresses; 0 for lanes that take no part."""
        return np.where(self.active, addresses // self.word * self.word, 0)

    @property
    def wavefronts(self) -> IntArray:
        """Wavefronts that each takes. Shape (...)."""
        return self._wavefronts(self.addresses)

    @property
    def ideal_wavefronts(self) -> IntArray:
        """Wavefronts that each would take without bank conflicts. Shape (...)."""
        return self._ideal(self.addresses)

    def is_free(self, addresses: IntArray) -> bool:
        """Return whether no access has a conflict if the lanes have other addresses."""
        return bool((self._wavefronts(addresses) == self._ideal(addresses)).all())

    def _wavefronts(self, addresses: IntArray) -> IntArray:
        words = self.words(addresses)
        return access_wavefronts(words, self.word, self.active, phase_lanes=self.phase_lanes, loads=self.loads)

    def _ideal(self, addresses: IntArray) -> IntArray:
        words = self.words(addresses) if self.loads else None
        return access_ideal(self.word, self.active, phase_lanes=self.phase_lanes, loaded=words)


@dataclass(frozen=True, slots=True)
class ConflictRemedy:
    """
    The stride of an access, and what would free it.

    Attributes:
        stride: Bytes by which lanes, or groups of lanes, lie apart.
        free_stride: Smallest larger stride without conflicts; None if every padding up to ``LARGEST_PADDING`` has some.
        swizzle: Bits, base and shift of the smallest swizzle of byte addresses without conflicts, as in CuTe's
            ``Swizzle<bits, base, shift>``; None if there is none.
    """

    stride: int
    free_stride: int | None
    swizzle: tuple[int, int, int] | None

    def __str__(self) -> str:
        ways = [f"with {self.free_stride}"] if self.free_stride else []
        if self.swizzle:
            ways.append("with Swizzle<{}, {}, {}> of byte addresses".format(*self.swizzle))
        told = (
            f"{' or '.join(ways)} there is no conflict" if ways else f"no padding up to {LARGEST_PADDING} bytes helps"
        )
        return f"lanes lie {self.stride} bytes apart: {told}"


def remedy_of(access: WarpAccess) -> ConflictRemedy | None:
    """Return the stride of an access and what would free it; None if no stride is recognised."""
    steps = _lane_steps(access)
    strides = [] if steps is None else _strides(steps, access.width)
    if not strides:
        return None
    padded = ((stride, _padding(access, stride)) for stride in strides)
    stride, padding = next(((one, found) for one, found in padded if found), (strides[0], None))
    return ConflictRemedy(stride, stride + padding if padding else None, _swizzle(access, stride))


def _padding(access: WarpAccess, stride: int) -> int | None:
    """Return the smallest padding of rows of a stride without conflicts."""
    lowest = access.addresses[access.active].min()
    row, column = np.divmod(np.where(access.active, access.addresses - lowest, 0), stride)
    paddings = range(access.width, min(LARGEST_PADDING, stride) + 1, access.width)
    return next((one for one in paddings if access.is_free(lowest + row * (stride + one) + column)), None)


def _lane_steps(access: WarpAccess) -> list[int] | None:
    """
    Return the amount that each bit of the lane number adds to the address; None if there are no such amounts.

    The amount is 0 if no two active lanes differ in this bit alone.
    """
    lanes = np.flatnonzero(access.active)
    steps = []
    for bit in range(LANE_BIT_COUNT):
        below = lanes[(lanes >> bit & 1 == 0) & access.active[lanes ^ 1 << bit]]
        steps.append(int(access.addresses[below[0] ^ 1 << bit] - access.addresses[below[0]]) if len(below) else 0)
    bits = lanes[:, None] >> np.arange(LANE_BIT_COUNT) & 1
    rest = access.addresses[lanes] - bits @ np.array(steps)
    return steps if (rest == rest[0]).all() else None


def _strides(steps: list[int], width: int) -> list[int]:
    """Return possible strides, ascending: steps beyond those of adjacent lanes that divide all larger steps."""
    run = width
    sizes = sorted({abs(step) for step in steps if step})
    while run in sizes:
        sizes.remove(run)
        run *= 2
    return [one for one in sizes if one >= run and not any(size % one for size in sizes if size > one)]


def _swizzle(access: WarpAccess, stride: int) -> tuple[int, int, int] | None:
    """Return the smallest swizzle without conflicts of rows whose stride is a power of two."""
    if stride & stride - 1:
        return None
    smallest, end = access.word.bit_length() - 1, (BANKS * BANK_BYTES).bit_length() - 1
    for bits in range(1, end - smallest + 1):
        for base in range(min(LARGEST_BASE, end - bits), smallest - 1, -1):
            for shift in range(bits, LARGEST_SHIFT + 1):
                moved = access.addresses >> shift & (1 << bits) - 1 << base
                if access.is_free(access.addresses ^ moved):
                    return bits, base, shift
    return None
