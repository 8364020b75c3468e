"""Fused attention against CUTLASS's example 41: tiles, shared memory, block offsets and key loops."""

import json
from pathlib import Path

import numpy as np
import pytest

from gpusim.families.attention.tile.blocks import attention_ctas, attention_grid, block_advance, key_blocks
from gpusim.families.attention.tile.operands import attention_operand
from gpusim.families.attention.tile.shape import attention_shape
from gpusim.families.registry import parse_scenario

DATA = Path(__file__).parent / "data"
FACTS = json.loads((DATA / "fmha_facts.json").read_text())
LOOPS = sorted(DATA.glob("fmha_loops_*.json"))
MASKS = ("none", "causal_top_left", "causal_bottom_right")

HEADS = {"f16_sm80_q64_k64_maxk64": 64, "f16_sm80_q32_k128_maxk128": 128, "f16_sm80_q32_k128_maxk65536": 256}
"""Configurations of 16-bit cp.async kernels -> the head_dim_v that makes CUTLASS's driver choose them."""


def attention(problem, **kernel):
    whole = {"kind": "attention", "batch": 1, "heads": 1, "queries": 64, "keys": 64, "head_dim": 64, "head_dim_v": 64}
    data = {"machine": "h200", "problem": whole | problem, "kernel": {"mainloop": "attention"} | kernel}
    return parse_scenario(data, "golden")


@pytest.mark.parametrize(("name", "head_dim_v"), HEADS.items())
def test_what_is_left_out_follows_cutlass(name, head_dim_v):
    facts = FACTS["configs"][name]
    # The instruction alone is our own choice: m16n8k16 unless a scenario asks for the example's.
    heads = {"head_dim": min(head_dim_v, 128), "head_dim_v": head_dim_v}
    scenario = attention(heads | {"dtype": {"output": "f16"}}, instruction=[16, 8, 8])
    shape = attention_shape(scenario)
    assert scenario.queries_per_block == facts["kQueriesPerBlock"]
    assert scenario.keys_per_block == facts["kKeysPerBlock"]
    assert scenario.stages == facts["MM0_kStages"] == facts["MM1_kStages"]
    assert scenario.in_registers == facts["kKeepOutputInRF"] == facts["kSingleValueIteration"]
    assert scenario.in_registers == (shape.column_blocks == 1)
    assert (not scenario.in_registers) == facts["kNeedsOutputAccumulatorBuffer"]
    assert scenario.kernel.preload_v == facts["kPreloadV"]
    assert list(shape.qk.threadblock) == facts["MM0_ThreadblockShape_MNK"]
    assert list(shape.qk.warp) == facts["MM0_WarpShape_MNK"]
    assert list(shape.pv.threadblock) == facts["MM1_ThreadblockShape_MNK"]
    assert list(scenario.instruction) == facts["InstructionShape_MNK"]
    assert shape.threads == facts["kNumThreads"] == 32 * facts["kNumWarpsPerBlock"]
    assert shape.shared_bytes == facts["shared_storage_bytes"]
    assert shape.qk.threads == shape.pv.threads == facts["kNumThreads"]
    accesses = tuple(attention_operand(scenario, tensor).access for tensor in "qk")
    assert accesses == (facts["kAlignmentQ"], facts["kAlignmentK"])


def test_the_rules_of_the_facts_hold_for_every_16_bit_configuration():
    assert FACTS["rules"]["kKeepOutputInRF"].startswith("equal to kSingleValueIteration")
    for choice in FACTS["driver_choice"]:
        head = min(choice["kMaxK"], 256)
        scenario = attention({"head_dim": 64, "head_dim_v": head})
        assert (scenario.queries_per_block, scenario.keys_per_block) == (
            choice["kQueriesPerBlock"],
            choice["kKeysPerBlock"],
        )
    # Pipelined kernels of sm_75 have the same shared memory: as many slots.
    assert FACTS["configs"]["f16_sm75_q64_k64_maxk64"]["shared_storage_bytes"] == (
        attention_shape(attention({"dtype": {"output": "f16"}})).shared_bytes
    )


@pytest.mark.parametrize("path", LOOPS, ids=lambda path: path.stem)
def test_block_offsets_and_key_loops_of_every_cta(path):
    golden = json.loads(path.read_text())
    kernel = golden["header"]["kernel"]
    columns = golden["columns"]
    rows = [dict(zip(columns, row, strict=True)) for row in golden["rows"]]
    seen = 0
    for case, problem in enumerate(golden["header"]["problems"]):
        scenario = attention(
            {
                "batch": problem["B"],
                "heads": problem["H"],
                "queries": problem["Lq"],
                "keys": problem["Lk"],
                "head_dim": problem["D"],
                "head_dim_v": problem["Dv"],
                "mask": MASKS[problem["mask"]],
            },
            queries_per_block=kernel["kQueriesPerBlock"],
        )
        assert list(attention_grid(scenario)) == problem["grid"]
        mine = [row for row in rows if row["case"] == case]
        blocks = sorted({(row["bz"], row["by"], row["bx"]) for row in mine})
        ctas = np.array([block[::-1] for block in blocks], dtype=np.int64)
        in_grid = {tuple(cta) for cta in attention_ctas(scenario).tolist()}
        assert {tuple(cta) for cta in ctas.tolist()} <= in_grid
        advance = block_advance(scenario, ctas)
        for number, (bz, by, bx) in enumerate(blocks):
            loop = [row for row in mine if (row["bz"], row["by"], row["bx"]) == (bz, by, bx)]
            found = {
                "active": int(advance.active[number]),
                "query_start": int(advance.query_start[number]),
                "num_queries": int(advance.num_queries[number]),
                "num_keys": int(advance.num_keys[number]),
                "causal_offset": int(advance.causal_offset[number]),
                "q_off": int(advance.q[number]),
                "k_off": int(advance.k[number]),
                "v_off": int(advance.v[number]),
                "o_off": int(advance.o[number]),
                "lse_off": int(advance.lse[number]),
                "n_blocks_v": attention_shape(scenario).column_blocks,
                "m": min(scenario.queries_per_block, int(advance.num_queries[number])),
            }
            steps = key_blocks(scenario, advance, number)
            assert len(steps) == len(loop)
            for row, step in zip(loop, steps, strict=True):
                assert {name: row[name] for name in found} == found
                assert (row["key_iter"], row["key_start"], row["n"]) == (
                    step.number,
                    step.number * scenario.keys_per_block,
                    step.keys,
                )
                ragged = step.keys < scenario.keys_per_block
                assert step.masked == (ragged or bool(row["mask_applied_signed"]))
                seen += 1
    assert seen == len(rows)
