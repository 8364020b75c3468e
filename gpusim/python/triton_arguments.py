"""Arguments of a Triton kernel: arrays as tensors for Triton, and the values of a launch's parameters."""

import importlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from gpusim.errors import BadInput, Unsupported

CONSTANT = "constexpr"
"""Type of an argument whose value is compiled into the code."""

BITS_AS = {"bf16": 16, "fp8e5": 8, "fp8e4nv": 8, "fp8e4b15": 8}
"""Triton's names of the types that numpy lacks, and their bits; an array of integers holds such elements."""


class TritonArray:
    """
    An array with the attributes that Triton asks a tensor for; all others are those of what the user gave.

    Attributes:
        array: The array, or a tensor of the host as one.
        dtype: Its type, or Triton's name of the type that its bits are.
        given: The array or tensor of the user.
    """

    __slots__ = ("array", "dtype", "given")

    def __init__(self, array: npt.NDArray[Any], element_type: object = None, given: object = None) -> None:
        self.array = array
        self.dtype: Any = element_type or array.dtype
        self.given = array if given is None else given

    def __getattr__(self, name: str) -> Any:
        return getattr(self.given, name)

    def __len__(self) -> int:
        return len(self.array)

    def data_ptr(self) -> int:
        """Return an address that is aligned as every array in global memory is."""
        return 0

    def zero_(self) -> None:
        """Set all elements to 0, as ``reset_to_zero`` asks for."""
        self.array[...] = 0

    def clone(self) -> npt.NDArray[Any]:
        """Return a copy of the elements, as ``restore_value`` asks for."""
        return self.array.copy()

    def copy_(self, values: npt.NDArray[Any]) -> None:
        """Set all elements, as ``restore_value`` asks for."""
        self.array[...] = values


def as_triton(name: str, value: Any, element_type: str | None = None) -> Any:
    """
    Return an argument as Triton takes it.

    Args:
        name: Name of the parameter.
        value: An array, a tensor of PyTorch in host memory, a number of Python or numpy, a tuple of these, or anything
            that Triton compiles in.
        element_type: Triton's name of the type that an array's bits are; None for that of the array.

    Raises:
        BadInput: The array's elements have not as many bits as the type, the value is no array, or a tensor is not in
            host memory.
        Unsupported: The value is a tensor descriptor.
    """
    if type(value).__name__ == "TensorDescriptor":
        raise Unsupported(f"{name}: tensor descriptors are not executed; pass the array, its extents and its strides")
    if element_type is not None:
        if not isinstance(value, np.ndarray) or value.itemsize * 8 != BITS_AS[element_type]:
            raise BadInput(f"{name} must be an array of {BITS_AS[element_type]}-bit elements to have {element_type}")
        return TritonArray(value, element_type)
    if isinstance(value, np.ndarray):
        return TritonArray(value)
    if type(value).__module__.partition(".")[0] == "torch" and hasattr(value, "data_ptr"):
        return TritonArray(_of_tensor(name, value), value.dtype, value)
    if isinstance(value, np.number | np.bool_):
        return value.item()
    if isinstance(value, tuple):
        converted = [as_triton(name, one) for one in value]
        return type(value)(*converted) if hasattr(value, "_fields") else tuple(converted)
    return value


def _of_tensor(name: str, tensor: Any) -> npt.NDArray[Any]:
    """Return an array that shares a tensor's memory. Elements of a type that numpy lacks become integers."""
    if tensor.device.type != "cpu":
        raise BadInput(f"{name} must be a tensor in host memory, got one on {tensor.device}")
    held = tensor.detach()
    try:
        array: npt.NDArray[Any] = held.numpy()
    except TypeError:
        array = held.view(getattr(importlib.import_module("torch"), f"int{8 * held.itemsize}")).numpy()
    return array


def parameter_values(types: Sequence[Any], values: Sequence[Any], *, copied: bool) -> Iterator[Any]:
    """
    Yield what a launch passes for each parameter of a compiled kernel, tuples flattened.

    Args:
        types: Triton's types of the arguments (``ASTSource.signature``).
        values: The arguments.
        copied: Pass copies of arrays, so that the arrays stay as they are.
    """
    for kind, value in zip(types, values, strict=True):
        if isinstance(kind, tuple):
            yield from parameter_values(kind, value, copied=copied)
        elif kind != CONSTANT:
            yield _parameter(kind, value, copied=copied)


def _parameter(kind: str, value: Any, *, copied: bool) -> Any:
    if isinstance(value, TritonArray):
        dense = _in_c_order(value.array)
        return dense.copy() if copied else dense
    if kind == "bf16":
        return np.uint16(np.float32(value).view(np.uint32) >> 16)  # as Triton's launcher does, without rounding
    if kind == "fp16":
        return np.float16(value)
    return float(value) if kind.startswith("fp") else int(value)


def _in_c_order(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return a C-ordered view of an array without gaps: its axes sorted by their strides."""
    return array.transpose(np.argsort([-abs(stride) for stride in array.strides], kind="stable"))
