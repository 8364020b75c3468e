"""Launches of own kernels, ready to be executed and timed: from the kept machine code and drawn arguments."""

from typing import Any

from own.build import cubin_of

from gpusim.execute.run import KernelExecution
from gpusim.lab.own.contents import make_arguments
from gpusim.lab.own.counts.compared import execution_of
from gpusim.lab.own.kernel import Size
from gpusim.lab.own.table import own_kernel
from gpusim.machine import load_machine
from gpusim.own.timed import TracedExecution


def execution(name: str, target: int = 80, *, size: Size = "small", **options: Any) -> KernelExecution:
    """The execution of a launch; options are those of ``KernelExecution``."""
    kernel = own_kernel(name)
    given = make_arguments(kernel.launch(size))
    return execution_of(kernel, size, cubin_of(kernel.source, target), given, **({"keeps": True} | options))


def traced(name: str, target: int = 90, machine: str = "h200", *, sliced: bool = True) -> TracedExecution:
    """The small launch of a kernel after its execution, on a machine by name or file."""
    found = TracedExecution(execution(name, target, sliced=sliced), load_machine(machine))
    for _ in found.run():
        pass
    return found
