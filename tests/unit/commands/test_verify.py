"""``gpusim verify``: what it says of a right schedule, a broken one, and one that was broken without harm."""

import json

SCENARIO = "conv_9_k_tiles"


def test_verify_answers_that_all_is_well(gpusim):
    report = json.loads(gpusim("verify", SCENARIO, "--seed", "7", "--json").out)

    assert report["ok"] is True
    assert (report["seed"], report["wrong_elements"], report["hazards"]) == (7, 0, [])
    assert report["scenario"]["problem"]["kind"] == "conv2d_fprop"


def test_verify_of_a_broken_schedule_is_exit_3_and_names_the_hazard(gpusim):
    answer = gpusim("verify", SCENARIO, "--mutate", "lax_wait")

    assert answer.code == 3
    assert "read_before_group_complete" in answer.out
    assert answer.err.splitlines()[-1].startswith(f"gpusim: {SCENARIO}: ")


def test_hazards_that_are_alike_are_counted_and_json_has_all(gpusim):
    hazards = json.loads(gpusim("verify", SCENARIO, "--mutate", "lax_wait", "--json").out)["hazards"]
    alike = sum(hazard["name"] == "read_before_group_complete" for hazard in hazards)

    lines = [
        line
        for line in gpusim("verify", SCENARIO, "--mutate", "lax_wait").out.splitlines()
        if line.startswith("  read_before_group_complete: ")
    ]

    assert alike > 3
    assert len(lines) == 4
    assert lines[3] == f"  read_before_group_complete: and {alike - 3} more (--json has all)"


def test_a_mutation_that_was_caught_says_by_what(gpusim):
    out = gpusim("verify", SCENARIO, "--mutate", "lax_wait").out

    assert out.splitlines()[0].startswith("mutation   lax_wait: caught by ")


def test_a_mutation_that_changes_nothing_says_so_and_all_checks_held(gpusim):
    """
    With one k tile no slot is ever filled again, so nothing is lost without the mainloop's barrier.
    """
    one_k_tile = [f"problem.{extent}=64" for extent in "mnk"]
    overrides = [word for override in one_k_tile for word in ("--set", override)]

    answer = gpusim("verify", "gemm_4096", "--mutate", "missing_barrier", *overrides)

    assert answer.code == 0
    assert answer.out.splitlines()[0] == (
        "mutation   missing_barrier: not caught; harmless here: it causes no hazard and no wrong element"
    )


def test_an_output_beyond_its_type_is_not_called_a_nan(gpusim):
    """Sums of 96 products deviate by about 10, so alpha = 1e5 makes nearly all of them infinite in f16."""
    overrides = ("m=8", "n=8", "k=96", "alpha=1e5")
    answer = gpusim("verify", "gemm_ragged", *(part for text in overrides for part in ("--set", f"problem.{text}")))

    assert answer.code == 3
    assert "not finite (a NaN, or beyond the output's type), first at row 0, column 0" in answer.out


def test_an_execution_that_takes_too_much_memory_is_refused_before_it_begins(gpusim):
    answer = gpusim("verify", "gemm_4096", "--set", "problem.m=65536", "--set", "problem.n=65536")

    assert answer.is_refusal
    assert answer.err == "gpusim: problem must be small enough to be executed in 8 GiB of memory, not in 180 GiB\n"


def test_verify_says_that_it_passed_and_in_what_the_error_is(gpusim):
    *_, error, _, passed = gpusim("verify", "conv_9_k_tiles").out.splitlines()

    assert error.split(";")[0].endswith(" in absolute value")
    assert passed == "passed     every element is within its bound, and there is no hazard"
