"""CTAs of a kernel on one SM: which problems they are of, their cycles from the clocks of their warps, and parts."""

from pathlib import Path

import numpy as np
import pytest

from gpusim.element_types import element_bits
from gpusim.errors import CannotRun
from gpusim.lab.calibrate.table import MeasuredTable
from gpusim.lab.main_loops.one_sm import (
    LENGTHS,
    NAMES,
    PARTS_LEFT_OUT,
    PIPELINED_NAMES,
    SHARED_BYTES,
    TABLES,
    ends_of,
    scenario_of,
)
from gpusim.lab.main_loops.parts import EMPTY, LANES, OPCODES, parts_in
from gpusim.machine import load_machine

REPORTS = Path(__file__).parents[3] / "reports" / "measured"
MEASURED = MeasuredTable(REPORTS / "h200" / "parts", "one_sm")
H100 = MeasuredTable(REPORTS / "h100" / "parts", "one_sm")
SMSPS = load_machine("h200").smsps


def k_tile(name, left_out):
    """Cycles of a k tile of as many CTAs as find room, and their copies in it, of 512 bytes each."""
    ctas = max(int(row["ctas"]) for row in H100.rows(name=name))
    short, long = (H100.numbers("cycles", name=name, ctas=ctas, left_out=left_out, k=k)[0] for k in LENGTHS)
    scenario = scenario_of(name, ctas, LENGTHS[0])
    m, n, depth = scenario.kernel.threadblock
    row_bytes = depth * element_bits(scenario.problem.dtype.ab) // 8
    return (long - short) * depth / (LENGTHS[1] - LENGTHS[0]), ctas * (m + n) * row_bytes // 512


def cycles_of_a_copy(name, left_out):
    """What a copy adds to a k tile by having lanes, with something left out: cycles of the SM."""
    bringing, copies = k_tile(name, left_out)
    idle, _ = k_tile(name, f"LDGSTS lanes {left_out}".strip())
    return (bringing - idle) / copies


@pytest.mark.parametrize("name", [*NAMES, *PIPELINED_NAMES])
def test_ctas_lie_side_by_side_along_n(name):
    scenario = scenario_of(name, 3, 2048)
    m, n, _ = scenario.kernel.threadblock

    assert (scenario.problem.m, scenario.problem.n, scenario.problem.k) == (m, 3 * n, 2048)


def test_whatever_is_left_out_is_known():
    """Of both tables, and each with nothing left out first."""
    for _, left_out in TABLES.values():
        assert left_out[0] == ""
        assert all(parts_in(one) <= {EMPTY, LANES, *OPCODES} for one in left_out)


def test_cycles_go_from_the_first_begin_to_the_end_of_each_main_loop():
    """Two CTAs of two warps on SM 7 begin from 100 on; the second one has multiplied at 950, the first at 910."""
    stamps = np.array([[[7, 120, 950, 999], [7, 130, 940, 998]], [[7, 110, 900, 990], [7, 100, 910, 995]]])

    assert ends_of(stamps) == [810, 850]


def test_ctas_of_several_sms_have_no_cycles_in_common():
    with pytest.raises(CannotRun, match=r"CTAs lie on 2 SMs, not on one"):
        ends_of(np.array([[[7, 110, 900, 990]], [[8, 120, 950, 999]]]))


def test_a_cta_that_rests_leaves_no_other_room():
    assert load_machine("h200").limits.shared_bytes_per_cta == SHARED_BYTES


@pytest.mark.parametrize("name", NAMES)
def test_more_ctas_take_longer_together_and_less_each(name):
    """Until the SM has no more to give: then each takes a little longer again, by 5 % at most."""
    short, long = (
        {int(row["ctas"]): float(row["cycles"]) for row in MEASURED.rows(name=name, k=k, left_out="")} for k in LENGTHS
    )
    tiles = {ctas: long[ctas] - short[ctas] for ctas in short}
    assert list(tiles) == list(range(1, len(tiles) + 1))

    for ctas in range(2, len(tiles) + 1):
        assert tiles[ctas] > tiles[ctas - 1]
        assert tiles[ctas] / ctas < 1.05 * tiles[ctas - 1] / (ctas - 1)


@pytest.mark.parametrize("name", NAMES)
def test_every_part_is_left_out_of_as_many_ctas_and_of_both_lengths(name):
    parts = {row["left_out"]: [] for row in MEASURED.rows(name=name)}
    for row in MEASURED.rows(name=name):
        parts[row["left_out"]].append((row["ctas"], row["k"]))

    assert set(parts) == {"", "LDGSTS lanes", "LDSM", "MMA", "LDGSTS MMA", "LDSM MMA"}
    assert all(of_part == parts[""] for of_part in parts.values())


def test_an_h100s_sm_takes_as_long_as_an_h200s():
    """
    Operands come from the L2, so DRAM makes no difference: .3 % in the mean of 396 loops.

    One is off by more than 5 %: s8 without mma.sync, where which CTA goes first decides.
    """
    both = [(float(row["cycles"]), H100.numbers("cycles", **shape(row))[0]) for row in MEASURED.rows()]
    off = np.array([abs(h100 / h200 - 1) for h200, h100 in both])

    assert len(off) == 396
    assert off.mean() < 0.005
    assert (off > 0.05).sum() == 1


def shape(row):
    """The columns that say which loop a row is of."""
    return {key: row[key] for key in ("name", "left_out", "ctas", "k")}


@pytest.mark.parametrize("name", NAMES)
def test_every_part_is_left_out_and_every_cta_has_an_end(name):
    rows = H100.rows(name=name)
    ends = [[int(end) for end in row["ends"].split()] for row in rows]

    assert {row["left_out"] for row in rows} == set(PARTS_LEFT_OUT)
    assert all(len(own) == int(row["ctas"]) and own == sorted(own) for own, row in zip(ends, rows, strict=True))
    assert all(own[-1] == int(row["cycles"]) for own, row in zip(ends, rows, strict=True))


@pytest.mark.parametrize("name", NAMES)
def test_copies_without_lanes_cost_mma_sync_nothing(name):
    """So copies cost it what they read of the registers, which those without lanes do not (D21)."""
    idle, none = (k_tile(name, left_out)[0] for left_out in ("LDGSTS lanes LDSM", "LDGSTS LDSM"))

    assert idle == pytest.approx(none, rel=0.03)


WHOLE_LINES = ("gemm_64x64x64_s5_2048", "gemm_128x64x64_s3_4096x4096x512", "gemm_128x128x64_s3_2048")
"""Kernels whose copies read rows of a whole line."""


@pytest.mark.parametrize("name", WHOLE_LINES)
def test_copies_of_whole_lines_cost_ldmatrix_nothing_until_there_is_mma_sync(name):
    """Beside ldmatrix alone they are as quick as idle ones, beside both .75 to 1.4 cycles slower."""
    assert abs(cycles_of_a_copy(name, "MMA")) < 0.4
    assert 0.7 < cycles_of_a_copy(name, "") < 1.4


@pytest.mark.parametrize("name", [name for name in NAMES if name != "gemm_64x64x32_s4"])
def test_a_copy_takes_two_to_three_and_a_half_cycles_of_a_tensor_core(name):
    """
    Without ldmatrix and barriers the tensor cores are what a k tile waits for.

    Where the lines of a copy lie four apart in shared memory it takes longer (strides.csv): one kernel is left out.
    """
    bringing, copies = k_tile(name, "LDSM BAR")
    idle, _ = k_tile(name, "LDGSTS lanes LDSM")

    assert 2 < SMSPS * (bringing - idle) / copies < 3.5
