"""Attention's compiled streams: every CTA's path is put together from parts, and each part executes the schedule."""

import gzip
import json
from collections import Counter
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from slow import one_in

from gpusim.cuda.compiled_kernel import CompiledKernel
from gpusim.errors import BadInput, CheckFailed
from gpusim.families.attention.lower import cutter
from gpusim.families.attention.lower.parts import BARE, MASKED, NONE, WHOLE, trip_kinds
from gpusim.families.attention.tile.blocks import KeyBlock
from gpusim.families.attention.timed import TimedFusedKernel
from gpusim.families.registry import load_scenario
from gpusim.lower.runner import KernelRunner
from gpusim.lower.shipped import find_stream
from gpusim.lower.stream_file import load_stream, save_stream
from gpusim.lower.user_kernel import read_user_kernel
from gpusim.machine.load import load_machine
from gpusim.schedule.counts import count
from gpusim.verbs.simulate import simulate

FOLDER = Path(__file__).parent / "data"
SCENARIOS = Path(__file__).parents[5] / "scenarios"
RECORDED = SCENARIOS / "recorded" / "attention"

COMMITTED = {
    "attention_64x64": SCENARIOS / "attention_64x64.toml",
    "flash_ragged": RECORDED / "flash_ragged_bottom_right.toml",
}
"""Committed kernels, and the scenarios they were compiled for."""

SHIPPED = {
    "registers": "attention_d64_1024_causal",
    "buffer": "attention_d128_v256_bf16",
    "32x128": "attention_d64_1024_causal_32x128",
    "late v": "attention_d64_1024_no_preload",
    "flash": "flash_d64_1024_causal",
    "spills": "flash_d128_2048_causal",
    "one masked block": "flash_777x1301",
    "wide": "flash_d128_v256_bf16",
}


def kernel_of(file, *overrides):
    scenario = load_scenario(file, overrides)
    return TimedFusedKernel(scenario, load_machine(scenario.machine))


def committed(name, *overrides):
    """A committed kernel, and its schedule or another one that it was not compiled for."""
    kernel = kernel_of(COMMITTED[name], *overrides)
    cubin = gzip.decompress((FOLDER / f"{name}_sm90.cubin.gz").read_bytes())
    return kernel, CompiledKernel(cubin, "nvcc 13.0", kernel.specialisation)


def taken_apart(kernel, compiled):
    """The kernel with the parts of its code, as if these were shipped."""
    kernel.__dict__["_parts"] = kernel.lowered(compiled, 0)
    return kernel


def executed(kernel, stream):
    """What a CTA executes: (address, step, part) of each instruction, all trips."""
    return [
        (address, one.op and kernel.advanced(one.op, trip), one.part)
        for segment in stream.segments
        for trip in range(segment.trips)
        for one, address in zip(segment.instructions, segment.addresses, strict=True)
    ]


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMITTED)
def test_a_stream_put_together_is_the_path_of_its_cta(name):
    """Step by step, of every sequence of key blocks in the grid, though few of them were executed."""
    kernel, compiled = committed(name)
    taken_apart(kernel, compiled)
    runner = KernelRunner(kernel, compiled)

    for behaviour, ctas in kernel.alike.items():
        path = runner.run(ctas[0], 0)
        whole = runner.executed(ctas[0], path)
        named = runner.align(ctas[0], 0, whole)
        told = [
            (runner.code[step.at].address, one and one.op, one.part if one else 0)
            for step, one in zip(path.steps, named, strict=True)
        ]
        found = executed(kernel, kernel.listed(behaviour).stream)
        assert [address for address, _, _ in found] == [address for address, _, _ in told]
        assert Counter(found) == Counter(told)


def test_a_cta_that_finds_no_query_executes_a_few_instructions_and_ends():
    kernel, compiled = committed("flash_ragged")

    (segment,) = taken_apart(kernel, compiled).listed(None).stream.segments

    assert segment.instructions[-1].unit == "exit"
    assert all(one.op is None for one in segment.instructions)


@pytest.mark.parametrize("name", one_in(4, SHIPPED.values()), ids=SHIPPED)
def test_every_named_instruction_of_the_grid_is_in_the_shipped_streams(name):
    kernel = kernel_of(RECORDED / f"{name}.toml")
    wanted = count(kernel).instructions

    found = Counter()
    for behaviour, ctas in kernel.alike.items():
        for segment in kernel.listed(behaviour).stream.segments:
            named = Counter(one.opcode.partition(".")[0] for one in segment.instructions if one.op is not None)
            times = segment.trips * len(ctas) * kernel.lanes().warps
            found.update({opcode: number * times for opcode, number in named.items()})

    assert found == {opcode: number for opcode, number in wanted.items() if number}


def test_a_shipped_stream_needs_no_compiler(monkeypatch):
    monkeypatch.setattr("gpusim.lower.compiled.compile_kernel", lambda *_: pytest.fail("compiled"))
    kernel = kernel_of(SCENARIOS / "flash_128x64.toml")

    assert find_stream(kernel.specialisation, 90, 0) is not None
    assert kernel.can_be_compiled()
    assert kernel.stream(kernel.behaviour(0), "compiled").origin == "compiled"


def test_lengths_that_bring_parts_which_are_not_shipped_have_them_made():
    kernel = kernel_of(RECORDED / "flash_ragged_bottom_right.toml")
    shipped = kernel.compiled()
    without = replace(shipped, variants=tuple(pair for pair in shipped.variants if pair[0] != BARE))

    assert kernel.suffices(shipped)
    assert not kernel.suffices(without)
    kernel.__dict__["_parts"] = without
    with pytest.raises(BadInput, match=r"^--stream compiled: the kernel's parts lack \('bare',\)$"):
        kernel.listed(None)


@pytest.mark.parametrize(
    ("name", "override", "message"),
    [
        (
            "attention_64x64",
            "kernel.preload_v=false",
            r"^after barrier 3 the schedule has 0 LDGDEPBAR, the kernel executes 2",
        ),
        ("attention_64x64", 'problem.mask="none"', r"^after barrier \d+ the schedule has"),
        ("flash_ragged", "problem.heads=8", r"^after barrier 2 the kernel executes .* STG"),
    ],
)
def test_a_kernel_that_does_not_execute_the_schedule_is_refused(name, override, message):
    kernel, compiled = committed(name, override)

    with pytest.raises(CheckFailed, match=message):
        kernel.lowered(compiled, 0)


def test_parts_are_equal_when_read_back(tmp_path):
    kernel, compiled = committed("flash_ragged")
    parts = kernel.lowered(compiled, 0)

    save_stream(tmp_path / "parts.json.gz", parts)

    assert load_stream(tmp_path / "parts.json.gz", kernel.step_kinds) == parts


def test_trips_that_repeat_are_skipped_and_bring_the_same_parts(monkeypatch):
    kernel, compiled = committed("attention_64x64")
    runs, run = [], KernelRunner.run
    monkeypatch.setattr(KernelRunner, "run", lambda *which: runs.append(run(*which)) or runs[-1])
    last = kernel.grid[0] - 1
    walked = kernel.walked_blocks(last)

    def parts(skipped_from):
        monkeypatch.setattr(cutter, "SKIPPED_FROM", skipped_from)
        one = cutter.Cutter(KernelRunner(kernel, compiled), 32)
        one.learn(0, kernel.walked_blocks(0))
        one.learn(2, kernel.walked_blocks(2))
        one.learn(last, walked)
        return one.parts

    assert parts(8) == parts(len(walked) + 1)
    assert [bool(path.skips) for path in runs] == [False, False, True, False, False, False]


def test_what_does_not_align_after_skipping_is_executed_in_full(monkeypatch):
    kernel, compiled = committed("attention_64x64")
    wanted = cutter.Cutter(KernelRunner(kernel, compiled), 32)
    for cta in (0, 2, kernel.grid[0] - 1):
        wanted.learn(cta, kernel.walked_blocks(cta))
    monkeypatch.setattr(cutter, "SKIPPED_FROM", 4)
    align, refused = KernelRunner.align, []

    def refuse(self, block, warp, executed):
        if executed.skipped:
            refused.append(block)
            raise CheckFailed("trips were skipped")
        return align(self, block, warp, executed)

    monkeypatch.setattr(KernelRunner, "align", refuse)
    one = cutter.Cutter(KernelRunner(kernel, compiled), 32)
    for cta in (0, 2, kernel.grid[0] - 1):
        one.learn(cta, kernel.walked_blocks(cta))

    assert refused == [kernel.grid[0] - 1]
    assert one.parts == wanted.parts


def block(number, keys=64, *, masked=False):
    return KeyBlock(number, keys, masked)


def test_the_kind_of_a_trip_is_its_loop_its_k_tiles_its_place_and_what_follows():
    walked = [block(0), block(1), block(2, 33, masked=True)]

    assert trip_kinds(walked, 32) == [
        ("before", WHOLE),
        ("block", WHOLE, 2, 1, 0, WHOLE),
        ("block", WHOLE, 2, 0, 0, MASKED),
        ("block", MASKED, 2, 0, 1, NONE),
        ("after", MASKED),
    ]
    assert trip_kinds([], 32) == [("before", NONE), ("after", NONE)]


def test_a_kernel_that_does_not_exist_is_estimated_and_the_result_says_why():
    scenario = load_scenario(
        SCENARIOS / "attention_64x64.toml", ("kernel.instruction=[16, 8, 8]", "problem.batch=1", "problem.heads=1")
    )

    result, _ = simulate(scenario, stream="auto")

    assert result.stream == "estimated"
    assert result.provenance["not_compiled"].startswith("kernel.instruction must be [16, 8, 16] on a GPU")
    with pytest.raises(BadInput, match=r"^kernel\.instruction must be \[16, 8, 16\] on a GPU"):
        simulate(scenario, stream="compiled")


@pytest.mark.slow
def test_our_own_kernel_as_a_user_s_takes_as_long_as_the_shipped_one(tmp_path):
    file = tmp_path / "mine.cubin"
    file.write_bytes(gzip.decompress((FOLDER / "attention_64x64_sm90.cubin.gz").read_bytes()))
    scenario = load_scenario(COMMITTED["attention_64x64"], ("problem.batch=1", "problem.heads=4"))
    kernel = read_user_kernel(file, "attention")
    own, _ = simulate(load_scenario(COMMITTED["attention_64x64"]), user=kernel)
    shipped, _ = simulate(load_scenario(COMMITTED["attention_64x64"]), stream="auto")

    assert own.provenance["cubin"] == kernel.provenance
    assert replace(own, provenance={}, trust=None, simulated=shipped.simulated) == replace(
        shipped, provenance={}, trust=None
    )
    with pytest.raises(CheckFailed):
        simulate(scenario, user=kernel)


def test_sass_prints_the_cta_that_a_run_observes_with_a_cycle_for_each_instruction(gpusim):
    rows = json.loads(gpusim("sass", SCENARIOS / "flash_128x64.toml", "--json").out)["rows"]

    assert [trips for segment, trips in dict.fromkeys((row["segment"], row["trips"]) for row in rows)] == [1, 1, 13, 1]
    assert all(one["issue"] < other["issue"] for one, other in pairwise(rows) if one["segment"] == other["segment"])
    assert sum("op=WarpMma(k_tile=0, k_group=0)" in row["op"] for row in rows) > 0


def test_without_shipped_parts_and_a_compiler_a_kernel_is_estimated():
    scenario = load_scenario(SCENARIOS / "attention_64x64.toml", ("problem.heads=3", "problem.batch=1"))

    result, _ = simulate(scenario, stream="auto")

    assert (result.stream, "not_compiled" in result.provenance) == ("estimated", False)
