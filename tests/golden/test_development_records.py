"""
Development records hold their cycles: as far off as the committed validation says, and never further than stated.

A few of every kind are simulated anew. Held-out records are not read.
"""

import json
from collections import defaultdict

import pytest
from slow import one_in

from gpusim.families.registry import parse_scenario
from gpusim.records.halves import halves_file, load_halves
from gpusim.records.record import load_record, measured_folder
from gpusim.verbs.simulate import simulate

ROWS = json.loads((halves_file().parent / "development.json").read_text())["rows"]

MOST_INSTRUCTIONS = 2_000_000
"""Warp instructions that a compiled core executes in a fifth of a second."""

TOLERANCE = {"compiled": 0.25, "estimated": 0.35}
"""Part of a record's elapsed cycles by which the simulated ones may miss them."""

WRONG_OCCUPANCY = {"estimated": {"gemm_w64x32_128x128x32_s3_2048x2048x512": 0.4}}
"""Kernels whose registers are estimated so that an SM holds one CTA for two (152 for 128), with what they may miss."""

AS_VALIDATED = 0.005
"""Part of the elapsed cycles by which a simulation may differ from the committed one of the same kernel."""


def error(row):
    measured, simulated = row["figures"]["elapsed"]
    return (simulated - measured) / measured


def chosen():
    """Of each kind and stream, the smallest record and the largest that is quickly simulated."""
    groups = defaultdict(list)
    for row in ROWS:
        if {"elapsed", "warp instructions"} <= row["figures"].keys():
            instructions = row["figures"]["warp instructions"][1]
            if instructions <= MOST_INSTRUCTIONS:
                groups[row["groups"]["kind"], row["stream"]].append((instructions, row["name"], row))
    return [
        own[2] for found in groups.values() for own in {min(found)[1]: min(found), max(found)[1]: max(found)}.values()
    ]


CHOSEN = chosen()


def test_every_row_is_of_the_development_half():
    names = {row["name"] for row in ROWS}

    assert names <= load_halves().seen | load_halves().development
    assert len(CHOSEN) >= 30


@pytest.mark.parametrize("stream", TOLERANCE)
def test_no_record_is_further_off_than_stated(stream):
    errors = {row["name"]: error(row) for row in ROWS if row["stream"] == stream and "elapsed" in row["figures"]}

    assert len(errors) > 200
    most = dict.fromkeys(errors, TOLERANCE[stream]) | WRONG_OCCUPANCY.get(stream, {})
    assert {name: own for name, own in errors.items() if abs(own) > most[name]} == {}


def test_the_reduction_of_a_parallel_split_k_reads_each_sector_once():
    """
    DRAM bytes of both kernels, of nine records and both streams: within 3 %, and 1 % in the mean. Those of a gradient
    are 11 % too many, why is not known.
    """
    found = {
        (row["name"], row["stream"]): abs(simulated / measured - 1)
        for row in ROWS
        if "split-K parallel" in row["groups"]["kind"]
        for measured, simulated in (row["figures"]["DRAM bytes"],)
    }
    errors = [error for (name, _), error in found.items() if not name.startswith("dgrad")]

    assert len(errors) >= 18
    assert max(errors) < 0.03
    assert sum(errors) / len(errors) < 0.01


@pytest.mark.compiled
@pytest.mark.parametrize("row", one_in(5, CHOSEN), ids=[f"{row['name']}-{row['stream']}" for row in CHOSEN])
def test_a_record_is_simulated_as_it_was_validated(row):
    record = load_record(measured_folder() / "h200" / f"{row['name']}.json")
    result, _ = simulate(parse_scenario(record.scenario, row["name"]), stream=row["stream"])
    measured, validated = row["figures"]["elapsed"]

    assert result.cycles.elapsed == pytest.approx(validated, rel=AS_VALIDATED)
    assert result.cycles.elapsed == pytest.approx(measured, rel=TOLERANCE[row["stream"]])
