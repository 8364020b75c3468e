"""The cases of boxes: every shape alone and by all SMs, within shared memory, the tensor and what the driver takes."""

from types import SimpleNamespace

import numpy as np
import pytest

from gpusim.lab.calibrate.hopper import tensor_maps
from gpusim.lab.calibrate.hopper.boxes import (
    _ROUNDS,
    BOX_COLUMNS,
    BOX_ROWS,
    BURSTS,
    FAR_ROWS,
    FULL_SPANS,
    NEAR_ROWS,
    RINGS,
    BoxCase,
    Loads,
    _cases,
    _trips,
)

SMS = 132
CASES = [case for case in _cases(SMS, quick=False) if case.fits]


class OneLength:
    """A device whose bursts are issued after 20 cycles and land after 400, and whose rings take 12800 cycles."""

    def __init__(self, state=0):
        self.sms, self.state, self.launched = SMS, state, []
        self.cupy = SimpleNamespace(zeros=self.zeros, asnumpy=np.asarray)

    def zeros(self, shape, dtype):
        if np.prod(shape) > 1 << 22:
            return SimpleNamespace(data=SimpleNamespace(ptr=1 << 20), nbytes=int(np.prod(shape)))
        return np.zeros(shape, dtype=dtype)

    def launch(self, source, kernel, arguments, *, ctas, threads, shared=0, architecture=""):
        if source == "cold":
            return
        assert (source, architecture, threads) == ("tma_boxes", "sm_90a", 32)
        seen, state = arguments[:2]
        seen[...] = [100, 120, 500] if kernel.startswith("burst") else [100, 12_900]
        state[0] = self.state
        self.launched.append((kernel, ctas, shared, arguments[3]))


@pytest.fixture
def encoded(monkeypatch):
    found = []
    monkeypatch.setattr(tensor_maps, "encode", lambda boxes: found.append(boxes) or np.zeros(1, dtype="V128")[0])
    return found


def test_every_shape_is_a_burst_and_a_ring_on_one_sm_and_on_all():
    for inner, swizzle in FULL_SPANS:
        for rows in BOX_ROWS:
            for sms in (1, SMS):
                of = [
                    case
                    for case in CASES
                    if (case.rows, case.inner, case.swizzle, case.sms) == (rows, inner, swizzle, sms)
                ]
                near = [case for case in of if case.source == "L2"]

                assert {case.in_flight for case in near if case.kind == "burst"} >= {1, 2, 4}
                assert {case.in_flight for case in near if case.kind == "ring"} >= {1, 2, 4}


def test_each_number_of_loads_is_measured_of_boxes_that_fit():
    assert {case.in_flight for case in CASES if case.kind == "burst"} == set(BURSTS)
    assert {case.in_flight for case in CASES if case.kind == "ring" and case.source == "L2"} == set(RINGS)


def test_boxes_fit_in_shared_memory_and_in_their_area():
    for case in CASES:
        assert case.in_flight * case.slot_bytes + 2048 <= 227 * 1024
        assert case.pitch >= BOX_COLUMNS * 128
        if case.source == "DRAM":
            below = -(-case.in_flight // BOX_COLUMNS)
            assert case.kind == "burst" or (_trips(case) + 2) * below * case.rows <= FAR_ROWS
            assert _trips(case) > 8


def test_a_burst_has_the_cycles_until_it_was_issued_and_landed(encoded):
    device = OneLength()
    row = Loads(device, 1 << 23).row(BoxCase("burst", "L2", 64, 128, 128, 512, 0, 4, SMS))

    assert (row["issued"], row["cycles"], row["slowest"], row["per_box"]) == (20, 400, 400, 100)
    assert row["bytes_per_cycle"] == 4 * 8192 / 400
    assert row["error"] == ""
    kernel, ctas, shared, fields = device.launched[0]
    assert (kernel, ctas, shared) == ("burst_4", SMS, 120 << 10)
    assert (fields["bytes"], fields["slot_bytes"], fields["round_rows"], fields["modulo"]) == (8192, 8192, 0, SMS)
    assert (encoded[0].box_columns, encoded[0].box_rows, encoded[0].rows) == (64, 64, SMS * NEAR_ROWS)


def test_a_ring_has_the_cycles_of_a_box(encoded):
    """128 boxes take 12800 cycles."""
    row = Loads(OneLength(), 1 << 23).row(BoxCase("ring", "L2", 8, 64, 64, 512, 0, 8, 1))

    assert (row["per_box"], row["bytes_per_cycle"]) == (100, 512 / 100)
    assert len(encoded) == 1


def test_boxes_of_dram_go_on_from_round_to_round(encoded):
    device = OneLength()
    Loads(device, 1 << 23).row(BoxCase("burst", "DRAM", 256, 128, 128, 512, 0, 4, 1))

    fields = device.launched[0][3]
    assert (fields["round_rows"], fields["area_rows"], fields["modulo"]) == (NEAR_ROWS, FAR_ROWS, 1)
    assert encoded[0].rows == FAR_ROWS >= _ROUNDS * NEAR_ROWS


@pytest.mark.parametrize(("state", "error"), [(1, "a wait was given up"), (2, "other bytes than expected")])
@pytest.mark.usefixtures("encoded")
def test_what_was_wrong_stands_in_the_row(state, error):
    row = Loads(OneLength(state), 1 << 23).row(BoxCase("ring", "L2", 8, 64, 64, 512, 0, 8, 1))

    assert row["error"] == error
