"""What bounds a run: the most used resource if it is busy enough, else what warps wait for longest."""

import pytest

from gpusim.results.bound import BOUND_SHARE, NOTHING, Bound, bound_of, bound_table
from gpusim.results.resources import Resource

STALLS = {"selected": 0.5, "wait": 0.2, "barrier": 0.3}


def used(percent, active=None):
    most = Resource("tensor core", percent, percent if active is None else active)
    return (Resource("L2 port of the SM", 99.0, 99.0, bounds=False), most, Resource("issue slots", 1.0, 1.0))


@pytest.mark.parametrize(("percent", "resource"), [(60.0, "tensor core"), (59.99, "barriers")])
def test_the_share_that_decides_is_inclusive(percent, resource):
    assert BOUND_SHARE == 0.6
    assert bound_of(used(percent), STALLS).resource == resource


def test_a_busy_resource_is_the_bound_with_its_use():
    assert bound_of(used(90.0), STALLS) == Bound("tensor core", 90.0, "")


def test_of_few_ctas_a_resource_that_is_busy_where_there_is_work_is_the_bound():
    """30 % of the whole, 80 % of the SMs that have work while they are active."""
    assert bound_of(used(30.0, 80.0), STALLS) == Bound("tensor core", 80.0, "", of_active=True)
    assert bound_of(used(30.0, 79.9), STALLS).resource == "barriers"
    assert bound_table(used(30.0, 80.0), STALLS, 1000)["utilisation"] == 0.8


def test_otherwise_the_longest_wait_is_and_an_issued_warp_waits_for_nothing():
    assert bound_of(used(30.0), STALLS) == Bound("barriers", 30.0, "barrier")
    assert bound_of(used(30.0), {"selected": 1.0}) == Bound(NOTHING, 0.0, "")


def test_one_that_mirrors_another_resource_bounds_nothing():
    """The SM's port is used for 99 %."""
    assert bound_table(used(90.0), STALLS, 1000)["busiest"] == "tensor core"


def test_a_table_has_the_use_of_every_resource_and_its_cycles():
    table = bound_table(used(90.0), STALLS, 1000)

    assert (table["resource"], table["percent"], table["stall"]) == ("tensor core", 90.0, "")
    assert table["utilisation"] == 0.9
    assert [row["name"] for row in table["resources"]] == ["L2 port of the SM", "tensor core", "issue slots"]
    assert table["cycles"] == {"tensor core": 900, "issue slots": 10}


@pytest.mark.parametrize(
    ("percent", "active", "reason"),
    [
        (90.0, 90.4, "tensor core at 90 % of its peak"),
        (90.0, 95.0, "tensor core at 90 % of its peak (95 % where and while there is work)"),
        (
            20.0,
            72.0,
            (
                "no resource reaches 60 % of its peak; warps wait longest for barrier, with tensor core at 20 % of its "
                "peak (72 % where and while there is work)"
            ),
        ),
    ],
)
def test_the_reason_says_how_busy_the_busiest_resource_is(percent, active, reason):
    assert bound_table(used(percent, active), STALLS, 1000)["reason"] == reason
