"""``gpusim explain``: a run or a scenario, as text and as JSON."""

import json


def test_a_scenario_and_its_run_are_explained_alike(gpusim, finished_run):
    of_name, of_run = gpusim("explain", "conv_9_k_tiles", "--json"), gpusim("explain", finished_run, "--json")

    assert (of_name.code, of_run.code) == (0, 0)
    assert json.loads(of_name.out) == json.loads(of_run.out)


def test_the_answer_has_the_shape_that_callers_rely_on(gpusim, finished_run):
    answer = json.loads(gpusim("explain", finished_run, "--json").out)

    assert answer["verdict"].startswith("Most SMs idle: 1 CTA on 132 SMs")
    assert answer["bound"].keys() >= {"resource", "percent"}
    assert answer["losses"][0].keys() == {"what", "percent"}
    assert answer["what_if"][0].keys() >= {"change", "cycles", "gain_percent"}
    assert answer["resources"]
    assert answer["counters"]


def test_the_text_leads_with_the_verdict_and_names_the_lanes_that_collide(gpusim):
    answer = gpusim("explain", "conv_9_k_tiles", "--set", "kernel.shared.a=row_major")

    assert answer.code == 0
    assert answer.out.startswith("Most SMs idle")
    assert "lane 0 at 0" in answer.out
    assert "--set kernel.shared.a=" in answer.out
    assert "(artefact)" in answer.out


def test_a_run_is_explained_as_it_was(gpusim, finished_run):
    answer = gpusim("explain", finished_run, "--set", "kernel.stages=4")

    assert answer.code == 2
    assert "--set changes a scenario" in answer.err
