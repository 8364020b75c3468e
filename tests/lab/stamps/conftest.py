"""A stamped kernel for the tests of its room."""

import pytest

from gpusim.families.registry import load_gemm_scenario
from gpusim.lab.stamps.kernel import StampedTileKernel
from gpusim.machine.load import load_machine
from gpusim.scenario.catalogue import find_scenario


@pytest.fixture
def kernel():
    """A GEMM of 7 k tiles in three stages, 4 CTAs."""
    overrides = ("problem.m=256", "problem.n=256", "problem.k=224")
    return StampedTileKernel(
        load_gemm_scenario(find_scenario("gemm_128x128x32_s3_2048"), overrides), load_machine("h200")
    )
