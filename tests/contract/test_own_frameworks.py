"""
Kernels of Triton and CuPy are executed from the machine code that is measured, and write what numpy says.

tests/own/frameworks.py keeps that machine code in reports/measured/h200/own_frameworks.
"""

import numpy as np
import pytest

from gpusim.lab.own.compare import compare
from gpusim.lab.own.contents import make_arguments
from gpusim.lab.own.counts.compared import prepared
from gpusim.lab.own.frameworks.triton import TRITON_KERNELS
from gpusim.lab.own.kernel import OWN_SIZES
from gpusim.lab.own.machine_code import frameworks_folder, read_code
from gpusim.lab.own.table import FRAMEWORK_KERNELS
from gpusim.lower.sass.cubin import read_cubin

OF_TRITON = pytest.mark.parametrize("kernel", TRITON_KERNELS, ids=[kernel.name for kernel in TRITON_KERNELS])
EVERY = pytest.mark.parametrize("kernel", FRAMEWORK_KERNELS, ids=[kernel.name for kernel in FRAMEWORK_KERNELS])


@pytest.mark.compiled
@EVERY
def test_a_kernel_of_a_framework_writes_what_numpy_says(kernel):
    execution = prepared(kernel, "small", frameworks_folder())
    for _ in execution.run():
        pass

    before = make_arguments(kernel.small)
    arrays = [name for name, value in before.items() if isinstance(value, np.ndarray)]
    written = {name: execution.image.contents_of(number, before[name]) for number, name in enumerate(arrays)}
    assert compare(kernel, before, written).wrong == 0


@EVERY
def test_a_launch_gives_each_parameter_its_bytes(kernel):
    cubin = read_cubin(read_code(frameworks_folder(), kernel.code), kernel.entry, kernel.code)

    for launch in (kernel.small, kernel.large):
        arguments = launch.arguments.values()
        sizes = [np.dtype(one.dtype).itemsize if hasattr(one, "value") else 8 for one in arguments]
        assert sizes == [size for _, size in cubin.parameters]
        assert np.prod(launch.block) <= 1024


@pytest.mark.compiler("triton")
@pytest.mark.parametrize("size", OWN_SIZES)
@OF_TRITON
def test_the_machine_code_of_both_launches_is_what_triton_compiles_today(kernel, size):
    from own.frameworks import compiled_for  # noqa: PLC0415 # needs Triton

    made = compiled_for(kernel, size)

    assert made.asm["cubin"] == read_code(frameworks_folder(), kernel.code)
    assert made.metadata.shared == kernel.large.shared_bytes
