"""The op order of memory-efficient attention, and flash's beside it: what comes when, and how often."""

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest

from gpusim.families.attention.program import softmax
from gpusim.families.attention.program.chained import pv_shape, qk_shape
from gpusim.families.attention.schedule import cta_program
from gpusim.families.attention.tile.blocks import (
    KeyBlock,
    attention_ctas,
    attention_epilogue,
    operand_access,
)
from gpusim.families.attention.tile.shape import attention_shape
from gpusim.families.registry import parse_scenario
from gpusim.schedule.ops import Barrier, CommitGroup, CopyAsync, Ldmatrix, LoadSource, StoreGlobal, WaitGroup, WarpMma

KERNELS = ({"mainloop": "attention"}, {"mainloop": "attention", "preload_v": False}, {"mainloop": "flash"})


def attention(kernel, **problem):
    whole = {"kind": "attention", "batch": 2, "heads": 3, "queries": 200, "keys": 300, "head_dim": 64, "head_dim_v": 64}
    return parse_scenario({"machine": "h200", "problem": whole | problem, "kernel": kernel}, "unit")


def full_blocks(scenario, count=3):
    return tuple(KeyBlock(number, scenario.keys_per_block, masked=False) for number in range(count))


def ops_of(program, phase, key_block):
    return [step.op for step in program if step.phase == phase and step.key_block == key_block]


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("head_dim", [32, 64, 96, 128])
def test_every_key_block_multiplies_all_of_both_gemms(kernel, head_dim):
    scenario = attention(kernel, head_dim=head_dim, head_dim_v=head_dim)
    shape = attention_shape(scenario)
    program = cta_program(scenario, full_blocks(scenario))
    for block in range(3):
        depth = scenario.instruction[2]
        scores = [op for op in ops_of(program, "qk", block) if isinstance(op, WarpMma)]
        output = [op for op in ops_of(program, "pv", block) if isinstance(op, WarpMma)]
        assert len(scores) == shape.qk_tiles * shape.qk.threadblock[2] // depth
        assert len(output) == scenario.keys_per_block // depth * shape.column_blocks


@pytest.mark.parametrize("kernel", KERNELS)
def test_every_fragment_is_loaded_once_and_a_k_group_before_its_mma(kernel):
    scenario = attention(kernel)
    program = cta_program(scenario, full_blocks(scenario))
    for phase in ("qk", "pv"):
        ops = [op for op in ops_of(program, phase, 1) if isinstance(op, Ldmatrix | WarpMma)]
        loads = Counter((op.k_tile, op.k_group) for op in ops if isinstance(op, Ldmatrix))
        order = [(op.k_tile, op.k_group) for op in ops if isinstance(op, WarpMma)]
        assert set(loads) == set(order)
        assert len(set(loads.values())) == 1
        for before, after in pairwise(order):
            last = max(index for index, op in enumerate(ops) if isinstance(op, Ldmatrix) and _at(op) == after)
            mma = next(index for index, op in enumerate(ops) if isinstance(op, WarpMma) and _at(op) == before)
            assert last < mma


def _at(op):
    return op.k_tile, op.k_group


def test_v_is_preloaded_between_the_first_gemm_and_the_softmax():
    scenario = attention(KERNELS[0])
    program = cta_program(scenario, full_blocks(scenario))
    phases = list(dict.fromkeys((step.phase, step.key_block) for step in program if step.key_block == 1))
    assert phases == [("qk", 1), ("pv", 1), ("softmax", 1)]
    first = [step.op for step in program if step.key_block == 1]
    scale = first.index(softmax.ScaleScores(masked=False))
    copies = [index for index, op in enumerate(first) if isinstance(op, CopyAsync)]
    assert max(copies) < scale
    late = cta_program(attention(KERNELS[1]), full_blocks(scenario))
    ops = [step for step in late if step.key_block == 1]
    stored = max(index for index, step in enumerate(ops) if isinstance(step.op, softmax.StoreP))
    assert min(i for i, step in enumerate(ops) if step.phase == "pv" and isinstance(step.op, CopyAsync)) > stored


@pytest.mark.parametrize(
    ("head_dim", "copies", "ldmatrix", "barriers"),
    [(64, 12, 32, 3 + 2 + 3), (32, 8, 24, 2 + 2 + 3)],
)
def test_counts_of_a_key_block_of_64_by_64(head_dim, copies, ldmatrix, barriers):
    """
    A k tile of Q, K or V is 64 x 32 elements, 256 vectors, 2 for each of 128 threads. CUTLASS's kernel issues 12
    LDGSTS a warp and key block with head_dim 64, as counted on an H200 (786432 / 4 warps / 1024 CTAs / 16 key blocks).
    A k group of m16n8k16 takes two ldmatrix.x4 of each operand. Barriers: after the prologue, between k tiles, at the
    end of each GEMM; two in the softmax.
    """
    scenario = attention(KERNELS[0], head_dim=head_dim)
    program = cta_program(scenario, full_blocks(scenario))
    ops = Counter(type(step.op) for step in program if step.key_block == 1)
    assert ops[CopyAsync] == copies
    assert ops[Ldmatrix] == ldmatrix
    assert ops[Barrier] == barriers
    assert ops[softmax.AtomicMax] == 4
    assert ops[softmax.StoreP] == 16
    assert ops[softmax.Shuffle] == 8


def test_a_ragged_last_block_multiplies_and_copies_only_k_tiles_with_keys():
    scenario = attention(KERNELS[0])
    blocks = (KeyBlock(0, 64, masked=False), KeyBlock(1, 20, masked=True))
    program = cta_program(scenario, blocks)
    pv = ops_of(program, "pv", 1)
    assert {op.k_tile for op in pv if isinstance(op, WarpMma)} == {0}
    assert {op.fetch for op in pv if isinstance(op, CopyAsync)} == {0}
    assert sum(isinstance(op, CommitGroup) for op in pv) == 2
    assert softmax.ScaleScores(masked=True) in ops_of(program, "softmax", 1)


def test_more_k_tiles_than_slots_walk_the_ring_of_the_gemm_kernels():
    assert qk_shape(attention(KERNELS[0], head_dim=256)).whole
    scenario = attention(KERNELS[0] | {"stages": 4}, head_dim=256)
    shape = qk_shape(scenario)
    assert not shape.whole
    assert (shape.stages, attention_shape(scenario).qk_tiles) == (4, 8)
    program = cta_program(scenario, full_blocks(scenario))
    fetches = {op.fetch for op in ops_of(program, "qk", 0) if isinstance(op, CopyAsync)}
    assert fetches == set(range(8 + 3))


def test_beyond_the_keys_of_a_block_the_output_goes_through_the_buffer():
    """160 columns are two tiles of 128; the last key block stores the output, all but the first read the buffer."""
    scenario = attention(KERNELS[0], head_dim_v=160)
    program = cta_program(scenario, full_blocks(scenario))
    tile = attention_epilogue(scenario)
    vectors = tile.steps * tile.accesses_per_step
    for block, phase in ((0, "buffer"), (1, "buffer"), (2, "epilogue")):
        ops = [step.op for step in program if step.phase == phase and step.key_block == block]
        assert sum(isinstance(op, StoreGlobal) for op in ops) == 2 * vectors
        assert sum(isinstance(op, LoadSource) for op in ops) == (0 if block == 0 else 2 * vectors)


def test_flash_walks_down_and_copies_under_both_gemms():
    """K and V land behind one wait each; V's copies are issued before Q * K^T, those of the next K before P * V."""
    scenario = attention(KERNELS[2])
    program = cta_program(scenario, full_blocks(scenario))
    walked = list(dict.fromkeys(step.key_block for step in program if step.phase == "softmax"))
    assert walked == [2, 1, 0]
    ops = [step for step in program if step.key_block in (1, 0)]
    first_mma = next(i for i, step in enumerate(ops) if step.phase == "qk" and isinstance(step.op, WarpMma))
    assert any(step.phase == "pv" and isinstance(step.op, CopyAsync) for step in ops[:first_mma])
    next_k = next(i for i, s in enumerate(ops) if (s.phase, s.key_block) == ("qk", 0) and isinstance(s.op, CopyAsync))
    p_times_v = next(i for i, step in enumerate(ops) if step.phase == "pv" and isinstance(step.op, WarpMma))
    assert first_mma < next_k < p_times_v
    waits = [step.op for step in program if isinstance(step.op, WaitGroup)]
    assert waits == [WaitGroup(0)] * 6
    barriers = sum(isinstance(step.op, Barrier) for step in program if step.key_block >= 0)
    assert barriers == 6
    assert not any(isinstance(step.op, softmax.StoreP | softmax.AtomicMax | softmax.StoreStatistic) for step in program)
    q = [op for block in range(3) for op in ops_of(program, "qk", block) if isinstance(op, CopyAsync)]
    assert {op.fetch for op in q if op.operand == "a"} == {0}
    assert sum(op.operand == "b" for op in q) == 3 * qk_shape(scenario).b.accesses


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_cta_without_keys_stores_zeros(kernel):
    for head_dim_v in (64, 160):
        scenario = attention(kernel, head_dim_v=head_dim_v)
        program = cta_program(scenario, ())
        assert {step.phase for step in program} <= {"start", "epilogue", "lse"}
        assert any(isinstance(step.op, StoreGlobal) for step in program)


@pytest.mark.parametrize("kernel", KERNELS)
def test_each_valid_element_of_a_tensor_is_fetched_once(kernel):
    scenario = attention(kernel, head_dim=96, key_lengths=[300, 77], query_lengths=[200, 130])
    ctas = attention_ctas(scenario)
    tensors = {"q": (200, 96), "k": (300, 96), "v": (300, 64)}
    mine = ctas[(ctas[:, 0] == 0) & (ctas[:, 1] == 1) & (ctas[:, 2] == 1)]
    for operand, (length, width) in tensors.items():
        shape = attention_shape(scenario)
        tiles = shape.qk_tiles if operand != "v" else scenario.keys_per_block // shape.pv.threadblock[2]
        seen = []
        for fetch in range(tiles):
            access = operand_access(scenario, operand, mine, key_block=1, fetch=fetch)
            for name in ("row", "column"):
                assert access.coordinates[name].shape == access.offset.shape
            row, column = access.coordinates["row"], access.coordinates["column"]
            assert np.array_equal(access.offset, ((length + row) * 3 + 1) * width + column)
            seen += (access.offset[access.valid][:, None] + np.arange(8)).ravel().tolist()
        begin = scenario.keys_per_block if operand != "q" else 0
        end = min(77, begin + scenario.keys_per_block) if operand != "q" else scenario.queries_per_block
        expected = [((length + row) * 3 + 1) * width + column for row in range(begin, end) for column in range(width)]
        assert sorted(seen) == expected


@pytest.mark.parametrize("kernel", KERNELS)
def test_both_gemms_have_the_same_threads(kernel):
    scenario = attention(kernel)
    shape = attention_shape(scenario)
    assert {shape.tiling(gemm).threads for gemm in ("qk", "pv")} == {shape.threads} == {128}
    assert pv_shape(scenario).a.accesses == 0
