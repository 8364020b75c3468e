"""The places of CTAs that an H200 was seen to choose, in launches of 37 sizes with room for one to four on an SM."""

import csv
from collections import defaultdict
from itertools import pairwise
from pathlib import Path

import pytest

from gpusim.machine import load_machine
from gpusim.sim.cta_scheduler import first_places

MICROBENCH = Path(__file__).parents[4] / "reports" / "measured" / "h200" / "microbench"
MACHINE = load_machine("h200")
UNITS = MACHINE.launch.units
FEW = 16
"""CTAs of which each group but the first has one."""


def _launches():
    launches = defaultdict(list)
    with (MICROBENCH / "places.csv").open(encoding="utf-8") as file:
        for row in csv.DictReader(line for line in file if not line.startswith("#")):
            if row["period"] == "1":
                launches[int(row["ctas"]), int(row["per_sm"])].append((int(row["cta"]), int(row["sm"])))
    return {shape: [sm for _, sm in sorted(found)] for shape, found in launches.items()}


LAUNCHES = _launches()


def _group_of_each_sm():
    """Groups are numbered by their lowest SM, the one that is always first by 0."""
    order, few = LAUNCHES[MACHINE.sms, 1], LAUNCHES[FEW, 1]
    starts = [0, *(place for place, sm in enumerate(order) if place >= UNITS.ahead and sm in few), len(order)]
    first, *others = (order[begin:end] for begin, end in pairwise(starts))
    return {sm: number for number, group in enumerate([first, *sorted(others, key=min)]) for sm in group}


GROUP = _group_of_each_sm()
SMS = sorted(GROUP, key=lambda sm: (GROUP[sm], LAUNCHES[MACHINE.sms, 1].index(sm)))
"""The GPU's number of each SM, in the order of ours."""


def test_every_sm_is_in_a_group_of_the_machine_file():
    sizes = [list(GROUP.values()).count(number) for number in range(1 + len(UNITS.others))]

    assert sizes == [UNITS.ahead, *UNITS.others]


@pytest.mark.parametrize(("ctas", "per_sm"), LAUNCHES)
def test_ctas_go_where_an_h200_sent_them(ctas, per_sm):
    """
    Each group has as many CTAs as found, on the same SMs in the same order.

    Which other group follows the first one differs from launch to launch, so that the order of groups is not compared;
    16 CTAs are too few to tell the order within the first group.
    """
    found = LAUNCHES[ctas, per_sm][: per_sm * MACHINE.sms]
    places = [SMS[place] for place in first_places(ctas, MACHINE.sms, per_sm, UNITS)]

    for group in set(GROUP.values()):
        ours = [sm for sm in places if GROUP[sm] == group]
        measured = [sm for sm in found if GROUP[sm] == group]
        assert sorted(ours) == sorted(measured) if ctas == FEW else ours == measured
