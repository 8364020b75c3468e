"""Array types of every room: integers for addresses and time, booleans for predicates, words and bytes for memory."""

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

IntArray: TypeAlias = npt.NDArray[np.int64]
BoolArray: TypeAlias = npt.NDArray[np.bool_]
FloatArray: TypeAlias = npt.NDArray[np.float64]
WordArray: TypeAlias = npt.NDArray[np.uint32]
ByteArray: TypeAlias = npt.NDArray[np.uint8]
