"""Perfetto traces, read back by a strict reader: every slice closed, times as in the stall table, arrows to waits."""

import time
from collections import Counter
from itertools import pairwise

import pytest
from doubles.perfetto_reader import read_trace

from gpusim.errors import BadInput
from gpusim.families.registry import load_scenario
from gpusim.report.captions import Words
from gpusim.report.perfetto import CLOCK, perfetto_trace, write_perfetto
from gpusim.report.span_lanes import ISSUING
from gpusim.results.timeline import Timeline, WarpSpan
from gpusim.scenario.catalogue import find_scenario
from gpusim.verbs.program import watched_program
from gpusim.verbs.simulate import simulate

WORDS = Words("a problem", "its kernel")
SHORT = ("problem.batch=1", "problem.heads=1", "problem.queries=128", "problem.keys=256")
SCENARIOS = {"conv_9_k_tiles": (), "gemm_nt_pipelined": (), "flash_128x64": SHORT, "attention_64x64": SHORT}


@pytest.fixture
def trace(run, tmp_path):
    return read_trace(write_perfetto(run.result, WORDS, run.timeline, tmp_path / "trace.pftrace").read_bytes())


@pytest.fixture(scope="module", params=SCENARIOS)
def simulated(request):
    """A simulated run with its program, and its trace as it was read."""
    scenario = load_scenario(find_scenario(request.param), SCENARIOS[request.param])
    result, timeline = simulate(scenario, exact=True)
    program = watched_program(scenario, result, timeline)
    return result, timeline, program, read_trace(perfetto_trace(result, WORDS, timeline, program))


def warp_tracks(trace):
    return [track.thread.thread_name for track in trace.tracks.values() if track.HasField("thread")]


def test_every_track_lies_below_a_process(trace):
    roots = [track for track in trace.tracks.values() if not track.parent_uuid]

    assert [root.name or root.process.process_name for root in roots] == [f"gpusim, {CLOCK}", f"CTA 0 ({CLOCK})"]
    assert warp_tracks(trace) == [f"warp {warp} (SMSP {warp})" for warp in range(4)]


def test_the_times_on_the_warps_tracks_are_those_of_the_stall_table(simulated):
    """One CTA is watched of all; where it is the only one, the shares are the table's own."""
    result, timeline, _, trace = simulated
    drawn = Counter()
    for name in warp_tracks(trace):
        for one in trace.of(name):
            drawn[one.name] += one.end - one.begin

    spans = Counter()
    for span in timeline.warps:
        spans[span.reason] += span.end - span.begin

    assert drawn == spans
    if result.ctas == 1:
        total = sum(drawn.values())
        table = {reason: share for reason, share in result.stalls.items() if share}
        assert {reason: round(cycles / total, 5) for reason, cycles in drawn.items()} == table


def test_a_warp_s_track_covers_its_life_without_a_gap(simulated):
    _, timeline, _, trace = simulated

    for warp, name in enumerate(warp_tracks(trace)):
        own = [span for span in timeline.warps if span.warp == warp]
        drawn = trace.of(name)
        assert (drawn[0].begin, drawn[-1].end) == (own[0].begin, own[-1].end)
        assert all(before.end == after.begin for before, after in pairwise(drawn))


def test_a_slice_of_a_warp_names_the_instruction_that_issues_or_waits(simulated):
    _, _, program, trace = simulated

    for name in warp_tracks(trace):
        issued = [one for one in trace.of(name) if one.name == "selected"]
        assert [one.notes["instruction"] for one in issued] == [program.opcodes[number] for number in program.opcode]
        assert {one.end - one.begin for one in issued} == {1}
        held = None
        for one in reversed(trace.of(name)):
            held = one.notes if one.name == "selected" else held
            assert held is None or one.notes == held


def test_instructions_name_operation_k_tile_and_stage(simulated):
    result, _, _, trace = simulated

    notes = [one.notes for one in trace.of("warp 0 (SMSP 0)") if one.name == "selected"]
    operations = {note["operation"].split()[0] for note in notes if note["operation"]}

    assert {"ldmatrix", "mma.sync"} <= operations
    assert {note["k tile"] for note in notes if note["operation"].startswith("ldmatrix")} >= {"0", "1"}
    if result.scenario["kernel"]["mainloop"] == "multistage":
        stages = [note["stage"] for note in notes if note["operation"].startswith("cp.async ")]
        assert set(stages) == {"0", "1", "2"}


def test_an_arrow_leads_from_every_copy_to_the_wait_that_consumes_it(simulated):
    """
    A wait ends no sooner than what it waits for has landed; k tiles past the last are never waited for. A pipelined
    main loop's may end before the tile's last store has landed, not before it was issued.
    """
    result, timeline, _, trace = simulated
    begun = {flow: one for one in trace.slices for flow in one.starts}
    ended = {flow: one for one in trace.slices for flow in one.ends}
    copied = {one.notes["k tile"] for one in begun.values()}

    assert {one.notes["k tile"] for one in trace.slices if one.notes.get("operation") in {"mma", "qk"}} <= copied
    assert len(begun) >= 0.75 * sum(span.activity.startswith("copy") for span in timeline.k_tiles)
    for flow, copy in begun.items():
        assert copy.notes["operation"].startswith("copy")
        assert ended[flow].notes["operation"].startswith("wait")
        assert copy.notes["k tile"] == ended[flow].notes["k tile"]
        lands = copy.end if result.scenario["kernel"]["mainloop"] == "multistage" else copy.begin
        assert lands <= ended[flow].end


def test_bytes_in_flight_are_those_of_the_tiles_and_return_to_zero(simulated):
    result, _, _, trace = simulated
    steps = trace.counter("bytes in flight to shared memory (at most, all warps)")

    assert steps[-1][1] == 0
    assert 0 < max(value for _, value in steps) <= 2 * result.shared_bytes
    if result.scenario["kernel"]["mainloop"] == "multistage":
        m, n, k = result.scenario["kernel"]["threadblock"]
        copies = [one.notes for one in trace.slices if one.notes.get("operation") == "copy"]
        read = [note["bytes (at most)"] for note in copies if note["k tile"] < len(result.pipeline)]
        assert set(read) == {(m + n) * k * 2 // 4}


def test_the_mma_counter_adds_up_to_all_mma_sync(simulated):
    _, _, program, trace = simulated
    steps = trace.counter("mma.sync issued in 128 cycles (all warps)")

    total = sum(value * (following - at) // 128 for (at, value), (following, _) in pairwise(steps))
    assert total == program.tensor.sum() * len(warp_tracks(trace))


def test_every_activity_of_a_k_tile_is_a_slice(run, trace):
    names = Counter(one.name for one in trace.slices)

    assert names["copy k tile 4, stage 1"] == 4
    assert names["wait k tile 4, stage 1"] == 4
    assert names["ldmatrix k tile 4, k group 3"] == 4
    assert names["mma k tile 4, k group 3"] == 4
    assert sum("operation" in one.notes for one in trace.slices) == len(run.timeline.k_tiles)


def test_counters_return_to_zero(trace):
    assert trace.counter("k tiles in flight (warp 0)")[-1][1] == 0
    assert max(value for _, value in trace.counter("k tiles in flight (warp 0)")) == 2
    assert max(value for _, value in trace.counter("MMA in flight (k groups, all warps)")) == 4
    assert all(steps[-1][1] == 0 for steps in trace.counters.values())


def test_in_a_large_trace_issues_are_merged_and_keep_their_cycles(run, monkeypatch):
    monkeypatch.setattr("gpusim.report.perfetto.MOST_SPANS", 10)

    trace = read_trace(perfetto_trace(run.result, WORDS, run.timeline))

    for name in warp_tracks(trace):
        warp = int(name.split()[1])
        drawn = trace.of(name)
        merged = [one for one in drawn if one.name == ISSUING]
        spans = [span for span in run.timeline.warps if span.warp == warp]
        for reason in ("selected", "wait"):
            expected = sum(span.end - span.begin for span in spans if span.reason == reason)
            assert sum(one.notes[f"{reason} cycles"] for one in merged) == expected
        assert len(drawn) < len(spans)
        assert sum(one.end - one.begin for one in drawn) == sum(span.end - span.begin for span in spans)


def test_a_trace_is_the_same_bytes_twice(run):
    assert perfetto_trace(run.result, WORDS, run.timeline) == perfetto_trace(run.result, WORDS, run.timeline)


def test_an_empty_timeline_gives_a_trace(run):
    assert len(read_trace(perfetto_trace(run.result, WORDS, Timeline((), ()))).tracks) == 1


def test_a_reason_that_is_none_is_one_error(run):
    with pytest.raises(BadInput, match="damaged timeline: a reason must be one of selected, "):
        perfetto_trace(run.result, WORDS, Timeline((WarpSpan(0, 0, 0, 0, 1, "bored"),), ()))


def test_forty_thousand_spans_are_written_in_seconds(make_run):
    run = make_run(k_tiles=600)
    started = time.process_time()

    perfetto_trace(run.result, WORDS, run.timeline)

    assert time.process_time() - started < 3
