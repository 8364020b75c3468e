"""Which CTAs are examined, and when."""

import numpy as np
import pytest

from gpusim.execute import run, watch


def launched(kernel, ctas, **options):
    return kernel[ctas, 128](np.zeros(4096, np.int32), **options)


@pytest.mark.parametrize(("ctas", "every", "examined"), [(20, False, 8), (20, True, 20), (3, False, 3)])
def test_eight_ctas_are_examined_or_all(checks, ctas, every, examined):
    done = launched(checks("overwritten"), ctas, check_every_cta=every)

    assert done.findings.ctas == examined
    assert [race.ctas for race in done.races] == [examined]


def test_a_kernel_without_shared_memory_has_no_cta_to_examine(checks):
    done = checks("nothing_shared")[20, 128](np.zeros(4096, np.int32), np.zeros(4096, np.int32))

    assert done.findings.ctas == 0
    assert done.conflict_examples == ()


def test_a_large_trace_is_examined_while_the_launch_executes_if_all_of_it_is(checks, monkeypatch):
    late = launched(checks("overwritten"), 20, check_every_cta=True)
    monkeypatch.setattr(watch, "MOST_KEPT", 0)
    early = launched(checks("overwritten"), 20, check_every_cta=True)

    assert early.findings == late.findings
    assert early.conflict_examples == late.conflict_examples


def test_a_long_cta_is_examined_up_to_a_limit_and_the_findings_say_so(checks, monkeypatch):
    """Each of the 4 warps executes 12 instructions; a piece has no more than 8 steps."""
    monkeypatch.setattr(run, "STEPS_AT_ONCE", 8)
    monkeypatch.setattr(watch, "MOST_KEPT", 16)

    found = launched(checks("overwritten"), 2).findings
    whole = launched(checks("overwritten"), 2, check_every_cta=True).findings

    assert found.races == ()
    assert found.unchecked == "CTA (0, 0, 0) behind its first 8 warp instructions; check_every_cta=True looks there too"
    assert [race.ctas for race in whole.races] == [2]
    assert whole.unchecked is None


@pytest.mark.parametrize("kept", range(0, 900, 40))
def test_what_is_left_out_of_a_long_cta_makes_no_race(checks, monkeypatch, kept):
    monkeypatch.setattr(run, "STEPS_AT_ONCE", 8)
    monkeypatch.setattr(watch, "MOST_KEPT", kept)

    found = checks("rounds_safe")[1, 128](np.zeros(4096, np.int32), np.zeros(4096, np.int32)).findings

    assert (found.races, found.unwritten_reads) == ((), ())
    assert found.unchecked is not None


def test_findings_and_examples_may_be_asked_for_in_any_order_and_again(checks):
    first, second = launched(checks("overwritten"), 2), launched(checks("overwritten"), 2)

    assert (first.findings, first.conflict_examples) == (second.watch.findings(), second.conflict_examples)
    assert second.watch.findings() == first.findings
