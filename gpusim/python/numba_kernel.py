"""A kernel of Numba, compiled for the types of each launch's arguments: ``gpusim.kernel(fn)[grid, block](x, y)``."""

import importlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from gpusim.cuda.assembler import link
from gpusim.errors import BadInput, CannotRun
from gpusim.machine.spec import Machine

PASSED_ON = ("fastmath", "opt", "launch_bounds")
"""Options of ``@cuda.jit`` that change the machine code."""


def is_numba(source: object) -> bool:
    """Return whether a source of a kernel is a function with ``@cuda.jit``."""
    return type(source).__name__ == "CUDADispatcher"


@dataclass(frozen=True, slots=True)
class NumbaKernel:
    """
    A kernel of Numba.

    Attributes:
        function: The function.
        machine: Machine that executes it.
        ready: Returns a kernel of gpusim by its file of machine code and its name.
    """

    function: Any = field(repr=False)
    machine: Machine = field(repr=False)
    ready: Callable[[Path, str], Any] = field(repr=False)

    def __getitem__(self, launch: Any) -> "NumbaLaunch":
        """Return the kernel with grid and block, and dynamic shared memory in bytes if that is given."""
        return NumbaLaunch(self.function, self.machine, self.ready, launch)


@dataclass(frozen=True, slots=True)
class NumbaLaunch:
    """
    A kernel of Numba with its grid and block, to be called with arguments.

    Attributes:
        function: The function.
        machine: Machine that executes it.
        ready: Returns a kernel of gpusim by its file of machine code and its name.
        launch: Grid and block, and dynamic shared memory in bytes if that is given.
    """

    function: Any = field(repr=False)
    machine: Machine = field(repr=False)
    ready: Callable[[Path, str], Any] = field(repr=False)
    launch: Any

    def __call__(self, *arguments: Any) -> Any:
        """
        Compile the kernel for the types of its arguments, and execute it; arrays have what it wrote afterwards.

        Args:
            arguments: In the order of the signature: arrays, numbers, truth values, and tuples of these.

        Raises:
            BadInput: The arguments are not those of the signature, or of a type that is not passed.
            CannotRun: Numba does not compile the kernel, or nvJitLink is not installed.
        """
        values = [one for number, value in enumerate(arguments) for one in _flat(value, number)]
        file = compiled(self.function, arguments, self.machine)
        return self.ready(file, self.function.py_func.__name__)[self.launch](*values)


def compiled(function: Any, arguments: tuple[Any, ...], machine: Machine) -> Path:
    """
    Return the machine code of a kernel for the types of some arguments.

    Raises:
        BadInput: Numba has no type for an argument.
        CannotRun: Numba does not compile the kernel, or nvJitLink is not installed.
    """
    cuda, errors = importlib.import_module("numba.cuda"), importlib.import_module("numba.core.errors")
    name = function.py_func.__name__
    try:
        types = tuple(map(importlib.import_module("numba").typeof, arguments))
    except (ValueError, errors.NumbaError) as error:
        raise BadInput(f"{name}: {error}") from error
    options = {key: value for key, value in function.targetoptions.items() if key in PASSED_ON and value}
    try:
        code, _ = cuda.compile(
            function.py_func,
            types,
            cc=divmod(machine.compute_capability, 10),
            lineinfo=True,
            device=False,
            abi="numba",
            output="ltoir",
            **options,
        )
    except (errors.NumbaError, RuntimeError, OSError, TypeError) as error:
        lines = [line for line in str(error).splitlines() if line.strip()]
        raise CannotRun(f"Numba does not compile {name}: {' '.join(lines[:2])}") from error
    return link(code, name, machine.compute_capability)


def _flat(value: Any, number: int) -> Iterator[Any]:
    """
    Yield the parameters that Numba's calling convention makes of an argument.

    An array has two pointers of the host's (to the owner of its memory and to its object), its size, the bytes of an
    element, its address, its extents and its strides in bytes.
    """
    if isinstance(value, np.ndarray):
        yield from (0, 0, value.size, value.itemsize, value, *value.shape, *value.strides)
    elif isinstance(value, tuple):
        for one in value:
            yield from _flat(one, number)
    elif isinstance(value, complex | np.complexfloating):
        yield from (value.real, value.imag)
    elif isinstance(value, bool | int | float | np.number | np.bool_):
        yield value
    elif value is not None:
        raise BadInput(f"argument {number} must be an array, a number or a tuple of these, got {value!r}")
