"""Computes a run's use of its machine from the result: SMs, waves, tiles and the peak of each resource."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, prod

from gpusim.element_types import element_bits
from gpusim.machine.spec import Machine
from gpusim.results.resources import TENSOR_METRICS, resources_of
from gpusim.results.result import Result


@dataclass(frozen=True, slots=True)
class Use:
    """
    The use of a machine by one run.

    Attributes:
        working: SMs that have a CTA.
        sms: SMs of the machine.
        waves: Waves of CTAs. A whole wave fills every SM; the last one may be partly filled.
        last_wave: Share of the last wave's places that have a CTA, 0 to 1.
        tile_efficiency: Useful multiplications over executed ones, 0 to 1; the others are padding of the tile. None
            if no MMA was counted.
        tensor_peak: Peak of all tensor cores for the scenario's mma.sync, 10^12 operations a second. None if the
            machine has no figure.
        of_peak: Use of each resource that can bound a kernel, over all SMs and all elapsed cycles, as a share of its
            peak, the most used first.
    """

    working: int
    sms: int
    waves: int
    last_wave: float
    tile_efficiency: float | None
    tensor_peak: float | None
    of_peak: tuple[tuple[str, float], ...]

    @property
    def idle_sms(self) -> int:
        """SMs that have no CTA."""
        return self.sms - self.working


def use_of(result: Result, machine: Machine) -> Use:
    """Return a run's use of its machine."""
    places = result.ctas_per_sm * machine.sms
    waves = ceil(result.ctas / places)
    return Use(
        working=min(result.ctas, machine.sms),
        sms=machine.sms,
        waves=waves,
        last_wave=result.ctas / places - (waves - 1),
        tile_efficiency=_tile_efficiency(result),
        tensor_peak=tensor_peak_tflops(result, machine),
        of_peak=tuple((one.name, one.percent / 100) for one in resources_of(result) if one.bounds),
    )


def tile_efficiency(flops: float, mmas: float, instruction: Sequence[int]) -> float | None:
    """
    Return useful multiplications over executed ones, 0 to 1; None if nothing is executed.

    Args:
        flops: Multiplications and additions of the problem.
        mmas: mma.sync instructions that the grid executes.
        instruction: M, N and K of one mma.sync.
    """
    executed = 2 * prod(instruction) * mmas
    return min(1.0, flops / executed) if executed else None


_OF_SM = 4
"""Warps that execute a wgmma together."""

_WGMMA_METRIC = "sm__sass_inst_executed_op_shared_gmma.sum"


def instruction_of(result: Result) -> tuple[int, int, int]:
    """Return M, N and K of one matrix instruction of a warp: a quarter of M of a wgmma."""
    kernel = result.scenario["kernel"]
    if "instruction" in kernel:
        m, n, k = kernel["instruction"]
        return m, n, k
    bits = element_bits(result.scenario["problem"]["dtype"]["ab"])
    return 64 // _OF_SM, kernel["tile"][1], 256 // bits


def _tile_efficiency(result: Result) -> float | None:
    """Return the tile efficiency of a run. The result states its operations as a rate with three decimals."""
    mmas = sum(result.counters.get(metric, 0) for metric in (*TENSOR_METRICS, _WGMMA_METRIC))
    return tile_efficiency(result.tflops * result.time_us * 1e6, mmas, instruction_of(result))


def tensor_peak_tflops(result: Result, machine: Machine) -> float | None:
    """
    Return the peak of all tensor cores for the scenario's mma.sync, in 10^12 operations per second.

    Return None if the machine file has no figure for that shape and type.
    """
    interval = mma_interval(result, machine)
    if interval is None:
        return None
    operations = 2 * prod(instruction_of(result)) * machine.smsps * machine.sms
    return float(operations / interval * machine.clock_mhz / 1e6)


def mma_interval(result: Result, machine: Machine) -> int | None:
    """
    Return the cycles that one mma.sync of the scenario occupies the tensor core of its SMSP.

    Return None if the machine file has no figure for that shape and type.
    """
    m, n, k = instruction_of(result)
    if "instruction" not in result.scenario["kernel"]:
        return None if machine.wgmma is None else n // 2
    dtype = result.scenario["problem"]["dtype"]
    pipe = machine.tensor.get(f"m{m}n{n}k{k}.{dtype['ab']}.{dtype['accumulator']}")
    return None if pipe is None else pipe.interval
