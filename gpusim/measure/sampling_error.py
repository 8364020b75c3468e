"""``python -m gpusim.measure.sampling_error``: compares sampled launches with exact ones, problem by problem."""

import argparse
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from gpusim.errors import GpusimError
from gpusim.families.registry import family_of, load_scenario, parse_scenario
from gpusim.machine.load import load_machine
from gpusim.machine.spec import Machine
from gpusim.scenario.catalogue import find_scenario
from gpusim.scenario.models import Scenario
from gpusim.sim.launch import Launch, Outcome, simulate_launch
from gpusim.verbs.simulate import launch_of

BAR_PERCENT: Final = 0.5
"""Largest difference of elapsed cycles that is aimed at."""


def _gemm(m: int, n: int, k: int, **problem: Any) -> Mapping[str, Any]:
    types = {"ab": "f16", "accumulator": "f32", "output": "f16"}
    kernel = {"threadblock": [128, 128, 64], "warp": [64, 64, 64], "stages": 3}
    return {
        "machine": "h200",
        "problem": {"kind": "gemm", "m": m, "n": n, "k": k, "dtype": types, **problem},
        "kernel": kernel,
    }


PROBLEMS: Final[Mapping[str, str | Mapping[str, Any]]] = {
    # GEMMs by waves
    "1024 x 1024 x 1024, .24 waves": _gemm(1024, 1024, 1024),
    "2048 x 2048 x 1024, .97 waves": _gemm(2048, 2048, 1024),
    "2048 x 2048 x 2048, .97 waves": "gemm_128x128x64_s3_2048",
    "2048 x 2048 x 2048, .97 waves, K tile of 32": "gemm_128x128x32_s3_2048",
    "2048 x 2048 x 2048, .97 waves, one CTA per SM": "gemm_128x256x32_s3_2048",
    "2048 x 2304 x 512, 1.09 waves": _gemm(2048, 2304, 512),
    "2304 x 2048 x 1024, 1.09 waves": _gemm(2304, 2048, 1024),
    "4096 x 2048 x 512, 1.94 waves": _gemm(4096, 2048, 512),
    "2048 x 4096 x 1024, 1.94 waves": _gemm(2048, 4096, 1024),
    "4096 x 4096 x 512, 3.88 waves": _gemm(4096, 4096, 512),
    "2048 x 2048 x 2048, 3.88 waves": "gemm_64x64x64_s5_2048",
    "4096 x 4096 x 4096, 3.88 waves": "gemm_4096",
    "8192 x 8192 x 256, 15.52 waves": _gemm(8192, 8192, 256),
    "8192 x 8192 x 1024, s8, 15.52 waves": "gemm_s8_128x128x64_s3_8192",
    # GEMMs of other shapes
    "ragged": _gemm(2000, 3000, 1000),
    "deep K": _gemm(1024, 1024, 16384),
    "skinny": _gemm(128, 16384, 2048),
    "split-K": _gemm(1024, 1024, 8192, split_k_slices=4),
    "split-K of unequal slices": _gemm(768, 1280, 4160, split_k_slices=3),
    # Convolutions
    "conv 56 x 56, 64 to 256, 1 x 1": "conv_n32_56x56_c64_k256_1x1_optimized",
    "conv 28 x 28, 128 to 128": "conv_n32_28x28_c128_k128_3x3_optimized_64x64x64_s4",
    "conv 28 x 28, analytic": "conv_n32_28x28_c128_k128_3x3",
    "conv 14 x 14, 256 to 256": "conv_n32_14x14_c256_k256_3x3",
    "data gradient 56 x 56": "dgrad_n32_56x56_c64_k64_3x3",
    # Attention
    "attention, causal": "attention_64x64",
    "attention, head of 32": "attention_d32_512",
    "flash, causal": "flash_128x64",
    "flash, 2048 tokens, causal": "flash_d64_2048_causal",
    "flash": "flash_d64_1024",
    "flash, head of 128": "flash_d128_1024",
}
"""What is compared: names of scenarios, or scenarios. Each is a launch on an H200 with its estimated stream."""


@dataclass(frozen=True, slots=True)
class SamplingError:
    """
    A sampled launch beside the exact one.

    Attributes:
        name: Name of the problem.
        waves: Number of waves.
        exact, sampled: The outcomes.
        ctas: Number of CTAs of the grid.
        swing: Largest relative change of the exact run's longest span where DRAM answers a few cycles later or earlier;
            None where that was not tried.
    """

    name: str
    waves: float
    exact: Outcome
    sampled: Outcome
    ctas: int
    swing: float | None

    @property
    def elapsed(self) -> float:
        """(sampled - exact) / exact of the longest span."""
        return self.sampled.longest / self.exact.longest - 1

    @property
    def active(self) -> float:
        """(sampled - exact) / exact of the mean span."""
        return self.sampled.active / self.exact.active - 1


def _with_latency(machine: Machine, moved: int) -> Machine:
    """Return a machine whose DRAM answers some cycles later, or earlier where they are negative."""
    dram = machine.dram
    if dram.late is not None:
        late = replace(dram.late, on_time=dram.late.on_time + moved)
        dram = replace(dram, latency_least=dram.latency_least + moved, late=late)
    elif dram.latency is not None:
        dram = replace(dram, latency=dram.latency + moved)
    return replace(machine, dram=dram)


def sampling_error(name: str, scenario: Scenario, swings: Iterable[int] = ()) -> SamplingError:
    """
    Simulate the first launch of a scenario exactly and sampled.

    Args:
        name: Name of the problem.
        scenario: The scenario.
        swings: Cycles by which the latency of DRAM is moved, one exact run each.
    """
    machine = load_machine(scenario.machine)
    launch = _launch(scenario, machine)
    exact, sampled = _outcome(launch, exact=True), _outcome(launch, exact=False)
    longest = [_outcome(_launch(scenario, _with_latency(machine, moved))) for moved in swings]
    return SamplingError(
        name,
        launch.ctas / (launch.ctas_per_sm * machine.sms),
        exact,
        sampled,
        launch.ctas,
        max((abs(one.longest / exact.longest - 1) for one in longest), default=None),
    )


def table(rows: Sequence[SamplingError]) -> str:
    """Return the comparison as markdown."""
    return "\n".join(_lines(rows)) + "\n"


def _lines(rows: Sequence[SamplingError]) -> Iterator[str]:
    taken = [row for row in rows if row.sampled.sampled]
    elapsed = [abs(row.elapsed) for row in taken] or [0.0]
    active = [abs(row.active) for row in taken] or [0.0]
    within = sum(abs(row.elapsed) * 100 <= BAR_PERCENT for row in taken)
    swings = [row.swing for row in rows if row.swing is not None]
    swinging = sum(swing * 100 > BAR_PERCENT for swing in swings)
    yield "# Sampled launches beside exact ones"
    yield ""
    yield "Made by `python -m gpusim.measure.sampling_error`, which has the list; estimated streams, H200."
    yield ""
    mean, active_mean = sum(elapsed) / len(elapsed), sum(active) / len(active)
    yield (
        f"Elapsed cycles of a sampled launch differ from the exact ones by {_percent(mean)} in the mean and"
        f" {_percent(max(elapsed))} at most; by at most {BAR_PERCENT} % in {within} of {len(taken)} problems."
        f" Active cycles differ by {_percent(active_mean)} in the mean and {_percent(max(active))} at most."
        f" The other {len(rows) - len(taken)} are simulated whole, as small launches are that hang on a few CTAs,"
        " left over or longer than others."
    )
    yield ""
    if swings:
        yield (
            "*swing* is how far the exact run's own elapsed cycles move where DRAM answers one or two cycles later or"
            f" earlier: more than {BAR_PERCENT} % in {swinging} of {len(swings)} problems. A sample is nearer than that"
            " by chance alone."
        )
        yield ""
    yield "| problem | waves | CTAs | simulated | exact | sampled | elapsed | active | swing |"
    yield "|---|---:|---:|---:|---:|---:|---:|---:|---:|"
    for row in rows:
        swing = "" if row.swing is None else _percent(row.swing)
        numbers = f"{row.ctas:,} | {row.sampled.ctas:,} | {row.exact.longest:,} | {row.sampled.longest:,}"
        errors = f"{_percent(row.elapsed, '+')} | {_percent(row.active, '+')} | {swing}"
        yield f"| {row.name} | {row.waves:.2f} | {numbers} | {errors} |"


def _percent(share: float, sign: str = "") -> str:
    return f"{100 * share:{sign}.2f} %"


def _launch(scenario: Scenario, machine: Machine) -> Launch:
    return launch_of(family_of(scenario).timing.timed_kernels(scenario, machine)[0], "estimated")


def _outcome(launch: Launch, *, exact: bool = True) -> Outcome:
    return simulate_launch(launch, exact=exact, progress=lambda _: None)


def _scenario(name: str) -> Scenario:
    problem = PROBLEMS[name]
    return load_scenario(find_scenario(problem)) if isinstance(problem, str) else parse_scenario(problem, name)


def main(argv: Sequence[str] | None = None) -> int:
    """Compare all problems, or those named, and write the table. Return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m gpusim.measure.sampling_error", description=__doc__)
    parser.add_argument("names", nargs="*", help="problems of the list; default: all")
    parser.add_argument("--out", type=Path, help="default: standard output")
    parser.add_argument("--swing", action="store_true", help="move the latency of DRAM a little in exact runs, too")
    arguments = parser.parse_args(argv)
    swings = (-2, -1, 1, 2) if arguments.swing else ()
    rows = []
    try:
        for name in arguments.names or PROBLEMS:
            rows.append(sampling_error(name, _scenario(name), swings))
            sys.stderr.write(f"{name}: {100 * rows[-1].elapsed:+.2f} %\n")
            if arguments.out:
                arguments.out.write_text(table(rows))
    except (GpusimError, KeyError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    if not arguments.out:
        sys.stdout.write(table(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
