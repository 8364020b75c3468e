"""The cases of resident CTAs: every number of barriers, as constants and in a register, has a kernel in the source."""

from types import SimpleNamespace

import numpy as np

from gpusim.cuda.specialise import kernels_folder
from gpusim.lab.calibrate.own.residents import RESIDENT_BARRIERS, _cases, measure_residents

CASES = list(_cases(quick=False))


class Launches:
    """A device of four SMs whose kernels note that SM ``i`` held 4 + ``i`` CTAs."""

    def __init__(self):
        self.sms, self.kernels = 4, []
        self.cupy = SimpleNamespace(zeros=np.zeros, asnumpy=np.asarray)

    def launch(self, source, kernel, arguments, *, ctas, threads):
        assert (source, ctas) == ("residents", 160)
        self.kernels.append((kernel, int(arguments[2]), threads))
        arguments[1][:] = [4, 5, 6, 7]


def test_constants_and_registers_are_measured_for_one_warp_and_for_four():
    for threads in (32, 128):
        assert [case.barriers for case in CASES if case[1:] == (0, threads)] == [0, 1, 2, 3, 4, 5, 8, 12, 16]
        assert [case.barriers for case in CASES if case[1:] == (1, threads)] == [1, 16]


def test_the_source_has_a_kernel_for_each_number_of_barriers():
    source = (kernels_folder() / "microbench" / "residents.cu").read_text(encoding="utf-8")

    assert all(f"\nRESIDENTS({barriers})\n" in source for barriers in RESIDENT_BARRIERS)


def test_a_row_has_the_ctas_of_the_fullest_and_of_the_emptiest_sm():
    device = Launches()

    rows = measure_residents(device, quick=True)

    assert rows[1] == {"barriers": 1, "register_id": 0, "threads": 32, "resident": 7, "fewest": 4}
    assert device.kernels[1] == ("residents_constant_1", 1, 32)
    assert device.kernels[-1] == ("residents_register", 16, 32)
