"""Shared memory where several lanes want one address (broadcast.cu): ncu's wavefronts and conflicts, and the rule's."""

from pathlib import Path

import numpy as np
import pytest

from gpusim.lab.calibrate.broadcast.experiment import ACCESSES, offsets_text
from gpusim.lab.calibrate.broadcast.patterns import NO_LANE, patterns
from gpusim.lab.calibrate.runner import read_rows
from gpusim.layout.banks import access_ideal, access_wavefronts

ROWS = read_rows(Path(__file__).parents[4] / "reports" / "measured" / "h200" / "microbench" / "broadcast.csv")
COUNTER = {"load": "ld", "ldmatrix": "ld", "store": "st"}


def of(op, width):
    return [row for row in ROWS if (row["op"], row["bytes"]) == (op, str(width))]


def offsets(row):
    return np.array([NO_LANE if text == "-" else int(text) for text in row["offsets"].split()])


def measured(row, what):
    return int(row[f"l1tex__data_{what}_mem_shared_op_{COUNTER[row['op']]}.sum"]) / ACCESSES


@pytest.mark.parametrize(
    ("op", "width", "rows"),
    [
        ("load", 4, 66),
        ("load", 8, 186),
        ("load", 16, 186),
        ("store", 4, 66),
        ("store", 8, 186),
        ("store", 16, 186),
        ("ldmatrix", 16, 104),
    ],
    ids=str,
)
def test_wavefronts_and_conflicts_are_those_that_an_h200_counts(op, width, rows):
    assert len(of(op, width)) == rows
    for row in of(op, width):
        at = offsets(row)
        active = at != NO_LANE
        loads = op == "load"
        wavefronts = access_wavefronts(at, width, active, loads=loads)
        ideal = access_ideal(width, active, loaded=at if loads else None)
        assert wavefronts == measured(row, "pipe_lsu_wavefronts"), row["pattern"]
        assert wavefronts - ideal == measured(row, "bank_conflicts_pipe_lsu"), row["pattern"]


def test_the_patterns_are_those_that_were_measured():
    assert [(one.op, str(one.width_bytes), offsets_text(one)) for one in patterns()] == [
        (row["op"], row["bytes"], row["offsets"]) for row in ROWS
    ]
