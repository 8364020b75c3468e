"""Rows of wgmma beside traffic: cycles of a wgmma, and bytes of the traffic that was counted."""

from types import SimpleNamespace

import numpy as np
import pytest

from gpusim.lab.calibrate.hopper import tensor_maps
from gpusim.lab.calibrate.hopper.beside import MULTIPLIERS, TURN_BYTES, _cases, measure_wgmma_loads

CASES = list(_cases(132, quick=False))


class Paces:
    """A device whose wgmma of N columns take N / 2 cycles, and whose warps have a turn in 256 cycles."""

    sms = 4

    def __init__(self):
        self.times = []
        self.cupy = SimpleNamespace(zeros=self.zeros, asnumpy=np.asarray)

    def zeros(self, shape, dtype):
        return np.zeros(shape, dtype=dtype).view(Data)

    def launch(self, source, kernel, arguments, *, ctas, threads, shared, architecture):
        assert (source, architecture) == ("wgmma_loads", "sm_90a")
        assert shared <= 226 * 1024
        _, n, groups = kernel.split("_")
        seen, _, _, times, trips = arguments
        of_ctas = seen.reshape(ctas, threads // 32, 3)
        multiplying = 4 * int(groups)
        of_ctas[:, :multiplying] = 100, 0, 100 + int(trips) * 4 * int(groups) * int(n) // 2
        of_ctas[:, multiplying:] = 200, 10, 200 + 2560
        self.times.append(times)


class Data(np.ndarray):
    @property
    def data(self):
        return SimpleNamespace(ptr=1 << 20)


@pytest.fixture
def rows(monkeypatch):
    monkeypatch.setattr(tensor_maps, "encode", lambda _: np.zeros(1, dtype="V128")[0])
    return measure_wgmma_loads(Paces(), quick=False)


def test_all_traffic_is_measured_with_wgmma_and_without():
    for n, warpgroups in MULTIPLIERS:
        for traffic in TURN_BYTES:
            of = [case for case in CASES if case[:3] == (traffic, n, warpgroups)]

            assert {case[3:6] for case in of if case.multiplies} == {case[3:6] for case in of if not case.multiplies}


def test_a_cta_has_at_most_the_threads_of_its_kernel():
    """wgmma_loads.cu bounds them by 256 more than those that multiply."""
    assert max(case.warps for case in CASES) * 32 <= 256


def test_a_wgmma_has_its_cycles_and_traffic_its_bytes(rows):
    alone = {(row["n"], row["warpgroups"]): row for row in rows if row["traffic"] == "none"}
    assert {place: row["per_wgmma"] for place, row in alone.items()} == {place: place[0] / 2 for place in MULTIPLIERS}

    loads = next(row for row in rows if row["traffic"] == "lds" and row["warps"] == 4 and row["multiplies"] == 1)
    assert loads["bytes_per_cycle"] == 4 * TURN_BYTES["lds"] / 256
    ceiling = next(row for row in rows if row["traffic"] == "tma" and row["multiplies"] == 0)
    assert ceiling["bytes_per_cycle"] == TURN_BYTES["tma"] / 256
    assert "per_wgmma" not in ceiling


def test_traffic_is_counted_while_wgmma_go_on_and_lasts_longer(monkeypatch):
    monkeypatch.setattr(tensor_maps, "encode", lambda _: np.zeros(1, dtype="V128")[0])
    device = Paces()
    measure_wgmma_loads(device, quick=True)

    alone = 256 * 4 * 32
    assert {(int(times["counted"]), int(times["ended"])) for times in device.times} >= {
        (int(0.8 * alone), alone),
        (int(0.8 * alone), 4 * alone),
    }
