"""The kernels of a convolution in time: the GEMM's tile kernel, which CUTLASS launches with a structure of its own."""

import pytest

from gpusim.families.conv.fprop.parameters import IMPLICIT_GEMM
from gpusim.families.conv.timed import TimedConvolution, timed_kernels
from gpusim.families.gemm.reduction.timed import TimedReduction
from gpusim.families.registry import parse_scenario
from gpusim.machine.load import load_machine

H200 = load_machine("h200")
EXTENTS = {"n": 1, "h": 8, "w": 8, "c": 64, "k": 64, "r": 3, "s": 3, "padding": [1, 1]}


def kernels_of(kind, **problem):
    scenario = parse_scenario({"machine": "h200", "problem": {"kind": kind} | EXTENTS | problem}, "x.toml")
    return timed_kernels(scenario, H200)


@pytest.mark.parametrize(("kind", "structures"), [("conv2d_fprop", (IMPLICIT_GEMM,)), ("conv2d_dgrad", ())])
def test_cutlass_launches_a_forward_convolution_with_a_structure_and_no_data_gradient(kind, structures):
    (kernel,) = kernels_of(kind)

    assert kernel.launch_structures == structures


def test_a_parallel_split_k_is_a_tile_kernel_and_a_reduction():
    first, second = kernels_of("conv2d_fprop", c=256, split_k="parallel", split_k_slices=2)

    assert (type(first), type(second)) == (TimedConvolution, TimedReduction)
    assert second.scenario is first.scenario


def test_a_convolution_lowers_its_own_code():
    """Its filter positions and pixels are in its code, so that no smaller one could lend it."""
    (kernel,) = kernels_of("conv2d_fprop")

    assert kernel.lender is kernel
