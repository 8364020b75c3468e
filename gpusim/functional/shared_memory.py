"""Simulated shared memory of a batch of CTAs, where data becomes visible as late as the PTX memory model allows."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gpusim.arrays import BoolArray, IntArray
from gpusim.numerics.elements import Values

_EVERYONE = -1
_NOBODY = -2


BATCH_BYTES = 32 << 20
"""Most bytes that one batch of CTAs may hold at a time, small enough to stay near the caches."""


class SharedArray:
    """
    The shared allocation of one operand, in every CTA of the batch.

    It is as unhelpful as the PTX memory model allows. The array starts as NaN. The destination of an asynchronous copy
    is NaN from its issue until it lands. What a thread wrote is NaN to other warps until a barrier. Addresses do not
    depend on the CTA, so the writer and the readers of an element are kept once for all CTAs of the batch.

    Not modelled: reordering inside a warp (its own stores are visible to all its lanes at once).
    """

    def __init__(self, ctas: int, elements: int, warps: int, dtype: npt.DTypeLike) -> None:
        """
        Fill the allocation with NaN.

        Args:
            ctas: CTAs of the batch.
            elements: Elements of the whole allocation, all stages.
            warps: Warps of a CTA.
            dtype: A floating type, because NaN marks what may not be used.
        """
        self._data = np.full((ctas, elements), np.nan, dtype)
        self._writer = np.full(elements, _EVERYONE, np.int8)
        self._readers = np.zeros((warps, elements), np.bool_)
        self._warps = np.arange(warps)

    def _own(self, offsets: IntArray) -> IntArray:
        """Return the warp that each offset belongs to, broadcasting against ``offsets`` [threads or warps, ...]."""
        group = offsets.shape[0] // len(self._warps)
        return np.repeat(self._warps, group).reshape(-1, *[1] * (offsets.ndim - 1))

    def invalidate(self, offsets: IntArray) -> bool:
        """
        Mark elements as the destination of a copy in flight, which may not be read until it lands.

        Args:
            offsets: Elements to be written. Shape (threads, ...).

        Returns:
            True when another warp has read one of them since the last barrier, and so may still be reading.
        """
        self._data[:, offsets] = np.nan
        return self._read_by_others(offsets)

    def _read_by_others(self, offsets: IntArray) -> bool:
        read = self._readers[:, offsets]
        others = self._warps.reshape(-1, *[1] * offsets.ndim) != self._own(offsets)
        return bool((read & others).any())

    def store(self, offsets: IntArray, values: Values, written: BoolArray | None = None) -> bool:
        """
        Write elements, visible to the writer's warp now and to the others after a barrier.

        Args:
            offsets: Shape (threads, ...).
            values: Shape (ctas, threads, ...).
            written: False leaves the element unchanged. Shape of ``values``; None writes all.

        Returns:
            True when another warp may still be reading an element that is overwritten.
        """
        self._data[:, offsets] = values if written is None else np.where(written, values, self._data[:, offsets])
        self._writer[offsets] = self._own(offsets)
        return self._read_by_others(offsets)

    def atomic_max(self, offsets: IntArray, values: Values) -> bool:
        """
        Raise elements to at least ``values``, visible to no warp before a barrier, since the warps' order is not fixed.

        An element that a warp has stored to since the last barrier becomes NaN, because the others may not see that
        store.

        Args:
            offsets: Shape (warps, ...).
            values: Shape (ctas, warps, ...).

        Returns:
            True when another warp may still be reading an element.
        """
        stored = self._writer[offsets] >= 0
        ctas = np.arange(len(self._data)).reshape(-1, *[1] * offsets.ndim)
        np.maximum.at(self._data, (ctas, offsets[None]), np.where(stored, np.nan, values))
        self._writer[offsets] = _NOBODY
        return self._read_by_others(offsets)

    def load(self, offsets: IntArray) -> Values:
        """
        Read elements, with NaN where nothing has landed that the reading warp may see.

        Args:
            offsets: Offsets for each reading warp or thread. Shape (warps or threads, ...).

        Returns:
            Shape (ctas, warps or threads, ...).
        """
        own = self._own(offsets)
        self._readers[own, offsets] = True
        writer = self._writer[offsets]
        hidden = (writer != _EVERYONE) & (writer != own)
        values: Values = self._data[:, offsets]
        if hidden.any():
            values[:, hidden] = np.nan
        return values

    def barrier(self) -> None:
        """Let all warps arrive: every write so far becomes visible to all, and every read so far is done."""
        self._writer[:] = _EVERYONE
        self._readers[:] = False


@dataclass(frozen=True, slots=True)
class _Copy:
    array: SharedArray
    offsets: IntArray
    values: Values
    written: BoolArray | None


class CopyQueue:
    """
    The cp.async groups of the CTAs of a batch, the same for all threads. Data lands when a wait_group covers its group.

    Hardware may land a copy earlier, but guarantees no time. Landing as late as possible shows a missing wait.
    """

    def __init__(self) -> None:
        self._open: list[_Copy] = []
        self._groups: list[list[_Copy]] = []

    def issue(self, array: SharedArray, offsets: IntArray, values: Values, written: BoolArray | None) -> bool:
        """
        Execute a cp.async: add the copy to the open group.

        An element that is not written (predicated off without zero-fill) becomes NaN instead of keeping an earlier
        tile's value, so that its use is noticed.

        Args:
            array: Destination.
            offsets: Shape (threads, elements).
            values: Values that land, zeros included. Shape (ctas, threads, elements).
            written: False leaves the element unwritten. Shape of ``values``; None writes all.

        Returns:
            True when another warp may still be reading an element that is overwritten.
        """
        self._open.append(_Copy(array, offsets, values, written))
        return array.invalidate(offsets)

    def commit(self) -> None:
        """Execute cp.async.commit_group: close the open group."""
        self._groups.append(self._open)
        self._open = []

    def wait(self, pending: int) -> None:
        """Execute cp.async.wait_group: land every group but the last ``pending``."""
        done = max(len(self._groups) - pending, 0)
        for copy in (copy for group in self._groups[:done] for copy in group):
            copy.array.store(copy.offsets, copy.values, copy.written)
        del self._groups[:done]
