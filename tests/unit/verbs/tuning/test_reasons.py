"""Why one configuration is faster than another, in one line."""

from gpusim.verbs.sweeping.point import STALL_COLUMNS
from gpusim.verbs.tuning.reasons import why_faster


def figures(cycles, *, ctas=2, waves=1.0, **stalls):
    row = dict.fromkeys(STALL_COLUMNS.values(), 0.0)
    row |= {STALL_COLUMNS[name]: share for name, share in stalls.items()}
    return row | {"cycles": cycles, "active_cycles": cycles, "ctas_per_sm": ctas, "waves": waves}


def why(first, second, least=(500, 500)):
    return why_faster(first, second, tuple({"tensor core": one} for one in least))


def test_a_shorter_wait_is_named_with_both_shares():
    text = why(figures(1000, long_scoreboard=0.1), figures(1200, long_scoreboard=0.3))
    assert text == (
        "20.0 % faster than the next: its warps wait less for global memory (10 % of their cycles, not 30 %)"
    )


def test_less_work_on_the_fullest_sm_is_named_with_the_waves():
    text = why(figures(1000, waves=0.9), figures(1400, waves=1.1, wait=0.1), (400, 800))
    assert text == (
        "40.0 % faster than the next: the SM with most CTAs multiplies for 400 cycles at least, not 800"
        " in 0.9 waves, not 1.1"
    )


def test_another_occupancy_is_added():
    text = why(figures(1000, ctas=1, barrier=0.1), figures(1100, barrier=0.2))
    assert text.endswith("at barriers (10 % of their cycles, not 20 %); 1 CTA on an SM, not 2")


def test_equal_ones_are_said_to_be_so():
    assert why(figures(1000), figures(1003)) == "as fast as the next, within 0.3 %"


def test_without_another_explanation_the_cycles_are_given():
    assert why(figures(1000), figures(1100)) == (
        "10.0 % faster than the next: it spends 1,000 cycles on the SMs, not 1,100"
    )
