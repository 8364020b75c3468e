"""Tensor maps are encoded at an address that the driver takes, and read back whole; errors of the driver are told."""

import ctypes

import numpy as np
import pytest

from gpusim.errors import CannotRun
from gpusim.lab.calibrate.hopper import tensor_maps
from gpusim.lab.calibrate.hopper.tensor_maps import BoxMap, encode

BOXES = BoxMap(address=1 << 20, columns=256, rows=1024, pitch=512, box_columns=64, box_rows=128, swizzle=128)


class Driver:
    """A driver that writes 0, 1, 2, ... into the map's words, unless it is to fail."""

    def __init__(self, status=0):
        self.status, self.given = status, []

    def cuTensorMapEncodeTiled(self, to, *given):  # noqa: N802 - the driver's name
        assert to.value % 64 == 0
        ctypes.memmove(to.value, np.arange(16, dtype=np.uint64).tobytes(), 128)
        self.given = given
        return self.status


def test_a_map_is_the_words_that_the_driver_wrote(monkeypatch):
    driver = Driver()
    monkeypatch.setattr(tensor_maps, "_driver", lambda: driver)

    found = encode(BOXES)

    assert (found.nbytes, found["words"].tolist()) == (128, list(range(16)))
    element, rank, address, dims, strides, box, _, interleave, swizzle, promotion, _ = driver.given
    assert (element.value, rank.value, address.value) == (6, 2, 1 << 20)
    assert (list(dims), list(strides), list(box)) == ([256, 1024], [512], [64, 128])
    assert (interleave.value, swizzle.value, promotion.value) == (0, 3, 2)


def test_what_the_driver_rejects_is_told_with_the_boxes(monkeypatch):
    monkeypatch.setattr(tensor_maps, "_driver", lambda: Driver(status=1))

    with pytest.raises(
        CannotRun, match=r"the driver does not encode a tensor map \(error 1\): BoxMap\(address=1048576"
    ):
        encode(BOXES)
