"""What a cubin says of its kernel."""

import gzip
from pathlib import Path

import pytest

from gpusim.errors import BadInput
from gpusim.lower.sass.cubin import ELF_HEADER, SECTION_HEADER, kernel_names, read_cubin

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


@pytest.mark.parametrize("name", ["sm75", "sm80", "sm90", "sm75_of_cuda_12", "sm80_of_cuda_12", "sm90_of_cuda_12"])
def test_a_kernel_has_the_barriers_below_its_highest_and_all_if_a_register_has_the_number(name):
    data = cubin_bytes(f"barriers/barriers_{name}")

    found = {kernel: read_cubin(data, kernel, name).barriers for kernel in kernel_names(data, name)}

    constant = {f"barriers_{count}": count for count in (0, 1, 5, 16)}
    assert found == constant | {"barrier_7_alone": 8, "barrier_of_register": 16}


def test_a_kernel_with_too_many_barriers_is_refused():
    data = bytearray(cubin_bytes("barriers/barriers_sm80_of_cuda_12"))
    flags = header_of(bytes(data), b".text.barriers_5") + 8
    data[flags : flags + 8] = (17 << 20 | 6).to_bytes(8, "little")

    with pytest.raises(BadInput, match=r"^x\.cubin: barriers_5 has 17 barriers; a kernel has at most 16$"):
        read_cubin(bytes(data), "barriers_5", "x.cubin")


def test_a_local_array_is_a_stack():
    assert read_cubin(cubin_bytes("expressions_sm80"), KERNEL, "expressions").local_bytes == 16


def test_a_kernel_that_is_not_there_is_named_with_those_that_are():
    with pytest.raises(BadInput, match=r"^x\.cubin: kernel must be one of gpusim_kernel, got 'other'$"):
        read_cubin(cubin_bytes("gemm_ragged_sm90"), "other", "x.cubin")


def test_a_function_that_kernels_call_is_no_kernel():
    """nvJitLink leaves such a function in a section of its own; it has no constants, for it has no parameters."""
    data = cubin_bytes("gemm_ragged_sm90")
    assert kernel_names(data, "x.cubin") == [KERNEL]

    assert kernel_names(data.replace(b".nv.constant0.gpusim_kernel", b".nv.constant7.gpusim_kernel"), "x.cubin") == []


@pytest.mark.parametrize("data", [b"", b"\x7fELF", b"MZ" * 100])
def test_what_is_no_cubin_is_refused(data):
    with pytest.raises(BadInput, match=r"^x\.cubin: not a cubin: "):
        read_cubin(data, KERNEL, "x.cubin")


def header_of(data, name):
    """Place of a section's header."""
    header = ELF_HEADER.unpack_from(data)
    sections = [header[6] + number * SECTION_HEADER.size for number in range(header[12])]
    names = SECTION_HEADER.unpack_from(data, sections[header[13]])[4]
    return next(
        at for at in sections if data[names + int.from_bytes(data[at : at + 4], "little") :].startswith(name + b"\0")
    )


@pytest.mark.parametrize(
    ("section", "size", "said"),
    [
        (b".text.gpusim_kernel", 0, "gpusim_kernel has 0 bytes of code, which are no whole instructions"),
        (b".text.gpusim_kernel", 24, "gpusim_kernel has 24 bytes of code, which are no whole instructions"),
        (b".nv.constant0.gpusim_kernel", 0x220, "gpusim_kernel has parameters behind its constant bank"),
        (b".nv.constant0.gpusim_kernel", 1 << 17, "gpusim_kernel has 131072 bytes of a constant bank; a kernel has at"),
        (b".symtab", 25, "not a readable cubin: its tables are cut short or damaged"),
        (b".strtab", 0, "not a readable cubin: its tables are cut short or damaged"),
    ],
)
def test_sizes_that_no_kernel_has_are_refused(section, size, said):
    data = bytearray(cubin_bytes("gemm_ragged_sm90")) + bytes(1 << 17)
    data[header_of(data, section) + 32 : header_of(data, section) + 40] = size.to_bytes(8, "little")

    with pytest.raises(BadInput) as refused:
        read_cubin(bytes(data), KERNEL, "x.cubin")

    assert str(refused.value).startswith(f"x.cubin: {said}")


def test_an_absurd_stack_is_refused():
    """An attribute has the kernel's symbol and the stack of a thread: 16 bytes for its local array."""
    data = cubin_bytes("expressions_sm80")
    record = next(
        at
        for at in range(len(data) - 12)
        if data[at : at + 4] == b"\x04\x11\x08\x00" and data[at + 8 : at + 12] == b"\x10\0\0\0"
    )

    with pytest.raises(BadInput, match=r"gpusim_kernel has 4294967295 bytes of stack; a kernel has at most 524288"):
        read_cubin(data[: record + 8] + b"\xff" * 4 + data[record + 12 :], KERNEL, "x.cubin")
