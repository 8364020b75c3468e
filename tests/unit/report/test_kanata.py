"""Kanata logs, read back by a reader that follows Konata's own description of the format."""

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from doubles.kanata_reader import read_kanata

from gpusim.families.registry import load_scenario
from gpusim.report.kanata import IN_FLIGHT, KANATA_STAGES, kanata_log, write_kanata
from gpusim.results.timeline import Timeline
from gpusim.scenario.catalogue import find_scenario
from gpusim.sim.stall_reasons import REASONS
from gpusim.verbs.program import watched_program
from gpusim.verbs.simulate import simulate


def text_of(*arguments):
    return "".join(f"{line}\n" for line in kanata_log(*arguments))


@pytest.fixture(scope="module")
def simulated():
    scenario = load_scenario(find_scenario("conv_9_k_tiles"))
    result, timeline = simulate(scenario)
    return result, timeline, watched_program(scenario, result, timeline)


@pytest.fixture(scope="module")
def log(simulated):
    return read_kanata(text_of(*simulated))


def test_every_stall_reason_has_a_stage_of_its_own():
    assert set(KANATA_STAGES) == set(REASONS)
    assert len({*KANATA_STAGES.values(), IN_FLIGHT}) == len(REASONS) + 1


def test_a_log_has_a_line_for_each_instruction_of_each_warp(simulated, log):
    _, _, program = simulated

    for warp in range(4):
        own = [one for one in log[1:] if one.thread == warp]
        assert [one.simulated for one in own] == list(range(len(program)))
        assert [one.label.split()[3] for one in own] == [program.opcodes[number] for number in program.opcode]


def test_the_stages_of_a_warp_s_instructions_are_its_stalls_without_a_gap(simulated, log):
    _, timeline, _ = simulated
    stage_of = {stage: reason for reason, stage in KANATA_STAGES.items()}

    for warp in range(4):
        cycles = dict.fromkeys(REASONS, 0)
        stages = [stage for one in log[1:] if one.thread == warp for stage in one.stages[0] if stage[0] != IN_FLIGHT]
        for name, begin, end in stages:
            cycles[stage_of[name]] += end - begin
        own = [span for span in timeline.warps if span.warp == warp]
        for reason in REASONS:
            # What follows the last issue holds up no instruction.
            after = sum(span.end - span.begin for span in own if span.reason == reason and span.begin >= stages[-1][2])
            assert cycles[reason] + after == sum(span.end - span.begin for span in own if span.reason == reason)
        assert all(before[2] == following[1] for before, following in pairwise(stages))


def test_every_instruction_issues_for_one_cycle(log):
    assert all([end - begin for name, begin, end in one.stages[0] if name == "Is"] == [1] for one in log[1:])


def test_the_first_line_says_what_the_stages_mean(simulated, log):
    result, _, _ = simulated

    assert "Ls long_scoreboard; Ba barrier; " in log[0].details
    assert result.machine["name"] in log[0].label
    assert [stage[0] for stage in log[0].stages[0]] == ["Run"]


def test_an_arrow_leads_from_a_copy_to_the_instruction_after_its_wait(log):
    consumers = [one for one in log if one.producers]
    copies = [log[one.producers[0]] for one in consumers]

    assert len(consumers) >= 4 * 9
    assert {len(one.producers) for one in consumers} == {1}
    assert all("cp.async" in copy.label and copy.stages[0][-1][0] == IN_FLIGHT for copy in copies)
    for one, copy in zip(consumers, copies, strict=True):
        assert copy.thread == one.thread
        assert copy.stages[0][-1][2] <= max(end for _, _, end in one.stages[0])


def test_an_arrow_leads_from_stores_that_land_behind_their_barrier_too():
    """Each of four warps waits for each of 17 k tiles."""
    scenario = load_scenario(find_scenario("gemm_nt_pipelined"))
    result, timeline = simulate(scenario)
    log = read_kanata(text_of(result, timeline, watched_program(scenario, result, timeline)))
    copied = {(span.warp, span.k_tile) for span in timeline.k_tiles if span.activity == "copy"}

    assert len(copied) == 4 * 17
    assert sum(len(one.producers) for one in log) == len(copied)


def test_without_a_program_instructions_are_numbered(simulated):
    result, timeline, _ = simulated

    log = read_kanata(text_of(result, timeline))

    assert log[1].label == "warp 0 #0"
    assert not any(one.producers for one in log)


def test_a_log_is_the_same_text_twice(simulated, tmp_path):
    result, timeline, program = simulated

    path = write_kanata(result, timeline, tmp_path / "trace.kanata", program)

    assert path.read_text() == text_of(*simulated)


def test_a_long_run_is_cut_and_says_so(simulated, monkeypatch):
    monkeypatch.setattr("gpusim.report.kanata.MOST_LOGGED", 100)

    log = read_kanata(text_of(*simulated))

    assert len(log) == 101
    assert log[0].label.endswith("only the first 100 instructions")


def test_an_empty_timeline_gives_an_empty_log(run):
    assert text_of(run.result, Timeline((), ())) == "Kanata\t0004\nC=\t0\n"


def test_a_run_of_another_program_has_no_names(simulated):
    result, timeline, program = simulated
    shorter = replace(program, opcode=program.opcode[1:])

    assert text_of(result, timeline, shorter) == text_of(result, timeline)


def test_the_page_about_viewers_says_what_every_stage_means():
    page = (Path(__file__).parents[3] / "docs" / "viewers.md").read_text(encoding="utf-8")

    for reason, stage in KANATA_STAGES.items():
        assert f"`{stage}`" in page
        assert reason in page
