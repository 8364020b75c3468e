"""The global memory that a kernel reads and writes: arrays at addresses, with gaps between them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from gpusim.arrays import ByteArray, IntArray

FIRST_ADDRESS: Final = 0x7F4000000000
ALIGNMENT: Final = 512
"""Alignment of an allocation. Source: CUDA C++ programming guide; cudaMalloc aligns to at least 256 bytes."""

GAP: Final = 1 << 16
"""Bytes that belong to nothing, between two allocations."""


@dataclass(frozen=True, slots=True)
class Allocation:
    """
    An array in global memory.

    Attributes:
        name: Name of the argument.
        address: Address of its first byte.
        size: Bytes.
        place: First byte in the image's contents.
    """

    name: str
    address: int
    size: int
    place: int


@dataclass(frozen=True, slots=True)
class Image:
    """
    Global memory.

    Attributes:
        allocations: The arrays.
        contents: Bytes of all arrays.
    """

    allocations: tuple[Allocation, ...]
    contents: ByteArray

    @property
    def table(self) -> IntArray:
        """For each array its address, its end and its place, one after the other."""
        rows = [(one.address, one.address + one.size, one.place) for one in self.allocations]
        return np.array(rows or [(0, 0, 0)], dtype=np.int64).reshape(-1)

    def bytes_of(self, number: int) -> ByteArray:
        """Return the bytes of an array."""
        one = self.allocations[number]
        return self.contents[one.place : one.place + one.size]

    def owner(self, address: int) -> Allocation | None:
        """Return the array that is nearest to an address and not above it."""
        below = [one for one in self.allocations if one.address <= address]
        return max(below, key=lambda one: one.address, default=None)


def image_of(arrays: Sequence[tuple[str, npt.NDArray[Any]]]) -> Image:
    """Copy arrays into global memory, one after the other."""
    allocations, place, address = [], 0, FIRST_ADDRESS
    for name, array in arrays:
        allocations.append(Allocation(name, address, array.nbytes, place))
        place += -(-array.nbytes // ALIGNMENT) * ALIGNMENT
        address += -(-(array.nbytes + GAP) // ALIGNMENT) * ALIGNMENT
    contents = np.zeros(max(place, 1), dtype=np.uint8)
    for one, (_, array) in zip(allocations, arrays, strict=True):
        contents[one.place : one.place + one.size] = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    return Image(tuple(allocations), contents)
