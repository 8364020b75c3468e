"""Rows of wgmma: cycles from the first warp's begin, the last warp's of each warpgroup."""

from types import SimpleNamespace

import numpy as np

from gpusim.cuda.specialise import kernels_folder
from gpusim.lab.calibrate.hopper.queue import AROUND, QUEUE_COUNTS, WIDTHS, _cases, measure_wgmma_queue

CASES = list(_cases(quick=False))


class Warps:
    """A device on which warp w begins at 1000 + w, and whose readings are 10 cycles apart."""

    sms = 4
    cupy = SimpleNamespace(zeros=np.zeros, asnumpy=np.asarray)

    def launch(self, source, _kernel, arguments, *, ctas, threads, shared, architecture):
        assert (source, ctas, architecture) == ("wgmma_queue", 1, "sm_90a")
        assert shared <= 227 * 1024
        warps, readings = arguments[0].shape
        assert warps == threads // 32
        arguments[0][...] = 1000 + np.arange(warps)[:, None] + 10 * np.arange(readings)


def test_every_width_is_measured_bare_stamped_and_with_all_that_may_stand_around():
    for n in WIDTHS:
        of = [case for case in CASES if case.n == n and case.warpgroups == 1]

        assert [case.wgmmas for case in of if case.around == "bare"] == list(QUEUE_COUNTS)
        assert {case.around for case in of} == {"bare", "stamped", *AROUND}


def test_the_source_has_a_kernel_for_every_number_of_bare_ones():
    source = (kernels_folder() / "microbench" / "wgmma_queue.cu").read_text(encoding="utf-8")

    assert all(f"QUEUE(bare, N, {count})" in source for count in QUEUE_COUNTS)


def test_a_row_has_the_last_warp_of_its_warpgroup():
    rows = measure_wgmma_queue(Warps(), quick=True)

    bare = next(row for row in rows if row["around"] == "bare")
    assert (bare["begin"], bare["issued"], bare["done"], bare["clocks"]) == (3, 13, 23, "")
    second = next(row for row in rows if row["around"] == "stamped" and row["warpgroup"] == 1)
    assert (second["begin"], second["issued"], second["done"]) == (7, 167, 177)
    assert second["clocks"].split()[:3] == ["14", "24", "34"]
