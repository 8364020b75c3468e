"""CTAs of a kernel on one SM: which problems they are of, and their cycles from the clocks of their warps."""

from pathlib import Path

import numpy as np
import pytest

from gpusim.errors import CannotRun
from gpusim.gpu.calibrate.table import MeasuredTable
from gpusim.machine import load_machine
from gpusim.measure.one_sm import LENGTHS, NAMES, SHARED_BYTES, cycles_of, scenario_of

MEASURED = MeasuredTable(Path(__file__).parents[3] / "reports" / "measured" / "h200" / "parts", "one_sm")


@pytest.mark.parametrize("name", NAMES)
def test_ctas_lie_side_by_side_along_n(name):
    scenario = scenario_of(name, 3, 2048)
    m, n, _ = scenario.kernel.threadblock

    assert (scenario.problem.m, scenario.problem.n, scenario.problem.k) == (m, 3 * n, 2048)


def test_cycles_go_from_the_first_begin_to_the_last_end_of_a_main_loop():
    """Two CTAs of two warps on SM 7 begin from 100 on, and have multiplied at 950 at the latest."""
    stamps = np.array([[[7, 110, 900, 990], [7, 100, 910, 995]], [[7, 120, 950, 999], [7, 130, 940, 998]]])

    assert cycles_of(stamps) == 850


def test_ctas_of_several_sms_have_no_cycles_in_common():
    with pytest.raises(CannotRun, match=r"CTAs lie on 2 SMs, not on one"):
        cycles_of(np.array([[[7, 110, 900, 990]], [[8, 120, 950, 999]]]))


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
