"""An answer beside its entry: changes, thresholds, causes and notes."""

import math
from dataclasses import replace

import pytest
from problems.own_answers import own_answer

from gpusim.errors import BadInput
from gpusim.results.kernel_result import ConflictNote
from gpusim.results.result import Cycles
from gpusim.verbs.performance.baseline import PerfBaseline, PerfEntry
from gpusim.verbs.performance.check import PerfChange, compared
from gpusim.verbs.performance.metrics import metrics_of

ANSWER = own_answer(registers_per_thread=64, ctas_per_sm=2, limiter="registers")
ENTRY = PerfEntry("k", "k.toml", "a100", "ab", "0.2.0", {"grid": [4]}, metrics_of(ANSWER))
BASELINE = PerfBaseline({"k": ENTRY})


def checked(answer, today=ENTRY, **given):
    return compared(ENTRY, replace(today, metrics=metrics_of(answer)), answer, BASELINE, given)


@pytest.mark.parametrize(
    ("metric", "before", "now", "threshold", "verdict"),
    [
        ("cycles", 1000, 1030, 3.0, "worse"),
        ("cycles", 1000, 1031, 3.0, "beyond"),
        ("cycles", 1000, 500, 3.0, "better"),
        ("cycles", 1000, 1000, 0.0, "equal"),
        ("cycles", 1000, 9000, math.inf, "worse"),
        ("ctas_per_sm", 2, 1, 0.0, "beyond"),
        ("ctas_per_sm", 2, 1, 50.0, "worse"),
        ("ctas_per_sm", 1, 2, 0.0, "better"),
        ("conflicts", 0, 1, 1000.0, "beyond"),
        ("conflicts", 0, 1, math.inf, "worse"),
    ],
)
def test_a_metric_is_beyond_if_it_is_worse_by_more_than_its_threshold(metric, before, now, threshold, verdict):
    assert PerfChange(metric, before, now, threshold).verdict == verdict


def test_what_is_infinite_is_none_in_plain_data():
    assert PerfChange("conflicts", 0, 1, math.inf).to_dict() == {
        "metric": "conflicts",
        "baseline": 0,
        "now": 1,
        "change_percent": None,
        "threshold_percent": None,
        "verdict": "worse",
    }


def test_an_equal_answer_is_within_all_thresholds():
    found = checked(ANSWER)

    assert not found.is_beyond
    assert {one.verdict for one in found.changes} == {"equal"}
    assert (found.reasons, found.notes) == ((), ())


def test_the_loss_of_ctas_is_said_with_its_limit():
    """72 registers for 64 are 12.5 % more, and 10 % are allowed."""
    found = checked(replace(ANSWER, registers_per_thread=72, ctas_per_sm=1))

    assert [one.metric for one in found.changes if one.verdict == "beyond"] == ["registers", "ctas_per_sm"]
    assert found.reasons == ("CTAs per SM: 1, 2 in the baseline, limited by registers (72 per thread)",)


def test_shared_memory_that_limits_is_said_in_bytes():
    found = checked(replace(ANSWER, ctas_per_sm=1, limiter="shared_memory", shared_bytes=98304))

    assert found.reasons == ("CTAs per SM: 1, 2 in the baseline, limited by shared memory (98,304 bytes per CTA)",)


def test_conflicts_and_cycles_beyond_name_their_instructions():
    worst = ConflictNote(0x140, 62, "0x0140 LDS R7, [R7.X4]: 32 wavefronts instead of 1")
    rows = tuple(replace(row, wavefronts=row.wavefronts + 100 * (row.wavefronts > 0)) for row in ANSWER.rows)
    slower = Cycles(elapsed=2 * ANSWER.cycles.elapsed, active=ANSWER.cycles.active)

    found = checked(replace(ANSWER, conflicts=(worst,), rows=rows, cycles=slower))

    assert found.reasons[0] == worst.words
    assert found.reasons[1].startswith("warps are stalled most before 0x0020 ")


def test_another_launch_or_version_is_noted_and_judged_all_the_same():
    today = replace(ENTRY, launch={"grid": [8]}, version="0.3.0", compiler="nvcc 13.1")

    assert checked(ANSWER, today).notes == (
        "grid is [8], and [4] in the baseline",
        "compiled by nvcc 13.1, the baseline by none",
        "the baseline is of gpusim 0.2.0, this is 0.3.0: its model may have moved cycles",
    )
    assert checked(ANSWER, replace(ENTRY, figures="cd")).notes == (
        "the figures of a100 are not those of the baseline, and may have moved cycles",
    )


def test_an_answer_of_another_machine_is_not_compared():
    with pytest.raises(BadInput, match=r"^k: the baseline is of a100, not of h200; --write-baseline writes one$"):
        checked(ANSWER, replace(ENTRY, machine="h200"))
