"""The shortest of several launches, and the medians of rounds and CTAs."""

from types import SimpleNamespace

import numpy as np
import pytest

from gpusim.lab.calibrate.hopper.launches import clocks, of_ctas, of_rounds, structure


class Lengths:
    """A device whose launches take 50, 30 and 40 cycles; the second one gives a wait up."""

    def __init__(self):
        self.lengths = [50, 30, 40]
        self.cupy = SimpleNamespace(zeros=np.zeros, asnumpy=np.asarray)

    def launch(self, source, kernel, arguments, **how):
        assert (source, kernel, how["architecture"]) == ("tma_boxes", "ring_1", "sm_90a")
        length = self.lengths.pop(0)
        arguments[0][...] = [7, 7 + length]
        arguments[1][0] = length == 30


def test_the_shortest_launch_counts_and_no_error_is_lost():
    found, error = clocks(Lengths(), "tma_boxes", "ring_1", (), (2, 2))

    assert found.tolist() == [[7, 37], [7, 37]]
    assert error == "a wait was given up"


def test_a_kernel_is_launched_at_least_once():
    with pytest.raises(ValueError, match="a kernel must be launched at least once"):
        clocks(Lengths(), "tma_boxes", "ring_1", (), (2, 2), repeats=0)


def test_ctas_have_the_median_and_the_slowest():
    found = of_ctas(np.array([[0, 100], [5, 205], [9, 309]]), each=10, each_bytes=64)

    assert found == {"cycles": 200, "slowest": 300, "per_box": 20, "bytes_per_cycle": 3.2}


def test_the_first_round_is_left_out():
    stamps = np.array([[[0, 90, 900], [10, 20, 110], [10, 24, 130]]])

    assert of_rounds(stamps, ("issued", "cycles")) == {"issued": 12, "cycles": 110, "slowest": 120}


def test_a_structure_has_32_bits_for_each_field():
    found = structure(rows=8, pitch=512)

    assert (found.nbytes, found["rows"], found["pitch"]) == (8, 8, 512)
