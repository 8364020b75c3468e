"""The global memory that a kernel reads and writes: arrays and the module's variables at addresses, with gaps."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from gpusim.arrays import ByteArray, IntArray
from gpusim.lower.sass.cubin import ModuleMemory

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
        allocations: The arrays, then the variables of the module.
        contents: Bytes of all of them.
        module: Memory of the module, which its variables are parts of; None if nobody loads it.
    """

    allocations: tuple[Allocation, ...]
    contents: ByteArray
    module: Allocation | None = None

    @property
    def table(self) -> IntArray:
        """For each array its address, its end and its place, one after the other."""
        rows = [(one.address, one.address + one.size, one.place) for one in self.allocations]
        return np.array(rows or [(0, 0, 0)], dtype=np.int64).reshape(-1)

    def bytes_of(self, number: int) -> ByteArray:
        """Return the bytes of an array."""
        return self._bytes(self.allocations[number])

    def contents_of(self, number: int, array: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return the contents of an array in the type and shape of the one that was copied into global memory."""
        return self.bytes_of(number).view(array.dtype).reshape(array.shape)

    def module_bytes(self) -> ByteArray:
        """Return the bytes of the module's memory."""
        return self.contents[:0] if self.module is None else self._bytes(self.module)

    def _bytes(self, one: Allocation) -> ByteArray:
        return self.contents[one.place : one.place + one.size]

    def text_at(self, address: int) -> str:
        """Return the text at an address, which ends before a zero byte; nothing where no array is."""
        one = self.owner(address)
        if one is None or address >= one.address + one.size:
            return ""
        return self._bytes(one)[address - one.address :].tobytes().partition(b"\0")[0].decode(errors="replace")

    def owner(self, address: int) -> Allocation | None:
        """Return the array that is nearest to an address and not above it."""
        below = [one for one in self.allocations if one.address <= address]
        return max(below, key=lambda one: one.address, default=None)


def image_of(arrays: Sequence[tuple[str, npt.NDArray[Any]]], module: ModuleMemory | None = None) -> Image:
    """Copy arrays into global memory, one after the other, and then the variables of a cubin."""
    allocations, place, address = [], 0, FIRST_ADDRESS
    for name, array in arrays:
        allocations.append(Allocation(name, address, array.nbytes, place))
        place += -(-array.nbytes // ALIGNMENT) * ALIGNMENT
        address += -(-(array.nbytes + GAP) // ALIGNMENT) * ALIGNMENT
    loaded = None if module is None else Allocation("variables", address, len(module.contents), place)
    contents = np.zeros(max(place + (loaded.size if loaded else 0), 1), dtype=np.uint8)
    for one, (_, array) in zip(allocations, arrays, strict=True):
        contents[one.place : one.place + one.size] = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    if module is not None and loaded is not None:
        contents[loaded.place : loaded.place + loaded.size] = np.frombuffer(module.contents, dtype=np.uint8)
        for at, target in module.pointers.items():
            here = loaded.place + at
            contents[here : here + 8] = np.frombuffer((address + target).to_bytes(8, "little"), dtype=np.uint8)
        allocations += [
            Allocation(f"variable {one.name}", address + one.at, one.size, loaded.place + one.at)
            for one in module.variables
            if one.bank is None and one.at + one.size <= loaded.size
        ]
    return Image(tuple(allocations), contents, loaded)
