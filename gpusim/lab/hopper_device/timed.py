"""Times kernels on a GPU: warm loops by events, and the span of a launch by clocks that its warpgroups read."""

from dataclasses import asdict
from statistics import median
from typing import Any, Final

import numpy as np

from gpusim.families.hopper.collective import collective_of
from gpusim.families.hopper.device import HopperOnDevice
from gpusim.families.hopper.problem import WARPGROUP
from gpusim.gpu.module import LoadedKernel
from gpusim.gpu.run import Recording, time_loop

_LAUNCHES: Final = 20
_MEGA: Final = 1e3
"""Cycles a nanosecond to MHz."""


def loop(kernel: LoadedKernel, problem: HopperOnDevice) -> dict[str, Any]:
    """Return the microseconds of a launch in a warm loop: the median of 20 batches of 5, as CUTLASS was measured."""
    time_loop((kernel,), problem)
    found: dict[str, Any] = asdict(time_loop((kernel,), problem))
    flops = problem.scenario.problem.flops
    return found | {"tflops": round(flops / found["median"] / 1e6, 2)}


def spans(cupy: Any, kernel: LoadedKernel, problem: HopperOnDevice) -> dict[str, float]:
    """
    Return the median launch of a timeline build.

    ``active_cycles`` is the longest CTA's span by its SM's clock; ``elapsed_ns`` is from the first CTA's begin to the
    last one's end by the chip's timer; ``mhz`` is the longest CTA's cycles over its time; ``elapsed_cycles`` follows.
    """
    x, y, z = kernel.specialisation.grid
    groups = collective_of(problem.scenario).threads // WARPGROUP
    stamps = cupy.zeros((x * y * z, groups, 4), np.uint64)
    params = problem.params(0, Recording(records=stamps))
    found = []
    for _ in range(_LAUNCHES):
        kernel.launch(params)
        cupy.cuda.runtime.deviceSynchronize()
        begin, end, begin_ns, end_ns = np.moveaxis(cupy.asnumpy(stamps).astype(np.int64), -1, 0)
        cycles, nanoseconds = end - begin, end_ns - begin_ns
        longest = np.unravel_index(int(np.argmax(cycles)), cycles.shape)
        rate = float(cycles[longest]) / max(1.0, float(nanoseconds[longest]))
        span = int(end_ns.max() - begin_ns.min())
        found.append((int(cycles.max()), span, round(rate * _MEGA, 1), round(span * rate)))
    names = ("active_cycles", "elapsed_ns", "mhz", "elapsed_cycles")
    return {name: median(one[at] for one in found) for at, name in enumerate(names)}


def library_loop(cupy: Any, problem: HopperOnDevice) -> float | None:
    """Return the microseconds of cuBLAS's product in a warm loop, for f16 operands with contiguous K; None else."""
    does = problem.scenario.problem
    if does.dtype.ab != "f16" or does.k_contiguous != (True, True) or does.l > 1:
        return None
    a, b = problem.a[0].view(np.float16), problem.b[0].view(np.float16).T
    out = cupy.empty((does.m, does.n), np.float16)
    begin, end = cupy.cuda.Event(), cupy.cuda.Event()
    times = []
    for _ in range(_LAUNCHES):
        begin.record()
        for _ in range(5):
            cupy.matmul(a, b, out=out)
        end.record()
        end.synchronize()
        times.append(1000.0 * float(cupy.cuda.get_elapsed_time(begin, end)) / 5)
    return round(median(times), 3)
