"""Random attention computed for real is softmax attention within rounding, and every broken schedule is caught."""

import re
import tomllib
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from problems.attention import HEADS, HEADS_V, LARGEST_EXPONENT, random_attention
from slow import one_in

from gpusim.errors import BadInput
from gpusim.families.attention import verify as attention_verify
from gpusim.families.attention.program.mutations import ATTENTION_MUTATIONS
from gpusim.families.attention.races import find_attention_races
from gpusim.families.attention.reference import attention_reference, visible
from gpusim.families.attention.tensors import AttentionTensors, make_attention_tensors, output_rows
from gpusim.families.attention.tile.blocks import attention_ctas, block_advance
from gpusim.families.attention.tile.shape import attention_shape
from gpusim.families.attention.verify import cta_programs, run_attention
from gpusim.families.registry import parse_scenario
from gpusim.numerics.elements import decode
from gpusim.verbs.verify import verify

COMMITTED = tomllib.loads((Path(__file__).parent / "attention_problems.toml").read_text())
SEEDS = range(COMMITTED["first_seed"], COMMITTED["first_seed"] + COMMITTED["count"])

ATTENTION = {"mainloop": "attention"}
FLASH = {"mainloop": "flash"}


def attention(kernel, **problem):
    whole = {"kind": "attention", "batch": 2, "heads": 2, "queries": 150, "keys": 200}
    whole |= {"head_dim": 64, "head_dim_v": 64}
    return parse_scenario({"machine": "h200", "problem": whole | problem, "kernel": kernel}, "unit")


def largest_score(scenario, tensors):
    """Of all visible ones, as a naive exp would be given it."""
    problem, element = scenario.problem, scenario.problem.dtype.ab
    shape = (problem.batch, -1, problem.heads, problem.head_dim)
    q, k = (decode(one, element).astype(np.float64).reshape(shape) for one in (tensors.q, tensors.k))
    largest = -np.inf
    for batch, (queries, keys) in enumerate(zip(problem.lengths_q, problem.lengths_k, strict=True)):
        scores = np.einsum("qhd,khd->hqk", q[batch, :queries], k[batch, :keys]) * problem.score_scale
        largest = max(largest, scores[:, visible(problem, batch)].max(initial=-np.inf))
    return largest


def features(seed):
    """The features of ``attention_problems.toml`` that a seed's problem has."""
    scenario = random_attention(seed)
    problem, advance = scenario.problem, block_advance(scenario, attention_ctas(scenario))
    seen = [visible(problem, batch).any(axis=1) for batch in range(problem.batch)]
    has = {
        scenario.kernel.mainloop: True,
        problem.dtype.ab: True,
        problem.mask: True,
        "f32_output": problem.dtype.output == "f32",
        "ragged_lengths": problem.query_lengths is not None,
        "ragged_key_blocks": any(length % scenario.keys_per_block for length in problem.lengths_k),
        "blind_rows": not all(rows.all() for rows in seen),
        "cta_without_keys": bool((advance.active & (advance.num_keys == 0)).any()),
        "cta_without_queries": bool((~advance.active).any()),
        "buffer": not scenario.in_registers,
        "several_column_blocks": attention_shape(scenario).column_blocks > 1,
        "no_preload_v": not scenario.kernel.preload_v,
        "head_dims_differ": problem.head_dim != problem.head_dim_v,
        "overflows_a_naive_exp": largest_score(scenario, make_attention_tensors(scenario, seed)) > LARGEST_EXPONENT,
    }
    return {name for name, present in has.items() if present}


@pytest.mark.parametrize("seed", one_in(10, SEEDS))
def test_random_attention_is_right_and_free_of_hazards(seed):
    scenario = random_attention(seed)
    report = verify(scenario, seed)
    assert report.hazards == ()
    assert report.wrong_elements == 0
    assert report.second.wrong == 0
    assert report.elements == output_rows(scenario.problem).sum() * scenario.problem.head_dim_v
    assert not report.elements or report.max_error_over_bound <= 1
    assert report.ok


def test_random_attention_covers_what_it_should():
    count = Counter(name for seed in SEEDS for name in features(seed))
    assert {name: count[name] for name, least in COMMITTED["at_least"].items() if count[name] < least} == {}
    drawn = [random_attention(seed).problem for seed in SEEDS]
    assert {problem.head_dim for problem in drawn} == set(HEADS)
    assert {problem.head_dim_v for problem in drawn} >= set(HEADS_V)


SCENARIOS = {
    "registers": (ATTENTION, {}),
    "late": (ATTENTION | {"preload_v": False}, {}),
    "wide": (ATTENTION, {"head_dim": 128, "head_dim_v": 128}),
    "buffer": (ATTENTION, {"head_dim": 128, "head_dim_v": 192}),
    "ring": (ATTENTION | {"stages": 4}, {"head_dim": 256, "head_dim_v": 64}),
    "flash": (FLASH, {}),
}

CAUGHT = {
    "missing_v_wait": "stale_data_consumed",
    "lax_wait": "stale_data_consumed",
    "missing_barrier": "stale_data_consumed",
    "missing_softmax_barrier": "stale_data_consumed",
    "missing_maximum": None,
    "missing_mask": None,
    "skipped_zero_fill": "stale_data_consumed",
}
IN_ORDER = {
    "missing_v_wait": "never_waited",
    "lax_wait": "read_before_group_complete",
    "missing_barrier": "read_before_barrier",
    "missing_softmax_barrier": "unordered_accesses",
}
SHARED_STATISTICS = {"missing_softmax_barrier", "missing_maximum"}


@pytest.mark.parametrize("name", SCENARIOS)
@pytest.mark.parametrize("mutation", one_in(3, CAUGHT))
def test_every_broken_schedule_is_caught(name, mutation):
    kernel, problem = SCENARIOS[name]
    scenario = attention(kernel, mask="causal_bottom_right", key_lengths=[130, 20], query_lengths=[150, 70], **problem)
    if name == "flash" and mutation in SHARED_STATISTICS:
        with pytest.raises(BadInput, match=f"{mutation} finds nothing to break in this flash schedule"):
            verify(scenario, 1, ATTENTION_MUTATIONS[mutation])
        return
    report = verify(scenario, 1, ATTENTION_MUTATIONS[mutation])
    assert not report.ok
    if CAUGHT[mutation] is None:
        assert report.wrong_elements + report.second.wrong > 0
    else:
        assert CAUGHT[mutation] in report.hazard_names()
    if mutation in IN_ORDER:
        assert IN_ORDER[mutation] in {hazard["name"] for hazard in report.hazards if hazard["origin"] == "schedule"}


def test_every_mutation_is_tried():
    assert set(CAUGHT) == set(ATTENTION_MUTATIONS)


def test_without_its_wait_a_preloaded_v_is_named():
    report = verify(attention(ATTENTION), 1, ATTENTION_MUTATIONS["missing_v_wait"])
    assert {hazard["operand"] for hazard in report.hazards} == {"v"}


def races_without(mutation, kernel=ATTENTION, **problem):
    """What the order of a broken schedule shows beside the hazards of ring slots: message and operand."""
    scenario = attention(kernel, **problem)
    programs = [ATTENTION_MUTATIONS[mutation](program) for program, _ in cta_programs(scenario)]
    return [(hazard.message, hazard.operand) for hazard in find_attention_races(programs, scenario)]


def test_races_for_row_statistics_name_ops_and_warps():
    """Without its barrier, warps load maxima that others may still raise, and factors that others may still store."""
    why = "share bytes of shared memory, and no wait or barrier orders them"

    assert races_without("missing_softmax_barrier") == [
        (f"atomic maximum of maximum at op 47 by warp 2 and load of maximum at op 55 by warp 0 {why}", "maximum"),
        (f"store of rescale at op 186 by warp 2 and load of rescale at op 188 by warp 1 {why}", "rescale"),
    ]


def test_tensors_that_share_memory_race_for_it():
    """P lies where Q and K lay, and V where K lay: a copy in flight may land on it."""
    said = " ".join(message for message, _ in races_without("lax_wait"))

    for one, other in (("copy of q", "store of p"), ("copy of k", "store of p"), ("copy of k", "copy of v")):
        assert re.search(f"{one} at op \\d+ by warp \\d and {other} at op", said)


@pytest.mark.parametrize(("queries", "keys"), [(64, 64), (32, 128)])
@pytest.mark.parametrize("head_dim", [64, 72, 96, 128, 192, 256])
def test_staged_accumulators_race_with_the_next_keys_where_these_are_copied_to(head_dim, queries, keys):
    """Known: no barrier follows the loads of a key block's last epilogue step. The staging begins behind V."""
    kernel = ATTENTION | {"queries_per_block": queries, "keys_per_block": keys}
    scenario = attention(kernel, head_dim=head_dim, head_dim_v=192)
    shape = attention_shape(scenario)
    found = find_attention_races([program for program, _ in cta_programs(scenario)], scenario)

    assert not shape.in_registers
    assert bool(found) == (shape.staging_base < shape.operand_base["k"] + shape.operand_bytes["k"])
    assert bool(found) == ((head_dim > 64 and queries == 64) or head_dim > 128)
    assert {hazard.name for hazard in found} <= {"unordered_accesses"}
    assert {re.sub(r" at op.*", "", hazard.message) for hazard in found} <= {"load of accumulator"}


def test_a_race_of_a_shipped_schedule_fails_its_verification():
    report = verify(attention(ATTENTION | {"queries_per_block": 64}, head_dim=128, head_dim_v=192), 1)

    assert not report.ok
    assert report.hazard_names() == {"unordered_accesses"}
    assert report.wrong_elements == 0


@pytest.mark.parametrize("mutation", ["missing_v_wait", "lax_wait", "missing_barrier"])
def test_flash_keeps_everything_but_its_tensors_in_registers(mutation):
    assert races_without(mutation, FLASH) == []


@pytest.mark.parametrize("kernel", [ATTENTION, FLASH])
def test_rows_that_see_no_key_are_zero_and_their_lse_minus_infinity(kernel):
    """Of 150 queries and 100 keys aligned at the end the first 50 see none; the second batch has no keys."""
    scenario = attention(kernel, mask="causal_bottom_right", keys=100, key_lengths=[100, 0])
    done = run_attention(scenario, make_attention_tensors(scenario, 2))
    output = done.stored.rows.reshape(2, 150, 2, 64)
    assert done.hazards == ()
    assert (output[0, :50] == 0).all()
    assert (output[1] == 0).all()
    assert np.isneginf(done.stored.sums[0, :, :50]).all()
    assert np.isneginf(done.stored.sums[1]).all()
    assert np.isfinite(done.stored.sums[0, :, 50:]).all()
    assert (output[0, 50:] != 0).any(axis=-1).all()


@pytest.mark.parametrize("kernel", [ATTENTION, FLASH])
def test_equal_scores_give_the_mean_of_the_visible_values(kernel):
    """Q = 0: every visible key weighs the same; row i of a causal mask is the mean of the first i + 1 values."""
    scenario = attention(kernel, batch=1, heads=1, queries=100, keys=100, mask="causal_top_left")
    drawn = make_attention_tensors(scenario, 3)
    tensors = AttentionTensors(np.zeros_like(drawn.q), drawn.k, drawn.v)
    done = run_attention(scenario, tensors)
    values = drawn.v.astype(np.float64).reshape(100, 64)
    mean = np.cumsum(values, axis=0) / np.arange(1, 101)[:, None]
    np.testing.assert_allclose(done.stored.rows.astype(np.float64), mean, atol=1e-3)
    np.testing.assert_allclose(done.stored.sums[0, 0], np.log(np.arange(1, 101)), atol=1e-5)


def test_both_schedules_agree_within_twice_the_bound():
    problem = {"mask": "causal_bottom_right", "head_dim": 96, "head_dim_v": 128}
    first, second = attention(ATTENTION, **problem), attention(FLASH, **problem)
    tensors = make_attention_tensors(first, 4)
    bound = attention_reference(first, tensors).bound
    rows, others = (run_attention(one, tensors).stored.rows for one in (first, second))
    assert (np.abs(rows - others) <= 2 * bound).all()


def test_the_same_seed_gives_the_same_bits():
    scenario = attention(FLASH)
    tensors = make_attention_tensors(scenario, 5)
    assert np.array_equal(run_attention(scenario, tensors).stored.rows, run_attention(scenario, tensors).stored.rows)


@pytest.mark.parametrize("kernel", [ATTENTION, FLASH])
def test_ctas_alone_give_the_bits_of_a_batch(monkeypatch, kernel):
    scenario = attention(kernel, head_dim_v=192)
    tensors = make_attention_tensors(scenario, 5)
    together = run_attention(scenario, tensors)
    monkeypatch.setattr(attention_verify, "BATCH_BYTES", 1)
    alone = run_attention(scenario, tensors)
    assert alone.hazards == together.hazards == ()
    assert alone.stored.rows.tobytes() == together.stored.rows.tobytes()
    assert alone.stored.sums.tobytes() == together.stored.sums.tobytes()


def test_every_cta_with_a_query_walks_one_program():
    scenario = attention(ATTENTION, query_lengths=[150, 70], mask="causal_top_left")
    active = block_advance(scenario, attention_ctas(scenario)).active
    assert sum(len(ctas) for _, ctas in cta_programs(scenario)) == active.sum() == 2 * (3 + 2)


def test_verify_answers_for_attention(gpusim, tmp_path):
    file = tmp_path / "x.toml"
    file.write_text(
        'machine = "h200"\n[problem]\nkind = "attention"\nbatch = 1\nheads = 2\nqueries = 70\nkeys = 90\n'
        'head_dim = 64\nhead_dim_v = 64\n[kernel]\nmainloop = "flash"\n'
    )
    answer = gpusim("verify", file)
    assert answer.code == 0
    assert "0 log-sum-exps beyond their bound" in answer.out
    caught = gpusim("verify", file, "--mutate", "missing_v_wait")
    assert caught.code == 3
    assert "caught by never_waited, read_before_group_complete, stale_data_consumed" in caught.out
    assert gpusim("verify", file, "--mutate", "load_too_early").code == 2
    refused = gpusim("verify", file, "--save-tensors", tmp_path / "folder")
    assert refused.code == 2
    assert refused.err.count("\n") == 1


def test_a_command_that_knows_no_attention_refuses_it_in_one_line(gpusim, tmp_path):
    file = tmp_path / "x.toml"
    file.write_text('machine = "h200"\n[problem]\nkind = "attention"\nbatch = 1\n')
    answer = gpusim("name", file)
    assert answer.code == 2
    assert answer.err.startswith('gpusim: kind must be "gemm", "conv2d_fprop"')
    assert 'for this command, got "attention"' in answer.err
    assert answer.err.count("\n") == 1
