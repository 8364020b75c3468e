"""When CTAs that share SMs end, and where those go that are left over: 16 GEMMs of one to three waves on an H200."""

from collections import Counter, defaultdict
from functools import cache
from pathlib import Path
from statistics import median
from typing import NamedTuple
from unittest import mock

import pytest
from slow import one_in

from gpusim.families.registry import load_scenario
from gpusim.lab.calibrate.runner import read_rows
from gpusim.scenario.catalogue import recordable_scenarios
from gpusim.sim import launch as launches
from gpusim.verbs.simulate import simulate

MEASURED = Path(__file__).parents[4] / "reports" / "measured" / "h200" / "lives" / "lives.csv"
FILES = {path.stem: path for path in recordable_scenarios()}
SMS = 132
AT_ONCE = 4000
"""Cycles after an SM's first CTA in which those begin that find room at the launch."""


class Cta(NamedTuple):
    """Begin and end of a CTA, in cycles from the begin of its SM's first one, and its number in launch order."""

    begin: int
    end: int
    number: int


def measured():
    """The CTAs of each SM by kernel."""
    found = defaultdict(lambda: defaultdict(list))
    for row in read_rows(MEASURED):
        found[row["name"]][row["sm"]].append(Cta(int(row["begin"]), int(row["end"]), int(row["cta"])))
    return {name: list(of_sm.values()) for name, of_sm in found.items() if len(of_sm) == SMS}


@cache
def simulated(name):
    """The same of a simulation with compiled streams."""
    ran = []
    run = launches.run_sms

    def kept(*arguments, **keywords):
        ran.append(run(*arguments, **keywords))
        return ran[-1]

    with mock.patch.object(launches, "run_sms", kept):
        simulate(load_scenario(FILES[name]), exact=True, stream="compiled")
    of_sm = defaultdict(list)
    for life in ran[0].lives:
        of_sm[life.sm].append(life)
    first = {sm: min(life.launched for life in lives) for sm, lives in of_sm.items()}
    return [
        [Cta(life.launched - first[sm], life.finished - first[sm], life.cta) for life in lives]
        for sm, lives in of_sm.items()
    ]


def ends(sms):
    """Medians over SMs of the end of the first, the second CTA, and so on, of those that come at once."""
    columns = defaultdict(list)
    for ctas in sms:
        for place, cta in enumerate(sorted((one for one in ctas if one.begin < AT_ONCE), key=lambda one: one.number)):
            columns[place].append(cta.end)
    return [median(columns[place]) for place in sorted(columns)]


def held(sms):
    """SMs by the number of CTAs that they have had."""
    return Counter(map(len, sms))


MEASURED_SMS = measured()
CHAOTIC = {"gemm_nt_pipelined_128x128x32_s2_2560x2560x512"}
"""Kernels whose CTAs end together on an SM: which one gets the next CTA is another in each launch."""


def test_sixteen_kernels_were_measured_on_all_sms():
    assert len(MEASURED_SMS) == 16


@pytest.mark.compiled
@pytest.mark.parametrize("name", one_in(4, sorted(MEASURED_SMS)))
def test_the_ctas_of_an_sm_end_one_after_the_other_as_an_h200_s(name):
    """
    The older CTA goes first, but not before a younger one's warp that waits for nothing: of 128x128x64 and three stages
    they end after 29 and 39 thousand cycles there and 27 and 41 here. Where all take turns both end after 35, and the
    SMs that end first get two of the CTAs that are left over, which is a fifth of the time longer.
    """
    sms = simulated(name)

    assert ends(sms) == pytest.approx(ends(MEASURED_SMS[name]), rel=0.09)
    differ = sum(abs(held(sms)[count] - held(MEASURED_SMS[name])[count]) for count in range(16))
    assert differ <= 16 or name in CHAOTIC


@pytest.mark.compiled
@pytest.mark.slow
def test_the_ends_are_met_within_four_per_cent_in_the_mean():
    pairs = [
        (own, theirs)
        for name in MEASURED_SMS
        for own, theirs in zip(ends(simulated(name)), ends(MEASURED_SMS[name]), strict=True)
    ]

    assert len(pairs) == 42
    assert sum(abs(own / theirs - 1) for own, theirs in pairs) / len(pairs) < 0.04
