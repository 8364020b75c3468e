"""Loads and copies one after another, by the rows that lanes lie in (wide.cu): cycles, measured and simulated."""

from dataclasses import replace
from pathlib import Path

import pytest
from doubles.by_hand import copy, instruction, load
from doubles.copied_rows import COPY_BYTES, copied_rows, lives_of_loop

from gpusim.lab.calibrate.table import MeasuredTable
from gpusim.machine import load_machine
from gpusim.sim.core.constants import COMMIT, DEPBAR, PIPE
from gpusim.units import LINE_BYTES

MACHINE = load_machine("h200")
WIDE = MeasuredTable(Path(__file__).parents[4] / "reports" / "measured" / "h200" / "microbench", "wide")
PITCH, PASSES = 16384, 64
ADDRESS = 24
"""Cycles from a load's value to the next load (machine code, sm_90): two LOP3, VIADD, IADD3 and IMAD.X."""


def measured(kernel, row_bytes, source):
    return WIDE.numbers("cycles", kernel=kernel, row_bytes=row_bytes, source=source)[0]


def rows_of(row_bytes):
    return copied_rows(1, 1, row_bytes, PITCH, PASSES, along=max(row_bytes, LINE_BYTES))


def simulated_load(row_bytes):
    chain = [
        load(0, stall=2, write=0)._replace(target=(0, 0, 0, 0)),
        instruction(PIPE, stall=ADDRESS, waits=(0,)),
    ]
    (life,) = lives_of_loop(chain, PASSES, 1, replace(rows_of(row_bytes), cached=True))
    return life.finished / PASSES


def simulated_copy(row_bytes):
    chain = [
        copy(0, target=(0, 0, 0, 0), registers=3, stall=4),
        instruction(COMMIT, stall=1),
        instruction(DEPBAR, pending=0, stall=4),
    ]
    (life,) = lives_of_loop(chain, PASSES, 1, rows_of(row_bytes))
    return life.finished / PASSES


@pytest.mark.parametrize("row_bytes", [128, 64, 32])
def test_loads_from_the_l2_take_longer_for_each_row(row_bytes):
    """Four lines in 339 cycles, sixteen in 359: within 2 %, on an SM whose place on the chip is not known."""
    assert simulated_load(row_bytes) == pytest.approx(measured("chain_16", row_bytes, "l2"), rel=0.02)


@pytest.mark.parametrize("row_bytes", [128, 64, 32])
def test_copies_from_the_l2_take_longer_for_each_row(row_bytes):
    assert simulated_copy(row_bytes) == pytest.approx(measured("copied", row_bytes, "l2"), rel=0.03)


@pytest.mark.parametrize(("kernel", "lane_bytes"), [("chain_4", 4), ("chain_8", 8), ("chain_16", 16)])
def test_what_the_l1_has_takes_two_cycles_longer_for_each_row(kernel, lane_bytes):
    """From as many rows as a load has wavefronts to sixteen: 2.0 to 2.6 cycles for each."""
    least = max(1, 32 * lane_bytes // LINE_BYTES)
    whole, narrow = (measured(kernel, 32 * lane_bytes // rows, "l1") for rows in (least, 16))

    assert (narrow - whole) / (16 - least) == pytest.approx(MACHINE.shared.wavefront_latency, abs=0.5)


def test_nothing_else_of_a_copy_is_waited_for():
    """The chain of copies of the longest rows ends as that of loads, without the arithmetic between: within 5 %."""
    whole = COPY_BYTES
    assert measured("copied", whole, "l2") == pytest.approx(
        measured("chain_16", whole, "l2")
        - ADDRESS
        + MACHINE.async_copy.commit_latency
        + MACHINE.async_copy.wait_latency,
        rel=0.05,
    )
