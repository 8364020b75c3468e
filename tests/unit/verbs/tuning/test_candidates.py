"""Candidates: what is legal, and cycles that no configuration can be below."""

import pytest
from slow import one_in

import gpusim
from gpusim.errors import BadInput
from gpusim.families.registry import family_of, scenario_of
from gpusim.machine.load import load_machine
from gpusim.verbs.simulate import simulate
from gpusim.verbs.tuning.candidates import base_without_kernel, candidates_of
from gpusim.verbs.tuning.label import label

SPLIT = {"machine": "h200", "problem": {"kind": "gemm", "m": 128, "n": 256, "k": 2048, "split_k_slices": 4}}
FEW = {"batch": 1, "heads": 2, "queries": 128, "keys": 128}
KINDS = {
    "gemm_ragged": {"m": 200, "n": 264, "k": 328},
    "conv_9_k_tiles": {"n": 1, "h": 12, "w": 12},
    "dgrad_3x3": {"n": 1, "h": 12, "w": 12, "p": 12, "q": 12},
    "turing_int4_conv": {"n": 1, "h": 12, "w": 12},
    "attention_64x64": FEW,
    "flash_128x64": FEW,
}
"""Shipped scenarios, and the keys that make them small."""


def small(name):
    return gpusim.load(name).replace(problem=KINDS[name])


def space(scenario):
    base = base_without_kernel(scenario, exact=False, stream="estimated")
    return base, *candidates_of(scenario, base)


@pytest.mark.parametrize("name", one_in(3, KINDS))
def test_every_family_has_a_space_of_distinct_legal_configurations(name):
    base, candidates, _ = space(small(name))

    assert len(candidates) >= 4
    assert len({label(one.settings) for one in candidates}) == len(candidates)
    assert len({base.scenario(one.settings).digest() for one in candidates[::9]}) == len(candidates[::9])
    assert [one.least_cycles for one in candidates] == sorted(one.least_cycles for one in candidates)


@pytest.mark.parametrize("name", one_in(3, KINDS))
def test_no_configuration_is_faster_than_its_fewest_cycles(name):
    base, candidates, _ = space(small(name))
    simulated = 0
    for one in candidates[:: len(candidates) // 8 + 1]:
        try:
            result, _ = simulate(base.scenario(one.settings), exact=False, stream="estimated")
        except BadInput:  # no CTA fits on an SM
            continue
        simulated += 1
        assert one.least_cycles <= result.cycles.elapsed, label(one.settings)
    assert simulated


def test_a_split_of_k_is_tried_where_tiles_leave_sms_idle_and_the_scenarios_own_is_replaced():
    base, candidates, _ = space(scenario_of(SPLIT))
    slices = {one.settings.get("problem.split_k_slices", 1) for one in candidates}
    ways = {one.settings.get("problem.split_k") for one in candidates}

    assert slices == {1, 2, 4, 8, 16}
    assert ways == {None, "serial", "parallel"}
    unsplit = next(one for one in candidates if "problem.split_k" not in one.settings)
    assert base.scenario(unsplit.settings).problem.split_k_slices == 1


def test_a_machine_without_cp_async_is_offered_pipelined_kernels():
    (small,) = ({one.settings["kernel.mainloop"] for one in space(gpusim.load("turing_int4_conv"))[1]},)
    assert small == {"pipelined"}


def test_a_layout_that_is_none_of_cutlass_is_said():
    own, cutlass = (gpusim.load(name) for name in ("conv_s6_padded", "conv_s6_crosswise"))
    (note,) = family_of(own).spaces.notes(own)

    assert note.startswith("the scenario's own shared layouts are none of CUTLASS's")
    assert family_of(cutlass).spaces.notes(cutlass) == ()


def test_where_nothing_is_legal_the_first_refusal_is_said():
    scenario = gpusim.load("gemm_ragged")
    base = base_without_kernel(scenario, exact=None, stream="auto")
    with pytest.raises(
        BadInput, match=r"^no configuration is legal for this problem; the first is refused: stages must"
    ):
        candidates_of(scenario, base, [{"kernel.stages": 1}])


def test_bounds_name_what_they_count():
    scenario = gpusim.load("gemm_ragged")
    least = family_of(scenario).spaces.least_cycles(scenario, load_machine("h200"))
    assert set(least) == {"tensor core", "DRAM bandwidth", "L2 port of the SM"}
