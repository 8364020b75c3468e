"""
Reads the arguments of a launch from text: ``random:f32[1024,1024]``, ``zeros:i32[8]``, ``x.npy``, ``1024``, ``i64:5``.

An array is made in C order. A type stands for the size of its elements; bf16 elements are the upper halves of f32.
"""

import re
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from gpusim.errors import BadInput, nearest

OwnArgument: TypeAlias = npt.NDArray[Any] | np.generic | int | float
"""What ``gpusim.kernel`` takes as an argument."""

_BF16: Final = "bf16"

ARGUMENT_TYPES: Final[dict[str, np.dtype[Any]]] = {
    **{f"f{bits}": np.dtype(f"float{bits}") for bits in (16, 32, 64)},
    _BF16: np.dtype(np.uint16),
    **{f"i{bits}": np.dtype(f"int{bits}") for bits in (8, 16, 32, 64)},
    **{f"u{bits}": np.dtype(f"uint{bits}") for bits in (8, 16, 32, 64)},
}
"""Types of elements and numbers, and numpy's type of the same size."""

MAKERS_OF_DATA: Final = ("zeros", "ones", "arange", "random")
"""How the elements of an array are made; without a word they are zeros."""

RANDOM_INTEGERS: Final = 128
"""Random integers are 0 to 127, which every type holds; random floats are at least -1 and below 1."""

ALLOWED: Final = (
    "a number (1024, 2.5, i64:5, f64:2.5), an array (f32[1024,1024], or zeros:, ones:, arange:, random: before that;"
    " random:f32[1024]:SEED), or a file.npy"
)

_ARRAY: Final = re.compile(r"(?:(?P<maker>[a-z]+):)?(?P<type>\w+)\[(?P<extents>[^\]]*)\](?::(?P<seed>.*))?")
_TYPED: Final = re.compile(r"(?P<type>[a-z]+\d+):(?P<number>.+)")


def read_argument(where: str, text: str, folder: Path, place: int) -> OwnArgument:
    """
    Return the argument that a text states.

    Args:
        where: The option or key, for messages: ``--arg x``.
        text: The text.
        folder: Folder that the name of a file is relative to.
        place: Position in the signature. Random arrays of one seed differ from place to place.

    Raises:
        BadInput: The text states no argument, or the file has no array of numbers.
    """
    array, typed = _ARRAY.fullmatch(text), _TYPED.fullmatch(text)
    if array is not None:
        return _array(where, text, array, place)
    if text.endswith(".npy"):
        return _file(where, folder / text)
    if typed is not None:
        return _typed(where, text, typed["type"], typed["number"])
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    raise BadInput(f"{where} must be {ALLOWED}, got {text!r}")


def states_array(text: str) -> bool:
    """Return whether a text states an array, and no number."""
    return text.endswith(".npy") or _ARRAY.fullmatch(text) is not None


def _type(where: str, text: str, name: str) -> np.dtype[Any]:
    if name not in ARGUMENT_TYPES:
        near = nearest(name, ARGUMENT_TYPES)
        hint = f'did you mean "{near}"?' if near else f"allowed: {', '.join(ARGUMENT_TYPES)}"
        raise BadInput(f"{where}: unknown type {name!r} in {text!r}, {hint}")
    return ARGUMENT_TYPES[name]


def _array(where: str, text: str, found: re.Match[str], place: int) -> npt.NDArray[Any]:
    maker, dtype = found["maker"] or "zeros", _type(where, text, found["type"])
    if maker not in MAKERS_OF_DATA:
        raise BadInput(f"{where}: an array is one of {', '.join(MAKERS_OF_DATA)}, got {maker!r} in {text!r}")
    extents = [part.strip() for part in found["extents"].split(",")]
    if not all(part.isdecimal() and int(part) for part in extents):
        raise BadInput(f"{where}: extents must be integers of at least 1, such as [1024,1024], got {text!r}")
    seed = found["seed"]
    if seed is not None and (maker != "random" or not seed.isdecimal()):
        raise BadInput(f"{where}: a seed is an integer behind a random array, such as random:f32[8]:1, got {text!r}")
    shape = [int(part) for part in extents]
    if maker == "zeros":
        return np.zeros(shape, dtype=dtype)
    rational = dtype.kind == "f" or found["type"] == _BF16
    values: npt.NDArray[Any]
    if maker == "random":
        generator = np.random.default_rng([int(seed or 0), place])
        values = (
            generator.random(shape, dtype=np.float32) * 2 - 1
            if rational
            else generator.integers(RANDOM_INTEGERS, size=shape, dtype=np.uint8)
        )
    else:
        values = np.ones(shape) if maker == "ones" else np.arange(np.prod(shape)).reshape(shape)
    return _bf16(values) if found["type"] == _BF16 else values.astype(dtype)


def _bf16(values: npt.NDArray[Any]) -> npt.NDArray[np.uint16]:
    """Return values as bf16, rounded towards zero."""
    words: npt.NDArray[np.uint32] = values.astype(np.float32).view(np.uint32)
    return (words >> 16).astype(np.uint16)


def _typed(where: str, text: str, name: str, number: str) -> np.generic:
    dtype = _type(where, text, name)
    try:
        if name == _BF16:
            return np.uint16(_bf16(np.array([float(number)]))[0])
        value = float(number) if dtype.kind == "f" else int(number)
        made: np.generic = dtype.type(value)
    except (ValueError, OverflowError) as error:
        raise BadInput(f"{where} must be a number that {name} holds, got {text!r}") from error
    return made


def _file(where: str, path: Path) -> npt.NDArray[Any]:
    try:
        array = np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise BadInput(f"{where}: {path}: not a readable array ({error})") from error
    if not isinstance(array, np.ndarray) or array.dtype.kind not in "biufc" or not array.size:
        raise BadInput(f"{where}: {path} must hold an array of numbers")
    return np.array(array, dtype=array.dtype.newbyteorder("="), order="C")
