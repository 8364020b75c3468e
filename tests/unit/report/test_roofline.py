"""The roofline: ceilings from the machine, and results that lack figures."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from gpusim.machine.load import load_machine
from gpusim.report.captions import Words
from gpusim.report.roofline import memory_levels, roofline
from gpusim.results.use import tensor_peak_tflops

WORDS = Words("a problem", "its kernel")


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
