"""The tables of attention: what was measured holds the bars; a gain is the ratio of two schedules of one problem."""

import json

import pytest

from gpusim.lab.tables.attention_table import (
    BENCH,
    COMPARED_CTAS_PER_SM,
    DEFAULT_TILE,
    ELAPSED,
    bench_tables,
    gain_table,
    gains,
)
from gpusim.records.record import load_record, measured_folder

FOLDER = measured_folder() / "h200"
ROWS = json.loads((FOLDER / BENCH).read_text())["rows"]


def test_every_kernel_that_was_timed_computed_the_right_numbers():
    ours = [row for row in ROWS if row["schedule"] != "torch flash"]
    assert [row for row in ours if row.get("wrong_elements") != 0] == []


def test_attention_is_as_fast_as_cutlass_s_on_its_nine_rows():
    speeds = [
        row["speed"] for row in ROWS if row["schedule"] == "attention" and row["ctas_per_sm"] == COMPARED_CTAS_PER_SM
    ]
    assert len(speeds) == 9
    assert min(speeds) >= 0.95


def test_flash_is_nearly_as_fast_as_flash_attention_2():
    speeds = [row["speed"] for row in ROWS if row["schedule"] == "flash" and row["tile"] == DEFAULT_TILE]
    assert len(speeds) == 8
    assert min(speeds) >= 0.85


def test_the_tables_have_a_line_for_each_shape():
    lines = bench_tables(ROWS)
    assert sum(line.startswith("| ") and line[2].isdigit() for line in lines) == 9 + 8


def test_a_gain_is_attention_s_cycles_over_flash_s():
    """1200 and 1000 simulated cycles: 1.2; the errors are against the records' own cycles."""
    records = [load_record(FOLDER / f"{name}_d64_v160.json") for name in ("attention", "flash")]
    attention, flash = (record.counters[ELAPSED] for record in records)

    (gain,) = gains(records, lambda scenario: 1000 if scenario.flash else 1200)

    assert gain.name == "d64_v160"
    assert gain.simulated == pytest.approx(1.2)
    assert gain.measured == pytest.approx(attention / flash)
    assert gain.errors == (pytest.approx(1200 / attention - 1), pytest.approx(1000 / flash - 1))
    assert gain_table([gain])[6].startswith("| d64_v160 | ")
