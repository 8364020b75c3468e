"""
Kernels that CuPy's authors wrote are executed from their machine code, and compute what numpy says.

tests/own/cupy/build.py compiled them from CuPy's sources; tests/own/cupy/programs.py launches them as cupyx does.
"""

import numpy as np
import pytest
from own.cupy import programs
from own.cupy.build import MACHINES, kept

from gpusim.errors import CheckFailed


def launcher(target, launched):
    """Returns what launches a kept kernel, and notes its symbol."""

    def launch(source, symbol, grid, block, *arguments):
        kernel = kept(source, symbol, target)
        launched.add(kernel.cubin.kernel)
        return kernel[grid, block](*arguments)

    return launch


@pytest.mark.compiled
@pytest.mark.parametrize("target", MACHINES)
@pytest.mark.parametrize("program", programs.PROGRAMS, ids=lambda one: one.__name__)
def test_a_kernel_of_cupy_computes_what_numpy_says(program, target):
    launched = set()

    for got, right, tolerance in program(launcher(target, launched)):
        assert got.shape == right.shape
        scale = np.maximum(np.abs(right), np.sqrt(np.mean(np.abs(right) ** 2)))
        assert (np.abs(got - right) <= tolerance * scale).all()

    assert launched


@pytest.mark.compiled
def test_a_warp_that_waits_at_a_barrier_for_lanes_that_left_the_loop_is_refused():
    """
    600 columns leave the last block of 128 with 88: some lanes leave the loop while others wait in it.

    Silicon lets them go on. How is not known, so gpusim names the instruction at which they wait.
    """
    with pytest.raises(CheckFailed, match=r"first_pass_iir.*the warp's lanes never converge at text 0x\w+ \w+"):
        list(programs.iir(launcher(80, set()), n=600))
