"""Boxes of TMA: what one takes, how many go at once, and what SMs that load the same ones share."""

import csv
from pathlib import Path

import pytest
from doubles.boxes import H200, ring

MEASURED = Path(__file__).parents[5] / "reports" / "measured" / "h200" / "microbench"
BOX = 128 * 128


def measured(name, **wanted):
    """The rows of a committed microbenchmark with some values."""
    lines = (MEASURED / f"{name}.csv").read_text(encoding="utf-8").splitlines()
    rows = csv.DictReader(line for line in lines if not line.startswith("#"))
    return [row for row in rows if all(row[key] == str(value) for key, value in wanted.items())]


def test_boxes_in_a_row_take_what_their_lines_take():
    """One SM, from 8 to 40 boxes of 128 rows: 128 lines at 1.2 cycles each."""
    few, many = (ring(128, 4, loads=count)[0] for count in (40, 72))

    assert (many - few) / 32 == pytest.approx(128 * H200.tma.row_percent / 100, abs=1)


def test_a_small_box_takes_its_least_time():
    few, many = (ring(1, 64, loads=count)[0] for count in (640, 896))

    # The thread that issues them takes longer than the unit: an arrival, an issue and a test of the phase for each.
    assert (many - few) / 256 >= H200.tma.box


def test_all_lines_of_all_boxes_are_requested_once():
    _, chip = ring(64, 2, loads=10, sms=3)

    assert chip.tma.lines == 3 * 10 * 64
    assert chip.l2.sectors == 3 * 10 * 64 * 4


SHARERS = {(1, 1): 1, (2, 1): 2, (2, 0): 2, (4, 1): 4, (4, 0): 4}
"""SMs that load the same boxes, and whether they are neighbours."""


@pytest.mark.parametrize(("rows", "flight"), [(64, 4), (128, 2), (128, 4)])
@pytest.mark.parametrize(("shared_by", "neighbours"), SHARERS)
def test_simulated_sms_load_as_fast_as_measured_ones(shared_by, neighbours, rows, flight):
    """
    Boxes from the L2 by all SMs, in bytes a cycle and SM: own ones 36, the same ones for both SMs of a TPC 63.

    SMs of different GPCs share nothing. Within 15 %.
    """
    apart = H200.sms // shared_by
    cycles, _ = ring(rows, flight, loads=160, sms=132, area=lambda sm: sm // shared_by if neighbours else sm % apart)
    (row,) = measured(
        "tma_merge", shared_by=shared_by, neighbours=neighbours, kind="ring", source="L2", rows=rows, in_flight=flight
    )

    assert 160 * rows * 128 / cycles == pytest.approx(float(row["bytes_per_cycle"]), rel=0.15)


def test_a_box_lands_as_late_as_measured():
    """One box at a time of 128 rows: 501 cycles from the begin of the issue to the end of the wait, within 15 %."""
    few, many = (ring(128, 1, loads=count)[0] for count in (20, 40))
    (row,) = measured(
        "tma_boxes", kind="ring", source="L2", rows=128, inner=128, swizzle=128, pitch=512, in_flight=1, sms=1
    )

    assert (many - few) / 20 == pytest.approx(float(row["per_box"]), rel=0.15)
