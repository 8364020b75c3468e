"""A kernel's slice has the path and the accesses of the whole kernel, and says whether data steer them."""

import numpy as np
import pytest
from own.build import cubin_of

from gpusim.execute.image import image_of
from gpusim.execute.launch import KernelLaunch
from gpusim.execute.run import KernelExecution
from gpusim.lab.own.contents import make_arguments
from gpusim.lab.own.table import own_kernel
from gpusim.lower.sass.cubin import read_cubin

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


def execution(name, target=80, *, sliced):
    kernel = own_kernel(name)
    launch = kernel.launch("small")
    given = make_arguments(launch)
    arrays = [(name, value) for name, value in given.items() if isinstance(value, np.ndarray)]
    image = image_of(arrays)
    addresses = {one.name: one.address.to_bytes(8, "little") for one in image.allocations}
    values = [addresses.get(name) or np.asarray(value).tobytes() for name, value in given.items()]
    cubin = read_cubin(cubin_of(kernel.source, target), kernel.entry, kernel.source)
    shape = KernelLaunch(launch.grid, launch.block, launch.shared_bytes)
    return KernelExecution(cubin, shape, values, image, keeps=True, sliced=sliced)


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
@pytest.mark.parametrize("name", [*FREE, *STEERED])
def test_a_slice_has_the_path_and_the_accesses_of_the_kernel(name):
    whole, part = traced(execution(name, sliced=False)), traced(execution(name, sliced=True))

    assert all(np.array_equal(one, other) for one, other in zip(whole, part, strict=True))


@pytest.mark.parametrize("name", FREE)
def test_data_that_reach_no_address_and_no_branch_do_not_steer(name):
    """In the tiled kernels, a guarded load in a loop writes registers that other instructions use for addresses."""
    assert not execution(name, sliced=True).slice.data_steers


@pytest.mark.parametrize("name", STEERED)
def test_data_that_reach_an_address_or_a_branch_steer(name):
    assert execution(name, sliced=True).slice.data_steers
