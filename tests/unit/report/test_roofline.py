"""The roofline: ceilings from the machine, and results that lack figures."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from matplotlib.artist import Artist
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from gpusim.machine.load import load_machine
from gpusim.report.captions import Words
from gpusim.report.roofline import MemoryLevel, memory_levels, roofline
from gpusim.results.use import tensor_peak_tflops

WORDS = Words("a problem", "its kernel")


def test_a_result_without_counters_or_figures_still_has_a_roofline(run, tmp_path):
    bare = replace(run.result, counters={}, bank_conflicts=(), bound=run.result.bound | {"resources": []})
    machine = load_machine("h200")

    assert all(level.use is None for level in memory_levels(bare, machine))
    assert roofline(bare, WORDS, replace(machine, tensor={}), tmp_path / "bare.png").exists()


def test_ceilings_follow_from_the_machine(run):
    """
    A T4 of 1,590 MHz: 4 tensor cores on each of 40 SMs, 128 bytes of shared memory a cycle and SM, 1,280 bytes of the
    L2 a cycle, and 69 % of 320 GB/s of DRAM.
    """
    t4 = load_machine("t4")
    turing = replace(run.result, scenario=run.result.scenario | {"kernel": {"instruction": [16, 8, 8]}})
    interval = t4.tensor["m16n8k8.f16.f32"].interval

    assert tensor_peak_tflops(turing, t4) == pytest.approx(2048 / interval * 4 * 40 * 1590e6 / 1e12)
    assert [level.gb_s for level in memory_levels(run.result, t4)] == pytest.approx(
        [40 * 128 * 1.59, t4.l2.bytes_per_cycle * 1.59, 0.69 * 320], rel=1e-3
    )


def test_a_slope_is_of_the_clock_that_tensor_cores_slow_down(run):
    """
    111 cycles of an H200's L2 and DRAM pass in 100 of its SMs', by which a run's time is counted; shared memory is the
    SMs' own.
    """
    shared, *others = memory_levels(run.result, load_machine("h200"))

    assert shared.slope_gb_s == shared.gb_s
    assert [level.slope_gb_s / level.gb_s for level in others] == pytest.approx([1.11, 1.11], rel=1e-3)


def test_a_mark_lies_where_its_use_is_below_the_roof():
    """40 % of 200 GB/s are 80: 8 TFLOP/s are 100 operations a byte, of which the roof is 20."""
    level = MemoryLevel("L2", 200.0, 200.0, 0.4)

    assert level.intensity(8.0) == 100.0
    assert level.roof(100.0, top=50.0) == 20.0
    assert level.roof(1000.0, top=50.0) == 50.0


def ink_of(axes, names):
    """The pixels of each text of a picture, drawn alone."""
    figure = axes.get_figure()
    for artist in figure.findobj(Artist):
        artist.set_visible(artist in {figure, axes})
    found = []
    for name in names:
        name.set_visible(True)
        figure.canvas.draw()
        found.append(np.asarray(figure.canvas.buffer_rgba())[..., :3].min(axis=-1) < 128)
        name.set_visible(False)
    return found


@pytest.mark.parametrize("working", [1, 16, 131, 132], ids="{} SMs".format)
@pytest.mark.parametrize("percent", [3.0, 55.0, 99.0], ids="{} %".format)
def test_names_hide_neither_each_other_nor_a_mark(run, working, percent):
    """However near the roof of the SMs in use is to the whole, and however near marks are to their slopes."""
    used = [dict(row, percent=percent) for row in run.result.bound["resources"]]
    result = replace(run.result, ctas=working, bound=run.result.bound | {"resources": used})
    figure = Figure(dpi=72)
    FigureCanvasAgg(figure)
    roofline(result, WORDS, load_machine("h200"), figure)
    axes = figure.axes[0]
    marks = [line for line in axes.lines if line.get_marker() != "None"]

    shown = ink_of(axes, [*axes.texts, *marks])

    assert len(axes.texts) == 4 + (working < 132)
    assert len(marks) == 3
    for one, other in combinations(shown, 2):
        assert one.any()
        assert not (one & other).any()
