"""The interface of every global tile iterator: any fetch in closed form, and CUTLASS's walk over the same accesses."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

from gpusim.arrays import BoolArray, IntArray
from gpusim.tile.thread_map import ThreadMap


@dataclass(frozen=True, slots=True)
class GlobalAccess:
    """
    The accesses of one k tile's fetch. Every array has shape [*ctas, threads, accesses, vecs].

    Attributes:
        coordinates: Logical coordinate of the first element, by the tensor's dimension names. It may be out of range;
            then ``valid`` is False. Read-only views.
        offset: Elements from the tensor's base, computed for invalid accesses too.
        valid: The predicate; False means that nothing is read.
    """

    coordinates: dict[str, IntArray]
    offset: IntArray
    valid: BoolArray


class GlobalIterator(ABC):
    """
    A tile access iterator of one operand, over all threads of one or many CTAs.

    ``fetch`` gives any k tile in closed form. ``at``, ``valid``, ``get``, ``increment`` and ``advance`` walk the same
    accesses as CUTLASS's iterators do, one access of all threads at a time.
    """

    def __init__(
        self, thread_map: ThreadMap, elements_per_vec: int, *, tile: npt.ArrayLike, slice_: npt.ArrayLike
    ) -> None:
        """
        Place the iterator at its first fetch.

        Args:
            thread_map: Coverage of the tile by threads.
            elements_per_vec: Elements of one memory instruction, which is the operand's alignment.
            tile: Tile index along M (operand a) or N (operand b). An integer or an array over CTAs.
            slice_: Split-K slice, broadcast against ``tile``.

        Raises:
            ValueError: ``elements_per_vec`` does not divide the thread map's access.
        """
        if thread_map.elements_per_access % elements_per_vec:
            raise ValueError(
                f"alignment of {elements_per_vec} elements does not divide an access of"
                f" {thread_map.elements_per_access} elements"
            )
        self.thread_map = thread_map
        self.elements_per_vec = elements_per_vec
        self.tile, self.slice_ = np.broadcast_arrays(
            np.asarray(tile, dtype=np.int64), np.asarray(slice_, dtype=np.int64)
        )
        self._in_tile = thread_map.offsets()
        self._number = 0
        self._index = 0
        self._current: GlobalAccess | None = None

    @property
    def vecs(self) -> int:
        """Memory instructions of one access; more than one if the alignment is narrower than the access."""
        return self.thread_map.elements_per_access // self.elements_per_vec

    @abstractmethod
    def fetch(self, number: npt.ArrayLike) -> GlobalAccess:
        """
        Return all accesses of fetch ``number``, in closed form.

        Args:
            number: Fetch of the mainloop, from 0. Fetches past the last k tile, which the pipeline also issues, are all
                invalid. An integer, or an array that broadcasts against the CTAs.
        """

    @abstractmethod
    def signature(self, number: npt.ArrayLike) -> IntArray:
        """
        Return a number for each CTA's fetch that is equal for fetches with equal memory access patterns.

        Such fetches have equal predicates, and all their valid offsets differ by the difference of their ``base``, a
        whole number of 128-byte lines.

        Returns:
            Shape of ``number`` broadcast against the CTAs.
        """

    @abstractmethod
    def base(self, number: npt.ArrayLike) -> IntArray:
        """
        Return a reference offset of each CTA's fetch, in elements (see ``signature``). It need not be accessed.

        Returns:
            Shape of ``number`` broadcast against the CTAs.
        """

    @property
    def shares_pixels(self) -> bool:
        """Whether the tensor is an image, whose pixels several CTAs and filter positions read."""
        return False

    def _strided(self) -> IntArray:
        """Return the strided coordinate of each access within the tile. Shape [threads, accesses, 1]."""
        return self._in_tile[:, :, 1, None]

    def _contiguous(self) -> IntArray:
        """Return the contiguous coordinate of each access within the tile. Shape [threads, accesses, vecs]."""
        vecs = np.arange(self.vecs, dtype=np.int64) * self.elements_per_vec
        return self._in_tile[:, :, 0, None] + vecs

    def at(self) -> dict[str, IntArray]:
        """Return the coordinates of the current access, each of shape [*ctas, threads]."""
        access, vec = self._access_vec()
        return {name: axis[..., access, vec] for name, axis in self._fetched().coordinates.items()}

    def get(self) -> IntArray:
        """Return the offset of the current access in elements. Shape [*ctas, threads]."""
        access, vec = self._access_vec()
        return self._fetched().offset[..., access, vec]

    def valid(self) -> BoolArray:
        """Return the predicate of the current access. Shape [*ctas, threads]."""
        access, vec = self._access_vec()
        return self._fetched().valid[..., access, vec]

    def increment(self) -> Self:
        """
        Move to the next vec, then to the next access, as ``++`` does, wrapping round to the k tile's first access.
        """
        self._index = (self._index + 1) % (self.thread_map.accesses * self.vecs)
        return self

    def set_iteration_index(self, index: int) -> None:
        """Make ``index`` (access * vecs + vec) the current access of the k tile."""
        self._index = index

    def advance(self) -> Self:
        """Move to the next k tile; the current access keeps its index."""
        self._number += 1
        self._current = None
        return self

    def _access_vec(self) -> tuple[int, int]:
        return divmod(self._index, self.vecs)

    def _fetched(self) -> GlobalAccess:
        if self._current is None:
            self._current = self.fetch(self._number)
        return self._current


def over_lanes(per_cta: IntArray) -> IntArray:
    """Return an array over CTAs, reshaped to broadcast against [threads, accesses, vecs]."""
    return per_cta[..., None, None, None]


def packed(*digits: tuple[npt.ArrayLike, int]) -> IntArray:
    """
    Pack several arrays into one of mixed-radix integers.

    Args:
        digits: Pairs of an array of values in [0, radix) and its radix, most significant first. The arrays broadcast.
    """
    number = np.zeros((), dtype=np.int64)
    for values, radix in digits:
        number = number * radix + np.asarray(values, dtype=np.int64)
    return number
