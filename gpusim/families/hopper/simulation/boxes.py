"""The lines of the L2 that each box of TMA requests. Boxes whose lines lie alike are one request."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from gpusim.arrays import IntArray
from gpusim.sim.columns import Column, column, zeros
from gpusim.sim.core.constants import TENSOR_STRIDE
from gpusim.units import LINE_BYTES, SECTOR_BYTES, SECTORS_PER_LINE


class BoxedTensor(NamedTuple):
    """
    A packed tensor that TMA moves.

    Attributes:
        number: Its number; no two tensors share lines.
        width, height: Contiguous elements, and rows of a batch.
        bytes: Bytes of an element.
    """

    number: int
    width: int
    height: int
    bytes: int


@dataclass(slots=True)
class BoxLines:
    """
    Requests of boxes.

    Attributes:
        asked, touched, l1_wavefronts, line, mask: As in ``columns.Data``; TMA passes by the L1.
        masked, passes: As in ``columns.Traces``.
    """

    asked: Column
    touched: Column
    l1_wavefronts: Column
    line: Column
    mask: Column
    masked: Column
    passes: Column


class BoxRequests:
    """Collects the distinct requests of boxes."""

    def __init__(self) -> None:
        """Collect nothing yet."""
        self._known: dict[tuple[int, ...], int] = {}
        self._asked, self._touched = list[int](), [0]
        self._line, self._mask, self._masked = list[int](), list[int](), list[int]()

    def of(
        self, tensor: BoxedTensor, coordinates: IntArray, box: tuple[int, int], *, masked: bool = False
    ) -> tuple[IntArray, IntArray]:
        """
        Return the request of each box, and the line that its lines count from.

        Elements outside the tensor are not requested.

        Args:
            tensor: The tensor.
            coordinates: First element of each box: contiguous, row, batch. Shape [boxes, 3].
            box: Contiguous elements and rows of a box.
            masked: Whether a store writes sectors in part.
        """
        pitch = tensor.width * tensor.bytes
        x, y, batch = coordinates.T
        start = ((batch * tensor.height + y) * tensor.width + x) * tensor.bytes
        rows = np.clip(tensor.height - y, 0, box[1])
        size = np.clip(tensor.width - x, 0, box[0]) * tensor.bytes
        rows = np.where(size > 0, rows, 0)
        keys = np.stack([start % LINE_BYTES, rows, np.where(rows > 0, size, 0)], axis=1)
        distinct, which = np.unique(keys, axis=0, return_inverse=True)
        numbers = np.array(
            [self._number(pitch, int(key[0]), int(key[1]), int(key[2]), int(masked)) for key in distinct],
            dtype=np.int64,
        )
        return numbers[which.reshape(-1)], tensor.number * TENSOR_STRIDE + start // LINE_BYTES

    def _number(self, pitch: int, first: int, rows: int, size: int, masked: int) -> int:
        key = pitch, first, rows, size, masked
        if key not in self._known:
            self._known[key] = len(self._asked)
            sectors = 0
            for row in range(rows):
                begin = first + row * pitch
                own = range(begin // SECTOR_BYTES, (begin + size - 1) // SECTOR_BYTES + 1)
                masks: dict[int, int] = {}
                for sector in own:
                    line = sector // SECTORS_PER_LINE
                    masks[line] = masks.get(line, 0) | 1 << sector % SECTORS_PER_LINE
                self._line += masks
                self._mask += masks.values()
                self._masked += [masked] * len(masks)
                sectors += len(own)
            self._asked.append(sectors)
            self._touched.append(len(self._line))
        return self._known[key]

    def lines(self) -> BoxLines:
        """Return all requests as columns."""
        return BoxLines(
            column(self._asked),
            column(self._touched),
            zeros(len(self._asked)),
            column(self._line),
            column(self._mask),
            column(self._masked),
            zeros(len(self._masked)),
        )
