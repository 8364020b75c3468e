"""The shared-memory offsets to which each thread's cp.async writes an operand tile; knows no times."""

from collections.abc import Iterator

import numpy as np

from gpusim.arrays import IntArray
from gpusim.layout.congruous import CongruousLayout
from gpusim.layout.crosswise import CrosswiseLayout
from gpusim.layout.shared import SharedLayout
from gpusim.tile.operand import OperandTile
from gpusim.tile.thread_map import ThreadMap, WarpThreadMap


def map_store_offsets(thread_map: ThreadMap, layout: SharedLayout, stage: int, elements_per_copy: int) -> IntArray:
    """
    Return the element offset that every copy of every thread writes, for any shared layout.

    Args:
        thread_map: Tile coordinates of each access.
        layout: Shared layout of the operand.
        stage: Stage of the shared-memory ring.
        elements_per_copy: Elements of one copy instruction; divides the access of the thread map.

    Returns:
        Offsets in elements from the operand's base, shape [threads, accesses, vecs]. A copy fills
        ``elements_per_copy`` elements from its offset.
    """
    coordinates = thread_map.offsets()
    within = np.arange(0, thread_map.elements_per_access, elements_per_copy, dtype=np.int64)
    return layout.offset(coordinates[..., None, 0] + within, coordinates[..., None, 1], stage)


def store_offsets(operand: OperandTile, stage: int) -> IntArray:
    """
    Return the element offset that every cp.async of one k tile writes.

    Returns:
        Offsets in elements from the base of the operand's whole shared allocation, shape [threads, accesses, vecs].
        Accesses are in ``++`` order. There are several vecs if the global alignment is narrower than 128 bits.

    Source: golden ``smem_write_*``.
    """
    return map_store_offsets(operand.thread_map, operand.shared, stage, operand.access)


class SwizzledStoreIterator:
    """
    CUTLASS's write iterator, which computes the store offsets from swizzled base pointers by additions.

    Rows an even number of warp accesses apart have the same swizzle, so two base pointers per thread serve all accesses
    along the strided dimension. Along the contiguous dimension accesses are whole lines apart, and stages are a
    constant apart. One object covers all threads of the CTA.

    Source: CUTLASS include/cutlass/transform/threadblock/regular_tile_access_iterator_tensor_op.h.
    """

    def __init__(self, thread_map: WarpThreadMap, layout: CrosswiseLayout | CongruousLayout) -> None:
        """Point at the first access of stage 0."""
        self._thread_map = thread_map
        self._layout = layout
        initial = thread_map.initial_offsets()
        pointers = 2 if thread_map.iterations[1] > 1 else 1
        rows = initial[:, 1] + thread_map.warp_arrangement[1] * np.arange(pointers, dtype=np.int64)[:, None]
        self._pointers = layout.offset(initial[:, 0], rows)
        self._tile_offset = 0
        self._access = 0

    def get(self) -> IntArray:
        """Return the element offset of the current access. Shape [threads]."""
        strided, contiguous = divmod(self._access, self._thread_map.iterations[0])
        delta_contiguous, delta_strided = self._thread_map.delta
        added = (strided & ~1) * delta_strided * self._layout.stride + contiguous * delta_contiguous
        offsets: IntArray = self._pointers[strided & 1] + (added + self._tile_offset)
        return offsets

    def increment(self) -> None:
        """Move to the next access, or after the last one back to the first of the same tile."""
        self._access = (self._access + 1) % self._thread_map.accesses

    def add_tile_offset(self, tiles: int) -> None:
        """Move by whole k tiles; ``-stages`` returns from the end of the ring to its beginning."""
        self._tile_offset += tiles * self._layout.stage_elements


def write_walk(
    thread_map: WarpThreadMap, layout: CrosswiseLayout | CongruousLayout, k_tiles: int
) -> Iterator[IntArray]:
    """
    Yield the writes of ``k_tiles`` consecutive tiles, as a multistage mainloop moves the iterator round the ring.

    Yields:
        For each k tile the element offsets, shape [threads, accesses].
    """
    iterator = SwizzledStoreIterator(thread_map, layout)
    stage = 0
    for _ in range(k_tiles):
        accesses = []
        for _ in range(thread_map.accesses):
            accesses.append(iterator.get())
            iterator.increment()
        yield np.stack(accesses, axis=1)
        iterator.add_tile_offset(1)
        stage += 1
        if stage == layout.stages:
            iterator.add_tile_offset(-layout.stages)
            stage = 0
