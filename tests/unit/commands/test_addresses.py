"""``gpusim addresses``: one table, as JSON and as text."""

import json

import pytest

from gpusim.schedule.events import EVENT_FIELDS

SCENARIO = "conv_9_k_tiles"


def test_addresses_json_is_columns_and_rows_of_integers(gpusim):
    answer = gpusim("addresses", SCENARIO, "gmem_a", "--threads", "0,5", "--k-tiles", "0-1", "--json")

    table = json.loads(answer.out)
    rows = [dict(zip(table["columns"], row, strict=True)) for row in table["rows"]]

    assert table["columns"][:4] == ["thread", "k_tile", "access", "vec"]
    assert {row["thread"] for row in rows} == {0, 5}
    assert {row["k_tile"] for row in rows} == {0, 1}


def test_addresses_text_is_the_same_table(gpusim):
    asked = ("addresses", SCENARIO, "ldmatrix_b", "--threads", "0-3", "--k-tiles", "0")

    table = json.loads(gpusim(*asked, "--json").out)
    header, *lines = gpusim(*asked).out.splitlines()

    assert header.split() == table["columns"]
    assert [[int(cell) for cell in line.split()] for line in lines] == table["rows"]


def test_a_short_ctaid_is_filled_with_zeros(gpusim):
    asked = ("addresses", SCENARIO, "smem_store_a", "--k-tiles", "0", "--threads", "0")

    assert gpusim(*asked, "--ctaid", "0").out == gpusim(*asked, "--ctaid", "0,0,0").out


def test_events_are_an_ordered_list(gpusim):
    answer = gpusim("addresses", SCENARIO, "events", "--thread", "5", "--json")

    events = json.loads(answer.out)

    assert events[0][0] == "cp_async_zfill"
    assert ["wait_group", 1] in events


def test_events_as_text_begin_with_a_line_about_each_kind(gpusim):
    events = json.loads(gpusim("addresses", SCENARIO, "events", "--thread", "5", "--json").out)
    text = gpusim("addresses", SCENARIO, "events", "--thread", "5").out.splitlines()

    header = [line for line in text if line.startswith("# ")]
    assert header[:2] == ["# cp_async_zfill: operand, shared offset, global offset, bytes, predicate", "# commit"]
    assert [line.removeprefix("# ").split(":")[0] for line in header] == list(dict.fromkeys(one[0] for one in events))
    assert text[len(header) :] == [" ".join(map(str, event)) for event in events]


@pytest.mark.parametrize("scenario", ["gemm_nt_pipelined", "gemm_tf32_nt", "flash_128x64", "attention_64x64"])
def test_every_event_has_as_many_values_as_its_kind_has_names(gpusim, scenario):
    events = json.loads(gpusim("addresses", scenario, "events", "--thread", "40", "--json").out)

    assert all(len(event) == 1 + len(EVENT_FIELDS[event[0]]) for event in events)


NO_KEYS = ("--set", "problem.batch=1", "--set", "problem.heads=1", "--set", "problem.queries=3", "--set")


@pytest.mark.parametrize("narrowed", [[], ["--k-tiles", "0"]], ids=["all", "first"])
def test_a_cta_that_sees_no_key_has_no_k_tile(gpusim, narrowed):
    none = (*NO_KEYS, "problem.keys=3", "--set", "problem.key_lengths=[0]")

    answer = gpusim("addresses", "flash_128x64", "gmem_k", *none, *narrowed)

    if narrowed:
        assert answer.is_refusal
        assert answer.err == "gpusim: --k-tiles must be left out for gmem_k: this CTA has no k tile of it\n"
    else:
        assert answer.out.split() == ["thread", "k_tile", "access", "vec", "row", "column", "offset", "valid"]
