"""The 8-bit floats e4m3 and e5m2: their values, and rounding to them. It knows no tensors."""

from functools import cache
from typing import Final

import numpy as np
import numpy.typing as npt

from gpusim.arrays import ByteArray

FLOAT8: Final[dict[str, tuple[int, int]]] = {"e4m3": (3, 7), "e5m2": (2, 15)}
"""Significand bits and exponent bias of each type."""

_SIGN: Final = 0x80
_NAN: Final = 0x7F
_LARGEST: Final = {"e4m3": 0x7E, "e5m2": 0x7B}
"""Code of the largest finite value. e4m3 has no infinity, and one NaN of each sign."""


@cache
def float8_values(element: str) -> npt.NDArray[np.float32]:
    """
    Return the value of each of the 256 codes.

    Source: Micikevicius et al., FP8 formats for deep learning (2022); PTX ISA, e4m3 and e5m2.
    """
    bits, bias = FLOAT8[element]
    codes = np.arange(256)
    exponent, significand = (codes & _NAN) >> bits, codes & (1 << bits) - 1
    normal = (exponent > 0).astype(np.int64)
    values = np.ldexp(significand / (1 << bits) + normal, np.maximum(exponent, 1) - bias)
    beyond = (codes & _NAN) > _LARGEST[element]
    infinite = beyond & (significand == 0) if element == "e5m2" else np.zeros(256, np.bool_)
    values = np.where(infinite, np.inf, np.where(beyond, np.nan, values))
    return np.where(codes & _SIGN, -values, values).astype(np.float32)


def encode_float8(values: npt.ArrayLike, element: str) -> ByteArray:
    """
    Round values to the nearest codes, ties to the even one. Values beyond the largest finite one become that one.

    Source: PTX ISA, cvt.rn.satfinite.
    """
    given = np.asarray(values, np.float64)
    finite = float8_values(element)[: _LARGEST[element] + 1].astype(np.float64)
    magnitude = np.abs(given)
    middles = (finite[1:] + finite[:-1]) / 2
    below, above = (np.searchsorted(middles, magnitude, side) for side in ("left", "right"))
    code = np.where(below % 2 == 0, below, above)
    code = np.where(np.isnan(given), _NAN, code)
    return (code | np.where(np.signbit(given), _SIGN, 0)).astype(np.uint8)


def decode_float8(codes: ByteArray, element: str) -> npt.NDArray[np.float32]:
    """Return the values of codes, of any shape."""
    return float8_values(element)[codes]
