"""A kernel's slice has the path and the accesses of the whole kernel, and says whether data steer them."""

import numpy as np
import pytest
from own.traced import execution

from gpusim.lab.own.table import OWN_KERNELS

FREE = (
    "saxpy",
    "transpose_tile",
    "transpose_padded",
    "sgemm_shared",
    "sgemm_naive",
    "mma_fp16",
    "stencil_plane_shared",
)
STEERED = ("gather", "spmv_vector", "local_sort", "interpreter", "constant_table", "histogram_shared")


OTHERS = [
    pytest.param(kernel.name, target, marks=pytest.mark.slow)
    for target in (75, 80, 90)
    for kernel in OWN_KERNELS
    if kernel.needs <= target and (target != 80 or kernel.name not in (*FREE, *STEERED))
]


def traced(one):
    """Steps and warps of all CTAs, and the addresses of all lanes that access memory."""
    steps, warps, accesses = [], [], []
    for piece in one.run():
        steps.append(piece.steps.copy())
        warps.append(piece.warps.copy())
        taking = piece.lanes[piece.accesses][:, None] >> np.arange(32) & 1
        accesses.append(np.where(taking, piece.addresses, -1))
    return np.concatenate(steps), np.concatenate(warps), np.concatenate(accesses)


@pytest.mark.compiled
@pytest.mark.parametrize(("name", "target"), [*((name, 80) for name in (*FREE, *STEERED)), *OTHERS])
def test_a_slice_has_the_path_and_the_accesses_of_the_kernel(name, target):
    whole, part = (traced(execution(name, target, sliced=sliced)) for sliced in (False, True))

    assert all(np.array_equal(one, other) for one, other in zip(whole, part, strict=True))


@pytest.mark.parametrize("name", FREE)
def test_data_that_reach_no_address_and_no_branch_do_not_steer(name):
    """In the tiled kernels, a guarded load in a loop writes registers that other instructions use for addresses."""
    assert not execution(name, sliced=True).slice.data_steers


@pytest.mark.parametrize("name", STEERED)
def test_data_that_reach_an_address_or_a_branch_steer(name):
    assert execution(name, sliced=True).slice.data_steers
