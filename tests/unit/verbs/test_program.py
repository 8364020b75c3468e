"""The program of a watched CTA, found again: as long as what was issued, or not told."""

from dataclasses import replace

import numpy as np
import pytest

from gpusim.families.registry import load_scenario
from gpusim.results.program import issue_cycles
from gpusim.results.timeline import Timeline
from gpusim.scenario.catalogue import find_scenario
from gpusim.verbs.program import watched_program
from gpusim.verbs.simulate import simulate


@pytest.fixture(scope="module", params=["conv_9_k_tiles", "gemm_split_k", "gemm_tf32_nt"])
def simulated(request):
    scenario = load_scenario(find_scenario(request.param))
    return scenario, *simulate(scenario, stream="auto")


def test_a_warp_issues_as_many_instructions_as_its_program_has(simulated):
    _, _, timeline = simulated
    program = watched_program(*simulated)

    for warp in {span.warp for span in timeline.warps}:
        assert len(issue_cycles([span for span in timeline.warps if span.warp == warp])) == len(program)


def test_k_tiles_and_slots_of_the_ring_go_round_with_the_trips(simulated):
    scenario, result, _ = simulated
    program = watched_program(*simulated)
    stages = scenario.kernel.stages
    copies = np.array([name.startswith("cp.async ") for name in program.operations])[program.operation]
    loads = np.array([name.startswith("ldmatrix") for name in program.operations])[program.operation]

    for own in (copies, loads):
        assert np.array_equal(program.k_tile[own] % stages, program.stage[own])
    assert set(range(len(result.pipeline))) <= set(program.k_tile[copies].tolist())


def test_a_warp_multiplies_its_whole_tile_in_every_k_tile(simulated):
    scenario, result, _ = simulated
    program = watched_program(*simulated)
    warp, instruction = scenario.kernel.warp, scenario.kernel.instruction

    each = np.prod(warp) // np.prod(instruction)
    assert program.tensor.sum() == each * len(result.pipeline)


def test_a_user_s_machine_code_has_no_program(simulated):
    scenario, result, timeline = simulated
    own = replace(result, provenance={**result.provenance, "cubin": {}})

    assert watched_program(scenario, own, timeline) is None


def test_a_timeline_of_other_instructions_has_no_program(simulated):
    scenario, result, timeline = simulated
    warps = list(timeline.warps)

    assert watched_program(scenario, result, Timeline((), ())) is None
    assert watched_program(scenario, result, Timeline(warps[:100], ())) is None
    assert watched_program(scenario, result, Timeline([replace(warps[0], cta=10**6)], ())) is None
