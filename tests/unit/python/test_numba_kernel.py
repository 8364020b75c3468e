"""Kernels of Numba: the parameters that its calling convention makes, and launches where Numba is."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

import gpusim
from gpusim.errors import BadInput, CannotRun
from gpusim.python import numba_kernel
from gpusim.python.numba_kernel import NumbaKernel, is_numba


@pytest.fixture
def passed(monkeypatch):
    """Returns what a launch passes for some arguments."""
    monkeypatch.setattr(numba_kernel, "compiled", lambda *_: "file")
    function = SimpleNamespace(py_func=len)

    def call(*arguments):
        kernel = NumbaKernel(function, None, lambda _file, _name: {(1, 32): lambda *values: values})
        return kernel[1, 32](*arguments)

    return call


def test_an_array_has_seven_words_or_more(passed):
    """Two pointers of the host, the size, the bytes of an element, the address, then extents and strides in bytes."""
    array = np.zeros((4, 6), np.float32)

    *front, address, rows, columns, row, column = passed(array)

    assert front == [0, 0, 24, 4]
    assert address is array
    assert (rows, columns, row, column) == (4, 6, 24, 4)


def test_numbers_are_passed_as_they_are_and_tuples_one_by_one(passed):
    assert passed(3, 2.5, np.True_, np.int16(7), (1, (2, 0.5)), None) == (3, 2.5, True, 7, 1, 2, 0.5)
    assert passed(1 + 2j) == (1.0, 2.0)
    real, imaginary = passed(np.complex64(1 + 2j))
    assert type(real) is type(imaginary) is np.float32


def test_what_is_not_passed_is_named(passed):
    with pytest.raises(BadInput, match="argument 1 must be an array, a number or a tuple of these, got 'text'"):
        passed(1, "text")


def test_a_function_of_numba_is_known_by_its_class():
    assert is_numba(type("CUDADispatcher", (), {})())
    assert not is_numba(len)


@pytest.fixture
def cuda():
    """Numba's CUDA."""
    from numba import cuda  # noqa: PLC0415 # needs Numba

    return cuda


@pytest.mark.compiler("numba_cuda")
@pytest.mark.parametrize("machine", ["a100", "h200"])
def test_a_function_is_compiled_for_the_types_of_its_arguments(cuda, machine):
    @cuda.jit
    def saxpy(x, y, a):
        i = cuda.grid(1)
        if i < x.size:
            y[i] = a * x[i] + y[i]

    kernel = gpusim.kernel(saxpy, machine=machine)
    for dtype in (np.float32, np.float64, np.int32):
        x, y = np.arange(100).astype(dtype), np.ones(100, dtype)
        run = kernel[4, 32](x, y, dtype(2))
        assert np.array_equal(y, 2 * x + 1)
        assert run.kernel == "saxpy"


@pytest.mark.compiler("numba_cuda")
def test_shared_memory_two_dimensions_and_functions_of_the_library(cuda):
    @cuda.jit
    def rows(x, out):
        part = cuda.shared.array(32, np.float64)
        row, lane = cuda.blockIdx.x, cuda.threadIdx.x
        part[lane] = math.exp(x[row, lane])
        cuda.syncthreads()
        if lane == 0:
            total = 0.0
            for i in range(32):
                total += part[i]
            cuda.atomic.add(out, 0, total)

    x, out = np.random.default_rng(0).normal(size=(5, 32)), np.zeros(1)

    gpusim.kernel(rows, machine="a100")[5, 32](x, out)

    assert np.allclose(out, np.exp(x).sum(), rtol=1e-14)


@pytest.mark.compiler("numba_cuda")
def test_what_numba_refuses_is_said_in_one_line(cuda):
    @cuda.jit
    def wrong(x):
        x[0] = undefined  # noqa: F821

    with pytest.raises(CannotRun, match=r"Numba does not compile wrong: .*undefined"):
        gpusim.kernel(wrong)[1, 1](np.zeros(1))
    with pytest.raises(BadInput, match=r"wrong: .*>f4"):
        gpusim.kernel(wrong)[1, 1](np.zeros(1, ">f4"))
