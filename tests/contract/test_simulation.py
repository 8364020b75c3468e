"""What every simulated launch keeps: it drains, repeats itself, respects capacity, and accounts for every cycle."""

from collections import Counter
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

import pytest
from problems.gemm import TYPES, random_scenario

from gpusim.families.gemm.estimated import estimated_stream
from gpusim.families.gemm.program import program
from gpusim.families.gemm.timed import TimedTileKernel
from gpusim.families.registry import parse_scenario
from gpusim.machine import load_machine
from gpusim.machine.occupancy import ctas_per_sm
from gpusim.results.timeline import WarpSpan
from gpusim.scenario.kernel import PIPELINED_STAGES
from gpusim.sim.cta_scheduler import CtaLife
from gpusim.sim.launch import Launch, Outcome, simulate_launch

SMALL_CHIP = 3
"""SMs: few enough that a small grid makes waves and a tail."""


def scenario_of(problem, **kernel):
    tile = {"threadblock": [64, 64, 32], "warp": [32, 32, 32], "stages": 3}
    return parse_scenario({"machine": "a100", "problem": problem, "kernel": tile | kernel}, "test")


SCENARIOS = {
    "one-k-tile": scenario_of({"kind": "gemm", "m": 64, "n": 64, "k": 8}),
    "fewer-k-tiles-than-stages": scenario_of({"kind": "gemm", "m": 70, "n": 64, "k": 64}, stages=4),
    "waves-and-a-tail": scenario_of({"kind": "gemm", "m": 448, "n": 192, "k": 96}),
    "split-k-with-a-short-slice": scenario_of({"kind": "gemm", "m": 64, "n": 64, "k": 160, "split_k_slices": 3}),
    "eight-warps": scenario_of(
        {"kind": "gemm", "m": 128, "n": 300, "k": 64}, threadblock=[128, 256, 32], warp=[64, 64, 32]
    ),
    "two-warps": scenario_of({"kind": "gemm", "m": 128, "n": 128, "k": 96}, warp=[64, 32, 32]),
    "narrow-copies": scenario_of({"kind": "gemm", "m": 64, "n": 64, "k": 66, "alignment_a": 2, "alignment_b": 2}),
    "source": scenario_of({"kind": "gemm", "m": 128, "n": 64, "k": 64, "beta": 0.5}),
    "convolution": scenario_of(
        {"kind": "conv2d_fprop", "n": 1, "h": 9, "w": 9, "c": 40, "k": 64, "r": 3, "s": 3, "stride": [2, 1]}
    ),
    "row-major": scenario_of({"kind": "gemm", "m": 64, "n": 64, "k": 96}, shared={"a": "row_major", "b": "row_major"}),
    "pipelined": scenario_of({"kind": "gemm", "m": 200, "n": 192, "k": 104}, stages=2, mainloop="pipelined"),
    "pipelined-one-k-tile": scenario_of({"kind": "gemm", "m": 64, "n": 64, "k": 8}, stages=2, mainloop="pipelined"),
    "pipelined-narrow-loads": scenario_of(
        {"kind": "gemm", "m": 64, "n": 64, "k": 132, "alignment_b": 2}, stages=2, mainloop="pipelined"
    ),
    "pipelined-convolution": scenario_of(
        {"kind": "conv2d_fprop", "n": 1, "h": 9, "w": 9, "c": 40, "k": 64, "r": 3, "s": 3},
        stages=2,
        mainloop="pipelined",
    ),
    "pipelined-t4": scenario_of(
        {"kind": "gemm", "m": 130, "n": 128, "k": 96}, stages=2, mainloop="pipelined", instruction=[16, 8, 8]
    ).model_copy(update={"machine": "t4"}),
}
TIMED = [types for types in TYPES if types[0] not in ("s4", "u4")]
"""What an H200 has figures for (D27)."""
SCENARIOS |= {
    f"random-{mainloop}-{seed}": random_scenario(seed, mainloop=mainloop, types=types)
    for mainloop in ("multistage", "pipelined")
    for seed, types in enumerate(TIMED[mainloop == "pipelined" :: 2])
}


class Warp(NamedTuple):
    """A warp: its CTA's SM and launch, its SMSP, and its spans in cycles from that launch on."""

    sm: int
    launched: int
    smsp: int
    spans: list[WarpSpan]

    @property
    def ended(self):
        return self.launched + self.spans[-1].end


@dataclass
class Traced:
    """
    A launch, run with one CTA after the other watched.

    Attributes:
        launch: The launch.
        outcome: Its outcome, from one run more.
        lives: The lives of its CTAs.
        warps: By (CTA, warp).
        answers: What each run has beside what it watched.
    """

    launch: Launch
    outcome: Outcome
    lives: tuple[CtaLife, ...]
    warps: dict[tuple[int, int], Warp]
    answers: set[tuple[object, ...]]


def launch_of(scenario, timed=TimedTileKernel):
    """A launch on a small chip."""
    machine = replace(load_machine(scenario.machine), sms=SMALL_CHIP)
    kernel = timed(scenario, machine)
    streams = {
        one: kernel.stream(one, "estimated") for one in {kernel.behaviour(cta) for cta in range(len(kernel.launched))}
    }
    registers = max(one.registers_per_thread for one in streams.values())
    slots = ctas_per_sm(machine, scenario.kernel.threads, registers, kernel.shared_bytes).ctas
    return Launch(kernel, streams, min(slots, 2))


def run(launch, *, exact=True):
    return simulate_launch(launch, exact=exact, progress=lambda _: None)


def trace(scenario):
    launch, warps, answers = launch_of(scenario), {}, set()
    outcome, every = run(launch), range(launch.ctas)
    for cta in every:
        ran = launch.run(every, sms=launch.working, share=1, walk=None, watched=cta)
        answers.add((ran.lives, ran.stalls, ran.instructions, ran.asked_sectors, ran.l2_sectors, ran.dram_bytes))
        life = next(life for life in ran.lives if life.cta == cta)
        for span in ran.observer.timeline(launch.kernel.stages).warps:
            assert span.cta == cta
            warp = Warp(life.sm, life.launched, span.smsp, [])
            warps.setdefault((cta, span.warp), warp).spans.append(span)
    return Traced(launch, outcome, ran.lives, warps, answers)


@pytest.fixture(params=SCENARIOS.values(), ids=SCENARIOS.keys(), scope="module")
def traced(request):
    return trace(request.param)


def test_to_be_watched_changes_nothing(traced):
    assert len(traced.answers) == 1


def test_every_cta_runs_once(traced):
    assert sorted(life.cta for life in traced.lives) == list(range(traced.launch.ctas))


def test_it_drains(traced):
    """All warps of all CTAs have issued their exit, and with it all their instructions."""
    kernel, streams = traced.launch.kernel, traced.launch.streams
    lanes, ctas = kernel.lanes(), range(traced.launch.ctas)
    warps = range(lanes.warps)
    issued = sum(streams[kernel.behaviour(cta)].instructions_of(warp, lanes) for cta in ctas for warp in warps)

    assert sorted(traced.warps) == [(cta, warp) for cta in ctas for warp in warps]
    assert all(warp.spans[-1].reason == "selected" for warp in traced.warps.values())
    assert traced.outcome.instructions == issued


def test_the_spans_of_every_warp_tile_its_lifetime(traced):
    ends = {}
    for (cta, _), warp in traced.warps.items():
        assert warp.spans[0].begin == 0
        assert all(before.end == after.begin for before, after in pairwise(warp.spans))
        assert all(span.begin < span.end for span in warp.spans)
        ends[cta] = max(ends.get(cta, 0), warp.ended)
    assert ends == {life.cta: life.finished for life in traced.lives}


def test_stall_cycles_are_the_sum_of_all_lifetimes(traced):
    spent = Counter()
    for warp in traced.warps.values():
        for span in warp.spans:
            spent[span.reason] += span.end - span.begin

    assert traced.outcome.stalls == spent
    assert traced.outcome.stalls["selected"] == traced.outcome.instructions


def test_no_sm_holds_more_ctas_than_fit(traced):
    held = Counter()
    changes = [(life.finished, -1, life.sm) for life in traced.lives]
    changes += [(life.launched, 1, life.sm) for life in traced.lives]
    for _, change, sm in sorted(changes):
        held[sm] += change
        assert held[sm] <= traced.launch.ctas_per_sm


def test_an_smsp_issues_once_a_cycle_at_most(traced):
    slots = Counter(
        (warp.sm, warp.smsp, warp.launched + span.begin)
        for warp in traced.warps.values()
        for span in warp.spans
        if span.reason == "selected"
    )

    assert set(slots.values()) == {1}


def test_time_is_whole_cycles(traced):
    times = [time for warp in traced.warps.values() for span in warp.spans for time in (span.begin, span.end)]
    times += [traced.outcome.active, traced.outcome.longest, *traced.outcome.stalls.values()]

    assert {type(time) for time in times} == {int}


def test_copies_land_before_they_are_waited_for_and_waits_end_before_the_mma(traced):
    """A pipelined tile is stored: the barrier behind that does not wait for it, but what is loaded comes after it."""
    pipelined = traced.launch.kernel.stages == PIPELINED_STAGES
    for before in traced.outcome.pipeline:
        assert before.copy_issue < before.copy_done < before.mma_begin < before.mma_end
        assert pipelined or before.copy_done <= before.wait_end
        assert before.wait_begin <= before.wait_end < before.mma_begin
    for before, after in pairwise(traced.outcome.pipeline):
        assert before.copy_issue < after.copy_issue
        assert before.wait_end < after.wait_end
        assert before.mma_begin < after.mma_begin


def test_a_slot_is_not_written_before_its_k_tile_is_consumed(traced):
    """The copy of k tile t goes to the slot of t - stages, whose last fragment has been loaded by then."""
    stages = traced.launch.kernel.stages
    loads = [span for span in traced.outcome.timeline.k_tiles if span.activity == "ldmatrix"]
    for row in traced.outcome.pipeline[stages:]:
        assert max(span.end for span in loads if span.k_tile == row.k_tile - stages) <= row.copy_issue


@pytest.mark.parametrize("exact", [True, False], ids=["exact", "sampled"])
@pytest.mark.parametrize("name", ["waves-and-a-tail", "split-k-with-a-short-slice", "convolution"])
def test_a_run_repeats_itself(name, exact):
    assert run(launch_of(SCENARIOS[name]), exact=exact) == run(launch_of(SCENARIOS[name]), exact=exact)


def test_the_ops_of_one_cta_come_in_the_order_of_the_schedule():
    """
    A GEMM of 64 x 64 x 64 on a tile of K = 32 and 3 stages: 2 k tiles of 2 k groups, warp 0 by first issue.

    The prologue copies tiles 0 and 1, waits, and loads k group 0. In the loop, of each k group: the MMA takes its
    first issue slot, then the next fragments are loaded among its mma.sync (ldmatrix, mma and copies are one stretch
    between two barriers), while tiles 2 and 3 are asked for that bring nothing.
    """
    scenario = scenario_of({"kind": "gemm", "m": 64, "n": 64, "k": 64})
    k_tiles = run(launch_of(scenario)).timeline.k_tiles
    log = [
        (span.activity, span.k_tile, span.k_group)
        for span in sorted((span for span in k_tiles if span.warp == 0), key=lambda span: span.begin)
    ]

    assert log == [
        ("copy", 0, -1),
        ("copy", 1, -1),
        ("wait", 0, -1),
        ("ldmatrix", 0, 0),
        ("mma", 0, 0),
        ("ldmatrix", 0, 1),
        ("copy", 2, -1),
        ("wait", 1, -1),
        ("mma", 0, 1),
        ("ldmatrix", 1, 0),
        ("mma", 1, 0),
        ("ldmatrix", 1, 1),
        ("copy", 3, -1),
        ("wait", 2, -1),
        ("mma", 1, 1),
        ("ldmatrix", 2, 0),
        ("wait", 3, -1),
    ]


def test_every_k_tile_of_every_slice_is_consumed():
    """5 k tiles over 3 slices: 2, 2 and 1."""
    outcome = run(launch_of(SCENARIOS["split-k-with-a-short-slice"]))

    assert outcome.k_tiles == 5
    assert [row.stage for row in outcome.pipeline] == [0, 1]


def test_a_slice_without_k_tiles_runs_its_prologue_and_epilogue():
    """It waits for the copies that bring nothing, and stores."""

    class WithoutKTiles(TimedTileKernel):
        def k_tiles(self, _cta):
            return 0

        def stream(self, _behaviour, _origin):
            return estimated_stream(self.scenario, program(self.scenario, 0), self.machine)

    launch = launch_of(SCENARIOS["one-k-tile"], WithoutKTiles)
    outcome = run(launch)

    assert outcome.pipeline == ()
    assert outcome.k_tiles == 0
    assert {span.activity for span in outcome.timeline.k_tiles} == {"copy", "wait", "ldmatrix"}
    assert outcome.instructions == launch.streams[0].warp_instructions(launch.kernel.lanes())
