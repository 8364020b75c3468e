"""The table of own kernels: names, sources, entries and parameters as the CUDA sources have them, and sizes."""

import re
from collections import Counter

import numpy as np
import pytest

from gpusim.errors import BadInput
from gpusim.lab.own.kernel import OWN_SIZES, ArrayArgument
from gpusim.lab.own.sources import own_folder
from gpusim.lab.own.table import FRAMEWORK_KERNELS, OWN_KERNELS, own_kernel

MOST_SHARED_BYTES = 48 * 1024
PARAMETERS = re.compile(r'extern "C" __global__ void (?:__launch_bounds__\(\w+\)\s+)?(\w+)\(([^)]*)\)', re.DOTALL)
NUMBERS = {
    "int": "int32",
    "unsigned": "uint32",
    "float": "float32",
    "double": "float64",
}


def entries(source):
    """The parameters of each entry of a source: name, without type or star, and type."""
    text = (own_folder() / f"{source}.cu").read_text(encoding="utf-8")
    return {name: [parameter.split() for parameter in each.split(",")] for name, each in PARAMETERS.findall(text)}


def test_there_are_at_least_sixty_kernels_and_each_has_a_name_of_its_own():
    names = [kernel.name for kernel in (*OWN_KERNELS, *FRAMEWORK_KERNELS)]

    assert len(OWN_KERNELS) >= 60
    assert Counter(names).most_common(1)[0][1] == 1


def test_every_source_and_every_entry_stands_in_the_table():
    launched = {(kernel.source, kernel.entry) for kernel in OWN_KERNELS}
    sources = {path.stem for path in own_folder().glob("*.cu")}

    assert launched == {(source, entry) for source in sources for entry in entries(source)}


@pytest.mark.parametrize("kernel", OWN_KERNELS, ids=lambda kernel: kernel.name)
def test_a_launch_gives_each_parameter_what_it_takes(kernel):
    parameters = entries(kernel.source)[kernel.entry]

    for size in OWN_SIZES:
        arguments = kernel.launch(size).arguments
        assert len(arguments) == len(parameters)
        for argument, parameter in zip(arguments.values(), parameters, strict=True):
            is_pointer = "*" in "".join(parameter)
            assert isinstance(argument, ArrayArgument) == is_pointer
            if not is_pointer:
                assert argument.dtype == NUMBERS[parameter[-2]]


@pytest.mark.parametrize("kernel", OWN_KERNELS, ids=lambda kernel: kernel.name)
def test_both_launches_have_one_block_and_the_small_one_is_smaller(kernel):
    assert kernel.small.block == kernel.large.block
    assert kernel.small.shared_bytes == kernel.large.shared_bytes <= MOST_SHARED_BYTES
    assert kernel.small.threads < kernel.large.threads
    assert np.prod(kernel.small.block) <= 1024


@pytest.mark.parametrize("kernel", FRAMEWORK_KERNELS, ids=lambda kernel: kernel.name)
def test_both_launches_of_a_framework_have_one_block_and_the_large_one_fills_the_gpu(kernel):
    assert kernel.small.block == kernel.large.block
    assert kernel.small.shared_bytes == kernel.large.shared_bytes
    assert list(kernel.small.arguments) == list(kernel.large.arguments)
    assert kernel.small.threads < kernel.large.threads
    assert np.prod(kernel.large.grid) >= 256


def test_a_mangled_entry_has_its_functions_name():
    assert own_kernel("cupy_bspline").function == "d_boor"
    assert own_kernel("cupy_update_tags").function == "update_tags"
    assert own_kernel("triton_matmul_64").function == "matmul"


def test_an_unknown_name_is_refused():
    assert own_kernel("saxpy").entry == "saxpy"
    with pytest.raises(BadInput, match='no own kernel is called "saxpi"'):
        own_kernel("saxpi")
    with pytest.raises(BadInput, match='no own kernel is called "saxpy"'):
        own_kernel("saxpy", FRAMEWORK_KERNELS)
