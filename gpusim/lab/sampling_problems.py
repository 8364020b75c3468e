"""The problems for the comparison of sampled launches: drawn by a rule and a seed, never chosen by their outcome."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import exp, log
from random import Random
from typing import Any, Final, Literal, TypeAlias, get_args

from gpusim.errors import GpusimError
from gpusim.families.registry import family_of, parse_scenario
from gpusim.machine.load import load_machine
from gpusim.scenario.models import Scenario
from gpusim.sim.launch import Launch
from gpusim.verbs.simulate import launch_of

ProblemHalf: TypeAlias = Literal["development", "held-out"]
"""Problems for work on the model, and problems that are looked at only when it is done."""

PROBLEM_HALVES: Final[tuple[ProblemHalf, ...]] = get_args(ProblemHalf)

DRAWING_SEED: Final = 57
DRAWN: Final = 60

SMALLEST_DRAWN: Final = 60_000_000
LARGEST_DRAWN: Final = 400_000_000
"""Limits of warp instructions: smaller launches are simulated whole by default, larger ones take long to simulate."""

DRAWN_MACHINES: Final = ("a100", "rtx4090", "t4", "h200", "rtx3090", "l40s", "h100_sxm", "rtx3060", "h100_pcie")

_TILES: Final = (
    ((128, 128), (64, 64)),
    ((128, 256), (64, 64)),
    ((256, 128), (64, 64)),
    ((128, 64), (64, 32)),
    ((64, 128), (32, 64)),
    ((64, 64), (32, 32)),
)
_SWIZZLES: Final = ("identity<1>", "identity<1>", "identity<2>", "identity<4>", "identity<8>", "horizontal")
_CHANNELS: Final = (64, 128, 256, 512)


@dataclass(frozen=True, slots=True)
class Problem:
    """
    A problem of the list.

    Attributes:
        number: Its index in the list.
        name: The problem in words.
        scenario: The scenario.
    """

    number: int
    name: str
    scenario: Mapping[str, Any]

    @property
    def half(self) -> ProblemHalf:
        """Its half: even indices are development, so each machine has some of both."""
        return "held-out" if self.number % 2 else "development"


def problems() -> Iterator[Problem]:
    """
    Draw the problems.

    Problem n is for machine n modulo nine. Kind, tile, stages, order of CTAs and types are drawn uniformly, extents
    uniformly by their logarithms. A problem is drawn again if the machine refuses it, or if it has fewer than
    ``SMALLEST_DRAWN`` warp instructions or more than ``LARGEST_DRAWN``. Any other problem is kept with the probability
    ``SMALLEST_DRAWN`` over its instructions, so most problems are small.
    """
    random = Random(DRAWING_SEED)  # noqa: S311 - a list, no secret
    for number in range(DRAWN):
        machine = DRAWN_MACHINES[number % len(DRAWN_MACHINES)]
        while True:
            name, scenario = _drawn(random, machine)
            keep = random.random()
            found = instructions_of(scenario)
            if SMALLEST_DRAWN <= found <= LARGEST_DRAWN and keep * found < SMALLEST_DRAWN:
                yield Problem(number, name, scenario)
                break


def launch(scenario: Scenario) -> Launch:
    """Return the first launch of a scenario, with its estimated stream."""
    return launch_of(family_of(scenario).timing.timed_kernels(scenario, load_machine(scenario.machine))[0], "estimated")


def instructions_of(scenario: Mapping[str, Any]) -> int:
    """Return the warp instructions of a scenario; 0 if the machine refuses it."""
    try:
        read = parse_scenario(scenario, "drawn")
        kernel = family_of(read).timing.timed_kernels(read, load_machine(read.machine))[0]
        kernel.require()
        return launch_of(kernel, "estimated").instructions
    except GpusimError:
        return 0


def _drawn(random: Random, machine: str) -> tuple[str, dict[str, Any]]:
    kind = random.choices(("gemm", "conv", "flash", "attention"), (6, 2, 1, 1))[0]
    if kind == "gemm":
        return _gemm(random, machine)
    if kind == "conv":
        return _convolution(random, machine)
    return _attention(random, machine, kind)


def _between(random: Random, least: int, most: int, multiple: int) -> int:
    """Draw a multiple of a number, uniformly by its logarithm."""
    return max(1, round(exp(random.uniform(log(least), log(most))) / multiple)) * multiple


def _tile(random: Random, machine: str, bits: int) -> dict[str, Any]:
    (m, n), (warp_m, warp_n) = random.choice(_TILES)
    k = random.choice((512, 1024)) // bits
    turing = machine == "t4"
    stages = 2 if turing else random.choice((3, 4, 5))
    return {
        "mainloop": "pipelined" if turing else "multistage",
        "threadblock": [m, n, k],
        "warp": [warp_m, warp_n, k],
        "stages": stages,
        "threadblock_swizzle": random.choice(_SWIZZLES),
    }


def _gemm(random: Random, machine: str) -> tuple[str, dict[str, Any]]:
    bits, dtype, instruction = random.choice(_types(machine))
    m, n = (_between(random, 512, 16384, 8) for _ in range(2))
    k = _between(random, 256, 16384, 64)
    kernel = _tile(random, machine, bits) | {"instruction": list(instruction)}
    problem = {"kind": "gemm", "m": m, "n": n, "k": k, "dtype": dtype}
    tile = "x".join(map(str, kernel["threadblock"]))
    name = f"{machine}: gemm {m} x {n} x {k}, {dtype['ab']}, {tile}, {kernel['stages']} stages"
    return f"{name}, {kernel['threadblock_swizzle']}", {"machine": machine, "problem": problem, "kernel": kernel}


def _types(machine: str) -> Sequence[tuple[int, dict[str, str], tuple[int, int, int]]]:
    """Return the element bits, types and mma.sync that a machine supports."""
    f16 = {"ab": "f16", "accumulator": "f32", "output": "f16"}
    f32 = {"ab": "f16", "accumulator": "f32", "output": "f32"}
    s8 = {"ab": "s8", "accumulator": "s32", "output": "s32"}
    if machine == "t4":
        return ((16, f16, (16, 8, 8)), (16, f32, (16, 8, 8)))
    tf32 = {"ab": "tf32", "accumulator": "f32", "output": "f32"}
    return (
        (16, f16, (16, 8, 16)),
        (16, f16, (16, 8, 16)),
        (16, f32, (16, 8, 16)),
        (8, s8, (16, 8, 32)),
        (32, tf32, (16, 8, 8)),
    )


def _convolution(random: Random, machine: str) -> tuple[str, dict[str, Any]]:
    images, side = _between(random, 8, 256, 1), random.choice((14, 28, 56, 112))
    c, k, filters = random.choice(_CHANNELS), random.choice(_CHANNELS), random.choice((1, 3))
    kernel = _tile(random, machine, 16) | {
        "instruction": [16, 8, 8] if machine == "t4" else [16, 8, 16],
        "iterator": "optimized",
        "threadblock_swizzle": "identity<1>",
    }
    problem = {
        "kind": "conv2d_fprop",
        "n": images,
        "h": side,
        "w": side,
        "c": c,
        "k": k,
        "r": filters,
        "s": filters,
        "padding": [filters // 2] * 2,
        "dtype": {"ab": "f16", "accumulator": "f32", "output": "f16"},
    }
    tile = "x".join(map(str, kernel["threadblock"]))
    name = f"{machine}: conv {images} x {side} x {side} x {c}, {k} filters {filters} x {filters}, {tile}"
    return f"{name}, {kernel['stages']} stages", {"machine": machine, "problem": problem, "kernel": kernel}


def _attention(random: Random, machine: str, mainloop: str) -> tuple[str, dict[str, Any]]:
    tokens, head = _between(random, 512, 8192, 64), random.choice((32, 64, 128))
    batch, heads = random.choice((1, 2, 4, 8)), random.choice((8, 16, 32))
    mask = random.choice(("none", "none", "causal_top_left"))
    problem = {
        "kind": "attention",
        "batch": batch,
        "heads": heads,
        "queries": tokens,
        "keys": tokens,
        "head_dim": head,
        "head_dim_v": head,
        "mask": mask,
        "dtype": {"ab": "f16", "accumulator": "f32", "output": "f16"},
    }
    name = f"{machine}: {mainloop}, {batch} x {heads} heads of {head}, {tokens} tokens, {mask}"
    return name, {"machine": machine, "problem": problem, "kernel": {"mainloop": mainloop}}
