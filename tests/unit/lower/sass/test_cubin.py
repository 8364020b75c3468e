"""What a cubin says of its kernel."""

import gzip
from pathlib import Path

import pytest

from gpusim.errors import BadInput
from gpusim.lower.sass.cubin import read_cubin

FOLDER = Path(__file__).parent / "data"
KERNEL = "gpusim_kernel"


def cubin_bytes(name):
    return gzip.decompress((FOLDER / f"{name}.cubin.gz").read_bytes())


def test_resources_of_a_kernel():
    cubin = read_cubin(cubin_bytes("gemm_ragged_sm90"), KERNEL, "gemm_ragged")

    assert cubin.architecture == 90
    assert 168 < cubin.registers <= 255
    assert cubin.local_bytes == 0
    assert (cubin.parameters_at, cubin.parameter_bytes) == (0x210, 128)
    assert cubin.code_bytes % 128 == 0


@pytest.mark.parametrize(
    ("name", "architecture", "reserved", "parameters_at"),
    [("conv_s6_swizzle_sm80", 80, 0, 0x160), ("gemm_ragged_sm90", 90, 1024, 0x210)],
)
def test_architectures_differ_in_where_parameters_and_shared_memory_begin(name, architecture, reserved, parameters_at):
    cubin = read_cubin(cubin_bytes(name), KERNEL, name)

    assert cubin.architecture == architecture
    assert cubin.shared_bytes == reserved
    assert cubin.parameters_at == parameters_at


def test_a_local_array_is_a_stack():
    assert read_cubin(cubin_bytes("expressions_sm80"), KERNEL, "expressions").local_bytes == 16


def test_a_kernel_that_is_not_there_is_named_with_those_that_are():
    with pytest.raises(BadInput, match=r"^x\.cubin: kernel must be one of gpusim_kernel, got 'other'$"):
        read_cubin(cubin_bytes("gemm_ragged_sm90"), "other", "x.cubin")


@pytest.mark.parametrize("data", [b"", b"\x7fELF", b"MZ" * 100])
def test_what_is_no_cubin_is_refused(data):
    with pytest.raises(BadInput, match=r"^x\.cubin: not a cubin: "):
        read_cubin(data, KERNEL, "x.cubin")
