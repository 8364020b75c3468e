"""Fills the arrays of own kernels before a launch, from a fixed seed; knows no kernel."""

from typing import Any, Final

import numpy as np

from gpusim.lab.own.kernel import ArrayArgument, Contents, OwnLaunch, Stored
from gpusim.numerics.elements import encode

OWN_SEED: Final = 20261128
"""Seed of all arrays. The place of an argument in its launch is the seed's second word."""

_GARBAGE: Final = 0xA5
"""Byte of arrays that a kernel writes, so that an element it leaves out differs from an answer."""


def make_arguments(launch: OwnLaunch) -> dict[str, Any]:
    """Return the arguments of a launch by name: arrays as they are before it, and numpy scalars."""
    made: dict[str, Any] = {}
    for place, (name, argument) in enumerate(launch.arguments.items()):
        dtype = np.dtype(argument.dtype)
        if isinstance(argument, ArrayArgument):
            drawn = argument.contents(np.random.default_rng((OWN_SEED, place)), argument.shape)
            made[name] = np.ascontiguousarray(drawn, dtype)
        else:
            made[name] = dtype.type(argument.value)
    return made


def zeros(_: np.random.Generator, shape: tuple[int, ...]) -> Stored:
    """Return zeros, for arrays that a kernel adds to."""
    return np.zeros(shape)


def output(dtype: str, *shape: int) -> ArrayArgument:
    """Return an array that a kernel writes, full of garbage."""

    def garbage(_: np.random.Generator, shape: tuple[int, ...]) -> Stored:
        return np.full(int(np.prod(shape)) * np.dtype(dtype).itemsize, _GARBAGE, np.uint8).view(dtype).reshape(shape)

    return ArrayArgument(dtype, shape, garbage)


def uniform(low: float = -1.0, high: float = 1.0) -> Contents:
    """Return contents of floats, uniform from ``low`` to ``high``."""
    return lambda generator, shape: generator.uniform(low, high, shape)


def integers(low: int, high: int) -> Contents:
    """Return contents of integers, uniform from ``low`` to less than ``high``."""
    return lambda generator, shape: generator.integers(low, high, shape, dtype=np.int64)


def any_bits(generator: np.random.Generator, shape: tuple[int, ...]) -> Stored:
    """Return 64-bit integers of random bits; a narrower type keeps the low ones."""
    return generator.integers(0, 2**64, shape, dtype=np.uint64)


def permutation(generator: np.random.Generator, shape: tuple[int, ...]) -> Stored:
    """Return the numbers below the array's size in random order."""
    return generator.permutation(int(np.prod(shape))).reshape(shape)


def ring(generator: np.random.Generator, shape: tuple[int, ...]) -> Stored:
    """Return for each index the next one, so that all form one ring in random order."""
    order = generator.permutation(int(np.prod(shape)))
    following = np.empty_like(order)
    following[order] = np.roll(order, -1)
    return following.reshape(shape)


def bf16(generator: np.random.Generator, shape: tuple[int, ...]) -> Stored:
    """Return the bits of bf16 numbers, uniform from -1 to 1."""
    return encode(generator.uniform(-1, 1, int(np.prod(shape))), "bf16").reshape(shape)


def exactly(values: Stored) -> Contents:
    """Return contents that are known, such as the row offsets of a sparse matrix."""
    return lambda _, shape: values.reshape(shape)
