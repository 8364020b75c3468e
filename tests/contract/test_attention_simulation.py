"""
What every timing run of an attention kernel keeps to, whichever schedule: it drains, and spans tile a warp's life.
"""

from dataclasses import replace
from itertools import pairwise

import pytest

from gpusim.families.registry import parse_scenario
from gpusim.verbs.simulate import simulate


def attention(mainloop, kernel=None, **problem):
    given = {
        "kind": "attention",
        "batch": 1,
        "heads": 2,
        "queries": 256,
        "keys": 256,
        "head_dim": 64,
        "head_dim_v": 64,
        "dtype": {"ab": "f16", "output": "f16"},
    }
    data = {"machine": "h200", "problem": given | problem, "kernel": {"mainloop": mainloop} | (kernel or {})}
    return parse_scenario(data, "test.toml")


SCENARIOS = {
    "attention": attention("attention", mask="causal_top_left"),
    "attention 32x128": attention("attention", queries=100, keys=300, head_dim=128, head_dim_v=128),
    "attention buffer": attention("attention", queries=64, keys=200, head_dim=40, head_dim_v=160),
    "attention ring": attention("attention", queries=64, keys=130, head_dim=256, head_dim_v=64),
    "attention late v": attention("attention", kernel={"preload_v": False}, heads=1),
    "attention without keys": attention("attention", batch=2, query_lengths=[256, 10], key_lengths=[0, 64]),
    "flash": attention("flash", mask="causal_bottom_right", queries=200),
    "flash 128": attention("flash", head_dim=128, head_dim_v=128, mask="causal_top_left"),
    "flash 256": attention("flash", head_dim=32, head_dim_v=256, heads=1),
    "flash without keys": attention("flash", batch=2, query_lengths=[256, 10], key_lengths=[0, 64]),
}


@pytest.fixture(params=SCENARIOS.values(), ids=SCENARIOS.keys(), scope="module")
def run(request):
    return request.param, *simulate(request.param, exact=True)


def test_every_cta_runs_and_every_instruction_issues(run):
    _, result, _ = run

    assert result.simulated.ctas == result.ctas
    assert result.simulated.instructions == result.counters["smsp__inst_executed.sum"]


def test_two_runs_are_equal(run):
    scenario, result, timeline = run

    again, timeline_again = simulate(scenario, exact=True)

    same_clock = replace(again.simulated, seconds=result.simulated.seconds)
    assert replace(again, simulated=same_clock, provenance=result.provenance) == result
    assert timeline_again == timeline


def test_the_spans_of_a_warp_tile_its_life(run):
    _, _, timeline = run

    assert {span.warp for span in timeline.warps} == {0, 1, 2, 3}
    for warp in range(4):
        spans = [span for span in timeline.warps if span.warp == warp]
        assert spans[0].begin == 0
        assert all(before.end == after.begin for before, after in pairwise(spans))


def test_key_blocks_pass_in_order_through_copies_gemm_softmax_and_gemm(run):
    """
    Keys are copied before the first GEMM reads them, values before the second does, and key blocks do not overlap.
    """
    _, result, timeline = run

    def window(warp, activity, block):
        spans = [s for s in timeline.k_tiles if (s.warp, s.activity, s.k_tile) == (warp, activity, block)]
        return min(span.begin for span in spans), max(span.end for span in spans)

    for warp in range(4):
        for block in range(len(result.pipeline)):
            first, softmax, second = (window(warp, each, block) for each in ("qk", "softmax", "pv"))
            assert window(warp, "copy_k", block)[0] < first[0] < softmax[0] < second[0]
            assert window(warp, "copy_v", block)[0] < second[0]
            if block:
                assert window(warp, "pv", block - 1)[0] < first[0]


def test_a_sampled_run_is_near_the_exact_one(run):
    scenario, exact, _ = run

    sampled, _ = simulate(scenario, exact=False)

    assert sampled.cycles.active == pytest.approx(exact.cycles.active, rel=0.05)
    assert sampled.counters["smsp__inst_executed.sum"] == exact.counters["smsp__inst_executed.sum"]
    assert sampled.bank_conflicts == exact.bank_conflicts
