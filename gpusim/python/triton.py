"""Executes a Triton function on arrays, without a GPU: ``gpusim.triton(fn)[grid](x, y, n, BLOCK=1024)``."""

import copy
import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from gpusim.arguments import refusal, word
from gpusim.errors import BadInput, CannotRun, GpusimError
from gpusim.execute.launch import Dim
from gpusim.machine.load import load_machine
from gpusim.machine.spec import Machine
from gpusim.python.kernel import KernelRun, extents_of
from gpusim.python.triton_arguments import BITS_AS, as_triton
from gpusim.python.triton_driver import TritonDriver, import_triton

Grid: TypeAlias = Sequence[int] | Callable[[Mapping[str, Any]], Sequence[int]]


@dataclass(frozen=True, slots=True)
class TritonLaunch:
    """
    A Triton function with its grid, to be called with arguments.

    Attributes:
        function: The function.
        machine: The machine that executes it.
        types: Triton's types of arrays whose elements numpy has no type for, by parameter.
        grid: Programs of the grid, or a function that computes them from the arguments.
    """

    function: Any = field(repr=False)
    machine: Machine = field(repr=False)
    types: Mapping[str, str]
    grid: Grid = field(repr=False)

    def __call__(self, *arguments: object, config: object = None, **meta: object) -> KernelRun:
        """
        Compile and execute the function; arrays have what it wrote afterwards.

        Args:
            arguments: In the order of the signature: arrays or tensors of PyTorch in host memory for pointers, numbers,
                None, and constants.
            config: The configuration of an autotuned function. Without it, each is executed, and the one of fewest
                cycles is taken; it is the function's ``best_config``, and ``configs_timings`` has the cycles of each.
            meta: Arguments by name, ``num_warps``, ``num_stages``, and other options of Triton.

        Raises:
            BadInput: The arguments are not those of the signature, or an array cannot be written back.
            CannotRun: Triton does not compile the function, or is not installed.
            CheckFailed: An access is out of bounds or misaligned, or warps wait for ever.
            Unsupported: An instruction that is reached is not executed.
        """
        import_triton()
        names = self.function.arg_names
        unknown = set(self.types) - set(names)
        if unknown:
            raise BadInput(f"types names {min(unknown)}, which is no parameter of {', '.join(names)}")
        positional = [
            as_triton(name, value, self.types.get(name)) for name, value in zip(names, arguments, strict=False)
        ]
        named = {name: as_triton(name, value, self.types.get(name)) for name, value in meta.items()}
        driver = TritonDriver(self.machine)
        chosen = _apart(self.function, config, driver)
        options = {name: value for name, value in driver.options.items() if name not in named}
        with driver.active():
            try:
                chosen.run(*positional, *arguments[len(names) :], grid=self._extents, warmup=False, **named, **options)
            except GpusimError:
                raise
            except Exception as error:
                raise _refused(chosen, error) from error
        _tell(self.function, chosen)
        return driver.runs[-1]

    def _extents(self, arguments: Mapping[str, Any]) -> Dim:
        return extents_of("grid", self.grid(arguments) if callable(self.grid) else self.grid)


@dataclass(frozen=True, slots=True)
class TritonKernel:
    """
    A Triton function on a machine.

    Attributes:
        function: The function.
        machine: The machine that executes it.
        types: Triton's types of arrays whose elements numpy has no type for, by parameter.
    """

    function: Any = field(repr=False)
    machine: Machine = field(repr=False)
    types: Mapping[str, str]

    def __getitem__(self, grid: Grid) -> TritonLaunch:
        """Return the function with its grid: one to three integers, or a function that computes them from arguments."""
        return TritonLaunch(self.function, self.machine, self.types, grid)


def triton(function: Any, *, machine: str | Path = "h200", types: Mapping[str, str] | None = None) -> TritonKernel:
    """
    Return a Triton function, to be executed without a GPU.

    Args:
        function: A function with ``@triton.jit``, and with ``@triton.autotune`` and ``@triton.heuristics`` if it has
            them.
        machine: Machine that executes it: a name, or a machine file.
        types: Parameter -> "bf16", "fp8e5", "fp8e4nv" or "fp8e4b15", for arrays of integers that have such elements.

    Raises:
        BadInput: The function is not one of Triton.
        Unsupported: Triton does not compile for the machine.

    >>> import numpy as np
    >>> x, y = np.ones(1000, dtype=np.float32), np.zeros(1000, dtype=np.float32)
    >>> run = gpusim.triton(double, machine="a100")[(8,)](x, y, 1000, BLOCK=128)  # doctest: +SKIP
    """
    chosen = load_machine(machine)
    if types is not None and not isinstance(types, Mapping):
        raise refusal("types", "a table of parameters and types", types)
    given = {name: word(f"types[{name!r}]", kind, tuple(BITS_AS)) for name, kind in (types or {}).items()}
    TritonDriver(chosen)
    if type(function).__name__ == "InterpretedFunction":
        raise BadInput("TRITON_INTERPRET is set, so Triton compiles nothing; unset it before triton is imported")
    if not hasattr(function, "arg_names") or not callable(getattr(function, "run", None)):
        raise refusal("function", "a function with @triton.jit", function)
    return TritonKernel(function, chosen, given)


def _apart(function: Any, config: object, driver: TritonDriver) -> Any:
    """
    Return a copy of a function whose autotuner measures simulated cycles. The user's function stays as it is.

    Raises:
        BadInput: A configuration is given for a function that has none.
    """
    autotuner = importlib.import_module("triton.runtime.autotuner")
    if not isinstance(function, autotuner.Autotuner | autotuner.Heuristics):
        if config is not None:
            raise BadInput(f"config is given, but {function.__name__} is not autotuned")
        return function
    apart = copy.copy(function)
    if isinstance(function, autotuner.Heuristics):
        apart.fn = _apart(function.fn, config, driver)
        return apart
    if config is not None and not isinstance(config, autotuner.Config):
        raise refusal("config", "one of the function's configurations", config)
    apart.fn = _apart(function.fn, None, driver)
    apart.configs = function.configs if config is None else [config]
    apart.cache, apart.cache_results = {}, False
    apart.do_bench = lambda launch, quantiles, **_: [driver.trial(launch).cycles] * len(quantiles)
    return apart


def _tell(function: Any, apart: Any) -> None:
    """Store the chosen configuration and the cycles of each in the user's autotuner, as Triton does."""
    while hasattr(function, "configs") or hasattr(function, "values"):
        for name in ("best_config", "configs_timings"):
            if hasattr(apart, name):
                setattr(function, name, getattr(apart, name))
        function, apart = function.fn, apart.fn


def _refused(function: Any, error: Exception) -> GpusimError:
    """Return an error of Triton as an error of gpusim."""
    name, said = function.fn.__name__, error
    while isinstance(said.__cause__, Exception):
        said = said.__cause__
    lines = str(said).strip().splitlines() or [type(said).__name__]
    if isinstance(error, importlib.import_module("triton.errors").TritonError):
        where = f"{lines[0]} " if lines[0].startswith("at ") else ""
        return CannotRun(f"Triton does not compile {name}: {where}{lines[-1].strip()}")
    return BadInput(f"Triton refuses {name}: {lines[0].replace('dynamic_func', name)}")
