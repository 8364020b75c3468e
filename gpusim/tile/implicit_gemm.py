"""The walk that the iterators of every 2-d convolution share: a k tile is a filter position and some channels."""

from abc import abstractmethod

import numpy as np
import numpy.typing as npt

from gpusim.arrays import BoolArray, IntArray
from gpusim.tile.extents import ConvShape
from gpusim.tile.global_access import GlobalAccess, GlobalIterator
from gpusim.tile.thread_map import ThreadMap


class ImplicitGemmIterator(GlobalIterator):
    """
    What the iterators of implicit GEMMs share: a k tile is one filter position and one interval of channels.

    The channels are those that are summed: c of conv2d forward, k of its gradient to the activation. Fetches walk S,
    then R, then the channels by the tile's K extent times the split-K slices, so that the slices interleave their
    channel tiles. No mask is ever cleared: past the last k tile the channel is out of range.

    Not modelled: grouped convolution, fixed and few channels, layouts other than NHWC and KRSC.
    """

    def __init__(
        self,
        shape: ConvShape,
        bits: int,
        thread_map: ThreadMap,
        elements_per_vec: int,
        *,
        tile: npt.ArrayLike,
        slice_: npt.ArrayLike,
    ) -> None:
        """
        Place the iterator at its first fetch.

        Args:
            shape: The convolution.
            bits: Element width.
            thread_map: Coverage of the tile by threads.
            elements_per_vec: Elements of one memory instruction.
            tile: Tile index along M (activation) or N (filter). Integers or an array over CTAs.
            slice_: Split-K slice, broadcast against ``tile``.
        """
        super().__init__(thread_map, elements_per_vec, tile=tile, slice_=slice_)
        self.shape = shape
        self.bits = bits

    def filter_position(self, number: npt.ArrayLike) -> tuple[IntArray, IntArray, IntArray]:
        """Filter r and s of a fetch (of the shape of ``number``), and its first channel (over CTAs)."""
        walk, s = np.divmod(np.asarray(number, dtype=np.int64), self.shape.s)
        interval, r = np.divmod(walk, self.shape.r)
        return r, s, (self.slice_ + interval * self.shape.split_k_slices) * self.tile_k

    def fetch(self, number: npt.ArrayLike) -> GlobalAccess:
        """All accesses of fetch ``number``; the tensor's dimensions are the coordinates."""
        at = self.coordinates(number)
        offset = self._offset(number, at)
        coordinates = {name: np.broadcast_to(axis, offset.shape) for name, axis in at.items()}
        return GlobalAccess(coordinates, offset, self._inside(number, at))

    @property
    @abstractmethod
    def channels(self) -> int:
        """Channels that are summed."""

    @property
    def tile_k(self) -> int:
        """Channels of a k tile."""
        return self.thread_map.shape[0]

    @abstractmethod
    def coordinates(self, number: npt.ArrayLike) -> dict[str, IntArray]:
        """Logical coordinate of each access of a fetch, axes broadcasting to [*ctas, threads, accesses, vecs]."""

    @abstractmethod
    def _offset(self, number: npt.ArrayLike, at: dict[str, IntArray]) -> IntArray:
        """Elements from the tensor's base, for the coordinates ``at`` of fetch ``number``."""

    @abstractmethod
    def _inside(self, number: npt.ArrayLike, at: dict[str, IntArray]) -> BoolArray:
        """The predicate of each access."""

    def _channels_inside(self, first: IntArray) -> tuple[IntArray, int]:
        """A digit of the signature: how many of the fetch's channels exist."""
        return np.clip(self.channels - first, 0, self.tile_k), self.tile_k + 1

    def _rows_inside(self, extent: int) -> tuple[IntArray, int]:
        """A digit of the signature: how many of the tile's rows exist."""
        rows = self.thread_map.shape[1]
        return np.clip(extent - self.tile * rows, 0, rows), rows + 1
