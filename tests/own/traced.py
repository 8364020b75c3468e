"""Launches of own kernels, ready to be executed and timed: from the kept machine code and drawn arguments."""

from typing import Any

import numpy as np
from own.build import cubin_of

from gpusim.execute.image import image_of
from gpusim.execute.launch import KernelLaunch
from gpusim.execute.run import KernelExecution
from gpusim.lab.own.contents import make_arguments
from gpusim.lab.own.kernel import Size
from gpusim.lab.own.table import own_kernel
from gpusim.lower.sass.cubin import read_cubin
from gpusim.machine import load_machine
from gpusim.own.timed import TracedExecution


def execution(name: str, target: int = 80, *, size: Size = "small", **options: Any) -> KernelExecution:
    """The execution of a launch; options are those of ``KernelExecution``."""
    kernel = own_kernel(name)
    launch = kernel.launch(size)
    given = make_arguments(launch)
    image = image_of([(name, value) for name, value in given.items() if isinstance(value, np.ndarray)])
    addresses = {one.name: one.address.to_bytes(8, "little") for one in image.allocations}
    values = [addresses.get(name) or np.asarray(value).tobytes() for name, value in given.items()]
    cubin = read_cubin(cubin_of(kernel.source, target), kernel.entry, kernel.source)
    shape = KernelLaunch(launch.grid, launch.block, launch.shared_bytes)
    return KernelExecution(cubin, shape, values, image, **({"keeps": True} | options))


def traced(name: str, target: int = 90, machine: str = "h200", *, sliced: bool = True) -> TracedExecution:
    """The small launch of a kernel after its execution, on a machine by name or file."""
    found = TracedExecution(execution(name, target, sliced=sliced), load_machine(machine))
    for _ in found.run():
        pass
    return found
