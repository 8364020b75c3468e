"""
What an attention grid executes: counts from programs and addresses, by hand and against the steps themselves.
"""

from collections import Counter

import pytest
from problems.small import small_attention

from gpusim.families.attention.program import softmax
from gpusim.families.attention.schedule import FusedKernel, cta_program, mufu_of
from gpusim.families.attention.tile.blocks import cta_blocks
from gpusim.families.attention.tile.shape import attention_shape
from gpusim.schedule.counts import count
from gpusim.schedule.ops import Barrier, CopyAsync, Ldmatrix, WarpMma


def attention_executed(scenario):
    return count(FusedKernel(scenario))


def row(counts, op, operand):
    (found,) = (one for one in counts.bank_conflicts if (one.op, one.operand) == (op, operand))
    return found


CASES = {
    "attention": small_attention(queries=200, keys=200, heads=2, mask="causal_top_left"),
    "attention ring": small_attention(queries=64, keys=200, head_dim=256, head_dim_v=256),
    "attention buffer": small_attention(queries=100, keys=300, head_dim=40, head_dim_v=160),
    "flash": small_attention("flash", queries=200, keys=200, heads=2, mask="causal_bottom_right"),
    "flash ragged": small_attention(
        "flash", batch=2, queries=256, keys=256, query_lengths=[100, 256], key_lengths=[0, 200]
    ),
}


@pytest.mark.parametrize("scenario", CASES.values(), ids=CASES.keys())
def test_instructions_are_those_of_the_steps(scenario):
    """
    Four warps of every CTA execute its program; a CTA whose first query is past its batch's executes nothing.
    """
    ops = Counter()
    for blocks in cta_blocks(scenario):
        if blocks is not None:
            ops.update(type(step.op) for step in cta_program(scenario, blocks))

    found = attention_executed(scenario).instructions

    assert found["LDGSTS"] == 4 * ops[CopyAsync]
    assert found["LDSM"] == 4 * ops[Ldmatrix]
    assert found["BAR"] == 4 * ops[Barrier]
    assert found["ATOMS"] == 4 * ops[softmax.AtomicMax]
    assert found["SHFL"] == 4 * ops[softmax.Shuffle]


def test_one_key_block_by_hand():
    """
    64 x 64 x 64 with m16n8k16: each warp's 32 x 32 takes 2 * 4 mma.sync for each of 4 k groups in each GEMM, 4 warps.

    Q and K: 64 rows of 64 halves are 512 vectors of 16 bytes, 4 for each of 128 threads: 4 LDGSTS of 4 warps; V the
    same. A warp instruction brings 32 * 16 bytes, 16 sectors, 4 wavefronts.
    Each lane has 4 rows of 8 scores: 32 times 2^x, a factor, 4 times 1/sum, one log2.
    """
    found = attention_executed(small_attention())

    assert found.instructions["HMMA"] == 2 * 4 * (4 + 4) * 4
    assert found.instructions["LDGSTS"] == 3 * 16
    assert found.load_sectors == {"q": 256, "k": 256, "v": 256, "buffer": 0}
    assert found.instructions["MUFU"] == 4 * (32 + 1 + 4 + 1)
    for operand in "qkv":
        assert row(found, "ldgsts", operand).wavefronts == 16 * 4


def test_p_makes_its_round_trip_without_a_conflict():
    """
    Rows of P are padded by 16 bytes: neither its stores of 4 bytes a lane nor its ldmatrix meet in a bank.

    A warp stores 4 rows x 4 column blocks a lane: 16 stores of one wavefront.
    """
    for scenario in (small_attention(), small_attention(head_dim=128, head_dim_v=128)):
        found = attention_executed(scenario)
        blocks = len(cta_blocks(scenario)[0])

        stores = row(found, "sts", "p")

        assert stores.requests == stores.wavefronts == 4 * 16 * blocks * found.ctas
        assert row(found, "ldmatrix", "p").conflicts == 0


def test_flash_keeps_p_and_the_statistics_in_registers():
    found = attention_executed(CASES["flash"])

    assert {one.operand for one in found.bank_conflicts} == {"q", "k", "v", "accumulator"}
    assert found.instructions["ATOMS"] == 0


def test_four_lanes_of_a_row_meet_at_its_maximum():
    """
    An atomic maximum has 8 rows of 4 lanes: the lanes of a row pass one by one, different rows side by side.
    """
    atomics = row(attention_executed(small_attention()), "atoms", "statistics")

    assert atomics.wavefronts == 4 * atomics.requests
    assert atomics.ideal_wavefronts == atomics.requests


def test_a_query_block_without_a_query_asks_for_nothing():
    """
    The second of two query blocks of the first batch has no query: 3 CTAs of 128 bring their queries.
    """
    found = attention_executed(CASES["flash ragged"])

    # Batch 0 sees no key, so that it copies nothing; batch 1 brings 2 x 128 rows of 128 bytes.
    assert found.load_sectors["q"] == 2 * 128 * 4
    # 200 keys of 128 bytes, for each of two CTAs.
    assert found.load_sectors["k"] == found.load_sectors["v"] == 2 * 200 * 4


def test_a_ragged_key_block_asks_only_for_its_keys():
    found = attention_executed(small_attention(keys=100))

    assert found.load_sectors["k"] == found.load_sectors["v"] == 100 * 4
    assert found.load_sectors["q"] == 2 * 64 * 4  # again for the second key block


def test_the_buffer_is_written_by_every_key_block_but_the_last_and_read_by_every_one_but_the_first():
    """
    32 queries x 160 columns of f32 are 640 bytes a row, 20 sectors; 3 key blocks of 128 pass 2 times.

    A vector of 8 halves is two accesses of 16 bytes in the buffer, each of which asks for every sector.
    The output's rows of 160 halves are 10 sectors; the log-sum-exp's 32 floats are 4.
    """
    scenario = small_attention(queries=32, keys=300, head_dim_v=160)
    found = attention_executed(scenario)

    assert found.load_sectors["buffer"] == 2 * 32 * 20 * 2
    assert found.store_sectors == 2 * 32 * 20 * 2 + 32 * 10 + 4


def test_an_exponential_is_a_mufu_for_each_score_of_the_lane():
    for scenario, scores in ((small_attention(), 8), (small_attention("flash"), 16)):
        steps = cta_program(scenario, cta_blocks(scenario)[0])
        shape = attention_shape(scenario)

        assert {mufu_of(step, shape) for step in steps if isinstance(step.op, softmax.Exponentials)} == {scores}
        assert {mufu_of(step, shape) for step in steps if isinstance(step.op, WarpMma | softmax.StoreP)} <= {0}
