"""What samples and changed kernels say of main loops on an H200, against its figures and against each other."""

from pathlib import Path
from statistics import median

import pytest

from gpusim.lab.calibrate.runner import read_rows
from gpusim.machine import load_machine

MEASURED = Path(__file__).parents[4] / "reports" / "measured" / "h200"
BEHIND_A_BRANCH = ("wait", "branch_resolving", "no_instructions")
LEAST_SAMPLES = 5
"""Samples of an issue, in the mean over a loop, below which they say too little."""


def behind_branches():
    """Cycles from a main loop's branch to the issue at its head, of each sampled kernel with samples enough."""
    for path in sorted((MEASURED / "samples").glob("*.csv")):
        rows = read_rows(path)
        most = max(int(row["executed"]) for row in rows)
        loop = [row for row in rows if int(row["executed"]) == most]
        issue = sum(int(row["selected"] or 0) for row in loop) / len(loop)
        if "BRA" in loop[-1]["sass"] and issue >= LEAST_SAMPLES:
            yield 1 + sum(int(loop[0].get(reason) or 0) for reason in BEHIND_A_BRANCH) / issue


def test_the_latency_of_a_branch_is_that_of_the_main_loops():
    found = list(behind_branches())

    assert len(found) == 37
    assert load_machine("h200").pipes["branch"].latency == round(median(found))


# --- main loops with instructions left out (gpusim.lab.main_loops.parts) ---


def trips(left_out):
    """Cycles of a k tile of each loop alone, from two lengths of its sum."""
    cycles = {}
    for row in read_rows(MEASURED / "parts" / "alone.csv"):
        if row["left_out"] == left_out:
            cycles.setdefault(row["loop"], {})[int(row["k"])] = float(row["sm__cycles_active.max"])
    found = {}
    for loop, of_k in cycles.items():
        short, long = sorted(of_k)
        tile_k = int(loop.split("_")[2].split("x")[2])
        found[loop] = (of_k[long] - of_k[short]) / ((long - short) // tile_k)
    return found


@pytest.mark.parametrize("left_out", ["LDGSTS LDSM", "LDGSTS LDSM MMA"])
def test_copies_without_lanes_cost_a_loop_next_to_nothing(left_out):
    """What they bring costs: with all lanes predicated off, a trip is as long as without them, within 9 %."""
    idle, gone = trips("LDGSTS lanes"), trips("LDGSTS")

    assert all(idle[loop] == pytest.approx(gone[loop], rel=0.09) for loop in idle)
    assert all(trips(left_out)[loop] < gone[loop] * 1.01 for loop in gone)


def test_mma_sync_alone_takes_its_interval():
    """A warp of 64 x 64 has 64 of them in 32 of K, and a trip of little else takes 6.2 to 6.5 cycles for each."""
    found = trips("LDGSTS LDSM")
    interval = load_machine("h200").tensor["m16n8k16.f16.f32"].interval

    assert 64 * interval < found["tn_f16_128x128x32_w64x64_s5"] < 64 * interval * 1.08
    assert 128 * interval < found["tn_f16_128x128x64_w64x64_s4"] < 128 * interval * 1.08
