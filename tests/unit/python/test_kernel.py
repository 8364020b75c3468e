"""A kernel of one's own on arrays: what it writes, what its instructions did, and where it goes wrong."""

from pathlib import Path

import numpy as np
import pytest
from own.build import cubin_of

import gpusim
from gpusim.errors import BadInput, CannotRun, CheckFailed

SIDE = 64
DATA = Path(__file__).parent / "data"


@pytest.fixture
def kernel(tmp_path):
    """Returns a kernel of the own kernels' machine code for an A100."""

    def load(source, entry=None):
        path = tmp_path / f"{source}.cubin"
        path.write_bytes(cubin_of(source, 80))
        return gpusim.kernel(path, entry or source, machine="a100")

    return load


def counted(run, opcode):
    return [row for row in run.rows if row.text.split()[0].startswith(opcode) or f" {opcode}" in row.text.split(",")[0]]


def test_arrays_have_what_the_kernel_wrote(kernel):
    x, y = np.arange(1000, dtype=np.float32), np.ones(1000, dtype=np.float32)

    run = kernel("saxpy")[8, 128](x, y, np.float32(2), 1000)

    assert np.array_equal(y, 2 * np.arange(1000, dtype=np.float32) + 1)
    assert run.counts.executed == set(range(8))


def test_a_transpose_through_an_unpadded_tile_conflicts_32_ways(kernel):
    """
    64 x 64 floats: 4 CTAs of 32 x 32 elements. Each element is stored and loaded once: 128 warps' worth of both.

    A row of the tile is 32 words, one in each bank: a store has 1 wavefront. A column lies in one bank: a load has 32.
    """
    matrix, out = np.arange(SIDE * SIDE, dtype=np.float32).reshape(SIDE, SIDE), np.zeros((SIDE, SIDE), dtype=np.float32)

    run = kernel("transpose_tile")[(2, 2), (32, 8)](matrix, out, SIDE, SIDE)

    assert np.array_equal(out, matrix.T)
    stores, loads = counted(run, "STS"), counted(run, "LDS")
    assert sum(row.issues for row in stores) == sum(row.issues for row in loads) == 128
    assert sum(row.wavefronts for row in stores) == 128
    assert sum(row.wavefronts for row in loads) == 128 * 32
    assert run.conflicts == 128 * 31
    assert run.sectors == 2 * SIDE * SIDE * 4 // 32


def test_an_access_out_of_bounds_is_named_with_argument_thread_and_instruction(kernel):
    x, y = np.zeros(100, dtype=np.float32), np.zeros(100, dtype=np.float32)

    with pytest.raises(CheckFailed) as refused:
        kernel("saxpy")[1, 128](x, y, 2.0, 128)

    assert "CTA (0, 0, 0), warp 3, thread 100: out of bounds: global address" in str(refused.value)
    assert "byte 400 of argument" in str(refused.value)
    assert "which has 400 in text" in str(refused.value)


@pytest.mark.parametrize(
    ("launch", "said"),
    [
        ((8,), "a launch is [grid, block] or [grid, block, shared bytes]"),
        ((8, 2048), "a CTA has at most 1024 threads, block (2048, 1, 1) has 2048"),
        ((0, 32), "grid and block must be positive"),
        ((1, (1, 2, 3, 4)), "block must be one to three integers"),
        ((1, 32, 1.5), "shared memory must be a number of bytes, got 1.5"),
        ((1, 32, 1 << 20), "a CTA has at most 166912 bytes of shared memory on a100, 1048576 are asked for"),
        (((1, 70000), 32), "grid and block must be at most (2147483647, 65535, 65535, 1024, 1024, 64)"),
        ((1.0, 32), "grid must be one to three integers, got 1.0"),
        ((None, 32), "grid must be one to three integers, got None"),
    ],
)
def test_a_launch_that_is_none_is_refused(kernel, launch, said):
    with pytest.raises(BadInput) as refused:
        kernel("saxpy")[launch]

    assert str(refused.value).startswith(said)


def test_arguments_are_those_of_the_signature(kernel):
    saxpy, x = kernel("saxpy")[1, 32], np.zeros(32, dtype=np.float32)

    for arguments, said in (
        ((x,), "saxpy takes 4 arguments, got 1"),
        ((x, x.copy(), np.float64(2), 32), "argument 2 has 4 bytes in the signature, float64 has 8"),
        ((x, x.copy(), x.copy(), 32), "argument 2 has 4 bytes in the signature, an array takes 8"),
        ((x, x.copy(), "2", 32), "argument 2 has 4 bytes in the signature, got '2'"),
        ((x, x.copy(), 1e39, 32), "argument 2 must fit into an f32, got 1e+39"),
        ((x, x.copy(), 2.0, 1 << 40), "argument 3 must fit into 4 bytes"),
        ((x, x[::2].copy()[::-1], 2.0, 32), "saxpy: argument 1 must be a writeable array in C order"),
        ((x, x, 2.0, 32), "saxpy: arguments 0 and 1 share memory; give each its own array"),
        ((x, x.astype(">f4"), 2.0, 32), "saxpy: argument 1 must be of numbers in native order, got >f4"),
        ((x, x.astype(object), 2.0, 32), "saxpy: argument 1 must be of numbers in native order, got object"),
    ):
        with pytest.raises(BadInput) as refused:
            saxpy(*arguments)
        assert str(refused.value).startswith(said)


def test_a_limit_stops_the_launch_and_must_be_a_number(kernel):
    saxpy, x, y = kernel("saxpy")[1, 32], np.ones(32, dtype=np.float32), np.zeros(32, dtype=np.float32)

    with pytest.raises(CheckFailed, match="its limit is 5"):
        saxpy(x, y, 2.0, 32, limit=5)
    with pytest.raises(BadInput, match=r"^limit must be an integer of 1 to "):
        saxpy(x, y, 2.0, 32, limit=0)


def test_a_missing_kernel_is_said_of_the_argument_that_named_it(kernel):
    with pytest.raises(BadInput, match=r"^entry must name one kernel of .*saxpy\.cubin, or be a part"):
        kernel("saxpy", "daxpy")


def test_grid_and_block_may_be_numbers_of_numpy(kernel):
    x, y = np.ones(32, dtype=np.float32), np.zeros(32, dtype=np.float32)

    kernel("saxpy")[np.int64(1), np.int32(32), np.int64(0)](x, y, 3.0, 32)

    assert (y == 3).all()


@pytest.fixture
def odd():
    """Returns a kernel of odd.cu, whose machine code for an A100 lies beside it."""
    return lambda entry: gpusim.kernel(DATA / "odd.cubin", entry, machine="a100")


def test_a_kernel_without_parameters_runs(odd):
    assert odd("nothing")[1, 64]().issues > 0


def test_both_words_of_an_indexed_constant_are_of_one_index(odd):
    """LDC.64 R8, c[3][R8+...]: the index is read before the first word is written over it."""
    out = np.zeros(32)

    odd("constant_doubles")[1, 32](out)

    assert np.array_equal(out, 1.5 * (np.arange(32) % 4))


def test_a_64_bit_exchange_with_zero_writes_zeros(odd):
    values = np.full(32, 7, dtype=np.uint64)

    odd("exchange")[1, 32](values)

    assert not values.any()


@pytest.mark.parametrize("address", [0x7FFFFFFFFFFFFFFC, 0, (1 << 64) - 4])
def test_an_address_far_from_every_array_is_out_of_bounds(odd, address):
    with pytest.raises(CheckFailed, match="out of bounds: global address"):
        odd("wild")[1, 32](address)


def test_machine_code_of_another_target_is_refused(tmp_path):
    path = tmp_path / "saxpy.cubin"
    path.write_bytes(cubin_of("saxpy", 80))

    with pytest.raises(BadInput, match=r"is machine code of sm_80, h200 executes that of sm_90"):
        gpusim.kernel(path, "saxpy", machine="h200")


def test_a_source_that_is_not_there_is_named(tmp_path):
    with pytest.raises(CannotRun, match=r"none\.cu: no such file"):
        gpusim.kernel(tmp_path / "none.cu", "k")
