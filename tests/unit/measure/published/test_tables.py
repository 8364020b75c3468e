"""Microbenchmarks on the simulated machines: published tables are met as far as mechanisms go."""

from collections import Counter

import pytest

from gpusim.measure.published.tables import (
    WITHIN,
    Microbenchmark,
    own_entries,
    published_entries,
    published_file,
    share_within,
)


@pytest.fixture(scope="module")
def published():
    return published_entries()


@pytest.mark.compiled
def test_published_tables_are_met(published):
    """137 of 157 entries: the rest wait for mechanisms that reports/published_tables.md names."""
    assert len(published) == 157
    assert share_within(published) >= 137 / 157


@pytest.mark.compiled
def test_tables_of_shared_memory_and_barriers_are_met_but_for_one_entry(published):
    missed = [one.program for one in published if one.program.instruction != "mma" and abs(one.error) > WITHIN]

    assert missed == [Microbenchmark("a100", "ldmatrix", "x1", 1, 4, 5)]


@pytest.mark.compiled
def test_latencies_and_saturated_throughputs_of_the_a100_are_met(published):
    """Entries of one warp, and Luo's of eight warps with four chains each."""
    plain = [
        one
        for one in published
        if one.program.machine == "a100" and (one.program.warps == 1 or one.place.endswith("throughput"))
    ]

    assert len(plain) > 30
    assert share_within(plain) == 1


@pytest.mark.compiled
def test_this_projects_microbenchmarks_are_met_as_far_as_they_were():
    entries = own_entries()

    assert len(entries) == 592
    assert share_within(entries) >= 0.82


def test_every_published_entry_stands_once():
    lines = published_file().read_text().splitlines()[1:]

    assert {line for line, count in Counter(lines).items() if count > 1} == set()
