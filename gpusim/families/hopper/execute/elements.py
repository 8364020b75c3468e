"""Values of every element type of sm_90 GEMMs as bit patterns of whole elements, and back."""

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from gpusim.element_types import element_bits
from gpusim.numerics.elements import Values, decode, encode
from gpusim.numerics.float8 import FLOAT8, decode_float8, encode_float8

Bits = npt.NDArray[Any]
"""Elements as unsigned integers of their width."""

PATTERNS: Final[dict[int, npt.DTypeLike]] = {8: np.uint8, 16: np.uint16, 32: np.uint32}
"""The unsigned integers by width."""

_STORED: Final[dict[str, npt.DTypeLike]] = {
    "f16": np.float16,
    "bf16": np.uint16,
    "tf32": np.float32,
    "f32": np.float32,
    "s8": np.int8,
    "s32": np.int32,
}
"""numpy's types of the elements, as ``decode`` takes them."""


def to_bits(values: Values, element: str) -> Bits:
    """Round values to an element type, and return their bits. Shape as given."""
    if element in FLOAT8:
        return encode_float8(values, element)
    flat = encode(np.ascontiguousarray(values).reshape(-1), element)
    return flat.view(PATTERNS[element_bits(element)]).reshape(np.shape(values))


def from_bits(bits: Bits, element: str) -> Values:
    """Return the values of bits; 32-bit floats as they are, not as a tensor core truncates them."""
    if element in FLOAT8:
        return decode_float8(bits, element)
    values: Values = decode(bits.view(_STORED[element]), element)
    return values
