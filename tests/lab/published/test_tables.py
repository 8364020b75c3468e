"""Microbenchmarks on the simulated machines: published tables are met as far as mechanisms go."""

from collections import Counter

import pytest

from gpusim.lab.published.tables import (
    WITHIN,
    own_entries,
    published_entries,
    published_file,
    share_within,
)
from gpusim.lab.published.trips import PUBLISHED, SpacedLoop, spacings


@pytest.fixture(scope="module")
def published():
    return published_entries()


@pytest.mark.compiled
def test_published_tables_are_met(published):
    """152 of 157 entries; reports/published_tables.md has the rest."""
    assert len(published) == 157
    assert share_within(published) >= 152 / 157


@pytest.mark.compiled
def test_tables_of_shared_memory_and_barriers_are_met(published):
    assert [one.program for one in published if one.program.instruction != "mma" and abs(one.error) > WITHIN] == []


@pytest.mark.compiled
def test_every_published_mma_and_ldmatrix_of_several_chains_on_ampere_is_spaced(published):
    several = [
        one.program
        for one in published
        if one.program.chains > 1 and one.program.instruction in {"mma", "ldmatrix"} and one.program.machine != "h200"
    ]

    assert len(several) > 50
    for of in several:
        assert SpacedLoop(PUBLISHED, of.machine, of.instruction, of.name, of.chains) in spacings()


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
    """574 of 592, and each of 225 mma.sync."""
    entries = own_entries()

    assert len(entries) == 592
    assert share_within(entries) >= 574 / 592
    assert share_within([one for one in entries if one.program.instruction == "mma"]) == 1


def test_every_published_entry_stands_once():
    lines = published_file().read_text().splitlines()[1:]

    assert {line for line, count in Counter(lines).items() if count > 1} == set()
