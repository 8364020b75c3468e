"""Declares what an own kernel is: its source, its launches and its answer; knows no kernel and no GPU."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

Stored: TypeAlias = npt.NDArray[Any]
"""An array as it lies in memory: bf16 as its bits."""

Given: TypeAlias = Mapping[str, Any]
"""The arguments of a launch by name: numpy arrays before the launch, and numpy scalars."""

Oracle: TypeAlias = Callable[[Given], dict[str, Stored]]
"""Computes the arrays that a launch writes, by name, from its arguments."""

Contents: TypeAlias = Callable[[np.random.Generator, tuple[int, ...]], Stored]
"""Draws an array of a given shape."""

Limit: TypeAlias = Literal["compute", "shared", "memory", "latency"]

Size: TypeAlias = Literal["small", "large"]

OWN_SIZES: tuple[Size, ...] = ("small", "large")


@dataclass(frozen=True, slots=True)
class ArrayArgument:
    """
    A pointer to an array in global memory.

    Attributes:
        dtype: numpy's name of the stored type.
        shape: Its extents, C order.
        contents: What it holds before the launch.
    """

    dtype: str
    shape: tuple[int, ...]
    contents: Contents


@dataclass(frozen=True, slots=True)
class ScalarArgument:
    """A number by value, with numpy's name of the parameter's type."""

    dtype: str
    value: float


Argument: TypeAlias = ArrayArgument | ScalarArgument


@dataclass(frozen=True, slots=True)
class OwnLaunch:
    """
    One launch of an own kernel.

    Attributes:
        grid, block: gridDim and blockDim, x, y, z.
        arguments: Arguments by name, in the order of the kernel's parameters.
        shared_bytes: Dynamic shared memory of a CTA.
    """

    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    arguments: Mapping[str, Argument]
    shared_bytes: int = 0

    @property
    def threads(self) -> int:
        """Threads of the grid."""
        return int(np.prod(self.grid)) * int(np.prod(self.block))


@dataclass(frozen=True, slots=True)
class OwnKernel:
    """
    One own kernel with its launches.

    Attributes:
        name: Its name in records: that of the entry, or more where an entry is launched in several ways.
        source: Name of the source in tests/own/kernels, without ".cu", of the Triton function, or of CuPy's module.
        entry: Name of the function in the machine code.
        bound: What limits the large launch on a large GPU, as its author expects.
        small: A launch for executors and tests: at most half a million thread instructions, or few more.
        large: A launch for measurements, meant to take 10 to 1000 microseconds on an H200.
        oracle: Computes what either launch writes.
        tolerance: Largest accepted error of an element, relative to the larger of its magnitude and the array's root
            mean square; 0 for bits that are equal.
        needs: Lowest compute capability that has all instructions, as in ``sm_75``.
        kept: Name of its machine code among that of frameworks; empty if it is compiled from tests/own/kernels.
    """

    name: str
    source: str
    entry: str
    bound: Limit
    small: OwnLaunch
    large: OwnLaunch
    oracle: Oracle
    tolerance: float = 0.0
    needs: int = 75
    kept: str = ""

    @property
    def function(self) -> str:
        """Name of the entry without namespaces, template arguments and parameters, as ncu's filter sees it."""
        mangled = re.match(r"_Z(\d+)", self.entry)
        return self.entry[mangled.end() :][: int(mangled[1])] if mangled else self.entry

    @property
    def code(self) -> str:
        """Name of its machine code, where that is kept."""
        return self.kept or self.source

    def launch(self, size: Size) -> OwnLaunch:
        """Return the launch of a size."""
        return self.small if size == "small" else self.large


def named_alike(
    name: str,
    bound: Limit,
    small: OwnLaunch,
    large: OwnLaunch,
    oracle: Oracle,
    *,
    tolerance: float = 0.0,
    needs: int = 75,
) -> OwnKernel:
    """Return a kernel whose source and entry have its name, as most have."""
    return OwnKernel(name, name, name, bound, small, large, oracle, tolerance, needs)
