"""Races byte for byte: no shipped kernel has one, and a missing barrier or wait shows in the bytes that it orders."""

from dataclasses import replace
from pathlib import Path

import pytest

from gpusim.families.registry import family_of, load_scenario
from gpusim.schedule.byte_events import races_of
from gpusim.schedule.ops import Barrier, CopyAsync, Ldmatrix, LoadShared, StoreShared, WaitGroup

SCENARIOS = Path(__file__).parents[3] / "scenarios"
SHIPPED = ["gemm_ragged", "conv_9_k_tiles", "turing_int4_conv", "dgrad_3x3", "attention_64x64", "flash_128x64"]


def kernel_of(name, *overrides):
    """The first kernel of a shipped scenario."""
    scenario = load_scenario(SCENARIOS / f"{name}.toml", overrides)
    return family_of(scenario).schedules.kernels(scenario)[0]


def races(kernel, steps):
    """The races of a program, as pairs of steps."""
    (found,) = races_of(kernel.lanes(), [steps])
    return [(steps[race.first[0]], steps[race.second[0]]) for race in found]


def kinds(found):
    """The classes of the ops of each race."""
    return {(type(one), type(other)) for one, other in found}


@pytest.mark.parametrize("name", SHIPPED)
def test_a_shipped_kernel_has_no_race(name):
    kernel = kernel_of(name)
    found = races_of(kernel.lanes(), [kernel.steps(block) for block in kernel.traced_blocks])

    assert found == ((),) * len(kernel.traced_blocks)


def test_without_barriers_warps_race_for_ring_slots_and_staging():
    kernel = kernel_of("gemm_ragged")
    steps = [step for step in kernel.steps(0) if not isinstance(step, Barrier)]

    assert kinds(races(kernel, steps)) == {
        *((CopyAsync, Ldmatrix), (Ldmatrix, CopyAsync)),
        *((StoreShared, LoadShared), (LoadShared, StoreShared)),
        *((Ldmatrix, StoreShared), (CopyAsync, StoreShared), (CopyAsync, LoadShared)),
    }


def test_without_waits_copies_race_with_all_that_follows_in_their_bytes():
    kernel = kernel_of("gemm_ragged")
    steps = [step for step in kernel.steps(0) if not isinstance(step, WaitGroup)]
    others = Ldmatrix, CopyAsync, StoreShared, LoadShared

    assert kinds(races(kernel, steps)) == {(CopyAsync, other) for other in others}


def test_a_race_names_steps_and_warps():
    """
    Without the barrier before them, fragments of the first k tile race with the copies of other warps.

    Each warp's own copies are ordered with its loads by its wait.
    """
    kernel = kernel_of("gemm_ragged")
    steps = list(kernel.steps(0))
    del steps[next(index for index, step in enumerate(steps) if isinstance(step, Barrier))]
    (found,) = races_of(kernel.lanes(), [steps])

    assert kinds((steps[race.first[0]], steps[race.second[0]]) for race in found) == {(CopyAsync, Ldmatrix)}
    assert all(race.first[1] != race.second[1] for race in found)
    assert {steps[race.second[0]].stage for race in found} == {0}
    assert list(found) == sorted(found, key=lambda race: (race.second[0], race.first[0]))


def test_programs_of_one_kernel_are_checked_together():
    kernel = kernel_of("flash_128x64")
    steps = kernel.steps(kernel.traced_blocks[0])
    broken = tuple(step for step in steps if not isinstance(step.op, Barrier))
    together = races_of(kernel.lanes(), [steps, broken])

    assert together[0] == ()
    assert together[1] == races_of(kernel.lanes(), [broken])[0] != ()


def test_an_access_without_an_address_is_refused():
    kernel = kernel_of("gemm_ragged")
    lanes = kernel.lanes()
    step = next(step for step in kernel.steps(0) if isinstance(step, LoadShared))
    lanes.shared = lambda _: None

    with pytest.raises(TypeError) as refused:
        races_of(lanes, [[replace(step)]])
    assert str(refused.value) == "LoadShared(step=0, access=0) accesses shared memory, and has no address"
