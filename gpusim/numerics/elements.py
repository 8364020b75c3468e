"""Storage of the values of each element type, and rounding to a type; it knows no tensors."""

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from gpusim.element_types import INTEGER_RANGE, INTEGERS

Values: TypeAlias = npt.NDArray[Any]

STORED: dict[str, npt.DTypeLike] = {
    "f16": np.float16,
    "bf16": np.uint16,
    "tf32": np.float32,
    "f32": np.float32,
    "s8": np.int8,
    "u8": np.uint8,
    "s4": np.uint8,
    "u4": np.uint8,
    "s32": np.int32,
}
"""The numpy type that stores each element type: bit patterns for bf16, and bytes of two elements for 4-bit integers."""

WORKING: dict[str, npt.DTypeLike] = {
    "f16": np.float16,
    "bf16": np.float32,
    "tf32": np.float32,
    "f32": np.float32,
    "s8": np.float32,
    "u8": np.float32,
    "s4": np.float32,
    "u4": np.float32,
    "s32": np.float64,
}
"""The numpy floating type that holds every value of each element type exactly, and NaN for poison."""

_UNWRITTEN: dict[str, float] = {"s8": 85, "u8": 85, "s32": -(2.0**31)}
"""Integer outputs have no NaN, so an element that was never stored has this unlikely value."""

_TF32_IGNORED_BITS = 13
"""Low bits of a 32-bit float that a tensor core does not read from a tf32 operand."""


def decode(stored: Any, element: str, xp: Any = np) -> Any:
    """
    Decode a stored flat tensor into values of its ``WORKING`` type; f16 and 32-bit floats are returned as they are.

    Args:
        stored: Flat array of type ``STORED[element]``. Two 4-bit integers lie in a byte, the first in its low half.
        element: Element type.
        xp: Array module.
    """
    if element == "bf16":
        return (stored.astype(xp.uint32) << 16).view(xp.float32)
    if element in ("s4", "u4"):
        nibbles = xp.stack([stored & 15, stored >> 4], axis=-1).reshape(-1).astype(xp.float32)
        return xp.where(nibbles > 7, nibbles - 16, nibbles) if element == "s4" else nibbles
    return stored.astype(WORKING[element], copy=False)


def encode(values: Values, element: str) -> Values:
    """
    Encode a flat tensor as it is stored. Floats are rounded to nearest even, integers are rounded and saturated.

    NaN marks elements that were never written. Integers store it as a value that a result is unlikely to have.
    """
    rounded = round_to(values, element)
    if element == "bf16":
        return (rounded.view(np.uint32) >> 16).astype(np.uint16)
    if element in INTEGERS:
        whole = np.where(np.isnan(rounded), _UNWRITTEN.get(element, 0), rounded).astype(np.int64)
        if element in ("s4", "u4"):
            return ((whole[0::2] & 15) | (whole[1::2] & 15) << 4).astype(np.uint8)
        return whole.astype(STORED[element])
    return rounded


def unwritten_tensor(elements: int, element: str) -> Values:
    """
    Return a stored flat tensor that was never written: all NaN, or integers that a result is unlikely to have.

    So an element that a kernel leaves out differs from a result.
    """
    return encode(np.full(elements, np.nan, WORKING[element]), element)


def unwritten(element: str) -> Any:
    """
    Return the stored form of an element that was never written, as ``encode`` makes it.

    For 4-bit integers it is a byte with two such elements.
    """
    return unwritten_tensor(2, element)[0]


def is_unwritten(values: Any, element: str, xp: Any = np) -> Any:
    """Return which decoded values belong to elements that were never written."""
    return values == _UNWRITTEN.get(element, 0) if element in INTEGERS else xp.isnan(values)


def round_to(values: Values, element: str) -> Values:
    """
    Round floats to the nearest values of an element type, ties to even; integers saturate.

    The result has the ``WORKING`` type.

    Source: PTX ISA, cvt.rn and cvt.rni.sat.
    """
    if element == "bf16":
        single = values.astype(np.float32)
        bits = single.view(np.uint32)
        rounded = bits + (0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000
        return np.where(np.isnan(single), np.float32(np.nan), rounded.astype(np.uint32).view(np.float32))
    if element in INTEGERS:
        return np.clip(np.rint(values), *INTEGER_RANGE[element]).astype(WORKING[element])
    return values.astype(WORKING[element])


def as_multiplied(values: Any, element: str, xp: Any = np) -> Any:
    """
    Return operand values as the tensor core multiplies them. It reads only the upper 19 bits of tf32, which truncates
    them.

    Source: PTX ISA, mma with .tf32; CUTLASS include/cutlass/tfloat32.h. CUTLASS's kernels for ``float`` first round to
    nearest, in registers. Its kernels for ``tfloat32_t``, and gpusim's, do not.
    """
    if element != "tf32":
        return values
    bits = xp.ascontiguousarray(values).view(xp.uint32)
    return (bits >> _TF32_IGNORED_BITS << _TF32_IGNORED_BITS).view(xp.float32)
