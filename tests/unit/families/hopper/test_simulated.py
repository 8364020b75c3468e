"""sm_90 GEMMs in time: what is counted, what each role waits for, what is refused, and what more stages bring."""

import pytest

from gpusim.errors import BadInput
from gpusim.families.hopper.counts import grid_counts
from gpusim.families.hopper.simulation.launch import time_of
from gpusim.families.registry import scenario_of
from gpusim.sim.core.engine import chosen
from gpusim.verbs.explain import explain
from gpusim.verbs.simulate import simulate
from gpusim.verbs.tune import tune


def gemm(m, n, k, *, machine="h200", dtype=None, **kernel):
    problem = {"kind": "hopper_gemm", "m": m, "n": n, "k": k} | ({} if dtype is None else {"dtype": dtype})
    return scenario_of({"machine": machine, "problem": problem, "kernel": kernel})


SMALL = {
    "cooperative": gemm(512, 384, 256),
    "pingpong": gemm(512, 384, 256, schedule="pingpong"),
    "warp_specialized": gemm(512, 384, 256, schedule="warp_specialized"),
    "non_specialized": gemm(512, 384, 256, schedule="non_specialized"),
    "cluster": gemm(512, 512, 256, cluster=[2, 1]),
    "ragged": gemm(520, 392, 328),
    "stream_k": gemm(384, 384, 1024, scheduler="stream_k"),
}


@pytest.fixture(scope="module")
def results():
    return {name: simulate(scenario, stream="auto") for name, scenario in SMALL.items()}


@pytest.mark.parametrize("name", SMALL)
def test_counters_are_those_of_the_grid(results, name):
    counters, counts = results[name][0].counters, grid_counts(SMALL[name], 132)

    assert counters["sm__sass_inst_executed_op_shared_gmma.sum"] == counts.wgmma
    assert counters["sm__sass_inst_executed_op_tma_ld.sum"] == counts.tma_loads


@pytest.mark.parametrize("name", ["cooperative", "pingpong", "warp_specialized", "non_specialized"])
def test_sms_receive_the_sectors_that_are_counted_where_nothing_is_ragged(name):
    found = time_of(SMALL[name])

    assert found.received == grid_counts(SMALL[name], 132).load_sectors


def test_a_multicast_box_is_requested_once():
    """Of a cluster of 2x1, both CTAs get B from one request."""
    alone, together = time_of(gemm(512, 512, 256)), time_of(SMALL["cluster"])

    assert alone.received - together.received == alone.received // 4


@pytest.mark.parametrize("name", SMALL)
def test_tensor_cores_multiply_for_as_long_as_their_wgmma_take(results, name):
    result, _ = results[name]
    wgmma = result.counters["sm__sass_inst_executed_op_shared_gmma.sum"]
    tensor = next(row for row in result.bound["resources"] if row["name"] == "tensor core")

    assert tensor["percent"] == pytest.approx(100 * wgmma * 64 / (4 * 132 * result.cycles.elapsed), abs=0.01)


@pytest.mark.parametrize("name", ["cooperative", "pingpong", "warp_specialized"])
def test_each_role_waits_for_its_side_of_the_pipeline(results, name):
    waits = {(row.role, row.waits_for) for row in results[name][0].roles}

    assert ("producer", "mainloop.empty") in waits
    assert ("consumer 0", "mainloop.full") in waits
    assert not any(role == "idle" for role, _ in waits)


def test_consumers_of_a_pingpong_kernel_wait_for_their_turn():
    found = time_of(gemm(2816, 1536, 512, schedule="pingpong"))

    assert {role for role in found.roles if role.waits_for == "math_wg_order"}


@pytest.mark.parametrize("name", SMALL)
def test_shares_of_a_role_are_at_most_one(results, name):
    shares = {}
    for row in results[name][0].roles:
        shares[row.role] = shares.get(row.role, 0) + row.share

    assert all(0 < share <= 1.0001 for share in shares.values())


def test_the_timeline_has_each_k_tile_of_each_consumer_warp_once(results):
    _, timeline = results["cooperative"]
    of_warp = {}
    for span in timeline.k_tiles:
        if span.activity == "mma":
            of_warp.setdefault(span.warp, []).append(span.k_tile)

    assert of_warp == {warp: [0, 1, 2, 3] for warp in range(4, 12)}
    assert all(span.stage == span.k_tile % 6 and span.begin < span.end for span in timeline.k_tiles)


def test_more_stages_take_no_longer():
    """2, 3, 4 and 6 stages of one tile an SM and 32 k tiles."""
    cycles = [time_of(gemm(1408, 1536, 2048, stages=stages)).active for stages in (2, 3, 4, 6)]

    assert cycles == sorted(cycles, reverse=True)
    assert cycles[0] > 2 * cycles[-1]


def test_cutlass_takes_longer_around_its_main_loop():
    own, others = (time_of(gemm(1408, 1536, 256, code=code)).active for code in ("gpusim", "cutlass"))

    assert others - own > 1000


def test_both_cores_give_one_answer():
    scenario = gemm(256, 256, 128)
    with chosen("interpreted"):
        interpreted = time_of(scenario)

    assert time_of(scenario) == interpreted


@pytest.mark.parametrize(
    ("scenario", "asked", "said"),
    [
        (gemm(256, 256, 128), {"exact": False}, "every CTA is simulated"),
        (gemm(256, 256, 128), {"stream": "compiled"}, "no compiled streams"),
        (gemm(256, 256, 128), {"stream": "both"}, "stream must be one of"),
    ],
)
def test_what_is_not_known_is_refused_in_one_line(scenario, asked, said):
    with pytest.raises(BadInput, match=said) as refusal:
        simulate(scenario, **asked)

    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize("machine", ["h100_sxm", "h100_pcie"])
def test_other_machines_of_the_chip_simulate_it(machine):
    result, _ = simulate(gemm(512, 384, 256, machine=machine))

    assert result.cycles.elapsed > 4 * 512


def test_an_explanation_says_who_waits_for_whom_and_what_helps():
    found = explain(gemm(1408, 1536, 1024, stages=2))
    more = next(one for one in found.what_if if one.change == "3 stages in place of 2")

    assert found.sentences[0].startswith("The full barriers bind: consumers wait for operands for ")
    assert any(sentence.startswith("Consumer 0 waits for operands that TMA") for sentence in found.sentences)
    assert more.gain_percent > 20
    assert sum(one.percent for one in found.budget.losses) + found.budget.useful == pytest.approx(100, abs=0.1)


def test_tuning_finds_a_kernel_that_is_no_slower():
    found = tune(gemm(704, 768, 256), jobs=1)

    assert found.ranking[0].cycles <= simulate(gemm(704, 768, 256))[0].cycles.elapsed
    assert found.ranking[0].settings["kernel.schedule"] in ("cooperative", "pingpong", "warp_specialized")
