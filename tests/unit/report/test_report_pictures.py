"""Every picture is drawn, is a PNG of the stated size, and is the same bytes twice."""

import subprocess
import sys
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusim.errors import CannotRun
from gpusim.layout.bank_map import describe_layout
from gpusim.layout.banks import ACCESS_WIDTHS, access_wavefronts, ldmatrix_wavefronts
from gpusim.machine.load import load_machine
from gpusim.report.bank_grid import BankPicture, verdict, wavefronts
from gpusim.report.captions import Words
from gpusim.report.conflicts import conflict_picture
from gpusim.report.layout_map import layout_map
from gpusim.report.overlap import overlap_chart
from gpusim.report.roofline import memory_levels, roofline, tensor_peak_tflops
from gpusim.report.stalls import stall_chart

WORDS = Words("a problem", "its kernel")
LANE = np.arange(32)
ROW_MAJOR = BankPicture("ldmatrix, 64 fp16 a row", LANE % 16 * 128 + LANE // 16 * 16, 16)
SWIZZLED = BankPicture("ldmatrix, swizzled", LANE % 16 * 128 + ((LANE // 16) ^ (LANE % 8)) * 16, 16)


def png_size(path):
    """Width and height, from the header."""
    data = path.read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    return int.from_bytes(data[16:20], "big"), int.from_bytes(data[20:24], "big")


DRAWN = {
    "overlap": lambda run, path: overlap_chart(run.result, WORDS, run.timeline, path),
    "overlap-rows-only": lambda run, path: overlap_chart(run.result, WORDS, None, path),
    "conflicts": lambda run, path: conflict_picture(run.result, WORDS, [ROW_MAJOR, SWIZZLED], path),
    "stalls": lambda run, path: stall_chart(run.result, WORDS, path),
    "roofline": lambda run, path: roofline(run.result, WORDS, load_machine("h200"), path),
    "layout": lambda _, path: layout_map(
        describe_layout("crosswise", 16, 64, 64, 3, accesses=[("ldmatrix", "x4"), ("store", "16B")]), path
    ),
}


@pytest.mark.parametrize("draw", DRAWN.values(), ids=DRAWN.keys())
def test_a_picture_is_the_same_bytes_twice(run, tmp_path, draw):
    first, second = draw(run, tmp_path / "first.png"), draw(run, tmp_path / "second.png")

    width, height = png_size(first)
    assert width in (1200, 1680)
    assert 300 <= height <= 1500
    assert first.read_bytes() == second.read_bytes()


def test_measured_rows_are_drawn_above_the_simulated_ones(run, tmp_path):
    measured = [replace(row, copy_done=None) for row in run.result.pipeline]

    alone = overlap_chart(run.result, WORDS, run.timeline, tmp_path / "alone.png")
    both = overlap_chart(run.result, WORDS, run.timeline, tmp_path / "both.png", measured=measured)

    assert png_size(both)[1] > 1.5 * png_size(alone)[1]


def test_a_long_mainloop_keeps_the_size_of_a_short_one(run, make_run, tmp_path):
    long = make_run(64)

    assert png_size(overlap_chart(long.result, WORDS, long.timeline, tmp_path / "long.png")) == png_size(
        overlap_chart(run.result, WORDS, run.timeline, tmp_path / "short.png")
    )


def test_an_overlap_chart_without_pipeline_rows_is_refused(run, tmp_path):
    with pytest.raises(CannotRun, match=r"^the overlap chart needs pipeline rows, and the result has none$"):
        overlap_chart(replace(run.result, pipeline=()), WORDS, None, tmp_path / "none.png")


def test_a_result_without_counters_or_figures_still_has_a_roofline(run, tmp_path):
    bare = replace(run.result, counters={}, bank_conflicts=())
    machine = load_machine("h200")

    assert all(level.moved_bytes is None for level in memory_levels(bare, machine))
    assert roofline(bare, WORDS, replace(machine, tensor={}), tmp_path / "bare.png").exists()


def test_ceilings_follow_from_the_machine(run):
    """
    4096 FLOP an mma.sync every 8 cycles on 4 x 2 tensor cores at 1000 MHz; 128 bytes a cycle and SM.
    """
    machine = SimpleNamespace(
        tensor={"m16n8k16.f16.f32": SimpleNamespace(interval=8)},
        sms=2,
        smsps=4,
        clock_mhz=1000,
        shared=SimpleNamespace(banks=32, bank_bytes=4, wavefronts_per_cycle=1),
        l2=SimpleNamespace(bytes_per_cycle=100),
        dram=SimpleNamespace(bandwidth_gb_s=50),
    )

    assert tensor_peak_tflops(run.result, machine) == pytest.approx(4.096)
    assert [level.peak_gb_s for level in memory_levels(run.result, machine)] == [256.0, 100.0, 50]
    assert [level.moved_bytes for level in memory_levels(run.result, machine)] == [
        (73728 * 2 + 36864 + 4096 * 2) * 128,
        80_000 * 32,
        700_000,
    ]


def test_a_bank_picture_tells_row_major_from_swizzled():
    assert verdict(ROW_MAJOR) == "32 wavefronts, ideal 4: 28 bank conflicts"
    assert verdict(SWIZZLED) == "4 wavefronts, ideal 4: no bank conflict"


@given(
    vectors=st.lists(st.integers(0, 63), min_size=32, max_size=32),
    active=st.lists(st.booleans(), min_size=32, max_size=32).filter(any),
    width=st.sampled_from(ACCESS_WIDTHS),
)
def test_the_grid_has_as_many_wavefronts_as_are_counted(vectors, active, width):
    addresses, taking = np.array(vectors) * width, np.array(active)

    drawn = wavefronts(BankPicture("any", addresses, width, kind="load", active=taking))

    assert len(drawn) == access_wavefronts(addresses, width, taking)


@given(vectors=st.lists(st.integers(0, 63), min_size=32, max_size=32), matrices=st.sampled_from([1, 2, 4]))
def test_the_grid_of_an_ldmatrix_serves_every_row_in_its_own_phase(vectors, matrices):
    addresses = np.array(vectors) * 16

    drawn = wavefronts(BankPicture("any", addresses, 16, matrices=matrices))

    assert len(drawn) == ldmatrix_wavefronts(addresses, matrices)
    for lane in range(8 * matrices):
        serving = [cell for passed in drawn if passed.phase == lane // 8 for cell in passed.cells if lane in cell.lanes]
        assert sum(cell.end - cell.bank for cell in serving) == 4


def test_tables_and_traces_import_neither_matplotlib_nor_protobuf():
    code = (
        "import sys, gpusim.report.tables, gpusim.report.perfetto; assert not {'matplotlib', 'google'} & {*sys.modules}"
    )

    subprocess.run([sys.executable, "-c", code], check=True)
