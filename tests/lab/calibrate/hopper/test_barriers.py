"""Rows of barriers: cycles of a round, of one way, and of registers that are waited for."""

from types import SimpleNamespace

import numpy as np

from gpusim.lab.calibrate.hopper.barriers import measure_mbarriers


class Rounds:
    """A device whose warps take 32 * 8 rounds of 50 cycles, and whose readings are otherwise 30 cycles apart."""

    sms = 132
    cupy = SimpleNamespace(zeros=np.zeros, asnumpy=np.asarray)

    def launch(self, source, kernel, arguments, *, shared, architecture, **_):
        assert (source, shared, architecture) == ("mbarriers", 0, "sm_90a")
        seen = arguments[0]
        if kernel == "registers_moved":  # warp w begins at w
            seen[:, 0] = 1 + np.arange(12)
            seen[:, 1] = seen[:, 0] + 30
        elif kernel == "alone_row":
            seen[...] = 1, 81, 241
        elif kernel.startswith("way"):
            seen[0], seen[int(arguments[3])] = 500, 530
        else:  # a cluster's CTAs between the first and the last take no part
            seen[:: max(1, len(seen) - 1)] = 1, 1 + 32 * 8 * 50


ROWS = measure_mbarriers(Rounds(), quick=False)


def cycles(what, **wanted):
    found = [row for row in ROWS if row["what"] == what and wanted.items() <= row.items()]
    return [row["cycles"] for row in found]


def test_a_round_has_the_cycles_of_the_slowest_warp():
    assert cycles("alone_arrive") == [50]
    assert cycles("remote_pair_2") == cycles("remote_all_4") == [50, 50]
    assert cycles("trip_warps", other=4) == [50]


def test_a_row_of_barriers_has_cycles_for_each():
    assert (cycles("row_arrive"), cycles("row_wait")) == ([10], [20])


def test_one_way_is_from_the_arrival_to_the_end_of_the_wait():
    assert cycles("way_arrive") == cycles("way_bytes") == [30, 30]


def test_registers_are_waited_for_from_when_they_are_given_back():
    """Warps 0 to 3 give, the last of them at 4; warps 4 to 11 take, the last of them until 12 + 30."""
    assert cycles("registers_given", delay=200) == cycles("registers_taken", delay=200) == [30]
    assert cycles("registers_waited", delay=0) == [38]


def test_clusters_are_measured_alone_and_beside_others():
    of = {row["ctas"] for row in ROWS if row["what"] == "remote_all_4"}

    assert of == {4, 64}
