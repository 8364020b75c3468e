"""``gpusim addresses``: one table, as JSON and as text."""

import json

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
    assert gpusim("addresses", SCENARIO, "events", "--thread", "5").out.count("\n") == len(events)
