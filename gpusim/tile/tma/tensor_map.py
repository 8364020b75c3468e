"""A tiled tensor map, and the rules that it must obey; it never knows what reads the box."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from typing import Final, Literal, TypeAlias

TmaSwizzle: TypeAlias = Literal["none", "32B", "64B", "128B"]
Interleave: TypeAlias = Literal["none", "16B", "32B"]

SWIZZLE_BYTES: Final[dict[str, int]] = {"32B": 32, "64B": 64, "128B": 128}
"""Widths of the swizzles: the most bytes that a box may have along its contiguous dimension."""

_MOST_RANK, _LEAST_INTERLEAVED = 5, 3
_MOST_EXTENT: Final = 1 << 32
_MOST_STRIDE: Final = 1 << 40
_MOST_BOX: Final = 256
_MOST_STEP: Final = 8
_UNIT: Final = 16
"""Bytes of which addresses, strides and rows of a box are multiples."""

_SHARED_ALIGNMENT: Final = 128
_MOST_SHARED: Final = 227 * 1024
_MOST_COUNTED: Final = (1 << 20) - 1
"""Most bytes that a phase of an mbarrier can count."""


@dataclass(frozen=True, slots=True)
class TensorMap:
    """
    A tiled tensor map, dimensions in the driver's order: the contiguous one first.

    Attributes:
        element_bytes: Bytes of an element.
        extents: Elements of the tensor along each dimension.
        strides: Bytes from one element to the next along each dimension but the first.
        box: Elements of the box along each dimension.
        swizzle: How 16-byte chunks of a row are exchanged in shared memory.
        interleave: Layout of channels in slices of 16 or 32 bytes.
        steps: Every so-many-th element is copied, along each dimension; empty for all.
        address: Byte address of the tensor.
        shared_address: Byte address of the box in shared memory.

    Source: CUDA driver API, cuTensorMapEncodeTiled; PTX ISA, cp.async.bulk.tensor and mbarrier. Not modelled: im2col
    maps, packed types of 4 and 6 bits, types that cannot be filled with NaN.
    """

    element_bytes: int
    extents: tuple[int, ...]
    strides: tuple[int, ...]
    box: tuple[int, ...]
    swizzle: TmaSwizzle = "none"
    interleave: Interleave = "none"
    steps: tuple[int, ...] = ()
    address: int = 0
    shared_address: int = 0

    @property
    def row_bytes(self) -> int:
        """Bytes of the box along the contiguous dimension."""
        return self.box[0] * self.element_bytes

    @property
    def box_bytes(self) -> int:
        """Bytes of the box in shared memory: what an mbarrier must expect, the parts outside the tensor included."""
        return self.row_bytes * prod(
            -(-extent // step)
            for extent, step in zip(self.box[1:], self.steps[1:] or (1,) * len(self.box), strict=False)
        )

    def broken_rules(self) -> tuple[str, ...]:
        """Return the rules that the map breaks, each in one line with the value; none if it is legal."""
        return tuple(self._broken())

    def _broken(self) -> Iterator[str]:
        rank = len(self.extents)
        least = _LEAST_INTERLEAVED if self.interleave != "none" else 1
        if not least <= rank <= _MOST_RANK:
            yield f"extents must have {least} to {_MOST_RANK} dimensions, got {rank}"
            return
        for name, found, count in (
            ("strides", self.strides, rank - 1),
            ("box", self.box, rank),
            ("steps", self.steps, rank),
        ):
            if len(found) != count and not (name == "steps" and not found):
                yield f"{name} must have {count} entries for {rank} dimensions, got {len(found)}"
                return
        yield from self._broken_tensor()
        yield from self._broken_box()
        yield from self._broken_shared()

    def _broken_tensor(self) -> Iterator[str]:
        unit = 2 * _UNIT if self.interleave == "32B" else _UNIT
        if self.address % unit:
            yield f"address must be a multiple of {unit} bytes, got {self.address}"
        for place, extent in enumerate(self.extents):
            if not 0 < extent <= _MOST_EXTENT:
                yield f"extents[{place}] must be 1 to 2^32, got {extent}"
        for place, stride in enumerate(self.strides):
            if stride % unit or not 0 <= stride < _MOST_STRIDE:
                yield f"strides[{place}] must be a multiple of {unit} bytes below 2^40, got {stride}"

    def _broken_box(self) -> Iterator[str]:
        for place, extent in enumerate(self.box):
            if not 0 < extent <= _MOST_BOX:
                yield f"box[{place}] must be 1 to {_MOST_BOX}, got {extent}"
        for place, step in enumerate(self.steps):
            if not 0 < step <= _MOST_STEP:
                yield f"steps[{place}] must be 1 to {_MOST_STEP}, got {step}"
        if self.interleave == "none" and self.row_bytes % _UNIT:
            yield f"box[0] must be a multiple of {_UNIT} bytes, got {self.row_bytes}"
        if self.interleave == "32B" and self.swizzle != "32B":
            yield f"swizzle must be 32B for interleave 32B, got {self.swizzle}"
        most = SWIZZLE_BYTES.get(self.swizzle)
        if self.interleave == "none" and most is not None and self.row_bytes > most:
            yield f"box[0] must be at most {most} bytes for swizzle {self.swizzle}, got {self.row_bytes}"

    def _broken_shared(self) -> Iterator[str]:
        if self.shared_address % _SHARED_ALIGNMENT:
            yield f"shared_address must be a multiple of {_SHARED_ALIGNMENT} bytes, got {self.shared_address}"
        if self.box_bytes > _MOST_SHARED:
            yield f"the box must fit in {_MOST_SHARED} bytes of shared memory, got {self.box_bytes}"
        elif self.box_bytes > _MOST_COUNTED:
            yield f"the box must have at most {_MOST_COUNTED} bytes, which an mbarrier counts, got {self.box_bytes}"
