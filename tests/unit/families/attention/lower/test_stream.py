"""
The instructions of attention's streams: those that have a name are the schedule's, those between are stated rules.
"""

from collections import Counter

import pytest
from problems.attention import random_attention

from gpusim.errors import BadInput
from gpusim.families.attention.lower.stream import attention_registers, attention_stream, rows_together
from gpusim.families.attention.program import softmax
from gpusim.families.attention.program.step import Step
from gpusim.families.attention.schedule import FusedKernel, cta_program
from gpusim.families.attention.tile.blocks import cta_blocks
from gpusim.families.registry import parse_scenario
from gpusim.lab.validation.cutlass import committed_rows, cutlass_rows
from gpusim.machine import load_machine
from gpusim.schedule.counts import count
from gpusim.verbs.simulate import simulate

H200 = load_machine("h200")

NAMED = ("HMMA", "LDSM", "LDGSTS", "LDGDEPBAR", "DEPBAR", "BAR", "STS", "LDS", "LDG", "STG", "SHFL", "ATOMS", "MUFU")


def attention(mainloop="attention", kernel=None, **problem):
    given = {
        "kind": "attention",
        "batch": 1,
        "heads": 1,
        "queries": 256,
        "keys": 256,
        "head_dim": 64,
        "head_dim_v": 64,
        "dtype": {"ab": "f16", "output": "f16"},
    }
    data = {"machine": "h200", "problem": given | problem, "kernel": {"mainloop": mainloop} | (kernel or {})}
    return parse_scenario(data, "test.toml")


def stream_of(scenario, cta=-1):
    blocks = cta_blocks(scenario)[cta]
    return attention_stream(scenario, None if blocks is None else cta_program(scenario, blocks), H200)


def opcodes(stream):
    found = Counter()
    for segment in stream.segments:
        for instruction in segment.instructions:
            found[instruction.opcode.split(".")[0]] += segment.trips
    return found


CASES = {
    "attention": attention(mask="causal_top_left"),
    "attention late v": attention(kernel={"preload_v": False}),
    "attention ring": attention(keys=200, head_dim=256, head_dim_v=256),
    "attention buffer": attention(keys=300, head_dim=40, head_dim_v=160, dtype={"ab": "bf16", "output": "f32"}),
    "flash": attention("flash", mask="causal_bottom_right"),
    "flash ragged": attention("flash", batch=2, query_lengths=[100, 256], key_lengths=[0, 200], head_dim_v=256),
}


CASES |= {f"random-{seed}": random_attention(seed) for seed in range(24)}


@pytest.mark.parametrize("scenario", CASES.values(), ids=CASES.keys())
def test_named_instructions_are_those_that_the_schedule_counts(scenario):
    found = Counter()
    for cta in range(len(cta_blocks(scenario))):
        for opcode, number in opcodes(stream_of(scenario, cta)).items():
            found[opcode] += 4 * number

    counted = count(FusedKernel(scenario)).instructions

    assert {name: found[name] for name in NAMED} == {name: counted.get(name, 0) for name in NAMED}


def test_key_blocks_that_are_alike_are_trips_of_one_loop():
    """
    Ten key blocks without a mask: the first does not rescale, the others do the same.
    """
    loops = [segment for segment in stream_of(attention(keys=640)).segments if segment.name == "mainloop"]

    assert [segment.trips for segment in loops] == [1, 9]


def test_flash_walks_from_the_end_and_copies_the_next_keys_a_trip_before():
    """
    Ten key blocks: the first brings Q and its own keys too, the last copies no further keys.
    """
    first, middle, last = (s for s in stream_of(attention("flash", keys=640)).segments if s.name == "mainloop")

    copies = [sum(one.unit == "ldgsts" for one in segment.instructions) for segment in (first, middle, last)]
    # A key block's keys and its values are 64 rows of 8 vectors each, 4 for each thread; Q is 8.
    assert [segment.trips for segment in (first, middle, last)] == [1, 8, 1]
    assert copies == [8 + 4 + 4 + 4, 4 + 4, 4]


def test_a_cta_without_a_query_only_ends():
    scenario = attention(batch=2, query_lengths=[256, 10])
    stream = stream_of(scenario)

    assert opcodes(stream)["EXIT"] == 1
    assert stream.instructions_of(0, FusedKernel(scenario).lanes()) < 20


def test_rows_are_placed_together():
    """
    Each row's maximum, then each row's first shuffle: no row waits for another's data.
    """
    ops = [
        op
        for row in range(2)
        for op in (softmax.RowMax(row), softmax.Shuffle("maximum", row, 1), softmax.Shuffle("maximum", row, 2))
    ]

    placed = rows_together([Step("softmax", 0, 0, op) for op in ops])

    assert [step.op for step in placed] == [
        softmax.RowMax(0),
        softmax.RowMax(1),
        softmax.Shuffle("maximum", 0, 1),
        softmax.Shuffle("maximum", 1, 1),
        softmax.Shuffle("maximum", 0, 2),
        softmax.Shuffle("maximum", 1, 2),
    ]


def test_the_softmax_runs_on_its_pipes():
    """
    One key block of 8 scores in each of 4 rows of a lane, unmasked: 4 x 7 maxima and a scale each, 32 FFMA and 2^x, a
    factor's 2^x and product, 16 stores of P of which each rounds a pair.
    """
    steps = [one for segment in stream_of(attention(keys=64)).segments for one in segment.instructions]
    pipes = Counter()
    for one in steps:
        if isinstance(one.op, Step) and one.op.phase == "softmax" and one.unit in ("pipe", "shared"):
            pipes[one.opcode.split(".")[0], one.pipe or one.unit] += 1

    assert pipes["FMNMX", "alu"] == 4 * 7
    assert pipes["MUFU", "mufu"] == 32 + 1
    assert pipes["FFMA", "fma"] == 32
    assert pipes["FMUL", "fma"] == 4 + 1
    assert pipes["SHFL", "shared"] == 4 * 2
    assert pipes["ATOMS", "shared"] == 4
    assert pipes["F2FP", "alu"] == 16


def test_what_a_mufu_computes_is_waited_for():
    """
    The first pair of P of each row waits for the scoreboard that the row's exponentials hold.
    """
    steps = [one for segment in stream_of(attention(keys=64)).segments for one in segment.instructions]
    held = {
        one.op.op.row: one.write_scoreboard
        for one in steps
        if isinstance(one.op, Step) and isinstance(one.op.op, softmax.Exponentials) and one.opcode == "MUFU.EX2"
    }
    waits = {
        one.op.op.access // 4: one.wait_mask
        for one in steps
        if isinstance(one.op, Step) and isinstance(one.op.op, softmax.StoreP) and one.wait_mask
    }

    assert held == {0: 0, 1: 1, 2: 2, 3: 3}
    assert waits == {row: 1 << board for row, board in held.items()}


@pytest.mark.parametrize(
    ("scenario", "registers"),
    [
        # 32 of S, 32 of the output; two fragments of 64 rows x 16 halves over 32 lanes: 32; 40: 136, but four CTAs of
        # 128 threads share 65,536.
        (attention(), 128),
        # The same with 8 halves: 16.
        (attention(kernel={"instruction": [16, 8, 8]}), 120),
        # 64 of S, 64 of the output; two of 96 x 16 halves: 48; maximum and sum of 4 rows: 8; 40.
        (attention("flash"), 224),
    ],
)
def test_registers_by_hand(scenario, registers):
    assert attention_registers(scenario, H200) == registers


THEIRS = {
    one.name: one for one in cutlass_rows(committed_rows(), 132) if one.scenario["problem"]["kind"] == "attention"
}


@pytest.mark.parametrize("row", THEIRS.values(), ids=THEIRS)
def test_cutlass_s_code_has_the_instructions_that_an_h200_counted(row):
    """Within 5 %, of which the tensor cores' are exact; gpusim's own code has half as many with the same ones."""
    scenario = parse_scenario(row.scenario, row.name)
    kernel = FusedKernel(scenario)
    executed, tensor = 0, 0
    for blocks, ctas in Counter(cta_blocks(scenario)).items():
        stream = attention_stream(scenario, None if blocks is None else cta_program(scenario, blocks), H200)
        executed += ctas * stream.warp_instructions(kernel.lanes())
        tensor += 4 * ctas * opcodes(stream)["HMMA"]

    assert executed == pytest.approx(row.counters["smsp__inst_executed.sum"], rel=0.05)
    assert tensor == count(kernel).instructions["HMMA"] == row.counters["sm__inst_executed_pipe_tensor_op_hmma.sum"]


def test_cutlass_s_code_issues_its_example_s_instruction_and_is_estimated_only():
    scenario = attention(kernel={"code": "cutlass"})

    assert scenario.instruction == (16, 8, 8)
    assert scenario.resolved()["kernel"]["code"] == "cutlass"
    assert simulate(scenario, stream="auto")[0].stream == "estimated"
    with pytest.raises(BadInput) as refused:
        simulate(scenario, stream="compiled")
    assert str(refused.value) == (
        'kernel.code must be "gpusim" where gpusim\'s own kernel is compiled or run, got "cutlass": set it, or give'
        " --cubin"
    )


def test_gpusim_s_code_is_not_named_in_a_resolved_scenario():
    assert "code" not in attention().resolved()["kernel"]


def test_cutlass_has_no_flash_kernel():
    with pytest.raises(BadInput) as refused:
        attention("flash", kernel={"code": "cutlass"})
    assert str(refused.value) == (
        'code must be "gpusim" of the flash kernel, which CUTLASS 2.x has not, got "cutlass" (test.toml: kernel.code)'
    )
