"""Simulated shared memory of a batch of CTAs, in which data becomes visible as late as the PTX memory model allows."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gpusim.arrays import BoolArray, IntArray
from gpusim.functional.visibility import LONGEST_RUN, SharedAccess, Visibility
from gpusim.numerics.elements import Values

BATCH_BYTES = 8 << 20
"""Most bytes of one batch of CTAs, small enough for the host's caches."""


class SharedArray:
    """
    The shared allocation of one operand, in every CTA of the batch.

    It shows the worst case of the PTX memory model. An element is read as NaN if it was never written, if an
    asynchronous copy in flight will overwrite it, or if another warp has written it since the last barrier. Addresses
    do not depend on the CTA, so visibility is computed once for all CTAs (``Visibility``), and only the data is kept
    for each.

    Not modelled: reordering inside a warp (a warp's stores are visible to all of its lanes at once).
    """

    def __init__(
        self, ctas: int, elements: int, warps: int, dtype: npt.DTypeLike, visibility: Visibility | None = None
    ) -> None:
        """
        Allocate the array. All elements read as NaN.

        Args:
            ctas: CTAs of the batch.
            elements: Elements of the whole allocation, all stages.
            warps: Warps of a CTA.
            dtype: A floating type, because NaN marks invisible data.
        visibility: Visibility from earlier batches
                that execute the same program; None for the first batch.
        """
        self._data = np.zeros((ctas, -(-elements // LONGEST_RUN) * LONGEST_RUN), dtype)
        self._visibility = Visibility(elements, warps) if visibility is None else visibility
        self._visibility.begin_batch()

    def _runs(self, access: SharedAccess) -> Values:
        """Return the data as runs as long as those of an access. Shape (ctas, runs, width)."""
        return self._data.reshape(len(self._data), -1, access.runs.width)

    def invalidate(self, offsets: IntArray) -> bool:
        """
        Mark elements as the destination of a copy in flight, which may not be read until it lands.

        Args:
            offsets: Elements to be written. Shape (threads, ...).

        Returns:
            True when another warp has read one of them since the last barrier, and so may still be reading.
        """
        return self._visibility.invalidate(offsets).overwrites

    def store(self, offsets: IntArray, values: Values) -> bool:
        """
        Write elements. They are visible to the writer's warp at once, and to other warps after a barrier.

        Args:
            offsets: Shape (threads, ...).
            values: Shape (ctas, threads, ...).

        Returns:
            True when another warp may still be reading an element that is overwritten.
        """
        access = self._visibility.store(offsets)
        # With a run as one element of many bytes and the CTAs contiguous, numpy stores fastest.
        run = f"V{access.runs.width * self._data.itemsize}"
        data = self._data.reshape(-1).view(run)
        first = np.arange(0, len(data), len(data) // len(self._data))
        written = np.ascontiguousarray(values, self._data.dtype).reshape(-1).view(run)
        data[(first[:, None] + access.runs.index).reshape(-1)] = written
        return access.overwrites

    def atomic_max(self, offsets: IntArray, values: Values) -> bool:
        """
        Raise elements to at least ``values``. The order of warps is not fixed, so no warp sees the result before a
        barrier.

        An element that a warp has stored to since the last barrier becomes NaN, because other warps may not see that
        store.

        Args:
            offsets: Shape (warps, ...).
            values: Shape (ctas, warps, ...).

        Returns:
            True when another warp may still be reading an element.
        """
        access = self._visibility.atomic(offsets)
        ctas = np.arange(len(self._data)).reshape(-1, *[1] * offsets.ndim)
        np.maximum.at(self._data, (ctas, offsets[None]), values)
        return access.overwrites

    def load(self, offsets: IntArray) -> Values:
        """
        Read elements, with NaN for data that the reading warp cannot see yet.

        Args:
            offsets: Offsets for each reading warp or thread. Shape (warps or threads, ...).

        Returns:
            Shape (ctas, warps or threads, ...).
        """
        access = self._visibility.load(offsets)
        values: Values = self._runs(access).take(access.runs.index, axis=1).reshape(len(self._data), *offsets.shape)
        if access.hidden is not None:
            values[:, access.hidden] = np.nan
        return values

    def barrier(self) -> None:
        """All warps arrive: every earlier write becomes visible to all, and every earlier read is complete."""
        self._visibility.barrier()


class SharedMemory:
    """The shared memory of all CTAs that execute one program: data for each batch, and visibility for all batches."""

    def __init__(self) -> None:
        """Begin without an allocation."""
        self._visibilities: dict[str, Visibility] = {}

    def allocate(
        self, name: str, ctas: int, elements: int, warps: int, dtype: npt.DTypeLike = np.float32
    ) -> SharedArray:
        """
        Return an allocation of a batch. All of its elements read as NaN.

        Args:
            name: Name of the allocation, by which later batches find its visibility.
            ctas: CTAs of the batch.
            elements: Elements of the whole allocation, all stages.
            warps: Warps of a CTA.
            dtype: A floating type, because NaN marks invisible data.
        """
        known = self._visibilities.setdefault(name, Visibility(elements, warps))
        return SharedArray(ctas, elements, warps, dtype, known)


@dataclass(frozen=True, slots=True)
class _Copy:
    array: SharedArray
    offsets: IntArray
    values: Values


class CopyQueue:
    """
    The cp.async groups of the CTAs of a batch, the same for all threads. Data lands when a wait_group covers its group.

    On hardware a copy may land at any time before. Landing as late as possible shows a missing wait.
    """

    def __init__(self) -> None:
        self._open: list[_Copy] = []
        self._groups: list[list[_Copy]] = []

    def issue(self, array: SharedArray, offsets: IntArray, values: Values, written: BoolArray | None) -> bool:
        """
        Execute a cp.async: add the copy to the open group.

        An element that is not written (predicated off without zero-fill) becomes NaN instead of keeping an earlier
        tile's value, so that its use is detected.

        Args:
            array: Destination.
            offsets: Shape (threads, elements).
            values: Values that land, zeros included. Shape (ctas, threads, elements).
            written: False leaves the element unwritten. Shape of ``values``; None writes all.

        Returns:
            True when another warp may still be reading an element that is overwritten.
        """
        self._open.append(_Copy(array, offsets, values if written is None else np.where(written, values, np.nan)))
        return array.invalidate(offsets)

    def commit(self) -> None:
        """Execute cp.async.commit_group: close the open group."""
        self._groups.append(self._open)
        self._open = []

    def wait(self, pending: int) -> None:
        """Execute cp.async.wait_group: land every group but the last ``pending``."""
        done = max(len(self._groups) - pending, 0)
        for copy in (copy for group in self._groups[:done] for copy in group):
            copy.array.store(copy.offsets, copy.values)
        del self._groups[:done]
