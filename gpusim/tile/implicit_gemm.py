"""The common part of the global iterators of every 2-d convolution whose k tiles are filter positions and channels."""

from abc import abstractmethod
from collections.abc import Sequence
from functools import cached_property
from math import prod
from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt

from gpusim.arrays import BoolArray, IntArray
from gpusim.tile.extents import ConvShape
from gpusim.tile.global_access import GlobalAccess, GlobalIterator, over_lanes, packed
from gpusim.tile.k_walk import KWalk
from gpusim.tile.thread_map import ThreadMap
from gpusim.units import LINE_BITS


class ImplicitGemmIterator(GlobalIterator):
    """
    The common part of all implicit-GEMM iterators: a k tile is one filter position and one interval of channels.

    The operator's ``walk`` gives the filter position and the channels of each k tile. Masks are never cleared: past the
    last k tile the channels are out of range, so the accesses are predicated off.

    Attributes:
        k_axis: Dimension of the thread map that lies along GEMM K: 0 the contiguous one, 1 the strided one.

    Not modelled: layouts other than NHWC and KRSC.
    """

    k_axis: ClassVar[int] = 0

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
            shape: Shape of the convolution.
            bits: Element width.
            thread_map: Coverage of the tile by threads.
            elements_per_vec: Elements of one memory instruction.
            tile: Tile index along M (activation) or N (filter). An integer or an array over CTAs.
            slice_: Split-K slice, broadcast against ``tile``.
        """
        super().__init__(thread_map, elements_per_vec, tile=tile, slice_=slice_)
        self.shape = shape
        self.bits = bits

    def filter_position(self, number: npt.ArrayLike) -> tuple[IntArray, IntArray, IntArray]:
        """
        Return the filter position of a fetch, r and s in the shape of ``number``, and its first channel for each CTA.
        """
        at = self.walk.at(number)
        return at.row, at.column, self.walk.begin(number, self.slice_)

    def fetch(self, number: npt.ArrayLike) -> GlobalAccess:
        """Return all accesses of fetch ``number``. The coordinates are the tensor's dimensions."""
        at = self.coordinates(number)
        offset = self._offset(number, at)
        coordinates = {name: np.broadcast_to(axis, offset.shape) for name, axis in at.items()}
        return GlobalAccess(coordinates, offset, self._inside(number, at))

    @property
    @abstractmethod
    def walk(self) -> KWalk:
        """The order of the fetches: over filter positions and the channels that are summed."""

    @property
    def tile_k(self) -> int:
        """Number of channels in one k tile."""
        return self.thread_map.shape[self.k_axis]

    @property
    def tile_mn(self) -> int:
        """Number of rows or columns of the GEMM's result that a tile has."""
        return self.thread_map.shape[1 - self.k_axis]

    @abstractmethod
    def coordinates(self, number: npt.ArrayLike) -> dict[str, IntArray]:
        """
        Return the logical coordinate of each access of a fetch, by dimension name.

        The arrays broadcast to [*ctas, threads, accesses, vecs].
        """

    @abstractmethod
    def offset_of(self, at: dict[str, IntArray]) -> IntArray:
        """Return the elements from the tensor's base to some coordinates."""

    def _offset(self, number: npt.ArrayLike, at: dict[str, IntArray]) -> IntArray:  # noqa: ARG002 - of the coordinates alone
        """Return the elements from the tensor's base, for the coordinates ``at`` of fetch ``number``."""
        return self.offset_of(at)

    @abstractmethod
    def _inside(self, number: npt.ArrayLike, at: dict[str, IntArray]) -> BoolArray:
        """Return the predicate of each access."""

    def _channels_inside(self, first: IntArray) -> tuple[IntArray, int]:
        """Return a digit of the signature, with its radix: how many of the fetch's channels exist."""
        return self.walk.inside(first), self.tile_k + 1

    def _tile_inside(self, extent: int) -> tuple[IntArray, int]:
        """Return a digit of the signature, with its radix: how many of the tile's rows or columns exist."""
        return np.clip(extent - self.tile * self.tile_mn, 0, self.tile_mn), self.tile_mn + 1

    def _channel(self, first: IntArray) -> IntArray:
        """Return the channel of each access of fetches, whose first ones are given for each CTA."""
        return over_lanes(first) + (self._strided() if self.k_axis else self._contiguous())

    def _along_mn(self) -> IntArray:
        """Return the row or column of the GEMM's result of each access."""
        return over_lanes(self.tile * self.tile_mn) + (self._contiguous() if self.k_axis else self._strided())


class ImageIterator(ImplicitGemmIterator):
    """
    An iterator over packed images, operand A of an implicit GEMM: each GEMM row reads pixels of its image.

    Its coordinates are image, row, column and channel. In convolution mode it flips r and s; nothing else does.
    """

    @property
    @abstractmethod
    def image(self) -> dict[str, int]:
        """Extents of the tensor that is read, by the names of its dimensions: images, rows, columns, channels."""

    @property
    @abstractmethod
    def rows_of_image(self) -> tuple[int, int]:
        """GEMM rows of one image, as (rows, columns) of pixels; the column varies fastest."""

    @property
    @abstractmethod
    def step(self) -> tuple[int, int]:
        """Rows and columns of the image between the pixels that neighbouring GEMM rows read."""

    @abstractmethod
    def shift(self, r: IntArray, s: IntArray) -> tuple[IntArray, IntArray]:
        """
        Return the row and the column of the pixel that an image's first GEMM row reads at a filter position.

        The pixel may lie outside the image.

        Args:
            r, s: Row and column of the filter as it lies in memory.
        """

    def coordinates(self, number: npt.ArrayLike) -> dict[str, IntArray]:
        """Return image, row, column and channel of each access of a fetch, by the names of the image's dimensions."""
        r, s, first = self.filter_position(number)
        image, pixel = self.gemm_pixel(self._along_mn())
        at = image, *self.read(pixel, over_lanes(r), over_lanes(s)), self._channel(first)
        return dict(zip(self.image, at, strict=True))

    def gemm_pixel(self, gemm_row: IntArray) -> tuple[IntArray, IntArray]:
        """Return the image of GEMM rows, and the number of their pixel among those of the image."""
        image, pixel = np.divmod(gemm_row, prod(self.rows_of_image))
        return image, pixel

    def read(self, pixel: IntArray, r: IntArray, s: IntArray) -> tuple[IntArray, IntArray]:
        """Return the row and the column of the image that GEMM rows read at a filter position, which may be outside."""
        if self.shape.mode == "convolution":
            r, s = self.shape.r - 1 - r, self.shape.s - 1 - s
        row_shift, column_shift = self.shift(r, s)
        row, column = np.divmod(pixel, self.rows_of_image[1])
        return row * self.step[0] + row_shift, column * self.step[1] + column_shift

    def offset_of(self, at: dict[str, IntArray]) -> IntArray:
        """Return the elements from the tensor's base."""
        image, row, column, channel = self.image
        pixel = (at[image] * self.image[row] + at[row]) * self.image[column] + at[column]
        return pixel * self.image[channel] + at[channel]

    def _inside(self, number: npt.ArrayLike, at: dict[str, IntArray]) -> BoolArray:  # noqa: ARG002 - of the coordinates alone
        image, row, column, channel = self.image
        inside = (at[image] < self.image[image]) & (at[channel] < self.image[channel])
        for axis in (row, column):
            inside = inside & (at[axis] >= 0) & (at[axis] < self.image[axis])
        return inside

    @property
    def shares_pixels(self) -> bool:
        """Return True."""
        return True

    @property
    def pixels(self) -> int:
        """Pixels of all images."""
        images, rows, columns, _ = self.image.values()
        return images * rows * columns

    def pixels_of_rows(self, number: int) -> tuple[IntArray, BoolArray]:
        """
        Return the pixel over all images that each GEMM row of the tiles reads at a fetch, and whether it exists.

        Neighbouring GEMM rows and filter positions share pixels. The existing pixels of a tile ascend.

        Returns:
            Two arrays of shape [*ctas, rows of a tile].
        """
        images, rows, columns, _ = self.image.values()
        at = self.walk.at(number)
        image, pixel = self.gemm_pixel(self.tile[..., None] * self.tile_mn + np.arange(self.tile_mn))
        row, column = self.read(pixel, at.row, at.column)
        inside = (image < images) & (row >= 0) & (row < rows) & (column >= 0) & (column < columns)
        return (image * rows + row) * columns + column, inside

    def signature(self, number: npt.ArrayLike) -> IntArray:
        """
        Return a key that is equal for fetches with equal access patterns.

        It packs the positions at which the tile's GEMM rows pass to another row of pixels or another image, the pixels
        outside the image, the rows and channels that exist, and the offset of the base in its 128-byte line.

        Most tiles lie inside one image, many of them in one row of pixels, and most of these read no pixel outside the
        image. So a large problem has few keys, however many tiles and filter positions it has.
        """
        images = next(iter(self.image.values()))
        _, _, first = self.filter_position(number)
        place, places = self._place_in_image(number)
        return packed(
            (place, places),
            self._tile_inside(images * prod(self.rows_of_image)),
            self._channels_inside(first),
            (self.base(number) * self.bits % LINE_BITS, LINE_BITS),
        )

    def _place_in_image(self, number: npt.ArrayLike) -> tuple[IntArray, int]:
        """
        Return a digit of the signature, with its radix: the pixels that the tile reads, relative to the first one.

        A tile that spans two images is identified by its place in the image and by the filter position. Any other tile
        is identified by the rows and columns of pixels inside the image and, if it spans several rows of pixels, by its
        first column.
        """
        (rows, columns), length = self.rows_of_image, self.tile_mn
        at = self.walk.at(number)
        inside_rows, inside_columns = (self._inside_range(axis, at.row, at.column) for axis in (0, 1))
        pixel = self.tile * length % (rows * columns)
        row, column = np.divmod(pixel, columns)
        # Rows of pixels that a tile may span, and the range of its own rows that exist.
        spanned = (columns - 1 + length - 1) // columns + 1
        own_rows = [np.clip(bound - row, 0, spanned) for bound in inside_rows]
        own_columns = [np.clip(bound - column, 0, length) for bound in inside_columns]
        vertical, verticals = _pair(own_rows, spanned)
        in_row, in_rows = _pair(own_columns, length)
        across, positions = self._columns_alike[at.column], self.walk.positions
        kinds = (
            (packed((vertical, verticals), (in_row, in_rows)), verticals * in_rows),
            (
                packed((vertical, verticals), (column, columns), (across, self.walk.columns)),
                verticals * columns * self.walk.columns,
            ),
            (packed((pixel, rows * columns), (at.place, positions)), rows * columns * positions),
        )
        ends = np.cumsum([radix for _, radix in kinds]).tolist()
        stays, in_image = column + length <= columns, pixel + length <= rows * columns
        (alone, _), (wraps, _), (passes, _) = kinds
        place = np.where(in_image, np.where(stays, alone, ends[0] + wraps), ends[1] + passes)
        return place, ends[2]

    @cached_property
    def _columns_alike(self) -> IntArray:
        """A number for each filter column, equal for those with the same columns of pixels inside the image."""
        columns = self.rows_of_image[1]
        s = np.arange(self.walk.columns)
        bounds = [np.clip(bound, 0, columns) for bound in self._inside_range(1, np.zeros_like(s), s)]
        _, alike = np.unique(np.stack(bounds), axis=1, return_inverse=True)
        return alike.reshape(-1)

    def _inside_range(self, axis: int, r: IntArray, s: IntArray) -> tuple[IntArray, IntArray]:
        """
        Return the range of rows (axis 0) or columns (1) of pixels that read inside the image at a filter position.

        The result is the first one, and the one after the last.
        """
        first_pixel = np.zeros((), dtype=np.int64)
        extent, step, shift = list(self.image.values())[1 + axis], self.step[axis], self.read(first_pixel, r, s)[axis]
        return -(shift // step), -((shift - extent) // step)

    def base(self, number: npt.ArrayLike) -> IntArray:
        """Return the offset of the pixel that the tile's first GEMM row reads, which may be outside, in elements."""
        r, s, first = self.filter_position(number)
        image, pixel = self.gemm_pixel(self.tile * self.tile_mn)
        at = image, *self.read(pixel, r, s), first
        return self.offset_of(dict(zip(self.image, at, strict=True)))


def _pair(bounds: Sequence[IntArray], most: int) -> tuple[IntArray, int]:
    """Return two bounds of at most ``most`` as one digit, with its radix; all empty ranges are equal."""
    begin, end = bounds
    nothing = begin >= end
    return packed((np.where(nothing, 0, begin), most + 1), (np.where(nothing, 0, end), most + 1)), (most + 1) ** 2


class KrscIterator(ImplicitGemmIterator):
    """
    An iterator over the packed filter [k, r, s, c], operand B of an implicit GEMM, contiguous along c.

    Attributes:
        column_axis: The dimension, k or c, that is N of the GEMM. The other one is summed.
    """

    column_axis: ClassVar[Literal["k", "c"]]

    def coordinates(self, number: npt.ArrayLike) -> dict[str, IntArray]:
        """Return k, r, s and c of each access of a fetch."""
        r, s, first = self.filter_position(number)
        return self._at(self._along_mn(), over_lanes(r), over_lanes(s), self._channel(first))

    def _at(self, column: IntArray, r: IntArray, s: IntArray, channel: IntArray) -> dict[str, IntArray]:
        """Return k, r, s and c, of a column of the GEMM's result, a filter position and a summed channel."""
        k, c = (column, channel) if self.column_axis == "k" else (channel, column)
        return {"k": k, "r": r, "s": s, "c": c}

    def base(self, number: npt.ArrayLike) -> IntArray:
        """Return the offset of the tile's first filter and channel, in elements."""
        return self.offset_of(self._at(self.tile * self.tile_mn, *self.filter_position(number)))

    def signature(self, number: npt.ArrayLike) -> IntArray:
        """
        Return a key that is equal for fetches with equal access patterns.

        It packs the columns and channels of the tile that exist, and the offset of the base in its 128-byte line.
        """
        _, _, first = self.filter_position(number)
        return packed(
            self._tile_inside(self.shape.k if self.column_axis == "k" else self.shape.c),
            self._channels_inside(first),
            (self.base(number) * self.bits % LINE_BITS, LINE_BITS),
        )

    def offset_of(self, at: dict[str, IntArray]) -> IntArray:
        """Return the elements from the filter's base."""
        shape = self.shape
        return ((at["k"] * shape.r + at["r"]) * shape.s + at["s"]) * shape.c + at["c"]

    def _inside(self, number: npt.ArrayLike, at: dict[str, IntArray]) -> BoolArray:  # noqa: ARG002 - of the coordinates alone
        return (at["k"] < self.shape.k) & (at["c"] < self.shape.c)
