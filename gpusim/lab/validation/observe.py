"""Simulates measured kernels, many at a time, and pairs every figure that measurement and simulation both have."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from gpusim.errors import BadInput, CannotRun
from gpusim.families.registry import family_of, parse_scenario
from gpusim.machine.load import load_machine
from gpusim.machine.spec import Machine
from gpusim.records.check import active_cycles, stall_shares
from gpusim.results.result import ELAPSED, Result, StreamOrigin
from gpusim.results.trust import kind_of, size_of
from gpusim.tile.extents import ceil_div
from gpusim.units import SECTOR_BYTES
from gpusim.verbs.processes import in_processes
from gpusim.verbs.simulate import simulate

CYCLES: Final = ("elapsed", "active")
"""Figures of time."""

TRAFFIC: Final = {
    "L2 sectors read": ("lts__t_sectors_op_read.sum",),
    "lts writes": ("lts__t_sectors_op_write.sum",),
    "DRAM bytes": ("dram__bytes_read.sum", "dram__bytes_write.sum"),
}
"""Figures of traffic, each a sum of counters. A counter that the simulation lacks is left out of both sums."""

BUSY: Final = 0.4
"""Share of the elapsed cycles from which the busiest resource bounds a kernel."""

PROGRESS_EVERY: Final = 50
"""Number of simulations between two lines on progress."""

KIND_AND_SIZE: Final = "kind and size"
KIND_FROM_SIZE: Final = ": "
"""Separator of kind and size in the name of a group."""

SUMMED_EXTENT: Final = {"gemm": "k", "conv2d_fprop": "c", "conv2d_dgrad": "k", "attention": "keys"}
"""Key of the extent that determines how many k tiles (or key blocks) a CTA has, by kind of problem."""


class FigurePair(NamedTuple):
    """One figure, measured and simulated."""

    measured: float
    simulated: float

    @property
    def error(self) -> float:
        """(simulated - measured) / measured."""
        return (self.simulated - self.measured) / self.measured


@dataclass(frozen=True, slots=True)
class Measured:
    """
    The measurement of one kernel, of gpusim's or of CUTLASS's.

    Attributes:
        name: Name of the record.
        scenario: The resolved scenario, as plain data.
        counters: Values of a cold launch, by full ncu metric name; the cycles of a record are medians of several.
        sms: SMs of the GPU.
    """

    name: str
    scenario: dict[str, Any]
    counters: Mapping[str, float]
    sms: int


@dataclass(frozen=True, slots=True)
class Observation:
    """
    One kernel, measured and simulated with one instruction stream.

    Attributes:
        name: Name of the record.
        stream: Origin of the stream.
        groups: Its group in each table: ``kind``, ``size``, both of them, ``bound`` and ``stages``.
        figures: Figures of time and traffic.
        stalls: Share of all warp cycles by stall reason.
        alike: Text that is equal for two kernels that differ only in the length of the sum.
        k_tiles: k tiles (or key blocks) of a CTA.
        waves: CTAs of the grid over those that the chip holds.
    """

    name: str
    stream: StreamOrigin
    groups: Mapping[str, str]
    figures: Mapping[str, FigurePair]
    stalls: Mapping[str, FigurePair]
    alike: str
    k_tiles: int
    waves: float


def observe(
    measured: Sequence[Measured],
    streams: Sequence[StreamOrigin],
    *,
    exact: bool | None,
    jobs: int,
    say: Callable[[str], None],
) -> Iterator[Observation]:
    """
    Simulate every kernel with every stream, and yield each beside its measurement, in the given order.

    A kernel without such a stream is left out, and so is a kernel whose mma.sync is emulated (D27).

    Args:
        measured: Kernels with their counters.
        streams: Origins of streams.
        exact: As of ``simulate``.
        jobs: Processes; 1 simulates in this one.
        say: Called with a line on progress, and for each stream that some kernels lack. No line names a kernel.
    """
    asked = [(one, stream) for one in measured for stream in streams]
    if jobs == 1:
        results = [_simulated(one.scenario, one.name, stream, exact) for one, stream in asked]
    else:
        calls = [(one.scenario, one.name, stream, exact) for one, stream in asked]
        results = []
        with in_processes(_simulated, calls, jobs) as found:
            for number, result in enumerate(found, start=1):
                results.append(result)
                if number % PROGRESS_EVERY == 0:
                    say(f"simulated {number} of {len(calls)}")
    for stream in streams:
        without = sum(found is None for (_, own), found in zip(asked, results, strict=True) if own == stream)
        if without:
            say(f"{without} of {len(measured)} kernels have no {stream} stream")
    for (one, _), result in zip(asked, results, strict=True):
        if result is not None:
            yield observation(one, result)


def _simulated(data: dict[str, Any], name: str, stream: StreamOrigin, exact: bool | None) -> Result | None:
    """Return the result; None if the kernel has no such stream."""
    try:
        return simulate(parse_scenario(data, name), exact=exact, stream=stream)[0]
    except (BadInput, CannotRun):
        return None


def observation(measured: Measured, result: Result) -> Observation:
    """Pair a measured kernel with its simulation."""
    counters, machine = measured.counters, load_machine(measured.scenario["machine"])
    figures = {
        "elapsed": (counters.get(ELAPSED), result.cycles.elapsed),
        "active": tuple(active_cycles(one, result.ctas, measured.sms) for one in (counters, result.counters)),
        "warp instructions": _both(("smsp__inst_executed.sum",), counters, result),
        **{name: _both(metrics, counters, result) for name, metrics in TRAFFIC.items()},
    }
    shares = stall_shares(counters)
    reasons = sorted(shares.keys() | result.stalls.keys()) if shares else ()
    scenario = measured.scenario
    kind, size = kind_of(scenario), size_of(result.waves)
    return Observation(
        name=measured.name,
        stream=result.stream,
        groups={
            "kind": kind,
            "size": size,
            KIND_AND_SIZE: kind + KIND_FROM_SIZE + size,
            "bound": bound_of(counters, machine),
            "stages": str(scenario["kernel"]["stages"]),
        },
        figures={
            name: FigurePair(known, simulated)
            for name, (known, simulated) in figures.items()
            if known and simulated is not None
        },
        stalls={reason: FigurePair(shares.get(reason, 0.0), result.stalls.get(reason, 0.0)) for reason in reasons},
        alike=alike(scenario),
        k_tiles=k_tiles(scenario),
        waves=result.waves,
    )


def _both(metrics: Sequence[str], counters: Mapping[str, float], result: Result) -> tuple[float | None, float | None]:
    known = [metric for metric in metrics if metric in counters and metric in result.counters]
    if not known:
        return None, None
    return sum(counters[metric] for metric in known), sum(result.counters[metric] for metric in known)


def bound_of(counters: Mapping[str, float], machine: Machine) -> str:
    """
    Return what bounds a kernel by its own counters: tensor core, L2, DRAM, or latency if nothing is busy.

    The tensor core's share is ncu's, of the active cycles. The others are bytes over the peak bytes of the elapsed
    cycles.
    """
    elapsed = counters.get(ELAPSED, 0.0)
    if not elapsed:
        return "unknown"
    sectors = sum(counters.get(f"lts__t_sectors_op_{op}.sum", 0.0) for op in ("read", "write"))
    dram = sum(counters.get(f"dram__bytes_{op}.sum", 0.0) for op in ("read", "write"))
    tensor = "sm__pipe_tensor_op_{}_cycles_active.avg.pct_of_peak_sustained_active"
    shares = {
        "tensor core": max(counters.get(tensor.format(pipe), 0.0) for pipe in ("hmma", "imma")) / 100,
        "L2": SECTOR_BYTES * sectors / (elapsed * machine.l2.bytes_per_cycle),
        "DRAM": 1000 * dram / (elapsed * machine.dram.bytes_per_kilocycle),
    }
    busiest = max(shares, key=lambda name: shares[name])
    return busiest if shares[busiest] >= BUSY else "latency"


def k_tiles(scenario: Mapping[str, Any]) -> int:
    """Return the number of k tiles of a CTA; for attention, of key blocks."""
    keys = scenario["kernel"].get("keys_per_block")
    if keys:
        return ceil_div(int(scenario["problem"]["keys"]), int(keys))
    kernel = dict(scenario["kernel"])
    kernel.pop("code", None)  # CUTLASS's code has the same k tiles
    parsed = parse_scenario({**scenario, "kernel": kernel}, "a record")
    return family_of(parsed).cuda.specialisations(parsed, "plain")[0].k_iterations


def alike(scenario: Mapping[str, Any]) -> str:
    """
    Return a text of the scenario without the extent of its sum, and without leading dimensions that follow from it.

    The text is empty for causal attention, because its key blocks do not grow with the keys.
    """
    problem = dict(scenario["problem"])
    if problem.get("mask", "none") != "none" or problem.get("key_lengths"):
        return ""
    summed = problem.pop(SUMMED_EXTENT[problem["kind"]])
    for leading, layout, along_sum in (("lda", "layout_a", "row"), ("ldb", "layout_b", "column")):
        if problem.get(layout) == along_sum and problem[leading] == summed:
            del problem[leading]
    return json.dumps({"problem": problem, "kernel": scenario["kernel"]}, sort_keys=True)
