"""Every broken schedule is named, in every interleaving; the schedule itself has no hazard in any."""

from dataclasses import replace
from functools import cache

import pytest
from problems.hopper import hopper

from gpusim.families.hopper.execute.cluster import INTERLEAVINGS
from gpusim.families.hopper.execute.grid import run_grid
from gpusim.families.hopper.execute.mutations import HOPPER_MUTATIONS
from gpusim.families.hopper.execute.program import cluster_programs
from gpusim.families.hopper.execute.tensors import draw_tensors
from gpusim.families.hopper.program.ops import CLUSTER_ARRIVE_ORDERED, CLUSTER_WAIT, StoreD, TmaStore, Wgmma

SCENARIOS = {
    "cooperative": hopper({"m": 256, "n": 128, "k": 512, "beta": 1.0}, {"stages": 3}),
    "pingpong": hopper(
        {"m": 256, "n": 64, "k": 256},
        {"schedule": "pingpong", "tile": [64, 64, 32], "stages": 3},
        "h200 with sms = 2",
    ),
    "pingpong-2x1": hopper(
        {"m": 256, "n": 128, "k": 256, "beta": 1.0},
        {"schedule": "pingpong", "tile": [64, 64, 32], "cluster": [2, 1], "stages": 3},
        "h200 with sms = 2",
    ),
    "cooperative-2x2": hopper({"m": 256, "n": 128, "k": 256}, {"tile": [128, 64, 32], "cluster": [2, 2], "stages": 3}),
    "warp_specialized": hopper(
        {"m": 256, "n": 64, "k": 512, "beta": 1.0}, {"schedule": "warp_specialized", "tile": [128, 64, 64], "stages": 3}
    ),
    "non_specialized": hopper(
        {"m": 256, "n": 64, "k": 256}, {"schedule": "non_specialized", "tile": [128, 64, 32], "stages": 3}
    ),
}

# Mutation, the hazards that name it whatever the order, and the scenarios that it does no harm to.
CAUGHT = [
    ("full_phase_turned", {"phase"}, ()),
    ("empty_phase_turned", {"deadlock"}, ()),
    ("full_not_awaited", {"unfilled"}, ()),
    ("empty_not_awaited", {"overwrite"}, ("non_specialized",)),
    ("source_not_awaited", {"unfilled"}, ("pingpong", "cooperative-2x2", "non_specialized")),
    (
        "order_not_awaited",
        {"phase", "unfilled"},
        ("cooperative", "cooperative-2x2", "warp_specialized", "non_specialized"),
    ),
    ("released_too_early", {"overwrite"}, ("non_specialized",)),
    ("one_arrival_too_few", {"deadlock"}, ()),
    ("one_arrival_too_many", {"phase"}, ()),
    ("too_few_bytes", {"bytes"}, ()),
    ("too_many_bytes", {"bytes", "deadlock"}, ()),
    (
        "multicast_to_wrong_cta",
        {"deadlock"},
        ("cooperative", "pingpong", "warp_specialized", "non_specialized"),
    ),
    ("lax_wgmma_wait", {"accumulators_in_flight", "overwrite"}, ()),
    ("lax_store_wait", {"cta_ended"}, ("non_specialized",)),
    ("missing_wgmma_fence", {"fence"}, ()),
    ("missing_proxy_fence", {"proxy"}, ("non_specialized",)),
    ("missing_named_barrier", {"proxy"}, ("non_specialized",)),
    ("tile_twice", {"tile_twice"}, ()),
    ("tile_missing", {"tile_missing"}, ()),
]
PAIRS = [(mutation, names, of) for mutation, names, harmless in CAUGHT for of in SCENARIOS if of not in harmless]
HARMLESS = [(mutation, of) for mutation, _, harmless in CAUGHT for of in harmless]


@cache
def programs(name):
    return cluster_programs(SCENARIOS[name])


@cache
def tensors(name):
    return draw_tensors(SCENARIOS[name].problem, 0)


def hazards(name, broken, *interleavings):
    done = run_grid(SCENARIOS[name], tensors(name), broken, None, interleavings or INTERLEAVINGS)
    return {hazard.name for hazard in done.hazards}


@pytest.mark.parametrize("interleaving", INTERLEAVINGS, ids=lambda one: one.words)
@pytest.mark.parametrize("name", SCENARIOS)
def test_the_schedule_has_no_hazard(name, interleaving):
    assert hazards(name, programs(name), interleaving) == set()


@pytest.mark.parametrize(("mutation", "names", "name"), PAIRS)
def test_every_mistake_is_named_in_every_interleaving(mutation, names, name):
    broken = tuple(map(HOPPER_MUTATIONS[mutation], programs(name)))

    assert broken != programs(name)
    for interleaving in INTERLEAVINGS:
        assert names <= hazards(name, broken, interleaving), interleaving.words


@pytest.mark.parametrize(("mutation", "name"), HARMLESS)
def test_what_is_harmless_finds_nothing(mutation, name):
    assert hazards(name, tuple(map(HOPPER_MUTATIONS[mutation], programs(name)))) == set()


def test_all_mutations_are_tried():
    assert [mutation for mutation, _, _ in CAUGHT] == list(HOPPER_MUTATIONS)


def test_a_cta_must_not_end_while_others_arrive_at_its_mbarriers():
    """The threads of a non-specialised kernel in a cluster meet at its end, for no role waits until all is released."""
    scenario = hopper(
        {"m": 256, "n": 64, "k": 256},
        {"schedule": "non_specialized", "tile": [128, 64, 32], "cluster": [2, 1], "stages": 3},
    )
    whole, tensors_ = cluster_programs(scenario), draw_tensors(scenario.problem, 0)
    last = (CLUSTER_ARRIVE_ORDERED, CLUSTER_WAIT)
    assert all(role.ops[-2:] == last for one in whole for cta in one.ctas for role in cta.roles)

    broken = [one.with_ops(lambda _, role: role.ops[:-2]) for one in whole]

    assert run_grid(scenario, tensors_, whole).hazards == ()
    for interleaving in INTERLEAVINGS:
        (hazard, *_) = run_grid(scenario, tensors_, broken, None, [interleaving]).hazards
        assert hazard.name == "cta_ended"
        assert "arrives at an mbarrier of CTA" in hazard.message


@pytest.mark.parametrize(
    ("kind", "change"),
    [
        (Wgmma, lambda op: replace(op, a=op.a + 2)),
        (StoreD, lambda op: replace(op, addresses=op.addresses[::-1])),
        (TmaStore, lambda op: replace(op, box=(op.box[0], op.box[1] - 8, 1))),
    ],
    ids=["descriptor", "stmatrix", "box"],
)
def test_a_wrong_address_gives_other_numbers(kind, change):
    """No order of operations is broken, so only the data shows it."""
    name = "cooperative"
    right = run_grid(SCENARIOS[name], tensors(name), programs(name))

    def changed(_, role):
        return tuple(change(op) if type(op) is kind else op for op in role.ops)

    wrong = run_grid(SCENARIOS[name], tensors(name), [one.with_ops(changed) for one in programs(name)])

    assert (wrong.stored != right.stored).any()


@pytest.mark.parametrize("name", SCENARIOS)
def test_all_interleavings_give_the_same_bits(name):
    each = [run_grid(SCENARIOS[name], tensors(name), programs(name), None, [one]).stored for one in INTERLEAVINGS]

    assert all((one == each[0]).all() for one in each)
