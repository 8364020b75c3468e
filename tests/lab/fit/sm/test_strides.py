"""Copies whose lines lie apart in shared memory (strides.cu): cycles of its compiled loop, measured and simulated."""

from pathlib import Path

import pytest
from doubles.by_hand import copy, instruction, lds
from doubles.copied_rows import copied_rows, lives_of_loop

from gpusim.lab.calibrate.table import MeasuredTable
from gpusim.machine import load_machine
from gpusim.sim.core.constants import COMMIT, DEPBAR, PIPE
from gpusim.units import LINE_BYTES

MACHINE = load_machine("h200")
STRIDES = MeasuredTable(Path(__file__).parents[4] / "reports" / "measured" / "h200" / "microbench", "strides")
ROWS = [{name: float(value) for name, value in row.items()} for row in STRIDES.rows()]
WARPS, COPIES, PENDING, PITCH, FIRST, SECOND = 8, 4, 3, 16384, 1, 2
"""Of strides.cu; and the scoreboards of the addresses of a round's copies."""


def arithmetic(stall, **fields):
    return instruction(PIPE, stall=stall, **fields)


def copied(number, **fields):
    return copy(0, target=(0, 0, number, 0), registers=3, **fields)


def round_of(first, apart):
    """A trip of the loop: addresses, three loads of nothing, and four copies between the addresses of the next ones."""
    nothing = lds(registers=0, stall=1)._replace(wavefronts=((0,) * 32,), bytes=0)
    branch = MACHINE.pipes["branch"]
    return [
        *[arithmetic(1)] * 3,
        *[arithmetic(2)] * 2,
        arithmetic(2, waits=(FIRST,)),
        *[arithmetic(2)] * 2,
        arithmetic(1),
        arithmetic(2),
        *[nothing] * 3,
        copied(first, stall=1, read=FIRST, lookup_penalty=apart),
        arithmetic(3),
        copied(first + 1, stall=1, read=SECOND, lookup_penalty=apart),
        arithmetic(1),
        arithmetic(2, waits=(FIRST,)),
        arithmetic(1),
        arithmetic(2, waits=(SECOND,)),
        copied(first + 2, stall=1, read=FIRST, lookup_penalty=apart),
        arithmetic(1),
        arithmetic(3),
        arithmetic(2),
        copied(first + 3, stall=4, read=FIRST, lookup_penalty=apart),
        instruction(COMMIT, stall=1),
        instruction(DEPBAR, pending=PENDING, stall=4),
        instruction(PIPE, pipe="branch", stall=5, latency=branch.latency, is_branch=True, joins=True),
    ]


def simulated(row):
    """Cycles of a copy of rows as long as in a row of the table, whose lines of shared memory lie as far apart."""
    rounds = LINE_BYTES // int(row["row_bytes"])
    apart = int(row["stride"] % 4 == 0)
    code = [one for number in range(rounds) for one in round_of(number * COPIES, apart)]
    passes = PITCH // LINE_BYTES
    found = copied_rows(WARPS, COPIES, int(row["row_bytes"]), PITCH, passes, along=LINE_BYTES)
    (life,) = lives_of_loop(code, passes, WARPS, found)
    return life.finished / (rounds * passes * WARPS * COPIES)


@pytest.mark.parametrize("stride", [1, 4])
def test_copies_of_half_lines_look_up_a_line_a_cycle_and_those_of_one_class_a_cycle_longer(stride):
    """Eight each, and 1.25 more with their groups' ends where lines lie 4, 8 or 12 apart: within 2 %."""
    rows = [row for row in ROWS if row["row_bytes"] == LINE_BYTES / 2]
    like = [row for row in rows if (row["stride"] % 4 == 0) == (stride % 4 == 0)]
    found = simulated(next(row for row in rows if row["stride"] == stride))

    assert len(like) == (3 if stride == 4 else 6)
    assert [row["cycles_a_copy"] for row in like] == [pytest.approx(found, rel=0.02)] * len(like)


def test_copies_of_whole_lines_take_as_long_as_measured():
    """4.3 cycles each, 4.2 measured: SMSPs give the SM's queue their copies in the cycles that others leave."""
    row = next(row for row in ROWS if row["row_bytes"] == LINE_BYTES)

    assert simulated(row) == pytest.approx(row["cycles_a_copy"], rel=0.03)


@pytest.mark.parametrize("row_bytes", [64, 128])
def test_only_multiples_of_four_lines_make_copies_longer(row_bytes):
    """Each other distance takes what one line does, within 1 %; 4, 8 and 12 take 1.2 to 1.3 cycles more."""
    cycles = {row["stride"]: row["cycles_a_copy"] for row in ROWS if row["row_bytes"] == row_bytes}
    others = [found for stride, found in cycles.items() if stride % 4]

    assert max(others) < 1.01 * min(others)
    assert [cycles[stride] - cycles[1] for stride in (4, 8, 12)] == pytest.approx([1.25] * 3, abs=0.05)
