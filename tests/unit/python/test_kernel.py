"""A kernel of one's own on arrays: what it writes, what its instructions did, and where it goes wrong."""

from pathlib import Path

import numpy as np
import pytest
from own.build import cubin_of

import gpusim
from gpusim.compiled.choice import asked_for
from gpusim.errors import BadInput, CannotRun, CheckFailed, Unsupported
from gpusim.own.timed import TracedExecution
from gpusim.python.sources import macro_options

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
        ((x,), "saxpy takes 4 arguments, of 8, 8, 4, 4 bytes, got 1"),
        ((x, x.copy(), np.float64(2), 32), "argument 2 has 4 bytes in the signature, float64 has 8"),
        ((x, x.copy(), x.copy(), 32), "argument 2 has 4 bytes in the signature, an array takes 8"),
        ((x, x.copy(), "2", 32), "argument 2 has 4 bytes in the signature, got '2'"),
        ((x, x.copy(), 1e39, 32), "argument 2 must fit into an f32, got 1e+39"),
        ((x, x.copy(), 2.0, 1 << 40), "argument 3 must fit into 4 bytes"),
        ((x, x[::2].copy()[::-1], 2.0, 32), "saxpy: argument 1 must be a writeable array in C order"),
        ((x, x[16:], 2.0, 32), "saxpy: arguments 0 and 1 share memory; give each its own array"),
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


def test_an_array_may_be_given_for_several_arguments(kernel):
    """y += 2 x in place: each element is read before it is written, so it is three times what it was."""
    x = np.arange(32, dtype=np.float32)

    kernel("saxpy")[1, 32](x, x, 2.0, 32)
    kernel("saxpy")[1, 32](x, x.reshape(4, 8), 2.0, 32)

    assert np.array_equal(x, 9 * np.arange(32))


def test_a_large_launch_on_an_interpreted_executor_is_warned_of(kernel):
    x, y = np.ones(32, dtype=np.float32), np.zeros(32, dtype=np.float32)

    said = r"saxpy: 4097 warps take long, because the executor is interpreted: it was asked for"
    with (
        asked_for("interpreted"),
        pytest.warns(UserWarning, match=said),
        pytest.raises(CheckFailed, match="may execute 1 warp instructions"),
    ):
        kernel("saxpy")[4097, 32](x, y, 2.0, 32, limit=1)


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


@pytest.fixture
def module():
    """Returns a kernel of module.cu, whose machine code for an A100 lies beside it."""
    return lambda entry: gpusim.kernel(DATA / "module.cubin", entry, machine="a100")


def test_variables_of_the_module_begin_as_initialised_and_keep_what_launches_write(module):
    """counter + table[i % 4] + scratch[31 - i] + *pointer: 5 + 32, then 5 + 64; *pointer is table[1], 2."""
    globals_, out, lanes = module("globals"), np.zeros(32, dtype=np.int32), np.arange(32)

    for count in (5 + 32, 5 + 64):
        globals_[1, 32](out)
        assert np.array_equal(out, count + 1 + lanes % 4 + 31 - lanes + 2)

    assert globals_.variables["counter"].view(np.int32) == 5 + 64
    globals_.variables["counter"] = np.int32(0)
    globals_[1, 32](out)
    assert out[0] == 32 + 1 + 31 + 2


def test_a_constant_is_set_by_name(module):
    weighted, out = module("weighted"), np.zeros(32, dtype=np.float32)

    weighted.constants["weights"] = np.arange(8, dtype=np.float32)
    weighted[1, 32](out)

    assert set(weighted.constants) >= {"weights", "bias"}
    assert np.array_equal(out, np.arange(32) % 8 + 7)


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("weights", np.zeros(7, dtype=np.float32), "variable weights has 32 bytes, float32 of shape (7,) does not"),
        ("weight", np.zeros(8, dtype=object), "variable weight has 32 bytes, object of shape (8,) does not"),
        ("none", 3, "variable must be one of "),
    ],
)
def test_a_constant_of_another_size_is_refused(module, name, value, said):
    with pytest.raises(BadInput) as refused:
        module("weighted").constants[name] = value

    assert str(refused.value).startswith(said)


def test_a_large_angle_is_reduced_by_a_table_in_global_memory(module):
    angles = np.array([1e10, -3e5, 1e300, 0.5] * 8)
    out = angles.copy()

    module("sines")[1, 32](out)

    assert np.allclose(out, np.sin(angles), rtol=1e-15, atol=0)


def test_recursion_has_the_stack_of_a_cuda_thread(module):
    out = np.zeros(32, dtype=np.int32)

    module("recursion")[1, 32](out, 10)

    assert (out == 55).all()
    with pytest.raises(
        CheckFailed, match=r"out of bounds: local address 0x[0-9a-f]+, beyond the thread's stack of 1024"
    ):
        module("recursion")[1, 32](out, 200)


@pytest.mark.parametrize(
    ("entry", "error", "said"),
    [
        ("traps", CheckFailed, r"CTA \(0, 0, 0\), warp 0: __trap\(\) at text 0x"),
        (
            "asserts",
            CheckFailed,
            r"thread 5: module\.cu:\d+: void asserts\(int \*, int\): assertion `out\[threadIdx\.x\] != n` f",
        ),
    ],
)
def test_a_kernel_that_ends_itself_says_where(module, entry, error, said):
    with pytest.raises(error, match=said):
        module(entry)[1, 32](np.arange(32, dtype=np.int32), 5)


def test_a_function_of_the_driver_is_refused_by_name(module):
    with pytest.raises(Unsupported, match=r"prints: .*a call of vprintf is not executed, at text 0x"):
        module("prints")[1, 32](np.zeros(32, dtype=np.int32))


def test_a_null_pointer_is_called_one(module):
    with pytest.raises(CheckFailed, match=r"global address 0x0, a null pointer in text"):
        module("store")[1, 32](0)


def test_a_clock_counts_executed_instructions(module):
    out = np.zeros(32, dtype=np.int64)

    module("clocks")[1, 32](out)

    assert (out == out[0]).all()
    assert 0 < out[0] < 10


def test_lanes_may_wait_for_lanes_of_their_warp(module):
    """A lock that each lane takes in turn, and a flag that each lane waits for until the one before it sets it."""
    lock, total = np.zeros(1, dtype=np.int32), np.zeros(1, dtype=np.int32)
    flag, out = np.zeros(8, dtype=np.int32), np.zeros(8, dtype=np.int32)

    module("lock_wait")[1, 64](lock, total)
    module("relay")[1, 8](flag, out)

    assert (lock[0], total[0]) == (0, 64)
    assert flag.all()
    assert np.array_equal(out, np.arange(8))


def test_a_divergent_barrier_waits_for_both_branches(module):
    out = np.zeros(64, dtype=np.int32)

    module("divergent_barrier")[1, 64](out)

    lanes = np.arange(64)
    assert np.array_equal(out, np.where(lanes % 2, 63 - lanes, lanes - 63))


def test_comparisons_of_halves_are_ones_or_masks(module):
    """HSET2.BF gives 1.0, in bf16 too, without BF all bits; .LTU holds where one is a NaN."""
    drawn = np.random.default_rng(1).integers(-2, 3, (3, 64))
    a, b, c = drawn[0].astype(np.float16), drawn[1].astype(np.float16), drawn[2]
    a[::7] = np.nan
    out, words = np.zeros(256, dtype=np.float16), (c.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    rest = (drawn[1].astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)

    module("half_sets")[1, 32](out, a, b, rest, words)

    with np.errstate(invalid="ignore"):
        for part, holds in enumerate((a >= b, ~(a >= b), a == b)):
            assert np.array_equal(out[64 * part :][:64], holds.astype(np.float16))
        assert np.array_equal(out[192:].view(np.uint16), np.where(a > b, 0xFFFF, 0))
    assert np.array_equal(rest, np.where(c <= drawn[1], 0x3F80, 0))


@pytest.mark.compiled
@pytest.mark.parametrize(
    ("entry", "threads", "others"),
    [
        ("globals", 32, ()),
        ("sines", 32, ()),
        ("recursion", 32, (5,)),
        ("clocks", 32, ()),
        ("divergent_barrier", 64, ()),
        ("generic_atomic", 32, (1,)),
        ("half_sets", 32, tuple(np.arange(256, dtype=np.uint8) for _ in range(4))),
    ],
)
def test_both_executions_of_the_core_write_the_same(module, entry, threads, others):
    compiled, interpreted = (np.arange(128, dtype=np.float64) * 1e5 for _ in range(2))

    runs = [module(entry)[1, threads](compiled, *others)]
    with asked_for("interpreted"):
        runs.append(module(entry)[1, threads](interpreted, *others))

    assert compiled.tobytes() == interpreted.tobytes()
    assert [row.issues for row in runs[0].rows] == [row.issues for row in runs[1].rows]


@pytest.mark.parametrize("shared", [0, 1])
def test_an_atomic_of_a_generic_address_reaches_both_memories(module, shared):
    out = np.zeros(1, dtype=np.int32)

    module("generic_atomic")[1, 32](out, shared)

    assert out[0] == 31 * 16


def test_machine_code_of_another_target_is_refused(tmp_path):
    path = tmp_path / "saxpy.cubin"
    path.write_bytes(cubin_of("saxpy", 80))

    with pytest.raises(BadInput, match=r"is machine code of sm_80, h200 executes that of sm_90"):
        gpusim.kernel(path, "saxpy", machine="h200")


def test_a_source_that_is_not_there_is_named(tmp_path):
    with pytest.raises(CannotRun, match=r"none\.cu: no such file"):
        gpusim.kernel(tmp_path / "none.cu", "k")


def test_a_slice_leaves_arrays_as_they_are_and_takes_the_same_time(kernel):
    x, y = np.ones(1000, dtype=np.float32), np.ones(1000, dtype=np.float32)
    saxpy = kernel("saxpy")[8, 128]

    traced = TracedExecution(saxpy.execution((x, y, 2.0, 1000), sliced=True), saxpy.machine)
    for _ in traced.run():
        pass

    assert (y == 1).all()
    time, whole = traced.time(), saxpy(x, y, 2.0, 1000).time
    assert (time.cycles, time.stalls) == (whole.cycles, whole.stalls)


def test_macros_become_options_of_the_compiler():
    assert macro_options({"TILE": 32, "T": "float", "FAST": True}) == ("-DTILE=32", "-DT=float", "-DFAST=1")


@pytest.mark.parametrize(
    ("defines", "message"),
    [
        ({"A B": 1}, "every macro of defines must be a name of C++, got 'A B'"),
        ({"A": [1]}, "defines.A must be a number or text, got [1]"),
        (["A=1"], "defines must be a table of macros and their values, got ['A=1']"),
        ({"A": 1}, f"defines are macros of a source (.cu), and {DATA / 'odd.cubin'} is none"),
    ],
)
def test_macros_that_are_none_are_refused(defines, message):
    with pytest.raises(BadInput) as refused:
        gpusim.kernel(DATA / "odd.cubin", "exchange", machine="a100", defines=defines)

    assert str(refused.value) == message
