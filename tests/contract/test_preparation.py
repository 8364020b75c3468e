"""What comes before a simulation is a small part of it, whatever the problem: counted, and timed with room to spare."""

import time
from collections import Counter
from unittest.mock import patch

import numpy as np
import pytest

from gpusim.families.gemm.timed import TimedTileKernel
from gpusim.families.registry import family_of, scenario_of
from gpusim.lab.bench.preparation import CASES, prepared
from gpusim.machine import load_machine
from gpusim.sim import launch as launches
from gpusim.sim.pace import paced
from gpusim.tile.implicit_gemm import ImplicitGemmIterator
from gpusim.tile.requests import grid_fetches
from gpusim.verbs.load import load
from gpusim.verbs.simulate import launch_of
from gpusim.verbs.verify import verify

FOUR_CHANNELS, WIDE, CUBE, SLICES, SHORT_SLICES, SEQUENCES = CASES


def case(name, *overrides):
    return scenario_of(CASES[name], overrides)


SMALLER = {
    "four channels": (FOUR_CHANNELS, ["problem.n=1", "problem.h=604"], 1.5),
    "many positions": (
        WIDE,
        [f"problem.{extent}" for extent in ("h=128", "w=128", "c=40", "k=64", "n=3", "r=5", "s=7")],
        1.5,
    ),
    "a thousand slices": (SHORT_SLICES, ["problem.split_k_slices=1024"], 1.5),
    "a parallel split-K": (SHORT_SLICES, ["problem.split_k_slices=1024", "problem.split_k=parallel"], 2.0),
    "sequences": (SEQUENCES, ["problem.batch=4096"], 2.5),
}
"""Problems of one kind with those of the bench, a part of their size: name, settings, seconds."""


@pytest.mark.parametrize(("name", "overrides", "seconds"), SMALLER.values(), ids=SMALLER)
def test_a_part_of_the_problem_is_prepared_in_a_second_or_two(name, overrides, seconds):
    """
    Of the processor's time, without the core. Granule by granule and slice by slice, two of them took 3.4 s and 6.5 s.

    The bound is two to eight times what a preparation takes. One that other work has slowed down is timed once more.
    """
    assert any(prepared(case(name, *overrides), exact=False).preparation < seconds for _ in range(2))


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in CASES if name not in {CUBE, SEQUENCES}])
def test_the_whole_problem_is_prepared_in_three_seconds(name):
    """
    ``python -m gpusim.lab.bench.preparation``, with half as much again for a machine of another speed.

    The cube is the bench's alone: the core takes half a minute for it.
    """
    assert prepared(case(name)).preparation < 4.5


@pytest.mark.slow
@pytest.mark.xfail(strict=True, reason="every CTA is laid out by itself where such a launch is simulated whole")
def test_a_quarter_of_the_sequences_is_prepared_in_a_quarter_of_three_seconds():
    """Known gap: 16,384 CTAs take some 5 s, 65,535 some 19 s. Laying CTAs out by class would end it."""
    assert prepared(case(SEQUENCES, "problem.batch=16384")).preparation < 0.75


@pytest.mark.parametrize(
    ("name", "most"), [(FOUR_CHANNELS, 150), (WIDE, 150), (CUBE, 4), (SLICES, 4), (SHORT_SLICES, 4)]
)
def test_few_fetches_of_a_grid_are_different(name, most):
    """Of up to 227,328 of an operand: those that pass to another row or image, or outside it, and the rest."""
    scenario = case(name)
    for operand in scenario.operands.values():
        found = grid_fetches(operand, scenario.grid.tiled, scenario.k_iterations())

        assert found.signature.max() < most


def test_few_fetches_are_evaluated():
    """793 of 7,928 CTAs have 18 fetches of A each: at most a hundred of them all are evaluated lane by lane."""
    evaluated = Counter()
    fetch = ImplicitGemmIterator.fetch

    def counted(iterator, number):
        evaluated[type(iterator).__name__] += int(np.broadcast(iterator.tile, number).size)
        return fetch(iterator, number)

    with patch.object(ImplicitGemmIterator, "fetch", counted):
        prepared(case(FOUR_CHANNELS, "problem.n=1"), exact=False)

    assert 0 < evaluated["ActivationIterator"] < 400


def test_slices_that_execute_the_same_are_lowered_and_decoded_once():
    """Of 1,024 slices of a serial split-K only the first differs, which adds to nothing."""
    scenario = case(SHORT_SLICES, "problem.split_k_slices=1024")
    (kernel,) = family_of(scenario).timing.timed_kernels(scenario, load_machine(scenario.machine))
    launch = launch_of(kernel, "estimated")
    with patch.object(launches, "assemble", wraps=launches.assemble) as assembled:
        decoded = launch.decoded

    assert len(launch.streams) == len(decoded.assemblies) == 1024
    assert (
        len({id(stream) for stream in launch.streams.values()})
        == assembled.call_count
        == len(decoded.code.warps_of)
        == 2
    )
    assert len(kernel.slice_programs) == 2
    assert sum(kernel.executions()) == 1024 + 1024 * scenario.k_iterations()


def test_programs_are_executed_as_often_as_slice_by_slice():
    """Five k tiles in three slices of 2, 2 and 1, of which the last adds the bias: three programs; 20 CTAs each."""
    problem = {"m": 300, "n": 200, "k": 160, "split_k_slices": 3, "bias": True, "layout_a": "row", "layout_b": "column"}
    kernel = {"threadblock": [64, 64, 32], "warp": [32, 32, 32], "stages": 3}
    scenario = scenario_of({"machine": "a100", "problem": {"kind": "gemm"} | problem, "kernel": kernel})
    whole = TimedTileKernel(scenario, load_machine("a100"))

    assert [slices for _, slices in whole.slice_programs] == [(0,), (1,), (2,)]
    assert whole.executions() == [20, 20, 20, 20, 20, 20, 20, 20]


@pytest.mark.slow
def test_a_convolution_of_32_x_32_filters_is_verified_in_seconds():
    """1,024 k tiles: of the processor's time some two seconds, where every access was decided anew four."""
    scenario = load("conv_9_k_tiles", ["problem.r=32", "problem.s=32", "problem.padding=[16, 16]"])
    began = time.process_time()

    assert verify(scenario, 0).ok
    assert time.process_time() - began < 12


def test_a_long_phase_says_how_far_it_is_every_few_seconds(monkeypatch):
    now = iter([0.0, 0.5, 2.5, 3.0, 4.4, 4.6])
    monkeypatch.setattr("gpusim.sim.pace.time.monotonic", lambda: next(now))
    lines = []
    say = paced(lines.append, "waves", 5000)
    for done in (1, 1000, 2000, 3000, 4000):
        say(done)

    assert lines == ["waves: 1,000 of 5,000", "waves: 4,000 of 5,000"]
