"""Arguments of Triton: arrays as tensors, and what a launch passes for each parameter."""

import sys
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import pytest

from gpusim.errors import BadInput, Unsupported
from gpusim.python.triton_arguments import TritonArray, as_triton, parameter_values


class Pair(NamedTuple):
    x: object
    y: object


class TensorDescriptor:
    """What Triton's class of the name looks like from outside."""


def passed(types, values, *, copied=False):
    return list(parameter_values(types, values, copied=copied))


def test_an_array_has_what_triton_asks_a_tensor_for_and_its_own_attributes():
    array = np.arange(6, dtype=np.float16).reshape(2, 3)
    tensor = as_triton("x", array)

    assert (tensor.dtype, tensor.data_ptr() % 16, tensor.shape, len(tensor)) == (np.float16, 0, (2, 3), 2)
    before = tensor.clone()
    tensor.zero_()
    assert not array.any()
    tensor.copy_(before)
    assert np.array_equal(array.reshape(-1), np.arange(6))


def test_integers_may_have_the_bits_of_a_type_that_numpy_lacks():
    assert as_triton("x", np.zeros(2, np.uint16), "bf16").dtype == "bf16"
    assert as_triton("x", np.zeros(2, np.int8), "fp8e5").dtype == "fp8e5"
    with pytest.raises(BadInput, match="x must be an array of 16-bit elements to have bf16"):
        as_triton("x", np.zeros(2, np.uint8), "bf16")
    with pytest.raises(BadInput, match="x must be an array of 16-bit elements to have bf16"):
        as_triton("x", 3, "bf16")


class Tensor:
    """A tensor as PyTorch's looks from outside; numpy lacks its type if it is a bfloat16."""

    __module__ = "torch"

    def __init__(self, array, dtype, place="cpu"):
        self.array, self.dtype, self.device, self.itemsize = array, dtype, SimpleNamespace(type=place), array.itemsize

    def data_ptr(self):
        raise AssertionError

    def detach(self):
        return self

    def view(self, dtype):
        return Tensor(self.array, dtype)

    def numpy(self):
        if self.dtype == "torch.bfloat16":
            raise TypeError
        return self.array

    def numel(self):
        return self.array.size


def test_a_tensor_in_host_memory_is_an_array_on_the_same_memory(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(int16="torch.int16"))
    for dtype, array in (("torch.float32", np.zeros(3, np.float32)), ("torch.bfloat16", np.zeros(3, np.int16))):
        tensor = as_triton("x", Tensor(array, dtype))

        assert np.shares_memory(tensor.array, array)
        assert (tensor.dtype, tensor.data_ptr(), tensor.numel()) == (dtype, 0, 3)


def test_a_tensor_on_a_device_is_refused():
    with pytest.raises(BadInput, match="x must be a tensor in host memory, got one on"):
        as_triton("x", Tensor(np.zeros(3), "torch.float64", "cuda"))


def test_numbers_of_numpy_become_those_of_python_in_tuples_too():
    assert type(as_triton("n", np.int32(3))) is int
    assert type(as_triton("n", np.float32(0.5))) is float
    assert as_triton("n", np.bool_(1)) is True
    assert as_triton("n", None) is None
    pair = as_triton("n", Pair(np.int64(1), (np.zeros(1),)))
    assert (type(pair), pair.x, type(pair.y[0])) == (Pair, 1, TritonArray)


def test_a_tensor_descriptor_is_refused_by_name():
    with pytest.raises(Unsupported, match="d: tensor descriptors are not executed"):
        as_triton("d", TensorDescriptor())


def test_a_launch_passes_no_constants_and_flattens_tuples():
    x, y = np.zeros(1), np.ones(1)
    values = TritonArray(x), 128, (TritonArray(y), 7), True

    first, second, *rest = passed(("*fp64", "constexpr", ("*fp64", "i32"), "u1"), values)

    assert np.shares_memory(first, x)
    assert np.shares_memory(second, y)
    assert rest == [7, 1]


@pytest.mark.parametrize(
    ("kind", "value", "data"),
    [
        ("fp32", 2, 2.0),
        ("fp64", 0.1, 0.1),
        ("fp16", 0.1, np.float16(0.1)),
        # 0.1 is 0x3DCCCCCD in f32. Triton's launcher cuts off its lower half.
        ("bf16", 0.1, np.uint16(0x3DCC)),
        ("i32", True, 1),
    ],
)
def test_a_number_is_passed_in_the_type_of_its_parameter(kind, value, data):
    (given,) = passed((kind,), (value,))

    assert given == data
    assert type(given) is type(data)


def test_an_array_without_gaps_is_passed_in_the_order_of_its_memory():
    array = np.arange(24).reshape(2, 3, 4)

    (given,) = passed(("*i64",), (TritonArray(array.transpose(2, 0, 1)),))

    assert given.flags.c_contiguous
    assert np.shares_memory(given, array)
    assert np.array_equal(given.reshape(-1), np.arange(24))


def test_a_trial_is_passed_copies():
    array = np.zeros(3)

    (given,) = passed(("*fp64",), (TritonArray(array),), copied=True)

    assert not np.shares_memory(given, array)
